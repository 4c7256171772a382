"""What an interval starts from: the answers, and a fixed reference.

``docs/explanation/interval-proofs.md`` has the argument; ``interval`` draws the conclusion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tametail.doubles import LARGEST
from tametail.inequalities.concentration import count_bound
from tametail.inequalities.quantiles import sum_quantile
from tametail.inequalities.risk import Risk
from tametail.inequalities.truncation import best_reach, bias_constant
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.tail_histogram import noise_of_counts
from tametail.privacy.budget import noise_for
from tametail.queries.column import SOFT_ONE
from tametail.tail import Moment

if TYPE_CHECKING:
    from tametail.methods.winsorised.column import ColumnPlan as Plan
    from tametail.methods.winsorised.sums import Clip, Sum


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
            # The noise of clip points at the bounds.
            width, n = high - low, max(plan.n or 1, 1)
            allowed = noise_for(plan.cost("sum"), 1, 1).scale * (1 + 1 / 16) * width
            if allowed > tuned.SMALL_NOISE * math.sqrt(n) * width / 2:
                allowed = 0.0
            return cls(low, high, deviation=width / 2, noise=allowed)
        k, n, strength = tail.k, max(plan.n or 1, 1), plan.budget.strength
        constant = bias_constant(k)
        reach, allowed = _reach(plan, k, n)
        far = max((n * min(strength, 1.0) / 4) ** (1 / k), reach)
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
        risk = tuned.OUTSIDE * self.risk.beyond
        return (
            count_bound(self.fewest * outside, risk) / self.fewest,
            count_bound(self.fewest * few, risk) / self.fewest,
        )


def _reach(plan: Plan, k: float, n: int) -> tuple[float, float]:
    """Return the half-width of the reference, and the noise to be bounded with sampling, in scales.

    If records can be clipped beyond the reference, because that noise is small next to sampling,
    what is left is its bias: the best sum of that and of noise and sampling together. If not, or
    if that is wider, the records choose how wide they are clipped, and N of them, mostly noise, may
    lie beyond. Then the bias C_k R^-(k-1) is against an excess of R N/n: best where
    (k-1) C_k R^-k = N/n.
    """
    constant, unit = bias_constant(k), noise_for(plan.cost("sum"), 1, 1).scale

    def noise(reach: float) -> float:
        return unit * plan.unit.changes * (1 + 1 / 16) * (reach + tuned.BEYOND_REFERENCE)

    def width(reach: float) -> float:
        sampling = math.pow(reach, max(1 - k / 2, 0.0)) / math.sqrt(n)
        together = math.hypot(sampling, math.sqrt(2) * noise(reach) / n)
        return constant * math.pow(reach, 1 - k) + tuned.USUAL_QUANTILE * together

    # Clip points for the value are capped as well, and may not lie within the reference.
    deviation = math.sqrt(noise_for(plan.cost("sum"), 1, 1).variance)
    most = best_reach(k, n, deviation) + 1 - tuned.BEYOND_REFERENCE
    tried = [most * 2.0 ** (-step / 4) for step in range(24)]
    most_noise = tuned.SMALL_NOISE * math.sqrt(n)
    small = [one for one in tried if one >= 2 and noise(one) <= most_noise]
    beyond = expected_beyond(plan)
    chosen = max(tuned.WIDER * ((k - 1) * constant * n / beyond) ** (1 / k), 2.0)
    if small:
        # The closest of those that are nearly as narrow: its noise is in the value as well.
        enough = tuned.NEARLY_NARROWEST * min(map(width, small))
        wide = min(one for one in small if width(one) <= enough)
        excess = constant * math.pow(chosen, 1 - k) + chosen * beyond / n
        if width(wide) <= excess + tuned.USUAL_QUANTILE / math.sqrt(n):
            return wide, noise(wide)
    return chosen, 0.0


def expected_beyond(plan: Plan) -> float:
    """Return how many records a plan expects to be possible beyond a clip point: mostly noise."""
    noise = noise_of_counts(plan, plan.cost("tail"))
    nodes = sum_quantile(noise, tuned.RARE, tuned.EXPECTED_NODES) / SOFT_ONE
    return nodes + tuned.EXPECTED_BEYOND / plan.budget.strength
