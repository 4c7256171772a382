"""From cells to codes: the one place that decides which group a row belongs to.

Every column of keys is read as bytes (text), whole numbers or truth values, by its declared type.
Cells are compared exactly, column by column; a cell that is none of these is missing, and so is
the key of its row. Which key a row has depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tametail.errors import ColumnError, ParameterError
from tametail.keys import Cell, Key, text_bytes

Codes = npt.NDArray[np.int64]

#: A cell of a key as its column keeps it; text as bytes.
Kept = bytes | int

#: How the cells of a column are kept: bytes of text, whole numbers, truth values, or bytes of
#: Python's objects, which begin with a letter for their type.
TEXT, WHOLE, TRUTH, OBJECT = "text", "whole numbers", "truth values", "objects"

_ARROW = {TEXT: pa.large_binary(), WHOLE: pa.int64(), TRUTH: pa.bool_(), OBJECT: pa.large_binary()}


def kind_of_keys(name: str, kind: pa.DataType) -> str:
    """Return how the cells of a declared type are kept, or refuse the type.

    >>> kind_of_keys("state", pa.string())
    'text'
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_text = (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
        pa.types.is_binary, pa.types.is_large_binary,
    )  # fmt: skip
    if any(check(kind) for check in is_text):
        return TEXT
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return WHOLE
    if pa.types.is_boolean(kind):
        return TRUTH
    raise ColumnError(
        f"Column {name!r} has type {kind}, which cannot be used for groups. Convert it to text or "
        "to 64-bit integers first."
    )


def kind_of_cells(name: str, cells: object) -> str:
    """Return how the cells of a column are kept: Python's objects declare no type."""
    return kind_of_keys(name, cells.type) if isinstance(cells, pa.Array) else OBJECT


def kept_cells(cells: pa.Array | Iterable[object], kind: str) -> pa.Array:
    """Return some cells as they are kept; no cell can make this fail."""
    if not isinstance(cells, pa.Array):
        return object_cells(cells)
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    return cells.cast(_ARROW[kind])


def joined(pieces: Sequence[Sequence[pa.Array]], kinds: Sequence[str]) -> list[pa.Array]:
    """Return each column in one, whatever pieces it came in."""
    return [
        pa.chunked_array([piece[place] for piece in pieces], type=_ARROW[kind]).combine_chunks()
        for place, kind in enumerate(kinds)
    ]


def object_cells(cells: Iterable[object]) -> pa.Array:
    """Return untyped cells as tagged bytes; what is no text, whole number or truth is missing."""
    return pa.array([_tagged(cell) for cell in cells], _ARROW[OBJECT])


def _tagged(cell: Any) -> bytes | None:
    kind = type(cell)  # no code of the cell's own runs
    if issubclass(kind, str):
        return b"s" + text_bytes(str.__str__(cell))
    if kind is bool or issubclass(kind, np.bool_):
        return b"b1" if cell else b"b0"
    if issubclass(kind, int):
        return b"i" + int.__format__(cell, "x").encode()
    # A duration of NumPy derives from its integers, and its item may be no integer.
    if issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64):
        return b"i" + format(np.generic.item(cell), "x").encode()
    return None


def cell_of(value: Any, kind: str) -> Cell:
    """Undo the encoding of one cell.

    >>> cell_of(_tagged(-255), OBJECT), cell_of("Zürich".encode(), TEXT)
    (-255, 'Zürich')
    """
    if kind == OBJECT:
        tag, rest = value[:1], value[1:]
        if tag == b"s":
            return _text(rest)
        return int(rest, 16) if tag == b"i" else rest == b"1"
    return _text(value) if kind == TEXT else value


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def public_cells(keys: Sequence[Key], index: int, name: str, kind: str) -> list[Kept]:
    """Return the cells of public keys in one column as that column keeps them, or refuse one.

    Text stands for a whole number where the column holds those: a command line has text only.
    """
    return [_public(key.cells[index], name, kind) for key in keys]


def public_columns(
    keys: Sequence[Key], names: Sequence[str], kinds: Sequence[str]
) -> list[list[Kept]]:
    """Return the cells of public keys column by column, or refuse keys that would be one."""
    named = enumerate(zip(names, kinds, strict=True))
    columns = [public_cells(keys, place, name, kind) for place, (name, kind) in named]
    if len(set(zip(*columns, strict=True))) < len(keys):
        raise ParameterError("keys= lists a group twice. List each group once.")
    return columns


def _public(cell: Cell, name: str, kind: str) -> Kept:
    if kind == OBJECT:
        return cast("bytes", _tagged(cell))  # a public cell is of a type that has a tag
    if kind == TEXT and isinstance(cell, str):
        return text_bytes(cell)
    if kind == TRUTH and isinstance(cell, bool):
        return cell
    if kind == WHOLE:
        if isinstance(cell, int) and not isinstance(cell, bool):
            return cell
        if isinstance(cell, str) and _is_whole(cell):
            return int(cell)
    wanted = {TEXT: "'2013'", WHOLE: "2013", TRUTH: "True"}[kind]
    raise ParameterError(
        f"keys= has a key of type {type(cell).__name__}, but column {name!r} has type {kind}. Use "
        f"keys that are {wanted}."
    )


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 20
    return plain and str(int(text)) == text


class KeyEncoder:
    """Gives every row the number of its key among some keys; -1 if it has none of them.

    >>> coder = KeyEncoder([[b"CA", b"CA", b"NY"], [1, 2, 1]], [TEXT, WHOLE])
    >>> cells = pa.array([b"NY", b"CA", None, b"TX"], pa.large_binary()), pa.array([1, 2, 1, 1])
    >>> coder.codes(cells).tolist()
    [2, 1, -1, -1]
    """

    def __init__(self, columns: Sequence[Sequence[Kept]], kinds: Sequence[str]) -> None:
        self._sets: list[pa.Array] = []
        self._prefixes: list[pa.Array] = []
        before = np.zeros(len(columns[0]), dtype=np.int64)
        for values, kind in zip(columns, kinds, strict=True):
            distinct = sorted({value for value in values if _fits(value, kind)})
            places = {value: place for place, value in enumerate(distinct)}
            own = np.array([places.get(value, len(distinct)) for value in values], dtype=np.int64)
            joined = before * (len(distinct) + 1) + own
            prefixes, before = np.unique(joined, return_inverse=True)
            self._sets.append(pa.array(distinct, _ARROW[kind]))
            self._prefixes.append(pa.array(prefixes))
        self._key_of = np.full(len(prefixes) + 1, -1)  # the last: of rows without a key
        self._key_of[before] = np.arange(len(columns[0]))

    def codes(self, columns: Sequence[pa.Array]) -> Codes:
        """Return the codes of some rows, one array of cells for each column."""
        # Null is none of them, and stays so; each cell of the first column begins a key.
        first, *others = zip(columns, self._sets, self._prefixes, strict=True)
        found = pc.index_in(first[0], value_set=first[1])
        for cells, values, prefixes in others:
            own = pc.index_in(cells, value_set=values)
            joined = pc.add(pc.multiply(found.cast(pa.int64()), len(values) + 1), own)
            found = pc.index_in(joined, value_set=prefixes)
        codes: Codes = self._key_of[found.fill_null(-1).to_numpy(zero_copy_only=False)]
        return codes


def _fits(value: Kept, kind: str) -> bool:
    """Say whether a column can hold a public cell at all: no 64-bit column holds 2**70."""
    return kind != WHOLE or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63)


class OccurringKeys(NamedTuple):
    """Every key that occurs, for a private choice only: with its cells and its number of rows."""

    keys: list[Key]
    columns: list[list[Kept]]
    counts: list[int]


def occurring_keys(columns: Sequence[pa.Array], kinds: Sequence[str]) -> OccurringKeys:
    """Return the keys of some rows; a row without a cell in every column has none."""
    table = pa.table(list(columns), names=[str(place) for place in range(len(columns))])
    counted = table.drop_null().group_by(table.column_names, use_threads=False)
    found = counted.aggregate([([], "count_all")])
    cells = [found[name].to_pylist() for name in table.column_names]
    keys = [
        Key(tuple(cell_of(value, kind) for value, kind in zip(values, kinds, strict=True)))
        for values in zip(*cells, strict=True)
    ]
    return OccurringKeys(keys, cells, found["count_all"].to_pylist())
