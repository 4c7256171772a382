"""Means by group: the pool shows the shape, each group its count and its clipped sum.

1. *pool*: count, private median and octave counts of all records;
2. *cells*: in every group, how many records lie below, between and above the outer eighths of the
   pool; their sum is the group's count;
3. *groups*: a group with enough records is estimated alone. Any other is clipped at the distance
   from the pooled centre that balances noise against the pooled excess, and its sum is asked;
   all of these sums are one question.

Which way a group goes follows from its noisy count. A group is never left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tametail.keys import Key
from tametail.means import Estimate, Interval
from tametail.methods.groups import constants as tuned
from tametail.methods.groups.interval import (
    Small,
    fewest_records,
    nothing_known,
    pooled_interval,
)
from tametail.methods.groups.plan import GroupPlan, asked, chosen_keys, group_plans
from tametail.methods.groups.shape import Array, Shape
from tametail.methods.groups.shrink import shrunk
from tametail.methods.winsorised.counts import Tails, octave_nodes
from tametail.methods.winsorised.estimate import winsorised_mean
from tametail.methods.winsorised.shares import halvings
from tametail.notes import Note
from tametail.plans import COUNT, Plan
from tametail.privacy.budget import noise_for
from tametail.queries.column import ClippedSum, Count, Lattice, Median, edge_above
from tametail.queries.groups import Cells, Keyed
from tametail.queries.rows import Rows
from tametail.tail import Bounded, Tail

if TYPE_CHECKING:
    from tametail.ask import Ask

#: Bits of a clip distance in ticks: the tick is far below the noise of any group.
_BITS = 24

_NO_SHAPE = Note(
    "warning",
    "nothing-seen",
    "the records of all groups together are too few, or the budget too small, to see a spread: the "
    "means of small groups are a common median",
)
_UNLIKE = Note(
    "warning",
    "doubtful",
    "most records of this group lie beyond the usual ones of all groups: its mean is drawn towards "
    "the others",
)


_EMPTY = Note(
    "warning",
    "nothing-seen",
    "no record of this group stands out of the noise: it may be empty, and its mean says nothing",
)


def means_by_group(plan: Plan, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: choose keys if they are private, then estimate column by column."""
    groups, keys = chosen_keys(plan, ask)
    if not keys:
        return ()
    if plan.has(COUNT):
        (count,) = groups(Rows(), plan.cost(COUNT))
        plan = plan.with_count(count)
    columns = []
    for place, part in enumerate(group_plans(plan, len(keys))):
        about = groups if plan.dim == 1 else groups.column(place, part.budget)
        columns.append(_column(part, about, keys))
    return tuple(row for rows in zip(*columns, strict=True) for row in rows)


def _column(part: GroupPlan, ask: Ask, keys: Sequence[Key]) -> list[Estimate]:
    """Return the estimates of one column, in the order of the keys."""
    borrow = asked(part.plan.request).borrow
    if borrow is None:
        return _each_alone(part, ask, keys)
    found = _Pooled.ask(part, ask, len(keys)).estimate(ask)
    if borrow == "mean":
        found = shrunk(found)
    return [replace(one, group=key.label) for one, key in zip(found, keys, strict=True)]


def _each_alone(part: GroupPlan, ask: Ask, keys: Sequence[Key]) -> list[Estimate]:
    cost = part.costs["groups"]
    asks = ask.keys([[place] for place in range(len(keys))], cost)
    plan = part.column(None, cost)
    return [
        replace(winsorised_mean(plan, about), group=key.label)
        for about, key in zip(asks, keys, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Pooled:
    """What the pool and the cells have shown."""

    part: GroupPlan
    shape: Shape
    cells: Array
    """Noisy counts below, between and above the cuts: a row for each group."""

    @classmethod
    def ask(cls, part: GroupPlan, ask: Ask, groups: int) -> _Pooled:
        """Ask for the pool, then for the cells of every group."""
        (total,) = ask(Count(), part.costs["total"])
        size = max(total, 1)
        centre = ask(Median(halvings(size), *part.possible), part.costs["centre"])
        plan = part.pool(size, part.costs["tail"])
        nodes, cost = octave_nodes(plan, centre), part.costs["tail"]
        shape = Shape.read(centre, Tails.read(plan, nodes, ask(nodes, cost), cost), size)
        below, above = shape.cuts
        query = Keyed((Cells(centre - below, centre + above),) * groups)
        answer = ask(query, part.costs["cells"])
        return cls(part, shape, np.array(answer, dtype=np.float64).reshape(groups, 3))

    @property
    def counts(self) -> Array:
        """The noisy numbers of records, of each group."""
        numbers: Array = np.maximum(self.cells.sum(axis=1), tuned.FEWEST)
        return numbers

    def estimate(self, ask: Ask) -> list[Estimate]:
        """Ask large groups one by one and all others at once: they are disjoint."""
        cost, counts = self.part.costs["groups"], self.counts
        is_large = counts * cost.strength >= tuned.ALONE
        large, small = np.flatnonzero(is_large).tolist(), np.flatnonzero(~is_large).tolist()
        sets = [*([place] for place in large), *([small] if small else [])]
        asks = ask.keys(sets, cost)
        found: dict[int, Estimate] = {}
        for place, about in zip(large, asks, strict=False):
            size = int(counts[place])
            one = winsorised_mean(self.part.column(size, cost), about)
            found[place] = replace(one, count=float(counts[place]))
        if small:
            found |= zip(small, self._small(small, asks[-1]), strict=True)
        return [found[place] for place in range(len(counts))]

    def _small(self, places: list[int], ask: Ask) -> list[Estimate]:
        """Estimate small groups: clip each at its distance, and ask for all sums at once."""
        counts = self.counts[places]
        if not (self.shape.seen or isinstance(self.part.tail, Bounded)):
            return [self._without_shape(float(count)) for count in counts]
        reaches = self._reaches(counts)
        lattices = [Lattice.around(self.shape.centre, t, t, bits=_BITS) for t in reaches]
        query = Keyed(tuple(ClippedSum(lattice) for lattice in lattices))
        sums = ask(query, self.part.costs["groups"])
        rows = zip(places, lattices, sums, strict=True)
        return [self._conclude(self.cells[place], lattice, total) for place, lattice, total in rows]

    def _reaches(self, counts: Array) -> list[float]:
        """Return the clip distances: argmin of (BIAS E(T))^2 + noise variance at T.

        Nothing lies beyond bounds that were told.
        """
        farthest = edge_above(_farthest(self.part.tail, self.shape.centre))
        if not self.shape.seen:
            return [farthest] * len(counts)
        grid, variance = self.shape.grid(), noise_for(self.part.costs["groups"], 1, 1).variance
        if farthest < grid[-1]:
            grid = np.append(grid[grid < farthest], farthest)
        bias = np.where(grid < farthest, tuned.BIAS * self.shape.excess_at(grid), 0.0) ** 2
        square = variance * grid**2
        return [float(grid[np.argmin(bias + square / count**2)]) for count in counts]

    def _conclude(self, cells: Array, lattice: Lattice, total: int) -> Estimate:
        count, part = max(float(cells.sum()), tuned.FEWEST), self.part
        distance = min(max(total / count, lattice.low - lattice.centre), lattice.side)
        centre = self.shape.centre
        low, high = part.possible
        value = min(max(centre + lattice.value(distance), low), high)
        intervals: tuple[Interval, ...] = ()
        if part.confidence is not None:
            seen = Small(part, centre, self.shape.cuts, cells, lattice, total)
            intervals = (pooled_interval(seen, value),)
        is_unlike = bool(max(cells[0], cells[2]) > tuned.UNLIKE * count + self._margin)
        ends = (
            centre + lattice.value(lattice.low - lattice.centre),
            centre + lattice.value(lattice.high - lattice.centre),
        )
        return Estimate(
            value,
            intervals,
            clip=ends,
            assumption_doubtful=is_unlike,
            notes=self._notes(cells, is_unlike=is_unlike),
            count=count,
            variance=self._variance(lattice, count) if self._shrinks else None,
        )

    def _notes(self, cells: Array, *, is_unlike: bool) -> tuple[Note, ...]:
        if fewest_records(self.part, cells) < 1:
            return (_EMPTY,)
        return (_UNLIKE,) if is_unlike else ()

    @property
    def _shrinks(self) -> bool:
        return asked(self.part.plan.request).borrow == "mean"

    @property
    def _margin(self) -> float:
        return noise_for(self.part.costs["cells"], 1, 1).quantile(0.01)

    def _variance(self, lattice: Lattice, count: float) -> float:
        """Estimate the mean squared error of a small group by the pooled shape."""
        reach = lattice.value(lattice.side)
        noise = noise_for(self.part.costs["groups"], 1, 1).variance * (reach / count) ** 2
        bias = tuned.BIAS * float(self.shape.excess_at(np.array([reach]))[0])
        return noise + self.shape.square_within(reach) / count + bias**2

    def _without_shape(self, count: float) -> Estimate:
        centre = self.shape.centre
        low, high = self.part.possible
        value = min(max(centre, low), high)
        intervals: tuple[Interval, ...] = ()
        if self.part.confidence is not None:
            intervals = (nothing_known(self.part),)
        return Estimate(
            value, intervals, clip=(centre, centre), notes=(_NO_SHAPE,), count=count,
            variance=math.inf,
        )  # fmt: skip


def _farthest(tail: Tail, centre: float) -> float:
    """Return how far from the centre a record can be, by what was told."""
    return max(tail.high - centre, centre - tail.low) if isinstance(tail, Bounded) else math.inf
