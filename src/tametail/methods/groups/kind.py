"""Means by group as a method: its steps, predictions and words."""

from __future__ import annotations

import math
from dataclasses import replace

from tametail.methods.groups import constants as tuned
from tametail.methods.groups import plan as steps
from tametail.methods.groups.estimate import means_by_group
from tametail.methods.groups.persons import means_of_persons
from tametail.methods.persons.shares import FEASIBLE
from tametail.methods.winsorised import column
from tametail.methods.winsorised import predict as prediction
from tametail.methods.winsorised.expected import half_width
from tametail.notes import Note, few_records
from tametail.plans import Plan, Step
from tametail.privacy.budget import Budget, noise_for
from tametail.request import Request
from tametail.tail import Bounded

#: A group with fewer records times epsilon is mostly noise.
_MOSTLY_NOISE = 20.0

#: Into so many cells the records of all groups usually fall.
_USUAL_CELLS = 7


def _as_it_is(plan: Plan) -> Plan:
    return plan


class ByGroup:
    """Groups: winsorise small ones as the pool suggests, large ones alone."""

    name = "means by group"
    purposes = steps.PURPOSES
    view = staticmethod(_as_it_is)
    estimate = staticmethod(means_by_group)

    def working(self, budget: Budget) -> Budget:
        """Return the budget in the notion in which the steps are paid."""
        return column.working(budget)

    def names(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the names and rounds of the steps."""
        return steps.names(request)

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...] | None:
        """Return the steps, paid from ``budget``."""
        return steps.divide_groups(request, n, budget)

    def rmse(self, plan: Plan) -> float | tuple[float, ...] | None:  # noqa: ARG002
        """None: nothing is assumed about scales."""
        return None

    def relative_rmse(self, plan: Plan) -> float | None:
        """Predict the error in a group of usual size, as if it were alone."""
        usual = _usual(plan)
        return None if usual is None else prediction.reference_rmse(usual)

    def half_width(self, plan: Plan, confidence: float, law: str) -> float | None:
        """Predict the half-width in a group of usual size, as if it were alone.

        All that is possible, or infinite, if all groups together would not show how records
        spread, or if its count could be noise.
        """
        usual = _usual(plan)
        if usual is None:
            return None
        size, groups = usual.n or 1, plan.request.groups
        if groups is None or groups.borrow is None:  # each is a column by itself
            return half_width(usual, confidence, law)
        if _shows_nothing(plan, usual) or _is_noise(plan, size):
            return prediction.half_of_the_possible(usual)
        if usual.tail is None and size * usual.budget.strength < tuned.ALONE:
            return prediction.cautious_half_width(usual, confidence)
        return half_width(usual, confidence, law)

    def foresee(self, plan: Plan) -> tuple[Note, ...]:
        """Say what would help."""
        size, usual = _size(plan), _usual(plan)
        said = []
        if size is not None and (
            size * plan.budget.strength < _MOSTLY_NOISE or _is_noise(plan, size)
        ):
            text = (
                "groups of a usual size are mostly noise: more records, more budget or fewer "
                "groups help, and other= collects the rest"
            )
            said.append(few_records(text))
        if usual is not None and _shows_nothing(plan, usual):
            told = math.isfinite(prediction.half_of_the_possible(usual))
            text = (
                "all groups together are too few to show how the records spread, so that no "
                f"interval {'but what within= says ' if told else ''}is expected: more records or "
                "more budget help"
            )
            said.append(few_records(text))
        return tuple(said)

    def reasons(self, plan: Plan) -> tuple[str, ...]:  # noqa: ARG002 - there is no choice
        """Nothing: there is one way to groups."""
        return ()


class PersonsByGroup(ByGroup):
    """Groups of persons, who may be in many: vectors are scaled down to one length."""

    name = "means by group, of persons"
    purposes = steps.PURPOSES_OF_PERSONS
    estimate = staticmethod(means_of_persons)

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...] | None:  # noqa: ARG002
        """Return the steps, paid from ``budget``."""
        return steps.divide_persons_in_groups(request, budget)

    def foresee(self, plan: Plan) -> tuple[Note, ...]:
        """Say what would help."""
        found = super().foresee(plan)
        if plan.n is None or plan.n * plan.left.strength / plan.dim >= FEASIBLE:
            return found
        text = (
            f"persons times epsilon is below {FEASIBLE:g} for a column, so that the means of all "
            "groups may be far off: more persons or more budget would help"
        )
        return (*found, few_records(text))


def _size(plan: Plan) -> int | None:
    """Return the records of a group if all were of one size; None if that is unknown."""
    keys = steps.asked(plan.request).rows
    return None if plan.n is None or not keys else max(plan.n // len(keys), 1)


def _shows_nothing(plan: Plan, usual: column.ColumnPlan) -> bool:
    """Say whether all groups together would not stand out of the noise on the octave counts.

    They need not where bounds say where records are, nor where every group is alone.
    """
    cost = steps.group_plans(plan, 1)[0].costs.get("tail")
    if cost is None or isinstance(usual.tail, Bounded):
        return False
    return prediction.shows_nothing(replace(usual, n=plan.n), cost, together=False)


def _is_noise(plan: Plan, size: int) -> bool:
    """Say whether the count of a group of this size could not be told from noise."""
    costs = steps.group_plans(plan, 1)[0].costs
    if "cells" not in costs:
        return False
    by_cells = _USUAL_CELLS * noise_for(costs["cells"], 1, 1).variance
    by_sum = noise_for(costs["groups"], 1, 1).variance * (1 + 1 / tuned.COUNT_WEIGHT) ** 2
    return size < tuned.SEEN_COUNT / math.sqrt(1 / by_cells + 1 / by_sum)


def _usual(plan: Plan) -> column.ColumnPlan | None:
    size = _size(plan)
    if size is None or steps.asked(plan.request).keys is None:
        return None
    part = steps.group_plans(plan, 1)[0]
    return part.column(size, part.costs["groups"])


GROUPS = ByGroup()
PERSONS_BY_GROUP = PersonsByGroup()
