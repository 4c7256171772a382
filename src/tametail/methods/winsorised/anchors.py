"""Up to where records can be seen: from the noisy octave counts. No data here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.methods.winsorised.counts import Tails, windows
from tametail.methods.winsorised.curves import FARTHEST
from tametail.privacy.budget import Budget, noise_for

if TYPE_CHECKING:
    from tametail.planning import Plan

#: An anchor moves up by less than GAP octaves if records stand out there by so many noise scales:
#: from where the tail is seen less clearly, but nearer to its end. While that is in the body of the
#: data (up to n epsilon = CLOSER_UNTIL) it is worth it; with ever more records, ever less.
CLOSER, CLOSER_COST = 8.0, 2.0
CLOSER_UNTIL, CLOSER_POWER = 1e4, 0.4

#: From GAP to RAISE_OCTAVES above, records would be a group across a gap, which few nodes hold. It
#: must stand out by RAISE noise scales, and by RAISE_COST for every factor e by which a clip point
#: at its far end, RAISE_REACH times as far, would enlarge the variance. One that could be seen
#: below n epsilon = RARE_FROM would be a large part of the data, for a group so far away, and is
#: believed the less: by up to RAISE_RARE more, a tenth of that n on.
RAISE, RAISE_COST, RAISE_RARE, RAISE_REACH = 5.0, 3.6, 3.0, 2.0
GAP, RAISE_OCTAVES, GROUP, RARE_FROM = 4, 8, 2, 1e5


def raise_anchors(
    plan: Plan, tails: Tails, anchors: list[int | None], limits: tuple[float, float]
) -> list[int | None]:
    """Move an anchor up to records that stand out less, where a false alarm would cost little.

    The cost is the noise of a clip point there, against the variance that the sum has anyway. The
    more it would enlarge that, the more noise scales are needed.
    """
    distances = tails.distances
    noise = deviation(plan.cost("sum"))
    highest = max(distances[anchor] for anchor in anchors if anchor is not None)
    variance = (
        max(squares_of(tails, anchors), 20 * tails.scale * highest**2) + (noise * highest) ** 2
    )
    enlarged, much_enlarged = (
        np.log1p((reach * noise * distances) ** 2 / variance) for reach in (1.0, RAISE_REACH)
    )
    strength = max(plan.n or 1, 1) * plan.budget.strength
    closer = CLOSER * max(strength / CLOSER_UNTIL, 1.0) ** CLOSER_POWER + CLOSER_COST * enlarged
    rare = min(max(math.log10(RARE_FROM / strength), 0.0), 1.0)
    group = np.maximum(RAISE, RAISE_COST * much_enlarged) + RAISE_RARE * rare

    def highest_of(found: npt.NDArray[np.bool_], start: int, stop: int) -> int | None:
        inside = np.flatnonzero(found[start:stop])
        return start + int(inside[-1]) if len(inside) else None

    raised: list[int | None] = []
    for counts, anchor, limit in zip(tails.sides, anchors, limits, strict=True):
        if anchor is None:
            raised.append(None)
            continue
        near = (windows(counts) >= closer * tails.scale) & (distances <= limit)
        far = (windows(counts, GROUP) >= group * tails.scale) & (distances <= limit)
        candidates = (
            highest_of(far, anchor + GAP, anchor + 1 + RAISE_OCTAVES),
            highest_of(near, anchor + 1, anchor + GAP),
        )
        raised.append(next((found for found in candidates if found is not None), anchor))
    return raised


def farthest_of(tails: Tails, anchor: int | None, raised: int | None) -> float:
    """Return how far away a clip point may be, whatever the curves say.

    A group across a gap may be a false alarm: it must not carry the clip point beyond itself.
    """
    if anchor is None or raised is None:
        return math.inf
    end = raised + GROUP - 1 if raised >= anchor + GAP else anchor + FARTHEST
    return math.ldexp(1.0, tails.first + end)


def squares_of(tails: Tails, anchors: list[int | None]) -> float:
    """Estimate the sum of the squared distances from the centre."""
    return sum(
        float((counts[: anchor + 2] * tails.distances[: anchor + 2] ** 2).sum())
        for counts, anchor in zip(tails.sides, anchors, strict=True)
        if anchor is not None
    )


def deviation(cost: Budget) -> float:
    """Return the standard deviation of the noise on a query of sensitivity 1."""
    return math.sqrt(noise_for(cost, 1, 1).variance)
