"""Who a record belongs to: ids of any type, compared exactly, and numbered.

Text is compared by its bytes, numbers by their values, several columns as a tuple. No id becomes a
joined text, a hash that could collide or a float: two persons taken for one would make the removal
of one of them a change of the other's row. Nor is one id ever two: somebody who is 7 in one row and
7.0 in another would be two persons, and be protected half as well as is said. A record without an
id belongs to nobody.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from types import NoneType
from typing import Any, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.data.cells import is_bytes
from tametail.data.kernels import native
from tametail.errors import ColumnError, InternalError
from tametail.randomness import random_bits

Integers = npt.NDArray[np.int64]
Column: TypeAlias = "pa.Array | Iterable[object]"

#: The code of a record that belongs to nobody, and of one whose id was not to be numbered.
NOBODY, UNKNOWN = -1, -2

#: The widths of times: counted from some beginning, they are whole numbers.
_TIMES = {32: pa.int32(), 64: pa.int64()}

#: What an id in a dictionary of Python takes beside its own bytes: the object, a number, a slot.
_BYTES_OF_AN_ID = 180


class Ids:
    """Numbers persons, or keys of groups, as they come: their codes are 0, 1, 2, ...

    >>> ids = Ids()
    >>> ids.codes([pa.array(["Ann", None, "Bob"])]), ids.codes([pa.array(["Bob"])])
    (array([ 0, -1,  1]), array([1]))
    >>> ids.codes([pa.array(["Bob", "Eve"])], more=False)
    array([ 1, -2])
    """

    def __init__(self, secret: Callable[[int], int] = random_bits) -> None:
        self._secret = secret
        self._columns: list[Numbering] = []
        self._pairs: list[Numbering] = []

    def __len__(self) -> int:
        last = self._pairs or self._columns
        return len(last[-1]) if last else 0

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        return sum(each.bytes for each in (*self._columns, *self._pairs))

    def codes(self, columns: Sequence[Column], *, more: bool = True) -> Integers:
        """Return the codes of the records whose ids are in these columns of a chunk.

        Without ``more`` ids that have no code yet get none.
        """
        cells = [exact(column) if isinstance(column, pa.Array) else column for column in columns]
        if not self._columns:
            self._columns = [_numbering_of(each, self._secret) for each in cells]
            pair = pa.array([], pa.int64())
            self._pairs = [_numbering_of(pair, self._secret) for _ in cells[1:]]
        codes = self._columns[0].codes(cells[0], more=more)
        for column, pairs, each in zip(self._columns[1:], self._pairs, cells[1:], strict=True):
            theirs = column.codes(each, more=more)
            # Codes are below 2**31, so that two of them are one number, and no other two are.
            together = pa.array((codes << 32) + theirs, mask=(codes < 0) | (theirs < 0))
            unknown = (codes == UNKNOWN) | (theirs == UNKNOWN)
            nobody = (codes == NOBODY) | (theirs == NOBODY)
            codes = pairs.codes(together, more=more)
            codes[unknown & ~nobody] = UNKNOWN
        return codes


class Numbering(ABC):
    """Numbers the ids of one column as they come."""

    @abstractmethod
    def __len__(self) -> int:
        """How many ids there are."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """About how much memory this takes, when a table is next made larger."""

    @abstractmethod
    def codes(self, cells: Column, *, more: bool) -> Integers:
        """Return the codes of some cells."""


class InTable(Numbering):
    """Numbers ids of one declared type, by a compiled loop over a table of slots.

    Where an id lies in the table depends on a secret, so that nobody can choose ids that all
    lie in one place.
    """

    def __init__(self, library: native.Compiled) -> None:
        self._library = library
        self._type: pa.DataType | None = None

    def codes(self, cells: Column, *, more: bool) -> Integers:
        """Return the codes of some ids."""
        if not isinstance(cells, pa.Array) or self._type not in (None, cells.type):
            raise InternalError("the ids of a column are declared alike in all chunks.")
        self._type = cells.type
        codes = np.zeros(len(cells), dtype=np.int64)
        if cells.null_count:
            codes[cells.is_null().to_numpy(zero_copy_only=False)] = NOBODY
        if len(cells):
            self._number(cells, codes, more=more)
        return codes

    @abstractmethod
    def _number(self, cells: pa.Array, codes: Integers, *, more: bool) -> None:
        """Write the codes of ids, but where there are none."""


class WholeNumbers(InTable):
    """Numbers 64-bit integers."""

    def __init__(self, library: native.Compiled, secret: Callable[[int], int]) -> None:
        super().__init__(library)
        self._slots = native.Slots.empty(secret(64) | 1, bits=8)

    def __len__(self) -> int:
        return int(self._slots.count[0])

    @property
    def bytes(self) -> int:
        """How much memory this takes, when the table is next made larger."""
        return 3 * self._slots.table.nbytes

    def _number(self, cells: pa.Array, codes: Integers, *, more: bool) -> None:
        ids, done = _as_integers(cells.fill_null(0) if cells.null_count else cells), 0
        while (done := self._library.number(ids, codes, done, self._slots, more=more)) < len(ids):
            small = self._slots
            self._slots = native.Slots.empty(small.factor, small.bits + 1, small.count)
            self._library.renumber(small, self._slots)


class Texts(InTable):
    """Numbers texts, which are compared by their bytes."""

    def __init__(self, library: native.Compiled, secret: Callable[[int], int]) -> None:
        super().__init__(library)
        self._slots = native.TextSlots(secret_key(secret), bits=8)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def bytes(self) -> int:
        """How much memory this takes, when the table is next made larger."""
        return 2 * self._slots.bytes

    def _number(self, cells: pa.Array, codes: Integers, *, more: bool) -> None:
        texts, done = arrow_texts(cells), 0
        while done < len(texts):
            done = self._library.number_texts(texts, codes, done, self._slots, more=more)


def secret_key(secret: Callable[[int], int] = random_bits) -> native.Hashes:
    """Return a key for the hashes of texts."""
    return np.array([secret(64), secret(64)], dtype=np.uint64)


def arrow_texts(cells: pa.Array) -> native.Texts:
    """Return the texts of a column of large binaries, as they lie."""
    _, ends, data = cells.buffers()
    offsets = np.frombuffer(ends, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    return native.Texts(offsets, np.frombuffer(data or b"", np.uint8))


class Values(Numbering):
    """Numbers values of any type of Arrow, which compares them, and not only their hashes."""

    def __init__(self) -> None:
        self._first: list[Hashable] = []  # the ids of the first chunk, often the only one
        self._known: dict[Hashable, int] = {}
        self._length = 0

    def __len__(self) -> int:
        return max(len(self._first), len(self._known))

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        return self._length + _BYTES_OF_AN_ID * len(self)

    def codes(self, cells: Column, *, more: bool) -> Integers:
        """Return the codes of some cells."""
        places, keys = _numbered(cells)
        if not len(self) and more:
            self._first, self._length = keys, _length_of(keys)
            return places
        if not self._known:
            self._known = {key: code for code, key in enumerate(self._first)}
        known, before = self._known, len(self)
        if more:
            codes = [known.setdefault(key, len(known)) for key in keys]
            new = (key for key, code in zip(keys, codes, strict=True) if code >= before)
            self._length += _length_of(new)
        else:
            codes = [known.get(key, UNKNOWN) for key in keys]
        return np.array([*codes, NOBODY], dtype=np.int64)[places]


def _length_of(keys: Iterable[Hashable]) -> int:
    return sum(len(key) if isinstance(key, bytes) else 8 for key in keys)


def _numbering_of(cells: Column, secret: Callable[[int], int]) -> Numbering:
    library = native.library()
    if library is None or not isinstance(cells, pa.Array):
        return Values()
    if _is_whole(cells.type):
        return WholeNumbers(library, secret)
    return Texts(library, secret) if cells.type == pa.large_binary() else Values()


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_float64(kind))


def _as_integers(cells: pa.Array) -> Integers:
    """Return cells as 64-bit integers: one for each value."""
    values = cells.to_numpy(zero_copy_only=False)
    found: Integers = values.view(np.int64) if values.dtype.itemsize == 8 else values.astype(int)
    return np.ascontiguousarray(found)


def check_id_type(name: str, kind: pa.DataType) -> None:
    """Refuse a column whose declared type cannot be compared exactly."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    simple = pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    if not simple and not is_bytes(kind):
        raise ColumnError(
            f"Column {name!r} has type {kind}, which cannot be a person ID. Choose a column of "
            "text, integers, dates or decimals."
        )


def _numbered(column: Column) -> tuple[Integers, list[Hashable]]:
    """Return for every record which of the distinct ids it has, and these; -1 for none."""
    if not isinstance(column, pa.Array):
        cells = [_object_key(cell) for cell in column]
        keys = [key for key in dict.fromkeys(cells) if key is not None]
        found = {None: NOBODY} | {key: place for place, key in enumerate(keys)}
        return np.fromiter((found[cell] for cell in cells), np.int64, len(cells)), keys
    encoded = column.dictionary_encode()
    places = encoded.indices.fill_null(NOBODY).to_numpy(zero_copy_only=False).astype(np.int64)
    return places, encoded.dictionary.to_pylist()


def exact(column: pa.Array) -> pa.Array:
    """Return the ids in a type whose equality is that of the ids."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return exact(column.dictionary).take(column.indices)
    if is_bytes(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    if pa.types.is_floating(kind):
        doubles = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return pa.array(doubles + 0.0, from_pandas=True)  # -0.0 is 0.0, and NaN is nobody
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
    np.timedelta64: ("duration", lambda _: None),  # derives from np.integer, which comes next
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
