"""The textbook as a method: its step, predictions and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tametail.methods.apart.estimate import column_plans
from tametail.methods.textbook import predict
from tametail.methods.textbook.estimate import NAME, textbook_mean
from tametail.methods.winsorised.column import (
    ColumnPlan,
    are_bounded,
    told_parts,
    working,
)
from tametail.methods.winsorised.dividing import is_in_vain
from tametail.plans import Plan, Step
from tametail.privacy.budget import Budget
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate
    from tametail.notes import Note


class Textbook:
    """Bounded records: clamp them, and ask for one noisy sum of every column."""

    name = NAME
    purposes: ClassVar = {
        "count": "roughly how many records there are",
        "sum": "sum and count of the records, clamped to their bounds",
        "rest": "the other steps; their shares follow from the count",
    }

    def suits(self, request: Request, n: int, budget: Budget) -> bool:
        """Say whether all records are bounded, and looking for closer bounds would be in vain."""
        each = self.working(budget).share(1 / request.dim)
        return are_bounded(request) and all(
            is_in_vain(part, each, n) for part in told_parts(request, n, each)
        )

    def working(self, budget: Budget) -> Budget:
        """Return the budget in the notion in which the steps are paid."""
        return working(budget)

    def names(self, request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG002 - always one
        """Return the names and rounds of the steps."""
        return (("sum", 1),)

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...]:  # noqa: ARG002
        """Return the one step, paid from ``budget``."""
        return (Step("sum", self.working(budget)),)

    def view(self, plan: Plan) -> Plan:
        """Return the plan itself: it is about all columns."""
        return plan

    def estimate(self, plan: Plan, ask: Ask) -> tuple[Estimate, ...]:
        """Ask, and conclude from the answers."""
        if plan.dim == 1:
            return (textbook_mean(ColumnPlan.of(plan), ask),)
        return tuple(
            textbook_mean(part, ask.on(ask.relation.column(index), part.spending))
            for index, part in enumerate(column_plans(plan))
        )

    def rmse(self, plan: Plan) -> float | tuple[float, ...] | None:
        """Bound the error of every column."""
        if plan.n is None:
            return None
        found = [predict.rmse(part) for part in _parts(plan)]
        return found[0] if plan.dim == 1 else tuple(found)

    def relative_rmse(self, plan: Plan) -> float | None:  # noqa: ARG002 - nothing is said
        """Return None: the error depends on the bounds, and not on how the records spread."""
        return None

    def half_width(self, plan: Plan, confidence: float, law: str) -> float | None:  # noqa: ARG002
        """Predict the half-width of the widest interval, all holding together.

        It is that of any law with a mean in the middle of the bounds: nothing else is asked.
        """
        if plan.n is None:
            return None
        each = 1 - (1 - confidence) / plan.dim
        return max(predict.half_width(part, each) for part in _parts(plan))

    def foresee(self, plan: Plan) -> tuple[Note, ...]:  # noqa: ARG002 - the error is known
        """Nothing: there is no step that may fail."""
        return ()

    def reasons(self, plan: Plan) -> tuple[str, ...]:  # noqa: ARG002 - it was chosen for this
        """Say why nothing is looked at first."""
        return (
            "clamped to the bounds: so few records would show no closer ones; if the bounds are "
            "far wider than the records, leaving them out may do better",
        )


def _parts(plan: Plan) -> tuple[ColumnPlan, ...]:
    return (ColumnPlan.of(plan),) if plan.dim == 1 else column_plans(plan)


TEXTBOOK = Textbook()
