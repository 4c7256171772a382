"""The paper's ball and tournament, from chunks of rows in float64.

The map from a row to integers is IEEE double arithmetic on each row alone, one operation at a
time; everything after it is in integers. NaN is the one mark of a missing cell.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import product

import numpy as np
import numpy.typing as npt

from tametail.data.kernels.accumulator import Floats
from tametail.data.kernels.plain import rows_per_chunk
from tametail.queries.paper import FARTHEST, BallMean, PaperQuery, Scores

Integers = npt.NDArray[np.int64]

#: The score of a point that has not met an opponent yet.
_UNBEATEN = np.iinfo(np.int64).max

#: Opponents at up to this multiple of the squared tie are met first: they decide most scores.
_NEAR = 1.3


def _ticks(query: PaperQuery, chunk: Floats) -> Floats:
    with np.errstate(all="ignore"):  # an overflow is an infinity: far away
        ticks: Floats = np.floor((chunk - np.array(query.center)) * 2.0**-query.exponent)
    return ticks


class BallTotal:
    """The sum of the rows in a ball, and their number."""

    def __init__(self, query: BallMean) -> None:
        self.query = query
        self.longest = rows_per_chunk(len(query.center))
        self.total, self.kept = [0] * len(query.center), 0

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        ticks, radius = _ticks(self.query, chunk), self.query.radius
        # NaN compares false, so what is left is small enough for exact 64-bit squares.
        cube = ticks[(np.abs(ticks) <= radius).all(axis=1)].astype(np.int64)
        ball = cube[np.einsum("ij,ij->i", cube, cube) <= radius**2]
        self._plus(ball.sum(axis=0).tolist(), len(ball))

    def _plus(self, total: list[int], kept: int) -> None:
        self.total = [before + more for before, more in zip(self.total, total, strict=True)]
        self.kept += kept

    def merge(self, other: BallTotal) -> None:
        """Add another sum."""
        self._plus(other.total, other.kept)

    def read(self) -> tuple[int, ...]:
        """Return the mean, with max(kept, 3n/4) for the number of rows; all is times 4."""
        query = self.query
        divisor = max(4 * self.kept, 3 * query.size, 1)
        return tuple(4 * query.factor * part // divisor for part in self.total)


class NearRows:
    """All rows in ticks, for the scores of the tournament: blocks are of rows in their order."""

    def __init__(self, query: Scores) -> None:
        self.query = query
        self.longest = rows_per_chunk(query.n_columns)
        self.rows = [np.empty((0, query.n_columns), dtype=np.int64)]

    def add(self, chunk: Floats) -> None:
        """Take in the next rows."""
        ticks = np.clip(_ticks(self.query, chunk), -FARTHEST, FARTHEST)
        self.rows.append(np.where(np.isnan(ticks), 0.0, ticks).astype(np.int64))

    def merge(self, other: NearRows) -> None:
        """Take in the rows that follow."""
        self.rows += other.rows

    def read(self) -> Integers:
        """Return the score of every point of the grid."""
        return scores(self.query, np.concatenate(self.rows))


def scores(query: Scores, rows: Integers) -> Integers:
    """Return the score of every point of the grid, from rows in ticks."""
    axis = range(-query.reach, query.reach + 1)
    points = np.array(list(product(axis, repeat=query.n_columns)), dtype=np.int64)
    blocks = rows[: query.blocks * query.block_size].reshape(
        query.blocks, query.block_size, query.n_columns
    )
    found = np.full(len(points), _UNBEATEN)
    still = np.arange(len(points))  # points whose score may still fall
    horizon: Integers | None = None
    for opponent in query.opponents():
        if horizon is None and opponent.squared_distance > _NEAR * query.tie:
            horizon = _horizons(query, blocks, points, found)
        # A score of 0 is final, and beyond the horizon of a point nothing can lower its score.
        still = still[found[still] > 0]
        if horizon is not None:
            still = still[opponent.squared_distance <= horizon[still]]
        if not still.size:
            break
        direction = np.array(opponent.direction, dtype=np.int64)
        projections = _Projections.of(query, blocks, direction)
        for side in (projections, projections.reversed()):
            # A match needs an opponent that is on the grid.
            ahead = points[still] + opponent.multiple * side.direction
            playing = still[(np.abs(ahead) <= query.reach).all(axis=1)]
            if playing.size:
                places, back = np.unique(points[playing] @ side.direction, return_inverse=True)
                lost_after = side.rows_to_lose(places, query.target(opponent))
                found[playing] = np.minimum(found[playing], lost_after[back])
    return np.where(found == _UNBEATEN, query.default, found)


def _horizons(query: Scores, blocks: Integers, points: Integers, found: Integers) -> Integers:
    """Return squared distances in steps beyond which no opponent can lower a point's score.

    Whatever the direction, the clamped sum of a block is at most the length of the sum of its rows
    within xi of p, and xi for each row beyond; and a replaced row x gains at most
    ``xi + min(|x - p|, xi)``. Lengths are rounded up, so that this is never too small.
    """
    horizons = np.full(len(points), 4 * query.reach**2 * query.n_columns)
    largest = query.xi + 1  # xi |v| is rounded up
    for index in np.flatnonzero((found > 0) & (found < _UNBEATEN)):
        centered = blocks - query.step * points[index]
        lengths = np.minimum(_lengths_up(centered), largest)
        inner = (centered * (lengths < largest)[..., np.newaxis]).sum(axis=1)
        at_most = _lengths_up(inner) + largest * (lengths == largest).sum(axis=1)
        gains = largest + np.sort(lengths, axis=1)[:, ::-1]
        after = np.column_stack([at_most, at_most[:, np.newaxis] + np.cumsum(gains, axis=1)])

        def rows_needed(squared: int, after: Integers = after) -> int:
            target = query.block_size * math.isqrt(query.step**2 * squared) // 2
            costs = sorted(int(np.searchsorted(sums, target)) for sums in after)
            return sum(costs[: query.blocks // 2 + 1])

        within = range(int(horizons[index]))
        horizons[index] = bisect_left(within, int(found[index]), key=rows_needed)
    return horizons


def _lengths_up(vectors: Integers) -> Integers:
    """Return Euclidean lengths, rounded up by more than the errors of the square root."""
    lengths: Floats = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=-1))
    return (lengths * (1 + 2.0**-40)).astype(np.int64) + 2


class _Projections:
    """The rows of every block projected on a direction v, in ascending order, with their sums."""

    def __init__(self, query: Scores, direction: Integers, ascending: Integers) -> None:
        self.query, self.direction, self.ascending = query, direction, ascending
        self.block = np.arange(query.blocks, dtype=np.int64)[:, np.newaxis]
        sums = np.zeros((query.blocks, query.block_size + 1), dtype=np.int64)
        np.cumsum(ascending, axis=1, out=sums[:, 1:])
        self.sums = sums.ravel()

    @classmethod
    def of(cls, query: Scores, blocks: Integers, direction: Integers) -> _Projections:
        """Project and sort."""
        bound = query.bound(direction.tolist())
        ascending = np.clip(blocks @ direction, -bound, bound)
        ascending.sort(axis=1)
        return cls(query, direction, ascending)

    def reversed(self) -> _Projections:
        """Return the projections on -v."""
        return _Projections(self.query, -self.direction, -self.ascending[:, ::-1])

    def rows_to_lose(self, places: Integers, target: int) -> Integers:
        """Return how many rows must change for p to lose, for each ``<k_p, v>`` in ``places``.

        A block reaches the target when its j smallest projections are replaced by the largest
        possible one; no other j rows do better. The median reaches it when a majority of the
        blocks does, and the cheapest majority is the best.
        """
        origin = places * self.query.step
        largest = self.query.clamp(self.direction.tolist())
        below, not_above = (self._count_below(origin + end) for end in (-largest, largest))
        # The clamped sum is largest * (rows above - rows below) + the sum of what is between.
        ends = largest * (self.query.block_size - not_above) + self._sum_to(not_above, origin)

        def reaches(changed: Integers) -> npt.NDArray[np.bool_]:
            """Say whether a block reaches the target once its ``changed`` smallest are largest."""
            low = np.maximum(below - changed, 0)
            between: Integers = ends - self._sum_to(changed + low, origin)
            reached: npt.NDArray[np.bool_] = between + largest * (changed - low) >= target
            return reached

        # The least number that reaches it, by bisection: all rows that are not above suffice.
        few, enough = np.zeros_like(not_above), not_above
        while (few < enough).any():
            half = (few + enough) >> 1
            reached = reaches(half)
            few, enough = np.where(reached, few, half + 1), np.where(reached, half, enough)
        few.sort(axis=0)
        cheapest: Integers = few[: self.query.blocks // 2 + 1].sum(axis=0)
        return cheapest

    def _count_below(self, values: Integers) -> Integers:
        """Count the projections below each value, by block."""
        # Blocks are moved apart, so that one search in one ascending array serves all of them.
        apart = (2 * self.query.bound(self.direction.tolist()) + 1) * self.block
        found = np.searchsorted((self.ascending + apart).ravel(), values + apart)
        return found - self.query.block_size * self.block

    def _sum_to(self, counts: Integers, origin: Integers) -> Integers:
        """Sum the first projections of every block, as seen from ``origin``."""
        sums: Integers = self.sums[counts + (self.query.block_size + 1) * self.block]
        return sums - counts * origin
