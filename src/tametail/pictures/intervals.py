"""The intervals of a release: one mean explained, or dots and whiskers for many."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tametail.drawing.frame import SECOND, Scale, bottom_axis, line, picture, words, words_width
from tametail.markup import element
from tametail.means import Mean
from tametail.pictures.whiskers import color_of, fake_mark, whiskers
from tametail.released import Released
from tametail.show.intervals import NO_ESTIMATE, level, quote
from tametail.show.release import mark
from tametail.show.rows import is_usable, name_of, plural, value_of
from tametail.show.tables import mean_label
from tametail.statistic import COUNT, SUM

_SIZE = 13.0

#: More rows than this are not labeled one by one; nobody would read them.
_MOST_ROWS = 400


def span(release: Released) -> tuple[float, float]:
    """Return how far a picture reaches: over all that is finite, and a little more.

    >>> import tametail as tt
    >>> low, high = span(tt.mean([1.0, 2.0] * 5_000, epsilon=1))
    >>> low < 1.5 < high
    True
    """
    rows = [row for row in _drawn(release) if is_usable(row)] or release.means
    ends = [end for row in rows for one in row.intervals[:1] for end in (one.low, one.high)]
    finite = [end for end in ends if math.isfinite(end)] + [row.value for row in rows]
    margin = 0.08 * (max(finite) - min(finite)) or 0.1 * abs(finite[0]) or 1.0
    return min(finite) - margin, max(finite) + margin


def interval_picture(release: Released, width: float = 720.0) -> str:
    """Return the values, each with the interval to quote; nothing if no value says anything.

    >>> import tametail as tt
    >>> interval_picture(tt.mean([1.0, 2.0] * 500, epsilon=1)).startswith("<svg")
    True
    """
    if not any(map(is_usable, _drawn(release))):
        return ""
    single = len(release) == 1 and release.groups is None
    return _one(release, width) if single else _many(release, width)


def _drawn(release: Released) -> Sequence[Mean]:
    """Return the rows that one axis can hold: beside means and quantiles, no sum and no count."""
    alike = [row for row in release if row.statistic not in (SUM, COUNT)]
    return alike or release.means


def _one(release: Released, width: float) -> str:
    """Draw one mean and its interval, under the words that say what that rests on."""
    row = release.means[0]
    scale = Scale(*span(release), 24.0, width - 24.0)
    drawn: list[str] = []
    y = 26.0
    found = quote(release, row)
    if row.intervals:
        one = row.intervals[0]
        label = [f"{level(release)} {found.limits}", found.qualifier]
        for words_of_label in _lines(", ".join(filter(None, label)), width - 30):
            drawn.append(words(words_of_label, 24.0, y, fill=color_of(one), font_weight=600))
            y += 18
        drawn += whiskers(one, scale, y + 2, 3.0)
    height, bottom = y + 2, y + 46
    x = scale.place(row.value)
    drawn.append(line(x, height, x, bottom, stroke_dasharray="2 4", stroke_opacity=0.7))
    drawn.append(element("circle", cx=x, cy=height, r=5.5, fill="currentColor"))
    what = row.label if row.column == "0" else f"{row.label} of {row.column}"
    drawn += bottom_axis(scale, 34.0, bottom, f"{what}: {found.value}", _SIZE)
    drawn += fake_mark(release, width, bottom + 48)
    title = f"{mark(release)}The {row.label} and its confidence interval"
    return picture(width, bottom + 48, title, _told(release), drawn)


def _many(release: Released, width: float) -> str:
    """Draw a dot for the mean of every row, and whiskers for its interval; the first on top."""
    rows = _drawn(release)[:_MOST_ROWS]
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
        if not is_usable(row):
            drawn.append(words("no signal", left + 4, y + 4, fill_opacity=0.75))
            continue
        if row.intervals:
            drawn += whiskers(row.intervals[0], scale, y, 2.5)
        color = SECOND if _warned(row) else "currentColor"
        drawn.append(element("circle", cx=scale.place(row.value), cy=y, r=4.5, fill=color))
    drawn += fake_mark(release, width, bottom + 46)
    title = f"{mark(release)}{plural(release).capitalize()} and their confidence intervals"
    return picture(width, bottom + 46, title, _told(release), drawn)


def _lines(label: str, room: float) -> list[str]:
    """Return a label in as few lines as there is room for."""
    found: list[str] = []
    for word in label.split():
        longer = f"{found[-1]} {word}" if found else word
        if found and words_width(longer, _SIZE) < room:
            found[-1] = longer
        else:
            found.append(word)
    return found


def _warned(row: Mean) -> bool:
    return bool(row.assumption_contradicted) or any(note.kind == "warning" for note in row.notes)


def _cut(name: str, room: float) -> str:
    """Return a name that fits; what is left out is in the table."""
    most = max(4, int((room - 22) / words_width("m", _SIZE)))
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _told(release: Released) -> str:
    """Return the content in words; of many rows the first and how many there are."""
    rows = release.means[:12]
    given = [f"{name_of(release, row)}: {_said(release, row)}" for row in rows]
    if len(release) > len(rows):
        given.append(f"and {len(release) - len(rows)} more, in the table")
    return "; ".join(given)


def _said(release: Released, row: Mean) -> str:
    if not is_usable(row):
        return NO_ESTIMATE
    limits = quote(release, row).limits
    return value_of(row) + (f", {level(release)} {limits}" if limits else "")
