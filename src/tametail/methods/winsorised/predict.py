"""What a plan predicts before any record is read.

With a tail assumption the prediction is for the worst law that it allows; without one it is for a
reference law, the lognormal with sigma = 1, in units of its standard deviation. More records or a
larger budget never make a prediction worse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tametail.inequalities.concentration import mean_deviation, second_moment_bound
from tametail.inequalities.lognormal import REFERENCE_SD, lognormal_excess
from tametail.inequalities.quantiles import continuous_quantile
from tametail.inequalities.risk import split_risk
from tametail.inequalities.truncation import bias_constant
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised import where
from tametail.methods.winsorised.counts import noise_of_counts
from tametail.methods.winsorised.reference import Reference, expected_beyond
from tametail.methods.winsorised.shares import spread_share
from tametail.notes import Note, few_records, hint
from tametail.privacy.budget import Noise, noise_for
from tametail.queries.column import SOFT_ONE
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.methods.winsorised.column import ColumnPlan as Plan


class Setting(NamedTuple):
    """A clip interval, what the clipping may cost, and how the clipped records spread.

    ``side`` is the larger distance of a clip point from the mean.
    """

    width: float
    side: float
    bias: float
    deviation: float


def rmse(plan: Plan) -> float | None:
    """Bound the root mean squared error by the tail assumption; None without one.

    The worst law has a group of far records, as many as can go unseen in the octave counts. With a
    moment, the chance of a lost centre is part of it; without a range (``within``) it is then for a
    mean within some thousand scales of 0.
    """
    if plan.n is None or plan.tail is None:
        return None
    noise = math.sqrt(noise_of_counts(plan, plan.cost("tail")).variance / 2) / SOFT_ONE
    unseen = min(tuned.UNSEEN * noise / _size(plan), 1.0)
    if isinstance(plan.tail, Bounded):
        width = plan.tail.high - plan.tail.low
        return _error(plan, Setting(width, width, unseen * width, width / 2))
    k, scale = plan.tail.k, plan.tail.scale
    # Beyond this clip point, twice, even the worst bias is below the noise.
    strength = _size(plan) * plan.cost("sum").strength
    side = scale * (2 + (bias_constant(k) * strength) ** (1 / k))
    deviation = scale * (side / scale) ** max(1 - k / 2, 0.0)
    found = _error(plan, Setting(2 * side, side, scale * unseen ** (1 - 1 / k), deviation))
    return math.sqrt(found**2 + where.lost_square(plan))


def reference_rmse(plan: Plan) -> float | None:
    """Predict the root mean squared error for the reference law, in its standard deviations."""
    return None if plan.n is None else min(_error(plan, setting) for setting in _reference())


def half_width(plan: Plan, confidence: float) -> float | None:
    """Predict the half-width of the interval; in reference standard deviations without a tail."""
    if plan.n is None:
        return None
    n, risk = _size(plan), split_risk(1 - confidence)
    share = expected_beyond(plan) / n

    spread = (
        plan.cost("spread")
        if plan.has("spread")
        else plan.budget.share(spread_share(plan.budget, n))
    )

    # As the interval does it: docs/interval.md.
    together = plan.tail is None or Reference.of(plan, (0.0, 0.0)).noise > 0

    def half(setting: Setting) -> float:
        clipped = setting.bias if plan.tail is None else setting.bias + share * setting.side
        noise = _noise(plan, setting)
        if plan.target == "data":
            return clipped + continuous_quantile(noise, risk.noise / 2)
        deviation = setting.deviation
        if plan.tail is None:  # then the variance comes from the records, with noise on it
            square = deviation**2 + setting.side**2 * math.log(4 / risk.spread) / (
                n * spread.strength
            )
            bound = second_moment_bound(square, setting.side, n, risk.spread)
            deviation = math.sqrt(bound)
        if together:
            return clipped + mean_deviation(deviation, setting.side, n, risk.sampling / 2, noise)
        sampling = mean_deviation(deviation, setting.side, n, risk.sampling / 2)
        return clipped + sampling + continuous_quantile(noise, risk.noise / 2)

    if plan.tail is None:
        return min(map(half, _reference()))
    return min(map(half, _worst(plan.tail)))


def lost_note(chance: float) -> tuple[Note, ...]:
    """Say how likely a lost centre is, if it is likely."""
    if chance < tuned.SELDOM:
        return ()
    text = (
        f"where the records are may be missed, with a chance of up to {chance:.1g}, and then the "
        "answer is far off: more records, more budget or a smaller range (within=) help"
    )
    return (few_records(text),)


def foresee(plan: Plan) -> tuple[Note, ...]:
    """Say what would help, if trouble is expected."""
    if plan.n is not None and isinstance(plan.tail, Moment):
        return lost_note(where.lost_chance(plan))
    if plan.n is None or plan.n * plan.budget.strength >= tuned.FEASIBLE:
        return ()
    factor = tuned.FEASIBLE / max(plan.n * plan.budget.strength, 1e-9)
    found = [
        few_records(
            f"n times epsilon is below {tuned.FEASIBLE:g}, so the answer may be far off: "
            f"{factor:.2g} times as many records or as much budget would do"
        )
    ]
    if not any(math.isfinite(end) for end in plan.within) and plan.tail is None:
        found.append(
            hint("saying where the mean can be (within=) or how the records spread (tail=) helps")
        )
    return tuple(found)


def _size(plan: Plan) -> int:
    return max(plan.n or 1, 1)


def _error(plan: Plan, setting: Setting) -> float:
    noise = _noise(plan, setting).variance
    return math.sqrt(setting.bias**2 + noise + setting.deviation**2 / _size(plan))


def _noise(plan: Plan, setting: Setting) -> Noise:
    """Return the noise on the mean: add-remove protects against one side of the width only."""
    sensitivity = setting.width if plan.unit.size_is_public else setting.side
    cost = plan.cost("sum")
    scale = (1 + tuned.COUNT_NOISE) * sensitivity / (_size(plan) * cost.strength)
    return Noise(noise_for(cost, 1, 1).kind, scale)


def _worst(tail: Moment | Bounded) -> Iterable[Setting]:
    """Yield the reference intervals that an interval could have used (docs/interval.md)."""
    if isinstance(tail, Bounded):
        width = tail.high - tail.low
        yield Setting(width, width, 0.0, width / 2)
        return
    k, scale = tail.k, tail.scale
    for step in range(30):
        reach = 2 * 2 ** (step / 2)
        bias = bias_constant(k) * scale * reach ** (1 - k)
        deviation = scale * reach ** max(1 - k / 2, 0.0)
        yield Setting(2 * reach * scale, reach * scale, bias, deviation)


def _reference() -> Iterable[Setting]:
    """Yield clip points for the lognormal law around its median 1, in standard deviations."""
    mean = math.exp(0.5)
    for step in range(36):
        end = 1 + math.exp(step / 3)
        excess = lognormal_excess(1.0, end)
        yield Setting(
            end / REFERENCE_SD, (end - mean + excess) / REFERENCE_SD, excess / REFERENCE_SD, 1.0
        )
