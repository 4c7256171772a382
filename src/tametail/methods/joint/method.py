"""The mean in a ball as a method: its promises."""

from __future__ import annotations

from tametail.methods.joint import predict, settings
from tametail.notes import EXCEEDS, TOO_FEW, Note, shared_scale
from tametail.plans import WORST, Prediction


class Predicted(Prediction):
    """What a ball promises, with scales of the columns' own."""

    @property
    def rmse(self) -> tuple[float, ...] | None:
        """Return what the relative error is in the scales that were told."""
        relative, scales = self.relative_rmse, settings.scales(self.plan)
        if scales is None or relative is None:
            return None
        return tuple(relative * scale for scale in scales)

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error of a column, in standard deviations of the reference law."""
        return None if self.plan.n is None else predict.reference_rmse(self.plan)

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:  # noqa: ARG002
        """Predict the half-width of the intervals, in standard deviations."""
        return None if self.plan.n is None else predict.half_width(self.plan, confidence)

    @property
    def in_units(self) -> bool:
        """Say no: there is one prediction for all columns, whatever is assumed of them."""
        return False

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say what the plan had to give up, and what would help."""
        few = self.plan.n is not None and self.plan.n < settings.least_cells(self.plan)
        exceeds = (self.relative_rmse or 0.0) > 1
        return (*[TOO_FEW] * few, *[EXCEEDS] * exceeds)


class PredictedInCommon(Predicted):
    """What a ball promises with one scale for all columns."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say so, if that was not asked for."""
        if self.plan.request.same_scale:
            return super().notes
        text = (
            f"{self.plan.n:,} records and this budget are too few to estimate a center and a scale "
            f"for each of {self.plan.n_columns} columns, so all columns share the center 0 and one "
            "scale. Columns with small values are mostly noise. Use more records, a larger "
            "epsilon or fewer columns, rescale the columns to similar magnitudes, or state "
            "within= and tail=Moment(2, scale) for every column."
        )
        return (shared_scale(text), *super().notes)
