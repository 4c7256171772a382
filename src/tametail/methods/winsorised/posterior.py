"""An interval for the mean, if the tail goes on as seen.

What lies beyond the clip points is not seen. The curves of ``curves`` say what it may be: power
laws, lognormal and exponential tails and sudden ends, each weighed by how well it explains the
noisy counts. The low end supposes that the tail above stops at the clip point; the high end takes
noise, sampling and what the weighed curves have beyond it together. The side below is a mirror
image. Nothing is proved, and a single record far beyond all others escapes every such interval.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tametail.inequalities.quantiles import spread_quantiles
from tametail.means import MEAN_AS_SEEN, Interval
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.calibrated import Error, parts
from tametail.methods.winsorised.clip import caps, fit_side
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.methods.winsorised.clip_points import Clip
    from tametail.methods.winsorised.column import ColumnPlan as Plan
    from tametail.methods.winsorised.counts import Array, Tails
    from tametail.methods.winsorised.sums import Sum


def as_seen(
    plan: Plan, value: float, clip: Clip, tails: Tails, total: Sum, error: Error
) -> Interval:
    """Return the interval for the mean, if the tail goes on as seen; it holds ``value``."""
    risk = 1 - (plan.confidence or 0.0)
    below, above = (points / total.count for points in sums_beyond(plan, clip, tails))
    sides = error.side(risk / 2, -1, below), error.side(risk / 2, 1, above)
    changed = error.beyond(_differences(below, above, value - total.mean))
    down, up, privacy = spread_quantiles([*sides, changed], risk / 2)
    # In squares: that shrinking rows took off all it may, and that noise and sampling are at their
    # ends on the same side, is rarer than either (docs/decisions/0222 has the coverage).
    down, up, privacy = (math.hypot(end, total.pulled) for end in (down, up, privacy))
    low = min(total.mean - down - error.rounding, value)
    high = max(total.mean + up + error.rounding, value)
    truncation = max(_quantile(points, 1 - risk / 2) for points in (below, above))
    truncation = math.hypot(truncation, total.pulled)
    found = parts(error, risk, truncation=truncation, privacy=privacy)
    return Interval(low, high, MEAN_AS_SEEN, proved=False, parts=found)


def privacy(plan: Plan, value: float, clip: Clip, tails: Tails, total: Sum) -> float:
    """Return what privacy changed: the value may be so far from the mean of the same records.

    That is noise on sum and count, and what the private clip points took away, less what was added
    back: by the curves where records are seen, else by noise alone.
    """
    risk = 1 - (plan.confidence or 0.0)
    if not clip.sees:
        return total.privacy(risk)
    below, above = (points / total.count for points in sums_beyond(plan, clip, tails))
    shifts = _differences(below, above, value - total.mean)
    changed = Error.of(plan, clip, tails, total).beyond(shifts)
    return spread_quantiles([changed], risk / 2)[0]


def _differences(below: Array, above: Array, added: float) -> Array:
    """Return equally likely distances of the mean of the records from the value, noise apart."""
    found: Array = np.sort((above[:, None] - below[None, :]).ravel()) - added
    step = max(len(found) // tuned.POINTS, 1)
    return found[step // 2 :: step]


def sums_beyond(plan: Plan, clip: Clip, tails: Tails) -> list[Array]:
    """Return equally likely sums of what lies beyond the clip point of either side."""
    found = []
    ends, limits = (clip.below, clip.above), caps(plan, clip.centre)
    for counts, anchor, end, limit in zip(tails.sides, clip.anchors, ends, limits, strict=True):
        if anchor is None:
            found.append(np.zeros(1))
            continue
        unit = float(tails.distances[anchor])
        fit = fit_side(plan, tails, counts, anchor)
        excess, weight = fit.beyond(end / unit)
        if isinstance(plan.tail, Bounded) or (plan.half and math.isfinite(limit)):
            # Nothing lies beyond the bound.
            excess = excess - fit.beyond(max(limit, end) / unit)[0]
        found.append(unit * _evenly(excess, weight))
    return found


def _quantile(ascending: Array, level: float) -> float:
    """Return what ``numpy.quantile`` does of points that are in order, in less time."""
    places = np.arange(len(ascending))
    return float(np.interp(level * places[-1], places, ascending))


def _evenly(values: Array, weights: Array) -> Array:
    """Return equally likely points of a weighed law."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    levels = (np.arange(tuned.POINTS) + 0.5) / tuned.POINTS * reached[-1]
    points: Array = values[order][np.minimum(np.searchsorted(reached, levels), len(values) - 1)]
    return points
