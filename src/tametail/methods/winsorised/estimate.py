"""The default mean: winsorise around a private median, at private clip points.

Three questions to the data (four with an interval), and arithmetic on noisy numbers between:

1. *centre*: a private median, over all doubles;
2. *tail*: noisy counts of the distances from it, by octaves, on either side. From them alone
   follow the clip points;
3. *sum*: noisy sum and count of the clipped distances from it;
4. *spread* (for the interval): second moment of the clipped distances.

The first two are a half of their own (:func:`look`), so that several columns can be looked at
before any is summed. If the counts show that the centre lies away from the records, 1 and 2 are
asked once more, closer. If nothing stands out of their noise, 2 is asked once more with the budget
of 3; if they show that the caller's bounds are loose, with a part of it. The numbered lines are
those of the pseudocode in docs/explanation/method.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tametail.methods.cells import count_noise, read_cells
from tametail.methods.located import location
from tametail.methods.located.unseen import unseen_mean
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.budget_split import (
    centre_costs,
    count_share,
    counted_again,
    halvings,
    sample_halvings,
    with_count,
)
from tametail.methods.winsorised.clipping import choose_clip, is_loose, look_again, needs_no_squares
from tametail.methods.winsorised.column import ColumnPlan
from tametail.methods.winsorised.conclude import conclude
from tametail.methods.winsorised.reference import Reference
from tametail.methods.winsorised.sums import (
    Clip,
    Counted,
    Sum,
    is_sharper,
    read_sum,
    squares_bound,
    squares_query,
    sum_of_counts,
    sum_query,
)
from tametail.methods.winsorised.tail_histogram import Tails, octave_nodes
from tametail.queries.column import Count, Median

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import CellCounts, Estimate
    from tametail.plans import PricedRequest
    from tametail.privacy.budget import Budget
    from tametail.queries.column import TailNodes


def look(plan: ColumnPlan, ask: Ask) -> Look | Estimate:
    """Ask all that comes before the sum, and choose where to clip.

    If bounds or a scale are told, and a private count shows that there is too little to look at,
    this is all there is to ask.
    """
    known, times, too_many, cells = None, halvings(max(plan.n or 0, 1)), 0.0, None
    if plan.has("count"):
        cost = plan.cost("count")
        counts = ask(Count(), cost)  # line 1
        if (unclear := counted_again(plan, counts[0], cost)) is not None:
            plan, cost = unclear
            counts = ask(Count(), cost)
        plan, known, times, too_many = _planned(plan, counts[0], cost)
        cells = read_cells(counts, cost, plan.unit)
        if not plan.has("centre"):
            return replace(unseen_mean(plan, ask), cells=cells)
    size = max(plan.n or 0, 1)

    (low, high), cost = plan.possible, plan.cost("centre")
    if (costs := centre_costs(plan)) is not None:
        buckets, (first, cost) = location.crowd(plan), costs
        low, high = location.around(plan, location.middle(buckets, ask(buckets, first)))
    centre = ask(Median(times, low, high), cost)  # line 2
    rest, nodes, cost = plan, octave_nodes(plan, centre), plan.cost("tail")
    tails = Tails.read(plan, nodes, ask(nodes, cost), cost)  # line 3
    if (elsewhere := _elsewhere(plan, centre, tails, size - too_many)) is not None:  # line 4
        rest = plan.with_new_centre()  # line 5
        centre = ask(Median(times, *elsewhere), rest.cost("centre"))  # line 6
        nodes, cost = octave_nodes(rest, centre), rest.cost("tail")
        tails = Tails.read(rest, nodes, ask(nodes, cost), cost)  # line 7
    reference = Reference.of(plan, (centre, centre))
    clip = choose_clip(rest, centre, tails, size, reference)
    if rest is plan and is_loose(plan, clip):  # line 9
        rest, cost = plan.with_second_look()
        again = Tails.read(plan, nodes, ask(nodes, cost), cost)
        tails = tails.averaged_with(again)  # line 10
        clip = choose_clip(rest, centre, tails, size, reference)
    return Look(plan, _spared(rest, clip, tails), nodes, tails, clip, known, cells)


@dataclass(frozen=True, slots=True)
class Look:
    """What the questions before the sum have shown: where to clip, and what is left to spend.

    ``plan`` is what they were asked by, ``rest`` what is left of it; ``known`` is the number of
    records and ``cells`` those of cells, if they were asked for.
    """

    plan: ColumnPlan
    rest: ColumnPlan
    nodes: TailNodes
    tails: Tails
    clip: Clip
    known: Counted | None
    cells: CellCounts | None

    @property
    def size(self) -> int:
        """The number of records, as far as the plan knows it."""
        return max(self.plan.n or 0, 1)

    def finish(self, ask: Ask) -> Estimate:
        """Ask for the sum, and conclude."""
        plan, rest, clip, tails, known = self.plan, self.rest, self.clip, self.tails, self.known
        cost, squares = rest.cost("sum"), math.inf
        if clip.side == 0:  # line 11
            if tails.count is None:
                about = self.size if known is None else min(known.number, self.size)
                share = count_share(cost, about)
                part, left = cost.split(share, 1 - share)
                if known is None or is_sharper(count_noise(part, plan.unit), known.noise):
                    answer, *_ = ask(Count(), part)  # line 12
                    cost, known = left, Counted.asked(answer, part, plan.unit)
            again = Tails.read(rest, self.nodes, ask(self.nodes, cost), cost)
            tails = tails.averaged_with(again)  # line 13
            clip = look_again(rest, clip.centre, tails)
            if tails.count is not None or known is None:
                known = Counted.by_octaves(rest, tails, self.size)
            total = sum_of_counts(clip, tails, known)  # line 15
        else:
            query = sum_query(rest, clip, self.size)
            answers = ask(query, cost)  # line 22
            known = Counted.by_octaves(rest, tails, self.size)
            total = read_sum(rest, clip, query, answers, known)
        if rest.has("spread"):  # line 23
            squares = 0.0
            if clip.side > 0:
                capped = squares_query(clip)
                (answer,) = ask(capped, rest.cost("spread"))
                squares = squares_bound(rest, capped, answer)
        return self.conclude(total, clip, tails, squares)

    def conclude(self, total: Sum, clip: Clip, tails: Tails, squares: float) -> Estimate:
        """Return what follows from the sum."""
        found = conclude(self.plan, clip, tails, total, squares)  # line 27
        return replace(found, cells=self.cells)


def column_mean(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan of a single column."""
    return (winsorised_mean(ColumnPlan.of(plan), ask),)


def winsorised_mean(plan: ColumnPlan, ask: Ask) -> Estimate:
    """Run the plan: ask, and conclude from the answers."""
    found = look(plan, ask)
    return found.finish(ask) if isinstance(found, Look) else found


def _planned(
    plan: ColumnPlan, answer: int, cost: Budget
) -> tuple[ColumnPlan, Counted | None, int, float]:
    """Return the plan by a private count that had this cost, with its steps, and the count.

    And how often to halve the records for a sample, and by how much they may be fewer than the plan
    takes them to be; a guess is taken as it is.
    """
    doubt, too_many = count_noise(cost, plan.unit).quantile(tuned.RARE), 0.0
    if plan.n is None:
        plan, too_many = with_count(plan, answer), doubt
    times = sample_halvings(max(plan.n or 0, 1), answer, doubt)
    return plan, Counted.asked(answer, cost, plan.unit), times, too_many


def _spared(plan: ColumnPlan, clip: Clip, tails: Tails) -> ColumnPlan:
    """Return the plan without a second moment, if the sum can make better use of its cost."""
    spared = plan.has("spread") and needs_no_squares(plan, clip, tails)
    return plan.without_squares() if spared else plan


def _elsewhere(
    plan: ColumnPlan, centre: float, tails: Tails, size: float
) -> tuple[float, float] | None:
    """Return where to look for a new centre, if the counts show that this one is misplaced.

    That happens if records agree in more digits than the first median could pay for, such as a
    spread of 0.1 around a million. Now that they are known to be near, fewer digits are missing.
    """
    distances = tails.misplaced(size)
    if distances is None:
        return None
    (low, high), (near, far) = plan.possible, distances
    low, high = max(low, centre + near), min(high, centre + far)
    return (low, high) if low < high else None
