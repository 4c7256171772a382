"""Exact answers to the queries of the vector mean, from chunks of rows in float64.

What becomes of a row depends on that row alone, never on its place in a chunk: cells are mapped
by single IEEE operations, and sums are sums of integers below 2**53, exact in any order. A norm
that is not exact is larger than every radius, and is then only known to be so.

Balls are asked about three times (levels, squares, sum). One pass over all rows counts the
levels and adds up the rows; a ball of one radius then needs only the rows outside of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tametail.column_queries import (
    MOST_ROWS,
    Ball,
    BallLevels,
    BallSquares,
    ColumnMedians,
    ColumnQuery,
    Distances,
    Rows,
)
from tametail.doubles import to_key
from tametail.engines.sampling import Sampler, geometric

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Cells of a chunk: small enough for the cache.
CHUNK_CELLS = 1 << 15

#: How much a factor is lowered, so that rounding cannot put a shrunk row outside of its ball.
_SAFE = 1.0 - 2.0**-40

#: Chunks are this many times as large where only a sample of their cells is read.
_SPARSE = 16

#: Gaps between sampled cells that are drawn at a time.
_GAPS = 1 << 12

#: Gives the chunks anew for every pass, with at most so many rows.
Chunks = Callable[[int], Iterable[Floats]]


def rows_per_chunk(dim: int) -> int:
    """Return how many rows of ``dim`` cells make a chunk."""
    return max(1, min(MOST_ROWS, CHUNK_CELLS // dim))


class ColumnKernel:
    """Answers queries over the rows that ``chunks`` yields, and keeps the pass of one ball."""

    def __init__(self, chunks: Chunks, dim: int) -> None:
        self._rows = rows_per_chunk(dim)
        self._chunks = chunks
        self._pass: BallPass | None = None

    def answer(self, query: ColumnQuery) -> Any:
        """Return the exact answer to ``query``."""
        match query:
            case ColumnMedians():
                return _keys(query, self._chunks(_SPARSE * self._rows))
            case Distances():
                return _distances(query, self._chunks(_SPARSE * self._rows))
            case Rows():
                return (sum(len(chunk) for chunk in self._chunks(self._rows)),)
            case BallLevels():
                return [self._ball_pass(query.ball).outside()]
        totals = self._ball_pass(query.ball).totals(query.level, self._chunks)
        if isinstance(query, BallSquares):
            squares = (square >> query.shift for square in totals.squares)
            return (*squares, query.cut_weight * totals.outside)
        count = (query.count_weight * totals.rows,) if query.count_weight else ()
        return (*totals.sums, *count)

    def _ball_pass(self, ball: Ball) -> BallPass:
        if self._pass is None or self._pass.ball != ball:
            self._pass = BallPass(ball)
            for chunk in self._chunks(self._rows):
                self._pass.add(chunk)
        return self._pass


class _EagerSampler(Sampler):
    """Draws many gaps at a time: most of the work is the same for few and for many."""

    def pick(self, size: int) -> Integers:
        """Return the sampled positions among the next ``size`` cells."""
        if self.halvings and self._gaps.size < size >> self.halvings:
            self._gaps = np.concatenate([self._gaps, 1 + geometric(self.halvings, _GAPS)])
        return super().pick(size)


def _sampled_cells(halvings: int, dim: int, chunks: Iterable[Floats]) -> list[Floats]:
    """Return the sampled cells of every column; missing ones are left out."""
    sampler = _EagerSampler(halvings)
    values, columns = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for chunk in chunks:
        places = sampler.pick(chunk.size)
        cells = chunk.reshape(-1)[places]
        present = ~np.isnan(cells)
        values.append(cells[present])
        columns.append((places % dim)[present])
    column = np.concatenate(columns)
    order = np.argsort(column, kind="stable")
    ends = np.cumsum(np.bincount(column, minlength=dim))
    return np.split(np.concatenate(values)[order], ends[:-1])


def _keys(query: ColumnMedians, chunks: Iterable[Floats]) -> list[tuple[Integers, Integers]]:
    answer = []
    for cells in _sampled_cells(query.halvings, query.choices, chunks):
        keys, counts = np.unique(to_key(cells), return_counts=True)
        answer.append((keys, counts.astype(np.int64)))
    return answer


def _distances(query: Distances, chunks: Iterable[Floats]) -> list[Integers]:
    centres = np.array(query.centres)
    if query.by_row:
        far = [np.empty(0), *(_farthest(chunk, centres) for chunk in chunks)]
        columns = [np.concatenate(far)]
    else:
        cells = _sampled_cells(query.halvings, len(centres), chunks)
        with np.errstate(over="ignore"):
            columns = [np.abs(x - centre) for x, centre in zip(cells, centres, strict=True)]
    answer = []
    for values, steps in zip(columns, query.distances, strict=True):
        nearer = np.searchsorted(np.sort(values), steps, side="left")
        answer.append(len(values) - nearer.astype(np.int64))
    return answer


def _farthest(chunk: Floats, centres: Floats) -> Floats:
    """Return the largest distance of each row from the centre; missing cells are at it."""
    with np.errstate(all="ignore"):
        distance = np.abs(chunk - centres)
    farthest: Floats = np.where(np.isnan(distance), 0.0, distance).max(axis=1)
    return farthest


@dataclass(frozen=True, slots=True)
class Totals:
    """Exact sums over all rows, mapped into one ball."""

    sums: list[int]
    squares: list[int]
    outside: int
    rows: int


class BallPass:
    """One pass over the rows: in which balls a row lies, and sums over the largest ball."""

    def __init__(self, ball: Ball) -> None:
        self.ball = ball
        self.limits = np.array(ball.radii, dtype=np.float64) ** ball.order
        self.levels: list[npt.NDArray[np.uint8]] = []
        self.sums = np.zeros(ball.dim, dtype=np.int64)
        self.squares = np.zeros(ball.dim, dtype=np.int64)
        # Whole chunks of centres and factors: broadcasting short rows takes three times as long.
        shape = (rows_per_chunk(ball.dim), ball.dim)
        self.centres = np.broadcast_to(ball.centres, shape).copy()
        self.inverse = np.broadcast_to(ball.inverse_ticks, shape).copy()
        self.buffer, self.powers = np.empty(shape), np.empty(shape)
        self.ones = np.ones(max(shape))
        self._totals: dict[int, Totals] = {}

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        ticks, powers = self.buffer[: len(chunk)], self.powers[: len(chunk)]
        rows, columns = self.ones[: len(chunk)], self.ones[: self.ball.dim]
        with np.errstate(all="ignore"):  # what overflows is an infinity: outside of all balls
            self._to_ticks(chunk, ticks)
            norms = self._to_powers(ticks, powers) @ columns
            if np.isnan(norms.sum()):
                missing = np.isnan(norms)
                ticks[missing] = _without_nan(ticks[missing])
                norms = self._to_powers(ticks, powers) @ columns
        levels = np.searchsorted(self.limits, norms, side="left").astype(np.uint8)
        # Rows outside of all balls may not be exact, or not even finite.
        if norms.max(initial=0.0) > self.limits[-1]:
            far = levels == len(self.limits)
            ticks[far] = powers[far] = 0.0
        self.levels.append(levels)
        self.sums += (rows @ ticks).astype(np.int64)
        squares = powers if self.ball.order == 2 else np.multiply(ticks, ticks, out=powers)
        self.squares += (rows @ squares).astype(np.int64)

    def outside(self) -> Integers:
        """Return how many rows lie outside of each ball."""
        size = len(self.limits)
        counts = sum((np.bincount(part, minlength=size + 1) for part in self.levels), np.zeros(1))
        # A row of level l is outside of the balls 0..l-1.
        beyond = np.cumsum((counts + np.zeros(size + 1))[::-1])[::-1]
        return beyond[1:].astype(np.int64)

    def totals(self, level: int, chunks: Chunks) -> Totals:
        """Return the sums for the ball number ``level``: only rows outside of it are read again."""
        if level not in self._totals:
            self._totals[level] = self._correct(level, chunks(len(self.buffer)))
        return self._totals[level]

    def _correct(self, level: int, chunks: Iterable[Floats]) -> Totals:
        sums, squares, outside = self.sums.copy(), self.squares.copy(), 0
        for chunk, levels in zip(chunks, self.levels, strict=True):
            rows = np.flatnonzero(levels > level)
            if not rows.size:
                continue
            with np.errstate(all="ignore"):
                ticks = _without_nan(self._to_ticks(chunk[rows], self.buffer[: len(rows)]))
            known = ticks[levels[rows] < len(self.limits)].astype(np.int64)
            moved = self._into_ball(ticks, self.ball.radii[level])
            sums += moved.sum(axis=0) - known.sum(axis=0)
            squares += (moved**2).sum(axis=0) - (known**2).sum(axis=0)
            outside += len(rows)
        size = sum(map(len, self.levels))
        return Totals(sums.tolist(), squares.tolist(), outside, size)

    def _to_ticks(self, chunk: Floats, ticks: Floats) -> Floats:
        np.subtract(chunk, self.centres[: len(chunk)], out=ticks)
        np.multiply(ticks, self.inverse[: len(chunk)], out=ticks)
        np.rint(ticks, out=ticks)
        return ticks

    def _to_powers(self, ticks: Floats, powers: Floats) -> Floats:
        """Return |q| or q^2; their sums are exact up to 2**53, and above all radii beyond."""
        if self.ball.order == 1:
            np.abs(ticks, out=powers)
        else:
            np.multiply(ticks, ticks, out=powers)
        return powers

    def _into_ball(self, ticks: Floats, radius: int) -> Integers:
        """Clip the cells, then shrink what is still outside; checked in integers."""
        rows = np.clip(ticks, -float(radius), float(radius)).astype(np.int64)
        norms = _integer_norms(rows, self.ball.order)
        far = np.flatnonzero(norms > radius**self.ball.order)
        size = norms[far].astype(np.float64)
        size = np.sqrt(size) if self.ball.order == 2 else size
        factor = radius / size * _SAFE
        shrunk = np.trunc(rows[far] * factor[:, np.newaxis]).astype(np.int64)
        # Never so by the margin above; the proof needs no more than this line.
        shrunk[_integer_norms(shrunk, self.ball.order) > radius**self.ball.order] = 0
        rows[far] = shrunk
        return rows


def _integer_norms(rows: Integers, order: int) -> Integers:
    norms: Integers = np.abs(rows).sum(axis=1) if order == 1 else np.einsum("ij,ij->i", rows, rows)
    return norms


def _without_nan(ticks: Floats) -> Floats:
    return np.where(np.isnan(ticks), 0.0, ticks)
