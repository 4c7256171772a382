r"""The bounded mean: clip the records to their bounds, and ask for one noisy sum.

The interval needs no other question. With noise, and a count that may be noisy, bounded as in
:mod:`tametail.methods.winsorized.sums`, and records in [A, B], whose variance is at most
(B - mu)(mu - A) (Bhatia and Davis 2000),

    \|v - mu\| <= h(mu) = mean_deviation(sqrt((B - mu)(mu - A)), B - A, n, noise) + miscount

with probability ``confidence``. So mu is among the m with \|v - m\| <= h(m), and an interval that
holds it becomes a narrower one that does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tametail import notes
from tametail.errors import InternalError
from tametail.inequalities.concentration import mean_deviation
from tametail.means import MEAN, Estimate, Interval, cut
from tametail.methods.cells import UNUSUAL
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.sums import NoisySum, read_count
from tametail.privacy.budget import Noise, Zcdp, noise_for
from tametail.queries.column import ClippedSum, ClippingGrid
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.ask import Ask

NAME = "bounded mean"

#: The part of the risk that noise on the count may have, if there is any.
COUNT_RISK = 0.1

#: How far from the middle the mean is expected, as a part of half of the width: it decides how
#: much of the noise the count gets, under add-remove (decision 0118 has the curve).
OFF_CENTER = 0.65

#: Under add-remove ticks are as fine as for this n epsilon, since a count may be far too low.
FINE_FOR = 1000.0

#: How often an interval and the variance that it allows improve each other.
ROUNDS = 8


def bounded_mean(plan: ColumnPlan, ask: Ask) -> Estimate:
    """Ask for the clamped sum, and divide it by the number of records."""
    bounds, cost = bounds_of(plan), plan.cost("sum")
    query = clamped_sum(plan, bounds.low, bounds.high)
    total = read_clamped(plan, query, ask(query, cost))
    return conclude(plan, total, partial(_interval, plan, total))


def conclude(plan: ColumnPlan, total: NoisySum, around: Callable[[float], Interval]) -> Estimate:
    """Return the value where the mean can be, and its interval.

    ``around`` gives the interval of a confidence, before ``within`` cuts it. If even that of a
    confidence next to 1 does not hold the value, the records contradict ``within``.
    """
    low, high = plan.possible
    value = min(max(total.mean, low), high)
    moved = min(max(total.mean, plan.within[0]), plan.within[1]) != total.mean
    held = moved and not _holds(around(1 - tuned.RARE), value)
    intervals: tuple[Interval, ...] = ()
    if plan.confidence is not None:
        one = around(plan.confidence)
        one = replace(one, low=min(one.low, value), high=max(one.high, value))
        intervals = (one if held else cut(one, plan.possible),)
    said = (notes.CONTRADICTED if held else notes.CLAMPED,) if moved else ()
    return Estimate(
        value, intervals, total.ends, held or None, said,
        count=total.count, present=total.present(UNUSUAL),
    )  # fmt: skip


def _holds(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


def clamped_sum(
    plan: ColumnPlan, low: float, high: float, off_center: float = OFF_CENTER
) -> ClippedSum:
    """Return the sum of the distances from the middle of these bounds, and a weighted count.

    Under replace-one the count is free up to the weight of the thinner side; if no record is
    missing it is not needed. Under add-remove a count of weight w makes the noise on the quotient
    (side + w) sqrt(1 + (d/w)^2), in L2 accordingly, for a mean that is d from the middle;
    ``off_center`` is the expected d, as a part of the side.
    """
    side, strength, records = high / 2 - low / 2, plan.cost("sum").strength, float(plan.size)
    if not plan.adjacency.size_is_public:
        records = max(records, FINE_FOR / strength)
    lattice = ClippingGrid.below_noise(low + side, side, side, strength=strength, records=records)
    if plan.adjacency.size_is_public:
        thinner = min(lattice.high - lattice.center, lattice.center - lattice.low)
        return ClippedSum(lattice, 0 if plan.missing == "none" else thinner)
    concentrated = isinstance(plan.cost("sum"), Zcdp)
    part = math.sqrt(off_center) if concentrated else math.cbrt(off_center**2)
    return ClippedSum(lattice, max(round(part * lattice.side), 1))


def bounds_of(plan: ColumnPlan) -> Bounded:
    """Return the bounds of the records, which this method is for."""
    if not isinstance(plan.tail, Bounded):
        raise InternalError("The bounded mean needs bounds of the records.")
    return plan.tail


def read_clamped(plan: ColumnPlan, query: ClippedSum, answer: tuple[int, ...]) -> NoisySum:
    """Read the answer to :func:`clamped_sum`."""
    sensitivity, weight = query.sensitivity(plan.adjacency), query.count_weight
    noise = noise_for(plan.cost("sum"), sensitivity.l1, sensitivity.l2_squared)
    number, moved = float(plan.size), None
    if weight:
        number, moved = read_count(plan, answer[1], weight, noise)
    return NoisySum(0.0, query.lattice, float(answer[0]), number, weight, noise, moved=moved)


def _interval(plan: ColumnPlan, total: NoisySum, confidence: float) -> Interval:
    """Return the interval; all between the bounds, if the count may be noise alone."""
    bounds, risk = bounds_of(plan), 1 - confidence
    miscounted, fewest = total.count_bound(COUNT_RISK * risk)
    privacy = total.privacy(risk)
    if math.isinf(miscounted):
        parts = {"privacy": None, "sampling": None, "clipping": 0.0, "rounding": total.rounding}
        return Interval(bounds.low, bounds.high, *MEAN, True, parts, confidence)
    if total.count_weight:
        risk *= 1 - COUNT_RISK
    low, high = bounds.low, bounds.high
    for _ in range(ROUNDS):
        sampling, error = _errors(plan, (low, high), total, fewest, risk / 2)
        margin = error + miscounted + total.rounding
        low, high = max(low, total.mean - margin), min(high, total.mean + margin)
    sizes: dict[str, float | None] = {"privacy": privacy, "sampling": sampling, "clipping": 0.0}
    return Interval(low, high, *MEAN, True, sizes | {"rounding": total.rounding}, confidence)


def _errors(
    plan: ColumnPlan, where: tuple[float, float], total: NoisySum, fewest: float, risk: float
) -> tuple[float, float]:
    """Bound the sampling error alone, and together with the noise, if mu is in ``where``."""
    scale = total.lattice.value(total.noise.scale) / fewest
    tick = total.lattice.tick / fewest  # the law of the noise is discrete
    if plan.target == "data":
        return 0.0, total.lattice.value(total.noise.quantile(risk)) / fewest
    bounds, (low, high) = bounds_of(plan), where
    deviation = most_deviation(bounds, low, high)
    reach = max(bounds.high - low, high - bounds.low)
    noise = Noise(total.noise.kind, scale)
    together = mean_deviation(deviation, reach, fewest, risk, noise) + tick
    return min(mean_deviation(deviation, reach, fewest, risk), together), together


def most_deviation(bounds: Bounded, low: float, high: float) -> float:
    """Return the largest standard deviation of records in the bounds, with a mean in [low, high].

    It is sqrt((B - mu)(mu - A)), for a law on the two ends.

    >>> most_deviation(Bounded(0, 1), 0.0, 1.0), round(most_deviation(Bounded(0, 1), 0.0, 0.1), 3)
    (0.5, 0.3)
    """
    nearest = min(max(bounds.low / 2 + bounds.high / 2, low), high)
    return math.sqrt(max(bounds.high - nearest, 0.0) * max(nearest - bounds.low, 0.0))
