"""Where rows come from: memory, frames and files, all behind one protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from tametail.engines.cells import Floats

#: Told the fraction of the rows, or of the bytes, that a pass has read, between 0 and 1.
Tell = Callable[[float], None]

#: The most rows of a chunk that is computed from numbers in memory: few enough for the cache.
CONVERTED: Final = 1 << 17

#: The same, of a chunk that is decoded. One more than a power of two, because Arrow makes room for
#: the next power: so there is room for all that it may decode ahead. Otherwise it moves the batch,
#: half decoded, to where there is.
DECODED: Final = (1 << 18) + 1


class Table(Protocol):
    """Named columns of numbers, read from the first row to the last as often as asked.

    Names and declared types are schema: known, and checked, when the table is made, before any
    record is read.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order in which chunks hold them."""

    @property
    def in_place(self) -> bool:
        """Whether chunks are doubles that lie ready: reading them again costs nothing."""

    def rows(self) -> int:
        """Return the number of rows, without reading any where the source knows it."""

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield the rows ``start..stop-1`` as matrices of float64 with at most ``most`` rows."""

    def column(self, index: int) -> Table:
        """Return the table of one of its columns."""


def cut(blocks: Iterator[Floats], start: int, stop: int | None) -> Iterator[Floats]:
    """Yield the rows ``start..stop-1`` of a stream that can only be read from its beginning."""
    position = 0
    for block in blocks:
        last = None if stop is None else max(stop - position, 0)
        yield block[max(start - position, 0) : last]
        position += len(block)
        if stop is not None and position >= stop:
            return
