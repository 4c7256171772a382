"""How records spread: the private survival curve with noise bars on log axes, and the clip points.

Right of the median it has the share of records above, left of it the share below. If nearly all
that is seen is positive, values are on a log scale; else distances from the median, on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tametail.drawing.frame import (
    ACCENT,
    Scale,
    bottom_axis,
    left_axis,
    line,
    path,
    picture,
    short_end,
    words,
)
from tametail.markup import element
from tametail.means import Mean
from tametail.pictures.whiskers import fake_mark, whiskers
from tametail.released import Released
from tametail.shape import CLEAR, CurvePoint, Shape

_SIZE = 13.0

#: Noise bars are so many standard deviations long, on either side.
BARS = 2.0

#: From the median a line leads to the first knot only if that holds so large a share: if many
#: records are the median itself, there is no such line.
_HALF = 0.25

#: Values are on a log scale if at most this share of the records, or no more than noise allows,
#: seems to be 0 or below.
_NOT_POSITIVE = 0.01

#: Knots are soft: one counts a part of the records that are closer. So one that is farther away
#: than 0 by less than this factor shows some records that are positive, and must show more.
_SOFT, _MAY_BE_POSITIVE = 1.25, 0.1

#: And if the median is at most so many times as large as the farthest distance from it that is
#: seen: around a million with a spread of 1, a log scale would show one point.
_SPREAD = 2.0

#: What lies farther out than so many times all else is an arrow at the edge.
_FARTHEST = 100.0


@dataclass(frozen=True, slots=True)
class Dot:
    """A share of records beyond a place, with the ends of its noise bar."""

    place: float
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """What is drawn of a row, in numbers: places are values, less ``origin``.

    >>> curve_points = (CurvePoint(1.0, 0.2, 0.001), CurvePoint(4.0, 0.01, 0.001))
    >>> row = Mean("0", None, 2.5, clip=(-9.0, 30.0), shape=Shape(2.0, (), curve_points))
    >>> curve = Curve.of(row)
    >>> curve.log, [dot.place for dot in curve.above], curve.ends
    (True, [3.0, 6.0], (1.5384615384615383, 39.0))
    """

    origin: float
    log: bool
    below: tuple[Dot, ...]
    above: tuple[Dot, ...]
    least: float
    ends: tuple[float, float]
    partly: bool = False

    @classmethod
    def of(cls, row: Mean) -> Curve | None:
        """Return the curve of a row; None if nothing was seen."""
        shape = row.shape
        if shape is None:
            return None
        median = shape.median
        hidden = [curve_point for curve_point in shape.below if curve_point.distance >= median]
        far = max(
            (curve_point.distance for curve_point in (*shape.below, *shape.above)), default=0.0
        )
        log = row.value > 0 and 0 < median < _SPREAD * far
        for curve_point in hidden:
            allowed = _NOT_POSITIVE if curve_point.distance >= _SOFT * median else _MAY_BE_POSITIVE
            log = log and curve_point.beyond <= max(allowed, 2 * CLEAR * curve_point.error)
        origin = 0.0 if log else median
        below = [
            _dot(median - curve_point.distance - origin, curve_point) for curve_point in shape.below
        ]
        below = [dot for dot in below if not log or dot.place > 0]
        above = [
            _dot(median + curve_point.distance - origin, curve_point) for curve_point in shape.above
        ]
        dots = [*below, *above]
        if not dots:
            return None
        least = 10.0 ** math.floor(math.log10(min(dot.share for dot in dots) / 2))
        sure = [*(dot.place for dot in dots), median - origin, row.value - origin]
        ends = _ends(row, sure, origin, log=log)
        return cls(
            origin, log, tuple(below), tuple(above), least, ends, partly=log and bool(hidden)
        )

    @property
    def unit(self) -> float:
        """The distance from the median within which nothing is told apart."""
        return min(abs(dot.place) for dot in (*self.below, *self.above)) / 2

    def line(self, shape: Shape) -> list[tuple[float, float]]:
        """Return the points of the curve, from the left to the right."""
        near = [dots[0].share for dots in (self.below, self.above) if dots]
        middle = [(shape.median - self.origin, 0.5)] if min(near) >= _HALF else []
        below = [(dot.place, dot.share) for dot in reversed(self.below)]
        return below + middle + [(dot.place, dot.share) for dot in self.above]

    def scale(self, start: float, stop: float) -> Scale:
        """Return the scale of the places."""
        return Scale(*self.ends, start, stop, self.log, None if self.log else self.unit)

    def ticks(self, apart: float) -> list[float]:
        """Return round places that are at least this part of the picture apart."""
        scale = self.scale(0.0, 1.0)
        found: list[float] = []
        for tick in scale.ticks():
            if not found or scale.place(tick) - scale.place(found[-1]) >= apart:
                found.append(tick)
        return found

    @property
    def label(self) -> str:
        """What the places are."""
        if not self.log:
            return f"distance from the median, {short_end(_few(self.origin, self.unit), self.unit)}"
        return "value (0 and below is not shown)" if self.partly else "value"


def _dot(place: float, curve_point: CurvePoint) -> Dot:
    wide = BARS * curve_point.error
    return Dot(
        place,
        curve_point.beyond,
        max(curve_point.beyond - wide, 0.0),
        min(curve_point.beyond + wide, 1.0),
    )


def _ends(row: Mean, sure: list[float], origin: float, *, log: bool) -> tuple[float, float]:
    """Return how far the picture reaches: over the curve, the mean, clip points and intervals."""
    widest = max(map(abs, sure))
    marks = [*(row.clip or ()), *(e for one in row.intervals for e in (one.low, one.high))]
    near = [mark - origin for mark in marks if abs(mark - origin) <= _FARTHEST * widest]
    if log:
        positive = [*sure, *(mark for mark in near if mark >= min(sure) / _FARTHEST)]
        return min(positive) / 1.3, max(positive) * 1.3
    return 1.3 * min(*sure, *near, -widest), 1.3 * max(*sure, *near, widest)


def tail_picture(release: Released, width: float = 720.0) -> str:
    """Return the noisy survival curve of one mean with its clipping bounds; "" without a curve."""
    row = release.means[0]
    curve, shape = Curve.of(row), row.shape
    if curve is None or shape is None:
        return ""
    left, right, top, bottom = 64.0, width - 34.0, 76.0, 250.0
    across = curve.scale(left, right)
    up = Scale(curve.least, 1.0, bottom, top, log=True)
    foot = bottom + 14 * len(row.intervals[:1]) + 8
    drawn = [words("Share of records beyond each value (noisy)", 24.0, 20.0, font_weight=600)]
    drawn += left_axis(up, left, right, _SIZE, lambda share: f"{100 * share:g}%")
    drawn += bottom_axis(across, top, foot, curve.label, _SIZE)
    drawn += _clip_points(row, curve, across, (top, foot))
    for dot in (*curve.below, *curve.above):
        x, high = across.place(dot.place), up.place(dot.high)
        drawn.append(line(x, up.place(dot.low), x, high, stroke=ACCENT, stroke_opacity=0.6))
        drawn.append(element("circle", cx=x, cy=up.place(dot.share), r=3.0, fill=ACCENT))
    points = [(across.place(place), up.place(share)) for place, share in curve.line(shape)]
    drawn.append(path(points, stroke=ACCENT, stroke_width=1.8))
    for one in row.intervals[:1]:
        drawn += whiskers(one, across, bottom + 14, 2.5, curve.origin)
    x = across.place(row.value - curve.origin)
    drawn.append(line(x, top, x, foot, stroke_dasharray="2 4", stroke_opacity=0.7))
    drawn += fake_mark(release, width, foot + 58)
    title = "Share of records beyond each value, by noisy counts"
    given = "; ".join(f"beyond {dot.place:.3g}: {100 * dot.share:.2g}%" for dot in curve.above[:8])
    return picture(width, foot + 58, title, given, drawn)


def _clip_points(
    row: Mean, curve: Curve, across: Scale, heights: tuple[float, float]
) -> Iterator[str]:
    """Yield a line at each clip point, with a line of words of its own; an arrow if it is far."""
    if row.clip is None or row.clip[0] >= row.clip[1]:
        return
    sides = (
        (row.clip[0], "below", 40.0, "start", across.start, "◂ "),
        (row.clip[1], "above", 58.0, "end", across.stop, " ▸"),
    )
    width = row.clip[1] - row.clip[0]
    for end, side, height, anchor, edge, arrow in sides:
        place = end - curve.origin
        seen = across.low <= place <= across.high
        text = f"clipped {side} {short_end(_few(end, width), width)}"
        if not seen:
            text = arrow + text if anchor == "start" else text + arrow
        x = across.place(place) if seen else edge
        yield words(text, across.start if anchor == "start" else across.stop, height,
                    text_anchor=anchor, fill_opacity=0.85)  # fmt: skip
        if seen:
            yield line(x, height + 6, x, heights[1], stroke_dasharray="6 4", stroke_opacity=0.6)


def _few(value: float, width: float) -> float:
    """Return a number with few digits, unless these are what tells it from the other end."""
    return float(f"{value:.3g}") if width > 0.01 * abs(value) else value
