"""The method for records of persons: its steps and its promises."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.methods.by_column import in_proportion
from tametail.methods.cells import read_cells
from tametail.methods.persons.budget_split import FEASIBLE, divide
from tametail.methods.persons.estimate import persons_mean
from tametail.methods.winsorized import prediction, tail_histogram
from tametail.methods.winsorized.column import column_plans
from tametail.notes import Note, few_records
from tametail.plans import COUNT, WORST, Prediction, PricedRequest, Steps
from tametail.privacy.budget import Budget
from tametail.queries.column import Count
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate


def steps(request: Request, n: int, budget: Budget) -> Steps:
    """Return the steps with what they cost in all columns; shares are those of one."""
    return in_proportion(divide(budget.share(1 / request.n_columns), n), budget)


def means_of_records(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask, and conclude from the answers: the columns one after the other."""
    cells = persons = None
    if plan.has(COUNT) and plan.n_columns == 1:  # of several columns, run has counted the rows
        answer = ask(Count(), plan.cost(COUNT))
        cells = read_cells(answer, plan.cost(COUNT), plan.adjacency)
        persons = float(max(answer[0], 1))
        plan = plan.recounted(answer[0], steps)
    found = [persons_mean(part, ask, i) for i, part in enumerate(column_plans(plan))]
    few = Predicted(plan).notes
    return tuple(
        replace(one, notes=(*few, *one.notes), cells=cells, persons=persons) for one in found
    )


class Predicted(Prediction):
    """What is promised of persons; nothing is assumed about them that would bound the error."""

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error in standard deviations of the reference law for records.

        Records are taken to be independent, with as many for each person: the mean of m of them
        has a standard deviation of 1/sqrt(m). Without a guess of the records m is 1.
        """
        if self.plan.n is None:
            return None
        error = prediction.reference_rmse(column_plans(self.plan)[0])
        return None if error is None else error / math.sqrt(_each(self.plan))

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:  # noqa: ARG002
        """Predict the half-width of the widest interval, likewise.

        All that ``within`` allows, or infinite, if no person would be detectable above the noise.
        """
        if self.plan.n is None:
            return None
        part = replace(column_plans(self.plan)[0], confidence=confidence)
        if tail_histogram.expects_no_signal(part, part.cost("tail"), together=True):
            return prediction.half_within(part)
        width = prediction.cautious_half_width(part, 1 - (1 - confidence) / self.plan.n_columns)
        return None if width is None else width / math.sqrt(_each(self.plan))

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say what would help."""
        plan = self.plan
        if plan.n is None or plan.n * plan.left.strength / plan.n_columns >= FEASIBLE:
            return ()
        text = (
            f"Number of people x epsilon is below {FEASIBLE:,.0f} per column, so the error may be "
            "large, or no mean can be given. Use more people, a larger epsilon, or each='person', "
            "which needs less data."
        )
        return (few_records(text),)


def _each(plan: PricedRequest) -> float:
    """Return the guess of the records that a person has."""
    rows = plan.request.n_records
    return 1.0 if rows is None or plan.n is None else max(rows / max(plan.n, 1), 1.0)
