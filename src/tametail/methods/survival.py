"""The survival curve: how records spread around the center, read off the tail histogram.

It comes out of answers that a mean has paid for already. No data here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tametail.methods.winsorized.constants import WINDOW
from tametail.shape import CLEAR, CurvePoint, Shape

if TYPE_CHECKING:
    from tametail.methods.winsorized.tail_histogram import Array, TailHistogram

#: Octaves beyond which all but this part of the records of a side lie say nothing.
NEAREST_SHARE = 0.02

#: A tail ends, rather than falls, if its power grows by this much from one octave to the next.
SUDDEN_END = 3.0

#: Steeper than this a tail does not fall, as far as octaves tell.
STEEPEST = 6.0


def survival_shape(
    tails: TailHistogram, center: float, last_bins: tuple[int | None, int | None], n: float
) -> Shape | None:
    r"""Return how n records spread; None if none of them is detected.

    With S(t) the number of records of one side beyond the distance t, soft counts add up to

    sum over nodes above 2^j = sum of min((\|y\| - 2^j)/2^j, 1)+ = mean of S(t) over 2^j..2^(j+1),

    since a record in that octave counts at its upper node in proportion to its distance. If S falls
    like t^-a there, its mean is its value at 2^j ((1 - 2^(1-a))/(a - 1))^(-1/a), near 1.44 2^j; a
    comes from the neighbors.
    """
    if last_bins == (None, None):
        return None
    below, above = (
        () if last_bin is None else _curve_points(tails, counts, last_bin, n)
        for counts, last_bin in zip(tails.sides, last_bins, strict=True)
    )
    return Shape(center, below, above)


def _curve_points(
    tails: TailHistogram, counts: Array, last_bin: int, n: float
) -> tuple[CurvePoint, ...]:
    """Return the knots of one side, from the nearest octave with nodes of its own to the last."""
    top = min(last_bin + WINDOW, len(counts))
    nodes = set(range(len(counts)) if tails.nodes is None else tails.nodes.tolist())
    first = next(j for j in range(last_bin, -2, -1) if j not in nodes or j + 1 not in nodes) + 1
    octaves = np.arange(first, top - 1)
    beyond = np.cumsum(counts[first + 1 : top][::-1])[::-1] / n
    errors = tails.scale * np.sqrt(2.0 * (top - 1 - octaves)) / n
    beyond = np.minimum(np.maximum.accumulate(beyond[::-1])[::-1], 0.5)
    seen = beyond >= CLEAR * errors
    # Nearer to the center than all records of the side there is nothing to tell.
    full = np.flatnonzero(beyond >= (1 - NEAREST_SHARE) * beyond.max(initial=0.0))
    start = int(full[-1]) if len(full) else 0
    found: list[CurvePoint] = []
    shares, doubts = beyond.tolist(), errors.tolist()
    before = _slope(shares, start - 1, start)
    for place in range(start, len(shares)):
        octave = tails.first + first + place
        if not seen[place]:
            # Fewer than stand out lie in this octave, so nearly all of them before it.
            clear = CLEAR * doubts[place]
            if found and found[-1].beyond > 2 * clear:
                found.append(CurvePoint(math.ldexp(1.0, octave), clear, doubts[place]))
            break
        after = _slope(shares, place, place + 1)
        distance = math.ldexp(_representative(before, after), octave)
        found.append(CurvePoint(distance, shares[place], doubts[place]))
        before = after
    return tuple(found)


def _representative(before: float, after: float) -> float:
    """Return where in its octave, 1 to 2, the share beyond is as large as its mean over it.

    A tail that falls like a power does so at :func:`_middle`; one that ends, along a line, at 1.5.
    The more steeply it falls after the octave than before, the more it is taken to end.
    """
    ends = min(max(after - before, 0.0) / SUDDEN_END, 1.0)
    return (1 - ends) * _middle((before + after) / 2) + 1.5 * ends


def _slope(beyond: Sequence[float], near: int, far: int) -> float:
    """Return how steeply the shares fall between two octaves, as a power of the distance."""
    if near < 0:
        return 0.0
    if far >= len(beyond) or beyond[far] <= 0:
        return STEEPEST
    return min(max(math.log2(beyond[near] / beyond[far]), 0.0), STEEPEST)


def _middle(slope: float) -> float:
    """Return where t^-slope is as large as its mean over 1..2.

    >>> round(_middle(1.0), 4), round(_middle(2.0), 4)
    (1.4427, 1.4142)
    """
    if slope < 1e-3:
        return math.exp(2 * math.log(2) - 1)  # the mean of the logarithms
    if abs(slope - 1) < 1e-6:
        return 1 / math.log(2)
    return math.pow((1 - math.pow(2, 1 - slope)) / (slope - 1), -1 / slope)
