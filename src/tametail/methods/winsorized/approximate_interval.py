"""Approximate intervals, if no tail is assumed: they cover about as often as they say.

For the winsorized mean. The noisy mean v differs from that of the distribution by sampling and by
noise (:class:`ErrorDistribution`):

* sampling is close to normal with the variance of the clipped records over n, read off the tail
  histogram. Where they are skewed, the side of the long tail is longer: by Cornish and Fisher's
  first correction the limit z standard errors away moves by skewness (2 z^2 + 1)/6 of them;
* the distribution of the noise is public, and so is that of its sum with a normal error.

For the mean. What lies beyond the clipping bounds is not detected (:class:`HiddenExcess`). It is

* one of the curves of ``tail_models``, from power laws to sudden ends, each weighed by how well it
  explains the noisy counts, and each summed up to infinity. If those without a finite mean weigh
  too much, that side of the interval is unbounded;
* a group of records across a gap, beyond all that is detected. It is rare, the rarer the farther
  away. Where the noisy counts out there make it much likelier, which is worth a warning, it is as
  likely as Bayes says; elsewhere as likely as beforehand.

The lower limit supposes that the tail above stops at the clipping bound; the upper one takes noise,
sampling and what may lie beyond together. The side below is a mirror image.

Nothing is proved: the clipping bounds come out of the same records, the normal distribution is a
limit, and a few records far beyond all others escape every such interval.
``benchmarks/coverage.py`` measures how often they cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tametail import notes
from tametail.inequalities.quantiles import (
    NOWHERE,
    Shifts,
    Spread,
    deviations,
    spread_quantiles,
)
from tametail.means import MEAN, MEAN_AS_SEEN, WINSORIZED, Interval
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.column import deviation, max_distances
from tametail.methods.winsorized.tail_models import RECORDS, Prior
from tametail.privacy.budget import Noise
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.methods.winsorized.column import ColumnPlan as Plan
    from tametail.methods.winsorized.sums import ClippingBounds, NoisySum
    from tametail.methods.winsorized.tail_histogram import Array, TailHistogram
    from tametail.notes import Note


@dataclass(frozen=True, slots=True)
class ErrorDistribution:
    """The law of the distance between v and the winsorized mean of the law, as estimated.

    ``deviation`` and ``skewness`` are those of the mean of the clipped records, ``noise`` is the
    noise on v from the sum, ``miscounted`` the standard deviation of that from the count.
    """

    deviation: float
    skewness: float
    noise: Noise
    miscounted: float
    rounding: float

    @classmethod
    def of(
        cls, plan: Plan, clip: ClippingBounds, tails: TailHistogram, total: NoisySum
    ) -> ErrorDistribution:
        """Read the law off the counts and the noisy sum."""
        n = total.count
        noise = Noise(total.noise.kind, total.lattice.value(total.noise.scale) / n)
        count_noise = total.count_noise or total.noise
        weight = max(total.count_weight, 1)
        counted = math.sqrt(count_noise.variance) / weight * bool(total.count_weight)
        miscounted = total.lattice.value(abs(total.total / n) * counted / n)
        if plan.target == "data":
            return cls(0.0, 0.0, noise, miscounted, total.rounding)
        variance, third = moments(clip, tails, n, total.mean - clip.center)
        skewness = 0.0
        if variance > 0:
            skewness = third / (variance * math.sqrt(variance) * math.sqrt(n))
        skewness = min(max(skewness, -tuned.MOST_SKEWNESS), tuned.MOST_SKEWNESS)
        return cls(math.sqrt(variance / n), skewness, noise, miscounted, total.rounding)

    def changed(self, shifts: Shifts = NOWHERE) -> Spread:
        """Return the law of what noise changes, and clipping by these shifts."""
        return Spread(self.miscounted, self.noise, shifts)

    def side(self, risk: float, sign: int, shifts: Shifts = NOWHERE) -> Spread:
        """Return the law of how far above v (below, if ``sign`` is -1) the target is.

        ``shifts`` is the law of the distance by which it may be farther still.
        """
        longer = 1 + sign * self.skewness * _longer(risk)
        sampling = self.deviation * max(longer, tuned.LEAST_SIDE)
        return Spread(math.hypot(sampling, self.miscounted), self.noise, shifts)

    def margin(self, risk: float, sign: int) -> float:
        """Return how far above v (below, if ``sign`` is -1) the target may be, but for a risk."""
        return margins([self], risk, sign, [NOWHERE])[0]

    def privacy(self, risk: float) -> float:
        """Return what noise alone changes at most, but for this risk."""
        return spread_quantiles([self.changed()], risk / 2)[0]

    def ends(self, risk: float) -> tuple[float, float]:
        """Return :meth:`margin` below and above."""
        below, above = spread_quantiles([self.side(risk, sign) for sign in (-1, 1)], risk)
        return below + self.rounding, above + self.rounding


@lru_cache(maxsize=64)
def _longer(risk: float) -> float:
    """Return Cornish and Fisher's first correction of an end, per skewness, as a part of it."""
    z = deviations(risk)
    return (2 * z * z + 1) / (6 * z)


def margins(
    errors: Sequence[ErrorDistribution], risk: float, sign: int, shifts: Sequence[Shifts]
) -> list[float]:
    """Return how far each target may be, as :meth:`ErrorDistribution.side` says, but for a risk.

    All noises are of one kind.
    """
    distributions = [error.side(risk, sign, one) for error, one in zip(errors, shifts, strict=True)]
    found = spread_quantiles(distributions, risk)
    return [reach + error.rounding for reach, error in zip(found, errors, strict=True)]


def clipped_mean_interval(plan: Plan, total: NoisySum, error: ErrorDistribution) -> Interval:
    """Return the interval for the winsorized mean."""
    risk = 1 - (plan.confidence or 0.0)
    below, above = error.ends(risk / 2)
    low, high = total.mean - below, total.mean + above
    found = parts(error, risk, truncation=None, privacy=total.privacy(risk))
    return Interval(low, high, *WINSORIZED, proved=False, error_components=found)


def parts(
    error: ErrorDistribution, risk: float, *, truncation: float | None, privacy: float
) -> dict[str, float | None]:
    """Return what an interval is made of."""
    return {
        "privacy": privacy,
        "sampling": deviations(risk / 2) * error.deviation,
        "clipping": truncation,
        "rounding": error.rounding,
    }


def moments(
    clip: ClippingBounds, tails: TailHistogram, n: float, offset: float
) -> tuple[float, float]:
    """Estimate the variance and the third central moment of the clipped records.

    A soft count spreads a record on two nodes, which raises squares and cubes: by as much, on
    average, if distances are spread evenly on a log scale. What noise may have taken off the
    squares, one standard deviation, is put back.
    """
    second = third = noise = 0.0
    ends = (clip.below, clip.above)
    for sign, counts, end, last_bin in zip((-1, 1), tails.sides, ends, clip.detected, strict=True):
        if last_bin is None:
            continue
        top = min(last_bin + tuned.WINDOW, len(counts))
        distances = np.minimum(tails.distances[:top], end)
        second += tuned.SOFT_SQUARE * float(counts[:top] @ distances**2)
        third += sign * tuned.SOFT_CUBE * float(counts[:top] @ distances**3)
        noise += 2 * tails.scale**2 * float((distances**4).sum())
    raised = max(second + math.sqrt(noise), 0.0) / n
    second = max(second, 0.0) / n
    variance = max(raised - offset * offset, tuned.LEAST_VARIANCE * raised)
    return variance, third / n - 3 * offset * second + 2 * offset**3


# --- what may lie beyond the clipping bounds ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HiddenExcess:
    """What may lie beyond the clip point of one side.

    ``excess`` is the law of the sum of the excesses, or of their mean; ``unbounded`` says whether
    that may have no limit, and ``group`` how many times likelier than beforehand the counts make a
    group across a gap.
    """

    excess: Shifts = NOWHERE
    unbounded: bool = False
    group: float = 0.0

    def over(self, count: float) -> HiddenExcess:
        """Return the same for a mean of so many records."""
        return replace(self, excess=Shifts(self.excess.points / count, self.excess.weights))

    def moved(self, by: float) -> Shifts:
        """Return the law of the excess and this together."""
        return Shifts(self.excess.points + by, self.excess.weights)

    def quantile(self, risk: float) -> float:
        """Return what the excess exceeds with this probability; infinite if it has no limit."""
        if self.unbounded:
            return math.inf
        beyond = 1 - np.cumsum(self.excess.weights) + self.excess.weights / 2
        return float(np.interp(-risk, -beyond, self.excess.points))


ExcessPair = tuple[HiddenExcess, HiddenExcess]
"""Below and above the center."""


def extrapolated_interval(
    plan: Plan,
    value: float,
    center: float,
    error: ErrorDistribution,
    sides: ExcessPair,
    pulled: float = 0.0,
) -> Interval:
    """Return the interval for the mean, if the tail goes on as seen; it holds ``value``.

    ``center`` is the clipped mean, ``error`` the law of its error and ``sides`` what clipping took
    off it; shrinking rows of several columns took off ``pulled`` at most.
    """
    risk, (below, above) = 1 - (plan.confidence or 0.0), sides
    distributions = [error.side(risk / 2, -1, below.excess), error.side(risk / 2, 1, above.excess)]
    # In squares: that shrinking rows took off all it may, and that noise and sampling are at their
    # ends on the same side, is rarer than either (decision 0222 has the coverage).
    down, up = (math.hypot(end, pulled) for end in spread_quantiles(distributions, risk / 2))
    low = -math.inf if below.unbounded else min(center - down - error.rounding, value)
    high = math.inf if above.unbounded else max(center + up + error.rounding, value)
    truncation = max(side.quantile(risk / 2) for side in sides)
    found = parts(
        error, risk,
        truncation=math.hypot(truncation, pulled),
        privacy=math.hypot(privacy(value - center, error, sides, risk), pulled),
    )  # fmt: skip
    return Interval(low, high, *MEAN_AS_SEEN, proved=False, error_components=found)


def privacy(added: float, error: ErrorDistribution, sides: ExcessPair, risk: float) -> float:
    """Return what privacy changed: the value may be so far from the mean of the same records.

    That is noise on sum and count, and what the private clip points took away, less what was
    ``added`` back.
    """
    if any(side.unbounded for side in sides):
        return math.inf
    below, above = sides
    distributions = [error.changed(below.moved(added)), error.changed(above.moved(-added))]
    return max(spread_quantiles(distributions, risk / 2))


def excess_notes(sides: ExcessPair, intervals: tuple[Interval, ...]) -> tuple[Note, ...]:
    """Return the warnings about what may lie beyond the clip points."""
    said = []
    if any(side.group > tuned.GROUP_LIKELY and not side.unbounded for side in sides):
        said.append(notes.FAR_GROUP)
    if intervals and intervals[0].kind != MEAN:  # which says that nothing is known
        below, above = sides
        if above.unbounded and math.isinf(intervals[0].high):
            said.append(notes.NO_UPPER_LIMIT)
        if below.unbounded and math.isinf(intervals[0].low):
            said.append(notes.NO_LOWER_LIMIT)
    return tuple(said)


def hidden_excess(
    plan: Plan, clip: ClippingBounds, tails: TailHistogram, count: float, prior: Prior = RECORDS
) -> ExcessPair:
    """Return what may lie beyond the clip points, over a number of records that are seen."""
    ends, limits = (clip.below, clip.above), max_distances(plan, clip.center)
    highest = max(last_bin for last_bin in clip.detected if last_bin is not None)
    below, above = (
        _hidden(plan, tails, counts, last_bin, highest, (end, limit), prior).over(count)
        for counts, last_bin, end, limit in zip(
            tails.sides, clip.detected, ends, limits, strict=True
        )
    )
    return below, above


def _hidden(
    plan: Plan, tails: TailHistogram, counts: Array, last_bin: int | None, highest: int,
    ends: tuple[float, float], prior: Prior,
) -> HiddenExcess:  # fmt: skip
    """Return what may lie beyond a clip point, given that and the farthest that a record can be."""
    end, limit = ends
    excess, weights, unbounded = np.zeros(1), np.ones(1), 0.0
    limited = isinstance(plan.tail, Bounded) or (plan.half is not None and math.isfinite(limit))
    if last_bin is not None:
        unit = float(tails.distances[last_bin])
        fit = tails.fit(counts, last_bin, deviation(plan.budget))
        excess, weights, unbounded = fit.beyond(end / unit, prior)
        if limited:  # nothing lies beyond the bound
            excess = excess - fit.beyond(max(limit, end) / unit, prior)[0]
        excess = unit * excess
    found = HiddenExcess(thinned(excess, weights))
    if plan.tail is not None or limited:
        return found
    start = (highest if last_bin is None else last_bin) + tuned.WINDOW
    far, odds, likelier = _group(tails, counts, start, end)
    # A group lies beyond what the curves have, of which this is usual.
    excess = np.append(excess, found.quantile(0.5) + far)
    likely = prior.group * _group_prior(plan)
    weights = np.append((1 - likely) * weights, likely * odds)
    return HiddenExcess(thinned(excess, weights), unbounded > tuned.ENDLESS, likelier)


def _group_prior(plan: Plan) -> float:
    """Return how likely a group across a gap is beforehand.

    It would be some noise scales of records: the more records there are, the smaller a part of them
    that is, and the likelier.
    """
    strength = max(plan.n or 1, 1) * plan.budget.strength
    more = math.pow(strength / tuned.CLOSER_UNTIL, tuned.GROUP_MORE)
    return min(tuned.GROUP_PRIOR * more, tuned.MOST_GROUP)


def _group(
    tails: TailHistogram, counts: Array, start: int, end: float
) -> tuple[Array, Array, float]:
    """Return what a group across a gap may add, its weights, and how much likelier counts make it.

    It has some noise scales of records, a part of which counts at the node above. Weights are in
    parts of what it is beforehand. Where there are no records, noise makes all groups together as
    likely as that, on average. So the counts decide only where they say enough for a warning: else
    noise would, and limits without a warning would be thousands of times as far away as usual.
    """
    places = np.arange(len(counts)) if tails.nodes is None else tails.nodes
    fine = places[:-1][np.diff(places) == 1]  # the octaves that have both nodes to themselves
    octaves = fine[(fine >= start) & (fine < start + tuned.GROUP_OCTAVES)]
    if not len(octaves):
        return np.zeros(0), np.zeros(0), 0.0
    sizes, upper, prior = _groups()
    here, above = (counts[octaves + ahead][:, None] / tails.scale for ahead in (0, 1))
    log_odds = _log_odds(tails, here, sizes * (1 - upper)) + _log_odds(tails, above, sizes * upper)
    odds = _falling(octaves, tuned.GROUP_FALL) * prior * np.exp(np.minimum(log_odds, 500.0))
    likelier = float(odds.sum())
    if likelier <= tuned.GROUP_LIKELY:
        odds = _falling(octaves, tuned.UNSEEN_FALL) * prior
    distances = tails.distances[octaves][:, None] * (1 + upper)
    excess = sizes * tails.scale * np.maximum(distances - end, 0.0)
    return excess.ravel(), odds.ravel(), likelier


def _falling(octaves: Array, fall: float) -> Array:
    """Return weights of octaves, a row each, that fall by this power of 2 from each to the next."""
    weights: Array = 2.0 ** (-fall * (octaves - octaves[0]))
    weights /= weights.sum()
    return weights[:, None]


@lru_cache(maxsize=1)
def _groups() -> tuple[Array, Array, Array]:
    """Return sizes, the parts of them at the node above, and prior weights."""
    sizes, upper = np.meshgrid(tuned.GROUP_SIZES, tuned.GROUP_PARTS)
    rare = 1 / np.sqrt(sizes.ravel())
    return sizes.ravel(), upper.ravel(), rare / rare.sum()


def _log_odds(tails: TailHistogram, seen: Array, expected: Array) -> Array:
    """Return how much likelier noise makes what is seen if so much is there, in noise scales."""
    if tails.noise.kind == "laplace":
        found: Array = np.abs(seen) - np.abs(seen - expected)
        return found
    return expected * (2 * seen - expected) / 4


def thinned(values: Array, weights: Array) -> Shifts:
    """Return few points that stand for a law, the closer together the rarer what lies beyond."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    levels, shares = _levels()
    places = np.searchsorted(reached, levels * reached[-1])
    return Shifts(values[order][np.minimum(places, len(values) - 1)], shares)


@lru_cache(maxsize=1)
def _levels() -> tuple[Array, Array]:
    """Return the levels of the points, and their weights."""
    beyond = np.append(np.geomspace(1.0, tuned.LAST_POINT, tuned.POINTS), 0.0)
    return 1 - (beyond[1:] + beyond[:-1]) / 2, beyond[:-1] - beyond[1:]
