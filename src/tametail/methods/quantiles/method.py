"""Quantiles as a method: its steps, its estimate and its promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.means import Estimate, Interval
from tametail.methods.cells import read_cells
from tametail.methods.groups.each import in_each_group
from tametail.methods.quantiles.estimate import Asked, Found, estimate_quantiles
from tametail.methods.quantiles.points import expected_offsets
from tametail.notes import SAYS_NOTHING, Note, few_records
from tametail.plans import WORST, Prediction, PricedRequest, Step, Steps
from tametail.privacy.budget import Budget, noise_for
from tametail.queries.column import Count
from tametail.queries.groups import Cells
from tametail.request import Request
from tametail.statistic import FEW, QUANTILE

if TYPE_CHECKING:
    from tametail.ask import Ask

SIZE, PLACE, CELLS = "size", "place", "cells"

#: What a count costs, and how the rest is divided between placing points and counting between.
SIZE_SHARE, PLACE_SHARE = 0.02, 0.7


def names(request: Request) -> tuple[tuple[str, int], ...]:
    """Return the names of the steps, and their rounds."""
    counted = () if request.confidence is None else ((CELLS, 1),)
    return ((SIZE, 1), (PLACE, 1), *counted)


def steps(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001
    """Return the steps, however many records there are."""
    return divide(request, budget)


def divide(request: Request, budget: Budget) -> Steps:
    """Divide a budget between the steps."""
    rest = 1 - SIZE_SHARE
    shares = [SIZE_SHARE, rest]
    if request.confidence is not None:
        shares = [SIZE_SHARE, rest * PLACE_SHARE, rest * (1 - PLACE_SHARE)]
    named = (name for name, _ in names(request))
    return tuple(map(Step, named, budget.split(*shares)))


def quantiles(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask for a size, for points, and for counts between them, in every group."""

    def estimate(about: Ask, confidence: float | None) -> tuple[Estimate, ...]:
        cost = plan.cost(SIZE)
        counts = about(Count(), cost)
        size = float(max(counts[0], 1))
        found = column_quantiles(plan, about, plan.request.levels, size, confidence)
        cells = read_cells(counts, cost, plan.adjacency)
        return tuple(
            replace(row_of(plan, level, one, size, confidence), cells=cells)
            for level, one in zip(plan.request.levels, found, strict=True)
        )

    return in_each_group(plan, ask, estimate)


def column_quantiles(
    plan: PricedRequest,
    ask: Ask,
    levels: Sequence[float],
    size: float,
    confidence: float | None,
) -> list[Found]:
    """Place points and count between them, at what these two steps of a plan cost."""
    (column,) = plan.request.columns
    asked = Asked(
        levels=tuple(levels),
        n=size,
        adjacency=plan.adjacency,
        place=plan.cost(PLACE),
        cells=plan.cost(CELLS) if plan.has(CELLS) else None,
        within=column.possible,
        confidence=confidence or 0.0,
        sampled=plan.target == "population",
    )
    return estimate_quantiles(asked, ask)


def row_of(
    plan: PricedRequest, level: float, found: Found, size: float, confidence: float | None
) -> Estimate:
    """Return the row of a quantile."""
    intervals: tuple[Interval, ...] = ()
    if found.low is not None and found.high is not None:
        proved = Interval(found.low, found.high, QUANTILE, "none", True, {}, confidence or 0.0)
        intervals = (proved,)
    notes = few_beyond([level], size * plan.left.strength)
    if (found.low, found.high) == plan.request.columns[0].possible:
        notes = (*notes, SAYS_NOTHING)
    count = found.records or size
    return Estimate(
        found.value, intervals, notes=notes, count=count, statistic=QUANTILE, level=level
    )


def few_beyond(levels: Sequence[float], records: float) -> tuple[Note, ...]:
    """Return a note if few of ``records``, counted times epsilon, lie beyond a level."""
    few = [level for level in levels if min(level, 1 - level) * records < FEW]
    if not few:
        return ()
    named = ", ".join(f"{100 * level:.6g}%" for level in few)
    text = (
        f"Few records lie beyond the {named} level at this budget, so the quantile may have a "
        "large error. Use more records, a larger epsilon or a level nearer to 50%."
    )
    return (few_records(text),)


class Predicted(Prediction):
    """What is promised of quantiles, in ranks: which part of the records lies below."""

    scale = "in the share of records below it"

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:  # noqa: ARG002
        """Return the half-width of the widest interval, as a part of all records."""
        return max(self.ranks(confidence), default=None)

    def ranks(self, confidence: float) -> list[float]:
        """Return how far from its level, as a part of all records, each limit is expected."""
        plan = self.plan
        if plan.n is None or not plan.has(CELLS):
            return []
        one = Cells(()).sensitivity(plan.adjacency)
        noise = noise_for(plan.cost(CELLS), one.l1, one.l2_squared)
        sampled, risk = plan.target == "population", 1 - confidence
        size, place = float(max(plan.n, 1)), plan.cost(PLACE)
        levels = plan.request.levels
        found = expected_offsets(levels, size, place, noise, risk, sampled=sampled)
        return [min(offset, level, 1 - level) for offset, level in zip(found, levels, strict=True)]

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say which levels have few records beyond them."""
        plan = self.plan
        if plan.n is None:
            return ()
        return few_beyond(plan.request.levels, plan.n * plan.left.strength)
