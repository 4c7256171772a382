r"""The guaranteed interval: noise, sampling, clipping and rounding, each bounded on its own.

The clip points [L, U] come out of the same records as the sum, so nothing is claimed about the
winsorized mean *at* them. Let a *reference* interval [A, B] be fixed before any record is read:
mu -+ R for ``Moment`` (R from the plan, mu unknown), [low, high] for ``Bounded``. With y for the
records clipped to [L, U] and r for the records clipped to [A, B], with probability ``confidence``
all of these hold at once (proofs: docs/explanation/interval-proofs.md):

* noise: \|v - mean(y)\| is at most a quantile of the noise on the sum, whose law is public, and
  one of that on the count;
* clipping: mean(r) - mean(y) <= (B - U)+ (share of records above U)
  + (A - L)+ (share below A), and its mirror image; the shares come from the noisy counts;
* sampling: \|mean(r) - E r\| by the best inequality for bounded records whose variance is
  bounded, the variance from the private sum of squares (and from the moment). If noise is small
  by the plan, it is bounded together with sampling;
* bias: \|mu - E r\| <= C_k R (scale/R)^k for ``Moment``, 0 for ``Bounded``.

Without a tail assumption nothing can be proved about the mean: see ``approximate_interval``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tametail.inequalities.concentration import count_bound, mean_deviation, second_moment_bound
from tametail.inequalities.risk import Risk, split_risk
from tametail.means import MEAN, Interval, unknown
from tametail.methods.bounded.estimate import most_deviation
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.approximate_interval import (
    ErrorDistribution,
    ExcessPair,
    clipped_mean_interval,
    extrapolated_interval,
    privacy,
)
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.methods.winsorized.tail_histogram import Array, TailHistogram
from tametail.privacy.budget import Noise
from tametail.queries.column import SOFT_ONE
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.methods.winsorized.column import ColumnPlan as Plan
    from tametail.methods.winsorized.sums import ClippingBounds, NoisySum


#: Sum over all whole numbers j of (1 + |j|)^-2.
OCTAVES_WEIGH = 2.29


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked and answered, for the side above the center or, mirrored, for that below."""

    plan: Plan
    clip: ClippingBounds
    total: NoisySum
    reference: Reference
    risk: Risk
    sign: int
    miscounted: float
    fewest: float

    @property
    def noise(self) -> float:
        """A bound of the error due to all noise on sum and count."""
        return self.noise_on_sum + self.miscounted

    @property
    def noise_on_sum(self) -> float:
        """A bound of the error due to the noise on the sum."""
        ticks = self.total.noise.quantile(self.risk.noise / 2) / self.fewest
        return self.total.lattice.value(ticks)

    @property
    def ends(self) -> tuple[float, float]:
        """The clip points L and U."""
        return self._mirrored(*self.total.ends)

    @property
    def reference_ends(self) -> tuple[float, float]:
        """A and B, less mu if the reference moves."""
        return self._mirrored(self.reference.low, self.reference.high)

    def _mirrored(self, low: float, high: float) -> tuple[float, float]:
        return (low, high) if self.sign > 0 else (-high, -low)

    @property
    def center(self) -> float:
        """The private median."""
        return self.sign * self.clip.center

    @property
    def shares(self) -> tuple[float, float]:
        """Bound the shares of records outside the reference and far from mu.

        For "data" the tail assumption is about these records: their shares are those of the law.
        """
        outside, few = self.reference.shares
        if self.plan.target == "data" or not few:
            return outside, few
        risk = tuned.OUTSIDE * self.risk.beyond
        return (
            count_bound(self.fewest * outside, risk) / self.fewest,
            count_bound(self.fewest * few, risk) / self.fewest,
        )


@dataclass(frozen=True, slots=True)
class ClippingGap:
    """Bounds the distance of mean(r) from mean(y) that one clip point, U, accounts for.

    ``start`` is a distance from the center, ``slack`` beyond U; ``first`` is a first, coarse bound
    of mu, and ``located`` says whether it came from the sum.
    """

    answers: Answers
    tails: TailHistogram
    start: float
    slack: float
    first: float = math.inf
    located: bool = False

    @classmethod
    def of(cls, answers: Answers, tails: TailHistogram) -> ClippingGap:
        """Look at the clip point above the center, or the mirrored one below."""
        (low, high), (inner, outer) = answers.ends, answers.reference_ends
        center, reference = answers.center, answers.reference
        distance = answers.clip.above if answers.sign > 0 else answers.clip.below
        distance = max(min(distance, high - center), 0.0)
        # A clip point at the center would need the noise of all nodes down to the first.
        start = max(distance, (outer - inner) / answers.fewest)
        side = cls(answers, tails, start, start - distance, first=outer)
        if not reference.moves:
            return side
        outside, few = answers.shares
        margin = answers.noise + answers.total.rounding
        if answers.sign * answers.total.mean + margin < high - (high - low) * outside:
            # mu >= U + R would put all but a few records above U, and mean(y) near U.
            return replace(side, first=high + outer, located=True)
        records = tails.beyond(side._counts, reference.far, tuned.LOCATING * answers.risk.beyond)
        if records / answers.fewest + few < 1:
            # mu >= c + 2 far would put all but a few records beyond c + far.
            return replace(side, first=center + 2 * reference.far)
        return replace(side, first=math.inf)

    def clipped(self, mu: float) -> float:
        """Bound the mean of (min(x, B) - U)+, if U lies inside the reference."""
        excess = self._end(mu) - self.answers.center - self.start
        if self.answers.plan.tail is None or excess <= -self.slack:
            return 0.0
        return self.slack + self._excess(self.start, excess)

    def wide(self, mu: float) -> float:
        """Bound the mean of (min(x, U) - B)+, if U lies outside the reference."""
        outer = self._end(mu)
        excess = self.answers.ends[1] - outer
        if not self.answers.reference.moves or excess <= 0:
            return 0.0
        bound = self.answers.shares[0] * excess
        start = outer - self.answers.center
        return min(bound, self._excess(start, excess)) if start > 0 else bound

    def _end(self, mu: float) -> float:
        """The reference's end B."""
        return self.answers.reference_ends[1] + (mu if self.answers.reference.moves else 0.0)

    def _excess(self, start: float, excess: float) -> float:
        """Bound the mean of (min(d, start + excess) - start)+ over the distances d of this side."""
        few = self.answers.shares[1] * max(excess, 0.0)
        return self._share(math.frexp(start)[1]) * per_count(start, excess) + few

    def _share(self, octave: int) -> float:
        """Bound the soft count at the nodes from 2^octave on, as a share of the records.

        Which octave is of interest depends on the noisy counts, so the risk is divided among all.
        """
        answers, node = self.answers, math.ldexp(1.0, min(octave, 1023))
        inner, outer = answers.reference_ends
        away = abs(octave - math.frexp(outer - inner)[1] + 2)
        risk = answers.risk.beyond / 2 / (OCTAVES_WEIGH * (1 + away) ** 2)
        far = answers.reference.far
        if not answers.reference.moves:
            farthest = outer - answers.center
            risk /= 2  # as much for either look: whether there is a second depends on the first
        elif self.located:
            farthest, risk = node + outer + far, tuned.GREATER_PART * risk
        else:
            farthest, risk = max(node, 2 * far) + far, tuned.UNLOCATED * risk
        records = self.tails.beyond(self._counts, node, risk, farthest=farthest)
        return records / answers.fewest

    @property
    def _counts(self) -> Array:
        return self.tails.above if self.answers.sign > 0 else self.tails.below


def per_count(start: float, excess: float) -> float:
    """Bound (min(d, start + excess) - start)+ by a multiple of what d counts at higher nodes.

    In the octave 2^j of ``start`` a distance in the i-th sixteenth counts (2i + 1)/32 at the
    nodes above j, and beyond that octave it counts 1.

    >>> per_count(4.0, 100.0), round(per_count(6.0, 1.0), 2)
    (100.0, 1.39)
    """
    octave = math.ldexp(1.0, math.frexp(start)[1] - 1)
    needed = (
        min(octave * (17 + i) / 16 - start, excess) * SOFT_ONE / (2 * i + 1) for i in range(16)
    )
    return max(excess, 0.0, *needed)


# --- the interval ---------------------------------------------------------------------------------

#: A unit of the private sum of squares is at most this part of the squared side.
SQUARE_UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class Evidence:
    """Bounds that all hold at once, and what follows from them."""

    answers: Answers
    squares: float
    below: ClippingGap
    above: ClippingGap

    def conclude(self) -> tuple[float, float, dict[str, float | None]]:
        """Return low and high for mu, and what the interval is made of.

        A first interval for mu and what the assumption says about the variance give a better
        interval, that and the private squares a better variance, and so on. All rounds hold
        together, so there may be any number of them.
        """
        answers, total, reference = self.answers, self.answers.total, self.answers.reference
        low, high, tail = -self.below.first, self.above.first, answers.plan.tail
        deviation, error, sample = reference.deviation, answers.noise, None
        for _ in range(tuned.ROUNDS):
            width = high - low
            if answers.plan.target == "population":
                sample = deviation, reference.reach(low, high) + reference.bias
                error = self._together(*sample)
                deviation = min(deviation, self._deviation(low, high, error + total.rounding))
                if isinstance(tail, Bounded):
                    deviation = min(deviation, most_deviation(tail, low, high))
            margin = error + total.rounding + reference.bias
            below = self.below.clipped(-low) + self.above.wide(low)
            above = self.above.clipped(high) + self.below.wide(-high)
            low, high = (
                max(low, total.mean - margin - below),
                min(high, total.mean + margin + above),
            )
            if high - low > tuned.ENOUGH * width:
                break
        parts: dict[str, float | None] = {
            "sampling": 0.0 if sample is None else min(self._sampling(*sample), error),
            "clipping": max(below, above) + reference.bias,
            "rounding": total.rounding,
        }
        return low, high, parts

    def _together(self, deviation: float, reach: float) -> float:
        """Bound the sampling error and the noise.

        The records choose how much noise there is, with the clip points. So only noise of a fixed
        scale may be bounded together with sampling: what is beyond has a quantile of its own.
        """
        answers, total = self.answers, self.answers.total
        scale = total.lattice.value(total.noise.scale)
        fixed = answers.reference.noise if answers.plan.tail is not None else scale
        noise = Noise(total.noise.kind, fixed / answers.fewest) if fixed else None
        beyond = max(1 - fixed / scale, 0.0) * answers.noise_on_sum
        rest = answers.miscounted + total.lattice.tick / answers.fewest
        return self._sampling(deviation, reach, noise) + beyond + rest

    def _sampling(self, deviation: float, reach: float, noise: Noise | None = None) -> float:
        answers = self.answers
        return mean_deviation(deviation, reach, answers.fewest, answers.risk.sampling / 2, noise)

    def _deviation(self, low: float, high: float, sampling: float) -> float:
        """Bound the standard deviation of r, where mu is in [low, high].

        mean (r - mu)^2 = mean (r - c)^2 - (mean(r) - c)^2 + (mean(r) - mu)^2, where mean(r) is
        within ``sampling``, plus noise, of its expectation. A record beyond a
        clip point counts in the squares as if it were there, but is in the reference at most:
        d^2 - side^2 <= (d - side) (farthest + side).
        """
        answers, reference = self.answers, self.answers.reference
        center, side = answers.clip.center, answers.clip.side
        above, below = self.above.clipped(high), self.below.clipped(-low)
        wide = max(self.above.wide(low), self.below.wide(-high))
        square = self.squares / answers.fewest + SQUARE_UNIT * side * side
        if above + below:
            square += (above + below) * (self._farthest(low, high) + side)
        uncertain = answers.noise + answers.total.rounding + max(above, below) + wide
        known = max(abs(answers.total.mean - center) - uncertain, 0.0)
        off = sampling + answers.noise + reference.bias
        square += off * off - known * known
        if not square < math.inf:  # the scale is beyond what squares of doubles can hold
            return math.inf
        reach, risk = reference.reach(low, high), tuned.GREATER_PART * answers.risk.spread
        bound = second_moment_bound(square, reach, answers.fewest, risk, reference.fourth)
        return math.sqrt(bound)

    def _farthest(self, low: float, high: float) -> float:
        """The largest distance of r from the center; infinite if that may lie outside [A, B]."""
        center, reference = self.answers.clip.center, self.answers.reference
        if not reference.moves:
            return max(reference.high - center, center - reference.low)
        off = max(high - center, center - low)
        return reference.high + off if off <= reference.high else math.inf


def intervals_around(
    plan: Plan,
    value: float,
    clip: ClippingBounds,
    tails: TailHistogram,
    total: NoisySum,
    squares: float,
    beyond: ExcessPair | None,
) -> tuple[Interval, ...]:
    """Return the intervals of a release, before ``within`` cuts them: with a tail the proved one.

    ``squares`` is a bound of the sum of the squared, clipped distances from the center that fails
    with probability ``risk.spread / 4`` (infinite if it was not asked for). ``beyond`` is what may
    lie beyond the clip points, as parts of the mean, if records are seen.
    """
    if plan.tail is not None:
        return (_proved(plan, value, clip, tails, total, squares, beyond),)
    # Where so few records stand out by chance, what lies beyond is not known from them.
    strength = max(plan.n or 1, 1) * plan.budget.strength
    too_few = strength < tuned.FEASIBLE / (2 if tails.noise.kind == "laplace" else 5)
    miscounted, _ = total.count_bound(1 - (plan.confidence or 0.0))
    if beyond is None or too_few or math.isinf(miscounted):
        return (_unknown(total),)
    error = ErrorDistribution.of(plan, clip, tails, total)
    first = extrapolated_interval(plan, value, total.mean, error, beyond, total.pulled)
    return first, clipped_mean_interval(plan, total, error)


def _unknown(total: NoisySum) -> Interval:
    """Nothing is known but what the caller says about the mean."""
    parts = {"privacy": None, "sampling": None, "clipping": None, "rounding": total.rounding}
    return unknown(parts)


def _proved(
    plan: Plan,
    value: float,
    clip: ClippingBounds,
    tails: TailHistogram,
    total: NoisySum,
    squares: float,
    beyond: ExcessPair | None,
) -> Interval:
    risk = split_risk(1 - (plan.confidence or 0.0), sampled=plan.target == "population")
    miscounted, fewest = total.count_bound(risk.noise / 2)
    if math.isinf(miscounted):  # the count may be noise alone
        return _unknown(total)
    reference = Reference.of(plan, total.ends)
    below, above = (
        ClippingGap.of(Answers(plan, clip, total, reference, risk, sign, miscounted, fewest), tails)
        for sign in (-1, 1)
    )
    low, high, parts = Evidence(above.answers, squares, below, above).conclude()
    wrong = 1 - (plan.confidence or 0.0)
    changed = total.privacy(wrong)
    if beyond is not None:
        error = ErrorDistribution.of(plan, clip, tails, total)
        changed = privacy(value - total.mean, error, beyond, wrong)
    found: dict[str, float | None] = {"privacy": changed}
    return Interval(
        min(low, value), max(high, value), *MEAN, proved=True, error_components=found | parts
    )
