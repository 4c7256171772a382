"""What methods for one column do, and promise, where there are several.

The cost of a step is what it costs in all columns together; each column may spend 1/d of it. All
columns hold parts of the same records, so what is spent on them adds up. The intervals hold
together: each has 1/d of the risk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tametail.methods.winsorized.column import ColumnPlan, column_settings, own_plans
from tametail.plans import WORST, Prediction, PricedRequest, Step, Steps
from tametail.privacy.budget import Budget
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask


def neediest_steps(
    request: Request, n: int, budget: Budget, divide: Callable[[ColumnPlan], Steps]
) -> Steps:
    """Return the steps with what they cost in all columns; shares are those of one column.

    The neediest center decides, of columns with a tail if there are any.
    """
    each = budget.share(1 / request.n_columns)
    found = map(divide, column_settings(request, n, each))
    return in_proportion(max(found, key=lambda one: (len(one), one[0].cost.strength)), budget)


def in_proportion(steps: Steps, budget: Budget) -> Steps:
    """Return steps that cost ``budget`` together, each with the same part of it as of its own."""
    parts = [step.cost.values()[0] for step in steps]
    costs = budget.split(*[part / sum(parts) for part in parts])
    return tuple(Step(step.name, cost) for step, cost in zip(steps, costs, strict=True))


def own_asks(plan: PricedRequest, ask: Ask) -> Iterator[tuple[ColumnPlan, Ask]]:
    """Yield the plan of every column, and who may be asked about it."""
    for index, part in enumerate(own_plans(plan)):
        narrowed = plan.n_columns > 1
        yield part, ask.on(ask.relation.column(index), part.spending) if narrowed else ask


class PredictedByColumn(Prediction):
    """What a method for one column promises of each of them, by two functions of its plan."""

    error: Callable[[ColumnPlan], float | None]
    width: Callable[[ColumnPlan, float, str], float | None]

    @property
    def rmse(self) -> float | tuple[float, ...] | None:
        """Bound the error of every column; None if one has no assumption to do so by."""
        if self.plan.n is None:
            return None
        found = [type(self).error(part) for part in own_plans(self.plan)]
        errors = tuple(error for error in found if error is not None)
        if len(errors) < self.plan.n_columns:
            return None
        return errors[0] if self.plan.n_columns == 1 else errors

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:
        """Predict the half-width of the widest interval, all holding together.

        Where only some columns have a tail, these are in other units than the rest.
        """
        assumed = {tail is not None for tail in self.plan.tails}
        if self.plan.n is None or len(assumed) > 1:
            return None
        each = 1 - (1 - confidence) / self.plan.n_columns
        parts = dict.fromkeys(own_plans(self.plan))
        found = [type(self).width(part, each, distribution) for part in parts]
        return max(width for width in found if width is not None)
