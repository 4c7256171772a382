r"""The interval: sampling, noise, truncation and rounding, each bounded on its own.

Let Y be a record clipped to [L, U], n the number of records, v the released winsorised mean. With
probability ``confidence``, all of these hold at once (docs/interval.md has the proofs):

* noise: \|v - mean(y)\| is at most the quantile of the public noise law;
* spread: E(Y - c)^2 is at most what the private sum of squares says (sub-Gaussian lower tail of
  non-negative variables, and the noise on that sum);
* sampling: \|mean(y) - E Y\| <= sqrt(2 V ln(2/b)/n) + W ln(2/b)/(3n), Bernstein's inequality for
  records that vary by at most W = U - L.

That is an interval for the winsorised mean E Y. A tail assumption bounds E X - E Y as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tametail.budget import Noise
from tametail.queries import Lattice
from tametail.release import Interval
from tametail.tail import Bounded, Moment, Tail
from tametail.theory import bias_constant

if TYPE_CHECKING:
    from tametail.estimators.clip import Clip
    from tametail.estimators.tails import Tails
    from tametail.planning import Plan


@dataclass(frozen=True, slots=True)
class Risk:
    """How the allowed probability of missing is divided."""

    sampling: float
    noise: float
    spread: float


def split_risk(total: float) -> Risk:
    """Give most to sampling, which dominates where there are enough records."""
    return Risk(sampling=0.7 * total, noise=0.2 * total, spread=0.1 * total)


def sampling_half_width(variance: float, width: float, n: float, risk: float) -> float:
    """Bernstein's inequality for the mean of n records within ``width`` of each other.

    >>> round(sampling_half_width(1.0, 10.0, 10_000, 0.05), 4)
    0.0284
    """
    level = math.log(2 / risk)
    return math.sqrt(2 * variance * level / n) + width * level / (3 * n)


def second_moment_bound(mean_square: float, side: float, n: float, risk: float) -> float:
    """Bound E Z from the mean of n records Z in [0, side^2].

    Such a mean falls short of E Z by t with probability at most exp(-n t^2 / (2 side^2 E Z)), so
    with l = ln(1/risk): sqrt(E Z) <= sqrt(mean + side^2 l/(2n)) + side sqrt(l/(2n)).

    >>> round(second_moment_bound(1.0, 10.0, 10_000, 0.05), 3)
    1.277
    """
    slack = side**2 * math.log(1 / risk) / (2 * n)
    return (math.sqrt(max(mean_square, 0.0) + slack) + math.sqrt(slack)) ** 2


@dataclass(frozen=True, slots=True)
class Sum:
    """The noisy sum of the clipped records, in ticks from the centre, and their noisy count."""

    centre: float
    lattice: Lattice
    total: float
    count: float
    count_weight: int
    noise: Noise

    @property
    def mean(self) -> float:
        """The winsorised mean."""
        return self.centre + self.lattice.value(self.total / self.count)

    def noise_bound(self, risk: float) -> tuple[float, float]:
        """Return a bound of the error due to noise, and a lower bound of the number of records.

        With noises z on the sum S and w on the count n, and v = (S + z)/(n + w):
        v - S/n = (z - v w)/n.
        """
        shift, bound = abs(self.total / self.count), self.noise.quantile(risk / 2)
        missed = bound / self.count_weight if self.count_weight else 0.0
        fewest = max(self.count - missed, 1.0)
        return self.lattice.value((bound + shift * missed) / fewest), fewest


def interval_around(
    plan: Plan, value: float, clip: Clip, tails: Tails, total: Sum, squares: float
) -> Interval:
    """Return the interval of a release.

    ``squares`` is a bound of the sum of the squared, clipped distances from the centre that fails
    with probability ``risk.spread / 4`` (infinite if it was not asked for).
    """
    confidence = 0.0 if plan.confidence is None else plan.confidence
    risk = split_risk(1 - confidence)
    noise, fewest = total.noise_bound(risk.noise)
    sampling, rounding = 0.0, total.lattice.tick
    if plan.target == "population":
        variance = second_moment_bound(squares / fewest, clip.side, fewest, risk.spread / 4)
        if isinstance(plan.tail, Moment) and plan.tail.k >= 2:
            variance = min(variance, plan.tail.scale**2)
        width = clip.below + clip.above
        sampling = sampling_half_width(variance, width, fewest, risk.sampling)

    # The winsorised mean lies between the clip points, however large the noise.
    half = noise + sampling + rounding
    low = max(total.mean - half, clip.ends[0])
    high = min(total.mean + half, clip.ends[1])
    beyond = [
        second_moment_bound(
            tails.beyond(counts, side, risk.spread / 8) / fewest, 1.0, fewest, risk.spread / 8
        )
        for counts, side in ((tails.below, clip.below), (tails.above, clip.above))
    ]
    # Below the centre everything is the mirror image of what is above it.
    down = truncation_bias(plan.tail, -clip.ends[0], -low, beyond[0], sign=-1)
    up = truncation_bias(plan.tail, clip.ends[1], high, beyond[1], sign=1)
    return Interval(
        low=max(min(low - down, value), plan.possible[0]),
        high=min(max(high + up, value), plan.possible[1]),
        confidence=confidence,
        describes="winsorised mean" if plan.tail is None else "mean",
        parts={
            "sampling": sampling,
            "noise": noise,
            "truncation": max(down, up),
            "rounding": rounding,
        },
    )


def truncation_bias(tail: Tail, end: float, highest: float, beyond: float, *, sign: int) -> float:
    """Bound E(X - end)+, what clipping at ``end`` can take off the mean.

    ``highest`` bounds the winsorised mean E Y from above and ``beyond`` bounds P(X > end); with
    ``sign = -1`` all of these are about -X. For a Moment the least of two bounds holds:

    * if end > highest + scale/2, then mu <= highest + scale/2, since E(mu - X)+ <= scale/2, and the
      bias is at most C_k scale^k (end - mu)^-(k-1);
    * with p = beyond: scale p^(1-1/k) + scale p (1-p)^(-1/k), wherever mu is (Hoelder's and
      Markov's inequalities).
    """
    if tail is None:
        return 0.0
    share = min(beyond, 1.0)
    if isinstance(tail, Bounded):
        largest = tail.high if sign > 0 else -tail.low
        return max(largest - end, 0.0) * share
    k, scale, constant = tail.k, tail.scale, bias_constant(tail.k)
    bound = math.inf
    if share < 1:
        bound = scale * (share ** (1 - 1 / k) + share * (1 - share) ** (-1 / k))
    distance = end - highest - scale / 2
    if distance > 0:
        by_distance = constant * scale * (scale / distance) ** (k - 1)
        # mu <= highest + by_distance as well, which may put mu further from the end.
        distance = max(distance, end - highest - by_distance)
        bound = min(bound, constant * scale * (scale / distance) ** (k - 1))
    return bound
