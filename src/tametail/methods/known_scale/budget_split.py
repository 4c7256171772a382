"""How few records whose scale is known divide the budget: one part to find them, one to add up.

With a share f for the center, the expected squared error is (chance of a lost center) loss^2 +
noise^2; the shares with the least are taken. Public numbers alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from tametail.inequalities.truncation import best_reach
from tametail.methods.known_scale import location
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.column import ColumnPlan, deviation
from tametail.plans import Step

#: The mean of a lost center, against that at the far end of the range: its squared error.
AVERAGE_LOSS = 0.5

#: How many times the error may be as large, so that the mean may be anywhere in a wide range that
#: was told, and not only within some thousand scales of 0 (decision 0212).
TOO_MUCH = 2.0

_SHARES = tuple(step / 40 for step in range(1, 39))


@lru_cache(maxsize=256)
def steps(plan: ColumnPlan) -> tuple[Step, ...]:
    """Divide the budget of a plan between center and sum.

    For a mean anywhere in the range that was told, unless that is too much to ask for.
    """
    tried = [_divided(plan, share) for share in _SHARES]
    expected, anywhere = (
        min(tried, key=lambda one: _error(plan, one, anywhere=far)) for far in (False, True)
    )
    most = TOO_MUCH * _error(plan, expected)
    return anywhere if _error(plan, anywhere, anywhere=True) <= most else expected


def _divided(plan: ColumnPlan, share: float) -> tuple[Step, ...]:
    center, total = plan.budget.split(share, 1 - share)
    return Step("center", center), Step("sum", total)


def _error(plan: ColumnPlan, divided: tuple[Step, ...], *, anywhere: bool = False) -> float:
    plan = replace(plan, steps=divided)
    lost = location.odds(plan, plan.cost("center"), anywhere=anywhere)
    far = location.loss(plan, anywhere=anywhere)
    return math.sqrt(AVERAGE_LOSS * lost * far**2 + noise(plan) ** 2)


def side(plan: ColumnPlan) -> float:
    """Return the distance from the center at which records are clipped.

    Where the worst bias and the noise are least, or a little closer: few laws are the worst. The
    center is within about a scale of the mean.
    """
    tail = location.scale_of(plan)
    reach = best_reach(tail.k, plan.size, deviation(plan.cost("sum")))
    return tail.scale * (1 + tuned.HIDDEN * reach)


def noise(plan: ColumnPlan) -> float:
    """Return the standard deviation of the noise on the mean."""
    width = side(plan) * plan.adjacency.changes
    return width * deviation(plan.cost("sum")) * (1 + tuned.COUNT_NOISE) / plan.size
