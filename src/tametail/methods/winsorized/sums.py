"""The last questions, and how their answers are read: the sum, its count, and the squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tametail.doubles import LARGEST
from tametail.inequalities.risk import split_risk
from tametail.methods.cells import count_noise
from tametail.methods.winsorized import constants as tuned
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Noise, Zcdp, noise_for
from tametail.queries.column import (
    RELATIVE_ROUNDING,
    SOFT_ONE,
    ClippingGrid,
    DistanceSum,
    Squares,
)

if TYPE_CHECKING:
    from tametail.methods.winsorized.column import ColumnPlan as Plan


@dataclass(frozen=True, slots=True)
class ClippingBounds:
    """Records are clipped to [center - below, center + above].

    Both distances are on edges of sixteenths of octaves, where ``DistanceSum`` can clip. They are 0
    if nothing is detected and nothing told: then the center is the answer.

    ``excess`` is what to add to the sum for what clipping takes away, ``offset`` estimates the
    distance of the mean from the center, give or take ``doubt``. If it is to be ``counted``, the
    mean may be so far from there that the count beside the sum matters under both units.
    ``detected`` are the highest nodes where records are seen.
    """

    center: float
    below: float
    above: float
    excess: float = 0.0
    offset: float = 0.0
    doubt: float = 0.0
    counted: bool = False
    detected: tuple[int | None, int | None] = (None, None)

    @property
    def side(self) -> float:
        """The larger distance of a clip point from the center."""
        return max(self.below, self.above)

    @property
    def has_signal(self) -> bool:
        """Whether any records are detectable above the noise."""
        return self.detected != (None, None)


@dataclass(frozen=True, slots=True)
class NoisySum:
    """The noisy sum of the clipped distances from the center, and their noisy count.

    The sum is in ticks and counts from the center of the ``lattice``, that is of distances.
    The count is exact if ``count_weight`` is 0. Its noise is ``count_noise`` (or else that of the
    sum) over its weight.
    ``coarse`` bounds what a rounding of the records that is coarser than a tick does to their mean.
    ``moved`` is how many records the estimator has added to the noisy count: by default no more
    than one scale of its noise. Where it has taken some away, there are no more than are left.
    ``pulled`` bounds what was taken off the mean by shrinking rows of several columns.
    """

    center: float
    lattice: ClippingGrid
    total: float
    count: float
    count_weight: int
    noise: Noise
    coarse: float = 0.0
    count_noise: Noise | None = None
    moved: float | None = None
    pulled: float = 0.0

    @property
    def rounding(self) -> float:
        """What rounding to ticks, or coarser, can do to the mean."""
        # Adding distances to the center rounds to doubles near it.
        ulp = math.ulp(abs(self.center) + self.lattice.value(self.lattice.side))
        return self.lattice.tick + self.coarse + 2 * ulp

    @property
    def mean(self) -> float:
        """The winsorized mean; it lies between the clip points, whatever the noise."""
        lattice = self.lattice
        distance = lattice.center + self.total / self.count
        distance = lattice.value(min(max(distance, lattice.low), lattice.high))
        return min(max(self.center + distance, -LARGEST), LARGEST)

    @property
    def ends(self) -> tuple[float, float]:
        """The clip points, as they were applied."""
        below, above = (self.lattice.value(end) for end in (self.lattice.low, self.lattice.high))
        return self.center + below, self.center + above

    def count_bound(self, risk: float) -> tuple[float, float]:
        """Return a bound of the error due to the noise on the count, and of the records from below.

        With noises z on the sum S and w on the count n, and v = (S + z)/(n + w):
        v - S/n = (z - v w)/n. If the count may be noise alone, nothing is known.
        """
        if not self.count_weight:
            return 0.0, self.count
        missed = self._missed(risk)
        fewest = self.count - missed
        if fewest < 1:
            return math.inf, 1.0
        return self.lattice.value(abs(self.total / self.count) * missed / fewest), fewest

    def present(self, risk: float) -> tuple[float, float] | None:
        """Return the number of records and how far off it is but for this risk, if it is noisy."""
        return (self.count, self._missed(risk)) if self.count_weight else None

    def _missed(self, risk: float) -> float:
        """Return by how many records the count may be off, but for this risk."""
        noise = self.noise if self.count_noise is None else self.count_noise
        moved = noise.scale / self.count_weight if self.moved is None else self.moved
        return max(noise.quantile(risk) / self.count_weight + moved, 0.0)

    def privacy(self, risk: float) -> float:
        """Return what the noise on sum and count changes in the mean, but for about this risk."""
        miscounted, fewest = self.count_bound(risk)
        return math.hypot(self.lattice.value(self.noise.quantile(risk) / fewest), miscounted)


class RecordCount(NamedTuple):
    """A number of records, with ``noise`` over ``weight`` on it; it is exact if that is 0."""

    number: float
    weight: int
    noise: Noise

    @classmethod
    def from_answer(cls, answer: int, cost: Budget, adjacency: Adjacency) -> RecordCount:
        """Read the first cell of the answer to ``Count``."""
        return cls(max(float(answer), 1.0), 1, count_noise(cost, adjacency))

    @classmethod
    def beside(cls, plan: Plan, count: float | None, noise: Noise, size: int) -> RecordCount:
        """Return the number of records under replace-one, from the count of a tail histogram."""
        if plan.missing == "none" or count is None:
            return cls(float(size), 0, noise)
        # There are no more records than rows, whose number is public, and usually as many.
        step = noise.scale / SOFT_ONE
        number = min(max(count, step, 1.0) + step, float(size))
        return cls(number, SOFT_ONE, noise)


def sum_query(plan: Plan, clip: ClippingBounds, size: int) -> DistanceSum:
    """Return the sum to ask for: from where the mean is expected, so that the count matters least.

    Under add-remove the count comes with it, and under replace-one if it is wanted: there a count
    of up to the weight of the thinner side is free.
    """
    lattice = ClippingGrid.of_distances(
        clip.offset, clip.below, clip.above, strength=plan.cost("sum").strength, records=size
    )
    if not plan.adjacency.size_is_public:
        weight = count_weight(plan, lattice, clip)
    elif clip.counted and plan.missing != "none":
        weight = min(lattice.high - lattice.center, lattice.center - lattice.low)
    else:
        weight = 0
    return DistanceSum(clip.center, lattice, weight)


def count_weight(plan: Plan, lattice: ClippingGrid, clip: ClippingBounds) -> int:
    """Return the weight of the count beside the sum that makes their quotient most accurate.

    The noise on the quotient is that on sum - d * count, where d is the distance of the mean from
    the lattice's center: Delta^2 (1 + (d/weight)^2), Delta = side + weight (in L2 accordingly).
    """
    side = lattice.side
    distance = (tuned.OFFSET_DOUBT * abs(clip.offset) + clip.doubt) / lattice.tick
    distance = min(max(distance, side / tuned.NEAREST), side)
    if isinstance(plan.cost("sum"), Zcdp):
        return max(round(math.sqrt(side * distance)), 1)
    return max(round(math.cbrt(side * distance**2)), 1)


def read_sum(
    plan: Plan,
    clip: ClippingBounds,
    query: DistanceSum,
    answer: tuple[int, ...],
    known: RecordCount,
) -> NoisySum:
    """Read the answer to :func:`sum_query`; ``known`` counts the records if it does not."""
    sensitivity, weight = query.sensitivity(plan.adjacency), query.count_weight
    noise = noise_for(plan.cost("sum"), sensitivity.l1, sensitivity.l2_squared)
    moved = None
    if weight:
        number, moved = read_count(plan, answer[1], weight, noise)
        known = RecordCount(number, weight, noise)
    total, cut = float(answer[0]), clip.side * RELATIVE_ROUNDING
    number, weight, count_noise = known
    return NoisySum(
        clip.center, query.lattice, total, number, weight, noise, cut, count_noise, moved
    )


def read_count(plan: Plan, answer: int, weight: int, noise: Noise) -> tuple[float, float | None]:
    """Return the number of records by a count beside the sum, and by how much it was moved.

    Under replace-one there are no more records than rows, whose number is public, and usually as
    many: a count that is below by what noise explains is taken to be that, and a clear one as it
    is, with a straight line between.
    """
    counted = max(answer / weight, noise.scale / weight, 1.0)
    if not plan.adjacency.size_is_public:
        return counted, None
    rows, deviation = float(plan.size), math.sqrt(noise.variance) / weight
    many = tuned.DOUBT * deviation
    missing = float(np.interp(rows - counted, (many / 2, many), (0.0, many)))
    number = max(rows - missing, 1.0) if rows - counted < many else counted
    return number, number - counted


def squares_query(clip: ClippingBounds) -> Squares:
    """Return the sum of the squared distances from the center, capped at the wider clip point."""
    fraction, exponent = math.frexp(clip.side)
    return Squares(clip.center, exponent - 1, max(math.ceil(32 * fraction) - 16, 1))


def squares_bound(plan: Plan, query: Squares, answer: int) -> float:
    """Return an upper bound of the sum of the squared, clipped distances from the center."""
    risk = split_risk(1 - (plan.confidence or 0.0)).spread
    noise = noise_for(plan.cost("spread"), query.largest, query.largest**2).quantile(risk / 2)
    return (answer + noise) * query.unit
