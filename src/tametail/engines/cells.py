"""From cells to doubles: the one place that decides what a record's number is.

Only the declared type of a column may raise an error. A cell never does: what is not a number
is missing (NaN), and an integer or decimal too large for a double is an infinity.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.errors import ColumnError

Floats = npt.NDArray[np.float64]

#: A number in text; linear in the length of the cell, whatever the cell holds.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.A | re.I)


def cell_to_float(cell: Any) -> float:
    """Return the number in one untyped cell, NaN if there is none.

    >>> cell_to_float(3), cell_to_float("3"), cell_to_float(10**400)
    (3.0, nan, inf)
    """
    if isinstance(cell, float | int | np.floating | np.integer | np.bool_ | Decimal | Fraction):
        try:
            return float(cell)
        except OverflowError:
            return math.inf if cell > 0 else -math.inf
        except Exception:  # spans of time, signalling decimals, classes with a will of their own
            return math.nan
    return math.nan


def cells_to_floats(cells: Any) -> Floats:
    """Return the numbers of a sequence of untyped cells."""
    return np.fromiter((cell_to_float(cell) for cell in cells), dtype=np.float64)


def array_to_floats(values: npt.NDArray[Any]) -> Floats:
    """Return a typed NumPy array as float64, masked entries as NaN."""
    if values.dtype == object:
        floats = cells_to_floats(values)
    else:
        with np.errstate(all="ignore"):
            floats = np.asarray(values, dtype=np.float64)
    mask = np.ma.getmask(values)
    return floats if mask is np.ma.nomask else np.where(mask, np.nan, floats)


def check_array_type(dtype: np.dtype[Any]) -> None:
    """Refuse an array whose declared type holds no numbers."""
    if dtype.kind not in "fiubO":
        raise ColumnError(
            f"the data have type {dtype}, which is not numeric: pass numbers, or objects of which "
            "those that are not numbers count as missing."
        )


def arrow_to_floats(values: pa.Array) -> Floats:
    """Return an Arrow array of a numeric type as float64, nulls as NaN.

    Integers go through NumPy: Arrow's own cast refuses integers beyond 2**53, and a refusal
    that depends on values would be a leak.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_decimal(kind):
        return cells_to_floats(values.to_pylist())
    if pa.types.is_floating(kind):
        return array_to_floats(values.to_numpy(zero_copy_only=False))
    floats = values.fill_null(False if pa.types.is_boolean(kind) else 0)
    numbers: Floats = floats.to_numpy(zero_copy_only=False).astype(np.float64)
    if values.null_count:
        numbers[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return numbers


def text_to_floats(cells: pa.Array) -> Floats:
    """Return the numbers in text cells, NaN where a cell is not a number.

    >>> text_to_floats(pa.array(["1.5", " -2e3 ", "1e400", "n/a", "1_000", None])).tolist()
    [1.5, -2000.0, inf, nan, nan, nan]
    """
    import pyarrow.compute as pc

    trimmed = pc.ascii_trim_whitespace(cells)
    try:
        # Correctly rounded, as Python's float, and many times faster.
        return arrow_to_floats(trimmed.cast(pa.float64()))
    except pa.ArrowInvalid:
        return cells_to_floats(map(_text_to_number, trimmed.to_pylist()))


def _text_to_number(text: str | None) -> float | None:
    return float(text) if text is not None and _NUMBER.fullmatch(text) else None


def check_arrow_type(name: str, kind: pa.DataType) -> None:
    """Refuse a column whose declared type holds no numbers."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    numeric = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )
    if not numeric:
        raise ColumnError(
            f"column {name!r} has type {kind}, which is not numeric: choose a numeric column or "
            "convert it before."
        )
