"""The mean over all records, where a person may have any number of them.

With s the sum and c the number of a person's records, the mean is r = sum s / sum c. From a pilot
r0 near r,

    r = r0 + sum (s - r0 c) / sum c,

and s - r0 c is small unless a person has many records that differ from the mean together: only
there does clipping cost anything. Four questions to the persons, each of whom is one number:

1. *pilot*: r0, a winsorized mean of the persons' means s / c;
2. *rows*: from octave counts of c a number K of records that count of each; then sum min(c, K);
3. *tail*: octave counts of z = s - r0 c around 0, from which follow clip points;
4. *sum*: the sum of the clipped z.

No number of records that a person may have is asked of the caller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tametail.means import WINSORIZED, Estimate, Interval
from tametail.methods.persons.budget_split import ROWS_TAIL
from tametail.methods.winsorized.approximate_interval import (
    ErrorDistribution,
    excess_notes,
    extrapolated_interval,
    hidden_excess,
    moments,
    parts,
)
from tametail.methods.winsorized.budget_split import divide
from tametail.methods.winsorized.clipping import choose_clipping
from tametail.methods.winsorized.column import ColumnPlan, nothing_known
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.methods.winsorized.sums import ClippingBounds
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.methods.winsorized.tail_histogram import TailHistogram, histogram_query
from tametail.methods.winsorized.tail_models import Prior
from tametail.notes import Note
from tametail.plans import Step
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import RELATIVE_ROUNDING, ClippingGrid, DistanceSum
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows
from tametail.tail import parse_within

if TYPE_CHECKING:
    from tametail.ask import Ask

UNSEEN = Note(
    "warning",
    "no-signal",
    "Too few people for this budget, so no mean is given. Use more people, a larger epsilon, or "
    "each='person', which needs less data.",
)


#: What an interval believes of persons' totals beyond the clip points. Fewer of them are counted
#: than of records, at more noise, so that one noisy count decides less; with the prior of records
#: intervals were up to twice as wide, and held no more often (decision 0269).
OF_TOTALS = Prior(evidence=0.7, lightness=0.7, group=0.25)

#: Fewer standard deviations of its noise than these, and a number of records may be noise alone.
SURE_OF_ROWS = 4.0


@dataclass(frozen=True, slots=True)
class Total:
    """A noisy sum of clipped numbers around 0, one for each person; None was asked if unseen."""

    value: float
    noise: Noise
    tick: float
    clip: ClippingBounds
    tails: TailHistogram | None = None

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(self.noise.variance) * self.tick

    def sampling(self, persons: int) -> tuple[float, float]:
        """Return standard deviation and skewness of the sum, due to who the persons are."""
        if self.tails is None:
            return math.sqrt(persons), 0.0
        variance, third = moments(self.clip, self.tails, persons, self.value / persons)
        skewness = 0.0
        if variance > 0:
            skewness = third / (variance * math.sqrt(variance) * math.sqrt(persons))
        return math.sqrt(variance * persons), min(max(skewness, -1.0), 1.0)

    def doubt(self, risk: float) -> float:
        """How far noise and rounding may have moved the sum, but for this risk on either side."""
        return self.noise.quantile(risk) * self.tick


def persons_mean(plan: ColumnPlan, ask: Ask, index: int, *, least_rows: float = 1.0) -> Estimate:
    """Estimate the mean of one column; the plan has the steps of ``shares``, and n persons.

    There are ``least_rows`` at least: a record, if records are counted.
    """
    persons = plan.size
    ratio = pilot_of(plan, ask, index)
    rows = number_of_rows(plan, ask, index, persons)
    steps = tuple(step for step in plan.steps if step.name in _AROUND_ZERO)
    around = replace(plan, steps=steps, half=None)  # it bounds records, not what is added up here
    budget = around.spending
    asked = ask.on(ask.relation.per_person(PersonResidual(ratio, index)), budget)
    total = clipped_sum(around, asked, plan.cost("tail"), persons)
    return conclude(plan, ratio, rows, total, least_rows)


def conclude(
    plan: ColumnPlan, ratio: float, rows: Total, total: Total | None, least_rows: float = 1.0
) -> Estimate:
    """Return what follows from a pilot, the number of records and the sum of differences."""
    low, high = plan.possible
    # Noise may have made it anything.
    records = max(rows.value + rows.clip.excess, rows.doubt(0.5), least_rows, rows.tick)
    count = records if rows.tails is not None else None  # else nobody was counted
    if total is None or count is None:  # a sum of records, over nobody knows how many
        unknown = () if plan.confidence is None else (nothing_known(plan),)
        return Estimate(min(max(ratio, low), high), unknown, notes=(UNSEEN,), count=count)
    value = min(max(ratio + (total.value + total.clip.excess) / records, low), high)
    if plan.confidence is None:
        return Estimate(value, count=count)
    # Bounds told are of records, not of what is added up here.
    found, said = _intervals(replace(plan, half=None), ratio, total, rows, value)
    intervals = tuple(replace(one, confidence=plan.confidence) for one in found)
    return Estimate(value, intervals, notes=said, count=count)


#: The steps that are asked about s - r0 c.
_AROUND_ZERO = ("tail", "sum")


def pilot_of(plan: ColumnPlan, ask: Ask, index: int) -> float:
    """Return a private mean of the persons' means, which may lie anywhere."""
    cost, anywhere = plan.cost("pilot"), parse_within(None)
    pilot = replace(plan, within=anywhere, possible=anywhere, confidence=None, budget=cost)
    pilot = replace(pilot, steps=divide(pilot))
    return winsorized_mean(pilot, ask.on(ask.relation.per_person(PersonMean(index)), cost)).value


def number_of_rows(plan: ColumnPlan, ask: Ask, index: int, persons: int) -> Total:
    """Return a private sum of min(c, K), with K by octave counts of c."""
    cost = plan.cost("rows")
    tail, total = cost.split(ROWS_TAIL, 1 - ROWS_TAIL)
    steps = Step("tail", tail), Step("sum", total)
    part = replace(plan, confidence=None, budget=cost, steps=steps, half=None)
    asked = ask.on(ask.relation.per_person(PersonRows(index)), cost)
    found = clipped_sum(part, asked, tail, persons, is_positive=True)
    return one_row_each(persons, total) if found is None else found


def one_row_each(persons: int, cost: Budget) -> Total:
    """Nobody stands out: there are few persons, with one record each as far as one can tell."""
    return Total(float(persons), noise_for(cost, 1, 1), 1.0, ClippingBounds(0.0, 0.0, 1.0))


def clipped_sum(
    plan: ColumnPlan, ask: Ask, tail: Budget, persons: int, *, is_positive: bool = False
) -> Total | None:
    """Ask for octave counts around 0 and then for the sum, clipped where they suggest."""
    tails = octaves_around_zero(plan, ask, tail)
    return sum_between(plan, ask, tails, persons, is_positive=is_positive)


def octaves_around_zero(plan: ColumnPlan, ask: Ask, cost: Budget) -> TailHistogram:
    """Count the persons by the octaves of their numbers."""
    nodes = histogram_query(plan, 0.0)
    return TailHistogram.read(plan, nodes, ask(nodes, cost), cost)


def sum_between(
    plan: ColumnPlan,
    ask: Ask,
    tails: TailHistogram,
    persons: int,
    *,
    is_positive: bool = False,
    least: float = 0.0,
) -> Total | None:
    """Ask for the sum, clipped where octave counts suggest; None if nothing stands out.

    Clip points that are closer than ``least`` move there, and what lies beyond is not added back.
    What ``is_positive`` by its meaning is clipped at 0: a replacement then moves the sum less.
    """
    clip = choose_clipping(plan, 0.0, tails, persons, Reference.of(plan, (0.0, 0.0)))
    if 0 < clip.side < least:
        clip = replace(clip, below=least, above=least, excess=0.0)
    if is_positive:
        clip = replace(clip, below=0.0)
    if clip.side == 0:
        return None
    cost = plan.cost("sum")
    lattice = ClippingGrid.of_distances(
        0.0, clip.below, clip.above, strength=cost.strength, records=persons
    )
    query = DistanceSum(0.0, lattice)
    (answer,) = ask(query, cost)
    sensitivity = query.sensitivity(plan.adjacency)
    noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
    return Total(lattice.value(answer), noise, lattice.tick, clip, tails)


def _intervals(
    plan: ColumnPlan, ratio: float, total: Total, rows: Total, value: float
) -> tuple[tuple[Interval, ...], tuple[Note, ...]]:
    """Return the interval for the mean, and that for r0 + sum clip(z) / sum min(c, K).

    They are those of a column: the law of the noises is public; sampling is taken to be normal but
    for its skewness, with moments read off the octave counts of z and of c; what clipping took off
    has the law that the counts of z tell. With d the distance from the pilot, an error w of the
    number of records C moves the ratio by d w / C.
    """
    risk, persons = 1 - (plan.confidence or 0.0), plan.size
    if total.tails is None or rows.value < SURE_OF_ROWS * rows.deviation:
        return (nothing_known(plan),), ()
    records, distance = rows.value, total.value / rows.value
    deviation = skewness = counted = 0.0
    if plan.target == "population":
        deviation, skewness = total.sampling(persons)
        counted, _ = rows.sampling(persons)
    cut = total.tick + persons * total.clip.side * RELATIVE_ROUNDING
    error = ErrorDistribution(
        deviation=deviation / records,
        skewness=skewness,
        noise=Noise(total.noise.kind, total.noise.scale * total.tick / records),
        miscounted=abs(distance) * math.hypot(rows.deviation, counted) / records,
        rounding=2 * math.ulp(abs(ratio)) + cut / records,
    )
    center, (least, most) = ratio + distance, plan.possible
    below, above = error.ends(risk / 2)
    low, high = min(center - below, value), max(center + above, value)
    found = parts(error, risk, truncation=None, privacy=error.privacy(risk))
    own = Interval(low, high, *WINSORIZED, proved=False, error_components=found)
    sides = hidden_excess(plan, total.clip, total.tails, records, OF_TOTALS)
    mean = extrapolated_interval(plan, value, center, error, sides)
    first, second = (
        replace(one, low=max(one.low, least), high=min(one.high, most)) for one in (mean, own)
    )
    return (first, second), excess_notes(sides, (first,))
