"""Means by group where persons are protected, who may have records in many groups.

With s and c the sum and the number of a person's records in a group, and r0 a pilot,

    mean of the group = r0 + sum (s - r0 c) / sum c.

A person is a vector with a number for each of their groups. Four kinds of questions:

1. *pilot*: r0, the private mean of all groups together;
2. *tail*: octave counts of the lengths of the vectors of s - r0 c, and of those of c. From these
   alone follow limits T and K;
3. *rows* and *groups*: sums over persons of both vectors, scaled down where they are longer than
   that, one for each group;
4. *spread*: sums of the squares of the former, for the intervals.

Nobody has to say in how many groups a person may be, nor with how many records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.inequalities.quantiles import deviations
from tametail.keys import Key
from tametail.means import MEAN_AS_SEEN, WINSORIZED, Estimate, Interval
from tametail.methods.groups import constants as tuned
from tametail.methods.groups.keys import EMPTY, asked, chosen_keys
from tametail.methods.groups.lengths import ScaledDown, anchor_of_counts, best_limit
from tametail.methods.groups.plan import group_plans, steps_of_persons
from tametail.methods.groups.shrink import shrunk
from tametail.methods.persons.budget_split import FEASIBLE
from tametail.methods.persons.budget_split import divide as divide_persons
from tametail.methods.persons.estimate import persons_mean
from tametail.methods.winsorized.approximate_interval import ErrorDistribution
from tametail.methods.winsorized.budget_split import divide
from tametail.methods.winsorized.column import ColumnPlan, nothing_known
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.methods.winsorized.tail_histogram import TailHistogram, histogram_query
from tametail.notes import Note
from tametail.plans import COUNT, PricedRequest
from tametail.privacy.budget import Budget, Noise, Zcdp, noise_for
from tametail.queries.groups import MOST_LIMIT, SQUARE_BITS, ScaledSquares, ScaledSums
from tametail.queries.persons import GroupResiduals, GroupRows, PersonMean, PersonNorm, Vector
from tametail.queries.rows import Rows
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask

Array = npt.NDArray[np.float64]

UNSEEN = Note(
    "warning",
    "no-signal",
    "Too few people for this budget to separate the groups, so no group has a mean. Use a larger "
    "epsilon or fewer groups, or release the mean of all groups together.",
)
SCALED_DOWN = Note(
    "info",
    "scaled-down",
    "Contributions of people with large totals were scaled down, so the means are probably too "
    "low. The interval accounts for this if such people are spread evenly over the groups; it can "
    "miss the mean of a small group that contains most of them.",
)

MOSTLY_LOST = Note(
    "warning",
    "scaled-down",
    "Contributions of people with large totals were scaled down, and most of this interval is an "
    "estimate of what that took away. It can miss the mean if a few people have very large totals. "
    "If each person belongs to one group, groups_per_person=1 avoids this.",
)


def means_of_persons(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: choose keys if they are private, then estimate column by column."""
    groups, keys = chosen_keys(plan, ask)
    if not keys:
        return ()
    if plan.has(COUNT):
        count, *_ = groups(Rows(), plan.cost(COUNT))
        plan = plan.recounted(count, steps_of_persons)
    columns = [
        _Column(plan.request, part, index, len(keys), max(plan.n or 1, 1)).estimate(groups, keys)
        for index, part in enumerate(group_plans(plan, len(keys)))
    ]
    return tuple(row for rows in zip(*columns, strict=True) for row in rows)


@dataclass(frozen=True, slots=True)
class Scaled:
    """Noisy sums of scaled vectors, one for each group, in units of the records."""

    query: ScaledSums
    values: Array
    noise: Noise
    tick: float

    @property
    def scale(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(self.noise.variance) * self.tick

    @property
    def limit(self) -> float:
        """The longest that a person's vector can be."""
        return self.query.limit * self.tick


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
        ratio, part = self._pilot(ask), self.part
        of_sums, of_rows = part.cost("tail").split(0.5, 0.5)
        residuals = GroupResiduals(ratio, self.index, self._by_person)
        rows = GroupRows(self.index, self._by_person)
        lengths = self._lengths(ask, residuals, of_sums)
        most = self._limit(self._lengths(ask, rows, of_rows), part.cost("rows"), is_count=True)
        limit = self._limit(lengths, part.cost("groups"))
        if limit is None:
            return [self._unseen(ratio, key) for key in keys]
        counted = self._sums(ask, rows, 1.0 if most is None else most, part.cost("rows"))
        summed = self._sums(ask, residuals, limit, part.cost("groups"))
        # Where nobody is seen beyond the limit, about as much is cut off as it balances.
        unseen = tuned.UNSEEN_BEYOND * summed.scale * self.groups
        lost = ScaledDown.read(part, lengths, limit)
        lost = replace(lost, total=max(lost.total, unseen))
        squares = Squares(np.zeros(self.groups), 0.0)
        if part.has("spread"):
            squares = self._squares(ask, summed)
        estimates = self._rows(ratio, summed, counted, squares, lost)
        found = [replace(one, group=key.label) for one, key in zip(estimates, keys, strict=True)]
        return shrunk(found) if asked(self.request).pooling == "mean" else found

    @property
    def _by_person(self) -> bool:
        return self.request.each == "person"

    @property
    def _order(self) -> int:
        return 2 if isinstance(self.part.cost("groups"), Zcdp) else 1

    def _plan(self, cost: Budget) -> ColumnPlan:
        """Return a plan about all persons that may spend ``cost``."""
        steps = divide_persons(cost, self.persons)
        plan = ColumnPlan.untold(self.request, self.persons, cost, steps)
        return replace(plan, steps=divide(plan)) if self._by_person else plan

    def _pilot(self, ask: Ask) -> float:
        """Return the private mean of all groups together; of persons' own, where these are few."""
        cost = self.part.cost("pilot")
        plan = self._plan(cost)
        if self._by_person or self.persons * cost.strength < FEASIBLE:
            about = ask.on(ask.relation.per_person(PersonMean(self.index)), cost)
            return winsorized_mean(replace(plan, steps=divide(plan)), about).value
        return persons_mean(plan, ask, self.index).value

    def _lengths(self, ask: Ask, vector: Vector, cost: Budget) -> TailHistogram:
        """Count the persons by the octaves of their vectors' lengths."""
        plan = self._plan(cost)
        nodes = histogram_query(plan, 0.0)
        answer = ask.on(ask.relation.per_person(PersonNorm(vector, self._order)), cost)(nodes, cost)
        return TailHistogram.read(plan, nodes, answer, cost)

    def _limit(self, tails: TailHistogram, cost: Budget, *, is_count: bool = False) -> float | None:
        """Return the length at which noise and what is cut off weigh least together, in a group.

        None if nothing stands out. With a limit of 1 the noise on a sum has this deviation.
        """
        deviation = math.sqrt(noise_for(cost, 1, 1).variance)
        last_bin = anchor_of_counts(tails) if is_count else tails.highest_detected(tails.above)
        if last_bin is None:
            return None
        bias = tuned.BIAS_OF_ROWS if is_count else tuned.BIAS_OF_PERSONS
        return best_limit(tails, last_bin, deviation * self.groups, bias)

    def _sums(self, ask: Ask, vector: Vector, limit: float, cost: Budget) -> Scaled:
        fraction, exponent = math.frexp(limit)
        ticks = min(math.ceil(fraction * MOST_LIMIT), MOST_LIMIT - 1)
        exponent -= MOST_LIMIT.bit_length() - 1
        query = ScaledSums(vector, self._order, exponent, ticks, self.groups)
        answer, tick = np.array(ask(query, cost), dtype=np.float64), math.ldexp(1.0, exponent)
        sensitivity = query.sensitivity(self.request.adjacency)
        noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
        return Scaled(query, answer * tick, noise, tick)

    def _squares(self, ask: Ask, summed: Scaled) -> Squares:
        query, cost = ScaledSquares(summed.query), self.part.cost("spread")
        unit = summed.tick * summed.tick * (1 << SQUARE_BITS)
        answers = np.array(ask(query, cost), dtype=np.float64) * unit
        sensitivity = query.sensitivity(self.request.adjacency)
        noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
        return Squares(answers, math.sqrt(noise.variance) * unit)

    def _rows(
        self, ratio: float, summed: Scaled, counted: Scaled, squares: Squares, lost: ScaledDown
    ) -> list[Estimate]:
        # A count that may be noise alone draws the mean of its group towards the common one.
        records = np.maximum(counted.values, max(tuned.LEAST_COUNT * counted.scale, 1.0))
        distances = summed.values / records
        spreads = squares.of_groups(records, distances)
        shares = np.minimum(records / max(float(counted.values.sum()), 1.0), 1.0)
        losses = np.array([lost.of_group(share) for share in shares.tolist()]) / records
        rows = np.stack([distances, records, spreads, losses, counted.values], axis=1).tolist()
        return [self._row(ratio, summed, counted, *row) for row in rows]

    def _row(
        self,
        ratio: float,
        summed: Scaled,
        counted: Scaled,
        distance: float,
        records: float,
        square: float,
        lost: float,
        count: float,
    ) -> Estimate:
        low, high = self.part.possible
        value = min(max(ratio + distance, low), high)
        noise = Noise(summed.noise.kind, summed.noise.scale * summed.tick / records)
        rounding = self.persons * summed.tick / records + 2 * math.ulp(abs(ratio) + abs(distance))
        miscounted = abs(distance) * counted.scale / records
        error = ErrorDistribution(math.sqrt(square) / records, 0.0, noise, miscounted, rounding)
        is_seen = records > counted.noise.quantile(tuned.UNSEEN_RISK) * counted.tick
        intervals: tuple[Interval, ...] = ()
        said: tuple[Note, ...] = ()
        if self.part.confidence is not None:
            own = self._interval(value, error)
            known = (self._as_seen(value, own, lost), own)
            intervals = known if is_seen else (nothing_known(self.part),)
            is_guess = 2 * lost > tuned.MOSTLY_LOST * (own.high - own.low)
            said = (MOSTLY_LOST if is_guess else SCALED_DOWN,)
        return Estimate(
            value,
            intervals,
            notes=said if is_seen else (EMPTY,),
            count=max(count, 0.0),
            variance=error.deviation**2 + noise.variance + miscounted**2,
        )

    def _interval(self, value: float, error: ErrorDistribution) -> Interval:
        """Return the interval for r0 + E (scaled s - r0 c) / E (scaled c)."""
        (low, high), confidence = self.part.possible, self.part.confidence or 0.0
        below, above = error.ends((1 - confidence) / 2)
        parts = {
            "privacy": error.privacy(1 - confidence),
            "sampling": deviations((1 - confidence) / 2) * error.deviation,
            "clipping": None,
            "rounding": error.rounding,
        }
        ends = max(value - below, low), min(value + above, high)
        return Interval(
            *ends, *WINSORIZED, proved=False, error_components=parts, confidence=confidence
        )

    def _as_seen(self, value: float, own: Interval, lost: float) -> Interval:
        """Return the interval for the mean, if the lengths of vectors go on as seen.

        What was scaled down moves the mean by up to ``lost``, to one side or the other: lengths
        have no sign. In squares: that is seldom at its end together with noise and sampling.
        """
        low, high = self.part.possible
        down, up = math.hypot(value - own.low, lost), math.hypot(own.high - value, lost)
        ends = max(value - down, low), min(value + up, high)
        return replace(
            own, low=ends[0], high=ends[1], basis=MEAN_AS_SEEN.basis, target=MEAN_AS_SEEN.target,
            error_components={**own.error_components, "clipping": lost},
        )  # fmt: skip

    def _unseen(self, ratio: float, key: Key) -> Estimate:
        low, high = self.part.possible
        unknown = () if self.part.confidence is None else (nothing_known(self.part),)
        return Estimate(
            min(max(ratio, low), high), unknown, notes=(UNSEEN,), group=key.label,
            variance=math.inf,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Squares:
    """Noisy sums of squares, one for each group, with the standard deviation of their noise."""

    values: Array
    deviation: float

    def of_groups(self, records: Array, distances: Array) -> Array:
        """Return the squares about the mean of each group, drawn towards what is usual.

        The noise on one group is large. All groups together say what is usual for so many
        records; a group is believed as far as its own answer is above the noise. Squares are
        taken about the common mean: about the group's own they are less by distance^2 for every
        person, so at least for every record.
        """
        noise = self.deviation * math.sqrt(len(self.values))
        usual = records * (max(float(self.values.sum()), 0.0) + noise) / float(records.sum())
        own = usual**2 / (usual**2 + self.deviation**2 + 1e-300)
        found = own * self.values + (1 - own) * usual
        least: Array = tuned.LEAST_SQUARE * np.maximum(found, usual)
        return np.maximum(found - distances**2 * records, least)
