"""What the plan of a vector mean predicts before any record is read.

The prediction is for a reference: independent columns, all lognormal with sigma = 1, in units of
their standard deviation. It follows the steps of the method: where the scale of a column will lie,
how long a row is, what noise and clipping then cost. The half-width is what a release would
conclude from the answers that are expected. It is no bound.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.columns import Column
from tametail.inequalities.lognormal import REFERENCE_SD
from tametail.methods.joint import settings, weigh
from tametail.methods.joint.budget_split import choice_halvings, scale_rank
from tametail.methods.joint.interval import BallMeasure, Widths
from tametail.methods.joint.weigh import CLIP, few_rows
from tametail.privacy.budget import Noise, noise_for
from tametail.privacy.choices import choice_rate
from tametail.queries.rows import BallSquares
from tametail.tail import Bounded, Moment, Tail

if TYPE_CHECKING:
    from tametail.plans import PricedRequest

Floats = npt.NDArray[np.float64]

#: Points of the reference law.
_POINTS = 4001


class Expectation(NamedTuple):
    """What is expected of a column, in standard deviations of the reference distribution."""

    noise: Noise
    bias: float
    scale: float
    """The distance at which a cell counts 1 in the norm of its row."""
    rank: float
    """How many cells lie beyond the scale that is found; 0 if it is given."""
    radius: float
    """The norm of the longest rows that are not shrunk, where one at all scales has norm 1."""
    outside: float
    """The part of the rows that are longer."""


def reference_rmse(plan: PricedRequest) -> float:
    """Predict the root mean squared error of a column, in standard deviations."""
    expected = _expect(plan, settings.size(plan))
    return math.sqrt(1 / settings.size(plan) + expected.noise.variance + expected.bias**2)


def half_width(plan: PricedRequest, confidence: float) -> float:
    """Predict the half-width of the intervals, in standard deviations.

    It is that of the interval which the answers make that are expected.
    """
    n = settings.size(plan)
    if n < settings.least_cells(plan):
        return math.inf
    columns = tuple(Column(one.name, _in_deviations(one.tail)) for one in plan.request.columns)
    plan = replace(plan, request=replace(plan.request, columns=columns, confidence=confidence))
    expected = _expect(plan, n)
    measure = _expected_measure(plan, n, expected)
    widths = Widths.of(plan, measure, np.full(plan.n_columns, expected.rank))
    beyond = 0.0 if widths.extrapolated is None else widths.extrapolated
    return float((widths.reach + beyond).max())


def _in_deviations(tail: Tail) -> Tail:
    """Return what is assumed of a column whose standard deviation is 1.

    Bounds are those of uniform records.
    """
    if isinstance(tail, Moment):
        return Moment(tail.k, 1.0)
    if isinstance(tail, Bounded):
        return Bounded(-math.sqrt(3), math.sqrt(3))
    return tail


def _expected_measure(plan: PricedRequest, n: int, expected: Expectation) -> BallMeasure:
    """Return what the answers are expected to be, of columns that are all alike."""
    final, columns = plan.cost("sum", settings.rounds(plan)), plan.n_columns
    order = weigh.norm_order(final)
    scales = np.full(columns, expected.scale)
    factors = weigh.weigh(scales, order)
    is_clipped = plan.has("center") and plan.has("scale") and not settings.are_assumed(plan)
    farthest = CLIP * expected.scale if is_clipped else math.inf
    limits = np.full(columns, farthest) * factors
    weighing = weigh.Weighing(np.zeros(columns), factors, limits, final)
    # Whole steps below the last radius, which cells that are clipped cannot exceed.
    wanted = math.log2(expected.radius)
    last = max(weigh.LAST_CLIPPED_RADIUS, math.ceil(wanted))
    first = last - math.floor((last - wanted) * weigh.FINENESS) / weigh.FINENESS
    ball = weigh.make_ball(weighing, first, last, order=order, strength=settings.weakest(plan))
    total, squares = weigh.sum_query(plan, ball, 0), None
    if plan.has("spread"):
        asked = BallSquares(ball, 0)
        cells = np.minimum(_distances(), farthest)
        # Rows that are shrunk have as much in all columns as the longest of the others.
        most = float(total.radius) ** 2 / columns ** (2 / order)
        each = min(float((cells**2).mean()) * ball.inverse_ticks[0] ** 2, most)
        square = round(n * each) >> asked.shift
        squares = (square,) * columns + (round(n * expected.outside * asked.cut_weight),)
    counted = (total.count_weight * n,) * bool(total.count_weight)
    missing = (0,) * columns * bool(total.missing_weight)
    sums = (round(weigh.OFFSET * expected.scale * ball.inverse_ticks[0] * n),) * columns
    answer = (*sums, *counted, *missing)
    return BallMeasure.of(total, final, plan.adjacency, answer, n, squares)


def _expect(plan: PricedRequest, n: int) -> Expectation:
    final = plan.cost("sum", settings.rounds(plan))
    distances, n_columns = _distances(), plan.n_columns
    scale, clip, rank = 1.0, math.inf, 0.0
    if plan.has("center") and plan.has("scale"):
        cost = plan.cost("scale")
        times = choice_halvings(cost, n, n_columns)
        rank = 2**times * scale_rank(n_columns) / float(choice_rate(cost, n_columns, times))
        # Half octaves are rounded up.
        scale, clip = 2**0.25 * _beyond(rank / n), CLIP
    clipped = np.minimum(distances / scale, clip)
    order = weigh.norm_order(final)
    # The power of the norm of a row is a mean over columns; few rows are beyond the radius.
    share = min(few_rows(final, n_columns) / n, 0.25)
    power = clipped**order
    spread = -NormalDist().inv_cdf(share) * float(power.std()) / math.sqrt(n_columns)
    radius = min(float(power.mean()) + spread, float(power.max())) ** (1 / order)
    each = scale * (math.sqrt(n_columns) if order == 2 else n_columns)
    moves = float(plan.adjacency.changes)
    noise = Noise(noise_for(final, 1, 1).kind, each * radius * moves / (n * final.strength))
    bias = float(np.maximum(distances - clip * scale, 0.0).mean()) if clip < math.inf else 0.0
    return Expectation(noise, bias, scale, rank, radius, share)


@lru_cache(maxsize=1)
def _distances() -> Floats:
    """Return distances from the median, 1, that all have one chance, in standard deviations."""
    normal = NormalDist()
    distribution = [math.exp(normal.inv_cdf((i + 0.5) / _POINTS)) for i in range(_POINTS)]
    distances: Floats = np.abs(np.array(distribution) - 1) / REFERENCE_SD
    return distances


def _beyond(share: float) -> float:
    """Return the distance that this part of the records exceeds."""
    if share >= 0.25:
        return float(np.quantile(_distances(), 1 - min(share, 0.9)))
    return (math.exp(-NormalDist().inv_cdf(share)) - 1) / REFERENCE_SD
