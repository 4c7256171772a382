"""The weighted mean: sum w y / sum w, as the mean over the records of persons is.

Every record, or every person, is a pair (sum w y, sum w). From a pilot r0,

    r = r0 + sum w (y - r0) / sum w,

where the pilot is the mean of the quotients of the pairs. Weights need no bound: the sum of weights
is clipped as the numbers of records of persons are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.methods.cells import read_cells
from tametail.methods.groups.each import in_each_group
from tametail.methods.persons.budget_split import FEASIBLE, TAIL
from tametail.methods.persons.estimate import UNSEEN, persons_mean
from tametail.methods.persons.method import Predicted
from tametail.methods.winsorized.column import ColumnPlan
from tametail.notes import Note, few_records
from tametail.plans import PricedRequest, Step, Steps
from tametail.privacy.budget import Budget, compose
from tametail.queries.column import Count
from tametail.queries.persons import PersonRows
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate

SIZE = "size"

#: What the rows have of the column: no mean of records, so that its product with their count is
#: no sum.
STATISTIC = "weighted mean"

#: The part of the budget for a count, and how the rest is divided.
_SIZE, _PILOT, _WEIGHTS = 0.02, 0.15, 0.10
_AROUND = 1 - _SIZE - _PILOT - _WEIGHTS
_SHARES = {
    SIZE: _SIZE, "pilot": _PILOT, "rows": _WEIGHTS, "tail": TAIL * _AROUND,
    "sum": (1 - TAIL) * _AROUND,
}  # fmt: skip

NOT_IN_DESIGN = Note(
    "info",
    "weights-only",
    "The interval accounts for the weights, not for strata and clusters of a survey design.",
)
_UNSEEN = replace(
    UNSEEN,
    text="Too few records for this budget, so no mean is given. Use more records or a larger "
    "epsilon.",
)


def suits(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say whether records weigh."""
    return request.weights is not None


def names(request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG001
    """Return the names of the steps, and their rounds."""
    return tuple((name, 1) for name in _SHARES)


def steps(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001
    """Return the steps, however many records there are."""
    *before, around = budget.split(_SIZE, _PILOT, _WEIGHTS, _AROUND)
    # Both are asked in one view, which composes them to a double: no larger one than this.
    costs = (*before, *around.split(TAIL, 1 - TAIL))
    return tuple(map(Step, _SHARES, costs))


def weighted_means(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Count, and ask as of the records of persons, in every group."""

    def estimate(about: Ask, confidence: float | None) -> tuple[Estimate, ...]:
        cost = plan.cost(SIZE)
        counts = about.on(about.relation.per_person(PersonRows()))(Count(), cost)
        size = max(counts[0], 1)
        found = persons_mean(_told(plan, size, confidence), about, 0, least_rows=0.0)
        cells = read_cells(counts, cost, plan.adjacency)
        said = tuple(_UNSEEN if note is UNSEEN else note for note in found.notes)
        notes = (*_few(size * plan.left.strength), *said, NOT_IN_DESIGN)
        found = replace(found, statistic=STATISTIC, notes=notes)
        if plan.adjacency.person is not None:  # of their records nobody knows how many there are
            return (replace(found, count=None, persons=float(size)),)
        return (replace(found, count=float(size), cells=cells),)

    return in_each_group(plan, ask, estimate)


def _told(plan: PricedRequest, size: int, confidence: float | None) -> ColumnPlan:
    """Return what the estimate needs to know."""
    (column,) = plan.request.columns
    own = tuple(step for step in plan.steps if step.name in _SHARES and step.name != SIZE)
    whole = compose([step.cost for step in own], type(own[0].cost)) or plan.left
    given = ColumnPlan.from_request(plan.request, column, size, whole)
    return replace(given, steps=own, confidence=confidence)


def _few(records: float) -> tuple[Note, ...]:
    if records >= FEASIBLE:
        return ()
    text = (
        f"n x epsilon is below {FEASIBLE:,.0f}, so the weighted mean may have a large error. Use "
        "more records or a larger epsilon."
    )
    return (few_records(text),)


class PredictedWeighted(Predicted):
    """What is promised of a weighted mean if all weigh the same: unequal weights add to it."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say what would help, and that nobody knows the weights."""
        few = () if self.plan.n is None else _few(self.plan.n * self.plan.left.strength)
        return (*few, _EQUAL)


_EQUAL = Note("info", "equal-weights", "The prediction is for equal weights.")
