"""Means by group: the pool shows the shape, each group its count and its clipped sum.

1. *pool*: count, private median and octave counts of all records;
2. *cells*: in every group, how many records lie between certain quantiles of the pool; their sum
   is the group's count, and they tell what the group is like;
3. *groups*: a group with enough records is estimated alone. Any other is clipped around its likely
   mean at the distance that balances noise against the likely excess, and its sum is asked; all
   of these sums are one question.

Which way a group goes follows from its noisy count. A group is never left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tametail.keys import Key
from tametail.means import CellCounts, Estimate
from tametail.methods.cells import count_margin, read_cells
from tametail.methods.groups import constants as tuned
from tametail.methods.groups.keys import asked, chosen_keys
from tametail.methods.groups.plan import group_plan, group_plans, pool_plan, steps
from tametail.methods.groups.shape import Shape
from tametail.methods.groups.shrink import shrunk
from tametail.methods.groups.small import SmallGroups, ask_each
from tametail.methods.winsorized.budget_split import sample_halvings
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.methods.winsorized.tail_histogram import TailHistogram, histogram_query
from tametail.plans import COUNT, PricedRequest
from tametail.queries.column import Count, Median
from tametail.queries.groups import Cells
from tametail.queries.rows import Rows

if TYPE_CHECKING:
    from tametail.ask import Ask


def means_by_group(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: choose keys if they are private, then estimate column by column."""
    groups, keys = chosen_keys(plan, ask)
    if not keys:
        return ()
    if plan.has(COUNT):
        count, *_ = groups(Rows(), plan.cost(COUNT))
        plan = plan.recounted(count, steps)
    columns = []
    for place, part in enumerate(group_plans(plan, len(keys))):
        about = groups
        if plan.n_columns > 1:
            about = groups.on(groups.relation.column(place), part.budget)
        columns.append(_column(part, about, keys, asked(plan.request).pooling))
    return tuple(row for rows in zip(*columns, strict=True) for row in rows)


def _column(part: ColumnPlan, ask: Ask, keys: Sequence[Key], borrow: str | None) -> list[Estimate]:
    """Return the estimates of one column, in the order of the keys."""
    if borrow is None:
        return _each_alone(part, ask, keys)
    found = _pooled(part, ask, len(keys), shrinks=borrow == "mean")
    if borrow == "mean":
        found = shrunk(found)
    return [replace(one, group=key.label) for one, key in zip(found, keys, strict=True)]


def _each_alone(part: ColumnPlan, ask: Ask, keys: Sequence[Key]) -> list[Estimate]:
    cost = part.cost("groups")
    asks = ask.disjoint([ask.relation.of([place]) for place in range(len(keys))], cost)
    plan = group_plan(part, None, cost)

    def estimate(place: int, about: Ask) -> Estimate:
        return replace(winsorized_mean(plan, about), group=keys[place].label)

    return ask.for_each(asks, estimate)


def _pooled(part: ColumnPlan, ask: Ask, groups: int, *, shrinks: bool) -> list[Estimate]:
    """Ask for the pool, for the cells of every group, and then for the groups themselves."""
    shape, used = ask_pool(part, ask)
    small = ask_cells(part, ask, shape, groups)
    found = _large_and_small(part, ask, replace(small, shrinks=shrinks))
    return [replace(one, cells=used) for one in found]


def ask_pool(part: ColumnPlan, ask: Ask) -> tuple[Shape, CellCounts | None]:
    """Ask how all records together lie, and how many cells are numbers."""
    counts = ask(Count(), part.cost("total"))
    size, used = max(counts[0], 1), read_cells(counts, part.cost("total"), part.adjacency)
    doubt = count_margin(part.cost("total"), part.adjacency)
    times = sample_halvings(size, counts[0], doubt)
    center = ask(Median(times, *part.possible), part.cost("center"))
    plan = pool_plan(part, size, part.cost("tail"))
    nodes, cost = histogram_query(plan, center), part.cost("tail")
    return Shape.read(center, TailHistogram.read(plan, nodes, ask(nodes, cost), cost), size), used


def ask_cells(part: ColumnPlan, ask: Ask, shape: Shape, groups: int) -> SmallGroups:
    """Ask how many records of each group lie between quantiles of the pool."""
    queries = [Cells(tuple((shape.center + shape.cuts).tolist()))] * groups
    answers = ask_each(ask, queries, part.cost("cells"))
    cells = np.array(answers, dtype=np.float64).reshape(groups, -1)
    return SmallGroups(part, shape, shape.cuts, cells)


def _large_and_small(part: ColumnPlan, ask: Ask, all_groups: SmallGroups) -> list[Estimate]:
    """Ask large groups one by one and all others at once: they are disjoint."""
    cost, counts = part.cost("groups"), all_groups.counts
    is_large = counts * cost.strength >= tuned.ALONE
    large, small = np.flatnonzero(is_large).tolist(), np.flatnonzero(~is_large).tolist()
    sets = [*([place] for place in large), *([small] if small else [])]
    asks = ask.disjoint([ask.relation.of(places) for places in sets], cost)

    def estimate(index: int, about: Ask) -> Estimate:
        place = large[index]
        one = winsorized_mean(group_plan(part, int(counts[place]), cost), about)
        return replace(one, count=float(counts[place]))

    found = dict(zip(large, ask.for_each(asks[: len(large)], estimate), strict=True))
    if small:
        found |= zip(small, all_groups.estimate(small, asks[-1]), strict=True)
    return [found[place] for place in range(len(counts))]
