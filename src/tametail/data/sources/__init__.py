"""Where rows come from: memory, frames, files and streams, all behind one class.

A block maps columns to cells: an Arrow array, float64 of NumPy, or the list of a column of
objects. What a column is read as is its *role*: a frame or a Parquet file declares a type, a CSV
file and a column of objects do not, so there the role decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from tametail.data.cells import Array, Floats

if TYPE_CHECKING:
    import pyarrow as pa

#: Told the fraction of the rows, or of the bytes, that a pass has read, between 0 and 1.
Tell = Callable[[float], None]

Role = Literal["number", "text", "id"]
Wanted = tuple[str, Role]

#: The cells of a column: float64 of NumPy, an Arrow array, or a list of untyped ones.
Cells: TypeAlias = "Floats | pa.Array | list[object]"
Block = dict[Wanted, Cells]

#: The most cells of a block that is computed from what is in memory: few enough for the cache.
CONVERTED: Final = 1 << 17

#: Of more columns a block has as many rows as of these: to take out a piece of a column of a frame
#: costs as much as some thousand cells.
_COLUMNS: Final = 8

#: The same, of one that is decoded. One more than a power of two, because Arrow makes room for
#: the next power: so there is room for all that it may decode ahead. Otherwise it moves the batch,
#: half decoded, to where there is.
DECODED: Final = (1 << 18) + 1


class Source(ABC):
    """Named columns, read from the first row to the last as often as asked.

    Names and declared types are schema: known when the source is made, before any record is read.
    """

    names: Sequence[str]
    is_counted: bool = True
    """Whether a record counts as one whatever its cells hold, even if all are empty."""
    reading: str | None = None
    """How the records are read, in the words of a plan, if that is worth a word."""
    locators: tuple[str, ...] = ()
    """Where the records lie, for a ledger, as far as that is known."""

    @abstractmethod
    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows, for its types; None where types are not known before."""

    @abstractmethod
    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, these columns of them, some at a time."""

    def array(self, names: Sequence[str]) -> Array | None:
        """Return these columns side by side, if they lie so in memory; None if they do not."""
        del names
        return None

    def size(self) -> int | None:
        """Return the number of rows; None where it takes a pass to know it."""
        return None

    def durations(self) -> frozenset[str]:
        """Return the columns that are declared as durations: they are numbers of seconds."""
        return frozenset()

    def close(self) -> None:  # noqa: B027 - most have nothing to end
        """End what was opened; to be called twice does no harm."""


class NumberRows(Protocol):
    """Rows of numbers, read from the first to the last as often as asked."""

    @property
    def in_place(self) -> bool:
        """Whether chunks are doubles that lie ready: reading them again costs nothing."""

    def size(self) -> int:
        """Return the number of rows, without reading any where the source knows it."""

    def chunks(self, most: int, tell: Tell) -> Iterator[Floats]:
        """Yield all rows as matrices of float64 with at most ``most`` rows."""


def slices(size: int, wanted: Sequence[Wanted], tell: Tell) -> Iterator[tuple[int, int]]:
    """Yield where blocks of so many rows in memory begin and end: one at least, for its types."""
    most = max(CONVERTED // min(max(len(wanted), 1), _COLUMNS), 1)
    for first in range(0, max(size, 1), most):
        last = min(first + most, size)
        yield first, last
        tell(last / max(size, 1))


def names_of(wanted: Sequence[Wanted]) -> list[str]:
    """Return each name once: a column may be wanted in several roles."""
    return list(dict.fromkeys(name for name, _ in wanted))
