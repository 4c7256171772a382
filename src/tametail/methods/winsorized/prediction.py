"""What a plan predicts before any record is read, and what it advises.

With a tail assumption the prediction of the error is for the worst law that it allows; without one
it is for a reference law, the lognormal with sigma = 1, in units of its standard deviation. More
records or a larger budget never make it worse.

The half-width of the interval is predicted by the estimator itself, on the answers that are
expected of n records of a known law. Where the interval follows from the shape of the tail, noise
on the octave counts widens it, so usual noise is added to them: quantiles of its law in a fixed
order, in a few turns, of which the median counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from tametail.errors import InternalError
from tametail.inequalities.concentration import mean_deviation, second_moment_bound
from tametail.inequalities.lognormal import REFERENCE_SD, lognormal_excess
from tametail.inequalities.quantiles import continuous_quantile, normal_tail
from tametail.inequalities.risk import split_risk
from tametail.inequalities.truncation import bias_constant
from tametail.methods.by_column import PredictedByColumn
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.budget_split import (
    divide,
    expected_notes,
    location_failure_mse,
    missing_assumptions,
)
from tametail.methods.winsorized.column import ColumnPlan, column_settings
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.methods.winsorized.tail_histogram import histogram_noise, min_detected, noise_scale
from tametail.notes import Note, hint
from tametail.plans import REFERENCE, WORST, Steps
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import (
    SOFT_ONE,
    ClippedSum,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    Squares,
)
from tametail.queries.densest_bin import DensestBin
from tametail.request import Request
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.privacy.adjacency import Adjacency
    from tametail.queries.query import Query

Array = npt.NDArray[np.float64]

_MAY_FAIL = (
    "With few records, locating the data may fail. Pass an estimate of n= to see the probability."
)


class Setting(NamedTuple):
    """A clip interval, what the clipping may cost, and how the clipped records spread.

    ``side`` is the larger distance of a clip point from the mean.
    """

    width: float
    side: float
    bias: float
    deviation: float


def rmse(plan: ColumnPlan) -> float | None:
    """Bound the root mean squared error by the tail assumption; None without one.

    The worst law has a group of far records, as many as can go unseen in the octave counts. With a
    moment, the chance of a lost center is part of it; without a range (``within``) it is then for a
    mean within some thousand scales of 0.
    """
    if plan.n is None or plan.tail is None:
        return None
    noise = noise_scale(histogram_noise(plan, plan.cost("tail")))
    unseen = min(tuned.WEAK_THRESHOLD * noise / plan.size, 1.0)
    if isinstance(plan.tail, Bounded):
        width = plan.tail.high - plan.tail.low
        return _error(plan, Setting(width, width, unseen * width, width / 2))
    k, scale = plan.tail.k, plan.tail.scale
    # Beyond this clip point, twice, even the worst bias is below the noise.
    strength = plan.size * plan.cost("sum").strength
    side = scale * (2 + (bias_constant(k) * strength) ** (1 / k))
    deviation = scale * (side / scale) ** max(1 - k / 2, 0.0)
    found = _error(plan, Setting(2 * side, side, scale * unseen ** (1 - 1 / k), deviation))
    return math.sqrt(found**2 + location_failure_mse(plan))


def reference_rmse(plan: ColumnPlan) -> float | None:
    """Predict the root mean squared error for the reference law, in its standard deviations."""
    return None if plan.n is None else min(_error(plan, setting) for setting in _reference())


def cautious_half_width(plan: ColumnPlan, confidence: float) -> float | None:
    """Predict the half-width of an interval for the winsorized mean that inequalities bound.

    For the reference law, in its standard deviations: the interval of small groups and of persons.
    """
    if plan.n is None:
        return None
    n, risk = plan.size, split_risk(1 - confidence, sampled=plan.target == "population")
    spread = plan.cost("spread") if plan.has("spread") else plan.budget.share(tuned.SPREAD_SHARE)

    def half(setting: Setting) -> float:
        noise = _noise(plan, setting)
        if plan.target == "data":
            return setting.bias + continuous_quantile(noise, risk.noise / 2)
        square = setting.side**2 * math.log(4 / risk.spread) / (n * spread.strength)
        bound = second_moment_bound(setting.deviation**2 + square, setting.side, n, risk.spread)
        deviation = mean_deviation(math.sqrt(bound), setting.side, n, risk.sampling / 2, noise)
        return setting.bias + deviation

    return min(map(half, _reference()))


def planning_notes(plan: ColumnPlan) -> tuple[Note, ...]:
    """Say what a release would carry for a note, and what public numbers cannot foresee.

    If n is unknown, how many records would be few. If n is known, how many must differ from a
    value that nearly all share, so that they are detectable above the noise of the counts.
    """
    if plan.n is None:
        return _if_few(plan)
    least, said = min_detected(plan, plan.cost("tail")), expected_notes(plan)
    if plan.tail is None and least > tuned.HIDDEN_SHARE * plan.n:
        part = float(f"{min(100 * least / max(plan.n, 1), 100.0):.2g}")
        text = (
            "If most values are identical (for example 0), the other values affect the result only "
            f"if they make up at least about {part:.3g}% of the records. Otherwise the result is "
            "the common value."
        )
        said = (*said, hint(text))
    return said


def _if_few(plan: ColumnPlan) -> tuple[Note, ...]:
    """Say what few records would lead to, if nobody knows how many there are.

    Between bounds nothing: few records are clamped to them. By a scale few are found, or not.
    """
    if isinstance(plan.tail, Bounded):
        return ()
    if isinstance(plan.tail, Moment):
        return (hint(_MAY_FAIL),)
    few = round(float(f"{tuned.FEASIBLE / plan.budget.strength:.3g}"))
    *others, last = "A larger epsilon", *missing_assumptions(plan)
    help_ = f"{', '.join(others)} or {last} help." if others else f"{last} helps."
    text = f"With fewer than about {few:,} records this budget is too small for an accurate mean."
    return (hint(f"{text} {help_}"),)


def half_within(plan: ColumnPlan) -> float:
    """Return the half-width of the interval of a release that saw nothing: all that may be."""
    low, high = plan.possible
    return high / 2 - low / 2


def _error(plan: ColumnPlan, setting: Setting) -> float:
    noise = _noise(plan, setting).variance
    return math.sqrt(setting.bias**2 + noise + setting.deviation**2 / plan.size)


def _noise(plan: ColumnPlan, setting: Setting) -> Noise:
    """Return the noise on the mean: add-remove protects against one side of the width only."""
    sensitivity = setting.width if plan.adjacency.size_is_public else setting.side
    cost = plan.cost("sum")
    scale = (1 + tuned.COUNT_NOISE) * sensitivity / (plan.size * cost.strength)
    return Noise(noise_for(cost, 1, 1).kind, scale)


def _reference() -> Iterable[Setting]:
    """Yield clip points for the lognormal law around its median 1, in standard deviations."""
    mean = math.exp(0.5)
    for step in range(36):
        end = 1 + math.exp(step / 3)
        excess = lognormal_excess(1.0, end)
        yield Setting(
            end / REFERENCE_SD, (end - mean + excess) / REFERENCE_SD, excess / REFERENCE_SD, 1.0
        )


# --- releases of a known law ---

#: Points of a law: normal ones reach so many standard deviations, in steps of one part of one.
_REACH, _STEPS = 8, 48

#: Multiples of this, less whole numbers, are spread evenly; where each turn begins.
_GOLDEN, _TURNS = (math.sqrt(5) - 1) / 2, (0.1, 0.3, 0.5, 0.7, 0.9)


class Distribution(NamedTuple):
    """Points in order, and their probabilities."""

    points: Array
    masses: Array

    def moved(self, factor: float, shift: float = 0.0) -> Distribution:
        """Return the law of ``factor * X + shift``, for a positive factor."""
        return Distribution(self.points * factor + shift, self.masses)

    def moment(self, k: float) -> float:
        """Return (E|X - mean|^k)^(1/k)."""
        mean = float(self.points @ self.masses)
        return math.pow(float(np.abs(self.points - mean) ** k @ self.masses), 1 / k)


@lru_cache(maxsize=1)
def normal() -> Distribution:
    """Return the standard normal law."""
    edges = np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1) / _STEPS
    above = normal_tail(edges)
    # Far out the smaller tail has more digits.
    masses = np.where(edges[1:] <= 0, above[:0:-1] - above[-2::-1], above[:-1] - above[1:])
    masses = np.abs(masses)
    return Distribution((edges[1:] + edges[:-1]) / 2, masses / masses.sum())


@lru_cache(maxsize=1)
def lognormal() -> Distribution:
    """Return the lognormal law with sigma = 1, in its standard deviations."""
    distribution = normal()
    return Distribution(np.exp(distribution.points) / REFERENCE_SD, distribution.masses)


def uniform(low: float, high: float) -> Distribution:
    """Return the uniform law on [low, high]."""
    parts = (np.arange(512) + 0.5) / 512
    return Distribution(low + (high - low) * parts, np.full(512, 1 / 512))


def at_the_ends(low: float, high: float) -> Distribution:
    """Return the law with the largest variance on [low, high]: half of the records at each end."""
    return Distribution(np.array([low, high]), np.array([0.5, 0.5]))


def half_width(plan: ColumnPlan, confidence: float, distribution: str = WORST) -> float | None:
    """Predict the half-width of the first interval, the one that ``low`` and ``high`` show.

    Without a tail that is for lognormal records, in their standard deviations; with a ``Moment``
    for the worse of normal and lognormal records with that moment; with bounds for the worst law
    within them, half of the records at each end, or for uniform ones with
    ``distribution="reference"``. Infinite if no record would be detectable above the noise.
    """
    if plan.half is not None:  # it is in the units of the records, which nobody told
        plan = replace(plan, half=None, possible=plan.within)
    if plan.n is None:
        return None
    tail = plan.tail
    if tail is None:
        width = _usual_width(plan, confidence, lognormal())
        # Where few records stand out, by chance, an interval is narrow for what is not seen.
        enough = math.ceil(tuned.FEASIBLE / plan.budget.strength)
        if plan.n >= enough or math.isinf(width):
            return width
        return max(width, _usual_width(replace(plan, n=enough), confidence, lognormal()))
    if isinstance(tail, Bounded):
        make = uniform if distribution == REFERENCE else at_the_ends
        return _width(plan, confidence, make(tail.low, tail.high))
    if Reference.of(plan, (0.0, 0.0)).noise > 0:  # clip points do not follow from the records
        return _width(plan, confidence, normal().moved(tail.scale / normal().moment(tail.k)))
    scaled = (one.moved(tail.scale / one.moment(tail.k)) for one in (normal(), lognormal()))
    return max(_usual_width(plan, confidence, one) for one in scaled)


def _usual_width(plan: ColumnPlan, confidence: float, distribution: Distribution) -> float:
    """Return the median of the half-widths with usual noise."""
    return sorted(_width(plan, confidence, distribution, turn) for turn in _TURNS)[len(_TURNS) // 2]


def _width(
    plan: ColumnPlan, confidence: float, distribution: Distribution, turn: float | None = None
) -> float:
    """Return the half-width of the first interval of a release of n records of the law.

    Without a ``turn`` there is no noise.
    """
    answers = _Expected(distribution, plan.size, plan.adjacency, turn)
    found = winsorized_mean(replace(plan, confidence=confidence), cast("Ask", answers))
    interval = found.intervals[0]
    if not math.isfinite(interval.high - interval.low):
        return math.inf
    return interval.high / 2 - interval.low / 2


class _Expected:
    """Answers with what is expected of n records, with noise on the octave counts if any."""

    def __init__(
        self, distribution: Distribution, n: int, adjacency: Adjacency, turn: float | None
    ) -> None:
        self._distribution, self._n = distribution, n
        self._adjacency, self._turn = adjacency, turn

    def __call__(self, query: Query[object], cost: Budget) -> object:
        """Return the expected answer."""
        if isinstance(query, Count):
            return (self._n,)
        if isinstance(query, Median | DensestBin):
            return self._median(query) if isinstance(query, Median) else self._bucket(query)
        if isinstance(query, LogHistogram):
            return tuple(map(round, self._nodes(query) + self._noise(query, cost)))
        if isinstance(query, Squares):
            return self._squares(query)
        if isinstance(query, DistanceSum | ClippedSum):
            return self._sum(query, query.center if isinstance(query, DistanceSum) else 0.0)
        raise InternalError("nothing is expected of this query.")

    def _add(self, parts: Array) -> int:
        return round(self._n * float(parts @ self._distribution.masses))

    def _median(self, query: Median) -> float:
        middle = int(np.searchsorted(np.cumsum(self._distribution.masses), 0.5 - 1e-9))
        return min(max(float(self._distribution.points[middle]), query.low), query.high)

    def _bucket(self, query: DensestBin) -> int | None:
        keys = np.floor(self._distribution.points * query.inverse_width)
        inside = (keys >= query.low) & (keys <= query.high)
        found, places = np.unique(keys[inside], return_inverse=True)
        if not len(found):
            return None
        masses = np.bincount(places, weights=self._distribution.masses[inside])
        return int(found[np.argmax(masses)])

    def _sum(self, query: DistanceSum | ClippedSum, center: float) -> tuple[int, ...]:
        lattice, weight = query.lattice, query.count_weight
        ticks = np.ldexp(self._distribution.points - center, -lattice.exponent)
        total = self._add(np.clip(ticks, lattice.low, lattice.high) - lattice.center)
        return (total, weight * self._n) if weight else (total,)

    def _squares(self, query: Squares) -> tuple[int]:
        cap = (16 + query.cap) * math.ldexp(1.0, query.octave - 4)
        distances = np.minimum(np.abs(self._distribution.points - query.center), cap)
        return (self._add(distances**2 / query.unit),)

    def _noise(self, query: LogHistogram, cost: Budget) -> Array:
        size = 2 * len(query.nodes) + query.counted
        if self._turn is None:
            return np.zeros(size)
        sensitivity = query.sensitivity(self._adjacency)
        noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
        parts = (np.arange(size) * _GOLDEN + self._turn) % 1.0
        parts = np.clip(parts, 0.5 / size, 1 - 0.5 / size)
        if noise.kind == "laplace":
            far = np.where(parts < 0.5, parts, 1 - parts)
            units = -np.sign(parts - 0.5) * np.log(2 * far)
        else:
            units = np.array([NormalDist().inv_cdf(part) for part in parts.tolist()])
        found: Array = noise.scale * units
        return found

    def _nodes(self, query: LogHistogram) -> Array:
        nodes = np.array(query.nodes)
        distances = self._distribution.points - query.center
        counts = np.zeros((2, len(nodes)))
        far = np.abs(distances) >= 2.0**-1022
        fractions, exponents = np.frexp(np.abs(distances[far]))
        octaves, sides = exponents - 1, (distances[far] > 0).astype(np.intp)
        upper = np.floor(32 * fractions - 16) * 2 + 1  # of 32, at the next octave
        masses = self._distribution.masses[far] * self._n
        lows, highs = (np.searchsorted(nodes, octaves + step) for step in (0, 1))
        apart = (nodes[np.minimum(lows, len(nodes) - 1)] == octaves) & (
            nodes[np.minimum(highs, len(nodes) - 1)] == octaves + 1
        )
        upper = np.where(apart, upper, SOFT_ONE)
        lows, highs = (np.minimum(places, len(nodes) - 1) for places in (lows, highs))
        np.add.at(counts, (sides, highs), masses * upper)
        np.add.at(counts, (sides, lows), masses * (SOFT_ONE - upper))
        return np.append(counts.ravel(), [SOFT_ONE * self._n] * query.counted)


# --- the method ---


def steps(request: Request, n: int, budget: Budget) -> Steps:
    """Return the steps, paid from ``budget``."""
    (given,) = column_settings(request, n, budget)
    return divide(given)


class Predicted(PredictedByColumn):
    """What a column promises: by its tail assumption, or for the reference law."""

    error = staticmethod(rmse)
    width = staticmethod(half_width)

    @property
    def relative_rmse(self) -> float | None:
        """Predict the error for the reference law, in its standard deviations."""
        return reference_rmse(ColumnPlan.of(self.plan))

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say what a release would carry for a note, and what cannot be foreseen."""
        return planning_notes(ColumnPlan.of(self.plan))
