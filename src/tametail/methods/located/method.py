"""The mean of few records of known scale as a method: its steps, predictions and words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from tametail.methods.apart.estimate import column_plans
from tametail.methods.located import predict, shares
from tametail.methods.located.estimate import NAME, located_mean
from tametail.methods.winsorised.column import (
    ColumnPlan,
    are_moments,
    told_parts,
    working,
)
from tametail.methods.winsorised.dividing import is_in_vain
from tametail.plans import Plan, Step
from tametail.privacy.budget import Budget, Zcdp
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate
    from tametail.notes import Note


class Located:
    """Records of known scale, too few to look at their spread: find them, clamp, add up."""

    name = NAME
    purposes: ClassVar = {
        "count": "roughly how many records there are",
        "centre": "where most records are, among buckets of about their scale",
        "sum": "sum and count of the records, clamped around there",
        "rest": "the other steps; their shares follow from the count",
    }

    def suits(self, request: Request, n: int, budget: Budget) -> bool:
        """Say whether all scales are known, and a look at the spread would be in vain."""
        if request.dim > 1 and isinstance(budget, Zcdp):  # one noise for all columns does better
            return False
        each = self.working(budget).share(1 / request.dim)
        return are_moments(request) and all(
            is_in_vain(part, each, n) for part in told_parts(request, n, each)
        )

    def working(self, budget: Budget) -> Budget:
        """Return the budget in the notion in which the steps are paid."""
        return working(budget)

    def names(self, request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG002 - always two
        """Return the names and rounds of the steps."""
        return (("centre", 1), ("sum", 1))

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...]:
        """Return the steps with what they cost in all columns; the neediest column decides."""
        whole = self.working(budget)
        each = whole.share(1 / request.dim)
        found = map(shares.steps, told_parts(request, n, each))
        divided = max(found, key=lambda steps: steps[0].cost.strength)
        part = divided[0].cost.values()[0] / each.values()[0]
        costs = whole.split(part, 1 - part)
        return tuple(Step(step.name, cost) for step, cost in zip(divided, costs, strict=True))

    def view(self, plan: Plan) -> Plan:
        """Return the plan itself: it is about all columns."""
        return plan

    def estimate(self, plan: Plan, ask: Ask) -> tuple[Estimate, ...]:
        """Ask, and conclude from the answers."""
        said = self.foresee(plan)
        if plan.dim == 1:
            found = [located_mean(ColumnPlan.of(plan), ask)]
        else:
            found = [
                located_mean(part, ask.on(ask.relation.column(index), part.spending))
                for index, part in enumerate(column_plans(plan))
            ]
        return tuple(replace(one, notes=(*said, *one.notes)) for one in found)

    def rmse(self, plan: Plan) -> float | tuple[float, ...] | None:
        """Bound the error of every column."""
        if plan.n is None:
            return None
        found = [predict.rmse(part) for part in _parts(plan)]
        return found[0] if plan.dim == 1 else tuple(found)

    def relative_rmse(self, plan: Plan) -> float | None:  # noqa: ARG002 - nothing is said
        """Return None: the error depends on the scale, and not on how the records spread."""
        return None

    def half_width(self, plan: Plan, confidence: float, law: str) -> float | None:  # noqa: ARG002
        """Predict the half-width of the widest interval, all holding together."""
        if plan.n is None:
            return None
        each = 1 - (1 - confidence) / plan.dim
        return max(predict.half_width(part, each) for part in _parts(plan))

    def foresee(self, plan: Plan) -> tuple[Note, ...]:
        """Say how likely it is that the records are not found, if that is likely."""
        if plan.n is None:
            return ()
        found = (note for part in _parts(plan) for note in predict.foresee(part))
        return tuple(found)[:1]

    def reasons(self, plan: Plan) -> tuple[str, ...]:  # noqa: ARG002 - it was chosen for this
        """Say why their spread is not looked at."""
        return ("clamped by the scale that was told: so few records would show no closer one",)


def _parts(plan: Plan) -> tuple[ColumnPlan, ...]:
    return (ColumnPlan.of(plan),) if plan.dim == 1 else column_plans(plan)


LOCATED = Located()
