"""The default vector mean: pull the rows into a private ball, and add noise once.

1. *center*: a private median of every column;
2. *scale*: a distance from it that few records of the column exceed. From the scales follow clip
   points and weights between the columns. (Left out where a ``Moment`` tells the scales.)
3. *radius*: the norm of a weighted row that few rows exceed;
4. *spread* (for the intervals): second moments in the ball;
5. *sum*: the sum of the rows in the ball, with noise for its radius.

With one *common* scale steps 1 and 2 are replaced by two rounds of scale, radius and sum around
one center, the second around what the first has found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.means import Estimate
from tametail.methods.joint import settings
from tametail.methods.joint import weigh as steps
from tametail.methods.joint.budget_split import scale_rank
from tametail.methods.joint.interval import BallMeasure, conclude
from tametail.privacy.budget import Budget
from tametail.privacy.choices import choice_rate
from tametail.queries.rows import BallSquares, Distances

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.plans import PricedRequest

Floats = npt.NDArray[np.float64]


def vector_mean(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: ask, and conclude from the answers."""
    size, final = settings.size(plan), plan.cost("sum", settings.rounds(plan))
    ranks = np.zeros(plan.n_columns)  # how many cells lie beyond the scale of their column
    if plan.has("center"):
        centers = np.array(ask(steps.center_query(plan), plan.cost("center")))
        scales = np.array(settings.scales(plan) or ())
        hidden = scales == 0
        if not settings.scales(plan):
            cost = plan.cost("scale")
            query = steps.scale_query(cost, centers, size)
            scales, ranks = steps.read_scales(ask(query, cost)), ranks + steps.rank_of(query)
            still = np.flatnonzero((scales == 0) & ~steps.are_bounded(plan))
            if still.size:  # columns that seem constant are looked at again, unless bounds serve
                again, final = steps.second_look(final, still.size, plan.n_columns)
                usual = steps.usual_scale(scales)
                query = steps.scale_query(again, centers[still], size, still, usual)
                scales[still] = steps.read_scales(ask(query, again))
                ranks[still] = steps.rank_of(query)
            hidden = scales == 0
            scales = steps.within_tails(plan, centers, scales)
        weighing, radii = steps.weigh_columns(plan, centers, scales, hidden, final)
    else:
        centers = np.array([_middle(low, high) for low, high in plan.answer_ranges])
    for number in range(1, settings.rounds(plan) + 1):
        if not plan.has("center"):
            cost = plan.cost("scale", number)
            (octave,) = ask(_common_query(centers, cost, size), cost)
            weighing, radii = _common_weighing(plan, centers, octave, number)
        if not weighing.live.any():  # every column looks constant: the centers are the answer
            measure = BallMeasure.constant(weighing.centers)
        else:
            weakest = settings.weakest(plan)
            order = steps.norm_order(weighing.final)
            ball = steps.make_ball(weighing, *radii, order=order, strength=weakest)
            cost = plan.cost("radius", number)
            (level,) = ask(steps.level_query(ball, weighing, size, cost), cost)
            level = min(level, len(ball.radii) - 1)
            ball, level = steps.unless_bounds_do(plan, ball, level, weighing, weakest)
            squares = None
            if plan.has("spread") and number == settings.rounds(plan):
                squares = ask(BallSquares(ball, level), plan.cost("spread", number))
            total = steps.sum_query(plan, ball, level)
            answer = ask(total, weighing.final)
            measure = BallMeasure.of(total, weighing.final, plan.adjacency, answer, size, squares)
        centers = np.clip(measure.value, *np.array(plan.answer_ranges).T)
    return conclude(plan, measure, ranks)


def _middle(low: float, high: float) -> float:
    """Return the middle of a range, or what lies nearest to 0 in it."""
    if np.isfinite(low) and np.isfinite(high):
        return low / 2 + high / 2
    return min(max(0.0, low), high)


def _common_query(centers: Floats, cost: Budget, size: int) -> Distances:
    """Ask for the scale of the largest cells of a row."""
    target = max(1, min(round(scale_rank(1) / choice_rate(cost, 1)), size // 2))
    return Distances(
        tuple(centers.tolist()),
        (steps.HALF_OCTAVES,),
        target,
        steps.SCALE_WEIGHTS,
        by_row=True,
        window=steps.WINDOW,
        least=2 * target // 3,
        lead=target // 2,
        body=2 * target,
    )


def _common_weighing(
    plan: PricedRequest, centers: Floats, octave: int, number: int
) -> tuple[steps.Weighing, tuple[float, float]]:
    """Weigh all columns alike, and return the powers of two that radii may have."""
    scale = steps.HALF_OCTAVES[octave - 1] if octave else 0.0
    factor = 1 / scale if scale else 0.0
    final = plan.cost("sum", number)
    # The norm is at most dim^(1/order) times the largest cell.
    last = 4 + np.ceil(np.log2(plan.n_columns) / steps.norm_order(final))
    everything = np.full(plan.n_columns, np.inf)
    weighing = steps.Weighing(centers, np.full(plan.n_columns, factor), everything, final)
    return weighing, (-2.0, float(last))
