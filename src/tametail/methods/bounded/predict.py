"""What the bounded mean promises, by public numbers alone."""

from __future__ import annotations

import math

from tametail.inequalities.concentration import mean_deviation
from tametail.inequalities.quantiles import continuous_quantile
from tametail.methods.bounded.estimate import bounds_of, clamped_sum
from tametail.methods.winsorized.column import ColumnPlan
from tametail.plans import WORST
from tametail.privacy.budget import Noise, noise_for


def noise_on_mean(plan: ColumnPlan) -> Noise:
    """Return the noise on the mean, if that is in the middle of the bounds."""
    bounds = bounds_of(plan)
    query = clamped_sum(plan, bounds.low, bounds.high)
    sensitivity = query.sensitivity(plan.adjacency)
    noise = noise_for(plan.cost("sum"), sensitivity.l1, sensitivity.l2_squared)
    return Noise(noise.kind, query.lattice.value(noise.scale) / plan.size)


def rmse(plan: ColumnPlan) -> float:
    """Bound the root mean squared error.

    The count is off by the noise over its weight w; a mean at d from the middle suffers d/w of it,
    where d is half of the width at most.
    """
    bounds = bounds_of(plan)
    query = clamped_sum(plan, bounds.low, bounds.high)
    off = query.lattice.side / query.count_weight if query.count_weight else 0.0
    noise = noise_on_mean(plan).variance * (1 + off**2)
    return math.sqrt(noise + (bounds.high / 2 - bounds.low / 2) ** 2 / plan.size)


def half_width(plan: ColumnPlan, confidence: float, distribution: str = WORST) -> float:  # noqa: ARG001
    """Predict the half-width of the interval, for records at both ends of the bounds."""
    bounds, noise, risk = bounds_of(plan), noise_on_mean(plan), (1 - confidence) / 2
    if plan.target == "data":
        return continuous_quantile(noise, risk)
    width = bounds.high - bounds.low
    return mean_deviation(width / 2, width, plan.size, risk, noise)
