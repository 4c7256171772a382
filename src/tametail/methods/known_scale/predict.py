"""What is promised before any record is read, if records are found by their scale."""

from __future__ import annotations

import math
from itertools import pairwise

from tametail.inequalities.concentration import mean_deviation
from tametail.inequalities.truncation import worst_excess
from tametail.methods.known_scale import location
from tametail.methods.known_scale.budget_split import noise, side
from tametail.methods.winsorized.column import ColumnPlan
from tametail.notes import Note
from tametail.plans import WORST
from tametail.privacy.budget import Noise, noise_for


def rmse(plan: ColumnPlan) -> float:
    """Bound the root mean squared error, a lost center included.

    Without a range (``within``) it is for a mean within some thousand scales of 0.
    """
    tail, reach, n = location.scale_of(plan), side(plan), plan.size
    deviation = tail.scale * (2 * reach / tail.scale) ** max(1 - tail.k / 2, 0.0)
    steady = noise(plan) ** 2 + deviation**2 / n

    def bias(offset: float) -> float:
        return tail.scale * worst_excess(tail.k, reach / tail.scale - offset)

    cost = plan.cost("center")
    astray = location.astray(plan, cost)
    square, reached = steady, 0.0
    for (_, likely), (next_offset, _) in pairwise(astray):
        square += likely * (bias(next_offset) ** 2 - reached)
        reached = bias(next_offset) ** 2
    lost = location.chance(plan, cost)
    return math.sqrt(square + lost * location.loss(plan, anywhere=True) ** 2)


def half_width(plan: ColumnPlan, confidence: float, distribution: str = WORST) -> float:  # noqa: ARG001
    """Predict the half-width of the interval, for a center within a scale of the mean.

    If the center may well be lost, so may all that is within reach of a lost one.
    """
    is_lost = location.chance(plan, plan.cost("center")) > 1 - confidence
    lost = location.loss(plan, anywhere=True) if is_lost else 0.0
    tail, reach, n = location.scale_of(plan), side(plan), plan.size
    deviation = tail.scale * (2 * reach / tail.scale) ** max(1 - tail.k / 2, 0.0)
    kind = noise_for(plan.cost("sum"), 1, 1)
    scale = noise(plan) * kind.scale / math.sqrt(kind.variance)
    margin = mean_deviation(deviation, 2 * reach, n, (1 - confidence) / 2, Noise(kind.kind, scale))
    return margin + tail.scale * worst_excess(tail.k, reach / tail.scale - 1) + lost


def foresee(plan: ColumnPlan) -> tuple[Note, ...]:
    """Say how likely it is that the records are not found, if that is likely."""
    return location.location_note(location.chance(plan, plan.cost("center")))
