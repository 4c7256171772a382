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

from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.privacy.unit import Unit
from tametail.queries.rows import BallSquares, BallSum
from tametail.tail import Bounded, Moment
from tametail.vector_release import VectorEstimate

if TYPE_CHECKING:
    from tametail.vector_planning import VectorPlan

Floats = npt.NDArray[np.float64]

#: Parts of the risk: noise on the sums, sampling, noise on the second moments, their sampling.
RISKS = {"noise": 0.4, "sampling": 0.4, "spread": 0.1, "moments": 0.1}

#: Fewer missing cells than noise exceeds with this probability are taken for noise: most columns
#: have none, and then the number of rows, which is known better, is that of their cells.
MISSING_DOUBT = 0.01


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
    present: Floats
    """The number of cells of each column that are not missing."""
    slack: Floats
    """Missing cells that were taken for noise, at most."""
    squares: tuple[int, ...] | None

    @classmethod
    def constant(cls, centres: Floats) -> BallMeasure:
        """Return the measure of columns that all look constant."""
        nothing = np.zeros_like(centres)
        return cls(centres, nothing, None, None, nothing, nothing + 1, nothing, None)

    @classmethod
    def of(
        cls,
        query: BallSum,
        cost: Budget,
        unit: Unit,
        answer: tuple[int, ...],
        size: int,
        squares: tuple[int, ...] | None,
    ) -> BallMeasure:
        """Read the answer to ``query``; ``size`` is the number of rows if it was not asked for."""
        sensitivity = query.sensitivity(unit)
        noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
        dim, numbers = query.ball.dim, np.array([float(part) for part in answer])
        rows, missing, slack = float(size), np.zeros(dim), np.zeros(dim)
        if query.count_weight:
            rows = max(numbers[dim] / query.count_weight, 1.0)
        if query.missing_weight:
            missing = numbers[-dim:] / query.missing_weight
            doubt = noise.quantile(MISSING_DOUBT) / query.missing_weight
            slack = np.where(missing < doubt, doubt, 0.0)
            missing = np.where(missing < doubt, 0.0, missing)
        # A number that is known by noise alone is not taken for less than that noise.
        counted = query.count_weight or query.missing_weight
        present = np.maximum(rows - missing, max(noise.scale / query.radius * bool(counted), 1.0))
        inverse = np.array(query.ball.inverse_ticks)
        ticks = np.divide(1.0, inverse, out=np.zeros(dim), where=inverse > 0)
        # No mean of cells in the ball is beyond its radius.
        offsets = np.clip(numbers[:dim] / present, -float(query.radius), float(query.radius))
        centres = np.array(query.ball.centres)
        return cls(centres, ticks, query, noise, offsets, present, slack, squares)

    @property
    def value(self) -> Floats:
        """The means."""
        return self.centres + self.ticks * self.offsets


def conclude(plan: VectorPlan, measure: BallMeasure) -> VectorEstimate:
    """Return the values, clamped to where they can be, and their intervals."""
    low, high = np.array(plan.possible).T
    value = np.clip(measure.value, low, high)
    if plan.confidence is None:
        return VectorEstimate(value, notes=plan.advice)
    reach, describes = _half_widths(plan, measure)
    raw = measure.value
    return VectorEstimate(
        value,
        np.minimum(raw - reach, value),
        np.maximum(raw + reach, value),
        describes,
        plan.advice,
    )


def _half_widths(plan: VectorPlan, measure: BallMeasure) -> tuple[Floats, str]:
    has_tails = all(tail is not None for tail in plan.tails) and plan.target == "population"
    describes = "mean" if has_tails else "winsorised mean"
    risk = {name: part * (1 - (plan.confidence or 0.0)) for name, part in RISKS.items()}
    if measure.query is None or measure.noise is None:
        reach = np.zeros(plan.dim)
        return (reach + _bias(plan, measure, reach, reach + 1) if has_tails else reach), describes

    present, noise = _noise_reach(measure, measure.query, measure.noise, risk["noise"])
    reach, cut = noise + 0.5, np.ones(plan.dim)
    if plan.target == "population" and measure.squares is not None:
        sampling, cut = _sampling_reach(plan, measure, measure.query, present, risk)
        reach = reach + sampling
    width = reach * measure.ticks
    return (width + _bias(plan, measure, width, cut) if has_tails else width), describes


def _noise_reach(
    measure: BallMeasure, query: BallSum, noise: Noise, risk: float
) -> tuple[Floats, Floats]:
    """Bound the numbers of cells from below, and the noise on sum / number in ticks."""
    bound = noise.quantile(risk / (2 * query.ball.dim + 1))
    miss = measure.slack.copy()
    for weight in (query.count_weight, query.missing_weight):
        miss += bound / weight if weight else 0.0
    least = np.maximum(measure.present - miss, 1.0)
    # S/C - S'/C' = (noise on S - S'/C' noise on C) / C
    return least, (bound + np.abs(measure.offsets) * miss) / least


def _sampling_reach(
    plan: VectorPlan, measure: BallMeasure, query: BallSum, cells: Floats, risk: dict[str, float]
) -> tuple[Floats, Floats]:
    """Bound |mean - expectation| in ticks, and the probability of a row outside of the ball.

    Everything is given that the cell of the column is there.
    """
    asked, radius = BallSquares(query.ball, query.level), float(query.radius)
    sensitivity = asked.sensitivity(plan.unit)
    noise = noise_for(plan.cost("spread"), sensitivity.l1, sensitivity.l2_squared)
    bound = noise.quantile(risk["spread"] / (plan.dim + 1))
    answers = np.array([float(part) for part in measure.squares or ()])
    seen = np.maximum(answers + bound, 0.0)
    level = math.log(2 * plan.dim / risk["moments"])
    # E Z <= (sqrt(mean + b l/2n) + sqrt(b l/2n))^2 for 0 <= Z <= b: squares, and cut rows
    squares = (seen[:-1] + 1) / cells * 2.0**asked.shift
    moments = _expectation(squares, radius**2, cells, level)
    cut = np.minimum(_expectation(seen[-1] / asked.cut_weight / cells, 1.0, cells, level), 1.0)
    level = math.log(2 * plan.dim / risk["sampling"])
    deviation = np.sqrt(np.minimum(moments, radius**2))
    sampling = deviation * np.sqrt(2 * level / cells) + 2 * radius * level / (3 * cells)
    return sampling, cut


def _expectation(mean: Floats, largest: float, n: Floats, level: float) -> Floats:
    slack = largest * level / (2 * n)
    found: Floats = (np.sqrt(mean + slack) + np.sqrt(slack)) ** 2
    return found


def _bias(plan: VectorPlan, measure: BallMeasure, width: Floats, cut: Floats) -> Floats:
    """Bound what the rows outside of the ball, a part ``cut`` of all, can move each mean.

    Such a row moves from x to a point between x and the centre c. So the mean moves by at most
    E|x - c| 1[outside] <= (scale + |mu - c|) cut^(1 - 1/k), by Hoelder, for a ``Moment``. As
    |mu - c| <= |value - c| + width + bias, solve for the bias. Within bounds |x - c| is bounded.
    """
    bias = np.empty(plan.dim)
    away = np.abs(measure.value - measure.centres) + width
    for column, tail in enumerate(plan.tails):
        # Nothing was counted in a column that looks constant.
        part = float(cut[column]) if measure.ticks[column] > 0 else 1.0
        if isinstance(tail, Moment):
            factor = part ** (1 - 1 / tail.k)
            gap = 1 - factor
            bias[column] = (tail.scale + away[column]) * factor / gap if gap > 0 else math.inf
        elif isinstance(tail, Bounded):
            centre = measure.centres[column]
            bias[column] = max(centre - tail.low, tail.high - centre) * part
    return bias
