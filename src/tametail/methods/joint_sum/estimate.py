"""One sum for several columns that were looked at one by one.

1. *center*, *tail*: every column for itself, as if it were apart: a median, counts by octaves, and
   clip points from them;
2. *radius*, with a part of what is left for the sum: how long rows are, if every cell is clipped
   there and weighed. Columns apart pay for a row that lies at a clip point of every column, and
   hardly any row does;
3. *sum*: if rows are clearly shorter than that, one sum of all columns, with noise for the radius.
   Longer rows are shrunk. If they are not, a sum for every column, as if it were apart.

A column of which nothing is seen does not take part, and asks what it asks apart.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.errors import InternalError
from tametail.methods.by_column import own_asks
from tametail.methods.joint_sum.pool import CLOSEST, FARTHEST, LEAST_COLUMNS, Pool, radius_share
from tametail.methods.winsorized.column import all_but_rounding, together
from tametail.methods.winsorized.estimate import SpreadEstimate, estimate_spread
from tametail.privacy.budget import Budget

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate
    from tametail.methods.winsorized.column import ColumnPlan
    from tametail.methods.winsorized.sums import NoisySum
    from tametail.plans import PricedRequest


def joint_sum_means(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: look at the columns one after the other, then ask for one sum."""
    asks = list(own_asks(plan, ask))
    looks = [_looked(part, about) for part, about in asks]
    totals: dict[int, NoisySum] = {}
    seen = [index for index, one in enumerate(looks) if CLOSEST < one.clip.side < FARTHEST]
    if len(seen) >= LEAST_COLUMNS:
        radius, left = _divided([looks[index].rest.cost("sum") for index in seen])
        for index, cost in zip(seen, left, strict=True):
            looks[index] = replace(looks[index], rest=looks[index].rest.with_costs(sum=cost))
        pool = Pool.of({index: looks[index] for index in seen}, plan.n_columns, _together(left))
        (level,) = ask(pool.level_query(radius), radius)
        query = pool.sum_query(level)
        if pool.pays(query):
            totals = pool.read(query, ask(query, pool.cost), radius)
    return tuple(
        one.conclude(totals[index], one.clip, one.tails, math.inf)
        if index in totals
        else one.finish(asks[index][1])
        for index, one in enumerate(looks)
    )


def _looked(part: ColumnPlan, ask: Ask) -> SpreadEstimate:
    """Look at a column: it is not told anything, so that a look is always worth it."""
    found = estimate_spread(part, ask)
    if not isinstance(found, SpreadEstimate):
        raise InternalError("a column was not looked at")
    return found


def _divided(costs: list[Budget]) -> tuple[Budget, list[Budget]]:
    """Return what the radius may cost, and what that leaves for the sum of each column."""
    share = radius_share(len(costs))
    split = [all_but_rounding(cost).split(share, 1 - share) for cost in costs]
    return _together([part for part, _ in split]), [left for _, left in split]


def _together(costs: list[Budget]) -> Budget:
    """Return what one question may cost in place of one for every column."""
    return all_but_rounding(together(costs))
