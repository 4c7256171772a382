"""Columns apart: a winsorized mean of every column, each with its part of the budget.

The cost of a step is what it costs in all columns together; each column may spend 1/d of it. All
columns hold parts of the same records, so what is spent on them adds up. The intervals hold
together: each has 1/d of the risk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tametail.means import Estimate
from tametail.methods.winsorized.column import ColumnPlan, all_but_rounding
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.plans import COUNT, PricedRequest, Step
from tametail.privacy.budget import Budget

if TYPE_CHECKING:
    from tametail.ask import Ask


def columns_apart(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: the columns one after the other."""
    return tuple(
        winsorized_mean(part, ask.on(ask.relation.column(index), part.spending))
        for index, part in enumerate(column_plans(plan))
    )


def own_plans(plan: PricedRequest) -> tuple[ColumnPlan, ...]:
    """Return the plan of every column; a single one may spend all."""
    return (ColumnPlan.of(plan),) if plan.dim == 1 else column_plans(plan)


def own_asks(plan: PricedRequest, ask: Ask) -> Iterator[tuple[ColumnPlan, Ask]]:
    """Yield the plan of every column, and who may be asked about it."""
    for index, part in enumerate(own_plans(plan)):
        narrowed = plan.dim > 1
        yield part, ask.on(ask.relation.column(index), part.spending) if narrowed else ask


def column_plans(plan: PricedRequest) -> tuple[ColumnPlan, ...]:
    """Return the plan of every column."""
    dim = plan.dim
    risk = None if plan.confidence is None else (1 - plan.confidence) / dim
    costs = {step.name: divided(step.cost, dim) for step in plan.steps if step.name != COUNT}
    budgets = divided(plan.left, dim)
    return tuple(
        ColumnPlan(
            unit=plan.unit,
            n=plan.n,
            tail=column.tail,
            within=column.within,
            possible=column.possible,
            missing=plan.missing,
            confidence=None if risk is None else 1 - risk,
            target=plan.target,
            budget=budgets[index],
            steps=tuple(Step(name, cost[index]) for name, cost in costs.items()),
            half=column.half,
        )
        for index, column in enumerate(plan.request.columns)
    )


def divided(cost: Budget, dim: int) -> tuple[Budget, ...]:
    """Divide a cost evenly; the exact sum of the parts never exceeds it.

    >>> from tametail.privacy.budget import pure
    >>> round(divided(pure(1.0), 4)[0].epsilon, 9)
    0.25
    """
    return all_but_rounding(cost).split(*[1 / dim] * dim)
