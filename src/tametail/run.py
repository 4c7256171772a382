"""The one place where a release happens: a plan and an ask, then method and release."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tametail.ask import Ask, Data, Replay
from tametail.columns import Column
from tametail.data.relation import Relation
from tametail.errors import InternalError
from tametail.means import CellCounts, Estimate, Interval, Mean, confined, unknown
from tametail.methods.cells import count_margin
from tametail.methods.groups.keys import EMPTY
from tametail.notes import BEYOND_RANGE, BEYOND_RANGE_OF_VALUES, CLAMPED, CUT, FAKE, NO_ENDS
from tametail.planning import COUNT, Plan
from tametail.planning.table import find
from tametail.privacy.budget import Approx, Guarantee, Zcdp, fits
from tametail.privacy.odds import weak_budget
from tametail.queries.rows import Rows
from tametail.randomness import draws_for_fakes
from tametail.release import Release
from tametail.request import Request
from tametail.statistic import COEFFICIENT, MEAN, SHARE
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.data import Backend

#: A clip point from here on is at the end of what octave counts tell apart. Where records of
#: persons are added up no clip point is told, and the least part of them that is seen makes a value
#: of this size.
_FARTHEST_CLIP = 2.0**126
_FARTHEST_VALUE = 2.0**100


def prepare_release(plan: Plan, backend: Backend) -> tuple[Plan, Ask]:
    """Return what :func:`run` takes, for data; if their number is public, this reads it.

    If a ledger pays, it has been charged before: to count the rows of a file is to read it.
    """
    sized = plan.with_size(backend.size) if plan.adjacency.size_is_public else plan
    return sized, Ask(Data(backend), plan.budget.spendable(), plan.adjacency)


def prepare_replay(plan: Plan, answers: Iterable[object]) -> tuple[Plan, Ask]:
    """Return what :func:`run` takes, for recorded answers: no data are read."""
    responder = Replay(answers, relation_of(plan.request))
    return plan, Ask(responder, plan.budget.spendable(), plan.adjacency)


def relation_of(request: Request) -> Relation:
    """Return what a request is about; its columns may not be known before the data are opened."""
    person, groups = request.adjacency.person, request.groups
    columns = () if request.for_any else tuple(column.name for column in request.columns)
    lines = request.one_sided_bounds
    return Relation(
        columns,
        request.where,
        () if person is None else (person,) if isinstance(person, str) else person,
        () if groups is None else groups.by,
        None if lines is None else tuple(lines),
        None if groups is None else groups.groups_per_person,
        weights=request.weights,
    )


@np.errstate(all="ignore")  # noisy answers may be anything
def run(plan: Plan, ask: Ask) -> Release:
    """Let the method ask, and join what it concludes with what was spent."""
    if draws_for_fakes() and not plan.request.fake:
        raise InternalError("seeded noise is for what is marked as fake.")
    followed, rows = plan, _public_rows(plan)
    if plan.has(COUNT) and plan.n_columns > 1 and plan.request.groups is None:
        count, *_ = ask(Rows(), plan.cost(COUNT))
        followed = plan.with_count(count)
        rows = float(count), count_margin(plan.cost(COUNT), plan.adjacency)
    # Before more is paid for; one column says what it sees itself.
    weak = weak_budget(plan.budget, plan.adjacency)
    remarks = followed.notes if plan.n_columns > 1 else weak
    estimates = find(followed.method).estimate(followed, ask)
    estimates = tuple(_with_persons(_with_cells(one, plan, rows), plan, rows) for one in estimates)
    if (lines := plan.request.one_sided_bounds) is not None:
        each = zip(estimates, lines * (len(estimates) // plan.n_columns), strict=True)
        estimates = tuple(_apply_one_sided_bounds(one, line) for one, line in each)
    estimates = tuple(map(_apply_bounds, _each_column(plan, estimates), estimates))
    # Which questions were asked depends on answers; what is stated must hold for every way.
    most, budget = plan.spending, plan.budget.spendable()
    # Two ways from zCDP to an epsilon and a delta differ by rounding; the budget is what is stated.
    converted = isinstance(budget, Approx) and isinstance(plan.steps[0].cost, Zcdp)
    allowed = budget if converted else most
    if ask.spent is None or not (fits(ask.spent, allowed) and fits(most, budget)):
        raise InternalError(f"the questions cost {ask.spent}, the plan {most}.")
    return Release(
        means=_rows(plan, estimates),
        # What was asked for, as a decimal: the steps spend the largest doubles not above it.
        guarantee=Guarantee.from_budget(plan.budget, plan.adjacency),
        plan=plan,
        method=_done(plan, estimates) or followed.method,
        shared_notes=(FAKE, *remarks) if plan.request.fake else remarks,
        answers=ask.answers,
    )


def _done(plan: Plan, estimates: tuple[Estimate, ...]) -> str | None:
    """Return the method that a private count has chosen in place of the plan's, if it has.

    Groups choose for themselves: they are means by group, whatever each of them has chosen.
    """
    return None if plan.request.groups is not None else estimates[0].method


def _each_column(plan: Plan, estimates: tuple[Estimate, ...]) -> tuple[Column, ...]:
    """Return the column of every estimate; those of a group stand in the order of the columns."""
    return plan.request.columns * (len(estimates) // plan.n_columns)


def _apply_bounds(column: Column, estimate: Estimate) -> Estimate:
    """Clip within bounds; without an assumption, check that values are in the float range."""
    if isinstance(column.said, Bounded):
        estimate = _restrict_clipping(estimate, (column.said.low, column.said.high))
    if column.tail is not None or estimate.statistic == COEFFICIENT:
        return estimate
    return _check_float_range(estimate, column.possible)


def _apply_one_sided_bounds(estimate: Estimate, ends: tuple[float, float]) -> Estimate:
    """Return what follows if records were clipped to one-sided bounds first.

    Whether records lay beyond it, no answer can tell.
    """
    low, high = ends
    if math.isinf(low) and math.isinf(high):  # of this column nothing is said
        return estimate
    intervals = tuple(confined(one, ends) for one in estimate.intervals)
    shrunk = None if estimate.shrunk is None else estimate.shrunk.inside(ends)
    doubtful = estimate.assumption_contradicted or None
    return replace(estimate, intervals=intervals, assumption_contradicted=doubtful, shrunk=shrunk)


def _restrict_clipping(estimate: Estimate, ends: tuple[float, float]) -> Estimate:
    """Return the same with clip points where records can be.

    Sums are taken in ticks, and edges of ticks lie a little beyond what was told, where no
    record does: a clip point there clips nothing that one at the end does not.

    >>> _restrict_clipping(Estimate(0.5, clip=(-0.25, 0.75)), (0.0, 1.0)).clip
    (0.0, 0.75)
    """
    if estimate.clip is None:
        return estimate
    low, high = (min(max(point, ends[0]), ends[1]) for point in estimate.clip)
    return replace(estimate, clip=(low, high))


def _check_float_range(estimate: Estimate, possible: tuple[float, float]) -> Estimate:
    """Return the estimate; if records lie beyond the supported range, it says so.

    Octave counts end at 2^127, and what lies beyond counts there: infinities above all. A clip
    point or a value of that size says where the counts end, not where the records are.
    """
    given, note = _FARTHEST_CLIP, BEYOND_RANGE
    if estimate.clip is None:
        given, note = _FARTHEST_VALUE, BEYOND_RANGE_OF_VALUES
    if max(map(abs, (estimate.value, *(estimate.clip or ())))) < given:
        return estimate
    intervals = estimate.intervals
    if intervals:
        nothing = unknown(dict.fromkeys(intervals[0].error_components), possible)
        intervals = (replace(nothing, confidence=intervals[0].confidence),)
    notes = (*estimate.notes, note)
    return replace(estimate, intervals=intervals, notes=notes, shape=None, shrunk=None)


def _warn_if_unbounded(estimate: Estimate) -> Estimate:
    """Return the estimate; an interval without an end comes with a warning, whoever made it."""
    first = estimate.intervals[0] if estimate.intervals else None
    ends = first is None or (math.isfinite(first.low) and math.isfinite(first.high))
    if ends or any(note.kind == "warning" for note in estimate.notes):
        return estimate
    return replace(estimate, notes=(*estimate.notes, NO_ENDS))


def _note_if_cut_to_range(column: Column, estimate: Estimate) -> Estimate:
    """Return the estimate; an interval that ends where ``within`` does says so, if nothing else."""
    first = estimate.intervals[0] if estimate.intervals else None
    if first is None or any(
        note.kind == "warning" or note.code == CLAMPED.code for note in estimate.notes
    ):
        return estimate
    pairs = zip((first.low, first.high), column.within, strict=True)
    if not any(math.isfinite(end) and end == limit for end, limit in pairs):
        return estimate
    return replace(estimate, notes=(*estimate.notes, CUT))


def _only_what_is_known(plan: Plan, estimate: Estimate) -> Estimate:
    """Return the estimate without placeholders that a program would take for results.

    An interval of all numbers rests on nothing and proves nothing. The count of a group without a
    signal is what noise can hide, by which the method divided, and no number of records.
    """
    intervals = tuple(_resting_on_nothing(plan, one) for one in estimate.intervals)
    estimate = replace(estimate, intervals=intervals)
    if plan.request.groups is None or estimate.statistic != MEAN or EMPTY not in estimate.notes:
        return estimate
    return replace(estimate, count=None, persons=None)


def _resting_on_nothing(plan: Plan, one: Interval) -> Interval:
    """Return an interval; one without any limit says that it rests on nothing."""
    if math.isfinite(one.low) or math.isfinite(one.high):
        return one
    confidence = one.confidence or plan.confidence or 0.0
    return replace(one, basis="none", proved=False, confidence=confidence)


def _rows(plan: Plan, estimates: tuple[Estimate, ...]) -> tuple[Mean, ...]:
    """Return a row for each estimate."""
    columns = _each_column(plan, estimates)
    known = (_only_what_is_known(plan, one) for one in estimates)
    said: Iterable[Estimate] = map(_note_if_cut_to_range, columns, map(_warn_if_unbounded, known))
    if plan.request.is_of_shares:
        said = (replace(one, statistic=SHARE) for one in said)
    pairs = zip(columns, said, strict=True)
    return tuple(
        Mean.of(column.name, one, column.units)
        if one.name is None
        else Mean.of(one.name, one)  # a coefficient is in other units than its column
        for column, one in pairs
    )


def _public_rows(plan: Plan) -> tuple[float, float] | None:
    """Return the number of rows and its margin, if it is public and no condition leaves any out."""
    known = plan.adjacency.size_is_public and plan.request.where is None
    return (float(plan.n), 0.0) if known and plan.n is not None else None


def _with_cells(estimate: Estimate, plan: Plan, rows: tuple[float, float] | None) -> Estimate:
    """Return the estimate with counts of its cells, if a method knows only those of numbers."""
    if plan.missing == "none":  # by the caller's promise all of them are
        return replace(estimate, cells=None)
    if estimate.cells is not None or estimate.present is None or rows is None:
        return estimate
    numbers, margin = estimate.present
    return replace(estimate, cells=CellCounts(numbers, rows[0] - numbers, margin + rows[1]))


def _with_persons(estimate: Estimate, plan: Plan, rows: tuple[float, float] | None) -> Estimate:
    """Return the estimate with the number of persons, as far as an answer or the unit tells it."""
    if plan.adjacency.person is None or estimate.persons is not None:
        return estimate
    if plan.request.each == "person" and estimate.count is not None:
        return replace(estimate, persons=estimate.count)
    known = rows if plan.request.groups is None else None
    return estimate if known is None else replace(estimate, persons=max(known[0], 1.0))
