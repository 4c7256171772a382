"""Scales, ticks, words and elements that all pictures share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count, pairwise

from tametail.markup import element

#: Custom properties that a page may set, and what holds where it does not.
ACCENT = "var(--accent, #0f766e)"
SECOND = "var(--second, #b45309)"
QUIET = "currentColor"

#: How wide a letter of the labels is, about, as a part of its height.
_LETTER = 0.58

#: A label of an axis reaches at most so far beyond its ends.
_MARGIN = 24.0

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Scale:
    """A map from numbers to places along an axis: linear, logarithmic, or that on either side of 0.

    With a ``unit`` it is the last: distances up to the unit lie in the middle.

    >>> Scale(0.0, 10.0, 100.0, 200.0).place(5.0)
    150.0
    >>> Scale(1.0, 100.0, 0.0, 80.0, log=True).place(10.0)
    40.0
    >>> scale = Scale(-100.0, 100.0, 0.0, 80.0, unit=1.0)
    >>> scale.place(-10.0), scale.place(0.5), scale.place(10.0), scale.ticks()
    (20.0, 40.0, 60.0, [-100.0, -10.0, -1.0, 0.0, 1.0, 10.0, 100.0])
    """

    low: float
    high: float
    start: float
    stop: float
    log: bool = False
    unit: float | None = None

    def place(self, value: float) -> float:
        """Return where a number lies; beyond the ends it lies at the end."""
        inside = min(max(value, self.low), self.high)
        low, high, at = map(self._straight, (self.low, self.high, inside))
        part = (at - low) / (high - low) if high > low else 0.5
        return self.start + part * (self.stop - self.start)

    def _straight(self, number: float) -> float:
        if self.unit is not None:
            return math.copysign(math.log(max(abs(number) / self.unit, 1.0)), number)
        return math.log(number) if self.log else number

    def ticks(self, about: int = 5) -> list[float]:
        """Return round numbers within the scale; powers of ten if it is logarithmic.

        >>> Scale(0.0, 10.0, 0, 1).ticks()
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        >>> Scale(90.0, 12_000.0, 0, 1, log=True).ticks()
        [100.0, 1000.0, 10000.0]
        """
        if self.unit is not None:
            below, above = (
                _powers(self.unit, end) if end > self.unit else [] for end in (-self.low, self.high)
            )
            return [*(-tick for tick in reversed(below)), 0.0, *above]
        return _powers(self.low, self.high) if self.log else _steps(self.low, self.high, about)


def _steps(low: float, high: float, about: int) -> list[float]:
    width = (high - low) / about
    if not width > 0 or not math.isfinite(width):
        return [low]
    power = 10.0 ** math.floor(math.log10(width))
    step = next((power * part for part in (1, 2, 5) if power * part >= 0.75 * width), power * 10)
    first, last = math.ceil(low / step), math.floor(high / step)
    digits = 12 - math.floor(math.log10(step))
    return [round(number * step, digits) for number in range(first, min(last, first + 50) + 1)]


def _powers(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, (last - first + 6) // 6)
    found = [10.0**power for power in range(first, last + 1, every)]
    if len(found) >= 2:
        return found
    fine = [part * 10.0**power for power in range(first - 1, last + 2) for part in (1, 2, 5)]
    return [value for value in fine if low <= value <= high]


def short(value: float) -> str:
    """Return a number for a label: few signs, no needless zeros.

    >>> [short(x) for x in (1500.0, 20_000.0, 0.05, 3e6, -2.5, 0.0, 123456.0, 1e12)]
    ['1,500', '20,000', '0.05', '3M', '-2.5', '0', '123,456', '1e+12']
    """
    size = abs(value)
    if size >= 1e6 and size < 1e12 and size == round(size, -4):
        name, unit = ("bn", 1e9) if size >= 1e9 else ("M", 1e6)
        return f"{value / unit:.4g}{name}"
    if 1000 <= size < 1e7 and value == round(value):
        return f"{value:,.0f}"
    return f"{value:.6g}"


def labels(ticks: Sequence[float]) -> list[str]:
    """Return numbers for labels, in order: as short as may be, but no two that look alike.

    >>> labels([999_999.0, 1_000_000.0]), labels([1_000_000.2, 1_000_000.4])
    (['999,999', '1,000,000'], ['1,000,000.2', '1,000,000.4'])
    """
    step = min((abs(b - a) for a, b in pairwise(ticks)), default=math.inf)
    if step > 1e-5 * max(map(abs, ticks), default=0.0):
        return [short(tick) for tick in ticks]
    return [precise(tick, step) for tick in ticks]


def precise(value: float, step: float) -> str:
    """Return a number with as many digits as tell it from another one that is a step away.

    >>> precise(1_000_000.25, 0.5), precise(12_345.678, 100.0), precise(1e300, 1e280)
    ('1,000,000.2', '12,346', '1e+300')
    """
    if not 0 < step < math.inf or abs(value) >= 1e15:
        return short(value)
    return f"{value:,.{min(max(math.ceil(-math.log10(step)), 0), 15)}f}"


def short_end(value: float, width: float = math.inf) -> str:
    """Return an end of something of this width for a label: both ends look different.

    >>> short_end(1474.98321, 20.0), short_end(1_000_000.1234, 0.5), short_end(-math.inf)
    ('1474.98', '1,000,000.12', '-∞')
    """
    if not math.isfinite(value):
        return "-∞" if value < 0 else "∞"
    if 0 < width < 1e-4 * abs(value):
        return precise(value, width / 10)
    return short(float(f"{value:.6g}"))


def words_width(text: str, size: float) -> float:
    """Return how wide a text is, about."""
    return len(text) * _LETTER * size


def words(text: str, x: float, y: float, **attributes: object) -> str:
    """Return a text at a place."""
    return element("text", escape(text), x=float(x), y=float(y), **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    """Return a straight line; thin and quiet unless something else is said."""
    usual: dict[str, object] = {"stroke": QUIET, "stroke_width": 1}
    ends = {"x1": float(x1), "y1": float(y1), "x2": float(x2), "y2": float(y2)}
    return element("line", "", **(usual | ends | attributes))


def path(points: Iterable[tuple[float, float]], **attributes: object) -> str:
    """Return a line through points."""
    drawn = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return element("path", "", d=f"M{drawn}", fill="none", **attributes)


def bottom_axis(scale: Scale, top: float, bottom: float, label: str, size: float) -> Iterator[str]:
    """Yield a horizontal axis: a faint line up from each tick, its number, and what it counts."""
    taken = -math.inf
    ticks = scale.ticks(max(2, int((scale.stop - scale.start) / 90)))
    for tick, text in zip(ticks, labels(ticks), strict=True):
        x = scale.place(tick)
        yield line(x, top, x, bottom, stroke_opacity=0.14)
        half = words_width(text, size) / 2
        inside = scale.start - _MARGIN < x - half and x + half < scale.stop + _MARGIN
        if inside and x - half > taken:
            yield words(text, x, bottom + 1.5 * size, text_anchor="middle", fill_opacity=0.75)
            taken = x + half + 6
    yield line(scale.start, bottom, scale.stop, bottom, stroke_opacity=0.4)
    middle = (scale.start + scale.stop) / 2
    yield words(label, middle, bottom + 3.1 * size, text_anchor="middle", fill_opacity=0.75)


def left_axis(
    scale: Scale, left: float, right: float, size: float, label: Callable[[float], str] = short
) -> Iterator[str]:
    """Yield a vertical axis: a faint line from each tick, and its number."""
    for tick in scale.ticks():
        y = scale.place(tick)
        yield line(left, y, right, y, stroke_opacity=0.14)
        text = label(tick)
        yield words(text, left - 8, y + 0.35 * size, text_anchor="end", fill_opacity=0.75)


def picture(width: float, height: float, title: str, given: str, drawn: Iterable[str]) -> str:
    """Return the whole picture, with a title and its content in words."""
    name = f"picture-{next(_numbers)}"
    head = element("title", escape(title), id=f"{name}-title")
    head += element("desc", escape(given), id=f"{name}-desc")
    return element(
        "svg",
        head + "".join(drawn),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        font_size=13,
        font_family="inherit",
        fill="currentColor",
        class_="picture",
    )
