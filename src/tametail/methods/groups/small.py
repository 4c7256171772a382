"""Small groups: where each is clipped, what is asked of it, and what follows.

A group's law on points (:mod:`likeness`) says where its mean is likely to be, and what clip points
at a distance T from there cost: (BIAS E(T))^2 for what lies beyond, and the variance of the noise.
The clipped sum and, with a small weight, the count are asked of all small groups at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tametail.means import Estimate, Interval
from tametail.methods.groups import constants as tuned
from tametail.methods.groups.group_models import GroupModels
from tametail.methods.groups.interval import Small, intervals_of
from tametail.methods.groups.keys import EMPTY
from tametail.methods.groups.shape import Array, Shape
from tametail.methods.winsorized.approximate_interval import (
    ErrorDistribution,
    ExcessPair,
    HiddenExcess,
    excess_notes,
)
from tametail.methods.winsorized.column import ColumnPlan, nothing_known
from tametail.notes import Note
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import ClippedSum, ClippingGrid, edge_above
from tametail.queries.groups import Keyed
from tametail.queries.query import SumQuery
from tametail.tail import Bounded, Tail

if TYPE_CHECKING:
    from tametail.ask import Ask

#: Bits of a clip distance in ticks: the tick is far below the noise of any group.
_BITS = 24

_NO_SHAPE = Note(
    "warning",
    "no-signal",
    "Too few records for this budget to estimate the spread, even with all groups pooled. The "
    "groups are small, or empty because keys= does not match the data. Small groups show the "
    "overall median.",
)
_UNLIKE = Note(
    "warning",
    "assumption-contradicted",
    "The values of this group differ from those of the other groups, so its pooled clipping bounds "
    "may not fit.",
)


@dataclass(frozen=True, slots=True)
class Clipped:
    """Where a group is clipped, around ``offset`` from the pooled center, and what is expected."""

    offset: float
    reach: float
    bias: float
    square: float
    """The mean of the squared, clipped distances from ``offset``."""
    beyond: ExcessPair = (HiddenExcess(), HiddenExcess())
    """What may lie beyond the clip points."""


@dataclass(frozen=True, slots=True)
class SmallGroups:
    """What the pool and the cells have shown."""

    part: ColumnPlan
    shape: Shape
    cuts: Array
    cells: Array
    """Noisy counts between the cuts: a row for each group."""
    shrinks: bool = False
    """Whether means will be drawn towards that of all groups."""

    @property
    def counts(self) -> Array:
        """The noisy numbers of records, of each group."""
        numbers: Array = np.maximum(self.cells.sum(axis=1), tuned.FEWEST)
        return numbers

    def estimate(self, ask: Ask) -> list[Estimate]:
        """Clip each at its distance, and ask for all sums at once."""
        if not (self.shape.seen or isinstance(self.part.tail, Bounded)):
            return [self._without_shape(count) for count in self.counts.tolist()]
        clips = self._clips()
        center, cost = self.shape.center, self.part.cost("groups")
        lattices = [
            ClippingGrid.around(center + one.offset, one.reach, one.reach, bits=_BITS)
            for one in clips
        ]
        queries = [
            ClippedSum(lattice, max(round(tuned.COUNT_WEIGHT * lattice.side), 1))
            for lattice in lattices
        ]
        answers = np.array(ask_each(ask, queries, cost), dtype=np.float64).reshape(-1, 2)
        known = zip(self.cells, clips, queries, answers.tolist(), strict=True)
        return self._conclude([self._read(*each) for each in known], clips)

    def _clips(self) -> list[Clipped]:
        """Return where each group is clipped; nothing lies beyond bounds that were told."""
        tail, center = self.part.tail, self.shape.center
        if not self.shape.seen:
            reach = edge_above(_farthest(tail, center))
            return [Clipped(0.0, reach, 0.0, reach**2)] * len(self.cells)
        like = GroupModels.read(self.shape, self.cells, self._cell_noise)
        noise = noise_for(self.part.cost("groups"), 1, 1).variance
        noise *= (1 + tuned.COUNT_WEIGHT) ** 2
        counted = len(self.cuts) * self._cell_noise.variance
        counted = 1 / (1 / counted + tuned.COUNT_WEIGHT**2 / noise)
        chosen = like.choose(self.counts, self.shape.grid(), noise, counted)
        beyond = like.beyond(chosen.middles, chosen.reaches)
        found = []
        rows = zip(*map(np.ndarray.tolist, chosen), beyond, strict=True)
        for middle, reach, bias, square, hidden in rows:
            farthest = edge_above(_farthest(tail, center + middle))
            found.append(Clipped(middle, min(reach, farthest), bias, square, hidden))
        return found

    def _read(self, cells: Array, clip: Clipped, query: ClippedSum, answer: list[float]) -> Small:
        """Return what the answers say of a group."""
        part, lattice = self.part, query.lattice
        sensitivity = query.sensitivity(part.adjacency)
        noise = noise_for(part.cost("groups"), sensitivity.l1, sensitivity.l2_squared)
        count, doubt = self._count(cells, answer[1] / query.count_weight, query, noise)
        seen = count > tuned.SEEN_COUNT * doubt
        count = max(count, doubt, tuned.FEWEST)
        distance = min(max(answer[0] / count, -float(lattice.side)), float(lattice.side))
        low, high = part.possible
        value = min(max(lattice.value(lattice.center + distance), low), high)
        return Small(
            part, self.shape.center, self.cuts, cells, clip.square, lattice, value,
            lattice.value(distance), count, doubt, noise, seen, clip.beyond,
        )  # fmt: skip

    def _conclude(self, groups: list[Small], clips: list[Clipped]) -> list[Estimate]:
        """Return the estimates: the intervals of all groups are found together."""
        errors = [group.error for group in groups]
        outer = self._cell_noise.quantile(0.01)
        known = zip(groups, clips, errors, intervals_of(groups, errors), strict=True)
        return [self._row(*each, outer) for each in known]

    def _row(
        self,
        group: Small,
        clip: Clipped,
        error: ErrorDistribution,
        intervals: tuple[Interval, ...],
        outer: float,
    ) -> Estimate:
        cells, lattice = group.cells, group.lattice
        beyond = max(float(cells[0]), float(cells[-1])) - outer
        unlike = beyond > tuned.UNLIKE * group.count
        said = (*(_UNLIKE,) * unlike, *excess_notes(clip.beyond, intervals))
        square = math.hypot(error.deviation, error.miscounted)
        square = square * square + error.noise.variance
        return Estimate(
            group.value,
            intervals,
            clip=(lattice.value(lattice.low), lattice.value(lattice.high)),
            assumption_contradicted=unlike,
            notes=(EMPTY,) if not group.seen else said,
            count=group.count,
            variance=square + clip.bias * clip.bias if self.shrinks else None,
        )

    def _count(
        self, cells: Array, asked_for: float, query: ClippedSum, noise: Noise
    ) -> tuple[float, float]:
        """Join two noisy counts by their precisions; return the standard deviation beside."""
        variances = (
            len(cells) * self._cell_noise.variance,
            noise.variance / query.count_weight**2,
        )
        share = variances[1] / sum(variances)
        count = share * float(cells.sum()) + (1 - share) * asked_for
        return count, math.sqrt(share * variances[0])

    @property
    def _cell_noise(self) -> Noise:
        return noise_for(self.part.cost("cells"), 1, 1)

    def _without_shape(self, count: float) -> Estimate:
        center, (low, high) = self.shape.center, self.part.possible
        noise = math.sqrt(self.cells.shape[1] * self._cell_noise.variance)
        note = _NO_SHAPE if count > tuned.SEEN_COUNT * noise else EMPTY
        unknown = () if self.part.confidence is None else (nothing_known(self.part),)
        return Estimate(
            min(max(center, low), high), unknown, clip=(center, center), notes=(note,),
            count=count, variance=math.inf,
        )  # fmt: skip


def ask_each(ask: Ask, queries: Sequence[SumQuery], cost: Budget) -> tuple[int, ...]:
    """Return the answers to a question for each group, at what one of them costs.

    Groups of persons are asked one by one: whether they are disjoint, the relation says.
    """
    if not ask.relation.person:
        return ask(Keyed(tuple(queries)), cost)
    asks = ask.disjoint([ask.relation.of([code]) for code in ask.relation.codes], cost)
    pairs = zip(asks, queries, strict=True)
    return tuple(answer for about, query in pairs for answer in about(query, cost))


def _farthest(tail: Tail, center: float) -> float:
    """Return how far from a center a record can be, by what was told."""
    return max(tail.high - center, center - tail.low) if isinstance(tail, Bounded) else math.inf
