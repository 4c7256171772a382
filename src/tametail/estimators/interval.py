r"""The interval: noise, sampling, truncation and rounding, each bounded on its own.

The clip points [L, U] come out of the same records as the sum, so nothing is claimed about the
winsorised mean *at* them. Let a *reference* interval [A, B] be fixed before any record is read:
mu -+ R for ``Moment`` (R from the plan, mu unknown), [low, high] for ``Bounded``. With y for the
records clipped to [L, U] and r for the records clipped to [A, B], with probability ``confidence``
all of these hold at once (proofs: docs/interval.md):

* noise on the count: \|v - mean(y)\| is at most the noise on the sum, whose law is public, and
  a quantile of that on the count;
* clipping: mean(r) - mean(y) <= (B - U)+ (share of records above U)
  + (A - L)+ (share below A), and its mirror image; the shares come from the noisy counts;
* sampling and noise on the sum: together by the best inequality for bounded records whose
  variance is bounded, the variance from the private sum of squares (and from the moment);
* bias: \|mu - E r\| <= C_k R (scale/R)^k for ``Moment``, 0 for ``Bounded``.

Without a tail assumption the reference is [L, U] itself, taken as if it had been fixed, and the
interval is one for the winsorised mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tametail.budget import Noise
from tametail.estimators.concentration import count_bound, mean_deviation, second_moment_bound
from tametail.estimators.tails import sum_quantile
from tametail.queries import SOFT_ONE, Lattice
from tametail.release import Interval
from tametail.tail import Moment
from tametail.theory import bias_constant

if TYPE_CHECKING:
    from tametail.estimators.clip import Clip
    from tametail.estimators.tails import Tails
    from tametail.planning import Plan

#: A unit of the private sum of squares is at most this part of the squared side.
SQUARE_UNIT = 2.0**-24

#: How often interval and variance improve each other, unless a round gains too little.
ROUNDS, ENOUGH = 30, 0.999

#: Sum over all whole numbers j of (1 + |j|)^-2.
OCTAVES_WEIGH = 2.29

#: Records that a plan expects beyond a clip point, times epsilon, and the nodes beyond it.
EXPECTED_BEYOND, EXPECTED_NODES = 9.0, 5

#: The reference is this much wider than what would be best if that came true: a clip point
#: beyond the reference costs more than one that is closer.
WIDER = 1.25


@dataclass(frozen=True, slots=True)
class Risk:
    """How the allowed probability of missing is divided."""

    sampling: float
    noise: float
    spread: float
    beyond: float


def split_risk(total: float) -> Risk:
    """Give most to sampling: it dominates, and the others cost only a logarithm."""
    return Risk(sampling=0.76 * total, noise=0.06 * total, spread=0.06 * total, beyond=0.12 * total)


@dataclass(frozen=True, slots=True)
class Sum:
    """The noisy sum of the clipped records, in ticks from the centre, and their noisy count.

    ``coarse`` bounds what a rounding of the records that is coarser than a tick does to their mean.
    """

    centre: float
    lattice: Lattice
    total: float
    count: float
    count_weight: int
    noise: Noise
    coarse: float = 0.0

    @property
    def rounding(self) -> float:
        """What rounding to ticks, or coarser, can do to the mean."""
        return max(self.lattice.tick, self.coarse)

    @property
    def mean(self) -> float:
        """The winsorised mean."""
        return self.centre + self.lattice.value(self.total / self.count)

    @property
    def ends(self) -> tuple[float, float]:
        """The clip points, as they were applied."""
        return self.lattice.value(self.lattice.low), self.lattice.value(self.lattice.high)

    def count_bound(self, risk: float) -> tuple[float, float]:
        """Return a bound of the error due to the noise on the count, and of the records from below.

        With noises z on the sum S and w on the count n, and v = (S + z)/(n + w):
        v - S/n = (z - v w)/n. If the count may be noise alone, nothing is known.
        """
        if not self.count_weight:
            return 0.0, self.count
        # The estimator may have moved the noisy count by one scale of its noise.
        missed = (self.noise.quantile(risk) + self.noise.scale) / self.count_weight
        fewest = self.count - missed
        if fewest < 1:
            return math.inf, 1.0
        return self.lattice.value(abs(self.total / self.count) * missed / fewest), fewest

    def noise_on_mean(self, fewest: float) -> Noise:
        """Return the law of z/n, as a continuous one: z itself differs from it by a tick at most."""
        return Noise(self.noise.kind, self.lattice.value(self.noise.scale / fewest))


@dataclass(frozen=True, slots=True)
class Reference:
    """An interval [A, B] that is fixed before any record is read, and r the records clipped to it.

    If it ``moves``, A and B are mu + low and mu + high. ``bias`` bounds the distance of E r from
    mu; ``deviation`` and ``fourth`` are what the assumption alone says about the standard deviation
    of r and about E(r - mu)^4. At most these ``shares`` of the law lie outside the reference and further than ``far`` from mu.
    """

    low: float
    high: float
    deviation: float
    fourth: float = math.inf
    moves: bool = False
    bias: float = 0.0
    far: float = 0.0
    shares: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, plan: Plan, clip: tuple[float, float], noise: Noise) -> Reference:
        """Return the reference of a plan; without a tail assumption, the clip points."""
        tail = plan.tail
        if not isinstance(tail, Moment):
            low, high = clip if tail is None else (tail.low, tail.high)
            return cls(low, high, deviation=(high - low) / 2)
        k, n, strength = tail.k, max(plan.n or 1, 1), plan.budget.strength
        constant = bias_constant(k)
        # Bias C_k R^-(k-1) against an excess of R N/n if N records, mostly noise, may lie beyond
        # the clip point: best where (k-1) C_k R^-k = N/n.
        beyond = sum_quantile(noise, 0.001, EXPECTED_NODES) / SOFT_ONE + EXPECTED_BEYOND / strength
        reach = max(WIDER * ((k - 1) * constant * n / beyond) ** (1 / k), 2.0)
        far = max((n * min(strength, 1.0) / 4) ** (1 / k), reach)
        return cls(
            low=-reach * tail.scale,
            high=reach * tail.scale,
            # Moments that may be infinite are not so for r, which is within R of mu.
            deviation=tail.scale * reach ** max(1 - k / 2, 0.0),
            fourth=tail.scale**4 * reach ** max(4 - k, 0.0),
            moves=True,
            bias=constant * tail.scale * reach ** (1 - k),
            far=far * tail.scale,
            shares=(reach**-k, far**-k),
        )

    def reach(self, low: float, high: float) -> float:
        """The largest distance of r from a point of [low, high] that lies in the reference."""
        if self.moves:
            return self.high
        return min(max(self.high - low, high - self.low), self.high - self.low)


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked and answered, for the side above the centre or, mirrored, for that below."""

    plan: Plan
    clip: Clip
    total: Sum
    reference: Reference
    risk: Risk
    sign: int
    miscounted: float
    fewest: float

    @property
    def noise(self) -> float:
        """A bound of the error due to all noise on sum and count."""
        ticks = self.total.noise.quantile(self.risk.noise / 2) / self.fewest
        return self.total.lattice.value(ticks) + self.miscounted

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

    def share(self, of_the_law: float) -> float:
        """Bound a share of the records, given that of the law; for "data" these are the same."""
        if self.plan.target == "data" or not of_the_law:
            return of_the_law
        return count_bound(self.fewest * of_the_law, self.risk.beyond / 20) / self.fewest


@dataclass(frozen=True, slots=True)
class Side:
    """Bounds mean(r) - mean(y) from above.

    ``start`` is a distance from the centre, ``slack`` beyond U; ``share`` bounds the soft count,
    as a share of the records, at the nodes above the octave of ``start``; ``outside`` and ``few``
    the shares of the records that lie outside the reference and far from mu; ``first`` is a first,
    coarse bound of mu.
    """

    answers: Answers
    start: float
    slack: float
    share: float
    outside: float
    few: float
    first: float

    @classmethod
    def of(cls, answers: Answers, tails: Tails) -> Side:
        """Count what lies beyond the clip point U."""
        reference, sign = answers.reference, answers.sign
        (low, high), (inner, outer) = answers.ends, answers.reference_ends
        centre = sign * answers.clip.centre
        if answers.plan.tail is None:
            return cls(answers, high - centre, 0.0, 0.0, 0.0, 0.0, first=outer)
        counts, distance = (
            (tails.above, answers.clip.above) if sign > 0 else (tails.below, answers.clip.below)
        )
        distance = max(min(distance, high - centre), 0.0)
        # A clip point at the centre would need the noise of all nodes down to the first.
        start = max(distance, (outer - inner) / answers.fewest)
        octave = math.ldexp(1.0, math.frexp(start)[1])  # the node above start
        # That octave depends on the noisy counts, so the risk is divided among all octaves.
        away = abs(math.frexp(start)[1] - math.frexp(outer - inner)[1] + 2)
        risk = answers.risk.beyond / 2 / (OCTAVES_WEIGH * (1 + away) ** 2)
        outside, few = (answers.share(share) for share in reference.shares)
        first, farthest = outer, outer - centre
        if reference.moves:
            margin = answers.noise + answers.total.rounding
            if sign * answers.total.mean + margin < high - (high - low) * outside:
                # mu >= U + R would put all but a few records above U, and mean(y) near U.
                first, farthest, risk = high + outer, octave + outer + reference.far, 0.75 * risk
            else:  # mu >= c + 2 far would put all but a few records beyond c + far.
                records = tails.beyond(counts, reference.far, answers.risk.beyond / 40)
                located = records / answers.fewest + few < 1
                first = centre + 2 * reference.far if located else math.inf
                farthest, risk = 3 * reference.far, 0.1 * risk
        records = tails.beyond(counts, octave, risk, farthest=farthest)
        share = records / answers.fewest
        return cls(answers, start, start - distance, share, outside, few, first)

    def clipped(self, mu: float) -> float:
        """Bound the mean of (min(x, B) - U)+, and of (A - max(x, L))+ below."""
        answers = self.answers
        shift = mu if answers.reference.moves else 0.0
        low, high = (end + shift for end in answers.reference_ends)
        result = self.outside * max(low - answers.ends[0], 0.0) if self.outside else 0.0
        excess = high - answers.sign * answers.clip.centre - self.start
        if excess > -self.slack and answers.plan.tail is not None:
            result += self.slack + self.share * per_count(self.start, excess)
            result += self.few * max(excess, 0.0)
        return result


def per_count(start: float, excess: float) -> float:
    """Bound (min(d, start + excess) - start)+ by a multiple of what d counts at higher nodes.

    In the octave 2^j of ``start`` a distance in the i-th sixteenth counts (2i + 1)/32 at the
    nodes above j, and beyond that octave it counts 1.

    >>> per_count(4.0, 100.0), per_count(6.0, 1.0)
    (100.0, 1.6)
    """
    octave = math.ldexp(1.0, math.frexp(start)[1] - 1)
    needed = (
        min(octave * (17 + i) / 16 - start, excess) * SOFT_ONE / (2 * i + 1) for i in range(16)
    )
    return max(excess, 0.0, *needed)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Bounds that all hold at once, and what follows from them."""

    answers: Answers
    squares: float
    below: Side
    above: Side

    def conclude(self) -> tuple[float, float, dict[str, float]]:
        """Return low and high for mu, and what the interval is made of.

        A first interval for mu and what the assumption says about the variance give a better
        interval, that and the private squares a better variance, and so on. All rounds hold
        together, so there may be any number of them.
        """
        answers, total, reference = self.answers, self.answers.total, self.answers.reference
        low, high = -self.below.first, self.above.first
        deviation = reference.deviation
        parts = {"sampling": 0.0, "noise": answers.noise, "rounding": total.rounding}
        for _ in range(ROUNDS):
            width = high - low
            if answers.plan.target == "population":
                reach = reference.reach(low, high) + reference.bias
                parts = self._together(deviation, reach)
                deviation = min(deviation, self._deviation(low, high, sum(parts.values())))
            margin = sum(parts.values()) + reference.bias
            low = max(low, total.mean - margin - self.below.clipped(-low))
            high = min(high, total.mean + margin + self.above.clipped(high))
            if high - low > ENOUGH * width:
                break
        truncation = max(high - total.mean, total.mean - low) - sum(parts.values())
        return low, high, {**parts, "truncation": max(truncation, 0.0)}

    def _together(self, deviation: float, reach: float) -> dict[str, float]:
        """Bound the sampling error and the noise, and say how much of it the noise adds."""
        answers, risk = self.answers, self.answers.risk.sampling / 2
        noise = answers.total.noise_on_mean(answers.fewest)
        sampling = mean_deviation(deviation, reach, answers.fewest, risk)
        together = mean_deviation(deviation, reach, answers.fewest, risk, noise)
        rest = answers.miscounted + answers.total.lattice.tick / answers.fewest
        return {
            "sampling": sampling,
            "noise": max(together - sampling, 0.0) + rest,
            "rounding": answers.total.rounding,
        }

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
        square = self.squares / answers.fewest + SQUARE_UNIT * side**2
        if above + below:
            square += (above + below) * (self._farthest(low, high) + side)
        uncertain = answers.noise + answers.total.rounding + max(above, below)
        square -= max(abs(answers.total.mean - centre) - uncertain, 0.0) ** 2
        square += (sampling + answers.noise + reference.bias) ** 2
        reach, risk = reference.reach(low, high), 0.75 * answers.risk.spread
        bound = second_moment_bound(square, reach, answers.fewest, risk, reference.fourth)
        return math.sqrt(bound)

    def _farthest(self, low: float, high: float) -> float:
        """The largest distance of r from the centre; infinite if that may lie outside [A, B]."""
        centre, reference = self.answers.clip.centre, self.answers.reference
        if not reference.moves:
            return max(reference.high - centre, centre - reference.low)
        off = max(high - centre, centre - low)
        return reference.high + off if off <= reference.high else math.inf


def interval_around(
    plan: Plan, value: float, clip: Clip, tails: Tails, total: Sum, squares: float
) -> Interval:
    """Return the interval of a release.

    ``squares`` is a bound of the sum of the squared, clipped distances from the centre that fails
    with probability ``risk.spread / 4`` (infinite if it was not asked for).
    """
    confidence = 0.0 if plan.confidence is None else plan.confidence
    risk = split_risk(1 - confidence)
    miscounted, fewest = total.count_bound(risk.noise / 2)
    reference = Reference.of(plan, total.ends, tails.noise)
    below, above = (
        Side.of(Answers(plan, clip, total, reference, risk, sign, miscounted, fewest), tails)
        for sign in (-1, 1)
    )
    low, high, parts = Evidence(above.answers, squares, below, above).conclude()
    return Interval(
        low=max(min(low, value), plan.possible[0]),
        high=min(max(high, value), plan.possible[1]),
        confidence=confidence,
        describes="winsorised mean" if plan.tail is None else "mean",
        parts=parts,
    )
