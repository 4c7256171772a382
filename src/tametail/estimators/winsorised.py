"""The default mean: winsorise around a private median, at private clip points.

Three questions to the data (four with an interval), and arithmetic on noisy numbers between:

1. *centre*: a private median, over all doubles;
2. *tail*: noisy counts of the distances from it, by octaves, on either side. From them alone
   follow the clip points;
3. *spread* (for the interval): second moment of the clipped records;
4. *sum*: noisy sum and count of the clipped, centred records.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tametail.budget import Zcdp, noise_for
from tametail.estimators.clip import Clip, choose_clip
from tametail.estimators.interval import Sum, interval_around, split_risk
from tametail.estimators.shares import halvings
from tametail.estimators.tails import Tails
from tametail.queries import SOFT_ONE, ClippedSum, Count, Lattice, Median, Squares, TailNodes
from tametail.release import Estimate
from tametail.unit import Unit

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.planning import Plan

#: Octaves of distances that are told apart; what lies beyond counts at the end nodes.
FIRST_OCTAVE, LAST_OCTAVE = -128, 127


def winsorised_mean(plan: Plan, ask: Ask) -> Estimate:
    """Run the plan: ask, and conclude from the answers."""
    if plan.n is None:
        (count,) = ask.noisy(Count(), plan.cost("count"))
        plan = plan.with_count(count)
    size = max(plan.n or 0, 1)

    low, high = plan.possible
    centre = ask.median(Median(halvings(size), low, high), plan.cost("centre"))
    tails = _ask_tails(plan, ask, centre)
    clip = choose_clip(plan, centre, tails)
    if clip.side == 0:  # nothing stands out on either side: the centre is the answer
        squares, total = 0.0, _ask_count(plan, ask, clip)
    else:
        squares = _ask_squares(plan, ask, clip, size) if plan.has("spread") else math.inf
        total = _ask_sum(plan, ask, clip, tails, size)

    value = min(max(total.mean + clip.correction / total.count, low), high)
    wants_interval = plan.confidence is not None
    return Estimate(
        value,
        interval_around(plan, value, clip, tails, total, squares) if wants_interval else None,
        clip=clip.ends,
        assumption_doubtful=tails.contradicts(plan.tail, centre, value, total.count),
    )


def _ask_tails(plan: Plan, ask: Ask, centre: float) -> Tails:
    query, cost = TailNodes(centre, FIRST_OCTAVE, LAST_OCTAVE), plan.cost("tail")
    nodes = np.array(ask.noisy(query, cost), dtype=np.float64) / SOFT_ONE
    sensitivity = query.sensitivity(plan.unit)
    noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
    below, above = nodes.reshape(2, -1)
    return Tails(below, above, FIRST_OCTAVE, noise)


def _ask_squares(plan: Plan, ask: Ask, clip: Clip, size: int) -> float:
    """Return an upper bound of the sum of the squared, clipped distances from the centre."""
    fraction, exponent = math.frexp(clip.side)
    query = Squares(clip.centre, exponent - 1, max(math.ceil(32 * fraction) - 16, 1))
    cost = plan.cost("spread")
    (noisy,) = ask.noisy(query, cost)
    risk = split_risk(1 - (plan.confidence or 0.0)).spread
    noise = noise_for(cost, query.largest, query.largest**2).quantile(risk / 2)
    return (noisy + noise + size) * query.unit


def _ask_sum(plan: Plan, ask: Ask, clip: Clip, tails: Tails, size: int) -> Sum:
    cost = plan.cost("sum")
    lattice = Lattice.below_noise(
        clip.centre, clip.below, clip.above, strength=cost.strength, records=size
    )
    offset = abs(tails.offset(clip.below, clip.above)) / size
    query = ClippedSum(lattice, _count_weight(plan, lattice, offset / lattice.tick))
    answer = ask.noisy(query, cost)
    count = answer[1] / query.count_weight if query.count_weight else size
    sensitivity = query.sensitivity(plan.unit)
    noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
    return Sum(
        clip.centre, lattice, float(answer[0]), max(float(count), 1.0), query.count_weight, noise
    )


def _ask_count(plan: Plan, ask: Ask, clip: Clip) -> Sum:
    """Ask for the count alone: all clipped records are at the centre."""
    cost = plan.cost("sum")
    (count,) = ask.noisy(Count(), cost)
    lattice = Lattice.around(clip.centre, 0.0, 0.0)
    return Sum(clip.centre, lattice, 0.0, max(float(count), 1.0), 1, noise_for(cost, 1, 1))


def _count_weight(plan: Plan, lattice: Lattice, offset: float) -> int:
    """Return the weight of the count beside the sum that makes their quotient most accurate.

    The noise on sum / count is that on sum - offset * count, where offset is the distance of the
    mean from the centre: Delta^2 (1 + (offset/weight)^2), Delta growing with the weight.
    """
    if plan.missing == "none" and plan.unit is Unit.REPLACE_ONE:
        return 0
    side, width = lattice.side, lattice.width
    offset = min(max(offset, 0.01 * side), side)
    if isinstance(plan.cost("sum"), Zcdp):
        best, free = math.sqrt(side * offset), math.sqrt(width**2 - side**2)
    else:
        best, free = (side * offset**2) ** (1 / 3), float(width - side)
    if plan.unit is Unit.REPLACE_ONE:
        best = max(best, free)
    return max(round(best), 1)
