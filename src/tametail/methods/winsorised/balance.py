"""Which pair of clip points costs least: bias and noise of both sides together. No data here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tametail.methods.winsorised.anchors import deviation, squares_of
from tametail.methods.winsorised.counts import Tails
from tametail.methods.winsorised.curves import NODES_ABOVE, NODES_BELOW, Array, Fit, Judgement
from tametail.methods.winsorised.shares import halvings
from tametail.privacy.budget import exponential_rate, on_sample
from tametail.privacy.unit import Unit

if TYPE_CHECKING:
    from tametail.planning import Plan

#: Under replace-one the thin side is at least this part of the other: nearly free, and safer.
THIN_SIDE = 0.03

#: If both sides have the same tail, what clipping takes away on one side still differs from that on
#: the other: by so many times the part by which their counts differ, within these limits.
ASYMMETRY, LEAST_ASYMMETRY, MOST_ASYMMETRY = 6.0, 0.1, 0.6

#: How many ranks the choice of the centre errs by, times its rate.
CHOICE = 2.0

#: A side on which nothing stands out is not clipped any wider than it has to be.
_NOTHING = Judgement(np.zeros(1), np.zeros(1), np.zeros(1))


def balance(
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
    risk = risk + (deviation(plan.cost("sum")) * sensitivity) ** 2
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
        fit = Fit.of(_around(counts, anchor), tails.scale, deviation(plan.budget), depth)
        fits.append(fit)
        sides.append(fit.judge().scaled(float(tails.distances[anchor])))
    risk = sides[0].risk[:, None] + sides[1].risk[None, :]
    excess = [side.excess for side in sides]
    if low is not None and low == high:
        unit = float(tails.distances[low])
        asymmetry = min(max(ASYMMETRY * tails.difference(low), LEAST_ASYMMETRY), MOST_ASYMMETRY)
        alike, both, added, beyond = fits[0].judge_alike(fits[1], asymmetry)
        # The records beyond stay behind if the centre is off.
        off = _centre_variance(plan, squares_of(tails, anchors))
        both = unit**2 * both + off * (beyond[:, None] + beyond[None, :]) ** 2
        risk = (1 - alike) * risk + alike * both
        excess = [(1 - alike) * one + alike * unit * added for one in excess]
    return sides, risk, excess


def _centre_variance(plan: Plan, squares: float) -> float:
    """Predict the variance of the centre: the median of a sample, privately chosen.

    With s^2 the variance of a record, an error of r ranks is about 2 s r / n: 2.5 s r / n for a
    normal law, 1.4 s r / n for Laplace's.
    """
    n = max(plan.n or 1, 1)
    sampled = 2.0 ** -halvings(n)
    rate = float(exponential_rate(on_sample(plan.cost("centre"), halvings(n))))
    ranks = n / (4 * sampled) + (CHOICE / (rate * sampled)) ** 2
    return max(squares, 0.0) / n * 4 * ranks / n**2


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
