"""Intervals for all columns at once, around a mean in a ball.

The half-width of a column is the sum of

- *noise*: its exact law is known;
- *sampling* (for the population): Bernstein's inequality for the rows in the ball, with a private
  bound of their second moment;
- *rounding*: half a tick;
- *bias*, only if a tail was assumed: a row outside of the ball moves towards the centre, and the
  number of such rows is private; Hoelder's inequality bounds what it costs.

Each statement is made for every column with its part of the risk, so that all hold together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.budget import Budget, Noise, noise_for
from tametail.column_queries import BallSquares, BallSum
from tametail.tail import Bounded, Moment
from tametail.unit import Unit
from tametail.vector_release import VectorEstimate

if TYPE_CHECKING:
    from tametail.vector_planning import VectorPlan

Floats = npt.NDArray[np.float64]

#: Parts of the risk: noise on the sums, sampling, noise on the second moments, their sampling.
RISKS = {"noise": 0.4, "sampling": 0.4, "spread": 0.1, "moments": 0.1}


@dataclass(frozen=True, slots=True)
class BallMeasure:
    """The noisy sums of rows in a ball, in ticks of each column; none if all looks constant."""

    centres: Floats
    ticks: Floats
    """The size of a tick of each column; 0 where it looks constant."""
    query: BallSum | None
    noise: Noise | None
    offsets: Floats
    """Mean less centre, in ticks."""
    count: float
    squares: tuple[int, ...] | None

    @classmethod
    def constant(cls, centres: Floats) -> BallMeasure:
        """Return the measure of columns that all look constant."""
        nothing = np.zeros_like(centres)
        return cls(centres, nothing, None, None, nothing, 1.0, None)

    @classmethod
    def of(
        cls,
        query: BallSum,
        cost: Budget,
        unit: Unit,
        sums: Floats,
        count: float,
        squares: tuple[int, ...] | None,
    ) -> BallMeasure:
        """Read the answer to ``query``."""
        inverse = np.array(query.ball.inverse_ticks)
        live = inverse > 0
        ticks = np.where(live, 1 / np.where(live, inverse, 1.0), 0.0)
        sensitivity = query.sensitivity(unit)
        noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
        centres = np.array(query.ball.centres)
        return cls(centres, ticks, query, noise, sums / count, count, squares)

    @property
    def value(self) -> Floats:
        """The means."""
        return self.centres + self.ticks * self.offsets


def conclude(plan: VectorPlan, measure: BallMeasure, size: int) -> VectorEstimate:
    """Return the values, clamped to where they can be, and their intervals."""
    low, high = np.array(plan.possible).T
    value = np.clip(measure.value, low, high)
    if plan.confidence is None:
        return VectorEstimate(value, notes=plan.advice)
    reach, describes = _half_widths(plan, measure, size)
    raw = measure.value
    return VectorEstimate(
        value,
        np.minimum(raw - reach, value),
        np.maximum(raw + reach, value),
        describes,
        plan.advice,
    )


def _half_widths(plan: VectorPlan, measure: BallMeasure, size: int) -> tuple[Floats, str]:
    has_tails = all(tail is not None for tail in plan.tails) and plan.target == "population"
    describes = "mean" if has_tails else "winsorised mean"
    risk = {name: part * (1 - (plan.confidence or 0.0)) for name, part in RISKS.items()}
    if measure.query is None or measure.noise is None:
        reach = np.zeros(plan.dim)
        return (reach + _bias(plan, measure, reach, 1.0) if has_tails else reach), describes

    count, noise = _noise_reach(measure, measure.query, measure.noise, risk["noise"] / plan.dim)
    reach = noise + 0.5
    cut = 1.0
    if plan.target == "population" and measure.squares is not None:
        rows = count if measure.query.count_weight else float(size)
        sampling, cut = _sampling_reach(plan, measure, measure.query, rows, risk)
        reach = reach + sampling
    width = reach * measure.ticks
    return (width + _bias(plan, measure, width, cut) if has_tails else width), describes


def _noise_reach(
    measure: BallMeasure, query: BallSum, noise: Noise, risk: float
) -> tuple[float, Floats]:
    """Bound the count from below, and the noise on sum / count in ticks."""
    bound = noise.quantile(risk / 4)
    if not query.count_weight:
        return measure.count, np.full(len(measure.centres), bound / measure.count)
    miss = bound / query.count_weight
    least = max(measure.count - miss, 1.0)
    # S/C - S'/C' = (noise on S - S'/C' noise on C) / C
    return least, (bound + np.abs(measure.offsets) * miss) / least


def _sampling_reach(
    plan: VectorPlan, measure: BallMeasure, query: BallSum, rows: float, risk: dict[str, float]
) -> tuple[Floats, float]:
    """Bound |mean - expectation| in ticks, and the probability of a row outside of the ball."""
    asked, radius = BallSquares(query.ball, query.level), float(query.radius)
    sensitivity = asked.sensitivity(plan.unit)
    noise = noise_for(plan.cost("spread"), sensitivity.l1, sensitivity.l2_squared)
    bound = noise.quantile(risk["spread"] / (plan.dim + 1))
    answers = np.array([float(part) for part in measure.squares or ()])
    seen = np.maximum(answers + bound, 0.0) / rows
    level = math.log((plan.dim + 1) / risk["moments"])
    # E Z <= (sqrt(mean + b l/2n) + sqrt(b l/2n))^2 for 0 <= Z <= b: squares, and cut rows
    moments = _expectation((seen[:-1] + 1 / rows) * 2.0**asked.shift, radius**2, rows, level)
    cut = float(_expectation(seen[-1:] / asked.cut_weight, 1.0, rows, level)[0])
    level = math.log(2 * plan.dim / risk["sampling"])
    deviation = np.sqrt(np.minimum(moments, radius**2))
    sampling = deviation * math.sqrt(2 * level / rows) + 2 * radius * level / (3 * rows)
    return sampling, min(cut, 1.0)


def _expectation(mean: Floats, largest: float, rows: float, level: float) -> Floats:
    slack = largest * level / (2 * rows)
    return (np.sqrt(mean + slack) + math.sqrt(slack)) ** 2


def _bias(plan: VectorPlan, measure: BallMeasure, width: Floats, cut: float) -> Floats:
    """Bound what the rows outside of the ball, a part ``cut`` of all, can move each mean.

    Such a row moves from x to a point between x and the centre c. So the mean moves by at most
    E|x - c| 1[outside] <= (scale + |mu - c|) cut^(1 - 1/k), by Hoelder, for a ``Moment``. As
    |mu - c| <= |value - c| + width + bias, solve for the bias. Within bounds |x - c| is bounded.
    """
    bias = np.empty(plan.dim)
    away = np.abs(measure.value - measure.centres) + width
    for column, tail in enumerate(plan.tails):
        # Nothing was counted in a column that looks constant.
        part = cut if measure.ticks[column] > 0 else 1.0
        if isinstance(tail, Moment):
            factor = part ** (1 - 1 / tail.k)
            gap = 1 - factor
            bias[column] = (tail.scale + away[column]) * factor / gap if gap > 0 else math.inf
        elif isinstance(tail, Bounded):
            centre = measure.centres[column]
            bias[column] = max(centre - tail.low, tail.high - centre) * part
    return bias
