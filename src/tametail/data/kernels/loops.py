"""What the inner loops offer, in NumPy (``plain.py``) and compiled (``native.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tametail.data.kernels.accumulator import Counts, Floats
from tametail.queries.rows import Ball


@dataclass(frozen=True, slots=True)
class Inside:
    """Sums over the rows of a chunk that are inside of a ball, and which rows are not."""

    sums: Counts
    squares: Counts
    missing: Counts
    far: Counts


class Binning(Protocol):
    """Counts ``chunk - center`` by the top 16 bits, and adds up the 28 bits that follow."""

    @property
    def bands(self) -> int:
        """Of the 64 bands of bins, as bits, at least those that anything was added to."""

    def add(self, chunk: Floats, tables: Counts) -> None:
        """Add to ``tables``, which have a count and a sum for every bin."""


class RowMap(Protocol):
    """Maps rows to integers around the centers of a ball."""

    def norms(self, chunk: Floats) -> Floats:
        """Return the norm of every row: exact up to 2**53, and above all radii beyond."""

    def inside(self, chunk: Floats, bound: float) -> Inside:
        """Add up the rows whose norm is at most the bound."""

    def far(self, rows: Floats) -> Floats:
        """Return some rows in ticks."""


class Loops(Protocol):
    """One set of loops."""

    @property
    def longest(self) -> int:
        """The most values of a chunk."""

    def count_present(self, chunk: Floats) -> int:
        """Count the values that are not NaN."""

    def subtract(self, chunk: Floats, center: float) -> Floats:
        """Return the distances of values from a center, as a new array."""

    def clipped_sum(
        self, chunk: Floats, inverse_tick: float, ends: tuple[float, float, float]
    ) -> tuple[int, int]:
        """Return the sum of ``floor(clip(x * inverse_tick, low, high)) - center``, and the count.

        ``ends`` are low, center and high, none of the former further than 2**36 from the center.
        """

    def count_beyond(self, rows: Floats, centers: Floats, steps: Floats, seen: Counts) -> None:
        """Count cells by how many ``steps`` their distances from the centers reach, in ``seen``.

        ``seen`` has a row for each column. Missing cells reach none.
        """

    def words_of(self, codes: Counts, values: Floats) -> Counts:
        """Return the words in which numbers of persons have digits, in their order."""

    def add_digits(self, codes: Counts, values: Floats, slots: Counts, table: Counts) -> None:
        """Add the digits of numbers to the rows of their persons."""

    def binning(self, center: float) -> Binning:
        """Return what adds chunks to a profile."""

    def row_map(self, ball: Ball) -> RowMap:
        """Return what maps rows."""
