"""The profile around a center: one pass that several queries are answered from.

Records are counted by the top 16 bits of x - center: sign, 11 bits of exponent, sixteenth of the
octave. Beside each count stands the sum of the 28 bits that follow. A NaN shows as the largest
exponent with a fraction (a difference is never a signalling NaN); an infinity has that exponent and
no fraction.
"""

from __future__ import annotations

from operator import mul
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.data.kernels import native
from tametail.data.kernels.accumulator import Counts, Floats
from tametail.data.kernels.plain import BANDS, BINS, REST_BITS
from tametail.queries.column import (
    SOFT_ONE,
    DistanceSum,
    LogHistogram,
    ProfileQuery,
    Squares,
)

Integers = (
    Counts | npt.NDArray[np.object_]
)  # of Python's integers, or of 64 bits where that is enough

_BIAS = 1023

#: The exponent of the last bit of a distance that is kept, in the smallest octave: sums of
#: distances are integers in units of 2**-_UNIT.
_UNIT = 1022 + 4 + REST_BITS

#: Records after which the sums of a profile, of 28 bits each, are carried over: they fit 64 bits.
_CARRY = 1 << 34

#: Up to so many records tables would take longer to make and to read than to fill.
_FEW = 1 << 12

#: The bins of one sign; among them those from here on, but the first, hold NaN.
_SIDE, _INFINITE = 1 << 15, 0x7FF << 4


class Profile(NamedTuple):
    """The bins that hold records, by the top 16 bits of their distances, in ascending order.

    ``counts`` says how many there are, and ``rests`` adds up the 28 bits of their distances that
    follow. A bin is ``2**15 * (1 if below else 0) + 16 * field + sixteenth``. Field 0 holds
    distances below 2**-1022: records that count as being at the center. Missing records are left
    out.
    """

    bins: Counts
    counts: Counts
    rests: Integers

    @classmethod
    def of(cls, tables: Integers, bands: int) -> Profile:
        """Return the profile from tables over all bins, of which these bands may hold records."""
        chosen = np.array([band for band in range(BANDS) if bands >> band & 1], dtype=np.int64)
        found = tables.reshape(BANDS, -1, 2)[chosen].reshape(-1, 2)
        (places,) = np.nonzero(found[:, 0])
        band, bins = np.divmod(places, BINS // BANDS)
        counts, rests = found[places].T
        return cls.of_bins(chosen[band] * (BINS // BANDS) + bins, counts.astype(np.int64), rests)

    @classmethod
    def of_bins(cls, bins: Counts, counts: Counts, rests: Integers) -> Profile:
        """Return the profile from bins in ascending order, of which some may hold NaN."""
        present = bins % _SIDE <= _INFINITE
        return cls(bins[present], counts[present], rests[present])

    @property
    def records(self) -> int:
        """The number of records that are not missing."""
        return int(self.counts.sum())

    def away(self) -> Profile:
        """Return the part that is not at the center."""
        there = self.bins % _SIDE >= 16
        return Profile(self.bins[there], self.counts[there], self.rests[there])


#: The profile of no records.
NO_RECORDS = Profile(*np.zeros((3, 0), dtype=np.int64))


class ProfilePass:
    """Adds up the profile around the center of a query; few records wait, and need no tables."""

    def __init__(self, query: ProfileQuery) -> None:
        self.center = query.center
        self.few: list[Floats] = []
        self.tables: Counts | None = None
        self.bands = 0  # in which the tables may hold records: the others are never looked at
        self.carried: Integers | int = 0
        self.records = 0  # that wait, or that the tables hold
        loops = native.loops()
        self.longest = loops.longest
        self.binning = loops.binning(query.center)

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        if self.tables is None and self.records + chunk.size <= _FEW:
            self.records += chunk.size
            self.few.append(chunk.copy())
        else:
            self.binning.add(chunk, self._expect(chunk.size))
            self.bands |= self.binning.bands

    def _expect(self, records: int) -> Counts:
        """Return the tables; carry the sums over, before so many more could overflow them."""
        if self.tables is None:
            self.tables = np.zeros((BINS, 2), dtype=np.int64)
            for chunk in self.few:
                self.binning.add(chunk, self.tables)
            self.bands, self.few = self.binning.bands, []
        self.records += records
        if self.records > _CARRY:
            self.carried = self.tables.astype(object) + self.carried
            self.tables[:] = 0
            self.records = records
        return self.tables

    def merge(self, other: ProfilePass) -> None:
        """Add what another pass around the same center has taken in."""
        if other.tables is None:
            for chunk in other.few:
                self.add(chunk)
            return
        tables = self._expect(other.records)
        tables += other.tables
        self.bands |= other.bands
        self.carried += other.carried

    def read(self) -> Profile:
        """Return the bins that hold records."""
        if self.tables is None:
            few = np.concatenate([np.empty(0), *self.few])
            return _profile_of_few(native.loops().subtract(few, self.center))
        total: Integers = (
            self.tables if isinstance(self.carried, int) else self.tables + self.carried
        )
        return Profile.of(total, self.bands)


def _profile_of_few(distances: Floats) -> Profile:
    bits = distances.view(np.int64)
    bins, places = np.unique(bits >> 48 & (BINS - 1), return_inverse=True)
    # Sums of so few rests are exact in float64.
    rests = np.bincount(places, bits >> 20 & ((1 << REST_BITS) - 1), len(bins)).astype(np.int64)
    return Profile.of_bins(bins, np.bincount(places, minlength=len(bins)), rests)


def conclude(query: ProfileQuery, profile: Profile) -> tuple[int, ...]:
    """Return the answer to a query from the profile around its center."""
    match query:
        case LogHistogram():
            return _tail_nodes(query, profile)
        case Squares():
            return _squares(query, profile)
        case DistanceSum():
            return _distance_sum(query, profile)


def _tail_nodes(query: LogHistogram, profile: Profile) -> tuple[int, ...]:
    bins, counts, _ = profile.away()
    octaves, sixteenths = (bins % _SIDE >> 4) - _BIAS, bins & 15
    nodes = np.array(query.nodes)
    # The next node above, or the last one; then whether the octave lies between two neighbors.
    place = np.minimum(np.searchsorted(nodes, octaves, side="right"), len(nodes) - 1)
    before = np.maximum(place - 1, 0)
    split = (nodes[before] == octaves) & (nodes[place] == octaves + 1)
    weights = np.where(split, 2 * sixteenths + 1, SOFT_ONE)
    found = np.zeros((2, len(nodes)), dtype=np.int64)
    side = (bins < _SIDE).astype(np.int64)  # the nodes below the center come first
    np.add.at(found, (side, place), counts * weights)
    np.add.at(found, (side, before), counts * (SOFT_ONE - weights))
    count = [SOFT_ONE * profile.records] if query.counted else []
    return (*found.ravel().tolist(), *count)


def _squares(query: Squares, profile: Profile) -> tuple[int, ...]:
    bins, counts, _ = profile.away()
    shifts = 2 * ((bins % _SIDE >> 4) - _BIAS - query.octave + 8)
    squares = (17 + (bins & 15)) ** 2
    # Far above the cap the exact size does not matter, only that it is above; nor far below 1.
    sizes = (squares << np.clip(shifts, 0, 32)) >> np.clip(-shifts, 0, 32)
    sizes = np.minimum(sizes, query.largest)
    return (sum(map(mul, counts.tolist(), sizes.tolist())),)


def _distance_sum(query: DistanceSum, profile: Profile) -> tuple[int, ...]:
    lattice, away = query.lattice, profile.away()
    middle = int(np.searchsorted(away.bins, _SIDE))
    above, below = (
        _clipped_distances(
            end << (lattice.exponent + _UNIT),
            away.bins[side],
            away.counts[side],
            away.rests[side],
        )
        for end, side in ((lattice.high, slice(middle)), (-lattice.low, slice(middle, None)))
    )
    count = profile.records
    ticks = (above - below) >> (lattice.exponent + _UNIT)  # rounds down
    total = ticks - lattice.center * count
    return (total, query.count_weight * count) if query.count_weight else (total,)


def _clipped_distances(end: int, bins: Counts, counts: Counts, rests: Integers) -> int:
    """Add up the distances of one side, each clipped at ``end``, in units of 2**-_UNIT."""
    total = 0
    found = ((bins % _SIDE >> 4) - 1, bins & 15, counts, rests)
    for shift, sixteenth, count, rest in zip(*(part.tolist() for part in found), strict=True):
        # An edge never divides a bin: its records are below the end, or at and beyond it.
        start = (16 + sixteenth) << REST_BITS
        total += (start * count + rest) << shift if start << shift < end else end * count
    return total
