"""Intervals for all columns at once, around a mean in a ball.

The half-width of a column is the sum of

- *noise*: its exact law is known;
- *sampling* (for the population): Bernstein's inequality for the rows in the ball, with a private
  bound of their second moment;
- *rounding*: half a tick;
- *bias*, if a tail was assumed: a row outside of the ball moves towards the center, and the
  number of such rows is private; Hoelder's inequality bounds what it costs.

Each statement is made for every column with its part of the risk, so that all hold together.
Where nothing was assumed, what clipping took off is extrapolated (:func:`_extrapolated`), from the
rank of a column's scale and the number of rows outside of the ball: measured, not proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail import notes
from tametail.means import (
    MEAN,
    MEAN_AS_SEEN,
    WINSORIZED,
    Estimate,
    Interval,
    Target,
    confined,
    unknown,
)
from tametail.methods.cells import UNUSUAL
from tametail.methods.joint import settings
from tametail.methods.joint.weigh import CLIP
from tametail.notes import Note
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.rows import BallSquares, BallSum
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.plans import PricedRequest

Floats = npt.NDArray[np.float64]

#: Parts of the risk: noise on the sums, sampling, noise on the second moments, their sampling.
RISKS = {"noise": 0.4, "sampling": 0.4, "spread": 0.1, "moments": 0.1}

#: Fewer missing cells than noise exceeds with this probability, in any of the columns, are taken
#: for noise: most columns have none, and then the number of rows, which is known better, is that
#: of their cells. Noise that passes for missing cells moves the mean of its column to the radius.
MISSING_DOUBT = 1e-4

#: Beyond its scale a column is taken to fall like T^-SLOPE: one rank does not tell how it does.
SLOPE = 1.6

#: Confidence with which an assumption is doubted if no interval was asked for.
DOUBT = 0.95

#: The parts of a half-width.
PARTS = ("privacy", "sampling", "clipping", "rounding")


@dataclass(frozen=True, slots=True)
class BallMeasure:
    """The noisy sums of rows in a ball, in ticks of each column; none if all looks constant."""

    centers: Floats
    ticks: Floats
    """The size of a tick of each column; 0 where it looks constant."""
    query: BallSum | None
    noise: Noise | None
    offsets: Floats
    """Mean less center, in ticks."""
    present: Floats
    """The number of cells of each column that are not missing."""
    rows: float
    """The number of rows, less a scale of its noise."""
    slack: Floats
    """Missing cells that were taken for noise, at most."""
    squares: tuple[int, ...] | None

    @classmethod
    def constant(cls, centers: Floats) -> BallMeasure:
        """Return the measure of columns that all look constant."""
        nothing = np.zeros_like(centers)
        return cls(centers, nothing, None, None, nothing, nothing + 1, 1.0, nothing, None)

    @classmethod
    def of(
        cls,
        query: BallSum,
        cost: Budget,
        adjacency: Adjacency,
        answer: tuple[int, ...],
        size: int,
        squares: tuple[int, ...] | None,
    ) -> BallMeasure:
        """Read the answer to ``query``; ``size`` is the number of rows if it was not asked for."""
        sensitivity = query.sensitivity(adjacency)
        noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
        n_columns, numbers = query.ball.n_columns, np.array([float(part) for part in answer])
        rows, missing, slack = float(size), np.zeros(n_columns), np.zeros(n_columns)
        doubted = 0.0
        if query.count_weight:
            rows = max(numbers[n_columns] / query.count_weight, 1.0)
            doubted = noise.scale / query.count_weight
        if query.missing_weight:
            missing = numbers[-n_columns:] / query.missing_weight
            doubt = noise.quantile(MISSING_DOUBT / n_columns) / query.missing_weight
            slack = np.where(missing < doubt, doubt, 0.0)
            missing = np.where(missing < doubt, 0.0, missing)
        # A number that is known by noise alone is not taken for less than that noise.
        counted = query.count_weight or query.missing_weight
        present = np.maximum(rows - missing, max(noise.scale / query.radius * bool(counted), 1.0))
        inverse = np.array(query.ball.inverse_ticks)
        ticks = np.divide(1.0, inverse, out=np.zeros(n_columns), where=inverse > 0)
        # No mean of cells in the ball is beyond its radius.
        offsets = np.clip(numbers[:n_columns] / present, -float(query.radius), float(query.radius))
        centers = np.array(query.ball.centers)
        return cls(centers, ticks, query, noise, offsets, present, rows - doubted, slack, squares)

    @property
    def numbers(self) -> list[tuple[float, float] | None]:
        """How many cells of each column are numbers, and how far off that is; None if not asked."""
        query, noise = self.query, self.noise
        if query is None or noise is None or not query.missing_weight:
            return [None] * len(self.centers)
        margin = noise.quantile(UNUSUAL) / query.missing_weight
        if query.count_weight:
            margin += noise.quantile(UNUSUAL) / query.count_weight
        live = (np.array(query.ball.inverse_ticks) > 0).tolist()
        counted = zip(live, self.present.tolist(), strict=True)
        return [(number, margin) if is_live else None for is_live, number in counted]

    @property
    def value(self) -> Floats:
        """The means."""
        return self.centers + self.ticks * self.offsets

    def too_few(self, plan: PricedRequest) -> list[bool]:
        """Say for each column that does not look constant whether its scale may be noise.

        A column has one of its own by its cells; one for all columns is chosen by rows.
        """
        cells = np.minimum(self.present, self.rows) if plan.has("center") else self.rows
        found: list[bool] = ((self.ticks > 0) & (cells < settings.least_cells(plan))).tolist()
        return found

    @property
    def reach(self) -> list[float]:
        """How far from its center a cell can be, at most, after clipping and in the ball."""
        if self.query is None:
            return [0.0] * len(self.centers)
        radius, limits = float(self.query.radius), self.query.ball.limits
        most = np.full(len(self.centers), radius) if limits is None else np.minimum(limits, radius)
        found: list[float] = (self.ticks * most).tolist()
        return found

    @property
    def clip(self) -> list[tuple[float, float]]:
        """The ends beyond which a cell counts as if it were there, at most."""
        ends = zip(self.centers.tolist(), self.reach, strict=True)
        return [(center - reach, center + reach) for center, reach in ends]


def conclude(plan: PricedRequest, measure: BallMeasure, ranks: Floats) -> tuple[Estimate, ...]:
    """Return the values, clamped to where they can be, and their intervals.

    ``ranks`` are how many cells of each column lie beyond its scale; 0 where that was not asked.
    """
    low, high = np.array(plan.answer_ranges).T
    value = np.clip(measure.value, low, high)
    widths, few = Widths.of(plan, measure, ranks), measure.too_few(plan)
    held = widths.is_limited_by_within(plan, value, few)
    found = (
        [()] * plan.n_columns
        if plan.confidence is None
        else widths.intervals(plan, value, held, few)
    )
    doubtful = [one or other for one, other in zip(held, widths.doubtful(plan), strict=True)]
    said = _notes(measure, value, few, held, doubtful)
    rows = zip(value.tolist(), found, measure.clip, doubtful, said, strict=True)
    known = measure.numbers
    return tuple(Estimate(*row, present=present) for row, present in zip(rows, known, strict=True))


def _notes(
    measure: BallMeasure,
    value: Floats,
    few: list[bool],
    held: list[bool],
    doubtful: list[bool | None],
) -> list[tuple[Note, ...]]:
    """Return what is to be said about every column."""
    said = []
    for column, tick in enumerate(measure.ticks.tolist()):
        found = [notes.NOTHING_SEEN, notes.MEDIAN] if tick == 0 else []
        if few[column]:
            found.append(notes.TOO_FEW)
        if measure.value[column] != value[column]:
            found.append(notes.CONTRADICTED if held[column] else notes.CLAMPED)
        elif doubtful[column]:
            found.append(notes.DOUBTFUL)
        said.append(tuple(found))
    return said


@dataclass(frozen=True, slots=True)
class Widths:
    """What the half-widths of all columns are made of, in the units of the records."""

    measure: BallMeasure
    noise: Floats
    privacy: Floats
    """What noise on sum and count changes, with the confidence of the release."""
    sampling: Floats
    bias: Floats
    reach: Floats
    """All parts together, with the rounding."""
    squares: tuple[Floats, Floats] | None
    """Second moments around the centers, less their noise, and what sampling adds at most."""
    extrapolated: Floats | None = None
    """What clipping may have taken off where nothing was assumed; None if nothing tells."""

    @classmethod
    def of(cls, plan: PricedRequest, measure: BallMeasure, ranks: Floats) -> Widths:
        """Bound each part with its share of the risk, for all columns at once."""
        nothing = np.zeros(plan.n_columns)
        if measure.query is None or measure.noise is None:
            bias = _bias(plan, measure, nothing, nothing + 1)
            return cls(measure, nothing, nothing, nothing, bias, bias, None)
        confidence = DOUBT if plan.confidence is None else plan.confidence
        risk = {name: part * (1 - confidence) for name, part in RISKS.items()}
        present, noise = _noise_reach(measure, measure.query, measure.noise, risk["noise"])
        sampling, cut, squares, beyond = nothing, nothing + 1, None, None
        if measure.squares is not None:
            seen = _Squares(plan, measure, measure.query, present, risk)
            cut, squares = seen.cut, (seen.least * measure.ticks**2, seen.slack * measure.ticks**2)
            if not settings.are_assumed(plan):
                beyond = _extrapolated(plan, measure, measure.query, seen, ranks)
            if plan.target == "population":
                sampling = seen.sampling
        width = (noise + 0.5 + sampling) * measure.ticks
        bias = _bias(plan, measure, width, cut)
        privacy = _likely_noise(measure, measure.query, measure.noise, 1 - confidence)
        noise, sampling = noise * measure.ticks, sampling * measure.ticks
        privacy = privacy * measure.ticks
        return cls(measure, noise, privacy, sampling, bias, width + bias, squares, beyond)

    def intervals(
        self, plan: PricedRequest, value: Floats, held: list[bool], few: list[bool]
    ) -> list[tuple[Interval, ...]]:
        """Return the interval of each column, within where its mean can be unless held back.

        Where nothing stands out and nothing is assumed, that is all there is to say; and so it is
        where there are so few cells that their scale, and with it the width, may be noise.
        """
        assumed, found = settings.are_assumed(plan), []
        for column, possible in enumerate(plan.answer_ranges):
            parts, own = self._parts(column, assumed), float(value[column])
            if few[column] or (not assumed and self.measure.ticks[column] == 0):
                some = [unknown(dict.fromkeys(PARTS) | {"rounding": parts["rounding"]})]
            else:
                clipped = self._around(column, own, parts, MEAN if assumed else WINSORIZED)
                # Wholly beyond where the mean can be it is noise, with a tail or without.
                tells = held[column] or confined(clipped, possible).basis == clipped.basis
                some = [*(self._with_the_tail(plan, column, clipped) if tells else ()), clipped]
            sure = [replace(one, confidence=plan.confidence or 0.0) for one in some]
            found.append(tuple(one if held[column] else confined(one, possible) for one in sure))
        return found

    def _around(
        self, column: int, value: float, parts: dict[str, float | None], target: Target
    ) -> Interval:
        """Return the interval that errors and bias make; it holds the value."""
        mean, reach = float(self.measure.value[column]), float(self.reach[column])
        low, high = min(mean - reach, value), max(mean + reach, value)
        return Interval(low, high, *target, target == MEAN, parts)

    def _with_the_tail(
        self, plan: PricedRequest, column: int, clipped: Interval
    ) -> tuple[Interval, ...]:
        """Return the interval for the mean if nothing was assumed; none if nothing tells.

        A side that is not clipped short of the one-sided bound of all records has no tail.
        """
        if self.extrapolated is None:
            return ()
        beyond, (least, most) = float(self.extrapolated[column]), settings.ends(plan)[column]
        below, above = self.measure.clip[column]
        low = clipped.low - beyond * (below > least)
        high = clipped.high + beyond * (above < most)
        parts = dict(clipped.error_components) | {"clipping": beyond}
        return (Interval(low, high, *MEAN_AS_SEEN, proved=False, error_components=parts),)

    def _parts(self, column: int, assumed: bool) -> dict[str, float | None]:
        """Return what the interval of a column is made of; truncation, if anything bounds it."""
        rounding = float(self.measure.ticks[column]) / 2
        truncation = float(self.bias[column]) if assumed else None
        sizes = float(self.privacy[column]), float(self.sampling[column]), truncation, rounding
        return dict(zip(PARTS, sizes, strict=True))

    def is_limited_by_within(
        self, plan: PricedRequest, value: Floats, few: list[bool]
    ) -> list[bool]:
        """Say for each column whether its mean lies where it cannot be, by more than errors.

        Clipping moves a mean towards its center, which is where it can be: no bias explains that.
        Beyond a one-sided bound is noise alone: records were clipped to it. So it may be where
        there are few cells.
        """
        beyond = np.abs(self.measure.value - value)
        low, high = np.array(settings.ends(plan)).T
        by_noise = (value == low) | (value == high) | np.array(few)
        held: list[bool] = ((beyond > 0) & (beyond > self.reach - self.bias) & ~by_noise).tolist()
        return held

    def doubtful(self, plan: PricedRequest) -> list[bool | None]:
        """Say for each column whether the answers contradict its tail; None without one."""
        return [
            None if tail is None else self._contradicts(tail, column)
            for column, tail in enumerate(plan.tails)
        ]

    def _contradicts(self, tail: Moment | Bounded, column: int) -> bool | None:
        """Compare the mean with bounds, and the second moment with what the tail allows.

        Within R of the center c, E (x - c)^2 is at most scale^2 + (mu - c)^2 for k >= 2, and at
        most R^(2 - k) (scale + |mu - c|)^k for k < 2; within bounds |x - c| is bounded.
        """
        measure = self.measure
        mean, center = float(measure.value[column]), float(measure.centers[column])
        off = float(self.noise[column] + measure.ticks[column])
        if isinstance(tail, Bounded):
            if not tail.low - off <= mean <= tail.high + off:
                return True
            allowed = max(center - tail.low, tail.high - center) ** 2
        else:
            away = abs(mean - center) + off + float(self.sampling[column])
            reach = measure.reach[column]
            if tail.k >= 2:
                allowed = tail.scale**2 + away**2
            else:
                allowed = reach ** (2 - tail.k) * (tail.scale + away) ** tail.k
        if self.squares is None:
            return False if isinstance(tail, Bounded) or measure.query is None else None
        least, slack = (float(part[column]) for part in self.squares)
        return least > (math.sqrt(allowed) + math.sqrt(slack)) ** 2


def _noise_reach(
    measure: BallMeasure, query: BallSum, noise: Noise, risk: float
) -> tuple[Floats, Floats]:
    """Bound the numbers of cells from below, and the noise on sum / number in ticks."""
    bound = noise.quantile(risk / (2 * query.ball.n_columns + 1))
    miss = measure.slack.copy()
    for weight in (query.count_weight, query.missing_weight):
        miss += bound / weight if weight else 0.0
    least = np.maximum(measure.present - miss, 1.0)
    # S/C - S'/C' = (noise on S - S'/C' noise on C) / C
    return least, (bound + np.abs(measure.offsets) * miss) / least


def _likely_noise(measure: BallMeasure, query: BallSum, noise: Noise, risk: float) -> Floats:
    """Return what noise on sum and numbers changes in each mean, all at once, but for this risk."""
    usual = noise.quantile(risk / query.ball.n_columns)
    weights = [weight for weight in (query.count_weight, query.missing_weight) if weight]
    miss = measure.offsets * math.hypot(*(usual / weight for weight in weights), 0.0)
    found: Floats = np.hypot(usual, miss) / np.maximum(measure.present, 1.0)
    return found


class _Squares:
    """What the private second moments say; everything is given that a column's cell is there.

    Attributes: ``sampling`` bounds |mean - expectation| in ticks; ``moments`` bounds the second
    moments from above, in square ticks; ``cut`` the probability of a row
    outside of the ball, or for ``target="data"`` the share of such rows; ``least`` the second
    moments from below, in square ticks; ``slack`` is what sampling may have added to them.
    """

    def __init__(
        self, plan: PricedRequest, measure: BallMeasure, query: BallSum, cells: Floats,
        risk: dict[str, float],
    ) -> None:  # fmt: skip
        asked, radius = BallSquares(query.ball, query.level), float(query.radius)
        sensitivity = asked.sensitivity(plan.adjacency)
        cost = plan.cost("spread", settings.rounds(plan))
        noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
        bound = noise.quantile(risk["spread"] / (plan.n_columns + 1))
        answers = np.array([float(part) for part in measure.squares or ()])
        seen = np.maximum(answers + bound, 0.0)
        level = math.log(2 * plan.n_columns / risk["moments"])
        # E Z <= (sqrt(mean + b l/2n) + sqrt(b l/2n))^2 for 0 <= Z <= b: squares, and cut rows
        squares = (seen[:-1] + 1) / cells * 2.0**asked.shift
        self.moments = moments = _expectation(squares, radius**2, cells, level)
        self.cut = outside = seen[-1] / asked.cut_weight / cells
        self.least = np.maximum(answers[:-1] - bound, 0.0) / measure.present * 2.0**asked.shift
        self.slack = np.zeros(plan.n_columns)
        if plan.target == "population":
            self.cut = _expectation(outside, 1.0, cells, level)
            self.slack = radius**2 * level / (2 * cells)
        self.cut = np.minimum(self.cut, 1.0)
        level = math.log(2 * plan.n_columns / risk["sampling"])
        deviation = np.sqrt(np.minimum(moments, radius**2))
        self.sampling = deviation * np.sqrt(2 * level / cells) + 2 * radius * level / (3 * cells)


def _extrapolated(
    plan: PricedRequest, measure: BallMeasure, query: BallSum, seen: _Squares, ranks: Floats
) -> Floats:
    """Return what clipping cells, and pulling rows on to the ball, may have taken off each mean.

    Of a column that falls like T^-a beyond its scale s, with so many cells beyond that, what lies
    beyond CLIP s adds up to rank s CLIP^(1-a) / (a-1). Rows outside of the ball are as long as
    such a law has it, but no longer than clipped cells make them, and a column has the part of
    that length which it has of all second moments.
    """
    radius, limits, order = float(query.radius), query.ball.limits, query.ball.order
    longer, clipped = 1 / (SLOPE - 1), np.zeros(plan.n_columns)
    if limits is not None:
        ends = np.array(limits, dtype=np.float64)
        longest = float((ends**order).sum() ** (1 / order))
        longer = min(longer, max(longest / radius - 1, 0.0))
        beyond = ranks * ends / CLIP * CLIP ** (1 - SLOPE) / (SLOPE - 1)
        untold = np.array([tail is None for tail in plan.tails])
        clipped = np.where(untold, beyond, 0.0) / np.maximum(measure.present, 1.0)
    sizes = np.sqrt(seen.moments) ** order
    pulled = seen.cut * radius * longer * (sizes / max(float(sizes.sum()), 1e-300)) ** (1 / order)
    found: Floats = (clipped + pulled) * measure.ticks
    return found


def _expectation(mean: Floats, largest: float, n: Floats, level: float) -> Floats:
    slack = largest * level / (2 * n)
    found: Floats = (np.sqrt(mean + slack) + np.sqrt(slack)) ** 2
    return found


def _bias(plan: PricedRequest, measure: BallMeasure, width: Floats, cut: Floats) -> Floats:
    """Bound what the rows outside of the ball, a part ``cut`` of all, can move each mean.

    Such a row moves from x to a point between x and the center c. So the mean moves by at most
    E|x - c| 1[outside] <= (scale + |mu - c|) cut^(1 - 1/k), by Hoelder, for a ``Moment``. As
    |mu - c| <= |value - c| + width + bias, solve for the bias. Within bounds |x - c| is bounded.
    For ``target="data"`` the tail is about these records, and all of this about their averages.
    Nothing is claimed, and 0 returned, unless something was assumed about every column.
    """
    bias = np.zeros(plan.n_columns)
    if not settings.are_assumed(plan):
        return bias
    away = np.abs(measure.value - measure.centers) + width
    for column, tail in enumerate(plan.tails):
        # Nothing was counted in a column that looks constant.
        part = float(cut[column]) if measure.ticks[column] > 0 else 1.0
        if isinstance(tail, Moment):
            factor = part ** (1 - 1 / tail.k)
            gap = 1 - factor
            bias[column] = (tail.scale + away[column]) * factor / gap if gap > 0 else math.inf
        elif isinstance(tail, Bounded):
            center = measure.centers[column]
            bias[column] = max(center - tail.low, tail.high - center) * part
    return bias
