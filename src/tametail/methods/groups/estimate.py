"""Means by group: large ones alone, small ones clipped where the pool suggests.

1. *sizes*: how many records each group has. One with enough is estimated alone, at all that is
   left if there are no others;
2. *pool*: if there are, private median and octave counts of all records;
3. *groups*: in every small group, how many records lie between certain quantiles of the pool; their
   sum is the group's count, and they tell what the group is like. It is clipped around its likely
   mean at the distance that balances noise against the likely excess, and its sum is asked; all
   of these sums are one question.

Which way a group goes follows from its noisy size. A group is never left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tametail.keys import Key
from tametail.means import Estimate
from tametail.methods.cells import count_margin, read_cells
from tametail.methods.groups import constants as tuned
from tametail.methods.groups.keys import EMPTY, asked, chosen_keys
from tametail.methods.groups.plan import (
    cost_without_pool,
    group_plan,
    group_plans,
    plan_of_small,
    pool_plan,
    steps,
)
from tametail.methods.groups.shape import Shape
from tametail.methods.groups.shrink import shrunk
from tametail.methods.groups.small import SmallGroups, ask_each
from tametail.methods.winsorized.budget_split import sample_halvings
from tametail.methods.winsorized.column import ColumnPlan, deviation
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.methods.winsorized.tail_histogram import TailHistogram, histogram_query
from tametail.plans import COUNT, PricedRequest
from tametail.privacy.budget import noise_for
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
    noise = noise_for(plan.cost(COUNT), 1, 1).quantile(tuned.UNSEEN_RISK)

    def estimate(place: int, about: Ask) -> Estimate:
        one = winsorized_mean(plan, about)
        shows_nothing = any(note.code == EMPTY.code for note in one.notes)
        if shows_nothing and (one.count or 0.0) <= noise:
            one = replace(one, notes=(EMPTY,))
        return replace(one, group=keys[place].label)

    return ask.for_each(asks, estimate)


def _pooled(part: ColumnPlan, ask: Ask, groups: int, *, shrinks: bool) -> list[Estimate]:
    """Ask how large groups are, then large ones one by one and others together: all disjoint.

    Large groups have no use for what the pool shows. If there are no others it is not asked, and
    each spends all that is left.
    """
    counts = ask(Count(), part.cost("total"))
    used = read_cells(counts, part.cost("total"), part.adjacency)
    one_cell = [Cells(())] * groups
    sizes = np.array(ask_each(ask, one_cell, part.cost("sizes")), dtype=np.float64).ravel()
    is_large = sizes * part.cost("groups").strength >= tuned.ALONE
    large, small = np.flatnonzero(is_large).tolist(), np.flatnonzero(~is_large).tolist()
    cost = part.cost("groups") if small else cost_without_pool(part)
    shape = ask_pool(part, ask, counts) if small else None
    sets = [*([place] for place in large), *([small] if small else [])]
    asks = ask.disjoint([ask.relation.of(places) for places in sets], cost)

    def estimate(index: int, about: Ask) -> Estimate:
        size = float(sizes[large[index]])
        return replace(winsorized_mean(group_plan(part, int(size), cost), about), count=size)

    found = dict(zip(large, ask.for_each(asks[: len(large)], estimate), strict=True))
    if shape is not None:
        rest = replace(ask_cells(part, asks[-1], shape, len(small)), shrinks=shrinks)
        found |= zip(small, rest.estimate(asks[-1]), strict=True)
    return [replace(found[place], cells=used) for place in range(groups)]


def ask_pool(part: ColumnPlan, ask: Ask, counts: tuple[int, ...]) -> Shape:
    """Ask how all records together lie, of which there are so many."""
    size, doubt = max(counts[0], 1), count_margin(part.cost("total"), part.adjacency)
    times = sample_halvings(size, counts[0], doubt)
    center = ask(Median(times, *part.possible), part.cost("center"))
    plan = pool_plan(part, size, part.cost("tail"))
    nodes, cost = histogram_query(plan, center), part.cost("tail")
    tails = TailHistogram.read(plan, nodes, ask(nodes, cost), cost)
    return Shape.read(center, tails, size, deviation(plan.budget))


def ask_cells(part: ColumnPlan, ask: Ask, shape: Shape, groups: int) -> SmallGroups:
    """Ask how many records of each small group lie between quantiles of the pool."""
    part = plan_of_small(part)
    queries = [Cells(tuple((shape.center + shape.cuts).tolist()))] * groups
    answers = ask_each(ask, queries, part.cost("cells"))
    cells = np.array(answers, dtype=np.float64).reshape(groups, -1)
    return SmallGroups(part, shape, shape.cuts, cells)
