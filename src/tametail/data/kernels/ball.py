"""Rows in integer balls: how many lie outside of each, and the sums of all rows in one of them.

What becomes of a row depends on that row alone, never on its place in a chunk: cells are mapped
by single IEEE operations, and sums are sums of integers below 2**53, exact in any order. A norm
that is not exact is larger than every radius, and is then only known to be so.

The radius is chosen by the first pass, and the second one maps every row again: it keeps nothing of
the first, so that its sums are those of the rows that it read itself, each in its ball, even if
somebody changed the data in between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tametail.data.kernels import native
from tametail.data.kernels.accumulator import Counts, Floats
from tametail.data.kernels.plain import into_ball, rows_per_chunk
from tametail.queries.rows import BallLevels, BallSquares, BallSum

#: Chunks whose sums of squares, each at most 2**53, add up in 64 bits.
_CARRY = 1 << 9


@dataclass(frozen=True, slots=True)
class Totals:
    """Exact sums over all rows, mapped into one ball."""

    sums: list[int]
    squares: list[int]
    missing: list[int]
    outside: int
    rows: int


def conclude(query: BallSum | BallSquares, totals: Totals) -> tuple[int, ...]:
    """Return the answer to ``query`` from the sums over all rows."""
    if isinstance(query, BallSquares):
        squares = (square >> query.shift for square in totals.squares)
        return (*squares, query.cut_weight * totals.outside)
    count = (query.count_weight * totals.rows,) if query.count_weight else ()
    weight = query.missing_weight
    missing = (weight * cells for cells in totals.missing) if weight else ()
    return (*totals.sums, *count, *missing)


class LevelCounts:
    """The first pass: how many rows lie outside of each ball."""

    def __init__(self, query: BallLevels) -> None:
        self.map = native.loops().row_map(query.ball)
        self.longest = rows_per_chunk(query.ball.n_columns)
        bounds = np.array(query.ball.radii, dtype=np.float64) ** query.ball.order
        self.beyond = np.nextafter(bounds, np.inf)  # the least norms outside
        self.center = np.zeros(1)
        # A row of level l is outside of the balls 0..l-1.
        self.levels = np.zeros((1, len(bounds) + 1), dtype=np.int64)

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        norms = self.map.norms(chunk)[:, np.newaxis]
        native.loops().count_beyond(norms, self.center, self.beyond, self.levels)

    def merge(self, other: LevelCounts) -> None:
        """Add the counts of another one."""
        self.levels += other.levels

    def read(self) -> list[Counts]:
        """Return a table with one list: the numbers of rows outside."""
        return [np.cumsum(self.levels[0, ::-1])[::-1][1:]]


class BallTotals:
    """The second pass: sums and squares of the rows, each mapped into the ball of one radius."""

    def __init__(self, query: BallSum | BallSquares) -> None:
        self.ball, self.radius = query.ball, query.radius
        self.map = native.loops().row_map(query.ball)
        self.longest = rows_per_chunk(query.ball.n_columns)
        self.sums = np.zeros(self.ball.n_columns, dtype=np.int64)
        self.squares = np.zeros(self.ball.n_columns, dtype=np.int64)
        self.carried = np.zeros(self.ball.n_columns, dtype=object)  # Python integers never overflow
        self.missing = np.zeros(self.ball.n_columns, dtype=np.int64)
        self.chunks = self.outside = self.rows = 0

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        found = self.map.inside(chunk, float(self.radius) ** self.ball.order)
        self.missing += found.missing
        self.sums += found.sums
        self.squares += found.squares
        if found.far.size:
            moved = into_ball(self.map.far(chunk[found.far]), self.radius, self.ball.order)
            self.sums += moved.sum(axis=0)
            self.squares += (moved**2).sum(axis=0)
        self.outside += found.far.size
        self.rows += len(chunk)
        self.chunks += 1
        if self.chunks % _CARRY == 0:
            self._carry()

    def _carry(self) -> None:
        self.carried += self.squares
        self.squares[:] = 0

    def merge(self, other: BallTotals) -> None:
        """Add the sums of another one."""
        self.carried += other.carried + other.squares
        self.sums += other.sums
        self.missing += other.missing
        self.outside += other.outside
        self.rows += other.rows

    def read(self) -> Totals:
        """Return the sums."""
        missing = np.where(np.array(self.ball.inverse_ticks) > 0, self.missing, 0)
        squares = self.carried + self.squares
        return Totals(
            self.sums.tolist(), squares.tolist(), missing.tolist(), self.outside, self.rows
        )
