"""Columns apart, and columns in one sum, as methods: their steps and their promises."""

from __future__ import annotations

from collections.abc import Callable

from tametail.methods.winsorized import prediction
from tametail.methods.winsorized.budget_split import divide, expected_notes
from tametail.methods.winsorized.column import ColumnPlan, column_plans, column_settings, own_plans
from tametail.notes import EXCEEDS, Note, hint
from tametail.plans import WORST, Prediction, Step, Steps
from tametail.privacy.budget import Budget
from tametail.request import Request


def steps(request: Request, n: int, budget: Budget) -> Steps:
    """Return the steps with what they cost in all columns; shares are those of one column."""
    each = budget.share(1 / request.n_columns)
    found = map(divide, column_settings(request, n, each))
    # The neediest center decides, of columns with a tail if there are any.
    divided = max(found, key=lambda one: (len(one), one[0].cost.strength))
    parts = [step.cost.values()[0] / each.values()[0] for step in divided]
    costs = budget.split(*[part / sum(parts) for part in parts])
    return tuple(Step(step.name, cost) for step, cost in zip(divided, costs, strict=True))


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
        each, parts = (
            1 - (1 - confidence) / self.plan.n_columns,
            dict.fromkeys(own_plans(self.plan)),
        )
        found = [type(self).width(part, each, distribution) for part in parts]
        return max(width for width in found if width is not None)


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
