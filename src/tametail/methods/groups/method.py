"""Means by group as a method: its promises."""

from __future__ import annotations

import math
from dataclasses import replace

from tametail.inequalities.quantiles import deviations
from tametail.methods.groups import constants as tuned
from tametail.methods.groups import plan as steps
from tametail.methods.groups.keys import asked, usual_size
from tametail.methods.groups.predict import persons_rmse
from tametail.methods.persons.budget_split import FEASIBLE
from tametail.methods.winsorized import prediction, tail_histogram
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.prediction import half_width
from tametail.notes import Note, few_records
from tametail.plans import WORST, Prediction, PricedRequest
from tametail.privacy.budget import noise_for
from tametail.tail import Bounded

#: A group with fewer records times epsilon is mostly noise.
_MOSTLY_NOISE = 20.0

#: Into so many cells the records of all groups usually fall.
_USUAL_CELLS = 7


class Predicted(Prediction):
    """What is promised of a group of usual size; nothing is assumed about scales."""

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error in a group of usual size, as if it were alone."""
        usual = _usual(self.plan)
        return None if usual is None else prediction.reference_rmse(usual)

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:
        """Predict the half-width in a group of usual size, as if it were alone.

        All that is possible, or infinite, if all groups together would not show how records
        spread, or if its count could be noise.
        """
        plan, usual = self.plan, _usual(self.plan)
        if usual is None:
            return None
        size, groups = usual.n or 1, plan.request.groups
        if groups is None or groups.pooling is None:  # each is a column by itself
            return half_width(usual, confidence, distribution)
        if _shows_nothing(plan, usual) or _is_noise(plan, size):
            return prediction.half_within(usual)
        if usual.tail is None and size * usual.budget.strength < tuned.ALONE:
            return prediction.cautious_half_width(usual, confidence)
        return half_width(usual, confidence, distribution)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say what would help."""
        plan, size, usual = self.plan, usual_size(self.plan), _usual(self.plan)
        said = []
        if size is not None and (
            size * plan.budget.strength < _MOSTLY_NOISE or _is_noise(plan, size)
        ):
            text = (
                "At this budget, groups of average size are mostly noise. Use more records, a "
                "larger epsilon or fewer groups; other= combines the rest."
            )
            said.append(few_records(text))
        if usual is not None and _shows_nothing(plan, usual):
            given = math.isfinite(prediction.half_within(usual))
            text = (
                "Too few records for this budget to estimate the spread, even with all groups "
                f"pooled: expect no interval{' beyond within=' if given else ''}. Use more records "
                "or a larger epsilon."
            )
            said.append(few_records(text))
        return tuple(said)


class PredictedOfPersons(Predicted):
    """The same where persons are protected, who may be in many groups."""

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error in a group of usual size, of persons who are in one group each."""
        plan, wanted = self.plan, asked(self.plan.request)
        if plan.n is None or wanted.keys is None:
            return None
        groups = len(wanted.rows)
        cost = steps.group_plans(plan, groups)[0].cost("groups")
        return persons_rmse(max(plan.n, groups), groups, cost)

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:  # noqa: ARG002
        """Predict the half-width in such a group; infinite if nothing is expected to be seen."""
        error, usual = self.relative_rmse, _usual(self.plan)
        if error is None or usual is None:
            return None
        if _shows_nothing(self.plan, usual):
            return prediction.half_within(usual)
        return deviations((1 - confidence) / 2) * error

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say what would help."""
        plan, found = self.plan, super().notes
        if plan.n is None or plan.n * plan.left.strength / plan.n_columns >= FEASIBLE:
            return found
        text = (
            f"Number of people x epsilon is below {FEASIBLE:,.0f} per column, so the errors may be "
            "large, or no means can be given. Use more people or a larger epsilon."
        )
        return (*found, few_records(text))


class PredictedOfSeparatePersons(PredictedOfPersons):
    """The same where each person is in one group: a group is released as if it were alone."""

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error in a group of usual size: alone, or with what the pool shows."""
        usual = _usual(self.plan)
        if usual is None:
            return None
        size, cost = usual.n or 1, usual.budget
        if size * cost.strength < tuned.ALONE_PERSONS:
            return persons_rmse(size, 1, cost)
        return prediction.reference_rmse(usual)


def _shows_nothing(plan: PricedRequest, usual: ColumnPlan) -> bool:
    """Say whether no record of all groups would be detectable above the noise of the counts.

    They need not where bounds say where records are, nor where every group is alone.
    """
    part = steps.group_plans(plan, 1)[0]
    if not part.has("tail") or isinstance(usual.tail, Bounded):
        return False
    return tail_histogram.expects_no_signal(
        replace(usual, n=plan.n), part.cost("tail"), together=False
    )


def _is_noise(plan: PricedRequest, size: int) -> bool:
    """Say whether the count of a group of this size could not be told from noise."""
    part = steps.group_plans(plan, 1)[0]
    if not part.has("total"):
        return False
    part = steps.plan_of_small(part)
    by_cells = _USUAL_CELLS * noise_for(part.cost("cells"), 1, 1).variance
    by_sum = noise_for(part.cost("groups"), 1, 1).variance * (1 + 1 / tuned.COUNT_WEIGHT) ** 2
    return size < tuned.SEEN_COUNT / math.sqrt(1 / by_cells + 1 / by_sum)


def _usual(plan: PricedRequest) -> ColumnPlan | None:
    size = usual_size(plan)
    if size is None or asked(plan.request).keys is None:
        return None
    part = steps.group_plans(plan, 1)[0]
    cost = part.cost("groups")
    if part.has("total"):
        of_small, is_alone = steps.plan_of_small(part), size * cost.strength >= tuned.ALONE
        cost = steps.cost_without_pool(part) if is_alone else of_small.cost("groups")
    return steps.group_plan(part, size, cost)
