"""Who a record belongs to: ids of any type, compared exactly, and numbered.

Text is compared by its bytes, numbers by their values, several columns as a tuple. No id becomes a
joined text, a hash that could collide or a float: two persons taken for one would make the removal
of one of them a change of the other's row. Nor is one id ever two: somebody who is 7 in one row and
7.0 in another would be two persons, and be protected half as well as is said. A record without an
id belongs to nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from types import NoneType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.errors import ColumnError

Integers = npt.NDArray[np.int64]

#: The code of a record that belongs to nobody.
NOBODY = -1

_TEXT = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary,
    pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary,
)  # fmt: skip

#: The widths of times: counted from some beginning, they are whole numbers.
_TIMES = {32: pa.int32(), 64: pa.int64()}


class Persons:
    """Numbers persons as they come: their codes are 0, 1, 2, ...

    >>> persons = Persons()
    >>> persons.codes([pa.array(["Ann", None, "Bob"])]), persons.codes([pa.array(["Bob"])])
    (array([ 0, -1,  1]), array([1]))
    """

    def __init__(self) -> None:
        self._first: list[Hashable] = []  # the ids of the first chunk, often the only one
        self._known: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return max(len(self._first), len(self._known))

    def codes(self, columns: Sequence[pa.Array | Iterable[object]]) -> Integers:
        """Return the codes of the records whose ids are in these columns of a chunk."""
        places, keys = _numbered(columns[0])
        for column in columns[1:]:
            more, others = _numbered(column)
            together = np.where((places < 0) | (more < 0), NOBODY, places * len(others) + more)
            pairs, places = np.unique(together, return_inverse=True)
            keys = [(keys[pair // len(others)], others[pair % len(others)]) if pair >= 0 else None
                    for pair in pairs.tolist()]  # fmt: skip
        if not len(self) and None not in keys:
            self._first = keys
            return places
        if not self._known:
            self._known = {key: code for code, key in enumerate(self._first)}
        known = self._known
        codes = [NOBODY if key is None else known.setdefault(key, len(known)) for key in keys]
        return np.array([*codes, NOBODY], dtype=np.int64)[places]


def check_id_type(name: str, kind: pa.DataType) -> None:
    """Refuse a column whose declared type cannot be compared exactly."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    simple = pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    if not simple and not any(is_so(kind) for is_so in _TEXT):
        raise ColumnError(
            f"column {name!r} has type {kind}, which names nobody: choose a column of text, whole "
            "numbers, dates or decimals."
        )


def _numbered(column: pa.Array | Iterable[object]) -> tuple[Integers, list[Hashable]]:
    """Return for every record which of the distinct ids it has, and these; -1 for none."""
    if not isinstance(column, pa.Array):
        cells = [_object_key(cell) for cell in column]
        keys = [key for key in dict.fromkeys(cells) if key is not None]
        found = {None: NOBODY} | {key: place for place, key in enumerate(keys)}
        return np.fromiter((found[cell] for cell in cells), np.int64, len(cells)), keys
    encoded = _exact(column).dictionary_encode()
    places = encoded.indices.fill_null(NOBODY).to_numpy(zero_copy_only=False).astype(np.int64)
    return places, encoded.dictionary.to_pylist()


def _exact(column: pa.Array) -> pa.Array:
    """Return the ids in a type whose equality is that of the ids."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _exact(column.dictionary).take(column.indices)
    if any(is_so(kind) for is_so in _TEXT):
        return column.cast(pa.large_binary())
    if pa.types.is_floating(kind):
        doubles = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return pa.array(doubles + 0.0, from_pandas=True)  # Arrow would tell -0.0 from 0.0
    if pa.types.is_temporal(kind) and kind.bit_width in _TIMES:
        return column.view(_TIMES[kind.bit_width])
    return column


def _text(cell: str) -> bytes:
    return str.encode(cell, "utf-8", "surrogatepass")


def _number(cell: float) -> Hashable:
    return None if math.isnan(cell) else cell


def _decimal(cell: Decimal) -> Hashable:
    return None if type(cell) is not Decimal or cell.is_nan() else cell


def _moment(cell: datetime) -> Hashable:
    """Return a moment, which equals itself in another zone; a zone of unknown code tells none."""
    zone = cell.tzinfo
    if type(cell) is not datetime or type(zone) not in (NoneType, timezone, ZoneInfo):
        return None
    since = cell.replace(tzinfo=None) - datetime.min
    return since if zone is None else (since - (cell.utcoffset() or timedelta()), "UTC")


#: Classes of ids among untyped cells, each with what its cells are called and a function of the
#: class itself: one that a subclass brings could raise, or look elsewhere. None: no id. Numbers are
#: equal if their values are, as Python compares them, whatever class they have.
_KEYS: dict[type, tuple[str, Callable[[Any], Hashable]]] = {
    str: ("text", _text),
    bytes: ("bytes", bytes.__bytes__),
    int: ("number", int.__int__),
    float: ("number", lambda cell: _number(float.__float__(cell))),
    np.integer: ("number", np.generic.item),
    np.bool_: ("number", np.generic.item),
    np.float32: ("number", lambda cell: _number(np.generic.item(cell))),
    np.float16: ("number", lambda cell: _number(np.generic.item(cell))),
    Decimal: ("number", _decimal),
    UUID: ("id", lambda cell: cell.int if type(cell) is UUID else None),
    datetime: ("moment", _moment),
    date: ("day", lambda cell: cell.isoformat() if type(cell) is date else None),
}


def _object_key(cell: object) -> Hashable:
    """Return what an untyped cell is compared by: its kind and its value; None if it is no id."""
    kind = type(cell)
    for base, (name, key) in _KEYS.items():
        if issubclass(kind, base):
            value = key(cell)
            return None if value is None else (name, value)
    return None
