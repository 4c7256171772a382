"""What an interval starts from: a division of the risk, the answers, and a fixed reference.

``docs/interval.md`` has the argument; ``interval`` draws the conclusion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tametail.doubles import LARGEST
from tametail.inequalities.concentration import count_bound
from tametail.methods.winsorised.counts import noise_of_counts, sum_quantile
from tametail.privacy.budget import Noise, noise_for
from tametail.privacy.unit import Unit
from tametail.queries.column import SOFT_ONE, Lattice
from tametail.tail import Moment, bias_constant

if TYPE_CHECKING:
    from tametail.methods.winsorised.clip import Clip
    from tametail.planning import Plan

#: Records that a plan expects beyond a clip point, times epsilon, and the nodes beyond it.
EXPECTED_BEYOND, EXPECTED_NODES = 9.0, 5

#: The reference is this much wider than what would be best if that came true: a clip point
#: beyond the reference costs more than one that is closer.
WIDER = 1.4

#: Noise up to this part of the standard error, by assumption, is bounded together with sampling.
SMALL_NOISE = 0.15


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
    """The noisy sum of the clipped distances from the centre, and their noisy count.

    The sum is in ticks and counts from the centre of the ``lattice``, that is of distances.
    The count is exact if ``count_weight`` is 0. Its noise is ``count_noise`` (or else that of the
    sum) over its weight.
    ``coarse`` bounds what a rounding of the records that is coarser than a tick does to their mean.
    """

    centre: float
    lattice: Lattice
    total: float
    count: float
    count_weight: int
    noise: Noise
    coarse: float = 0.0
    count_noise: Noise | None = None

    @property
    def rounding(self) -> float:
        """What rounding to ticks, or coarser, can do to the mean."""
        # Adding distances to the centre rounds to doubles near it.
        ulp = math.ulp(abs(self.centre) + self.lattice.value(self.lattice.side))
        return self.lattice.tick + self.coarse + 2 * ulp

    @property
    def mean(self) -> float:
        """The winsorised mean; it lies between the clip points, whatever the noise."""
        lattice = self.lattice
        distance = lattice.centre + self.total / self.count
        distance = lattice.value(min(max(distance, lattice.low), lattice.high))
        return min(max(self.centre + distance, -LARGEST), LARGEST)

    @property
    def ends(self) -> tuple[float, float]:
        """The clip points, as they were applied."""
        below, above = (self.lattice.value(end) for end in (self.lattice.low, self.lattice.high))
        return self.centre + below, self.centre + above

    def count_bound(self, risk: float) -> tuple[float, float]:
        """Return a bound of the error due to the noise on the count, and of the records from below.

        With noises z on the sum S and w on the count n, and v = (S + z)/(n + w):
        v - S/n = (z - v w)/n. If the count may be noise alone, nothing is known.
        """
        if not self.count_weight:
            return 0.0, self.count
        # The estimator may have moved the noisy count by one scale of its noise.
        noise = self.noise if self.count_noise is None else self.count_noise
        missed = (noise.quantile(risk) + noise.scale) / self.count_weight
        fewest = self.count - missed
        if fewest < 1:
            return math.inf, 1.0
        return self.lattice.value(abs(self.total / self.count) * missed / fewest), fewest


@dataclass(frozen=True, slots=True)
class Reference:
    """An interval [A, B] that is fixed before any record is read, and r the records clipped to it.

    If it ``moves``, A and B are mu + low and mu + high. ``bias`` bounds the distance of E r from
    mu; ``deviation`` and ``fourth`` are what the assumption alone says about the standard deviation
    of r and about E(r - mu)^4. At most these ``shares`` of the law lie outside the reference, and
    further than ``far`` from mu. Sampling is bounded together with noise on the sum of the scale
    ``noise``, which is fixed in advance too.
    """

    low: float
    high: float
    deviation: float
    fourth: float = math.inf
    moves: bool = False
    bias: float = 0.0
    far: float = 0.0
    shares: tuple[float, float] = (0.0, 0.0)
    noise: float = 0.0

    @classmethod
    def of(cls, plan: Plan, clip: tuple[float, float]) -> Reference:
        """Return the reference of a plan; without a tail assumption, the clip points."""
        tail = plan.tail
        if not isinstance(tail, Moment):
            low, high = clip if tail is None else (tail.low, tail.high)
            if tail is None:  # the clip points are rounded to doubles
                low, high = math.nextafter(low, -LARGEST), math.nextafter(high, LARGEST)
            return cls(low, high, deviation=(high - low) / 2)
        k, n, strength = tail.k, max(plan.n or 1, 1), plan.budget.strength
        constant = bias_constant(k)
        # Bias C_k R^-(k-1) against an excess of R N/n if N records, mostly noise, may lie beyond
        # the clip point: best where (k-1) C_k R^-k = N/n.
        noise = noise_of_counts(plan, plan.cost("tail"))
        beyond = sum_quantile(noise, 0.001, EXPECTED_NODES) / SOFT_ONE + EXPECTED_BEYOND / strength
        reach = max(WIDER * ((k - 1) * constant * n / beyond) ** (1 / k), 2.0)
        far = max((n * min(strength, 1.0) / 4) ** (1 / k), reach)
        # The noise if records were clipped at the reference; next to sampling it must be small, or
        # else what the records choose is better.
        width = (2 if plan.unit is Unit.REPLACE_ONE else 1) * (1 + 1 / 16) * reach
        allowed = noise_for(plan.cost("sum"), 1, 1).scale * width
        if allowed > SMALL_NOISE * math.sqrt(n):
            allowed = 0.0
        return cls(
            low=-reach * tail.scale,
            high=reach * tail.scale,
            # Moments that may be infinite are not so for r, which is within R of mu.
            deviation=tail.scale * reach ** max(1 - k / 2, 0.0),
            fourth=math.prod([tail.scale] * 4) * reach ** max(4 - k, 0.0),
            moves=True,
            bias=constant * tail.scale * reach ** (1 - k),
            far=far * tail.scale,
            shares=(reach**-k, far**-k),
            noise=allowed * tail.scale,
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
    def centre(self) -> float:
        """The private median."""
        return self.sign * self.clip.centre

    @property
    def shares(self) -> tuple[float, float]:
        """Bound the shares of records outside the reference and far from mu.

        For "data" the tail assumption is about these records: their shares are those of the law.
        """
        outside, few = self.reference.shares
        if self.plan.target == "data" or not few:
            return outside, few
        risk = self.risk.beyond / 20
        return (
            count_bound(self.fewest * outside, risk) / self.fewest,
            count_bound(self.fewest * few, risk) / self.fewest,
        )
