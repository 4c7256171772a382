r"""The interval: noise, sampling, truncation and rounding, each bounded on its own.

The clip points [L, U] come out of the same records as the sum, so nothing is claimed about the
winsorised mean *at* them. Let a *reference* interval [A, B] be fixed before any record is read:
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

Without a tail assumption nothing can be proved about the mean: see ``posterior``, for the mean if
the tail goes on as seen, and ``calibrated``, for the winsorised mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tametail.inequalities.concentration import mean_deviation, second_moment_bound
from tametail.inequalities.risk import split_risk
from tametail.means import MEAN, Interval, unknown
from tametail.methods.textbook.estimate import most_deviation
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.beyond import Side
from tametail.methods.winsorised.calibrated import Error, calibrated
from tametail.methods.winsorised.posterior import Sides, as_seen, privacy
from tametail.methods.winsorised.reference import Answers, Reference
from tametail.privacy.budget import Noise
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.methods.winsorised.column import ColumnPlan as Plan
    from tametail.methods.winsorised.sums import Clip, Sum
    from tametail.methods.winsorised.tail_histogram import Tails

#: A unit of the private sum of squares is at most this part of the squared side.
SQUARE_UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class Evidence:
    """Bounds that all hold at once, and what follows from them."""

    answers: Answers
    squares: float
    below: Side
    above: Side

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
            "truncation": max(below, above) + reference.bias,
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
        centre, side = answers.clip.centre, answers.clip.side
        above, below = self.above.clipped(high), self.below.clipped(-low)
        wide = max(self.above.wide(low), self.below.wide(-high))
        square = self.squares / answers.fewest + SQUARE_UNIT * side * side
        if above + below:
            square += (above + below) * (self._farthest(low, high) + side)
        uncertain = answers.noise + answers.total.rounding + max(above, below) + wide
        known = max(abs(answers.total.mean - centre) - uncertain, 0.0)
        off = sampling + answers.noise + reference.bias
        square += off * off - known * known
        if not square < math.inf:  # the scale is beyond what squares of doubles can hold
            return math.inf
        reach, risk = reference.reach(low, high), tuned.SQUARES_SAMPLED * answers.risk.spread
        bound = second_moment_bound(square, reach, answers.fewest, risk, reference.fourth)
        return math.sqrt(bound)

    def _farthest(self, low: float, high: float) -> float:
        """The largest distance of r from the centre; infinite if that may lie outside [A, B]."""
        centre, reference = self.answers.clip.centre, self.answers.reference
        if not reference.moves:
            return max(reference.high - centre, centre - reference.low)
        off = max(high - centre, centre - low)
        return reference.high + off if off <= reference.high else math.inf


def intervals_around(
    plan: Plan,
    value: float,
    clip: Clip,
    tails: Tails,
    total: Sum,
    squares: float,
    beyond: Sides | None,
) -> tuple[Interval, ...]:
    """Return the intervals of a release, before ``within`` cuts them: with a tail the proved one.

    ``squares`` is a bound of the sum of the squared, clipped distances from the centre that fails
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
    error = Error.of(plan, clip, tails, total)
    first = as_seen(plan, value, total.mean, error, beyond, total.pulled)
    return first, calibrated(plan, total, error)


def _unknown(total: Sum) -> Interval:
    """Nothing is known but what the caller says about the mean."""
    parts = {"privacy": None, "sampling": None, "truncation": None, "rounding": total.rounding}
    return unknown(parts)


def _proved(
    plan: Plan,
    value: float,
    clip: Clip,
    tails: Tails,
    total: Sum,
    squares: float,
    beyond: Sides | None,
) -> Interval:
    risk = split_risk(1 - (plan.confidence or 0.0), sampled=plan.target == "population")
    miscounted, fewest = total.count_bound(risk.noise / 2)
    if math.isinf(miscounted):  # the count may be noise alone
        return _unknown(total)
    reference = Reference.of(plan, total.ends)
    below, above = (
        Side.of(Answers(plan, clip, total, reference, risk, sign, miscounted, fewest), tails)
        for sign in (-1, 1)
    )
    low, high, parts = Evidence(above.answers, squares, below, above).conclude()
    wrong = 1 - (plan.confidence or 0.0)
    changed = total.privacy(wrong)
    if beyond is not None:
        error = Error.of(plan, clip, tails, total)
        changed = privacy(value - total.mean, error, beyond, wrong)
    found: dict[str, float | None] = {"privacy": changed}
    return Interval(min(low, value), max(high, value), MEAN, proved=True, parts=found | parts)
