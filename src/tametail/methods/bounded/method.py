"""The bounded mean as a method: its step and its promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tametail.methods.bounded import predict
from tametail.methods.bounded.estimate import bounded_mean
from tametail.methods.by_column import PredictedByColumn, own_asks
from tametail.plans import PricedRequest, Step, Steps
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


class Predicted(PredictedByColumn):
    """What bounds promise. The error does not depend on how the records spread.

    The interval is that of any law with a mean in the middle of the bounds: nothing else is asked.
    """

    error = staticmethod(predict.rmse)
    width = staticmethod(predict.half_width)
