"""Where to clip: from the noisy octave counts and what the caller knows. No data here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tametail.methods.winsorised.anchors import deviation, farthest_of, raise_anchors, squares_of
from tametail.methods.winsorised.balance import THIN_SIDE, balance
from tametail.methods.winsorised.counts import Tails
from tametail.methods.winsorised.reference import Reference
from tametail.privacy.unit import Unit
from tametail.queries.column import edge_above, edge_below
from tametail.tail import Bounded, Moment, bias_constant

if TYPE_CHECKING:
    from tametail.planning import Plan

#: Where to clip if nothing stands out, over the distance where the worst bias and noise are least.
HIDDEN = 0.75

#: Noise of this part of the variance of the sum is worth a narrower interval.
AFFORDABLE = 0.03


@dataclass(frozen=True, slots=True)
class Clip:
    """Records are clipped to [centre - below, centre + above]; both are 0 if nothing is seen.

    Both are on edges of sixteenths of octaves, where ``DistanceSum`` can clip.

    ``excess`` is what to add to the sum for what clipping takes away, ``offset`` estimates the
    distance of the mean from the centre, give or take ``doubt``.
    """

    centre: float
    below: float
    above: float
    excess: float = 0.0
    offset: float = 0.0
    doubt: float = 0.0

    @property
    def side(self) -> float:
        """The larger distance of a clip point from the centre."""
        return max(self.below, self.above)


def choose_clip(plan: Plan, centre: float, tails: Tails, size: int, reference: Reference) -> Clip:
    """Return the clip points that the counts suggest, within what the caller knows.

    If an interval for the mean is to be measured by the ``reference``, they may be as wide as that.
    """
    limits = caps(plan, centre)
    anchors = [
        tails.anchor(counts, limit) for counts, limit in zip(tails.sides, limits, strict=True)
    ]
    if anchors == [None, None]:
        # A moment bounds what may hide in the noise, which is best clipped at about this distance.
        # The mean is close: nearly all records are at the centre.
        side = HIDDEN * (limits[0] - plan.tail.scale) if isinstance(plan.tail, Moment) else 0.0
        return Clip(centre, edge_below(side), edge_below(side))
    raised = raise_anchors(plan, tails, anchors, limits)
    farthest = [farthest_of(tails, *pair) for pair in zip(anchors, raised, strict=True)]
    anchors = raised
    distances, excess = balance(plan, tails, anchors, farthest)

    thin = edge_above(THIN_SIDE * max(distances))
    for side, limit in enumerate(limits):
        distances[side] = max(distances[side], thin)
        if distances[side] > limit:  # the caller's knowledge clips first: no curve applies there
            distances[side], excess[side] = limit, 0.0
    if plan.confidence is not None and plan.tail is not None:
        for side, far in enumerate(_affordable(plan, tails, anchors, centre, reference)):
            if far > distances[side]:
                distances[side], excess[side] = min(edge_above(far), limits[side]), 0.0
    below, above = distances
    offset, doubt = tails.offset(anchors, distances)
    offset = min(max(offset / size, -below / 2), above / 2)
    if plan.unit is Unit.ADD_REMOVE:
        # A record weighs by its distance from centre + offset, so both sides may be that wide.
        widest = max(below + offset, above - offset)
        below, above = (
            max(side, min(edge_below(wide), limit))
            for side, wide, limit in zip(
                (below, above), (widest - offset, widest + offset), limits, strict=True
            )
        )
    return Clip(centre, below, above, excess[1] - excess[0], offset, doubt / size)


def caps(plan: Plan, centre: float) -> tuple[float, float]:
    """Return the largest useful distances below and above the centre, each on an edge."""
    tail = plan.tail
    if isinstance(tail, Bounded):
        return edge_above(max(centre - tail.low, 0.0)), edge_above(max(tail.high - centre, 0.0))
    if isinstance(tail, Moment):
        # At this distance from the mean the worst squared bias and the noise are least; the
        # median is within one scale of the mean.
        k, noise = tail.k, deviation(plan.cost("sum"))
        reach = (math.sqrt((k - 1) / 2) * bias_constant(k) * (plan.n or 1) / noise) ** (1 / k)
        return edge_above(tail.scale * (1 + reach)), edge_above(tail.scale * (1 + reach))
    return math.inf, math.inf


def _affordable(
    plan: Plan, tails: Tails, anchors: list[int | None], centre: float, reference: Reference
) -> tuple[float, float]:
    """Return distances up to where an interval wants records unclipped; 0 if that costs too much.

    Clip points at the interval's reference leave nothing to doubt but its bias. They are worth it
    where their noise is far below the sampling error.
    """
    middle = 0.0 if reference.moves else centre
    reach = middle - reference.low, reference.high - middle
    noise = deviation(plan.cost("sum")) * sum(reach)
    if not noise**2 <= AFFORDABLE * squares_of(tails, anchors):
        return 0.0, 0.0
    return reach
