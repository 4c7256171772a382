"""The interval of a small group.

*For its winsorised mean*: the law of noise on sum and count is public; sampling is taken to be
normal, with the variance that the group's likely law has between the clip points. Nothing is
proved; ``benchmarks/groups.py`` measures how often it covers.

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

from tametail.inequalities.concentration import second_moment_bound
from tametail.inequalities.quantiles import deviations
from tametail.inequalities.risk import split_risk
from tametail.inequalities.truncation import bias_constant
from tametail.means import MEAN, WINSORISED, Interval
from tametail.methods.groups import constants as tuned
from tametail.methods.groups.shape import Array
from tametail.methods.winsorised.calibrated import Error, privacies, reaches
from tametail.methods.winsorised.column import ColumnPlan
from tametail.privacy.budget import Noise, noise_for
from tametail.queries.column import Lattice
from tametail.request import Range
from tametail.tail import Bounded, Moment

#: Rounds in which an interval for the mean is narrowed down; each holds by itself.
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Small:
    """What is known of a small group."""

    part: ColumnPlan
    centre: float
    cuts: Array
    cells: Array
    square: float
    lattice: Lattice
    value: float
    """Of the winsorised mean, within what is possible."""
    distance: float
    """Of the winsorised mean from the middle of the clip points."""
    count: float
    doubt: float
    """The standard deviation of the noise on the count."""
    noise: Noise
    seen: bool
    """Whether its count stands out of the noise."""

    @property
    def middle(self) -> float:
        """The middle of the clip points."""
        return self.lattice.value(self.lattice.centre)

    @property
    def reach(self) -> float:
        """The distance of the clip points from their middle."""
        return self.lattice.value(self.lattice.side)

    @property
    def error(self) -> Error:
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
        return Error(math.sqrt(variance / self.count), 0.0, noise, miscounted, rounding)

    def most_in(self, cells: Array, risk: float) -> float:
        """Bound the share of the law in some of the cells from above."""
        fewest = max(self.count - 3 * self.doubt, 1.0)
        noise = noise_for(self.part.cost("cells"), 1, 1)
        number = float(cells.sum()) + noise.sum_quantile(risk / 2, max(len(cells), 1))
        share = min(max(number / fewest, 0.0), 1.0)
        return min(second_moment_bound(share, 1.0, fewest, risk / 2), 1.0)


def nothing_known(part: ColumnPlan) -> Interval:
    """Return where the mean can be: no record was seen."""
    parts = dict.fromkeys(("privacy", "sampling", "truncation", "rounding"))
    return Interval(*part.possible, MEAN, True, parts, part.confidence or 0.0)


def intervals_of(groups: Sequence[Small], errors: Sequence[Error]) -> list[tuple[Interval, ...]]:
    """Return the intervals of small groups of one plan, whose errors have these laws."""
    part = groups[0].part
    if part.confidence is None:
        return [()] * len(groups)
    halves = reaches(errors, (1 - part.confidence) / 2, 1)
    below, above = (_halves(groups, errors, halves, sign) for sign in (-1, 1))
    noisy = privacies(errors, 1 - part.confidence)
    known = zip(groups, errors, below, above, noisy, strict=True)
    return [(_interval(*each) if each[0].seen else nothing_known(part),) for each in known]


def _interval(group: Small, error: Error, below: float, above: float, privacy: float) -> Interval:
    confidence = group.part.confidence or 0.0
    value = group.value
    ends = (
        max(value - below, group.middle - group.reach),
        min(value + above, group.middle + group.reach),
    )
    describes, truncation = WINSORISED, None
    if group.part.tail is not None:
        describes, (ends, truncation) = MEAN, _beyond(group, ends)
    low, high = group.part.possible
    return Interval(
        low=max(min(ends[0], value), low),
        high=min(max(ends[1], value), high),
        describes=describes,
        proved=False,
        parts={
            "privacy": privacy,
            "sampling": deviations((1 - confidence) / 2) * error.deviation,
            "truncation": truncation,
            "rounding": error.rounding,
        },
        confidence=confidence,
    )


def _halves(
    groups: Sequence[Small], errors: Sequence[Error], halves: list[float], sign: int
) -> list[float]:
    """Return how far one end of each is from the value.

    The error of the count moves the mean in proportion to its distance from the middle. So where
    the mean would be at the end, it is the distance of the end that counts (as Fieller found).
    Before that the law of the error is the same on both sides, and reaches as far as ``halves``.
    """
    found, farther = halves.copy(), {}
    for place, (group, error) in enumerate(zip(groups, errors, strict=True)):
        away = min(abs(group.distance + sign * halves[place]), group.reach)
        miscounted = away * group.doubt / group.count
        if miscounted > error.miscounted:
            farther[place] = replace(error, miscounted=miscounted)
    if farther:
        risk = (1 - (groups[0].part.confidence or 0.0)) / 2
        renewed = reaches([*farther.values()], risk, sign)
        for place, half in zip(farther, renewed, strict=True):
            found[place] = half
    return found


def _beyond(group: Small, ends: Range) -> tuple[Range, float | None]:
    """Widen an interval for the winsorised mean by what may lie beyond the clip points."""
    tail, risk = group.part.tail, split_risk(1 - (group.part.confidence or 0.0)).beyond
    if isinstance(tail, Moment):
        return _by_moment(group, tail, ends, risk)
    if not isinstance(tail, Bounded):
        return (-math.inf, math.inf), None
    edges = (group.middle - group.reach, group.middle + group.reach)
    first, last = (int((group.centre + group.cuts <= edge).sum()) for edge in edges)
    below = group.most_in(group.cells[: first + 1], risk / 2) * max(edges[0] - tail.low, 0.0)
    above = group.most_in(group.cells[last:], risk / 2) * max(tail.high - edges[1], 0.0)
    return (ends[0] - below, ends[1] + above), max(below, above)


def _by_moment(group: Small, tail: Moment, ends: Range, risk: float) -> tuple[Range, float | None]:
    between = 1 - group.most_in(group.cells[[0, -1]], risk)
    if len(group.cells) < 3 or not between > 0:
        return (-math.inf, math.inf), None
    off = tail.scale * between ** (-1 / tail.k)
    low, high = group.centre + group.cuts[0] - off, group.centre + group.cuts[-1] + off
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
