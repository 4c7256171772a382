"""What a private median chooses from: all finite doubles, their base measure and their scores.

The finite doubles in ascending order are the integers -MAX_KEY..MAX_KEY, their keys
(:mod:`tametail.doubles`). So a choice among all doubles is a choice among integers, and nothing is
rounded. The choice itself is in :mod:`tametail.mechanisms.medians`.

The exponential mechanism needs a base measure on the keys, chosen without the data. A flat one is
a poor choice: most doubles are astronomically large or small, and a value that many records share
(0, 37, 19.99) weighs 1 against 2^64. The base measure here is the sum of five components of equal
mass, all symmetric about 0:

- an atom at 0;
- all doubles, each octave [2^o, 2^(o+1)) with mass 2^-taper(o), flat inside the octave;
- the same on the doubles with 16 bits of mantissa;
- the integers below 2^53, each octave as above;
- the multiples of 0.01 up to 10^9, each octave of the number of hundredths likewise.

The taper falls like the cube of the exponent, and by a factor 2 every four octaves above 2^20, so
that a choice that the data do not determine stays within reason.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tametail.doubles import to_key
from tametail.privacy.adjacency import Adjacency

Keys = NDArray[np.int64]
Masses = NDArray[np.object_]
"""An array of Python integers: masses exceed 64 bits."""

MANTISSA_BITS = 52
OCTAVES = 2047
"""Octaves of the finite doubles of one sign; the first holds the subnormal numbers."""
MAX_KEY = (OCTAVES << MANTISSA_BITS) - 1
EXPONENT_BIAS = 1023


def _median_runs(
    keys: Keys, counts: NDArray[np.int64], adjacency: Adjacency, first: int, last: int
) -> tuple[Keys, NDArray[np.int64]]:
    """Cut first..last into runs of equal score: gap, record value, gap, ..., record value, gap.

    Run r holds the keys in (edges[r], edges[r + 1]] and has scores[r]; a gap may be empty.
    """
    start, stop = np.searchsorted(keys, [first, last + 1])
    inside = keys[start:stop]
    around_records = np.stack([inside - 1, inside], axis=1).ravel()
    edges = np.concatenate([[first - 1], around_records, [last]])

    smaller = np.concatenate([[0], np.cumsum(counts)])  # records at keys[:i]
    twice = np.repeat(smaller[start : stop + 1], 2)
    below, above = twice[:-1], smaller[-1] - twice[1:]
    if adjacency.size_is_public:
        return edges, -np.maximum(below, above)
    return edges, -np.abs(below - above)


@dataclass(frozen=True)
class _Atom:
    """All of a component's mass on the key 0."""

    mass: int

    def cumulative(self, keys: Keys) -> Masses:
        """Return a function F such that the keys in (a, b] have mass F(b) - F(a)."""
        return np.where(keys < 0, 0, np.full(keys.shape, self.mass, dtype=object))

    def key_at(self, position: int) -> int:
        """Return the least key k with F(k) > position."""
        del position  # there is one point only
        return 0


@dataclass(frozen=True)
class _Points:
    """Points 1, 2, ... at positive keys and their mirror images; equal masses inside a block.

    The points 1..i have mass ``offsets[b] + weights[b] * i`` if point i lies in block b. Block 0
    holds only point 0, the number 0, which has no mass here.
    """

    starts: Keys
    weights: Masses
    offsets: Masses
    count_to: Callable[[Keys], Keys]
    """How many points lie at the keys 1..k, for an array of k >= 0."""
    key_of: Callable[[int], int]
    """The key of a point."""

    def cumulative(self, keys: Keys) -> Masses:
        """Return a function F such that the keys in (a, b] have mass F(b) - F(a).

        F(k) is the mass of 1..k for k >= 0, and minus the mass of k+1..-1 for k < 0; by symmetry
        the latter is the mass of 1..~k, where ~k = -k-1.
        """
        points = self.count_to(np.where(keys < 0, ~keys, keys))
        block = np.searchsorted(self.starts, points, side="right") - 1
        mass: Masses = self.weights[block] * points.astype(object)
        mass += self.offsets[block]
        return np.negative(mass, out=mass, where=keys < 0)

    def key_at(self, position: int) -> int:
        """Return the least key k with F(k) > position."""
        distance = ~position if position < 0 else position
        block = bisect_right(range(len(self.starts)), distance, key=self._mass_before) - 1
        point = (distance - self.offsets[block]) // self.weights[block] + 1
        key = self.key_of(point)
        return -key if position < 0 else key

    def _mass_before(self, block: int) -> int:
        return int(self.offsets[block] + self.weights[block] * (int(self.starts[block]) - 1))


def _taper(exponent: int) -> int:
    """Return floor(3 log2(1 + |o| / 8)) + max(0, floor((o - 20) / 4)) for octave o, in integers."""
    cube_log = ((8 + abs(exponent)) ** 3).bit_length() - 1
    return cube_log - 9 + max(0, (exponent - 20) // 4)


WEIGHT_BITS = MANTISSA_BITS + _taper(EXPONENT_BIAS)
"""An octave that is not tapered has mass 2^WEIGHT_BITS, so that every point's mass is whole."""
COMPONENT_MASS = 1 << (WEIGHT_BITS + 16)
"""Mass of a component on each side of 0, reached to within 2^-10 by a whole factor."""


def _points(
    octaves: Sequence[tuple[int, int, int]],
    largest: int,
    count_to: Callable[[Keys], Keys],
    key_of: Callable[[int], int],
) -> _Points:
    """Build a component from (first point, log2 of the octave's size, exponent), and normalize."""
    starts = [0, *(start for start, _, _ in octaves)]
    weights = [0, *(1 << WEIGHT_BITS - size - _taper(exponent) for _, size, exponent in octaves)]
    offsets, mass = [], 0
    for start, end, weight in zip(starts, [*starts[1:], largest + 1], weights, strict=True):
        offsets.append(mass - weight * (start - 1))
        mass += weight * (end - start)
    factor = COMPONENT_MASS // mass
    return _Points(
        np.array(starts, dtype=np.int64),
        np.array(weights, dtype=object) * factor,
        np.array(offsets, dtype=object) * factor,
        count_to,
        key_of,
    )


def _doubles(mantissa_bits: int) -> _Points:
    """All doubles whose mantissa has this many bits: the keys that are multiples of 2^shift."""
    shift = MANTISSA_BITS - mantissa_bits
    # The subnormal octave begins with 0, which is left to the atom.
    octaves = [
        (max(1, octave << mantissa_bits), mantissa_bits, octave - EXPONENT_BIAS)
        for octave in range(OCTAVES)
    ]
    return _points(octaves, MAX_KEY >> shift, lambda keys: keys >> shift, lambda i: i << shift)


LARGEST_INTEGER = 2**53 - 1
MOST_HUNDREDTHS = 10**11


def _integers() -> _Points:
    """The integers 1..2^53 - 1."""
    octaves = [(1 << bits, bits, bits) for bits in range(53)]
    return _points(octaves, LARGEST_INTEGER, _count_integers, lambda i: int(to_key(float(i))))


def _hundredths() -> _Points:
    """The doubles nearest to 0.01, 0.02, ..., 10^9."""
    # 100 is about 2^6.6: i hundredths of b + 1 bits are about 2^(b - 6).
    octaves = [(1 << bits, bits, bits - 6) for bits in range(MOST_HUNDREDTHS.bit_length())]
    return _points(octaves, MOST_HUNDREDTHS, _count_hundredths, lambda i: int(to_key(i / 100)))


def _count_integers(keys: Keys) -> Keys:
    """Count the integers from 1 to the double at each key, which is not negative."""
    values: NDArray[np.float64] = np.minimum(keys.view(np.float64), LARGEST_INTEGER)
    return values.astype(np.int64)


def _count_hundredths(keys: Keys) -> Keys:
    """Count the i >= 1 for which the double nearest to i / 100 is at most the double at the key.

    The rounded product is within 2^-15 of the true one, so the first count is wrong by at most
    one; division is correctly rounded and decides.
    """
    values = np.minimum(keys.view(np.float64), MOST_HUNDREDTHS / 100)
    count: NDArray[np.float64] = np.floor(values * 100)
    count += (count + 1) / 100 <= values
    count -= count / 100 > values
    return count.astype(np.int64)


@lru_cache(maxsize=1)
def components() -> tuple[_Atom | _Points, ...]:
    """Return the components of the base measure; the tables of octaves are built once."""
    return (
        _Atom(2 * COMPONENT_MASS),
        _doubles(mantissa_bits=MANTISSA_BITS),
        _doubles(mantissa_bits=16),
        _integers(),
        _hundredths(),
    )


def _base_cumulative(keys: Keys) -> Masses:
    """Return F such that the base measure of the keys in (a, b] is F(b) - F(a)."""
    total: Masses = np.zeros(keys.shape, dtype=object)
    for component in components():
        total += component.cumulative(keys)
    return total
