"""The default vector mean: pull the rows into a private ball, and add noise once.

1. *centre*: a private median of every column;
2. *scale*: a distance from it that few records of the column exceed. From the scales follow clip
   points and weights between the columns. (Left out where a ``Moment`` tells the scales.)
3. *radius*: the norm of a weighted row that few rows exceed;
4. *spread* (for the intervals): second moments in the ball;
5. *sum*: the sum of the rows in the ball, with noise for its radius.

With one *common* scale steps 1 and 2 are replaced by two rounds of scale, radius and sum around
one centre, the second around what the first has found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.means import Estimate
from tametail.methods.ball import weigh as steps
from tametail.methods.ball.interval import BallMeasure, conclude
from tametail.methods.ball.shares import scale_rank
from tametail.privacy.budget import Budget
from tametail.privacy.choices import choice_rate
from tametail.queries.rows import Ball, BallSquares, BallSum, Distances

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.methods.ball.rows import RowsPlan

Floats = npt.NDArray[np.float64]


def vector_mean(plan: RowsPlan, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: ask, and conclude from the answers."""
    size = plan.n
    if plan.has("centre"):
        weighing = steps.find_weights(plan, ask, size)
        first = steps.FIRST_RADIUS_TOLD if plan.scales else steps.FIRST_RADIUS
        clipped = np.isfinite(weighing.limits).all()
        largest = steps.LAST_CLIPPED_RADIUS if clipped else steps.LAST_RADIUS
        measure = _measure(plan, ask, weighing, size, first, largest, 1)
    else:
        centres = np.array([_middle(low, high) for low, high in plan.possible])
        for number in (1, 2):
            weighing, last = _common_scale(plan, ask, centres, size, number)
            measure = _measure(plan, ask, weighing, size, -2, last, number)
            centres = measure.value
    return conclude(plan, measure)


def _middle(low: float, high: float) -> float:
    """Return the middle of a range, or what lies nearest to 0 in it."""
    if np.isfinite(low) and np.isfinite(high):
        return low / 2 + high / 2
    return min(max(0.0, low), high)


def _common_scale(
    plan: RowsPlan, ask: Ask, centres: Floats, size: int, number: int
) -> tuple[steps.Weighing, float]:
    """Find the scale of the largest cells of a row, and the powers of two that radii may have."""
    cost = plan.cost("scale", number)
    target = max(1, min(round(scale_rank(1) / choice_rate(cost, 1)), size // 2))
    query = Distances(
        tuple(centres.tolist()),
        (steps.HALF_OCTAVES,),
        target,
        steps.SCALE_WEIGHTS,
        by_row=True,
        window=steps.WINDOW,
        least=2 * target // 3,
    )
    (octave,) = ask(query, cost)
    scale = steps.HALF_OCTAVES[octave - 1] if octave else 0.0
    factor = 1 / scale if scale else 0.0
    order = steps.norm_order(plan.cost("sum", number))
    # The norm is at most dim^(1/order) times the largest cell.
    last = 4 + np.ceil(np.log2(plan.dim) / order)
    everything = np.full(plan.dim, np.inf)
    weighing = steps.Weighing(
        centres, np.full(plan.dim, factor), everything, plan.cost("sum", number)
    )
    return weighing, float(last)


def _measure(
    plan: RowsPlan,
    ask: Ask,
    weighing: steps.Weighing,
    size: int,
    first: float,
    last: float,
    number: int,
) -> BallMeasure:
    """Choose the radius and ask for the sum in the ball."""
    final, live = weighing.final, int(weighing.live.sum())
    if not live:  # every column looks constant: the centres are the answer
        return BallMeasure.constant(weighing.centres)
    weakest = min(step.cost.strength for step in plan.steps)
    ball = steps.make_ball(
        weighing,
        first,
        last,
        order=steps.norm_order(final),
        strength=weakest,
    )
    level = steps.find_radius(ask, ball, live, size, plan.cost("radius", number), final)
    squares = _ask_squares(plan, ask, ball, level) if _is_last(plan, number) else None
    return _ask_sum(plan, ask, ball, level, final, size, squares)


def _is_last(plan: RowsPlan, number: int) -> bool:
    return plan.has("spread") and number == plan.rounds


def _ask_squares(plan: RowsPlan, ask: Ask, ball: Ball, level: int) -> tuple[int, ...]:
    return ask(BallSquares(ball, level), plan.cost("spread", plan.rounds))


def _ask_sum(
    plan: RowsPlan,
    ask: Ask,
    ball: Ball,
    level: int,
    cost: Budget,
    size: int,
    squares: tuple[int, ...] | None,
) -> BallMeasure:
    rows, missing = steps.count_weights(
        ball, level, rows=not plan.unit.size_is_public, missing=plan.missing == "skip"
    )
    query = BallSum(ball, level, rows, missing)
    return BallMeasure.of(query, cost, plan.unit, ask(query, cost), size, squares)
