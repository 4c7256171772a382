"""A description: count, mean, sum and quantiles of one column, from one budget."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.means import Estimate, Interval
from tametail.methods.cells import read_cells
from tametail.methods.counting import count_interval
from tametail.methods.groups.each import in_each_group
from tametail.methods.quantiles import method as of_quantiles
from tametail.methods.quantiles.method import column_quantiles, row_of
from tametail.methods.winsorized.budget_split import divide
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.notes import Note, few_records
from tametail.plans import Prediction, PricedRequest, Step, Steps
from tametail.privacy.budget import Budget
from tametail.queries.column import Count
from tametail.request import Request
from tametail.statistic import COUNT, DESCRIBED, SUM

if TYPE_CHECKING:
    from tametail.ask import Ask

#: The parts of the budget: of the count, of the quantiles, and of the mean.
SIZE_SHARE, QUANTILES_SHARE, MEAN_SHARE = 0.05, 0.45, 0.50

#: Fewer records times epsilon than these, and a description is mostly noise.
_FEW = 1e4


def names(request: Request) -> tuple[tuple[str, int], ...]:
    """Return the names of the steps, and their rounds."""
    return (*of_quantiles.names(request), ("mean", 1))


def steps(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001
    """Return the steps, however many records there are."""
    place = QUANTILES_SHARE
    shares = [SIZE_SHARE, place]
    if request.confidence is not None:
        place *= of_quantiles.PLACE_SHARE
        shares = [SIZE_SHARE, place, QUANTILES_SHARE - place]
    named = (name for name, _ in names(request))
    return tuple(map(Step, named, budget.split(*shares, MEAN_SHARE)))


def description(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask for the count, the quantiles and the mean, in every group."""

    def estimate(about: Ask, confidence: float | None) -> tuple[Estimate, ...]:
        cost = plan.cost(of_quantiles.SIZE)
        answer = about(Count(), cost)
        size = float(max(answer[0], 1))
        counted = _counted(answer, plan, confidence)
        placed = column_quantiles(plan, about, DESCRIBED, size, confidence)
        mean = _mean(plan, about, int(size), confidence)
        cells = read_cells(answer, cost, plan.adjacency)
        rows = [counted, replace(mean, count=counted.value), _sum(mean, counted, confidence)]
        rows += [
            row_of(plan, level, one, size, confidence)
            for level, one in zip(DESCRIBED, placed, strict=True)
        ]
        few = _few(size * plan.left.strength)
        return tuple(replace(row, cells=cells, notes=(*few, *row.notes)) for row in rows)

    return in_each_group(plan, ask, estimate)


def _counted(answer: tuple[int, ...], plan: PricedRequest, confidence: float | None) -> Estimate:
    value, intervals = float(max(answer[0], 0)), ()
    if confidence is not None:
        cost = plan.cost(of_quantiles.SIZE)
        own = count_interval(value, answer[0], cost, plan.adjacency, confidence)
        return Estimate(value, (own,), count=value, statistic=COUNT)
    return Estimate(value, intervals, count=value, statistic=COUNT)


def _mean(plan: PricedRequest, ask: Ask, size: int, confidence: float | None) -> Estimate:
    (column,) = plan.request.columns
    cost = plan.cost("mean")
    given = replace(
        ColumnPlan.from_request(plan.request, column, size, cost), confidence=confidence
    )
    return winsorized_mean(replace(given, steps=divide(given)), ask)


def _sum(mean: Estimate, counted: Estimate, confidence: float | None) -> Estimate:
    """Return mean times count; the squares of what both may err by add up."""
    count = counted.value
    found = Estimate(mean.value * count, count=count, statistic=SUM, notes=mean.notes)
    if confidence is None or not mean.intervals or not counted.intervals:
        return found
    first, number = mean.intervals[0], counted.intervals[0]
    off = abs(mean.value) * max(number.high - count, count - number.low)
    # What has no limit has none times 0 either: the count may be 0 by noise alone.
    below, above = (
        away if math.isinf(away) else math.hypot(count * away, off)
        for away in (mean.value - first.low, first.high - mean.value)
    )
    low, high = found.value - below, found.value + above
    target = first.target.replace("mean", SUM, 1)
    return replace(
        found, intervals=(Interval(low, high, target, first.basis, False, {}, confidence),)
    )


def _few(records: float) -> tuple[Note, ...]:
    if records >= _FEW:
        return ()
    text = (
        f"The number of records times epsilon is below {_FEW:,.0f}, so a description, which "
        "divides its budget between eight numbers, may have large errors. Ask for fewer "
        "statistics, or use more records or more budget."
    )
    return (few_records(text),)


class Predicted(Prediction):
    """What is promised of a description."""

    scale = ""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say whether there are few records."""
        return () if self.plan.n is None else _few(self.plan.n * self.plan.left.strength)
