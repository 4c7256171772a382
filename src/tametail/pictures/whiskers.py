"""An interval as a line with a stop at each end, in the colour of what it is for."""

from __future__ import annotations

from collections.abc import Iterator

from tametail.drawing.frame import ACCENT, SECOND, Scale, SignedScale, line
from tametail.markup import element
from tametail.means import WINSORISED, Interval


def whiskers(
    one: Interval, scale: Scale | SignedScale, y: float, thick: float, origin: float = 0.0
) -> Iterator[str]:
    """Yield the line and its stops; an end that lies beyond the scale is an arrow.

    The scale is one of distances from ``origin``.
    """
    colour = colour_of(one)
    ends = one.low - origin, one.high - origin
    low, high = map(scale.place, ends)
    yield line(low, y, high, y, stroke=colour, stroke_width=thick, stroke_linecap="round")
    for x, end, way in ((low, ends[0], 1), (high, ends[1], -1)):
        if scale.low <= end <= scale.high:
            yield line(x, y - 2 * thick, x, y + 2 * thick, stroke=colour, stroke_width=thick - 0.5)
        else:
            tip = f"{x:.1f},{y:.1f} {x + 9 * way:.1f},{y - 6:.1f} {x + 9 * way:.1f},{y + 6:.1f}"
            yield element("polygon", points=tip, fill=colour)


def colour_of(one: Interval) -> str:
    """Return the colour of what an interval is for."""
    return SECOND if one.describes == WINSORISED else ACCENT
