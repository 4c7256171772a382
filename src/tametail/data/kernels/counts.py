"""Counts, clipped sums, buckets and samples of one column.

A chunk has at most ``longest`` values, so that sums of integers up to 2**36 are exact in float64,
or in the 64-bit integers of the compiled loops; sums across chunks are Python integers.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from tametail.data.cells import are_left_out
from tametail.data.kernels import native
from tametail.data.kernels.accumulator import CHUNK, LONG_CHUNK, Counts, Floats
from tametail.data.sampling import Sampler
from tametail.doubles import to_key
from tametail.queries.column import Buckets, ClippedSum, Count
from tametail.queries.groups import Cells
from tametail.queries.query import KeysQuery


class Present:
    """The numbers of values that are there, that are missing, and that a condition leaves out.

    Whether there is a condition is public; without one nobody looks for what it would leave out.
    """

    def __init__(self, query: Count, *, filtered: bool = False) -> None:  # noqa: ARG002
        self.filtered = filtered
        self.count = self.size = self.left_out = 0
        self.longest = native.loops().longest

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        self.count += native.loops().count_present(chunk)
        self.size += chunk.size
        if self.filtered:
            self.left_out += int(np.count_nonzero(are_left_out(chunk)))

    def merge(self, other: Present) -> None:
        """Add other counts."""
        self.count += other.count
        self.size += other.size
        self.left_out += other.left_out

    def read(self) -> tuple[int, ...]:
        """Return the three counts."""
        return self.count, self.size - self.count - self.left_out, self.left_out


class ClippedTotal:
    """The sum of floor(clip(x * inverse tick, low, high)) - centre."""

    def __init__(self, query: ClippedSum) -> None:
        lattice = query.lattice
        self.inverse_tick = 2.0**-lattice.exponent
        self.ends = float(lattice.low), float(lattice.centre), float(lattice.high)
        self.weight = query.count_weight
        self.sum = self.count = 0
        self.longest = native.loops().longest

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        total, present = native.loops().clipped_sum(chunk, self.inverse_tick, self.ends)
        self.sum += total
        self.count += present

    def merge(self, other: ClippedTotal) -> None:
        """Add another sum and count."""
        self.sum += other.sum
        self.count += other.count

    def read(self) -> tuple[int, ...]:
        """Return the sum and, if it has a weight, the weighted count."""
        return (self.sum, self.weight * self.count) if self.weight else (self.sum,)


class CellCounts:
    """The number of records between cuts."""

    longest = LONG_CHUNK

    def __init__(self, query: Cells) -> None:
        self.cuts = query.cuts
        self.counts = np.zeros(len(query.cuts) + 1, dtype=np.int64)

    def add(self, chunk: Floats) -> None:
        """Take in one chunk: who reaches one cut and not the next, which is larger, is between."""
        reached = [np.count_nonzero(chunk >= cut) for cut in self.cuts]
        present = native.loops().count_present(chunk.ravel())
        self.counts -= np.diff([present, *reached, 0])

    def merge(self, other: CellCounts) -> None:
        """Add the counts of another one."""
        self.counts += other.counts

    def read(self) -> tuple[int, ...]:
        """Return the counts."""
        return tuple(self.counts.tolist())


class BucketCounts:
    """The number of records of every bucket that holds any."""

    longest = CHUNK

    def __init__(self, query: Buckets) -> None:
        self.query = query
        self.counts: Counter[int] = Counter()

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        with np.errstate(all="ignore"):
            keys = np.floor(chunk * self.query.inverse_width)
        keys = keys[np.isfinite(keys)]
        for key, count in zip(*np.unique(keys, return_counts=True), strict=True):
            self.counts[int(key)] += int(count)

    def merge(self, other: BucketCounts) -> None:
        """Add the counts of another one."""
        self.counts.update(other.counts)

    def read(self) -> dict[int, int]:
        """Return the counts of the keys that were asked about."""
        low, high = self.query.low, self.query.high
        return {key: count for key, count in self.counts.items() if low <= key <= high}


class SampledKeys:
    """The records of a secret sample as ordered keys. Parts toss coins of their own."""

    longest = LONG_CHUNK

    def __init__(self, query: KeysQuery[object]) -> None:
        self.sampler = Sampler(query.halvings)
        self.samples: list[Floats] = [np.empty(0)]

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        self.samples.append(chunk[self.sampler.pick(chunk.size)])

    def merge(self, other: SampledKeys) -> None:
        """Take in another sample of the same rate, of other records."""
        self.samples += other.samples

    def read(self) -> tuple[Counts, Counts]:
        """Return the distinct keys and their counts."""
        sample = np.concatenate(self.samples)
        return distinct_keys(sample[~np.isnan(sample)])


def distinct_keys(numbers: Floats) -> tuple[Counts, Counts]:
    """Return numbers as ordered keys: the distinct ones, and how many there are of each."""
    keys, counts = np.unique(to_key(numbers), return_counts=True)
    return keys, counts.astype(np.int64)
