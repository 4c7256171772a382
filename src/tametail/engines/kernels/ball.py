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

from tametail.doubles import to_key
from tametail.engines.sampling import Sampler
from tametail.queries.rows import (
    MOST_ROWS,
    Ball,
    BallLevels,
    BallSquares,
    BallSum,
    ColumnMedians,
    Distances,
    RowQuery,
    Rows,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Cells of a chunk: few enough for the cache, and many enough for NumPy.
CHUNK_CELLS = 1 << 17

#: How much a factor is lowered, so that rounding cannot put a shrunk row outside of its ball.
_SAFE = 1.0 - 2.0**-40

#: Chunks are this many times as large where only a sample of their cells is read.
_SPARSE = 4

#: Gaps between sampled cells that are drawn at a time.
_GAPS = 1 << 12

#: Chunks whose sums of squares, each at most 2**53, add up in 64 bits.
_CARRY = 1 << 9

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

    def answer(self, query: RowQuery) -> Any:
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
        return from_totals(query, self.totals(query))

    def totals(self, query: BallSum | BallSquares) -> Totals:
        """Return the sums over all rows that the answer to ``query`` is made of."""
        return self._ball_pass(query.ball).totals(query.level, self._chunks)

    def _ball_pass(self, ball: Ball) -> BallPass:
        if self._pass is None or self._pass.ball != ball:
            self._pass = BallPass(ball)
            for chunk in self._chunks(self._rows):
                self._pass.add(chunk)
        return self._pass


def from_totals(query: BallSum | BallSquares, totals: Totals) -> tuple[int, ...]:
    """Return the answer to ``query`` from the sums over all rows."""
    if isinstance(query, BallSquares):
        squares = (square >> query.shift for square in totals.squares)
        return (*squares, query.cut_weight * totals.outside)
    count = (query.count_weight * totals.rows,) if query.count_weight else ()
    weight = query.missing_weight
    missing = (weight * cells for cells in totals.missing) if weight else ()
    return (*totals.sums, *count, *missing)


def _sampled_cells(halvings: int, dim: int, chunks: Iterable[Floats]) -> list[Floats]:
    """Return the sampled cells of every column; missing ones are left out."""
    sampler = Sampler(halvings, _GAPS)
    values, columns = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for chunk in chunks:
        places = sampler.pick(chunk.size)
        cells = chunk.reshape(-1)[places]
        present = ~np.isnan(cells)
        values.append(cells[present])
        columns.append((places % dim)[present])
    column = np.concatenate(columns)
    # NumPy sorts 16-bit numbers in linear time.
    order = np.argsort(column.astype(np.uint16) if dim <= 1 << 16 else column, kind="stable")
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
    if query.columns is not None:
        chosen = list(query.columns)
        chunks = (chunk[:, chosen] for chunk in chunks)
    if query.halvings == 0:
        far = _farthest if query.by_row else _from_centres
        return _count_beyond(query.distances, (far(chunk, centres).T for chunk in chunks))
    cells = _sampled_cells(query.halvings, len(centres), chunks)
    with np.errstate(over="ignore"):
        columns = [np.abs(values - centre) for values, centre in zip(cells, centres, strict=True)]
    return _count_beyond(query.distances, [columns])


def _count_beyond(
    distances: tuple[tuple[float, ...], ...], chunks: Iterable[Iterable[Floats]]
) -> list[Integers]:
    """Count how many numbers of each column are at least as large as each of its steps."""
    edges = [np.array(steps) for steps in distances]
    size = len(edges[0]) + 1
    seen = np.zeros((len(edges), size), dtype=np.int64)
    for columns in chunks:
        for number, (steps, column) in enumerate(zip(edges, columns, strict=True)):
            passed = np.searchsorted(steps, column, side="right")
            seen[number] += np.bincount(passed, minlength=size)
    return list(np.cumsum(seen[:, ::-1], axis=1)[:, -2::-1])


def _from_centres(chunk: Floats, centres: Floats) -> Floats:
    """Return the distances of the cells from their centres; of missing ones, less than any."""
    with np.errstate(all="ignore"):
        distance = np.abs(chunk - centres)
    distance[np.isnan(distance)] = -1.0
    return distance


def _farthest(chunk: Floats, centres: Floats) -> Floats:
    """Return the largest distance of each row from the centre; missing cells are at it."""
    farthest: Floats = np.maximum(_from_centres(chunk, centres), 0.0).max(axis=1, keepdims=True)
    return farthest


@dataclass(frozen=True, slots=True)
class Totals:
    """Exact sums over all rows, mapped into one ball."""

    sums: list[int]
    squares: list[int]
    missing: list[int]
    outside: int
    rows: int


class BallPass:
    """One pass over the rows: in which balls a row lies, and sums over the largest ball."""

    def __init__(self, ball: Ball) -> None:
        self.ball = ball
        self.bounds = np.array(ball.radii, dtype=np.float64) ** ball.order
        self.levels: list[npt.NDArray[np.uint8]] = []
        self.sums = np.zeros(ball.dim, dtype=np.int64)
        self.squares = np.zeros(ball.dim, dtype=np.int64)
        self.carried = np.zeros(ball.dim, dtype=object)  # Python integers, which never overflow
        self.missing = np.zeros(ball.dim, dtype=np.int64)
        # Whole chunks of centres and factors: broadcasting short rows takes three times as long.
        shape = (rows_per_chunk(ball.dim), ball.dim)
        self.centres = np.broadcast_to(ball.centres, shape).copy()
        self.inverse = np.broadcast_to(ball.inverse_ticks, shape).copy()
        self.clips = None if ball.limits is None else np.array(ball.limits, dtype=np.float64)
        if self.clips is not None:
            self.most = np.broadcast_to(self.clips**ball.order, shape).copy()
            self.least = float(self.most[0].min(where=self.inverse[0] > 0, initial=np.inf))
        self.buffer, self.powers = np.empty(shape), np.empty(shape)
        self.ones = np.ones(max(shape))
        self._totals: dict[int, Totals] = {}

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        ticks, powers = self.buffer[: len(chunk)], self.powers[: len(chunk)]
        rows, columns = self.ones[: len(chunk)], self.ones[: self.ball.dim]
        with np.errstate(all="ignore"):  # what overflows is an infinity: clipped, or outside
            self._to_ticks(chunk, ticks)
            norms = self._to_powers(ticks, powers) @ columns
            if np.isnan(norms.sum()):
                gaps = np.flatnonzero(np.isnan(norms))
                self.missing += np.isnan(chunk[gaps]).sum(axis=0)
                ticks[gaps] = _without_nan(ticks[gaps])
                norms = self._to_powers(ticks, powers) @ columns
        if self.clips is not None:
            self._clip(ticks, powers, norms)
        levels = np.searchsorted(self.bounds, norms, side="left").astype(np.uint8)
        # Rows outside of all balls may not be exact, or not even finite.
        if norms.max(initial=0.0) > self.bounds[-1]:
            far = levels == len(self.bounds)
            ticks[far] = powers[far] = 0.0
        self.levels.append(levels)
        self.sums += (rows @ ticks).astype(np.int64)
        squares = powers if self.ball.order == 2 else np.multiply(ticks, ticks, out=powers)
        self.squares += (rows @ squares).astype(np.int64)
        if len(self.levels) % _CARRY == 0:
            self.carried += self.squares
            self.squares[:] = 0

    def outside(self) -> Integers:
        """Return how many rows lie outside of each ball."""
        size = len(self.bounds)
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
        sums, squares, outside = self.sums.copy(), self.carried + self.squares, 0
        for chunk, levels in zip(chunks, self.levels, strict=True):
            rows = np.flatnonzero(levels > level)
            if not rows.size:
                continue
            with np.errstate(all="ignore"):
                ticks = _without_nan(self._to_ticks(chunk[rows], self.buffer[: len(rows)]))
            ticks = self._clipped(ticks)
            known = ticks[levels[rows] < len(self.bounds)].astype(np.int64)
            moved = self._into_ball(ticks, self.ball.radii[level])
            sums += moved.sum(axis=0) - known.sum(axis=0)
            squares += (moved**2).sum(axis=0) - (known**2).sum(axis=0)
            outside += len(rows)
        size = sum(map(len, self.levels))
        missing = np.where(self.inverse[0] > 0, self.missing, 0)
        return Totals(sums.tolist(), squares.tolist(), missing.tolist(), outside, size)

    def _to_ticks(self, chunk: Floats, ticks: Floats) -> Floats:
        np.subtract(chunk, self.centres[: len(chunk)], out=ticks)
        np.multiply(ticks, self.inverse[: len(chunk)], out=ticks)
        np.rint(ticks, out=ticks)
        return ticks

    def _clipped(self, ticks: Floats) -> Floats:
        return ticks if self.clips is None else np.clip(ticks, -self.clips, self.clips)

    def _clip(self, ticks: Floats, powers: Floats, norms: Floats) -> None:
        """Clip the cells beyond their limits, in place. Few rows have any, many chunks none."""
        if powers.max(initial=0.0) <= self.least:
            return
        beyond = np.flatnonzero(powers > self.most[: len(powers)])
        if beyond.size:
            rows = np.unique(beyond // self.ball.dim)
            ticks[rows] = self._clipped(ticks[rows])
            powers[rows] = self._to_powers(ticks[rows], powers[rows])
            norms[rows] = powers[rows] @ self.ones[: self.ball.dim]

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
