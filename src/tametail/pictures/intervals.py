"""The intervals of a release: one mean explained, or dots and whiskers for many."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tametail.drawing.frame import (
    SECOND,
    Scale,
    bottom_axis,
    line,
    picture,
    short_end,
    words,
    words_width,
)
from tametail.explain import mark, mean_label, name_of
from tametail.markup import element
from tametail.means import MEAN, WINSORISED, Interval, Mean
from tametail.pictures.tail import tail_panel
from tametail.pictures.whiskers import colour_of, whiskers
from tametail.released import Released

_SIZE = 13.0

#: More rows than this are not labelled one by one; nobody would read them.
_MOST_ROWS = 400


def span(release: Released) -> tuple[float, float]:
    """Return how far a picture reaches: over all that is finite, and a little more.

    >>> import tametail as tt
    >>> low, high = span(tt.mean([1.0, 2.0] * 5_000, epsilon=1))
    >>> low < 1.5 < high
    True
    """
    ends = [end for row in release for one in row.intervals for end in (one.low, one.high)]
    finite = [end for end in ends if math.isfinite(end)] + [row.value for row in release]
    margin = 0.08 * (max(finite) - min(finite)) or 0.1 * abs(finite[0]) or 1.0
    return min(finite) - margin, max(finite) + margin


def interval_picture(release: Released, width: float = 720.0) -> str:
    """Return the values and their intervals, and in words what each interval is for.

    >>> import tametail as tt
    >>> interval_picture(tt.mean([1.0, 2.0] * 500, epsilon=1)).startswith("<svg")
    True
    """
    if not release.means:
        return ""
    single = len(release) == 1 and release.groups is None
    return _one(release, width) if single else _many(release, width)


def _marked(release: Released, width: float, height: float) -> list[str]:
    """Return a word across the picture of a fake; nothing for a release."""
    if not release.fake:
        return []
    size = min(0.24 * width, 0.8 * height)
    across = {"font_size": size, "font_weight": 700, "fill": SECOND, "fill_opacity": 0.3}
    return [words("FAKE", width / 2, (height + 0.7 * size) / 2, text_anchor="middle", **across)]


def _one(release: Released, width: float) -> str:
    """Draw one mean: how the records spread, and below that its intervals, larger.

    Each interval is on a line of its own, under the words that explain it.
    """
    row = release.means[0]
    tail, height = tail_panel(row, width)
    scale = Scale(*span(release), 24.0, width - 24.0)
    drawn: list[str] = []
    heights: list[float] = []
    y = 26.0
    for one in row.intervals:
        for line_of_label in _lines(_label(one), width - 30):
            drawn.append(words(line_of_label, 24.0, y, fill=colour_of(one), font_weight=600))
            y += 18
        y -= 18
        heights.append(y + 20)
        drawn += whiskers(one, scale, y + 20, 3.0)
        y += 56
    bottom = y + (8 if row.intervals else 20)
    x = scale.place(row.value)
    heights = heights or [bottom - 14]
    drawn.append(line(x, heights[-1], x, bottom, stroke_dasharray="2 4", stroke_opacity=0.7))
    drawn += [element("circle", cx=x, cy=cy, r=5.5, fill="currentColor") for cy in heights]
    what = row.label if row.column == "0" else f"{row.label} of {row.column}"
    label = f"{what}: {row.measured(short_end(row.value, scale.high - scale.low))}"
    drawn += bottom_axis(scale, 34.0, bottom, label, _SIZE)
    drawn = [*tail, element("g", "".join(drawn), transform=f"translate(0,{height:.0f})")]
    height += bottom + 48
    drawn += _marked(release, width, height)
    title = f"{mark(release)}The mean and its intervals"
    return picture(width, height, title, _told(release), drawn)


def _many(release: Released, width: float) -> str:
    """Draw a dot for the mean of every row, and whiskers for its interval; the first on top."""
    rows: Sequence[Mean] = release.means[:_MOST_ROWS]
    names = [name_of(release, row) for row in rows]
    room = 0.34 * width
    names = [_cut(name, room) for name in names]
    left = min(room, max(words_width(name, _SIZE) for name in names) + 22)
    scale = Scale(*span(release), left, width - 20.0)
    bottom = 16.0 + 26 * len(rows)
    drawn = list(bottom_axis(scale, 8.0, bottom, mean_label(release), _SIZE))
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        y = 24.0 + 26 * place
        drawn.append(words(name, left - 12, y + 4, text_anchor="end"))
        if row.intervals:
            drawn += whiskers(row.intervals[0], scale, y, 2.5)
        colour = SECOND if _warned(row) else "currentColor"
        drawn.append(element("circle", cx=scale.place(row.value), cy=y, r=4.5, fill=colour))
    drawn += _marked(release, width, bottom + 46)
    title = f"{mark(release)}Means and their intervals"
    return picture(width, bottom + 46, title, _told(release), drawn)


def _lines(label: tuple[str, str], room: float) -> list[str]:
    """Return a label in one line if there is room, in two if there is not."""
    whole = "  ".join(label)
    return [whole] if words_width(whole, _SIZE) < room else list(label)


def _label(one: Interval) -> tuple[str, str]:
    """Return the ends of an interval, and what it is for."""
    ends = "without ends" if _endless(one) else _ends(one)
    what = {MEAN: "for the mean", WINSORISED: "for the mean of clipped records"}
    return ends, what.get(one.describes, f"for the {one.describes}")


def _ends(one: Interval) -> str:
    width = one.high - one.low
    return f"{short_end(one.low, width)} to {short_end(one.high, width)}"


def _endless(one: Interval) -> bool:
    return one.low == -math.inf and one.high == math.inf


def _warned(row: Mean) -> bool:
    return bool(row.assumption_doubtful) or any(note.kind == "warning" for note in row.notes)


def _cut(name: str, room: float) -> str:
    """Return a name that fits; what is left out is in the table."""
    most = max(4, int((room - 22) / words_width("m", _SIZE)))
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _told(release: Released) -> str:
    """Return the content in words; of many rows the first and how many there are."""
    rows = release.means[:12]
    told = [f"{name_of(release, row)}: {row.shown}{_between(row)}" for row in rows]
    if len(release) > len(rows):
        told.append(f"and {len(release) - len(rows)} more, in the table")
    return "; ".join(told)


def _between(row: Mean) -> str:
    return "".join(f", {_ends(one)} for the {one.describes}" for one in row.intervals)
