"""The default mean: winsorise around a private median, at private clip points.

Three questions to the data (four with an interval), and arithmetic on noisy numbers between:

1. *centre*: a private median, over all doubles;
2. *tail*: noisy counts of the distances from it, by octaves, on either side. From them alone
   follow the clip points;
3. *sum*: noisy sum and count of the clipped distances from it;
4. *spread* (for the interval): second moment of the clipped distances.

If the counts show that the centre lies away from the records, 1 and 2 are asked once more, closer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tametail.methods.winsorised.clip import Clip, choose_clip
from tametail.methods.winsorised.counts import Tails
from tametail.methods.winsorised.interval import interval_around
from tametail.methods.winsorised.reference import Reference, Sum, split_risk
from tametail.methods.winsorised.second_look import count_of, second_look
from tametail.methods.winsorised.shares import halvings
from tametail.privacy.budget import Zcdp, noise_for
from tametail.privacy.unit import Unit
from tametail.queries.column import RELATIVE_ROUNDING, Count, DistanceSum, Lattice, Median, Squares
from tametail.release import Estimate

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.planning import Plan

#: A noisy count is that much too large with this probability; but it is not believed to be less
#: than this part of what it says.
UNUSUAL, CERTAIN = 0.001, 0.75


def winsorised_mean(plan: Plan, ask: Ask) -> Estimate:
    """Run the plan: ask, and conclude from the answers."""
    too_many = 0.0
    if plan.n is None:
        cost = plan.cost("count")
        (count,) = ask(Count(), cost)
        plan, too_many = plan.with_count(count), noise_for(cost, 1, 1).quantile(UNUSUAL)
    size = max(plan.n or 0, 1)

    low, high = plan.possible
    centre = ask(Median(halvings(size), low, high), plan.cost("centre"))
    tails = Tails.ask(ask, plan, centre, plan.cost("tail"))
    rest = plan
    fewest = max(size - too_many, CERTAIN * size)
    if (elsewhere := _elsewhere(plan, centre, tails, fewest)) is not None:
        rest = plan.with_new_centre()
        centre = ask(Median(halvings(size), *elsewhere), rest.cost("centre"))
        tails = Tails.ask(ask, rest, centre, rest.cost("tail"))
    clip = choose_clip(rest, centre, tails, size, Reference.of(plan, (centre, centre)))
    if clip.side == 0:
        clip, tails, total = second_look(rest, ask, centre, tails)
    else:
        total = _ask_sum(rest, ask, clip, tails, size)
    squares = _ask_squares(rest, ask, clip) if plan.has("spread") else math.inf

    value = min(max(total.mean + clip.excess / total.count, low), high)
    wants_interval = plan.confidence is not None
    return Estimate(
        value,
        interval_around(plan, value, clip, tails, total, squares) if wants_interval else None,
        clip=total.ends,
        assumption_doubtful=tails.contradicts(plan.tail, centre, value, total.count),
    )


def _elsewhere(plan: Plan, centre: float, tails: Tails, size: float) -> tuple[float, float] | None:
    """Return where to look for a new centre, if the counts show that this one is misplaced.

    That happens if records agree in more digits than the first median could pay for, such as a
    spread of 0.1 around a million. Now that they are known to be near, fewer digits are missing.
    """
    distances = tails.misplaced(size)
    if distances is None:
        return None
    (low, high), (near, far) = plan.possible, distances
    low, high = max(low, centre + near), min(high, centre + far)
    return (low, high) if low < high else None


def _ask_sum(plan: Plan, ask: Ask, clip: Clip, tails: Tails, size: int) -> Sum:
    """Ask for the sum, told from where the mean is expected: then the count matters least."""
    cost = plan.cost("sum")
    lattice = Lattice.of_distances(
        clip.offset, clip.below, clip.above, strength=cost.strength, records=size
    )
    weight = _count_weight(plan, lattice, clip) if plan.unit is Unit.ADD_REMOVE else 0
    query = DistanceSum(clip.centre, lattice, weight)
    answer = ask(query, cost)
    sensitivity = query.sensitivity(plan.unit)
    noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
    if weight:
        count, count_noise = max(answer[1] / weight, noise.scale / weight, 1.0), noise
    else:
        (count, weight), count_noise = count_of(plan, tails, size), tails.noise
    total, cut = float(answer[0]), clip.side * RELATIVE_ROUNDING
    return Sum(clip.centre, lattice, total, count, weight, noise, cut, count_noise)


def _ask_squares(plan: Plan, ask: Ask, clip: Clip) -> float:
    """Return an upper bound of the sum of the squared, clipped distances from the centre."""
    if clip.side == 0:
        return 0.0
    fraction, exponent = math.frexp(clip.side)
    query = Squares(clip.centre, exponent - 1, max(math.ceil(32 * fraction) - 16, 1))
    cost = plan.cost("spread")
    (noisy,) = ask(query, cost)
    risk = split_risk(1 - (plan.confidence or 0.0)).spread
    noise = noise_for(cost, query.largest, query.largest**2).quantile(risk / 2)
    return (noisy + noise) * query.unit


def _count_weight(plan: Plan, lattice: Lattice, clip: Clip) -> int:
    """Return the weight of the count beside the sum that makes their quotient most accurate.

    The noise on the quotient is that on sum - d * count, where d is the distance of the mean from
    the lattice's centre: Delta^2 (1 + (d/weight)^2), Delta = side + weight (in L2 accordingly).
    """
    side = lattice.side
    distance = (abs(clip.offset) / 4 + clip.doubt) / lattice.tick
    distance = min(max(distance, side / 1000), side)
    if isinstance(plan.cost("sum"), Zcdp):
        return max(round(math.sqrt(side * distance)), 1)
    return max(round(math.cbrt(side * distance**2)), 1)
