"""The inner loops in NumPy: the reference for those that are compiled (``native.py``).

All arithmetic is IEEE double arithmetic, one operation at a time, and all sums are of integers that
float64 holds exactly, so that any engine can return the same integers
(``docs/reference/query-specification.md``).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tametail.data.kernels.accumulator import CHUNK, Counts, Floats
from tametail.data.kernels.loops import Inside
from tametail.doubles import LARGEST
from tametail.queries.rows import MOST_ROWS, Ball

#: Bins of a profile: the top 16 bits of a double. Bands of bins. Bits that follow and are added up.
BINS: Final = 1 << 16
BANDS: Final = 64
REST_BITS: Final = 28

#: Bits of a word of an exact sum, and how many words there can be: the largest double has its
#: highest bit in word 65.
WORD_BITS: Final = 32
WORDS: Final = 68

#: Cells of a chunk of rows: few enough for the cache, and many enough for NumPy.
CHUNK_CELLS = 1 << 17

#: How much a factor is lowered, so that rounding cannot put a shrunk row outside of its ball.
_SAFE = 1.0 - 2.0**-40

#: The most values of a chunk.
longest = CHUNK


def rows_per_chunk(n_columns: int) -> int:
    """Return how many rows of ``n_columns`` cells make a chunk."""
    return max(1, min(MOST_ROWS, CHUNK_CELLS // n_columns))


def count_present(chunk: Floats) -> int:
    """Count the values that are not NaN."""
    return chunk.size - int(np.count_nonzero(np.isnan(chunk)))


def subtract(chunk: Floats, center: float) -> Floats:
    """Return the distances of values from a center."""
    with np.errstate(all="ignore"):
        distances: Floats = chunk - center
    return distances


def clipped_sum(
    chunk: Floats, inverse_tick: float, ends: tuple[float, float, float]
) -> tuple[int, int]:
    """Return the sum of ``floor(clip(x * inverse_tick, low, high)) - center``, and the count.

    ``ends`` are low, center and high, none of the former further than 2**36 from the center.
    """
    low, center, high = ends
    with np.errstate(all="ignore"):  # an overflow is an infinity, which the clip brings back
        ticks = chunk * inverse_tick
    np.clip(ticks, low, high, out=ticks)
    np.floor(ticks, out=ticks)
    if center:
        np.subtract(ticks, center, out=ticks)
    total = ticks.sum()  # exact: the terms are integers, or NaN for a missing record
    if np.isnan(total):
        ticks = ticks[~np.isnan(ticks)]
        total = ticks.sum()
    return int(total), ticks.size


def distances_of(cells: Floats, centers: Floats) -> Floats:
    """Return the distances of cells from their centers; of missing ones, less than any."""
    with np.errstate(all="ignore"):
        distance: Floats = np.abs(cells - centers)
    distance[np.isnan(distance)] = -1.0
    return distance


def count_beyond(rows: Floats, centers: Floats, steps: Floats, seen: Counts) -> None:
    """Count cells by how many ``steps`` their distances from the centers reach, in ``seen``."""
    width = seen.shape[1]
    passed = np.searchsorted(steps, distances_of(rows, centers), side="right")
    passed += width * np.arange(len(centers))
    seen += np.bincount(passed.ravel(), minlength=seen.size).reshape(seen.shape)


def binning(center: float) -> Binning:
    """Return what adds chunks to a profile."""
    return Binning(center)


def row_map(ball: Ball) -> RowMap:
    """Return what maps rows."""
    return RowMap(ball)


class Binning:
    """Counts ``chunk - center`` by the top 16 bits, and adds up the 28 bits that follow."""

    bands = (1 << BANDS) - 1

    def __init__(self, center: float) -> None:
        self.center = center
        # Fresh arrays for every chunk would take as long as the arithmetic.
        self.distances, self.rests = np.empty(CHUNK), np.empty(CHUNK, dtype=np.int64)

    def __reduce__(self) -> tuple[type[Binning], tuple[float]]:
        return Binning, (self.center,)

    def add(self, chunk: Floats, tables: Counts) -> None:
        """Add to ``tables``, which have a count and a sum for every bin."""
        for start in range(0, chunk.size, CHUNK):
            self._add(chunk[start : start + CHUNK], tables)

    def _add(self, chunk: Floats, tables: Counts) -> None:
        distances, rests = self.distances[: chunk.size], self.rests[: chunk.size]
        with np.errstate(all="ignore"):
            np.subtract(chunk, self.center, out=distances)
        bits = distances.view(np.int64)
        np.right_shift(bits, 20, out=rests)
        np.bitwise_and(rests, (1 << REST_BITS) - 1, out=rests)
        np.right_shift(bits, 48, out=bits)
        np.bitwise_and(bits, BINS - 1, out=bits)
        # A chunk's sums are below 2**44: exact in float64.
        tables[:, 0] += np.bincount(bits, minlength=BINS)
        tables[:, 1] += np.bincount(bits, rests, BINS).astype(np.int64)


class RowMap:
    """Maps rows to integers around the centers of a ball: ``rint((x - center) * inverse)``.

    Cells are clipped to their limits, and a missing cell becomes 0. The norm of a row is the sum of
    |q| or q^2; it is exact up to 2**53, and beyond it is above all radii.
    """

    def __init__(self, ball: Ball) -> None:
        self.ball = ball
        # Whole chunks of centers and factors: broadcasting short rows takes three times as long.
        shape = (rows_per_chunk(ball.n_columns), ball.n_columns)
        self.centers = np.broadcast_to(ball.centers, shape).copy()
        self.inverse = np.broadcast_to(ball.inverse_ticks, shape).copy()
        self.lows, self.highs = (np.broadcast_to(ends, shape).copy() for ends in ball.ends)
        nearest = np.minimum(-self.lows[0], self.highs[0])
        self.least = nearest.min(where=self.inverse[0] > 0, initial=np.inf) ** ball.order
        self.ticks, self.powers = np.empty(shape), np.empty(shape)
        self.ones = np.ones(max(shape))

    def norms(self, chunk: Floats) -> Floats:
        """Return the norm of every row."""
        return self._map(chunk)[2]

    def inside(self, chunk: Floats, bound: float) -> Inside:
        """Add up the rows whose norm is at most the bound."""
        ticks, powers, norms, missing = self._map(chunk)
        far = np.flatnonzero(norms > bound)
        ticks[far] = powers[far] = 0.0
        if self.ball.order == 1:
            np.multiply(ticks, ticks, out=powers)
        ones = self.ones[: len(chunk)]
        sums, squares = ((ones @ part).astype(np.int64) for part in (ticks, powers))
        return Inside(sums, squares, missing, far)

    def far(self, rows: Floats) -> Floats:
        """Return some rows in ticks."""
        return self._map(rows)[0]

    def _map(self, chunk: Floats) -> tuple[Floats, Floats, Floats, Counts]:
        """Return ticks, powers, norms and missing cells by column, in buffers of this object."""
        ticks, powers = self.ticks[: len(chunk)], self.powers[: len(chunk)]
        missing = np.zeros(self.ball.n_columns, dtype=np.int64)
        with np.errstate(all="ignore"):  # what overflows is an infinity: clipped, or outside
            np.subtract(chunk, self.centers[: len(chunk)], out=ticks)
            np.multiply(ticks, self.inverse[: len(chunk)], out=ticks)
            np.rint(ticks, out=ticks)
            norms = self._norms(ticks, powers)
            if np.isnan(norms.sum()):
                gaps = np.flatnonzero(np.isnan(norms))
                missing += np.isnan(chunk[gaps]).sum(axis=0)
                ticks[gaps] = np.where(np.isnan(ticks[gaps]), 0.0, ticks[gaps])
                norms = self._norms(ticks, powers)
            if self._clip(ticks, powers):
                norms = self._norms(ticks, powers)
        return ticks, powers, norms, missing

    def _norms(self, ticks: Floats, powers: Floats) -> Floats:
        if self.ball.order == 1:
            np.abs(ticks, out=powers)
        else:
            np.multiply(ticks, ticks, out=powers)
        norms: Floats = powers @ self.ones[: self.ball.n_columns]
        return norms

    def _clip(self, ticks: Floats, powers: Floats) -> bool:
        """Clip the cells beyond their limits, in place. Few rows have any, many chunks none."""
        if powers.max(initial=0.0) <= self.least:
            return False
        beyond = (ticks > self.highs[: len(ticks)]) | (ticks < self.lows[: len(ticks)])
        rows = np.unique(np.flatnonzero(beyond) // self.ball.n_columns)
        ticks[rows] = np.clip(ticks[rows], self.lows[0], self.highs[0])
        return bool(rows.size)


def into_ball(ticks: Floats, radius: int, order: int) -> Counts:
    """Clip the cells, then shrink what is still outside; checked in integers."""
    rows = np.clip(ticks, -float(radius), float(radius)).astype(np.int64)
    norms = _integer_norms(rows, order)
    far = np.flatnonzero(norms > radius**order)
    size = norms[far].astype(np.float64)
    size = np.sqrt(size) if order == 2 else size
    factor = radius / size * _SAFE
    shrunk = np.trunc(rows[far] * factor[:, np.newaxis]).astype(np.int64)
    # Never so by the margin above; the proof needs no more than this line.
    shrunk[_integer_norms(shrunk, order) > radius**order] = 0
    rows[far] = shrunk
    return rows


def _integer_norms(rows: Counts, order: int) -> Counts:
    norms: Counts = np.abs(rows).sum(axis=1) if order == 1 else np.einsum("ij,ij->i", rows, rows)
    return norms


# --- persons


def words_of(codes: Counts, values: Floats) -> Counts:
    """Return the words in which numbers of persons have digits, in their order."""
    first, _ = taken_apart(_clipped(values[(codes >= 0) & ~np.isnan(values)]))
    words = np.unique(first)
    return np.unique(np.concatenate([words, words + 1, words + 2]))


def add_digits(codes: Counts, values: Floats, slots: Counts, table: Counts) -> None:
    """Add the digits of every number, and 1 to the count, to the row of its person.

    A row of the table has a count first; ``slots`` say where in it a word is. NaN and negative
    codes are left out.
    """
    kept = (codes >= 0) & ~np.isnan(values)
    whose = codes[kept]
    first, digits = taken_apart(_clipped(values[kept]))
    cells, rows = table.reshape(-1), whose * table.shape[1]
    np.add.at(cells, rows, 1)
    for offset, each in enumerate(digits):
        np.add.at(cells, rows + slots[first + offset], each)


def _clipped(values: Floats) -> Floats:
    clipped: Floats = np.clip(values, -LARGEST, LARGEST)
    return clipped


def taken_apart(numbers: Floats) -> tuple[Counts, tuple[Counts, Counts, Counts]]:
    """Return the lowest word of every number, and its digits in that and in the next two.

    The 53 bits of a number, moved by up to 31, fill at most 84 bits: two words and 20 bits.
    """
    bits = np.ascontiguousarray(numbers).view(np.int64)
    field = (bits >> 52) & 0x7FF
    mantissa = (bits & ((1 << 52) - 1)) | (np.int64(1) << 52) * (field > 0)
    place = np.maximum(field, 1) - 1
    shift, sign = (place % WORD_BITS).astype(np.uint64), np.where(bits < 0, -1, 1)
    digit = np.uint64((1 << WORD_BITS) - 1)
    low = (mantissa.astype(np.uint64) & digit) << shift
    high = ((mantissa >> WORD_BITS).astype(np.uint64) << shift) + (low >> np.uint64(WORD_BITS))
    words = low & digit, high & digit, high >> np.uint64(WORD_BITS)
    one, two, three = (word.astype(np.int64) * sign for word in words)
    return place // WORD_BITS, (one, two, three)
