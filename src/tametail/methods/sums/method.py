"""Sums as a method: its steps, its estimate and its promises.

Octave counts around 0 show where to clip, and the clipped records are added up around 0. No count
is divided by or multiplied with, so that data far from 0 cost nothing extra under add-remove. With
persons, each is one number: the sum of all of their records.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.inequalities.lognormal import REFERENCE_SD, lognormal_excess
from tametail.means import Estimate, Interval, Target
from tametail.methods.cells import read_cells
from tametail.methods.groups.each import in_each_group
from tametail.methods.persons.estimate import Total, clipped_sum
from tametail.methods.winsorized.approximate_interval import (
    ErrorDistribution,
    excess_notes,
    extrapolated_interval,
    hidden_excess,
    moments,
    parts,
)
from tametail.methods.winsorized.column import ColumnPlan
from tametail.notes import Note, few_records
from tametail.plans import Prediction, PricedRequest, Step, Steps
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import RELATIVE_ROUNDING, Count
from tametail.queries.persons import PersonResidual
from tametail.request import Request
from tametail.statistic import SUM
from tametail.tail import parse_within

if TYPE_CHECKING:
    from tametail.ask import Ask

SIZE, TAIL, TOTAL = "size", "tail", "sum"

#: The parts of the budget.
SHARES = {SIZE: 0.02, TAIL: 0.30, TOTAL: 0.68}

#: What intervals describe.
AS_SEEN, CLIPPED = Target("sum", "extrapolated-tail"), Target("clipped sum", "clipped-data")

#: Fewer records times epsilon than these, and a sum is mostly noise.
_FEW = 100.0

#: So many scales of the noise on a count, and the records of a node are seen wherever it lies.
_SURELY_SEEN = 8.0

NOTHING_SEEN = Note(
    "warning",
    "no-signal",
    "Too few records for this budget, so no sum is given. Use more records or a larger epsilon.",
)


def names(request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG001
    """Return the names of the steps, and their rounds."""
    return tuple((name, 1) for name in SHARES)


def steps(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001
    """Return the steps, however many records there are."""
    return tuple(map(Step, SHARES, budget.split(*SHARES.values())))


def sums(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask for a size, for counts around 0, and for the clipped sum, in every group."""

    def estimate(about: Ask, confidence: float | None) -> tuple[Estimate, ...]:
        if plan.adjacency.person is not None:  # each is one number: the sum of their records
            about = about.on(about.relation.per_person(PersonResidual(0.0)))
        cost = plan.cost(SIZE)
        counts = about(Count(), cost)
        size = max(counts[0], 1)
        given = _told(plan, size, confidence)
        total = clipped_sum(given, about, plan.cost(TAIL), size)
        found = _nothing(confidence) if total is None else _concluded(given, total, size)
        persons = float(size) if plan.adjacency.person is not None else None
        cells = read_cells(counts, cost, plan.adjacency) if persons is None else None
        few = () if total is None else _few(size * plan.left.strength)
        return (
            replace(
                found, cells=cells, persons=persons, count=persons or float(size), statistic=SUM,
                notes=(*few, *found.notes),
            ),
        )  # fmt: skip

    return in_each_group(plan, ask, estimate)


def _told(plan: PricedRequest, size: int, confidence: float | None) -> ColumnPlan:
    """Return what the sum of one column needs to know; its mean may be anywhere."""
    (column,), anywhere = plan.request.columns, parse_within(None)
    given = ColumnPlan.from_request(plan.request, column, size, plan.left)
    half = (
        column.half if plan.adjacency.person is None else None
    )  # it bounds records, not their sums
    own = tuple(step for step in plan.steps if step.name in (TAIL, TOTAL))
    return replace(
        given, within=anywhere, possible=anywhere, steps=own, half=half, confidence=confidence
    )


def _nothing(confidence: float | None) -> Estimate:
    unknown = Interval(-math.inf, math.inf, SUM, "none", True, {}, confidence or 0.0)
    return Estimate(0.0, () if confidence is None else (unknown,), notes=(NOTHING_SEEN,))


def _concluded(plan: ColumnPlan, total: Total, size: int) -> Estimate:
    """Return the sum, with what the tail has beyond the clip points, and its intervals."""
    clip, tails = total.clip, total.tails
    value = total.value + clip.excess
    ends = -clip.below, clip.above
    if plan.confidence is None or tails is None:
        return Estimate(value, clip=ends)
    risk = 1 - plan.confidence
    error = _error(plan, total, size)
    below, above = error.ends(risk / 2)
    clipped = Interval(
        total.value - below, total.value + above, *CLIPPED, False,
        parts(error, risk, truncation=None, privacy=error.privacy(risk)), plan.confidence,
    )  # fmt: skip
    sides = hidden_excess(plan, clip, tails, 1.0)
    seen = extrapolated_interval(plan, value, total.value, error, sides)
    seen = replace(seen, target=AS_SEEN.target, confidence=plan.confidence)
    notes = (*excess_notes(sides, (seen,)), _hidden(plan, tails.scale))
    return Estimate(value, (seen, clipped), clip=ends, notes=notes)


def _hidden(plan: ColumnPlan, scale: float) -> Note:
    """Say how many records the interval may miss: public, and the same for every sum of a plan."""
    fewest = math.ceil(_SURELY_SEEN * scale)
    things = "people" if plan.adjacency.person is not None else "records"
    text = (
        f"The noise can hide up to about {fewest:,} {things} whose values are far beyond those of "
        "all others. The interval does not account for them."
    )
    return Note("info", "hidden-records", text)


def _error(plan: ColumnPlan, total: Total, size: int) -> ErrorDistribution:
    """Return the law of the error of a clipped sum.

    Of a population that gives such data again, the number of records is Poisson, so that the sum
    varies by the squares of the records; if the number is public, by their variance.
    """
    deviation = skewness = 0.0
    if plan.target == "population" and total.tails is not None:
        offset = total.value / size if plan.adjacency.size_is_public else 0.0
        variance, third = moments(total.clip, total.tails, size, offset)
        deviation = math.sqrt(max(variance, 0.0) * size)
        if variance > 0:
            skewness = third / (variance * math.sqrt(variance) * math.sqrt(size))
    noise = Noise(total.noise.kind, total.noise.scale * total.tick)
    rounding = total.tick + size * total.clip.side * RELATIVE_ROUNDING
    return ErrorDistribution(deviation, min(max(skewness, -1.0), 1.0), noise, 0.0, rounding)


def _few(records: float) -> tuple[Note, ...]:
    if records >= _FEW:
        return ()
    text = (
        f"n x epsilon is below {_FEW:g}, so the sum may have a large error. Use more records or a "
        "larger epsilon."
    )
    return (few_records(text),)


class Predicted(Prediction):
    """What is promised of a sum of records of the reference law."""

    scale = "standard deviations of one record (for lognormal data, sigma = 1)"

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error of the sum, in standard deviations of one record.

        Clipping at t costs noise in proportion to t, and what lies beyond t, of which the counts
        tell about half; the clip points are those that balance the two.
        """
        plan = self.plan
        if plan.n is None or plan.adjacency.person is not None:
            return None
        noise, n = noise_for(plan.cost(TOTAL), 1, 1), max(plan.n, 1)
        deviation = math.sqrt(noise.variance) * plan.adjacency.changes
        points = (2.0 ** (step / 4) for step in range(80))
        errors = (math.hypot(deviation * t, n * lognormal_excess(1.0, t) / 2) for t in points)
        return min(errors) / REFERENCE_SD

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say whether the sum is mostly noise."""
        return () if self.plan.n is None else _few(self.plan.n * self.plan.left.strength)
