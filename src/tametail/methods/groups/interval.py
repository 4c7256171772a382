"""The intervals of a small group.

*For its clipped mean*: the law of noise on sum and count is public; sampling is taken to be normal,
with the variance that the group's likely law has between the clip points. *For its mean*: that, and
what the laws that the group may have put beyond the clip points, each as likely as its cells make
it. Nothing is proved; ``benchmarks/groups.py`` measures how often they cover.

What lies beyond the clip points is bounded by what was told of the records:

* ``Bounded``: the mean is farther out by at most the share of records beyond a clip point times its
  distance from the bound;
* ``Moment(k, s)``: by at most C_k s^k / (T - d)^(k-1), T the distance of the clip points from their
  middle and d that of the mean. If a part q of the records lies between two cuts, the mean is at
  most s q^(-1/k) beyond them, as records of a part q are no farther from it; what follows narrows
  that down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tametail.columns import Range
from tametail.inequalities.concentration import second_moment_bound
from tametail.inequalities.quantiles import NOWHERE, Shifts, deviations, spread_quantiles
from tametail.inequalities.risk import split_risk
from tametail.inequalities.truncation import bias_constant
from tametail.means import MEAN, MEAN_AS_SEEN, WINSORIZED, Interval, Target
from tametail.methods.groups import constants as tuned
from tametail.methods.groups.shape import Array
from tametail.methods.winsorized.approximate_interval import ErrorDistribution, ExcessPair, margins
from tametail.methods.winsorized.column import ColumnPlan, nothing_known
from tametail.privacy.budget import Noise, noise_for
from tametail.queries.column import ClippingGrid
from tametail.tail import Bounded, Moment

#: Rounds in which an interval for the mean is narrowed down; each holds by itself.
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Small:
    """What is known of a small group."""

    part: ColumnPlan
    center: float
    cuts: Array
    cells: Array
    square: float
    lattice: ClippingGrid
    value: float
    """Of the winsorized mean, within what is possible."""
    distance: float
    """Of the winsorized mean from the middle of the clip points."""
    count: float
    doubt: float
    """The standard deviation of the noise on the count."""
    noise: Noise
    seen: bool
    """Whether its count is detectable above the noise."""
    beyond: ExcessPair
    """What may lie beyond its clip points, by what it is like."""

    @property
    def middle(self) -> float:
        """The middle of the clip points."""
        return self.lattice.value(self.lattice.center)

    @property
    def reach(self) -> float:
        """The distance of the clip points from their middle."""
        return self.lattice.value(self.lattice.side)

    @property
    def error(self) -> ErrorDistribution:
        """The law of the error, as far as it is known."""
        variance = 0.0
        if self.part.target == "population":
            # Products, unlike powers, do not raise where numbers are huge; then no end is known.
            variance = self.square - self.distance * self.distance
            variance = max(variance, tuned.LEAST_SQUARE * self.square)
            variance = variance if math.isfinite(self.square) else math.inf
        noise = Noise(self.noise.kind, self.lattice.value(self.noise.scale) / self.count)
        miscounted = abs(self.distance) * self.doubt / self.count
        rounding = self.lattice.tick + 2 * math.ulp(abs(self.middle) + self.reach)
        return ErrorDistribution(math.sqrt(variance / self.count), 0.0, noise, miscounted, rounding)

    def most_in(self, cells: Array, risk: float) -> float:
        """Bound the share of the law in some of the cells from above."""
        fewest = max(self.count - 3 * self.doubt, 1.0)
        noise = noise_for(self.part.cost("cells"), 1, 1)
        number = float(cells.sum()) + noise.sum_quantile(risk / 2, max(len(cells), 1))
        share = min(max(number / fewest, 0.0), 1.0)
        return min(second_moment_bound(share, 1.0, fewest, risk / 2), 1.0)


def intervals_of(
    groups: Sequence[Small], errors: Sequence[ErrorDistribution]
) -> list[tuple[Interval, ...]]:
    """Return the intervals of small groups of one plan, whose errors have these laws.

    Without a tail that is one for the mean, by what each group may have beyond its clip points, and
    one for the clipped mean.
    """
    part = groups[0].part
    if part.confidence is None:
        return [()] * len(groups)
    own = _around(groups, errors, [(NOWHERE, NOWHERE)] * len(groups))
    found: list[tuple[Interval, ...]] = [
        (_interval(group, *each),) for group, each in zip(groups, own, strict=True)
    ]
    if part.tail is None:
        shifts = [(below.excess, above.excess) for below, above in (one.beyond for one in groups)]
        wider = _around(groups, errors, shifts)
        means = [_for_the_mean(group, *each) for group, each in zip(groups, wider, strict=True)]
        found = [(mean, *rest) for mean, rest in zip(means, found, strict=True)]
    return [
        each if group.seen else (nothing_known(part),)
        for group, each in zip(groups, found, strict=True)
    ]


def _around(
    groups: Sequence[Small],
    errors: Sequence[ErrorDistribution],
    shifts: Sequence[tuple[Shifts, Shifts]],
) -> list[tuple[Range, dict[str, float | None]]]:
    """Return the ends of each group around its value, and what they are made of."""
    confidence = groups[0].part.confidence or 0.0
    below, above = ([one[side] for one in shifts] for side in (0, 1))
    down, up = (_reaches(groups, errors, sign, one) for sign, one in ((-1, below), (1, above)))
    noisy = [
        spread_quantiles([error.changed(one) for error, one in zip(errors, side, strict=True)],
                         (1 - confidence) / 2)
        for side in (below, above)
    ]  # fmt: skip
    found = []
    for place, (group, error) in enumerate(zip(groups, errors, strict=True)):
        parts: dict[str, float | None] = {
            "privacy": max(noisy[0][place], noisy[1][place]),
            "sampling": deviations((1 - confidence) / 2) * error.deviation,
            "clipping": None,
            "rounding": error.rounding,
        }
        found.append(((group.value - down[place], group.value + up[place]), parts))
    return found


def _interval(group: Small, ends: Range, parts: dict[str, float | None]) -> Interval:
    """Return the interval for the mean by what was told, or for the clipped mean."""
    target, edges = WINSORIZED, (group.middle - group.reach, group.middle + group.reach)
    ends = max(ends[0], edges[0]), min(ends[1], edges[1])
    if group.part.tail is not None:
        target, (ends, parts["clipping"]) = MEAN, _beyond(group, ends)
    return _stated(group, ends, target, parts)


def _for_the_mean(group: Small, ends: Range, parts: dict[str, float | None]) -> Interval:
    risk, (below, above) = 1 - (group.part.confidence or 0.0), group.beyond
    parts["clipping"] = max(side.quantile(risk / 2) for side in group.beyond)
    if below.unbounded or above.unbounded:  # as for a column: clipping took off who knows how much
        parts["privacy"] = math.inf
    ends = -math.inf if below.unbounded else ends[0], math.inf if above.unbounded else ends[1]
    return _stated(group, ends, MEAN_AS_SEEN, parts)


def _stated(group: Small, ends: Range, target: Target, parts: dict[str, float | None]) -> Interval:
    """Return an interval that holds the value, within what is possible."""
    low, high = group.part.possible
    ends = max(min(ends[0], group.value), low), min(max(ends[1], group.value), high)
    confidence = group.part.confidence or 0.0
    return Interval(*ends, *target, proved=False, error_components=parts, confidence=confidence)


def _reaches(
    groups: Sequence[Small],
    errors: Sequence[ErrorDistribution],
    sign: int,
    shifts: Sequence[Shifts],
) -> list[float]:
    """Return how far one end of each is from the value.

    The error of the count moves the mean in proportion to its distance from the middle. So where
    the mean would be at the end, it is the distance of the end that counts (as Fieller found).
    """
    risk = (1 - (groups[0].part.confidence or 0.0)) / 2
    found, farther = margins(errors, risk, sign, shifts), {}
    for place, (group, error) in enumerate(zip(groups, errors, strict=True)):
        away = min(abs(group.distance + sign * found[place]), group.reach)
        miscounted = away * group.doubt / group.count
        if miscounted > error.miscounted:
            farther[place] = replace(error, miscounted=miscounted)
    if farther:
        renewed = margins([*farther.values()], risk, sign, [shifts[place] for place in farther])
        for place, half in zip(farther, renewed, strict=True):
            found[place] = half
    return found


def _beyond(group: Small, ends: Range) -> tuple[Range, float | None]:
    """Widen an interval for the winsorized mean by what may lie beyond the clip points."""
    tail, risk = group.part.tail, split_risk(1 - (group.part.confidence or 0.0)).beyond
    if isinstance(tail, Moment):
        return _by_moment(group, tail, ends, risk)
    if not isinstance(tail, Bounded):
        return (-math.inf, math.inf), None
    edges = (group.middle - group.reach, group.middle + group.reach)
    first, last = (int((group.center + group.cuts <= edge).sum()) for edge in edges)
    below = group.most_in(group.cells[: first + 1], risk / 2) * max(edges[0] - tail.low, 0.0)
    above = group.most_in(group.cells[last:], risk / 2) * max(tail.high - edges[1], 0.0)
    return (ends[0] - below, ends[1] + above), max(below, above)


def _by_moment(group: Small, tail: Moment, ends: Range, risk: float) -> tuple[Range, float | None]:
    between = 1 - group.most_in(group.cells[[0, -1]], risk)
    if len(group.cells) < 3 or not between > 0:
        return (-math.inf, math.inf), None
    off = tail.scale * between ** (-1 / tail.k)
    low, high = group.center + group.cuts[0] - off, group.center + group.cuts[-1] + off
    bias = math.inf
    for _ in range(_ROUNDS):
        space = group.reach - max(group.middle - low, high - group.middle)
        if not space > 0:
            break
        bias = bias_constant(tail.k) * space * (tail.scale / space) ** tail.k
        low, high = max(low, ends[0] - bias), min(high, ends[1] + bias)
    # If the answers contradict what was told, neither end is to be believed.
    low, high = min(float(low), float(high)), max(float(low), float(high))
    return (low, high), None if math.isinf(bias) else bias
