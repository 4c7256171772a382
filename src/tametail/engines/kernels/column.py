"""The integer kernel: exact answers to queries from chunks of float64 values.

Every engine that sees records as arrays (memory, frames, files) uses this one kernel; NaN is
the one mark of a missing record. A chunk has at most ``longest_chunk`` values, so that sums of
integers up to 2**36 are exact in float64, or in the 64-bit integers of the compiled loops; sums
across chunks are Python integers. All arithmetic here is IEEE double arithmetic, one operation at a
time, so that other engines can return the same integers (``docs/specification.md``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tametail.doubles import to_key
from tametail.engines.kernels import native
from tametail.engines.sampling import Sampler
from tametail.queries.column import (
    SOFT_ONE,
    Buckets,
    ClippedSum,
    ColumnQuery,
    Count,
    DistanceSum,
    Median,
    ProfileQuery,
    Squares,
    TailNodes,
)

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Integers = npt.NDArray[Any]  # of Python's integers, or of 64 bits where that is enough

#: Values per chunk: small enough for the cache and for exact float64 sums. A chunk may be longer
#: where the compiled loops do the work, which add up integers, or only a sample is looked at.
CHUNK, LONG_CHUNK = 1 << 16, 1 << 20

_EXPONENTS = 1 << 11
_BIAS = 1023

#: Bits of a distance that are kept after the first five, and the exponent of the last of them in
#: the smallest octave: sums of distances are integers in units of 2**-_UNIT.
REST_BITS = 28
_UNIT = 1022 + 4 + REST_BITS

#: Of so few records, adding up several tables would take longer than filling one.
_FEW = 1 << 14

#: Records after which the sums of a profile, of 28 bits each, are carried over: they fit 64 bits.
_CARRY = 1 << 34


class Profile(NamedTuple):
    """Records by side (above, below), exponent field 0..2047 and sixteenth of their distance.

    ``counts`` says how many there are, and ``rests`` adds up the 28 bits of their distances that
    follow. Field 0 holds distances below 2**-1022: records that count as being at the centre.
    """

    counts: Counts
    rests: Integers


class Kernel(Protocol):
    """Adds up chunks, then gives the exact answer."""

    def add(self, chunk: Floats) -> None:
        """Take in one chunk; it is not modified."""

    def result(self) -> Any:
        """Return the exact answer in integers."""


def answer(
    query: ColumnQuery, chunks: Iterable[Floats], profiles: dict[float, Profile] | None = None
) -> Any:
    """Return the exact answer to ``query`` over all chunks, in one pass.

    Queries about distances from a centre need only the profile around it, so they share one pass
    if the engine keeps ``profiles``. Any profile knows the number of records, too.
    """
    if isinstance(query, ProfileQuery):
        profiles = {} if profiles is None else profiles
        if query.centre not in profiles:
            profiles[query.centre] = _run(_ProfileKernel(query), chunks)
        return _PROFILE_ANSWERS[type(query)](query, profiles[query.centre])
    if isinstance(query, Count) and profiles:
        return (int(next(iter(profiles.values())).counts.sum()),)
    return _run(_KERNELS[type(query)](query), chunks)


def longest_chunk(query: ColumnQuery) -> int:
    """Return how many values a chunk may have that needs no conversion."""
    compiled = native.library() is not None and isinstance(query, Count | ClippedSum | ProfileQuery)
    return LONG_CHUNK if compiled or isinstance(query, Median) else CHUNK


def _run(kernel: Kernel, chunks: Iterable[Floats]) -> Any:
    for chunk in chunks:
        kernel.add(chunk)
    return kernel.result()


class _CountKernel:
    def __init__(self, query: Count) -> None:  # noqa: ARG002 - one signature for all kernels
        self.count = 0
        self.loops = native.library()

    def add(self, chunk: Floats) -> None:
        if self.loops is None:
            self.count += chunk.size - int(np.count_nonzero(np.isnan(chunk)))
        else:
            self.count += native.count_present(self.loops, chunk)

    def result(self) -> tuple[int, ...]:
        return (self.count,)


class _ClippedSumKernel:
    """Sums of floor(clip(x * inverse tick, low, high)) - centre, in one buffer."""

    def __init__(self, query: ClippedSum) -> None:
        lattice = query.lattice
        self.inverse_tick = 2.0**-lattice.exponent
        self.ends = float(lattice.low), float(lattice.centre), float(lattice.high)
        self.weight = query.count_weight
        self.sum = self.count = 0
        self.loops = native.library()
        self.buffer = np.empty(CHUNK)

    def add(self, chunk: Floats) -> None:
        if self.loops is None:
            total, present = self._sum_and_count(chunk)
        else:
            total, present = native.clipped_sum(self.loops, chunk, self.inverse_tick, self.ends)
        self.sum += total
        self.count += present

    def _sum_and_count(self, chunk: Floats) -> tuple[int, int]:
        ticks, (low, centre, high) = self.buffer[: chunk.size], self.ends
        with np.errstate(all="ignore"):  # an overflow is an infinity, which the clip brings back
            np.multiply(chunk, self.inverse_tick, out=ticks)
        np.clip(ticks, low, high, out=ticks)
        np.floor(ticks, out=ticks)
        if centre:
            np.subtract(ticks, centre, out=ticks)
        total = ticks.sum()  # exact: the terms are integers, or NaN for a missing record
        if np.isnan(total):
            ticks = ticks[~np.isnan(ticks)]
            total = ticks.sum()
        return int(total), ticks.size

    def result(self) -> tuple[int, ...]:
        return (self.sum, self.weight * self.count) if self.weight else (self.sum,)


class _BucketsKernel:
    def __init__(self, query: Buckets) -> None:
        self.query = query
        self.counts: Counter[int] = Counter()

    def add(self, chunk: Floats) -> None:
        with np.errstate(all="ignore"):
            keys = np.floor(chunk * self.query.inverse_width)
        keys = keys[np.isfinite(keys)]
        for key, count in zip(*np.unique(keys, return_counts=True), strict=True):
            self.counts[int(key)] += int(count)

    def result(self) -> dict[int, int]:
        low, high = self.query.low, self.query.high
        return {key: count for key, count in self.counts.items() if low <= key <= high}


class _ProfileKernel:
    """Counts by the top 16 bits of x - centre: sign, 11 bits of exponent, sixteenth of the octave.

    Beside each count stands the sum of the 28 bits that follow. A NaN shows as the largest exponent
    with a fraction (a difference is never a signalling NaN); an infinity has that exponent and no
    fraction.
    """

    def __init__(self, query: ProfileQuery) -> None:
        self.centre = query.centre
        self.loops = native.library()
        self.tables = np.zeros((0, native.BINS, 2), dtype=np.int64)
        self.carried: Integers | int = 0
        self.records = 0
        self.buffer = np.empty(CHUNK)

    def add(self, chunk: Floats) -> None:
        if not len(self.tables):
            tables = native.TABLES if self.loops is not None and chunk.size > _FEW else 1
            self.tables = np.zeros((tables, native.BINS, 2), dtype=np.int64)
        self.records += chunk.size
        if self.records > _CARRY:
            self.carried = self._total().astype(object)
            self.tables[:] = 0
            self.records = chunk.size
        if self.loops is not None:
            native.add_to_profile(self.loops, chunk, self.centre, self.tables)
            return
        distance = self.buffer[: chunk.size]
        with np.errstate(all="ignore"):
            np.subtract(chunk, self.centre, out=distance)
        bits = distance.view(np.uint64)
        index = (bits >> np.uint64(48)).astype(np.int64)
        rest = (bits >> np.uint64(20)) & np.uint64((1 << REST_BITS) - 1)
        # A chunk's sums are below 2**44: exact in float64.
        sums = np.bincount(index, rest.astype(np.float64), native.BINS)
        self.tables[0, :, 0] += np.bincount(index, minlength=native.BINS)
        self.tables[0, :, 1] += sums.astype(np.int64)

    def _total(self) -> Integers:
        total: Integers = self.tables.sum(axis=0) + self.carried
        return total

    def result(self) -> Profile:
        total = self._total().reshape(2, _EXPONENTS, 16, 2)
        total[:, -1, 1:] = 0  # NaN: missing records
        return Profile(total[..., 0].astype(np.int64), total[..., 1])


def _octaves(counts: Counts) -> list[int]:
    """Return the exponent fields that hold records; field 0 holds those at the centre."""
    return (1 + np.flatnonzero(counts[1:].any(axis=1))).tolist()


def _tail_nodes(query: TailNodes, profile: Profile) -> tuple[int, ...]:
    above, below = (_side_nodes(query, side) for side in profile.counts)
    count = [SOFT_ONE * int(profile.counts.sum())] if query.counted else []
    return tuple(below + above + count)


def _side_nodes(query: TailNodes, counts: Counts) -> list[int]:
    first, last = query.first, query.last
    nodes = [0] * (last - first + 1)
    for field in _octaves(counts):
        octave = field - _BIAS
        records, weight = int(counts[field].sum()), 0
        if first <= octave < last:
            weight = int(counts[field] @ (2 * np.arange(16) + 1))
            nodes[octave + 1 - first] += weight
        nodes[min(max(octave, first), last) - first] += SOFT_ONE * records - weight
    return nodes


def _squares(query: Squares, profile: Profile) -> tuple[int, ...]:
    total, largest = 0, query.largest
    counts = profile.counts.sum(axis=0)
    for field in _octaves(counts):
        shift = 2 * (field - _BIAS - query.octave + 8)
        for sixteenth, records in enumerate(counts[field].tolist()):
            square = (17 + sixteenth) ** 2
            # Far above the cap the exact size does not matter, only that it is above.
            size = square << min(shift, 64) if shift >= 0 else square >> -shift
            total += records * min(size, largest)
    return (total,)


def _distance_sum(query: DistanceSum, profile: Profile) -> tuple[int, ...]:
    lattice = query.lattice
    above, below = (
        _clipped_distances(end << (lattice.exponent + _UNIT), counts, rests)
        for end, counts, rests in zip((lattice.high, -lattice.low), *profile, strict=True)
    )
    count = int(profile.counts.sum())
    ticks = (above - below) >> (lattice.exponent + _UNIT)  # rounds down
    total = ticks - lattice.centre * count
    return (total, query.count_weight * count) if query.count_weight else (total,)


def _clipped_distances(end: int, counts: Counts, rests: Integers) -> int:
    """Add up the distances of one side, each clipped at ``end``, in units of 2**-_UNIT."""
    total = 0
    bins = np.nonzero(counts[1:])
    found = (part.tolist() for part in (*bins, counts[1:][bins], rests[1:][bins]))
    for shift, sixteenth, count, rest in zip(*found, strict=True):
        # An edge never divides a bin: its records are below the end, or at and beyond it.
        start = (16 + sixteenth) << REST_BITS
        total += (start * count + rest) << shift if start << shift < end else end * count
    return total


class _MedianKernel:
    def __init__(self, query: Median) -> None:
        self.sampler = Sampler(query.halvings)
        self.samples: list[Floats] = [np.empty(0)]

    def add(self, chunk: Floats) -> None:
        self.samples.append(chunk[self.sampler.pick(chunk.size)])

    def result(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        sample = np.concatenate(self.samples)
        keys, counts = np.unique(to_key(sample[~np.isnan(sample)]), return_counts=True)
        return keys, counts.astype(np.int64)


_KERNELS: dict[type[ColumnQuery], Callable[[Any], Kernel]] = {
    Count: _CountKernel,
    ClippedSum: _ClippedSumKernel,
    Buckets: _BucketsKernel,
    Median: _MedianKernel,
}

_PROFILE_ANSWERS: dict[type[ColumnQuery], Callable[[Any, Profile], tuple[int, ...]]] = {
    TailNodes: _tail_nodes,
    Squares: _squares,
    DistanceSum: _distance_sum,
}
