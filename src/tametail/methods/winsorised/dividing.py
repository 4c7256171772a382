"""How a column's budget is divided between its steps, by public numbers and a private count."""

from __future__ import annotations

from dataclasses import replace

from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised import where
from tametail.methods.winsorised.column import ColumnPlan
from tametail.methods.winsorised.shares import is_hopeless, shares, spread_share
from tametail.plans import REST, Step
from tametail.privacy.budget import Budget
from tametail.tail import Bounded, Moment


def divide(plan: ColumnPlan, *, spread: bool = True) -> tuple[Step, ...]:
    """Divide the plan's budget between the steps, so that the predicted error is small.

    Without ``spread`` there is no step for a second moment, even if an interval needs it.
    If the records are bounded, a sum of all of them would have done. So that no more is lost
    against that than there is to be gained, the counts by octaves must not cost too much.
    """
    budget, n = plan.budget, max(plan.n or 1, 1)
    parts = shares(budget, plan.unit, n)
    if (ranged := where.parts(replace(plan, steps=()), parts["centre"])) is not None:
        left = (1 - sum(ranged)) / (1 - parts["centre"])
        parts = {name: left * share for name, share in parts.items()} | {"centre": sum(ranged)}
    squares = spread_share(budget, n) if spread and plan.needs_spread else 0.0
    parts = {name: share * (1 - squares) for name, share in parts.items()}
    missing = tuned.BOUNDED_SUM - squares - parts["sum"]
    if isinstance(plan.tail, Bounded) and missing > 0:
        taken = min(missing, (1 - tuned.BOUNDED_TAIL) * parts["tail"])
        parts |= {"tail": parts["tail"] - taken, "sum": parts["sum"] + taken}
    if squares:
        parts["spread"] = squares
    costs = budget.split(*parts.values())
    return tuple(Step(name, cost) for name, cost in zip(parts, costs, strict=True))


def with_count(plan: ColumnPlan, noisy_count: int) -> ColumnPlan:
    """Return the plan for the other steps, once the private count is known.

    If their bounds or scale are told and they are too few to look at, what is left is for a
    method that does not look: one step.
    """
    left, n = plan.cost(REST), max(noisy_count, 1)
    told = replace(plan, n=n, budget=left)
    steps = (Step("sum", left),) if is_in_vain(plan, left, n) else divide(told)
    return replace(told, steps=steps)


def is_in_vain(plan: ColumnPlan, budget: Budget, n: int) -> bool:
    """Say whether a look at the spread would show next to nothing, and what is told says enough."""
    if isinstance(plan.tail, Bounded):
        return is_hopeless(budget, plan.unit, n, tuned.WORTH_A_LOOK)
    known = isinstance(plan.tail, Moment) and plan.target == "population"
    return known and is_hopeless(budget, plan.unit, n, tuned.WORTH_A_LOOK_BY_SCALE)
