"""Columns apart, and columns in one sum, as methods: their steps and their promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tametail.methods.by_column import PredictedByColumn, neediest_steps, own_asks
from tametail.methods.winsorized import prediction
from tametail.methods.winsorized.budget_split import divide, expected_notes
from tametail.methods.winsorized.column import column_plans
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.notes import EXCEEDS, Note, hint
from tametail.plans import PricedRequest, Steps
from tametail.privacy.budget import Budget
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate


def steps(request: Request, n: int, budget: Budget) -> Steps:
    """Return the steps with what they cost in all columns."""
    return neediest_steps(request, n, budget, divide)


def separate_means(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: a winsorized mean of every column, one after the other."""
    return tuple(winsorized_mean(part, about) for part, about in own_asks(plan, ask))


class Predicted(PredictedByColumn):
    """What columns apart promise."""

    error = staticmethod(prediction.rmse)
    width = staticmethod(prediction.half_width)

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error of a column, in standard deviations of the reference law."""
        return prediction.reference_rmse(column_plans(self.plan)[0])

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say what a release would carry for a note."""
        if self.plan.n is None:
            return ()
        found = expected_notes(column_plans(self.plan)[0], columns=self.plan.n_columns)
        if found:
            found = (
                *found,
                hint("If the columns have the same unit and magnitude, same_scale=True helps."),
            )
        exceeds = (self.relative_rmse or 0.0) > 1
        return (*found, EXCEEDS) if exceeds else found
