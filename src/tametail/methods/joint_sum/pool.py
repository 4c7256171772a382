"""The columns that are summed together: their weights, the ball, and whether it pays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.methods.joint.interval import BallMeasure
from tametail.methods.joint.weigh import FINENESS, count_weights
from tametail.methods.winsorized.approximate_interval import moments
from tametail.methods.winsorized.sums import NoisySum, RecordCount, sum_query
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.privacy.choices import choice_rate
from tametail.queries.column import ClippingGrid, DistanceSum
from tametail.queries.rows import WIDEST_RADIUS, Ball, BallLevels, BallSum

if TYPE_CHECKING:
    from tametail.methods.winsorized.column import ColumnPlan
    from tametail.methods.winsorized.estimate import SpreadEstimate

Floats = npt.NDArray[np.float64]

#: Fewer columns than these are apart: the radius would cost about what it gains, and more where
#: rows are long in all columns alike (decision 0225).
LEAST_COLUMNS = 5

#: The part of the sum's budget that is spent on the radius of so many columns. The rows that are
#: cut since it is chosen privately are a bias in all columns; the noise of more columns is larger.
RADIUS_SHARE, OF_COLUMNS = 0.06, 24

#: Rows that are cut, times the rate of the choice; an interval reckons with so many more, and with
#: what base masses prefer the radius by.
FEW_ROWS, MORE_ROWS = 1.2, 2.5

#: One sum is asked for if its error, noise and sampling, is expected to be at most this part of
#: that of columns apart, in geometric mean, and its noise at most that in any of them: where noise
#: is little beside sampling, there is little to gain, and rows would be cut for it.
WORTH, MOST_NOISE = 0.95, 1.1

#: A tick of the ball is at most this part of the noise on the mean of a column.
FINE = 0.1

#: The standard deviation is taken to be at least this part of the distance between clip points.
LEAST_DEVIATION = 2.0**-10

#: Columns whose clip points are between these distances: others could not be weighed in doubles.
CLOSEST, FARTHEST = 2.0**-400, 2.0**400

#: Radii reach from that of a row at all clip points down to this power of two of it.
FIRST_RADIUS = -8.0


def radius_share(columns: int) -> float:
    """Return the part of the sum's budget that the radius costs.

    >>> [round(radius_share(columns), 3) for columns in (6, 24, 96)]
    [0.12, 0.06, 0.03]
    """
    return RADIUS_SHARE * math.sqrt(OF_COLUMNS / columns)


@dataclass(frozen=True, slots=True)
class Pool:
    """Columns that may be summed together, by their places, and balls around them.

    One sum of all columns may cost ``cost``.
    """

    looks: Mapping[int, SpreadEstimate]
    lattices: Mapping[int, ClippingGrid]
    ball: Ball
    cost: Budget

    @classmethod
    def of(cls, looks: Mapping[int, SpreadEstimate], n_columns: int, cost: Budget) -> Pool:
        """Weigh the columns, and draw the balls.

        A cell is told from where the mean is expected, and divided by the geometric mean of the
        distance between the clip points and the standard deviation. By the first alone columns of
        heavy tails would have most of the noise, by the second alone they would make rows long.
        """
        lattices = {place: _lattice(seen) for place, seen in looks.items()}
        centers, factors, below, above = np.zeros((4, n_columns))
        for place, lattice in lattices.items():
            middle = lattice.value(lattice.center)
            centers[place] = looks[place].clip.center + middle
            size = math.sqrt(lattice.value(lattice.width))
            factors[place] = 1 / size / math.sqrt(_deviation(looks[place], lattice))
            below[place] = middle - lattice.value(lattice.low)
            above[place] = lattice.value(lattice.high) - middle
        factors /= (np.maximum(below, above) * factors).sum()  # the longest row has norm 1
        ends = above * factors, below * factors
        return cls(looks, lattices, _balls(centers, factors, ends, cost.strength), cost)

    @property
    def plan(self) -> ColumnPlan:
        """The plan of a column: unit, number of rows and missing cells are those of all."""
        return next(iter(self.looks.values())).rest

    @property
    def size(self) -> int:
        """The number of rows, as far as the plan knows it."""
        return next(iter(self.looks.values())).size

    def level_query(self, cost: Budget) -> BallLevels:
        """Ask for a radius that next to no rows exceed.

        Not for one that is cut at the size of the noise: rows that are long in all columns alike
        would be a bias that no column can see.
        """
        target = max(round(min(FEW_ROWS / choice_rate(cost, 1), self.size / 4)), 1)
        weights = (round(2**52 / radius) for radius in (*self.ball.radii, self.ball.radii[-1]))
        return BallLevels(self.ball, target, tuple(weights))

    def sum_query(self, level: int) -> BallSum:
        """Ask for the sum of all columns in the ball that was chosen.

        Under add-remove with the number of rows, and with those of missing cells; under replace-one
        the counts by octaves have told these.
        """
        level, counted = (
            min(level, len(self.ball.radii) - 1),
            not self.plan.adjacency.size_is_public,
        )
        missing = counted and self.plan.missing == "skip"
        weights = count_weights(self.ball, level, rows=counted, missing=missing)
        return BallSum(self.ball, level, *weights)

    def pays(self, query: BallSum) -> bool:
        """Say whether one sum is clearly better than a sum for every column."""
        noises, errors = [], []
        for place, seen in self.looks.items():
            plan, lattice = seen.rest, self.lattices[place]
            alone = sum_query(plan, seen.clip, self.size)
            apart = _noise(alone, plan.cost("sum"), plan.adjacency).scale * alone.lattice.tick
            tick = 1 / self.ball.inverse_ticks[place]
            if not tick < FINE * apart / self.size:
                return False
            together = _noise(query, self.cost, plan.adjacency).scale * tick
            sampled = _deviation(seen, lattice) * math.sqrt(self.size / 2)
            sampled = 0.0 if plan.target == "data" else sampled
            noises.append(together / apart)
            errors.append(math.hypot(sampled, together) / math.hypot(sampled, apart))
        return float(np.mean(np.log(errors))) < math.log(WORTH) and max(noises) < MOST_NOISE

    def read(self, query: BallSum, answer: tuple[int, ...], radius: Budget) -> dict[int, NoisySum]:
        """Return the sum of every column, as if it had been asked for alone.

        ``radius`` is what its choice has cost: it says how many rows may have been shrunk.
        """
        adjacency = self.plan.adjacency
        noise = _noise(query, self.cost, adjacency)
        measure = BallMeasure.of(query, self.cost, adjacency, answer, self.size, None)
        weights = [1 / weight for weight in (query.count_weight, query.missing_weight) if weight]
        part = query.radius / self.ball.radii[-1]
        rows = (FEW_ROWS + MORE_ROWS - math.log(part)) / float(choice_rate(radius, 1))
        cut = (1 - part) * rows / self.size
        found = {}
        for place, seen in self.looks.items():
            tails, moved = seen.tails, None
            known = RecordCount.beside(seen.rest, tails.count, tails.noise, self.size)
            if weights:
                counted = Noise(noise.kind, noise.scale * math.hypot(*weights))
                known = RecordCount(float(measure.present[place]), 1, counted)
                moved = float(measure.slack[place])
            lattice, tick = self.lattices[place], float(measure.ticks[place])
            ticks = tick / lattice.tick
            found[place] = NoisySum(
                seen.clip.center, lattice, answer[place] * ticks, known.number, known.weight,
                Noise(noise.kind, noise.scale * ticks), tick, known.noise, moved,
                cut * lattice.value(lattice.side),
            )  # fmt: skip
        return found


def _noise(query: DistanceSum | BallSum, cost: Budget, adjacency: Adjacency) -> Noise:
    sensitivity = query.sensitivity(adjacency)
    return noise_for(cost, sensitivity.l1, sensitivity.l2_squared)


def _lattice(seen: SpreadEstimate) -> ClippingGrid:
    """Return the clip points, and from where distances are told: where the mean is expected."""
    clip, strength = seen.clip, seen.rest.cost("sum").strength
    return ClippingGrid.of_distances(
        clip.offset, clip.below, clip.above, strength=strength, records=seen.size
    )


def _deviation(seen: SpreadEstimate, lattice: ClippingGrid) -> float:
    """Estimate the standard deviation of the clipped cells of a column."""
    width = lattice.value(lattice.width)
    variance, _ = moments(seen.clip, seen.tails, float(seen.size), seen.clip.offset)
    return min(max(math.sqrt(max(variance, 0.0)), LEAST_DEVIATION * width), width / 2)


def _balls(centers: Floats, factors: Floats, ends: tuple[Floats, Floats], strength: float) -> Ball:
    """Return balls of which the largest holds a row at all clip points, in integers."""
    bits = min(WIDEST_RADIUS.bit_length() - 1, 52 + math.frexp(min(strength, 1.0))[1])
    steps = np.arange(round(-FINENESS * FIRST_RADIUS) + 1) / FINENESS + FIRST_RADIUS + bits
    radii = sorted({max(1, math.floor(2.0**step)) for step in steps.tolist()})
    unit = 2.0**bits
    limits, floors = (tuple(np.floor(end * unit).astype(np.int64).tolist()) for end in ends)
    inverse = tuple((factors * unit).tolist())
    return Ball(tuple(centers.tolist()), inverse, tuple(radii), 1, limits, floors)
