"""The interval of a small group, from its own noisy answers alone.

With noises z on the sum S and w on the count n, and v = (S + z)/(n + w): v - S/n = (z - v w)/n.
The mean of n clipped records strays from its expectation by what their second moment about the
pooled centre allows. That is bounded by the cells: a record between the cuts is at most a cut
away, any other at most the clip distance. Nothing is taken from the pool but where to clip.

That is an interval for the winsorised mean. What lies beyond the clip distance T is bounded by
what was told of the records:

* ``Bounded``: the mean is farther out by at most the share of records beyond the cut times the
  distance from clip point to bound;
* ``Moment(k, s)``: by at most C_k s^k / (T - d)^(k-1), d the distance of the mean from the pooled
  centre. If a part q of the records lies between the cuts, the mean is at most s q^(-1/k) beyond
  them, as records of a part q are no farther from it; what follows narrows that down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tametail.inequalities.concentration import mean_deviation, second_moment_bound
from tametail.inequalities.risk import Risk, split_risk
from tametail.inequalities.truncation import bias_constant
from tametail.means import MEAN, WINSORISED, Interval
from tametail.methods.groups.plan import GroupPlan
from tametail.privacy.budget import Noise, noise_for
from tametail.queries.column import Lattice
from tametail.tail import Bounded, Moment

Array = npt.NDArray[np.float64]
Range = tuple[float, float]

#: Rounds in which an interval for the mean is narrowed down; each holds by itself.
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Small:
    """What is known of a small group: cells, clip distance and sum, around the pooled centre."""

    part: GroupPlan
    centre: float
    cuts: Range
    cells: Array
    lattice: Lattice
    total: int

    @property
    def reach(self) -> float:
        """The distance from the centre at which records are clipped."""
        return self.lattice.value(self.lattice.side)

    @property
    def risk(self) -> Risk:
        """How the probability of missing is divided."""
        return split_risk(1 - (self.part.confidence or 0.0))

    @property
    def cell_noise(self) -> Noise:
        """The noise on each cell."""
        return noise_for(self.part.costs["cells"], 1, 1)

    @property
    def fewest(self) -> float:
        """The number of records, at least."""
        return fewest_records(self.part, self.cells)

    def most_of(self, *places: int) -> float:
        """Bound the share of the law in some of the cells from above."""
        noise = self.cell_noise.sum_quantile(self.risk.spread / 2, len(places))
        share = (float(self.cells[list(places)].sum()) + noise) / self.fewest
        share = min(max(share, 0.0), 1.0)
        return min(second_moment_bound(share, 1.0, self.fewest, self.risk.spread / 2), 1.0)


def fewest_records(part: GroupPlan, cells: Array) -> float:
    """Bound the number of records of a group from below; less than 1: it may be noise alone."""
    risk = split_risk(1 - (part.confidence or 0.95))
    missed = noise_for(part.costs["cells"], 1, 1).sum_quantile(risk.noise / 4, 3)
    return float(cells.sum()) - missed


def nothing_known(part: GroupPlan) -> Interval:
    """Return where the mean can be: no record was seen."""
    parts = dict.fromkeys(("privacy", "sampling", "truncation", "rounding"))
    return Interval(*part.possible, MEAN, True, parts, part.confidence or 0.0)


def pooled_interval(group: Small, value: float) -> Interval:
    """Return the interval of a small group; without a record, nothing is known."""
    if group.fewest < 1:
        return nothing_known(group.part)
    noise = sum(_noises(group, group.risk.noise / 2)) / group.fewest
    sampling, reach, centre = 0.0, group.reach, group.centre
    if group.part.plan.target == "population":
        deviation = math.sqrt(_second_moment(group))
        sampling = mean_deviation(deviation, 2 * reach, group.fewest, group.risk.sampling / 2)
    rounding = group.lattice.tick + 2 * math.ulp(abs(centre) + reach)
    half = noise + sampling + rounding
    ends = max(value - half, centre - reach), min(value + half, centre + reach)
    describes, truncation = WINSORISED, None
    if group.part.tail is not None:
        describes, (ends, truncation) = MEAN, _beyond(group, ends)
    (low, high), confidence = group.part.possible, group.part.confidence or 0.0
    return Interval(
        low=max(min(ends[0], value), low),
        high=min(max(ends[1], value), high),
        describes=describes,
        proved=False,
        parts={
            "privacy": math.hypot(*_noises(group, 1 - confidence)) / group.fewest,
            "sampling": sampling,
            "truncation": truncation,
            "rounding": rounding,
        },
        confidence=confidence,
    )


def _noises(group: Small, risk: float) -> Range:
    """Bound what the noise on the sum, and that on the count, change in the sum, at this risk."""
    side, cost = group.lattice.side, group.part.costs["groups"]
    own = noise_for(cost, side, side**2).quantile(risk)
    missed = group.cell_noise.sum_quantile(risk / 2, 3)
    mean = min(abs(group.total) / max(float(group.cells.sum()), 1.0), float(side))
    return group.lattice.value(own), group.lattice.value(mean * missed)


def _second_moment(group: Small) -> float:
    """Bound the expected square of a clipped record's distance from the pooled centre."""
    reach, risk = group.reach, group.risk.spread / 2
    outer = float(group.cells[0] + group.cells[2]) + group.cell_noise.sum_quantile(risk, 2)
    share = min(max(outer, 0.0) / group.fewest, 1.0)
    square = share * reach**2 + (1 - share) * min(max(group.cuts), reach) ** 2
    return min(second_moment_bound(square, reach, group.fewest, risk), reach**2)


def _beyond(group: Small, ends: Range) -> tuple[Range, float | None]:
    """Widen an interval for the winsorised mean by what may lie beyond the clip points."""
    tail = group.part.tail
    if isinstance(tail, Moment):
        return _by_moment(group, tail, ends)
    if not isinstance(tail, Bounded):
        return (-math.inf, math.inf), None
    beyond = (
        (group.most_of(place) if group.reach >= cut else 1.0) * max(space - group.reach, 0.0)
        for place, cut, space in zip(
            (0, 2), group.cuts, (group.centre - tail.low, tail.high - group.centre), strict=True
        )
    )
    below, above = beyond
    return (ends[0] - below, ends[1] + above), max(below, above)


def _by_moment(group: Small, tail: Moment, ends: Range) -> tuple[Range, float | None]:
    centre, between = group.centre, 1 - group.most_of(0, 2)
    if not between > 0:
        return (-math.inf, math.inf), None
    off = tail.scale * between ** (-1 / tail.k)
    low, high = centre - group.cuts[0] - off, centre + group.cuts[1] + off
    bias = math.inf
    for _ in range(_ROUNDS):
        space = group.reach - max(centre - low, high - centre)
        if not space > 0:
            break
        bias = bias_constant(tail.k) * space * (tail.scale / space) ** tail.k
        low, high = max(low, ends[0] - bias), min(high, ends[1] + bias)
    # If the answers contradict what was told, neither end is to be believed.
    return (min(low, high), max(low, high)), None if math.isinf(bias) else bias
