"""The mean of few records of known scale as a method: its steps and its promises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.methods.by_column import PredictedByColumn, own_asks
from tametail.methods.known_scale import budget_split, predict
from tametail.methods.known_scale.estimate import known_scale_mean
from tametail.methods.winsorized.column import column_settings, own_plans
from tametail.plans import PricedRequest, Step, Steps
from tametail.privacy.budget import Budget
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate
    from tametail.notes import Note


def names(request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG001 - always two
    """Return the names and rounds of the steps."""
    return (("center", 1), ("sum", 1))


def steps(request: Request, n: int, budget: Budget) -> Steps:
    """Return the steps with what they cost in all columns; the neediest column decides."""
    each = budget.share(1 / request.n_columns)
    found = map(budget_split.steps, column_settings(request, n, each))
    divided = max(found, key=lambda one: one[0].cost.strength)
    part = divided[0].cost.values()[0] / each.values()[0]
    costs = budget.split(part, 1 - part)
    return tuple(Step(step.name, cost) for step, cost in zip(divided, costs, strict=True))


def known_scale_means(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask, and conclude from the answers: the columns one after the other."""
    said = Predicted(plan).notes
    found = [known_scale_mean(part, about) for part, about in own_asks(plan, ask)]
    return tuple(replace(one, notes=(*said, *one.notes)) for one in found)


class Predicted(PredictedByColumn):
    """What the scales that were told promise. Nothing depends on how the records spread."""

    error = staticmethod(predict.rmse)
    width = staticmethod(predict.half_width)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say how likely it is that the records are not found, if that is likely."""
        if self.plan.n is None:
            return ()
        found = (note for part in own_plans(self.plan) for note in predict.foresee(part))
        return tuple(found)[:1]
