r"""Few records whose scale is known: find where they are, clamp them around there, ask for the sum.

The paper's way, at sizes where a look at their spread would show nothing.

**The interval** holds wherever the center is. Records with mean m and E\|X - m\|^k <= s^k, clipped
to [L, U], have the expectation m - E(X - U)+ + E(L - X)+, which is between m - s B((U - m)/s) and
m + s B((m - L)/s), where B bounds an excess (:mod:`tametail.inequalities.truncation`). Both ends
rise with m. The noisy mean of the clipped records is within e of its expectation but for the risk.
So m is above the least m with m + s B((m - L)/s) >= v - e and below the largest with
m - s B((U - m)/s) <= v + e. If v is within e of a clip point, then so would be that of any law
beyond it: there is no end on that side, and the records may lie elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from tametail import notes
from tametail.doubles import LARGEST
from tametail.inequalities.concentration import mean_deviation
from tametail.inequalities.truncation import worst_excess
from tametail.means import MEAN, Estimate, Interval
from tametail.methods.bounded.estimate import COUNT_RISK, clamped_sum, conclude, read_clamped
from tametail.methods.known_scale import location
from tametail.methods.known_scale.budget_split import side
from tametail.privacy.budget import Noise

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.methods.winsorized.column import ColumnPlan
    from tametail.methods.winsorized.sums import NoisySum
    from tametail.queries.column import ClippedSum

NAME = "clipped mean around the densest bin"

#: Halvings of the range in which an end of the interval is looked for.
_HALVINGS = 60

#: Without an interval, how sure it must be that the records are not elsewhere.
_USUAL = 0.95


def known_scale_mean(plan: ColumnPlan, ask: Ask) -> Estimate:
    """Ask where the records are, and for their clamped sum."""
    buckets = location.densest_bin_query(plan)
    center = location.middle(buckets, ask(buckets, plan.cost("center")))
    query = sum_around(plan, center)
    total = read_clamped(plan, query, ask(query, plan.cost("sum")))
    around = lru_cache(partial(_interval, plan, total))
    found, interval = conclude(plan, total, around), around(plan.confidence or _USUAL)
    if math.isfinite(interval.low) and math.isfinite(interval.high):
        return found
    return replace(found, notes=(*found.notes, notes.LOST))


def sum_around(plan: ColumnPlan, center: float) -> ClippedSum:
    """Return the sum of the records, clamped around a center, and a weighted count."""
    low, high = plan.possible
    center = min(max(center, low), high)
    reach = max(side(plan), 4 * math.ulp(center))  # else both ends may be the center
    off_center = min(location.scale_of(plan).scale / reach, 1.0)
    return clamped_sum(
        plan, max(center - reach, -LARGEST), min(center + reach, LARGEST), off_center
    )


def _interval(plan: ColumnPlan, total: NoisySum, confidence: float) -> Interval:
    risk = 1 - confidence
    miscounted, fewest = total.count_bound(COUNT_RISK * risk)
    if total.count_weight:
        risk *= 1 - COUNT_RISK
    tail, (low, high) = location.scale_of(plan), total.ends
    deviation = tail.scale * ((high - low) / tail.scale) ** max(1 - tail.k / 2, 0.0)
    scale = total.lattice.value(total.noise.scale) / fewest
    noise = Noise(total.noise.kind, scale)
    together = mean_deviation(deviation, high - low, fewest, risk / 2, noise)
    margin = together + total.lattice.tick / fewest + miscounted + total.rounding
    above = _last_above(tail.k, tail.scale, total.mean - low, margin)
    below = _last_above(tail.k, tail.scale, high - total.mean, margin)
    sampling = min(mean_deviation(deviation, high - low, fewest, risk / 2), together)
    truncation = max(above, below) - margin
    parts = {
        "privacy": total.privacy(risk) if math.isfinite(miscounted) else None,
        "sampling": sampling,
        "clipping": truncation if math.isfinite(truncation) else None,
        "rounding": total.rounding,
    }
    return Interval(total.mean - above, total.mean + below, *MEAN, False, parts, confidence)


def _last_above(k: float, scale: float, room: float, margin: float) -> float:
    """Return how far the mean may lie beyond v: towards a clip point that is ``room`` away from v.

    The largest d with d - s B((room - d)/s) <= margin; infinite if v is within the margin of it.
    """
    if room <= margin:
        return math.inf
    least, most = 0.0, room + margin + scale
    while most - scale * worst_excess(k, (room - most) / scale) <= margin:
        most *= 2
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        fits = middle - scale * worst_excess(k, (room - middle) / scale) <= margin
        least, most = (middle, most) if fits else (least, middle)
    return most
