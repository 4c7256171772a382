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
from tametail.methods.ball import told
from tametail.methods.ball import weigh as steps
from tametail.methods.ball.interval import BallMeasure, conclude
from tametail.methods.ball.shares import scale_rank
from tametail.privacy.budget import Budget
from tametail.privacy.choices import choice_rate
from tametail.queries.rows import BallSquares, Distances

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.plans import PricedRequest

Floats = npt.NDArray[np.float64]


def vector_mean(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Run the plan: ask, and conclude from the answers."""
    size, final = told.size(plan), plan.cost("sum", told.rounds(plan))
    ranks = np.zeros(plan.dim)  # how many cells lie beyond the scale of their column
    if plan.has("centre"):
        centres = np.array(ask(steps.centre_query(plan), plan.cost("centre")))
        scales = np.array(told.scales(plan) or ())
        hidden = scales == 0
        if not told.scales(plan):
            cost = plan.cost("scale")
            query = steps.scale_query(cost, centres, size)
            scales, ranks = steps.read_scales(ask(query, cost)), ranks + steps.rank_of(query)
            still = np.flatnonzero((scales == 0) & ~steps.are_bounded(plan))
            if still.size:  # columns that seem constant are looked at again, unless bounds serve
                again, final = steps.second_look(final, still.size, plan.dim)
                usual = steps.usual_scale(scales)
                query = steps.scale_query(again, centres[still], size, still, usual)
                scales[still] = steps.read_scales(ask(query, again))
                ranks[still] = steps.rank_of(query)
            hidden = scales == 0
            scales = steps.within_tails(plan, centres, scales)
        weighing, radii = steps.weigh_columns(plan, centres, scales, hidden, final)
    else:
        centres = np.array([_middle(low, high) for low, high in plan.answer_ranges])
    for number in range(1, told.rounds(plan) + 1):
        if not plan.has("centre"):
            cost = plan.cost("scale", number)
            (octave,) = ask(_common_query(centres, cost, size), cost)
            weighing, radii = _common_weighing(plan, centres, octave, number)
        if not weighing.live.any():  # every column looks constant: the centres are the answer
            measure = BallMeasure.constant(weighing.centres)
        else:
            weakest = told.weakest(plan)
            order = steps.norm_order(weighing.final)
            ball = steps.make_ball(weighing, *radii, order=order, strength=weakest)
            cost = plan.cost("radius", number)
            (level,) = ask(steps.level_query(ball, weighing, size, cost), cost)
            level = min(level, len(ball.radii) - 1)
            ball, level = steps.unless_bounds_do(plan, ball, level, weighing, weakest)
            squares = None
            if plan.has("spread") and number == told.rounds(plan):
                squares = ask(BallSquares(ball, level), plan.cost("spread", number))
            total = steps.sum_query(plan, ball, level)
            answer = ask(total, weighing.final)
            measure = BallMeasure.of(total, weighing.final, plan.unit, answer, size, squares)
        centres = np.clip(measure.value, *np.array(plan.answer_ranges).T)
    return conclude(plan, measure, ranks)


def _middle(low: float, high: float) -> float:
    """Return the middle of a range, or what lies nearest to 0 in it."""
    if np.isfinite(low) and np.isfinite(high):
        return low / 2 + high / 2
    return min(max(0.0, low), high)


def _common_query(centres: Floats, cost: Budget, size: int) -> Distances:
    """Ask for the scale of the largest cells of a row."""
    target = max(1, min(round(scale_rank(1) / choice_rate(cost, 1)), size // 2))
    return Distances(
        tuple(centres.tolist()),
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
    plan: PricedRequest, centres: Floats, octave: int, number: int
) -> tuple[steps.Weighing, tuple[float, float]]:
    """Weigh all columns alike, and return the powers of two that radii may have."""
    scale = steps.HALF_OCTAVES[octave - 1] if octave else 0.0
    factor = 1 / scale if scale else 0.0
    final = plan.cost("sum", number)
    # The norm is at most dim^(1/order) times the largest cell.
    last = 4 + np.ceil(np.log2(plan.dim) / steps.norm_order(final))
    everything = np.full(plan.dim, np.inf)
    weighing = steps.Weighing(centres, np.full(plan.dim, factor), everything, final)
    return weighing, (-2.0, float(last))
