"""Columns apart: a winsorized mean of every column, each with its part of the budget.

The cost of a step is what it costs in all columns together; each column may spend 1/d of it. All
columns hold parts of the same records, so what is spent on them adds up. The intervals hold
together: each has 1/d of the risk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tametail.means import Estimate
from tametail.methods.winsorized.column import ColumnPlan, column_plans, own_plans
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.plans import PricedRequest

if TYPE_CHECKING:
    from tametail.ask import Ask


def separate_means(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: the columns one after the other."""
    return tuple(
        winsorized_mean(part, ask.on(ask.relation.column(index), part.spending))
        for index, part in enumerate(column_plans(plan))
    )


def own_asks(plan: PricedRequest, ask: Ask) -> Iterator[tuple[ColumnPlan, Ask]]:
    """Yield the plan of every column, and who may be asked about it."""
    for index, part in enumerate(own_plans(plan)):
        narrowed = plan.n_columns > 1
        yield part, ask.on(ask.relation.column(index), part.spending) if narrowed else ask
