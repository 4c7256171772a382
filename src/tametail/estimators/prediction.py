"""What a plan predicts before any record is read.

With a tail assumption the prediction is a bound; without one it is for a reference law, the
lognormal with sigma = 1, in units of its standard deviation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tametail.budget import Budget, Noise, Zcdp
from tametail.estimators.interval import sampling_half_width, split_risk
from tametail.tail import Bounded, Moment
from tametail.theory import bias_constant
from tametail.unit import Unit

if TYPE_CHECKING:
    from tametail.plan import Plan

#: Standard deviation of the reference law: sqrt((e - 1) e).
REFERENCE_SD = math.sqrt((math.e - 1.0) * math.e)

#: Below this n * epsilon the centre is often missed.
FEASIBLE = 500.0


def worst_rmse(plan: Plan) -> float | None:
    """Bound the root mean squared error by the tail assumption; None without one."""
    if plan.n is None or plan.tail is None:
        return None
    side, bias = _worst_side(plan, plan.n)
    spread = _spread(plan)
    if spread is None:
        return None
    noise = _noise(plan, side)
    return math.sqrt(bias**2 + noise.variance + spread**2 / max(plan.n, 1))


def reference_rmse(plan: Plan) -> float | None:
    """Predict the root mean squared error for the reference law, in its standard deviations."""
    if plan.n is None:
        return None
    sampling = 1 / max(plan.n, 1)
    candidates = []
    for step in range(-8, 80):
        side = math.exp(step / 8)
        bias = _lognormal_excess(side) / REFERENCE_SD
        noise = _noise(plan, side / REFERENCE_SD)
        candidates.append(math.sqrt(bias**2 + noise.variance + sampling))
    return min(candidates)


def half_width(plan: Plan, confidence: float) -> float | None:
    """Predict the half-width of the interval; in reference standard deviations without a tail."""
    if plan.n is None:
        return None
    n, risk = max(plan.n, 1), split_risk(1 - confidence)
    if plan.tail is None:
        spread: float | None = 1.0
        side, bias = _reference_side(plan), 0.0
    else:
        spread = _spread(plan)
        side, bias = _worst_side(plan, n)
    if spread is None:
        return None
    noise = _noise(plan, side).quantile(risk.noise)
    if plan.target == "data":
        return noise + bias
    return noise + bias + sampling_half_width(spread**2, 2 * side, n, risk.sampling)
