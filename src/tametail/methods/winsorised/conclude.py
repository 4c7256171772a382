"""From the last answers to an estimate: value, intervals, doubts and notes. No data here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tametail import notes
from tametail.means import Estimate, Interval, confined, cut
from tametail.methods.cells import UNUSUAL
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.budget_split import foresee, untold
from tametail.methods.winsorised.calibrated import Error
from tametail.methods.winsorised.doubt import contradicts
from tametail.methods.winsorised.interval import intervals_around
from tametail.methods.winsorised.posterior import hidden, notes_of
from tametail.methods.winsorised.seen import shape
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.methods.winsorised.column import ColumnPlan as Plan
    from tametail.methods.winsorised.sums import Clip, Sum
    from tametail.methods.winsorised.tail_histogram import Tails
    from tametail.notes import Note


def conclude(plan: Plan, clip: Clip, tails: Tails, total: Sum, squares: float) -> Estimate:
    """Return what follows from the answers; ``squares`` is infinite if it was not asked for."""
    raw = total.mean + clip.excess / total.count
    value = min(max(raw, plan.possible[0]), plan.possible[1])  # line 24
    held = _is_held_back(plan, raw - value, clip, tails, total)
    beyond = hidden(plan, clip, tails, total.count) if clip.sees else None
    intervals: tuple[Interval, ...] = ()
    if plan.confidence is not None:
        first, *rest = intervals_around(plan, value, clip, tails, total, squares, beyond)  # line 25
        first = first if held else cut(first, plan.possible)
        found = (confined(one, plan.ends) for one in (first, *rest))
        intervals = tuple(replace(one, confidence=plan.confidence) for one in found)
    off = abs(value - clip.centre)
    if plan.tail is not None and clip.sees:
        off += max(Error.of(plan, clip, tails, total).ends(tuned.DOUBT_RISK))
    doubtful = contradicts(plan.half or plan.tail, tails, clip.centre, off, total.count)  # line 26
    misplaced = tails.misplaced(total.count, perhaps=True) is not None
    said = _notes(
        plan, clip, misplaced=misplaced, doubtful=bool(doubtful), clamped=raw != value, held=held
    )
    if plan.tail is None and beyond is not None:
        said += notes_of(beyond, intervals)
    return Estimate(
        value, intervals, total.ends, held or doubtful, said,
        count=total.count, present=total.present(UNUSUAL), shape=shape(clip, tails, total.count),
    )  # fmt: skip


def _is_held_back(plan: Plan, beyond: float, clip: Clip, tails: Tails, total: Sum) -> bool:
    """Say whether the mean lies outside of where it can be by more than errors account for."""
    if beyond == 0 or not clip.sees:
        return False
    error = Error.of(plan, clip, tails, total)
    return abs(beyond) > error.reach(tuned.RARE / 2, -1 if beyond > 0 else 1)


def _notes(
    plan: Plan, clip: Clip, *, misplaced: bool, doubtful: bool, clamped: bool, held: bool
) -> tuple[Note, ...]:
    said = list(foresee(plan))
    if not clip.sees:
        bounded = isinstance(plan.tail, Bounded)
        said.append(notes.nothing_seen(untold(plan), bounded=bounded))
    if clip.side == 0:
        said.append(notes.MEDIAN)
    if misplaced:
        said.append(notes.MISPLACED)
    if clamped:
        said.append(notes.CONTRADICTED if held else notes.CLAMPED)
    if doubtful:
        said.append(notes.DOUBTFUL)
    return tuple(said)
