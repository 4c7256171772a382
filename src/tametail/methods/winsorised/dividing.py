"""How a column's budget is divided between its steps, by public numbers and a private count."""

from __future__ import annotations

from dataclasses import replace

from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised import where
from tametail.methods.winsorised.column import ColumnPlan
from tametail.methods.winsorised.shares import is_hopeless, share_of_nats, shares, spread_share
from tametail.plans import REST, Step
from tametail.privacy.budget import Budget
from tametail.tail import Bounded, Moment


def divide(plan: ColumnPlan, *, spread: bool = True) -> tuple[Step, ...]:
    """Divide the plan's budget between the steps, so that the predicted error is small.

    Without ``spread`` there is no step for a second moment, even if an interval needs it.
    """
    budget, n = plan.budget, max(plan.n or 1, 1)
    parts = shares(budget, plan.unit, n)
    if (ranged := where.parts(replace(plan, steps=()), parts["centre"])) is not None:
        left = (1 - sum(ranged)) / (1 - parts["centre"])
        parts = {name: left * share for name, share in parts.items()} | {"centre": sum(ranged)}
    squares = spread_share(budget, n) if spread and plan.needs_spread else 0.0
    parts = {name: share * (1 - squares) for name, share in parts.items()}
    if isinstance(plan.tail, Bounded):
        parts = _between_bounds(plan, parts, squares)
    if squares:
        parts["spread"] = squares
    costs = budget.split(*parts.values())
    return tuple(Step(name, cost) for name, cost in zip(parts, costs, strict=True))


def _between_bounds(plan: ColumnPlan, parts: dict[str, float], squares: float) -> dict[str, float]:
    """Move shares of centre and tail to the sum, if the records are bounded.

    A sum of all of them would have done. So that no more is lost against that than there is to be
    gained, the steps before the sum must not cost too much. What the centre has beyond what it
    needs between bounds is for the tail, which then pays what the sum is short of.
    """
    enough = share_of_nats(tuned.BOUNDED_NATS, plan.budget, plan.unit, max(plan.n or 1, 1))
    centre = min(parts["centre"], max(enough, tuned.LEAST_CENTRE))
    tail = parts["tail"] + parts["centre"] - centre
    missing = max(tuned.BOUNDED_SUM - squares - parts["sum"], 0.0)
    taken = min(missing, (1 - tuned.BOUNDED_TAIL) * tail)
    return {"centre": centre, "tail": tail - taken, "sum": parts["sum"] + taken}


def is_cut_short(plan: ColumnPlan) -> bool:
    """Say whether far less than usual is spent on the tail, since the records are bounded."""
    if not isinstance(plan.tail, Bounded):
        return False
    usual = shares(plan.budget, plan.unit, max(plan.n or 1, 1))["tail"]
    return plan.cost("tail").strength < tuned.CUT_SHORT * plan.budget.share(usual).strength


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
