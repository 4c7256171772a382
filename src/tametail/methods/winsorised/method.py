"""The winsorised mean of one column as a method: its steps and its promises."""

from __future__ import annotations

from tametail.methods.winsorised import predict
from tametail.methods.winsorised.column import ColumnPlan, told_parts
from tametail.methods.winsorised.dividing import divide
from tametail.methods.winsorised.expected import half_width
from tametail.notes import Note
from tametail.plans import WORST, Prediction, Steps
from tametail.privacy.budget import Budget
from tametail.request import Request


def steps(request: Request, n: int, budget: Budget) -> Steps:
    """Return the steps, paid from ``budget``."""
    (told,) = told_parts(request, n, budget)
    return divide(told)


class Predicted(Prediction):
    """What a column promises: by its tail assumption, or for the reference law."""

    @property
    def rmse(self) -> float | None:
        """Bound the error by the tail assumption; None without one."""
        return predict.rmse(ColumnPlan.of(self.plan))

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error for the reference law, in its standard deviations."""
        return predict.reference_rmse(ColumnPlan.of(self.plan))

    def half_width(self, confidence: float, law: str = WORST) -> float | None:
        """Predict the half-width of the interval."""
        return half_width(ColumnPlan.of(self.plan), confidence, law)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say what a release would carry for a note, and what cannot be foreseen."""
        return predict.advise(ColumnPlan.of(self.plan))
