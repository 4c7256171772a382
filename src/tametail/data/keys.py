"""From cells to keys: the one place that decides which group a row belongs to.

Every column of keys is read as bytes (text), whole numbers or truth values, by its declared type.
Cells are compared exactly, column by column; a cell that is none of these is missing, and so is
the key of its row. Which key a row has depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.data.cells import decoded
from tametail.data.persons.ids import Ids
from tametail.data.sources import Cells
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
    """Return some cells as they are kept; no cell can make this fail.

    What is no text, whole number or truth value among untyped cells is missing.
    """
    if not isinstance(cells, pa.Array):
        return pa.array(map(_tagged, cells), _ARROW[OBJECT])
    return decoded(cells).cast(_ARROW[kind])


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


def public_columns(
    keys: Sequence[Key], names: Sequence[str], kinds: Sequence[str]
) -> list[list[Kept]]:
    """Return the cells of public keys as each column keeps them, or refuse keys that would be one.

    Text stands for a whole number where the column holds those: a command line has text only.
    """
    named = enumerate(zip(names, kinds, strict=True))
    columns = [[_public(key.cells[place], *one) for key in keys] for place, one in named]
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
    wanted = {
        TEXT: "text, such as '2023'", WHOLE: "whole numbers, such as 2023", TRUTH: "True or False",
    }[kind]  # fmt: skip
    raise ParameterError(
        f"keys= has a key of type {type(cell).__name__}, but column {name!r} has type {kind}. For "
        f"this column, the keys must be {wanted}."
    )


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 20
    return plain and str(int(text)) == text


def _secret_of_this_process(bits: int) -> int:
    """Return what nobody can foresee, and no answer depends on: Python's own, of its start."""
    return hash(b"keys of groups") & ((1 << bits) - 1)


class KeyNumbers:
    """Gives keys numbers as they come, as persons get theirs: cells are compared exactly.

    >>> numbers = KeyNumbers([TEXT, WHOLE])
    >>> numbers.add([pa.array(["NY", "CA", None, "NY"]), pa.array([1, 2, 1, 1])]).tolist()
    [0, 1, -1, 0]
    >>> [key.label for key in numbers.occurring], numbers.find([[b"TX", b"CA"], [1, 2]]).tolist()
    ([('NY', 1), ('CA', 2)], [-2, 1])
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = tuple(kinds)
        self._ids = Ids(_secret_of_this_process)
        self._cells = [[pa.array([], _ARROW[kind])] for kind in kinds]

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, columns: Sequence[Cells]) -> Codes:
        """Return the number of every row's key; a negative one if it lacks a cell."""
        kept = [kept_cells(*one) for one in zip(columns, self.kinds, strict=True)]
        before = len(self)
        codes = self._ids.codes(kept)
        if len(self) > before:
            new = np.flatnonzero(np.diff(np.maximum.accumulate(np.append(before - 1, codes))))
            for cells, each in zip(self._cells, kept, strict=True):
                cells.append(each.take(pa.array(new)))
        return codes

    def find(self, columns: Sequence[Sequence[Kept]]) -> Codes:
        """Return the numbers of public keys; negative ones of those that no row has."""
        return self._ids.codes(
            [
                pa.array([each if _fits(each, kind) else None for each in cells], _ARROW[kind])
                for cells, kind in zip(columns, self.kinds, strict=True)
            ],
            more=False,
        )

    @property
    def occurring(self) -> list[Key]:
        """All keys in the order of their numbers: for a private choice only."""
        columns = [
            [cell_of(cell, kind) for each in cells for cell in each.to_pylist()]
            for cells, kind in zip(self._cells, self.kinds, strict=True)
        ]
        return [Key(cells) for cells in zip(*columns, strict=True)]


def _fits(value: Kept, kind: str) -> bool:
    """Say whether a column can hold a public cell at all: no 64-bit column holds 2**70."""
    return kind != WHOLE or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63)
