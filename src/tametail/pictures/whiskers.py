"""What several pictures draw: an interval with a stop at each end, and the mark of a fake."""

from __future__ import annotations

from collections.abc import Iterator

from tametail.drawing.frame import ACCENT, SECOND, Scale, line, words
from tametail.markup import element
from tametail.means import WINSORIZED, Interval
from tametail.released import Released


def whiskers(
    one: Interval, scale: Scale, y: float, thick: float, origin: float = 0.0
) -> Iterator[str]:
    """Yield the line and its stops; an end that lies beyond the scale is an arrow.

    The scale is one of distances from ``origin``.
    """
    color = color_of(one)
    ends = one.low - origin, one.high - origin
    low, high = map(scale.place, ends)
    yield line(low, y, high, y, stroke=color, stroke_width=thick, stroke_linecap="round")
    for x, end, way in ((low, ends[0], 1), (high, ends[1], -1)):
        if scale.low <= end <= scale.high:
            yield line(x, y - 2 * thick, x, y + 2 * thick, stroke=color, stroke_width=thick - 0.5)
        else:
            tip = f"{x:.1f},{y:.1f} {x + 9 * way:.1f},{y - 6:.1f} {x + 9 * way:.1f},{y + 6:.1f}"
            yield element("polygon", points=tip, fill=color)


def color_of(one: Interval) -> str:
    """Return the color of what an interval is for."""
    return SECOND if one.kind == WINSORIZED else ACCENT


def fake_mark(release: Released, width: float, height: float) -> list[str]:
    """Return a word across the picture of a fake; nothing for a release."""
    if not release.fake:
        return []
    size = min(0.24 * width, 0.8 * height)
    across = {"font_size": size, "font_weight": 700, "fill": SECOND, "fill_opacity": 0.3}
    return [words("FAKE", width / 2, (height + 0.7 * size) / 2, text_anchor="middle", **across)]
