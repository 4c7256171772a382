"""Queries: what may be counted or summed over the records, in integers.

A query holds public numbers only. It states by how much one record can move its exact answer
(its sensitivity) for each neighboring relation; the proofs are in ``docs/proofs/queries.md``.
``docs/reference/query-specification.md`` says, engine by engine, which integers a query returns.

A missing record (None, NaN, a cell that is not a number) contributes nothing to any query.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from itertools import pairwise

from tametail.privacy.adjacency import Adjacency
from tametail.queries.query import KeysQuery, Query, Sensitivity, SumQuery

#: One record weighs this much in a soft count.
SOFT_ONE = 32

#: So many octaves share a node where they need not be told apart.
APART = 4

#: Ticks are powers of two between 2**-1022 and 2**1022, so that their inverses are doubles too.
SMALLEST_TICK_EXPONENT = -1022
LARGEST_TICK_EXPONENT = 1022

#: A clipped record is at most this many ticks from the center: 2**16 of them add up in float64.
WIDEST_SIDE = 1 << 36

#: The part of a distance that its rounding to 33 significant bits takes away at most.
RELATIVE_ROUNDING = 2.0**-32

#: Ends of a lattice in ticks: every integer up to here is a double.
WIDEST_END = 1 << 53

#: A sample is halved no more often: far beyond any data, far within what the sampler can count.
MOST_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class ClippingGrid:
    """Clip points and center as integer multiples of a tick, itself a power of two.

    A record x becomes ``q = floor(clip(x * 2**-exponent, low, high))`` in :class:`ClippedSum`. A
    lattice of :class:`DistanceSum` is one of distances: 0 is where they are told from.
    """

    exponent: int
    low: int
    center: int
    high: int

    def __post_init__(self) -> None:
        ordered = -WIDEST_END <= self.low <= self.center <= self.high <= WIDEST_END
        tick_fits = SMALLEST_TICK_EXPONENT <= self.exponent <= LARGEST_TICK_EXPONENT
        if not (ordered and tick_fits and self.side <= WIDEST_SIDE):
            raise AssertionError("a lattice needs low <= center <= high within its limits")

    @classmethod
    def around(cls, center: float, below: float, above: float, bits: int = 30) -> ClippingGrid:
        """Return the lattice for clipping to ``[center - below, center + above]``.

        The tick is the power of two that cuts the wider side into 2**(bits-1) to 2**bits parts,
        but not finer than the doubles near the center.

        >>> ClippingGrid.around(0.0, 1.0, 3.0, bits=4)
        ClippingGrid(exponent=-2, low=-4, center=0, high=12)
        """
        wider = max(below, above, 2.0**-1000)
        exponent = math.frexp(wider)[1] - bits
        if center != 0.0:
            exponent = max(exponent, math.frexp(center)[1] - 52)
        exponent = min(max(exponent, SMALLEST_TICK_EXPONENT), LARGEST_TICK_EXPONENT)
        middle = _ticks(center, exponent)
        side = [min(math.ceil(math.ldexp(part, -exponent)), WIDEST_SIDE) for part in (below, above)]
        low, high = max(middle - side[0], -WIDEST_END), min(middle + side[1], WIDEST_END)
        return cls(exponent=exponent, low=low, center=middle, high=high)

    @classmethod
    def below_noise(
        cls, center: float, below: float, above: float, *, strength: float, records: float
    ) -> ClippingGrid:
        """Return :meth:`around` with a tick far below the noise on a mean of ``records``.

        ``strength`` is the epsilon of the noise: on the mean it is about a side divided by
        records * strength, and a tick is at most a 128th of that, as far as 64-bit noise allows.
        """
        bits = _bits_below_noise(strength, records)
        return cls.around(center, below, above, bits=max(4, min(bits, 36)))

    @classmethod
    def of_distances(
        cls, offset: float, below: float, above: float, *, strength: float, records: float
    ) -> ClippingGrid:
        """Return the lattice for :class:`DistanceSum`: clip points on edges, at or beyond these.

        The lattice's center is ``offset``, or a clip point if that lies beyond. A side has 2**9 to
        2**35 ticks, as many as :meth:`below_noise` would take within these limits.

        >>> ClippingGrid.of_distances(0.0, 1.0, 3.0, strength=1.0, records=1)
        ClippingGrid(exponent=-8, low=-256, center=0, high=768)
        """
        bits = max(10, min(_bits_below_noise(strength, records), 35))
        exponent = math.frexp(max(below, above))[1] - bits
        exponent = min(max(exponent, SMALLEST_TICK_EXPONENT), LARGEST_TICK_EXPONENT)
        low, high = (_edge_in_ticks(side, exponent) for side in (below, above))
        middle = _ticks(min(max(offset, -below), above), exponent)
        return cls(exponent, -low, min(max(middle, -low), high), high)

    @property
    def tick(self) -> float:
        """The tick as a float; exact."""
        return math.ldexp(1.0, self.exponent)

    @property
    def width(self) -> int:
        """Distance between the clip points, in ticks."""
        return self.high - self.low

    @property
    def side(self) -> int:
        """Largest distance of a clip point from the center, in ticks."""
        return max(self.high - self.center, self.center - self.low)

    def value(self, ticks: float) -> float:
        """Turn a (noisy) number of ticks into a value, at most the largest double in size."""
        try:
            return math.ldexp(ticks, self.exponent)
        except OverflowError:
            return math.copysign(sys.float_info.max, ticks)


def _bits_below_noise(strength: float, records: float) -> int:
    finest = 8 + math.ceil(math.log2(max(records * strength, 1.0)))
    largest = 50 + math.floor(math.log2(min(strength, 1.0)))
    return min(finest, largest)


def edge_above(distance: float) -> float:
    """Return the least edge of a sixteenth of an octave at or above a distance, if there is one.

    Edges are the numbers i * 2**j with i in 16..31. The largest one stands for what is beyond it.

    >>> edge_above(1.0), edge_above(1.01), edge_above(33.0), edge_above(0.0)
    (1.0, 1.0625, 34.0, 0.0)
    """
    fraction, exponent = math.frexp(min(distance, _LARGEST_EDGE))
    return math.ldexp(math.ceil(32 * fraction), exponent - 5)


def edge_below(distance: float) -> float:
    """Return the largest edge of a sixteenth of an octave at or below a distance.

    >>> edge_below(1.0), edge_below(0.99), edge_below(33.9)
    (1.0, 0.96875, 32.0)
    """
    fraction, exponent = math.frexp(min(distance, _LARGEST_EDGE))
    return math.ldexp(math.floor(32 * fraction), exponent - 5)


_LARGEST_EDGE = math.ldexp(31.0, 1019)


def _edge_in_ticks(distance: float, exponent: int) -> int:
    """Return the least edge at or above a distance that is a whole number of ticks."""
    # A distance far below a tick may underflow: it is above 0 all the same.
    ticks = max(math.ceil(math.ldexp(min(distance, _LARGEST_EDGE), -exponent)), distance > 0)
    spare = max(ticks.bit_length() - 5, 0)
    return -(-ticks >> spare) << spare


def _ticks(value: float, exponent: int) -> int:
    # Halving before scaling keeps the largest doubles finite; the result is below 2**53.
    return round(math.ldexp(value / 2.0, 1 - exponent)) if value else 0


@dataclass(frozen=True, slots=True)
class Count(SumQuery):
    """How many records are numbers, how many are none, and how many a condition leaves out.

    Answer: ``(numbers, not numbers, left out)``. A record is in one of these cells.

    >>> Count().sensitivity(Adjacency.ADD_REMOVE).l1, Count().sensitivity(Adjacency.REPLACE_ONE).l1
    (1, 2)
    """

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """A record is in one cell: a replacement empties one and fills another."""
        return Sensitivity(adjacency.changes, adjacency.changes)


@dataclass(frozen=True, slots=True)
class ClippedSum(SumQuery):
    """Sum of the clipped, centered records and, if ``count_weight`` > 0, their weighted count.

    Answer: ``(sum of q - center,)`` or ``(sum of q - center, count_weight * count)``.

    Sum and count share one sensitivity: a replacement that moves the sum by the whole width
    leaves the count alone, and one that changes the count moves the sum by one side only.
    So a count of weight up to the thinner side is free under replace-one.

    >>> query = ClippedSum(ClippingGrid(exponent=0, low=-2, center=0, high=10), count_weight=2)
    >>> query.sensitivity(Adjacency.REPLACE_ONE).l1, query.sensitivity(Adjacency.ADD_REMOVE).l1
    (12, 12)
    """

    lattice: ClippingGrid
    count_weight: int = 0

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Bound the move for value to missing (either unit) and value to value (replace-one)."""
        width, side, weight = self.lattice.width, self.lattice.side, self.count_weight
        l1, l2_squared = side + weight, side**2 + weight**2
        if adjacency.size_is_public:
            l1, l2_squared = max(l1, width), max(l2_squared, width**2)
        return Sensitivity(l1, l2_squared)


@dataclass(frozen=True, slots=True)
class DistanceSum(SumQuery):
    r"""Sum of the clipped distances from ``center``, and their weighted count.

    With y = x - center, \|y\| is rounded down to 33 significant bits and clipped to the ends of the
    ``lattice``, which must be edges of sixteenths of octaves: so the sum comes out of the same pass
    as :class:`LogHistogram` for that center. The exact sum of these is rounded down to ticks.

    Answer: ``(sum - lattice.center * count,)``, followed by ``count_weight * count`` if that weight
    is not 0. Sum and count share one sensitivity, as for :class:`ClippedSum`.

    >>> grid = ClippingGrid(exponent=0, low=-2, center=0, high=10)
    >>> query = DistanceSum(5.0, grid, count_weight=2)
    >>> query.sensitivity(Adjacency.REPLACE_ONE).l1, query.sensitivity(Adjacency.ADD_REMOVE).l1
    (12, 12)
    """

    center: float
    lattice: ClippingGrid
    count_weight: int = 0

    def __post_init__(self) -> None:
        low, high = self.lattice.low, self.lattice.high
        # At most five significant bits: i * 2**j with i below 32.
        on_edges = not any(end % (1 << max(end.bit_length() - 5, 0)) for end in (low, high))
        if not (on_edges and low <= 0 <= high):
            raise AssertionError("distances are clipped around 0, on edges of sixteenths")

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """That of the same sum with each record on the lattice; see the proof."""
        return ClippedSum(self.lattice, self.count_weight).sensitivity(adjacency)


@dataclass(frozen=True, slots=True)
class Buckets(Query[int | None]):
    """Counts of ``floor(x * inverse_width)`` over the keys ``low..high``; other keys are dropped.

    Answer: a mapping of the non-empty keys to their counts.
    """

    inverse_width: float
    low: int
    high: int

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """One record is in one bucket: a replacement empties one and fills another."""
        return Sensitivity(adjacency.changes, adjacency.changes)


@dataclass(frozen=True, slots=True)
class LogHistogram(SumQuery):
    r"""Soft counts of the distances from ``center`` on octave nodes, below and above it.

    With y = x - center, let a record lie in the i-th sixteenth of the octave 2**j <= \|y\| <
    2**(j+1). It counts w = 2i + 1 at node j+1 and ``SOFT_ONE - w`` at node j of its side, so that
    sums of \|y\| are kept to within a 32nd. Nodes are ``first..last``; a distance beyond the last
    node counts there in full, one below the first node likewise, and one below 2**-1022 nowhere.

    Noise on every node takes time. If ``fine`` octaves are given, only every fourth octave outside
    of them has a node; where one of the nodes j and j+1 is missing, a record counts in full at the
    next node above.

    Answer: the :attr:`nodes` below the center, then those above, and, if ``counted``, SOFT_ONE
    times the number of records. Under replace-one that count is free: it changes only if a record
    becomes missing or ceases to be, and then its nodes change by half of what a replacement can do.

    >>> LogHistogram(0.0, -9, 9, fine=(-1, 1)).nodes
    (-9, -5, -1, 0, 1, 5, 9)
    """

    center: float
    first: int
    last: int
    counted: bool = False
    fine: tuple[int, int] | None = None

    @property
    def nodes(self) -> tuple[int, ...]:
        """The octaves that have a node, on either side of the center."""
        if self.fine is None:
            return tuple(range(self.first, self.last + 1))
        low, high = (min(max(end, self.first), self.last) for end in self.fine)
        below = range(low - APART, self.first, -APART)
        above = range(high + APART, self.last, APART)
        return tuple(sorted({self.first, *below, *range(low, high + 1), *above, self.last}))

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """A record is a non-negative vector of L1 norm SOFT_ONE (or 0), hence of L2 norm <= it."""
        records = 2 if self.counted else adjacency.changes
        return Sensitivity(records * SOFT_ONE, records * SOFT_ONE**2)


@dataclass(frozen=True, slots=True)
class Squares(SumQuery):
    r"""Sum of squared distances from ``center``, each rounded up and capped.

    A distance \|y\| in the i-th sixteenth of octave j is rounded up to the end of that sixteenth,
    e = (17 + i) 2**(j-4), and capped at ``(16 + cap) 2**(octave-4)``, cap in 1..16. Squares are
    counted in units of 4**(octave-12), rounded down. So the answer is between the sum of the
    capped squares less one unit per record, and (17/16)**2 times that sum.

    Answer: ``(sum,)``. It comes out of the same counts as :class:`LogHistogram` for that center.
    """

    center: float
    octave: int
    cap: int

    @property
    def unit(self) -> float:
        """One unit of the answer, as a square."""
        return math.ldexp(1.0, 2 * (self.octave - 12))

    @property
    def largest(self) -> int:
        """The largest contribution of a record, in units."""
        return (16 + self.cap) ** 2 << 16

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:  # noqa: ARG002 - squares are not negative
        """The largest contribution: every record adds between 0 and that."""
        return Sensitivity(self.largest, self.largest**2)


@dataclass(frozen=True, slots=True)
class Median(KeysQuery[float]):
    """The records as ordered integer keys, for a private choice of their median."""

    halvings: int
    low: float
    high: float

    def score_sensitivity(self, adjacency: Adjacency) -> int:  # noqa: ARG002 - the scores differ by unit
        """1 for both scores of ``mechanisms.medians``; see docs/proofs/selection.md."""
        return 1


#: Levels of quantiles are whole numbers of millionths.
LEVEL_ONE = 1_000_000


@dataclass(frozen=True, slots=True)
class Quantiles(KeysQuery[tuple[float, ...]]):
    """The records as ordered integer keys, for private quantiles of several levels.

    The middle level is chosen first; it divides the records in two parts, in which the other
    levels are chosen in the same way. So a record is in one part of every depth.

    >>> Quantiles(0, -1.0, 1.0, (250_000, 500_000, 750_000)).depth
    2
    """

    halvings: int
    low: float
    high: float
    levels: tuple[int, ...]

    def __post_init__(self) -> None:
        ends = (0, *self.levels, LEVEL_ONE)
        if not self.levels or any(one >= other for one, other in pairwise(ends)):
            raise AssertionError("levels ascend between 0 and 1")

    @property
    def depth(self) -> int:
        """How many choices a record can take part in, one after the other."""
        return len(self.levels).bit_length()

    def score_sensitivity(
        self, adjacency: Adjacency, part: int = 1, whole: int = 2, depth: int = 0
    ) -> int:
        """Bound how far the scores -|whole * rank - part * size| of all parts of a depth move.

        A record more or less moves one score by ``part`` or by ``whole - part``. A replacement
        moves ranks alone where there is one part, by 1; at greater depth it may take a record from
        one part and give one to another.
        """
        one = max(part, whole - part)
        if adjacency.one_way:
            return one
        return whole if depth == 0 else 2 * one


ProfileQuery = LogHistogram | Squares | DistanceSum
ColumnQuery = Count | ClippedSum | ProfileQuery | Buckets | Median | Quantiles
