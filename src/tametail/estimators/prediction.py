"""What a plan predicts before any record is read.

With a tail assumption the prediction is a bound; without one it is for a reference law, the
lognormal with sigma = 1, in units of its standard deviation.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from tametail.budget import Noise, Zcdp
from tametail.estimators.concentration import mean_deviation
from tametail.estimators.interval import split_risk
from tametail.tail import Bounded, Moment
from tametail.theory import bias_constant
from tametail.unit import Unit

if TYPE_CHECKING:
    from tametail.planning import Plan

#: Standard deviation of the reference law: sqrt((e - 1) e).
REFERENCE_SD = math.sqrt((math.e - 1.0) * math.e)

#: Below this n * epsilon the steps before the sum often fail.
FEASIBLE = 500.0


class Setting(NamedTuple):
    """Clip points ``side`` from the centre, and what then follows."""

    width: float
    bias: float
    deviation: float


def rmse(plan: Plan) -> float | None:
    """Bound the root mean squared error by the tail assumption; None without one."""
    return None if plan.n is None or plan.tail is None else _error(plan, _worst(plan, plan.n))


def reference_rmse(plan: Plan) -> float | None:
    """Predict the root mean squared error for the reference law, in its standard deviations."""
    return None if plan.n is None else _error(plan, _reference(plan))


def half_width(plan: Plan, confidence: float) -> float | None:
    """Predict the half-width of the interval; in reference standard deviations without a tail."""
    if plan.n is None:
        return None
    setting = _reference(plan) if plan.tail is None else _worst(plan, plan.n)
    n, risk = max(plan.n, 1), split_risk(1 - confidence)
    noise = _noise_scale(plan, setting.width) * _law(plan, 1e9).quantile(risk.noise / 2) / 1e9
    bias = 0.0 if plan.tail is None else setting.bias
    if plan.target == "data":
        return noise + bias
    sampling = mean_deviation(setting.deviation, setting.width, n, risk.sampling / 2)
    return noise + bias + sampling


def advice(plan: Plan) -> tuple[str, ...]:
    """Say what would help, if trouble is expected."""
    if plan.n is None or plan.n * plan.budget.strength >= FEASIBLE:
        return ()
    factor = FEASIBLE / max(plan.n * plan.budget.strength, 1e-9)
    texts = [
        f"n times epsilon is below {FEASIBLE:g}, so the answer may be far off: {factor:.2g} times "
        "as many records or as much budget would do"
    ]
    if not any(math.isfinite(end) for end in plan.within) and plan.tail is None:
        texts.append(
            "saying where the mean can be (within=) or how the records spread (tail=) helps"
        )
    return tuple(texts)


def _error(plan: Plan, setting: Setting) -> float:
    noise = _law(plan, _noise_scale(plan, setting.width)).variance
    return math.sqrt(setting.bias**2 + noise + setting.deviation**2 / max(plan.n or 1, 1))


def _law(plan: Plan, scale: float) -> Noise:
    return Noise("gaussian" if isinstance(plan.budget, Zcdp) else "laplace", scale)


def _noise_scale(plan: Plan, width: float) -> float:
    """Scale of the noise on the mean: add-remove protects against one side of the width only."""
    sensitivity = width if plan.unit is Unit.REPLACE_ONE else width / 2
    return sensitivity / (max(plan.n or 1, 1) * plan.cost("sum").strength)


def _worst(plan: Plan, n: int) -> Setting:
    """Return the clip points at which the worst law of the tail assumption does least harm."""
    tail = plan.tail
    if isinstance(tail, Bounded):
        width = tail.high - tail.low
        return Setting(width, 0.0, width / 2)
    if not isinstance(tail, Moment):
        raise AssertionError("a bound needs a tail assumption")
    strength = max(n, 1) * plan.cost("sum").strength
    reach = (math.sqrt((tail.k - 1) / 8) * bias_constant(tail.k) * strength) ** (1 / tail.k)
    side = tail.scale * max(reach, 1.0)
    bias = bias_constant(tail.k) * tail.scale * (tail.scale / side) ** (tail.k - 1)
    # With k < 2 the variance may be infinite, but not that of the clipped records.
    deviation = tail.scale * max(side / tail.scale, 1.0) ** max(1 - tail.k / 2, 0.0)
    return Setting(2 * side, bias, deviation)


def _reference(plan: Plan) -> Setting:
    """Return the best clip points for the lognormal law, in its standard deviations."""
    normal = NormalDist()

    def setting(side: float) -> Setting:
        # E(X - t)+ for the lognormal law, with the clip point t = 1 + side above its median 1.
        log = math.log1p(side)
        excess = math.exp(0.5) * normal.cdf(1 - log) - (1 + side) * normal.cdf(-log)
        return Setting((1 + side) / REFERENCE_SD, excess / REFERENCE_SD, 1.0)

    return min(
        (setting(math.exp(step / 8)) for step in range(0, 100)), key=lambda s: _error(plan, s)
    )
