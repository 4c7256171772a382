"""What a plan predicts of its error before any record is read, and what it advises.

With a tail assumption the prediction is for the worst law that it allows; without one it is for a
reference law, the lognormal with sigma = 1, in units of its standard deviation. More records or a
larger budget never make it worse. Half-widths of intervals are predicted in ``expected``.
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
from tametail.notes import HELPS, Note, few_records, hint
from tametail.privacy.budget import Noise, noise_for
from tametail.queries.column import SOFT_ONE
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.methods.winsorised.column import ColumnPlan as Plan
    from tametail.privacy.budget import Budget


#: What a caller may say that helps, and in which argument.
_KNOWLEDGE = {
    "within=": "a range for the mean (within=)",
    "tail=": "a tail assumption (tail=)",
}


#: Advice to take more times as many records than this helps nobody.
_MOST_FACTOR = 100

_MAY_FAIL = (
    "With few records, locating the data may fail. Pass an estimate of n= to see the probability."
)


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


def cautious_half_width(plan: Plan, confidence: float) -> float | None:
    """Predict the half-width of an interval for the winsorised mean that inequalities bound.

    For the reference law, in its standard deviations: the interval of small groups and of persons.
    """
    if plan.n is None:
        return None
    n, risk = _size(plan), split_risk(1 - confidence, sampled=plan.target == "population")
    spread = plan.cost("spread") if plan.has("spread") else plan.budget.share(tuned.MOST_SPREAD)

    def half(setting: Setting) -> float:
        noise = _noise(plan, setting)
        if plan.target == "data":
            return setting.bias + continuous_quantile(noise, risk.noise / 2)
        square = setting.side**2 * math.log(4 / risk.spread) / (n * spread.strength)
        bound = second_moment_bound(setting.deviation**2 + square, setting.side, n, risk.spread)
        deviation = mean_deviation(math.sqrt(bound), setting.side, n, risk.sampling / 2, noise)
        return setting.bias + deviation

    return min(map(half, _reference()))


def advise(plan: Plan) -> tuple[Note, ...]:
    """Say what a release would carry for a note, and what public numbers cannot foresee.

    If n is unknown, how many records would be few. If n is known, how many must differ from a
    value that nearly all share, so that they stand out of the noise on the octave counts.
    """
    if plan.n is None:
        return _if_few(plan)
    least, said = _least_seen(plan, plan.cost("tail")), foresee(plan)
    if plan.tail is None and least > tuned.HIDDEN_SHARE * plan.n:
        part = float(f"{min(100 * least / max(plan.n, 1), 100.0):.2g}")
        text = (
            "If most values are identical (for example 0), the other values affect the result only "
            f"if they make up at least about {part:.3g}% of the records. Otherwise the result is "
            "the common value."
        )
        said = (*said, hint(text))
    return said


def _if_few(plan: Plan) -> tuple[Note, ...]:
    """Say what few records would lead to, if nobody knows how many there are.

    Between bounds nothing: few records are clamped to them. By a scale few are found, or not.
    """
    if isinstance(plan.tail, Bounded):
        return ()
    if isinstance(plan.tail, Moment):
        return (hint(_MAY_FAIL),)
    few = tuned.FEASIBLE / plan.budget.strength
    *others, last = "A larger epsilon", *untold(plan)
    help_ = f"{', '.join(others)} or {last} help." if others else f"{last} helps."
    text = (
        f"With fewer than about {_rounded(few):,} records this budget is too small for an accurate "
        "mean."
    )
    return (hint(f"{text} {help_}"),)


def _rounded(number: float) -> int:
    """Round to three digits.

    >>> _rounded(5_076.1), _rounded(12.3)
    (5080, 12)
    """
    return round(float(f"{number:.3g}"))


def untold(plan: Plan) -> tuple[str, ...]:
    """Return the arguments that would help, and were not given."""
    told = {
        "within=": any(map(math.isfinite, plan.within)) or isinstance(plan.tail, Bounded),
        "tail=": plan.tail is not None or plan.half is not None,
    }
    return tuple(name for name in _KNOWLEDGE if not told[name])


def shows_nothing(plan: Plan, cost: Budget, *, together: bool) -> bool:
    """Say whether usual records would not stand out of the noise on octave counts of this cost.

    Around a median nearly all of them lie in a window, half on either side. Both sides count
    ``together`` where the method looks at them so.
    """
    part = tuned.IN_A_WINDOW * (1.0 if together else 0.5)
    return part * _size(plan) < _least_seen(plan, cost, together=together)


def half_of_the_possible(plan: Plan) -> float:
    """Return the half-width of the interval of a release that saw nothing: all that may be."""
    low, high = plan.possible
    return high / 2 - low / 2


def _least_seen(plan: Plan, cost: Budget, *, together: bool = False) -> float:
    """Return how many records stand out, on one side or on both sides ``together``."""
    noise = noise_of_counts(plan, cost)
    if noise.kind == "laplace":
        scales = tuned.THRESHOLD + tuned.TOGETHER * together
    else:
        scales = tuned.GAUSSIAN_THRESHOLD + tuned.GAUSSIAN_TOGETHER * together
    return scales * math.sqrt(noise.variance / 2) / SOFT_ONE


def lost_note(chance: float) -> tuple[Note, ...]:
    """Say how likely a lost centre is, if it is likely."""
    if chance < tuned.SELDOM:
        return ()
    likely = f"with probability up to {chance:.0%}" if chance < 0.5 else ("with high probability")
    text = (
        f"Locating the data fails {likely}, and then the error is large. Use more records, a "
        "larger epsilon, or a narrower within=."
    )
    return (few_records(text),)


def foresee(plan: Plan, *, columns: int = 1) -> tuple[Note, ...]:
    """Say what would help, if trouble is expected; of one of several columns."""
    if plan.n is not None and isinstance(plan.tail, Moment):
        return lost_note(where.lost_chance(plan))
    if plan.n is None or plan.n * plan.budget.strength >= tuned.FEASIBLE:
        return ()
    factor = max(tuned.FEASIBLE / max(plan.n * plan.budget.strength, 1e-9), 1.1)
    more = "far more records or a far larger epsilon"
    if factor <= _MOST_FACTOR:
        more = f"about {factor:.2g} times as many records or {factor:.2g} times the epsilon"
    each = f" for each of {columns} columns" if columns > 1 else ""
    found = [
        few_records(
            f"Too few records for this budget: n x epsilon{each} is below {tuned.FEASIBLE:g}, so "
            f"the error may be large. You need {more}."
        )
    ]
    if "within=" in (missing := untold(plan)):
        words = " or ".join(_KNOWLEDGE[name] for name in missing)
        found.append(hint(f"{HELPS}state {words}."))
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


def _reference() -> Iterable[Setting]:
    """Yield clip points for the lognormal law around its median 1, in standard deviations."""
    mean = math.exp(0.5)
    for step in range(36):
        end = 1 + math.exp(step / 3)
        excess = lognormal_excess(1.0, end)
        yield Setting(
            end / REFERENCE_SD, (end - mean + excess) / REFERENCE_SD, excess / REFERENCE_SD, 1.0
        )
