"""The default mean: winsorize around a private median, at private clip points.

Three questions to the data (four with an interval), and arithmetic on noisy numbers between:

1. *center*: a private median, over all doubles;
2. *tail*: noisy counts of the distances from it, by octaves, on either side. From them alone
   follow the clip points;
3. *sum*: noisy sum and count of the clipped distances from it;
4. *spread* (for the interval): second moment of the clipped distances.

The first two are a half of their own (:func:`estimate_spread`), so that the spread of several
columns can be estimated before any is summed. If the counts show that the center lies away from the
records, 1 and 2 are asked once more, closer. If nothing stands out of their noise, 2 is asked once
more with the budget of 3; if they show that the caller's bounds are loose, with a part of it. The
numbered lines are those of the pseudocode in docs/explanation/method.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tametail import notes
from tametail.means import Estimate, Interval, confined, cut
from tametail.methods.bounded.estimate import NAME as BOUNDED
from tametail.methods.bounded.estimate import bounded_mean
from tametail.methods.cells import UNUSUAL, count_noise, read_cells
from tametail.methods.known_scale import budget_split as location_shares
from tametail.methods.known_scale import location
from tametail.methods.known_scale.estimate import NAME as KNOWN_SCALE
from tametail.methods.known_scale.estimate import known_scale_mean
from tametail.methods.known_scale.predict import foresee
from tametail.methods.survival import survival_shape
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.approximate_interval import (
    ErrorDistribution,
    excess_notes,
    hidden_excess,
)
from tametail.methods.winsorized.budget_split import (
    center_costs,
    count_share,
    counted_again,
    expected_notes,
    halvings,
    missing_assumptions,
    sample_halvings,
    with_count,
)
from tametail.methods.winsorized.clipping import (
    choose_clipping,
    has_wide_bounds,
    needs_no_squares,
    second_clipping,
)
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.guaranteed_interval import intervals_around
from tametail.methods.winsorized.sums import (
    ClippingBounds,
    NoisySum,
    RecordCount,
    read_sum,
    squares_bound,
    squares_query,
    sum_query,
)
from tametail.methods.winsorized.tail_assumption import Reference, contradicts
from tametail.methods.winsorized.tail_histogram import TailHistogram, histogram_query
from tametail.privacy.budget import Noise
from tametail.queries.column import SOFT_ONE, ClippingGrid, Count, Median
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import CellCounts
    from tametail.notes import Note
    from tametail.plans import PricedRequest
    from tametail.privacy.budget import Budget
    from tametail.queries.column import LogHistogram


def column_mean(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan of a single column."""
    return (winsorized_mean(ColumnPlan.of(plan), ask),)


def winsorized_mean(plan: ColumnPlan, ask: Ask) -> Estimate:
    """Run the plan: ask, and conclude from the answers."""
    found = estimate_spread(plan, ask)
    return found.finish(ask) if isinstance(found, SpreadEstimate) else found


def estimate_spread(plan: ColumnPlan, ask: Ask) -> SpreadEstimate | Estimate:
    """Ask all that comes before the sum, and choose where to clip.

    If bounds or a scale are told, and a private count shows that there is too little to look at,
    this is all there is to ask.
    """
    known, times, too_many, cells = None, halvings(plan.size), 0.0, None
    if plan.has("count"):
        cost = plan.cost("count")
        counts = ask(Count(), cost)  # line 1
        if (unclear := counted_again(plan, counts[0], cost)) is not None:
            plan, cost = unclear
            counts = ask(Count(), cost)
        plan, known, times, too_many = _plan_by_count(plan, counts[0], cost)
        cells = read_cells(counts, cost, plan.adjacency)
        if not plan.has("center"):
            return replace(_fallback_mean(plan, ask), cells=cells)
    size = plan.size

    (low, high), cost = plan.possible, plan.cost("center")
    if (costs := center_costs(plan)) is not None:
        buckets, (first, cost) = location.densest_bin_query(plan), costs
        low, high = location.around(plan, location.middle(buckets, ask(buckets, first)))
    center = ask(Median(times, low, high), cost)  # line 2
    rest, nodes, cost = plan, histogram_query(plan, center), plan.cost("tail")
    tails = TailHistogram.read(plan, nodes, ask(nodes, cost), cost)  # line 3
    if (elsewhere := _relocated_range(plan, center, tails, size - too_many)) is not None:  # line 4
        rest = plan.with_new_center()  # line 5
        center = ask(Median(times, *elsewhere), rest.cost("center"))  # line 6
        nodes, cost = histogram_query(rest, center), rest.cost("tail")
        tails = TailHistogram.read(rest, nodes, ask(nodes, cost), cost)  # line 7
    reference = Reference.of(plan, (center, center))
    clip = choose_clipping(rest, center, tails, size, reference)
    if rest is plan and has_wide_bounds(plan, clip):  # line 9
        rest, cost = plan.with_second_spread_estimate()
        again = TailHistogram.read(plan, nodes, ask(nodes, cost), cost)
        tails = tails.averaged_with(again)  # line 10
        clip = choose_clipping(rest, center, tails, size, reference)
    if rest.has("spread") and needs_no_squares(rest, clip, tails):
        rest = rest.without_squares()  # the sum can make better use of its cost
    return SpreadEstimate(plan, rest, nodes, tails, clip, known, cells)


@dataclass(frozen=True, slots=True)
class SpreadEstimate:
    """What the questions before the sum have shown: where to clip, and what is left to spend.

    ``plan`` is what they were asked by, ``rest`` what is left of it; ``known`` is the number of
    records and ``cells`` those of cells, if they were asked for.
    """

    plan: ColumnPlan
    rest: ColumnPlan
    nodes: LogHistogram
    tails: TailHistogram
    clip: ClippingBounds
    known: RecordCount | None
    cells: CellCounts | None

    @property
    def size(self) -> int:
        """The number of records, as far as the plan knows it."""
        return self.plan.size

    def finish(self, ask: Ask) -> Estimate:
        """Ask for the sum, and conclude."""
        plan, rest, clip, tails, known = self.plan, self.rest, self.clip, self.tails, self.known
        cost, squares = rest.cost("sum"), math.inf
        if clip.side == 0:  # line 11
            if tails.count is None:
                about = self.size if known is None else min(known.number, self.size)
                share = count_share(cost, about)
                part, left = cost.split(share, 1 - share)
                sharper = count_noise(part, plan.adjacency).scale
                if known is None or sharper <= known.noise.scale / 2:
                    answer, *_ = ask(Count(), part)  # line 12
                    cost, known = left, RecordCount.from_answer(answer, part, plan.adjacency)
            again = TailHistogram.read(rest, self.nodes, ask(self.nodes, cost), cost)
            tails = tails.averaged_with(again)  # line 13
            clip = second_clipping(rest, clip.center, tails)
            if tails.count is not None or known is None:
                known = RecordCount.beside(rest, tails.count, tails.noise, self.size)
            total = sum_of_counts(clip, tails, known)  # line 15
        else:
            query = sum_query(rest, clip, self.size)
            answers = ask(query, cost)  # line 23
            known = RecordCount.beside(rest, tails.count, tails.noise, self.size)
            total = read_sum(rest, clip, query, answers, known)
        if rest.has("spread"):  # line 24
            squares = 0.0
            if clip.side > 0:
                capped = squares_query(clip)
                (answer,) = ask(capped, rest.cost("spread"))
                squares = squares_bound(rest, capped, answer)
        return self.conclude(total, clip, tails, squares)

    def conclude(
        self, total: NoisySum, clip: ClippingBounds, tails: TailHistogram, squares: float
    ) -> Estimate:
        """Return what follows from the answers; ``squares`` is infinite if it was not asked for."""
        plan = self.plan
        raw = total.mean + clip.excess / total.count
        value = min(max(raw, plan.possible[0]), plan.possible[1])  # line 25
        held = _is_limited_by_within(plan, raw - value, clip, tails, total)
        beyond = hidden_excess(plan, clip, tails, total.count) if clip.has_signal else None
        intervals: tuple[Interval, ...] = ()
        if plan.confidence is not None:
            # line 26
            first, *others = intervals_around(plan, value, clip, tails, total, squares, beyond)
            first = first if held else cut(first, plan.possible)
            found = (confined(one, plan.ends) for one in (first, *others))
            intervals = tuple(replace(one, confidence=plan.confidence) for one in found)
        off = abs(value - clip.center)
        if plan.tail is not None and clip.has_signal:
            off += max(ErrorDistribution.of(plan, clip, tails, total).ends(tuned.DOUBT_RISK))
        given, count = plan.half or plan.tail, total.count
        doubtful = contradicts(given, tails, clip.center, off, count)  # line 27
        found_out = (  # line 28
            (notes.MISPLACED, tails.location_error(count, perhaps=True) is not None),
            (notes.CONTRADICTED if held else notes.CLAMPED, raw != value),
            (notes.DOUBTFUL, doubtful),
        )
        said = (*_usual_notes(plan, clip), *(note for note, is_so in found_out if is_so))
        if plan.tail is None and beyond is not None:
            said += excess_notes(beyond, intervals)
        return Estimate(
            value, intervals, total.ends, held or doubtful, said,
            count=total.count, present=total.present(UNUSUAL), cells=self.cells,
            shape=survival_shape(tails, clip.center, clip.detected, total.count),
        )  # fmt: skip


def _fallback_mean(plan: ColumnPlan, ask: Ask) -> Estimate:
    """Clamp to the bounds that were told, or around where the records are by their scale.

    A private count has shown that there are too few records to look at their spread.
    """
    if isinstance(plan.tail, Bounded):
        return replace(bounded_mean(plan, ask), method=BOUNDED)
    plan = replace(plan, steps=location_shares.steps(plan))
    found = known_scale_mean(plan, ask)
    return replace(found, notes=(*foresee(plan), *found.notes), method=KNOWN_SCALE)


def _plan_by_count(
    plan: ColumnPlan, answer: int, cost: Budget
) -> tuple[ColumnPlan, RecordCount | None, int, float]:
    """Return the plan by a private count that had this cost, with its steps, and the count.

    And how often to halve the records for a sample, and by how much they may be fewer than the plan
    takes them to be; a guess is taken as it is.
    """
    doubt, too_many = count_noise(cost, plan.adjacency).quantile(tuned.RARE), 0.0
    if plan.n is None:
        plan, too_many = with_count(plan, answer), doubt
    times = sample_halvings(plan.size, answer, doubt)
    return plan, RecordCount.from_answer(answer, cost, plan.adjacency), times, too_many


def _relocated_range(
    plan: ColumnPlan, center: float, tails: TailHistogram, size: float
) -> tuple[float, float] | None:
    """Return where to look for a new center, if the counts show that this one is misplaced.

    That happens if records agree in more digits than the first median could pay for, such as a
    spread of 0.1 around a million. Now that they are known to be near, fewer digits are missing.
    """
    distances = tails.location_error(size)
    if distances is None:
        return None
    (low, high), (near, far) = plan.possible, distances
    low, high = max(low, center + near), min(high, center + far)
    return (low, high) if low < high else None


# --- what the last answers say --------------------------------------------------------------------

#: Noises at octave nodes, weighted by their distances, and on two sides: the moment generating
#: function of their sum is below that of 16/3 noises of the top node, and so the tail of the sum
#: (up to probability 0.2) below that of one noise of three times its scale.
TOP_NODES = 3.0

#: The scale of no noise: nothing was summed.
LEAST_SCALE = 1e-3


def sum_of_counts(clip: ClippingBounds, tails: TailHistogram, known: RecordCount) -> NoisySum:
    """Return the sum that the octave counts themselves give, up to the clip points."""
    lattice = ClippingGrid.around(0.0, clip.below, clip.above)
    total, scale, coarse = 0.0, LEAST_SCALE, 0.0
    if clip.side > 0:
        distances = tails.distances
        total = sum(
            sign * float(counts[distances <= end] @ distances[distances <= end])
            for sign, counts, end in zip(
                (-1, 1), tails.sides, (clip.below, clip.above), strict=True
            )
            if end > 0
        )
        # Records beyond the top node are left out; what may hide there counts as noise, too.
        hidden = max(tails.beyond(counts, clip.side, tuned.RARE) for counts in tails.sides)
        scale = TOP_NODES * tails.noise.scale / SOFT_ONE + hidden / math.log(100)
        scale *= clip.side / lattice.tick
        # A soft count keeps the sum of distances to within a 32nd of each, if nodes are not shared.
        coarse = max(clip.side / SOFT_ONE, tails.coarsest(clip.side))
    noise = Noise(tails.noise.kind, scale)
    number, weight, count_noise = known
    return NoisySum(
        clip.center, lattice, total / lattice.tick, number, weight, noise, coarse, count_noise
    )


def _is_limited_by_within(
    plan: ColumnPlan, beyond: float, clip: ClippingBounds, tails: TailHistogram, total: NoisySum
) -> bool:
    """Say whether the mean lies outside of where it can be by more than errors account for."""
    if beyond == 0 or not clip.has_signal:
        return False
    error = ErrorDistribution.of(plan, clip, tails, total)
    return abs(beyond) > error.margin(tuned.RARE / 2, -1 if beyond > 0 else 1)


def _usual_notes(plan: ColumnPlan, clip: ClippingBounds) -> tuple[Note, ...]:
    """Return what is to be said of the plan, and of where records are clipped."""
    said = list(expected_notes(plan))
    if not clip.has_signal:
        bounded = isinstance(plan.tail, Bounded)
        said.append(notes.nothing_seen(missing_assumptions(plan), bounded=bounded))
    if clip.side == 0:
        said.append(notes.MEDIAN)
    return tuple(said)
