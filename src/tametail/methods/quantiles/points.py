"""Which points are placed for some levels: the levels themselves, and limits of their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tametail.inequalities.quantiles import deviations
from tametail.privacy.budget import Budget, Noise, exponential_rate
from tametail.privacy.choices import one_of_many
from tametail.queries.column import LEVEL_ONE

#: How far a choice is off now and then, times epsilon of one depth; and how many deviations the
#: noise of a rank is off, while a limit is still to pass its test. Of the risk, the part that an
#: interval leaves to its first limit.
#: One level has a second limit to fall back on; among several it would be that of another level.
_MISPLACED, _MISPLACED_OF_MANY, _MISCOUNTED, _FIRST = 4.5, 8.5, 2.0, 0.8

#: How much farther out a second limit is placed, where there is one level only.
_SECOND = 2.5

#: The part of the distance to 0 or 1 that a limit leaves at least.
_LEFT = 0.1


class Points(NamedTuple):
    """Levels to place, in millionths; and by level, where its value and its limits are in them.

    Limits are listed from the innermost to the outermost: an interval takes the first that passes.
    """

    levels: tuple[int, ...]
    own: tuple[int, ...]
    lows: tuple[tuple[int, ...], ...]
    highs: tuple[tuple[int, ...], ...]


def expected_offsets(
    levels: Sequence[float], n: float, place: Budget, noise: Noise, risk: float, *, sampled: bool
) -> list[float]:
    """Return how far from each level, as a part of all records, its limits are placed.

    That is what sampling and counting may change together, and what is left for chance: that the
    point is placed too near, and that the noise of its rank is against it.
    """
    per, each = _limits_each(len(levels)), []
    cells = 2 * per * len(levels) + 1
    depth = (len(levels) * (1 + 2 * per)).bit_length()
    off = _MISPLACED if len(levels) == 1 else _MISPLACED_OF_MANY
    placed = off / (2 * float(exponential_rate(one_of_many(place, depth))))
    for number, level in enumerate(levels):
        left = 2 * per * number + per
        weights = (1 - level) ** 2 * left + level**2 * (cells - left)
        counted = math.sqrt(noise.variance * weights)
        spread = math.sqrt(n * level * (1 - level)) if sampled else 0.0
        test = deviations(_FIRST * risk / 2) * math.hypot(spread, counted) + 1
        each.append((test + math.hypot(_MISCOUNTED * counted, placed)) / n)
    return each


def _limits_each(levels: int) -> int:
    return 2 if levels == 1 else 1


def plan_points(levels: Sequence[float], offsets: Sequence[float] | None) -> Points:
    """Return the points for these ascending levels; without offsets no interval is wanted.

    >>> plan_points([0.25, 0.5], None).levels
    (250000, 500000)
    >>> plan_points([0.5], [0.01]).levels
    (475000, 490000, 500000, 510000, 525000)
    """
    own = [_millionths(level) for level in levels]
    lows: list[list[int]] = [[] for _ in own]
    highs: list[list[int]] = [[] for _ in own]
    for place, (level, offset) in enumerate(zip(levels, offsets or (), strict=bool(offsets))):
        for step in range(_limits_each(len(levels))):
            far, left = offset * _SECOND**step, _LEFT / (step + 1)
            lows[place].append(_millionths(max(level - far, level * left)))
            highs[place].append(_millionths(min(level + far, 1 - (1 - level) * left)))
    every = sorted({*own, *(each for some in (*lows, *highs) for each in some)})
    where = {level: place for place, level in enumerate(every)}
    return Points(
        tuple(every),
        tuple(where[level] for level in own),
        tuple(
            tuple(where[each] for each in _outward(lows, place, -1)) for place in range(len(own))
        ),
        tuple(
            tuple(where[each] for each in _outward(highs, place, 1)) for place in range(len(own))
        ),
    )


def _outward(limits: list[list[int]], place: int, side: int) -> list[int]:
    """Return a level's own limits, and then those of other levels that are farther out."""
    if not limits[place]:
        return []
    others = [each for some in limits for each in some if side * (each - limits[place][-1]) > 0]
    return [*limits[place], *sorted(set(others), key=lambda each: side * each)]


def _millionths(level: float) -> int:
    return min(max(round(level * LEVEL_ONE), 1), LEVEL_ONE - 1)
