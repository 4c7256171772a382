"""How records spread, as private counts of a release show it: quantiles, survival, tail index.

All of it comes out of answers that a mean has paid for already, so it costs nothing more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tametail._json import Json

#: A share of records counts as seen if it is at least so many standard deviations of its noise.
CLEAR = 3.0

#: The tail index is that of so many octaves at the end of what is seen.
_OCTAVES = 3

#: Fewer records than so many errors of a knot do not stand out on a side that has none.
_HIDDEN = 16.0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """At this distance from the median lies the share ``beyond`` of all records, on one side.

    ``error`` is a standard deviation of the noise on that share.
    """

    distance: float
    beyond: float
    error: float


@dataclass(frozen=True, slots=True)
class Shape:
    """How the records of one column spread around their private median.

    ``below`` and ``above`` have knots by octaves, the nearest first: where records stand out of the
    noise.

    >>> numbers = ((1.0, 0.2), (2.0, 0.05), (4.0, 0.0125))
    >>> curve_points = tuple(CurvePoint(*number, 0.001) for number in numbers)
    >>> shape = Shape(10.0, (), curve_points)
    >>> shape.quantile(0.95), shape.quantile(0.1), round(shape.tail_index("above"), 3)
    (12.0, None, 2.0)
    """

    median: float
    below: tuple[CurvePoint, ...]
    above: tuple[CurvePoint, ...]

    def quantile(self, level: float) -> float | None:
        """Return where the part ``level`` of the records lies below; None where nothing is seen.

        Between two knots the logarithms of share and distance are on a line; nearer to the median
        than the first knot the distance is in proportion to the share that is missing there.
        """
        sign, curve_points, share = 1, self.above, 1 - level
        if level < 0.5:
            sign, curve_points, share = -1, self.below, level
        if not curve_points:
            return None
        nearest = curve_points[0]
        if share >= nearest.beyond:
            part = (0.5 - share) / max(0.5 - nearest.beyond, 1e-300)
            return self.median + sign * nearest.distance * min(max(part, 0.0), 1.0)
        for near, far in pairwise(curve_points):
            if near.beyond >= share >= far.beyond:
                part = math.log(near.beyond / share) / math.log(near.beyond / far.beyond)
                ratio = math.pow(far.distance / near.distance, part)
                return self.median + sign * near.distance * ratio
        return None

    def tail_index(self, side: Literal["below", "above"] | None = None) -> float | None:
        """Return the power with which a tail falls, where it is still seen: the longer one, or one.

        It is the slope of ln(share) against ln(distance), by least squares with the weights that
        noise gives them; None with fewer than two knots.
        """
        sides = {"below": self.below, "above": self.above}
        longer = max(sides.values(), key=lambda found: found[-1].distance if found else 0.0)
        chosen = longer if side is None else sides[side]
        curve_points = [one for one in chosen if one.beyond >= 2 * CLEAR * one.error]
        curve_points = curve_points[-_OCTAVES:]
        if len(curve_points) < 2:
            return None
        weights = [(one.beyond / one.error) ** 2 if one.error else 1.0 for one in curve_points]
        logs = [(math.log(one.distance), math.log(one.beyond)) for one in curve_points]
        total = sum(weights)
        x, y = (
            sum(w * log[i] for w, log in zip(weights, logs, strict=True)) / total for i in (0, 1)
        )
        moved = [(w, a - x, b - y) for w, (a, b) in zip(weights, logs, strict=True)]
        return -sum(w * a * b for w, a, b in moved) / sum(w * a * a for w, a, _ in moved)

    def beyond(self, low: float, high: float) -> tuple[float, bool]:
        """Return which share of the records lies outside of [low, high], and whether at most that.

        Farther out than the last knot nothing is seen: there may be as many as it has beyond it.

        >>> curve_points = (CurvePoint(1.0, 0.2, 0.001), CurvePoint(2.0, 0.05, 0.001))
        >>> share, at_most = Shape(10.0, curve_points, curve_points).beyond(8.0, 12.0)
        >>> round(share, 6), at_most, Shape(10.0, curve_points, curve_points).beyond(0.0, 20.0)
        (0.1, False, (0.1, True))
        """
        errors = [one.error for one in (*self.below, *self.above)]
        total, at_most = 0.0, False
        for curve_points, end in (
            (self.below, self.median - low),
            (self.above, high - self.median),
        ):
            last = (
                curve_points[-1]
                if curve_points
                else CurvePoint(0.0, _HIDDEN * min(errors, default=0.0), 0.0)
            )
            at_most |= end > last.distance
            total += last.beyond if end > last.distance else _share(curve_points, end)
        return min(total, 1.0), at_most

    def survival(self) -> list[tuple[float, float, float]]:
        """Return values, the share of records above each, and the error of that, in order."""
        lower = [(self.median - one.distance, 1 - one.beyond, one.error) for one in self.below]
        upper = [(self.median + one.distance, one.beyond, one.error) for one in self.above]
        return [*reversed(lower), (self.median, 0.5, 0.0), *upper]

    @classmethod
    def from_dict(cls, record: Json) -> Shape:
        """Undo what JSON did to it."""
        below, above = (
            tuple(
                CurvePoint(*(float(curve_point[name]) for name in ("distance", "beyond", "error")))
                for curve_point in record[side]
            )
            for side in ("below", "above")
        )
        return cls(float(record["median"]), below, above)


def _share(curve_points: tuple[CurvePoint, ...], distance: float) -> float:
    """Return the share beyond a distance up to that of the last knot, where logarithms are lines.

    >>> round(_share((CurvePoint(1.0, 0.2, 0.0), CurvePoint(4.0, 0.05, 0.0)), 2.0), 6)
    0.1
    """
    nearest = curve_points[0]
    if distance <= nearest.distance:
        part = max(distance, 0.0) / nearest.distance
        return 0.5 - part * (0.5 - nearest.beyond)
    near, far = next(pair for pair in pairwise(curve_points) if distance <= pair[1].distance)
    part = math.log(distance / near.distance) / math.log(far.distance / near.distance)
    return near.beyond * math.pow(far.beyond / near.beyond, part)
