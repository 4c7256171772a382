"""Means by group where each person belongs to one group: groups of persons are disjoint.

The relation keeps each person to the group that most of their rows are in, so that one person is in
one group and groups cost what one of them costs.

1. *kept*: how many rows of persons were kept and how many left out, for what the release says;
2. *sizes*: how many persons each group has. Those with enough are estimated alone, as if nobody
   else were there, at all that is left;
3. *pool*: if there are others, a pilot and octave counts of all persons. A small group then takes
   the pilot and, for its size, the clip points from the pool, and asks for its two sums.

Where each person counts once, a person is a number, and small groups of numbers are released as
small groups of records are. Which groups are small follows from their noisy sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.keys import Key
from tametail.means import MEAN, Estimate
from tametail.methods.cells import read_cells
from tametail.methods.groups import constants as tuned
from tametail.methods.groups.estimate import ask_cells, ask_pool
from tametail.methods.groups.keys import EMPTY, asked, chosen_keys
from tametail.methods.groups.lengths import best_limit
from tametail.methods.groups.plan import (
    group_plan,
    group_plans,
    steps_of_separate_persons,
)
from tametail.methods.persons.budget_split import divide as divide_persons
from tametail.methods.persons.estimate import (
    Total,
    conclude,
    number_of_rows,
    octaves_around_zero,
    one_row_each,
    persons_mean,
    pilot_of,
    sum_between,
)
from tametail.methods.winsorized.column import ROUNDING, ColumnPlan, nothing_known, together
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.methods.winsorized.tail_histogram import TailHistogram
from tametail.notes import KEPT_UNKNOWN, kept_records
from tametail.plans import COUNT, PricedRequest, Step
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import ClippingGrid, Count, DistanceSum, edge_above
from tametail.queries.groups import ScaledSums
from tametail.queries.persons import GroupRows, PersonMean, PersonResidual, PersonRows, View
from tametail.queries.rows import Rows
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask

Array = npt.NDArray[np.float64]


def means_of_separate_persons(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: choose keys if they are private, then estimate column by column."""
    groups, keys = chosen_keys(plan, ask)
    if not keys:
        return ()
    if plan.has(COUNT):
        count, *_ = groups(Rows(), plan.cost(COUNT))
        plan = plan.recounted(count, steps_of_separate_persons)
    columns = [
        _Column(plan.request, part, index, len(keys), max(plan.n or 1, 1)).estimate(groups, keys)
        for index, part in enumerate(group_plans(plan, len(keys)))
    ]
    return tuple(row for rows in zip(*columns, strict=True) for row in rows)


@dataclass(frozen=True, slots=True)
class Pool:
    """What all persons show: a pilot, and octave counts of their rows and differences from it."""

    ratio: float
    rows: TailHistogram
    residuals: TailHistogram
    persons: int


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of a release: what is asked, and what follows from the answers."""

    request: Request
    part: ColumnPlan
    index: int
    groups: int
    persons: int

    def estimate(self, ask: Ask, keys: tuple[Key, ...]) -> list[Estimate]:
        """Ask, and conclude: an estimate for every key."""
        kept = self._share_kept(ask)
        note = (KEPT_UNKNOWN if kept is None else kept_records(kept),)
        return [
            replace(one, group=key.label, kept=kept, notes=(*one.notes, *note))
            for one, key in zip(self._each_group(ask), keys, strict=True)
        ]

    @property
    def _by_person(self) -> bool:
        return self.request.each == "person"

    def _each_group(self, ask: Ask) -> list[Estimate]:
        """Ask large groups alone, and all others with what the pool shows: they are disjoint."""
        part, wanted = self.part, asked(self.request)
        sizes = self._sizes(ask)
        enough = -math.inf if wanted.pooling is None else self._enough
        is_large = sizes * part.cost("groups").strength >= enough
        large, small = np.flatnonzero(is_large).tolist(), np.flatnonzero(~is_large).tolist()
        both = together([part.cost("pool"), part.cost("groups")])
        cost = part.cost("groups") if small else both.share(1 - ROUNDING)
        small_groups = self._with_pool(ask) if small else None
        sets = [*([place] for place in large), *([small] if small else [])]
        asks = ask.disjoint([ask.relation.of(places) for places in sets], cost)

        def alone(index: int, about: Ask) -> Estimate:
            return self._alone(about, sizes[large[index]], cost)

        found = dict(zip(large, ask.for_each(asks[: len(large)], alone), strict=True))
        if small_groups is not None:
            found |= zip(small, small_groups(asks[-1], sizes[small]), strict=True)
        return [found[place] for place in range(self.groups)]

    @property
    def _enough(self) -> float:
        return tuned.ALONE if self._by_person else tuned.ALONE_PERSONS

    def _alone(self, ask: Ask, size: float, cost: Budget) -> Estimate:
        """Estimate a group as if nobody else were there."""
        persons = max(round(size), 1)
        if self._by_person:
            about = ask.on(ask.relation.per_person(PersonMean(self.index)))
            one = winsorized_mean(group_plan(self.part, persons, cost), about)
            return replace(one, count=float(persons))
        plan = group_plan(self.part, None, cost)
        plan = replace(plan, n=persons, steps=divide_persons(cost, persons))
        one = replace(persons_mean(plan, ask, self.index), persons=float(persons))
        return one if self._is_seen(size) else _perhaps_empty(plan, one)

    def _with_pool(self, ask: Ask) -> Callable[[Ask, Array], list[Estimate]]:
        """Ask all persons for what small groups need, and return how these are estimated."""
        return self._numbers_with_pool(ask) if self._by_person else self._records_with_pool(ask)

    def _about(self, cost: Budget, *steps: Step) -> ColumnPlan:
        """Return a plan about all persons that may spend ``cost``."""
        return ColumnPlan.untold(self.request, self.persons, cost, steps)

    def _share_kept(self, ask: Ask) -> float | None:
        """Return the share of the rows that are in the group of their person; None if unseen.

        Rows of a person beyond the number that the octave counts suggest do not count: neither
        those that were kept nor those that were left out.
        """
        of_rows, of_dropped = self.part.cost("kept").split(tuned.KEPT_ROWS, 1 - tuned.KEPT_ROWS)
        plan = self._about(of_rows, Step("rows", of_rows))
        rows = number_of_rows(plan, ask, self.index, self.persons)
        if rows.tails is None:
            return None
        lattice = ClippingGrid.of_distances(
            0.0, 0.0, rows.clip.above, strength=of_dropped.strength, records=self.persons
        )
        view = ask.relation.dropped().per_person(PersonRows(self.index))
        (answer,) = ask.on(view, of_dropped)(DistanceSum(0.0, lattice), of_dropped)
        dropped = max(lattice.value(answer), 0.0)
        return 1.0 - min(dropped / max(rows.value + dropped, 1.0), 1.0)

    def _sizes(self, ask: Ask) -> Array:
        """Return how many persons each group has: one person is a 1 in one group."""
        everybody = GroupRows(self.index, by_person=True)
        query = ScaledSums(everybody, order=1, exponent=0, limit=1, groups=self.groups)
        return np.array(ask(query, self.part.cost("sizes")), dtype=np.float64)

    def _is_seen(self, size: float) -> bool:
        """Say whether noise alone makes no group of this size."""
        return size > noise_for(self.part.cost("sizes"), 1, 1).quantile(tuned.UNSEEN_RISK)

    # ------------------------------------------------------------------------- persons count once

    def _numbers_with_pool(self, ask: Ask) -> Callable[[Ask, Array], list[Estimate]]:
        """Ask how the persons' own means lie; small groups are then those of numbers."""
        view, pool = PersonMean(self.index), self.part.cost("pool")
        costs = pool.split(tuned.TOTAL, tuned.CENTER, tuned.TAIL)
        first = tuple(map(Step, ("total", "center", "tail"), costs))
        part = replace(self.part, steps=(*first, *self.part.steps))
        about_all = ask.on(ask.relation.per_person(view), pool)
        counts = about_all(Count(), part.cost("total"))
        used = read_cells(counts, part.cost("total"), part.adjacency)
        shape = ask_pool(part, about_all, counts)

        def estimate(about: Ask, sizes: Array) -> list[Estimate]:
            numbers = about.on(about.relation.per_person(view))
            groups = ask_cells(part, numbers, shape, len(sizes))
            return [replace(one, cells=used) for one in groups.estimate(numbers)]

        return estimate

    # ------------------------------------------------------------------------ every record counts

    def _records_with_pool(self, ask: Ask) -> Callable[[Ask, Array], list[Estimate]]:
        """Ask for a pilot and octave counts; small groups then ask for their sums."""
        pool = self._pool(ask)

        def estimate(about: Ask, sizes: Array) -> list[Estimate]:
            cost, places = self.part.cost("groups"), about.relation.codes
            asks = about.disjoint([about.relation.of([place]) for place in places], cost)
            pairs = zip(asks, sizes.tolist(), strict=True)
            return [self._small(one, size, pool) for one, size in pairs]

        return estimate

    def _pool(self, ask: Ask) -> Pool:
        """Ask all persons for a pilot and octave counts."""
        cost = self.part.cost("pool")
        pilot, rows, residuals = cost.split(*tuned.POOL_OF_PERSONS)
        plan = self._about(cost, Step("pilot", pilot))
        ratio = pilot_of(plan, ask, self.index)

        def octaves(view: View, cost: Budget) -> TailHistogram:
            return octaves_around_zero(plan, ask.on(ask.relation.per_person(view), cost), cost)

        return Pool(
            ratio,
            octaves(PersonRows(self.index), rows),
            octaves(PersonResidual(ratio, self.index), residuals),
            self.persons,
        )

    def _small(self, ask: Ask, size: float, pool: Pool) -> Estimate:
        """Estimate a group whose persons lie around the pilot as all persons do."""
        persons, cost = max(round(size), 1), self.part.cost("groups")
        plan = replace(group_plan(self.part, None, cost), n=persons)
        of_rows, of_sum = cost.split(tuned.SMALL_ROWS, 1 - tuned.SMALL_ROWS)

        def total(
            view: View, tails: TailHistogram, cost: Budget, bias: float = 0.0
        ) -> Total | None:
            part = replace(plan, budget=cost, steps=(Step("sum", cost),), half=None)
            about = ask.on(ask.relation.per_person(view), cost)
            likely = _of_share(tails, min(persons / pool.persons, 1.0))
            is_positive, least = isinstance(view, PersonRows), _least_clip(likely, cost, bias)
            return sum_between(part, about, likely, persons, is_positive=is_positive, least=least)

        rows = total(PersonRows(self.index), pool.rows, of_rows)
        rows = one_row_each(persons, of_rows) if rows is None else rows
        difference = PersonResidual(pool.ratio, self.index)
        residuals = total(difference, pool.residuals, of_sum, tuned.BIAS_IN_SMALL)
        one = replace(conclude(plan, pool.ratio, rows, residuals), persons=float(persons))
        return one if self._is_seen(size) else _perhaps_empty(plan, one)


def _of_share(tails: TailHistogram, share: float) -> TailHistogram:
    """Return the octave counts of a share of all persons, who lie as all do."""
    noise = Noise(tails.noise.kind, tails.noise.scale * share)
    return replace(tails, below=tails.below * share, above=tails.above * share, noise=noise)


def _least_clip(tails: TailHistogram, cost: Budget, bias: float) -> float:
    """Return a distance below which a group that is unlike the pool would lose too much.

    Clip points that the pool suggests suppose that what lies beyond them is as in the pool.
    """
    both = replace(tails, above=tails.below + tails.above)
    last_bin = both.highest_detected(both.above)
    if not bias or last_bin is None:
        return 0.0
    deviation = math.sqrt(noise_for(cost, 1, 1).variance)
    return edge_above(best_limit(both, last_bin, deviation, bias))


def _perhaps_empty(plan: ColumnPlan, one: Estimate) -> Estimate:
    """Return the estimate of a group whose persons do not stand out; perhaps its records do."""
    if one.intervals and one.intervals[0].kind != MEAN:
        return one
    nothing = () if plan.confidence is None else (nothing_known(plan),)
    return replace(one, intervals=nothing, notes=(EMPTY,))
