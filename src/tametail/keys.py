"""Keys of groups: cells of text, whole numbers or truth values, compared exactly.

A key has one cell for each column that is grouped by. Text is compared by its bytes, numbers as
whole numbers, and ``True`` is not ``1``. Cells are never joined, hashed or made into floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tametail._shown import shown
from tametail.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

Cell = str | int | bool
Label = Cell | tuple[Cell, ...]
"""What callers see: the cell of a key, or a tuple if there are several columns."""

#: Kinds of cells in the order in which keys are sorted.
_KINDS: tuple[type, ...] = (bool, int, str)


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """The key of one group.

    >>> Key((True,)) == Key((1,)), Key(("a", 1)) == Key(("a", 1))
    (False, True)
    """

    cells: tuple[Cell, ...]

    @property
    def identity(self) -> tuple[tuple[int, bytes | int], ...]:
        """What keys are compared and sorted by: first by kind, text by its bytes."""
        return tuple((_KINDS.index(type(cell)), _comparable(cell)) for cell in self.cells)

    @property
    def label(self) -> Label:
        """The only cell, or all of them."""
        return self.cells[0] if len(self.cells) == 1 else self.cells

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @classmethod
    def of(cls, label: object, width: int) -> Key:
        """Return the key of a label, or say how keys are written.

        >>> Key.of(["CA", 2013], 2).label
        ('CA', 2013)
        """
        cells = tuple(label) if isinstance(label, tuple | list) else (label,)
        plain = tuple(_plain(cell) for cell in cells)
        if len(plain) != width:
            raise ParameterError(
                f"A key has {len(plain)} entries, but by= names {width} columns. Use a tuple with "
                "one entry per column, such as keys=[('CA', 2013), ('NY', 2013)]."
            )
        return cls(plain)


def parse_keys(keys: object, width: int) -> tuple[Key, ...]:
    """Return the keys of a list of labels; each may be named once.

    >>> [key.label for key in parse_keys(["NY", "CA"], 1)]
    ['NY', 'CA']
    """
    is_scalar = isinstance(keys, str | bytes) or getattr(keys, "ndim", 1) == 0
    if is_scalar or not hasattr(keys, "__iter__"):
        raise ParameterError(f"Invalid keys={shown(keys)}. Use a list, such as keys=['CA', 'NY'].")
    found = tuple(Key.of(label, width) for label in keys)
    if not found:
        raise ParameterError("keys=[] is empty. List at least one group, or remove keys=.")
    if len(set(found)) < len(found):
        raise ParameterError("keys= lists a group twice. List each group once.")
    return found


def in_order(keys: Sequence[Key]) -> list[Key]:
    """Return keys sorted by kind, then by value; text by its bytes.

    >>> [key.label for key in in_order([Key(("b",)), Key((10,)), Key(("B",)), Key((9,))])]
    [9, 10, 'B', 'b']
    """
    return sorted(keys, key=lambda key: key.identity)


def text_bytes(cell: str) -> bytes:
    """Return the bytes of a text; bytes that are no UTF-8 come back as they were.

    >>> text_bytes("Müller") == text_bytes("Möller")
    False
    """
    try:
        return cell.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return cell.encode("utf-8", "surrogatepass")


def _comparable(cell: Cell) -> bytes | int:
    return text_bytes(cell) if isinstance(cell, str) else int(cell)


def _plain(cell: object) -> Cell:
    """Return a cell of a public key as one of Python's own kinds."""
    if type(cell) in _KINDS:
        return cast("Cell", cell)
    if type(cell).__module__ == "numpy" and getattr(cell, "shape", None) == ():
        cell = cast("np.generic", cell).item()
        if type(cell) in _KINDS:
            return cast("Cell", cell)
    if isinstance(cell, str):
        return str(cell)
    raise ParameterError(
        f"A key has type {type(cell).__name__}, which cannot be compared exactly. Use text, "
        "integers or Booleans."
    )
