"""The bounded mean as a method: its step and its promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tametail.methods.bounded import predict
from tametail.methods.bounded.estimate import bounded_mean
from tametail.methods.separate.estimate import own_asks
from tametail.methods.winsorized.column import own_plans
from tametail.plans import WORST, Prediction, PricedRequest, Step, Steps
from tametail.privacy.budget import Budget
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate


def names(request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG001 - always one
    """Return the names and rounds of the steps."""
    return (("sum", 1),)


def steps(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001 - all of it
    """Return the one step, paid from ``budget``."""
    return (Step("sum", budget),)


def bounded_means(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask, and conclude from the answers: the columns one after the other."""
    return tuple(bounded_mean(part, about) for part, about in own_asks(plan, ask))


class Predicted(Prediction):
    """What bounds promise. The error does not depend on how the records spread."""

    @property
    def rmse(self) -> float | tuple[float, ...] | None:
        """Bound the error of every column."""
        if self.plan.n is None:
            return None
        found = [predict.rmse(part) for part in own_plans(self.plan)]
        return found[0] if self.plan.n_columns == 1 else tuple(found)

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:  # noqa: ARG002
        """Predict the half-width of the widest interval, all holding together.

        It is that of any law with a mean in the middle of the bounds: nothing else is asked.
        """
        if self.plan.n is None:
            return None
        each = 1 - (1 - confidence) / self.plan.n_columns
        return max(predict.half_width(part, each) for part in own_plans(self.plan))
