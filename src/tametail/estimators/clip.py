"""Where to clip: from the noisy octave counts and what the caller knows. No data here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.budget import Budget, noise_for
from tametail.estimators.reference import Reference
from tametail.estimators.tail_fit import FARTHEST, NODES_ABOVE, NODES_BELOW, Array, Fit, Judgement
from tametail.estimators.tails import Tails, windows
from tametail.queries import edge_above, edge_below
from tametail.tail import Bounded, Moment, bias_constant
from tametail.unit import Unit

if TYPE_CHECKING:
    from tametail.planning import Plan

#: Under replace-one the thin side is at least this part of the other: nearly free, and safer.
THIN_SIDE = 0.03

#: An anchor moves up by less than GAP octaves if records stand out there by so many noise scales:
#: from where the tail is seen less clearly, but nearer to its end. While that is in the body of the
#: data (up to n epsilon = CLOSER_UNTIL) it is worth it; with ever more records, ever less.
CLOSER, CLOSER_COST = 8.0, 2.0
CLOSER_UNTIL, CLOSER_POWER = 1e4, 0.4

#: From GAP to RAISE_OCTAVES above, records would be a group across a gap, which few nodes hold. One
#: that could be seen below n epsilon = RARE_FROM would be a large part of the data, for a group so
#: far away, and is believed the less: by one more noise scale for every factor 10.
RAISE, RAISE_COST = 5.0, 2.5
GAP, RAISE_OCTAVES, GROUP, RARE_FROM = 4, 8, 2, 1e5

#: Where to clip if nothing stands out, over the distance where the worst bias and noise are least.
HIDDEN = 0.75

#: Noise of this part of the variance of the sum is worth a narrower interval.
AFFORDABLE = 0.03

#: A side on which nothing stands out is not clipped any wider than it has to be.
_NOTHING = Judgement(np.zeros(1), np.zeros(1), np.zeros(1))


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
    farthest = [_farthest(tails, *pair) for pair in zip(anchors, raised, strict=True)]
    anchors = raised
    distances, excess = _balance(plan, tails, anchors, farthest)

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
        k, noise = tail.k, _deviation(plan.cost("sum"))
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
    noise = _deviation(plan.cost("sum")) * sum(reach)
    if not noise**2 <= AFFORDABLE * _variance(tails, anchors):
        return 0.0, 0.0
    return reach


def _variance(tails: Tails, anchors: list[int | None]) -> float:
    """Estimate the sum of the squared distances from the centre."""
    return sum(
        float((counts[: anchor + 2] * tails.distances[: anchor + 2] ** 2).sum())
        for counts, anchor in zip(tails.sides, anchors, strict=True)
        if anchor is not None
    )


def _deviation(cost: Budget) -> float:
    """Return the standard deviation of the noise on a query of sensitivity 1."""
    return math.sqrt(noise_for(cost, 1, 1).variance)


def raise_anchors(
    plan: Plan, tails: Tails, anchors: list[int | None], limits: tuple[float, float]
) -> list[int | None]:
    """Move an anchor up to records that stand out less, where a false alarm would cost little.

    The cost is the noise of a clip point there, against the variance that the sum has anyway. For
    every factor e by which it would enlarge the error, more noise scales are needed.
    """
    distances = tails.distances
    noise = _deviation(plan.cost("sum"))
    highest = max(distances[anchor] for anchor in anchors if anchor is not None)
    variance = (
        max(_variance(tails, anchors), 20 * tails.scale * highest**2) + (noise * highest) ** 2
    )
    enlarged = np.log1p((noise * distances) ** 2 / variance)
    strength = max(plan.n or 1, 1) * plan.budget.strength
    closer = CLOSER * max(strength / CLOSER_UNTIL, 1.0) ** CLOSER_POWER + CLOSER_COST * enlarged
    group = RAISE + max(math.log10(RARE_FROM / strength), 0.0) + RAISE_COST * enlarged

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


def _farthest(tails: Tails, anchor: int | None, raised: int | None) -> float:
    """Return how far away a clip point may be, whatever the curves say.

    An anchor that was raised may be a false alarm: it must not carry the clip point any further.
    """
    if anchor is None or raised is None:
        return math.inf
    return math.ldexp(1.0, tails.first + max(anchor + FARTHEST, raised + GROUP))


def _balance(
    plan: Plan, tails: Tails, anchors: list[int | None], farthest: list[float]
) -> tuple[list[float], list[float]]:
    """Return the clip distances of both sides, which share one noise, and the excess beyond."""
    sides, risk, excess = _judge(plan, tails, anchors)
    below, above = sides[0].distances[:, None], sides[1].distances[None, :]
    wider = np.maximum(below, above)
    sensitivity = (
        np.maximum(below, THIN_SIDE * wider) + np.maximum(above, THIN_SIDE * wider)
        if plan.unit is Unit.REPLACE_ONE
        else wider
    )
    risk = risk + (_deviation(plan.cost("sum")) * sensitivity) ** 2
    risk[(below > farthest[0]) | (above > farthest[1])] = math.inf
    best = np.unravel_index(np.argmin(risk), risk.shape)
    return (
        [float(side.distances[index]) for side, index in zip(sides, best, strict=True)],
        [float(one[index]) for one, index in zip(excess, best, strict=True)],
    )


def _judge(
    plan: Plan, tails: Tails, anchors: list[int | None]
) -> tuple[list[Judgement], Array, list[Array]]:
    """Judge both sides, all pairs of their clip points, and what to add back on either side.

    Sides may have nothing to do with each other, or one tail in common; the counts say how likely
    the latter is.
    """
    depth = _depth((plan.n or 1) * plan.budget.strength)
    low, high = anchors
    if low is not None and high is not None and abs(low - high) <= 1:
        low = high = max(low, high)  # so that the sides can be compared
    fits, sides = [], []
    for counts, anchor in zip(tails.sides, (low, high), strict=True):
        if anchor is None:
            sides.append(_NOTHING)
            continue
        fit = Fit.of(_around(counts, anchor), tails.scale, _deviation(plan.budget), depth)
        fits.append(fit)
        sides.append(fit.judge().scaled(float(tails.distances[anchor])))
    risk = sides[0].risk[:, None] + sides[1].risk[None, :]
    excess = [side.excess for side in sides]
    if low is not None and low == high:
        unit = float(tails.distances[low])
        alike, both, added = fits[0].judge_alike(fits[1])
        risk = (1 - alike) * risk + alike * unit**2 * both
        excess = [(1 - alike) * one + alike * unit * added for one in excess]
    return sides, risk, excess


def _depth(strength: float) -> float:
    """Return how much steeper than usual the tail is expected to be where the counts end.

    They end at a rank of about 100/epsilon: in the body of the data if n epsilon is 1,000, deep in
    the tail if it is 10,000 or more, and most tails grow steeper.
    """
    depth = min(max(0.8 * math.log10(max(strength, 1.0)) - 2.8, -0.4), 0.4)
    return round(depth, 1)  # so that the next release finds in memory what follows from it


def _around(counts: Array, anchor: int) -> Array:
    """Return the counts at the nodes around the anchor; there is nothing beyond the last node."""
    index = anchor + np.arange(-NODES_BELOW, NODES_ABOVE + 1)
    inside = (index >= 0) & (index < len(counts))
    return np.where(inside, counts[np.clip(index, 0, len(counts) - 1)], 0.0)
