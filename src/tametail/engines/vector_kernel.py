"""Exact answers to vector queries, from chunks of rows in float64.

The map from a row to integers is IEEE double arithmetic on each row alone, one operation at a
time; everything after it is in integers. NaN is the one mark of a missing cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tametail.vector_queries import BallMean, Scores, VectorQuery

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Cells this many ticks from the centre are as good as infinite: they are clamped in every match.
FARTHEST = 1 << 44

#: The score of a point that has not met an opponent yet.
_UNBEATEN = np.iinfo(np.int64).max


def answer(query: VectorQuery, chunks: Iterable[Floats]) -> Any:
    """Return the exact answer to ``query`` over all chunks of rows."""
    if isinstance(query, BallMean):
        return _ball_mean(query, chunks)
    rows = [_near_cells(query, chunk) for chunk in chunks]
    return scores(query, np.concatenate([np.empty((0, query.dim), dtype=np.int64), *rows]))


def _ticks(query: VectorQuery, chunk: Floats) -> Floats:
    with np.errstate(all="ignore"):  # an overflow is an infinity: far away
        return np.floor((chunk - np.array(query.centre)) * 2.0**-query.exponent)


def _ball_mean(query: BallMean, chunks: Iterable[Floats]) -> tuple[int, ...]:
    total, kept = [0] * len(query.centre), 0
    for chunk in chunks:
        ticks = _ticks(query, chunk)
        # NaN compares false, so what is left is small enough for exact 64-bit squares.
        cube = ticks[(np.abs(ticks) <= query.radius).all(axis=1)].astype(np.int64)
        ball = cube[np.einsum("ij,ij->i", cube, cube) <= query.radius**2]
        total = [before + more for before, more in zip(total, ball.sum(axis=0).tolist(), strict=True)]
        kept += len(ball)
    # max(kept, 3n/4), with both sides of the fraction times 4
    divisor = max(4 * kept, 3 * query.size, 1)
    return tuple(4 * query.factor * part // divisor for part in total)


def _near_cells(query: Scores, chunk: Floats) -> Integers:
    ticks = np.clip(_ticks(query, chunk), -FARTHEST, FARTHEST)
    return np.where(np.isnan(ticks), 0.0, ticks).astype(np.int64)


def scores(query: Scores, rows: Integers) -> Integers:
    """Return the score of every point of the grid, from rows in ticks."""
    axis = range(-query.reach, query.reach + 1)
    points = np.array(list(product(axis, repeat=query.dim)), dtype=np.int64)
    found = np.full(len(points), _UNBEATEN)
    blocks = rows[: query.blocks * query.block_size].reshape(query.blocks, -1, query.dim)
    for opponent in query.opponents():
        direction = np.array(opponent.direction, dtype=np.int64)
        projections = _Projections(query, blocks, direction)
        for side in (projections, projections.reversed()):
            # A score of 0 is final; a match needs an opponent that is on the grid.
            ahead = points + opponent.multiple * side.direction
            playing = np.flatnonzero((found > 0) & (np.abs(ahead) <= query.reach).all(axis=1))
            if playing.size:
                places, back = np.unique(points[playing] @ side.direction, return_inverse=True)
                lost_after = side.rows_to_lose(places, query.target(opponent))
                found[playing] = np.minimum(found[playing], lost_after[back])
    return np.where(found == _UNBEATEN, query.default, found)


class _Projections:
    """The rows of every block projected on a direction v, in ascending order, with their sums."""

    def __init__(self, query: Scores, blocks: Integers, direction: Integers) -> None:
        bound = query.bound(direction.tolist())
        projected = np.clip(blocks @ direction, -bound, bound)
        projected.sort(axis=1)
        self._set(query, direction, projected)

    def _set(self, query: Scores, direction: Integers, projected: Integers) -> None:
        self.query, self.direction, self.projected = query, direction, projected
        self.sums = np.zeros((query.blocks, query.block_size + 1), dtype=np.int64)
        np.cumsum(projected, axis=1, out=self.sums[:, 1:])

    def reversed(self) -> _Projections:
        """Return the projections on -v."""
        other = object.__new__(_Projections)
        other._set(self.query, -self.direction, -self.projected[:, ::-1])
        return other

    def rows_to_lose(self, places: Integers, target: int) -> Integers:
        """Return, for p with each ``<k_p, v>`` of ``places``, how many rows must change.

        In a block the j smallest projections are replaced by the largest possible, j being the
        least number with which the sum reaches ``target``. The median reaches it once the cheaper
        half of the blocks and one more do.
        """
        largest, origin = self.query.clamp(self.direction.tolist()), places * self.query.step
        below, inside = self._count_below(origin - largest), self._count_below(origin + largest)
        total = self._clamped_sum(below, inside, origin, largest)
        costs = _least(
            lambda changed: (
                total + 2 * largest * np.minimum(changed, below)
                + self._gain(below, np.maximum(changed, below), origin, largest)
                >= target
            ),
            inside,
        )
        majority = self.query.blocks // 2 + 1
        return np.partition(costs, majority - 1, axis=0)[:majority].sum(axis=0)
