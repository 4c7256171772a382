"""The method for records of persons: its steps, its predictions and its words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.methods.apart.estimate import column_plans
from tametail.methods.cells import read_cells
from tametail.methods.persons.estimate import persons_mean
from tametail.methods.persons.shares import FEASIBLE, PURPOSES, divide, names
from tametail.methods.winsorised import column
from tametail.methods.winsorised import predict as prediction
from tametail.notes import Note, few_records
from tametail.plans import Plan, Step
from tametail.privacy.budget import Budget
from tametail.queries.column import Count
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate


class RecordsOfPersons:
    """Every record counts, and a person with all of theirs is protected."""

    name = "mean of the records of persons"
    purposes = PURPOSES

    def working(self, budget: Budget) -> Budget:
        """Return the budget in the notion in which the steps are paid."""
        return column.working(budget)

    def names(self, request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG002
        """Return the names and rounds of the steps."""
        return names()

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...] | None:
        """Return the steps with what they cost in all columns; shares are those of one."""
        whole = self.working(budget)
        each = divide(whole.share(1 / request.dim), n)
        parts = [step.cost.values()[0] for step in each]
        costs = whole.split(*[part / sum(parts) for part in parts])
        return tuple(Step(step.name, cost) for step, cost in zip(each, costs, strict=True))

    def view(self, plan: Plan) -> Plan:
        """Return the plan: every column needs its own part of it."""
        return plan

    def estimate(self, plan: Plan, ask: Ask) -> tuple[Estimate, ...]:
        """Ask, and conclude from the answers: the columns one after the other."""
        cells = persons = None
        if plan.has("count") and plan.dim == 1:  # of several columns, run has counted the rows
            answer = ask(Count(), plan.cost("count"))
            cells = read_cells(answer, plan.cost("count"), plan.unit)
            persons = float(max(answer[0], 1))
            plan = plan.with_count(answer[0])
        found = [persons_mean(part, ask, i) for i, part in enumerate(column_plans(plan))]
        few = self.foresee(plan)
        return tuple(
            replace(one, notes=(*few, *one.notes), cells=cells, persons=persons) for one in found
        )

    def rmse(self, plan: Plan) -> float | tuple[float, ...] | None:  # noqa: ARG002 - a method's verb
        """None: nothing is assumed about persons that would bound it."""
        return None

    def relative_rmse(self, plan: Plan) -> float | None:
        """Predict the error in standard deviations of the reference law for records.

        Records are taken to be independent, with as many for each person: the mean of m of them
        has a standard deviation of 1/sqrt(m). Without a guess of the records m is 1.
        """
        if plan.n is None:
            return None
        error = prediction.reference_rmse(column_plans(plan)[0])
        return None if error is None else error / math.sqrt(_each(plan))

    def half_width(self, plan: Plan, confidence: float, law: str) -> float | None:  # noqa: ARG002
        """Predict the half-width of the widest interval, likewise.

        All that ``within`` allows, or infinite, if the persons would not stand out of the noise.
        """
        if plan.n is None:
            return None
        part = replace(column_plans(plan)[0], confidence=confidence)
        if prediction.shows_nothing(part, part.cost("tail"), together=True):
            return prediction.half_of_the_possible(part)
        width = prediction.cautious_half_width(part, 1 - (1 - confidence) / plan.dim)
        return None if width is None else width / math.sqrt(_each(plan))

    def foresee(self, plan: Plan) -> tuple[Note, ...]:
        """Say what would help."""
        if plan.n is None or plan.n * plan.left.strength / plan.dim >= FEASIBLE:
            return ()
        text = (
            f"persons times epsilon is below {FEASIBLE:g} for a column, so the answer may be far "
            "off: more persons, more budget, or each='person', which asks for less, would help"
        )
        return (few_records(text),)

    def reasons(self, plan: Plan) -> tuple[str, ...]:
        """Say what counts how much."""
        if plan.request.rows is None:
            return ("every record counts, however many a person has",)
        return (f"every record counts: about {plan.request.rows:,} of them, by your guess",)


def _each(plan: Plan) -> float:
    """Return the guess of the records that a person has."""
    rows = plan.request.rows
    return 1.0 if rows is None or plan.n is None else max(rows / max(plan.n, 1), 1.0)


RECORDS_OF_PERSONS = RecordsOfPersons()
