"""From cells to doubles: the one place that decides what a record's number is.

Only the declared type of a column may raise an error. A cell never does: what is not a number
is missing (NaN), and an integer or decimal too large for a double is an infinity.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.errors import ColumnError

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.generic]


#: What stands for a number of a record that a condition leaves out: a NaN that no arithmetic
#: makes. All else takes it for any other missing number; counts tell the two apart.
LEFT_OUT = float(np.int64(0x7FF8_6C65_6674_6F75).view(np.float64))


def are_left_out(numbers: Floats) -> npt.NDArray[np.bool_]:
    """Say which numbers are those of records that a condition leaves out.

    >>> are_left_out(np.array([1.0, np.nan, LEFT_OUT])).tolist()
    [False, False, True]
    """
    bits: npt.NDArray[np.int64] = np.ascontiguousarray(numbers).view(np.int64)
    return np.equal(bits, np.float64(LEFT_OUT).view(np.int64))


def _integer(cell: int) -> float:
    try:
        return int.__float__(cell)
    except OverflowError:
        return math.inf if int.__gt__(cell, 0) else -math.inf


def _fraction(cell: Fraction) -> float:
    above, below = (part.__get__(cell) for part in _PARTS)
    if type(above) is not int or type(below) is not int:
        return math.nan
    try:
        return above / below
    except OverflowError:
        return math.inf if above > 0 else -math.inf


#: The parts of a fraction where the class itself keeps them.
_PARTS = tuple(Fraction.__dict__[name] for name in ("_numerator", "_denominator"))

#: Classes of numbers with their own conversions. Those of a subclass are the will of whoever
#: wrote it: they could raise, or stop the program.
_CONVERSIONS: dict[type, Callable[[Any], float]] = {
    float: float.__float__,
    int: _integer,
    np.timedelta64: lambda _: math.nan,
    np.floating: np.generic.__float__,
    np.integer: np.generic.__float__,
    np.bool_: np.generic.__float__,
    Decimal: Decimal.__float__,
    Fraction: _fraction,
}


def cell_to_float(cell: object) -> float:
    """Return the number in one untyped cell, NaN if there is none.

    >>> cell_to_float(3), cell_to_float("3"), cell_to_float(10**400)
    (3.0, nan, inf)
    """
    kind = type(cell)  # isinstance would also ask the cell itself, for its __class__
    if type(cell) is float:
        return cell
    for base, convert in _CONVERSIONS.items():
        if issubclass(kind, base):
            try:
                return convert(cell)
            except ValueError:  # a signalling decimal
                break
    return math.nan


def cells_to_floats(cells: Iterable[object]) -> Floats:
    """Return the numbers of a sequence of untyped cells."""
    return np.fromiter((cell_to_float(cell) for cell in cells), dtype=np.float64)


def array_to_floats(values: Array) -> Floats:
    """Return a typed NumPy array as float64, masked entries as NaN."""
    if values.dtype == object:
        floats = cells_to_floats(values)
    elif values.dtype.kind == "m":
        floats = _durations(np.asarray(values))
    else:
        with np.errstate(all="ignore"):
            floats = np.asarray(values, dtype=np.float64)
    mask = np.ma.getmask(values)
    return floats if mask is np.ma.nomask else np.where(mask, np.nan, floats)


#: What durations are measured in, in a release.
SECONDS = "s"

#: How many seconds each unit of a duration has, as a quotient of integers.
_SECONDS = {
    "W": (604_800, 1), "D": (86_400, 1), "h": (3600, 1), "m": (60, 1), "s": (1, 1),
    "ms": (1, 10**3), "us": (1, 10**6), "ns": (1, 10**9), "ps": (1, 10**12),
}  # fmt: skip

_NO_AMOUNT = (
    "means of dates are not supported. Pass a duration, such as end - start, or seconds since a "
    "date of your choice."
)


def _durations(values: Array) -> Floats:
    """Return durations in seconds, each in at most three rounded operations; NaT is missing."""
    unit, count = np.datetime_data(values.dtype.str)
    above, below = _SECONDS[unit]
    ticks = values.view(np.int64)
    seconds: Floats = ticks.astype(np.float64) * float(count * above) / float(below)
    return np.where(ticks == np.iinfo(np.int64).min, np.nan, seconds)


def is_duration(cell: object) -> bool:
    """Say whether an untyped cell is a length of time; nothing of the cell's own is asked."""
    return issubclass(type(cell), dt.timedelta | np.timedelta64)


def duration_to_float(cell: object) -> float:
    """Return the seconds of an untyped cell, NaN if it is no length of time.

    >>> duration_to_float(dt.timedelta(minutes=1)), duration_to_float(60)
    (60.0, nan)
    """
    # That of pandas derives from Python's, which before pandas 3 may hold nothing.
    if type(cell) is getattr(sys.modules.get("pandas"), "Timedelta", None):
        cell = cell.to_timedelta64()  # type: ignore[attr-defined]
    if issubclass(type(cell), dt.timedelta):
        return dt.timedelta.total_seconds(cell)  # type: ignore[arg-type]
    if type(cell) is np.timedelta64 and np.datetime_data(cell.dtype.str)[0] in _SECONDS:
        return float(_durations(np.array([cell]))[0])
    return math.nan


def check_array_type(dtype: np.dtype[np.generic], name: str | None = None) -> None:
    """Refuse an array whose declared type holds no numbers; a duration is a number of seconds."""
    what = "The data have" if name is None else f"Column {name!r} has"
    if dtype.kind == "m" and np.datetime_data(dtype.str)[0] in _SECONDS:
        return
    if dtype.kind == "M":
        raise ColumnError(f"{what} type {dtype}: {_NO_AMOUNT}")
    if dtype.kind == "U":
        raise ColumnError(
            f"The data are text ({dtype}). Pass numbers, or set the number format: "
            "parse=Parse(thousands=',')."
        )
    if dtype.kind not in "fiubO":
        raise ColumnError(
            f"{what} type {dtype}, which is not numeric. Pass numbers, or objects; objects that "
            "are not numbers count as missing."
        )


def arrow_to_floats(values: pa.Array) -> Floats:
    """Return an Arrow array of a numeric type as float64, nulls as NaN.

    Integers go through NumPy: Arrow's own cast refuses integers beyond 2**53, and a refusal
    that depends on values would be a leak.
    """
    values = decoded(values)
    kind = values.type
    if pa.types.is_null(kind) or not len(values):  # a look at types: Arrow would import pandas
        return np.full(len(values), np.nan)
    if pa.types.is_decimal(kind):
        return cells_to_floats(values.to_pylist())
    if pa.types.is_duration(kind):
        above, below = _SECONDS[kind.unit]
        return arrow_to_floats(values.cast(pa.int64())) * float(above) / float(below)
    if pa.types.is_floating(kind):
        return array_to_floats(values.to_numpy(zero_copy_only=False))
    floats = values.fill_null(False if pa.types.is_boolean(kind) else 0)
    numbers: Floats = floats.to_numpy(zero_copy_only=False).astype(np.float64)
    if values.null_count:
        numbers[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return numbers


def decoded(cells: pa.Array) -> pa.Array:
    """Return what a dictionary stands for; other cells as they are.

    Text gets wide offsets first: written out as often as it occurs it may not fit into narrow ones,
    and whether it does depends on records.
    """
    if not pa.types.is_dictionary(cells.type):
        return cells
    values = cells.dictionary
    if is_bytes(values.type):
        values = values.cast(pa.large_string() if is_text(values.type) else pa.large_binary())
    return values.take(cells.indices)


def is_text(kind: pa.DataType) -> bool:
    """Say whether a column is declared as text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in checks)


#: Types of text and bytes, and of numbers, truths or nothing.
_BYTES = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary,
    pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary,
)  # fmt: skip
_NUMBERS = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean,
    pa.types.is_null,
)  # fmt: skip


def is_bytes(kind: pa.DataType) -> bool:
    """Say whether a declared type holds text or bytes."""
    return any(is_so(kind) for is_so in _BYTES)


def is_number(kind: pa.DataType) -> bool:
    """Say whether a declared type holds numbers, truths or nothing."""
    return any(is_so(kind) for is_so in _NUMBERS)


def check_arrow_type(name: str, kind: pa.DataType, *, text: bool = False) -> bool:
    """Refuse a column whose declared type holds no numbers; say whether it holds text.

    Text is refused, too, unless the caller said how numbers are written in it.
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    numeric = is_number(kind) or pa.types.is_duration(kind)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        raise ColumnError(f"Column {name!r} has type {kind}: {_NO_AMOUNT}")
    if is_text(kind) and not text:
        raise ColumnError(
            f"Column {name!r} is text ({kind}). Choose a numeric column, or set the number format: "
            "parse=Parse(thousands=',')."
        )
    if not numeric and not is_text(kind):
        raise ColumnError(
            f"Column {name!r} has type {kind}, which is not numeric. Choose a numeric column, or "
            "convert it first."
        )
    return is_text(kind)
