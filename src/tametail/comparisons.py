"""Differences and ratios of two results, from their values and intervals alone.

Where the two are independent, each side of an interval is taken for a spread of its own, and
squares of spreads add up: the method of variance estimates recovery (MOVER; Zou and Donner 2008,
Donner and Zou 2012). For a ratio it is Fieller's set. Where a person may be in both, limits are
joined by a union bound. Neither needs noise or records, so that both work on stored releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tametail.errors import ParameterError
from tametail.means import MEAN, Interval, Mean
from tametail.show.intervals import limits_of
from tametail.show.numbers import percent
from tametail.show.rows import value_of

Kind = Literal["difference", "ratio"]


class Part(NamedTuple):
    """A value with the limits of its interval."""

    value: float
    low: float
    high: float

    def inside(self) -> Part:
        """Return the same with the value between the limits."""
        return Part(min(max(self.value, self.low), self.high), self.low, self.high)

    def negative(self) -> Part:
        """Return the part with the other sign."""
        return Part(-self.value, -self.high, -self.low)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A difference, or a ratio, of two results, and its interval.

    >>> print(Comparison("difference", "CA", "NY", "mean of paid", 4.0, 1.0, 7.5, 0.95))
    The mean of paid is 4.0 higher in CA than in NY (95% confidence interval of the difference: \
1.0 to 7.5, approximate).
    """

    kind: Kind
    one: str
    other: str
    of: str
    """What is compared, such as "mean of paid"."""
    value: float
    low: float
    high: float
    confidence: float
    proved: bool = False
    """Whether the coverage is proved: that of joined intervals is, if theirs are."""
    of_two_releases: bool = False
    """Whether it was for the caller to know that no record is in both."""
    person_in_both: bool = False
    """Whether limits were joined because a person may be in both."""
    unreliable: tuple[str, ...] = ()
    """Those of the two whose values say nothing; then ``value`` is nan."""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.sentence()

    @property
    def excludes_equality(self) -> bool:
        """Whether the two differ, as the interval leaves out 0, or the ratio 1.

        False where one of them says nothing.
        """
        equal = 0.0 if self.kind == "difference" else 1.0
        return not self.unreliable and not self.low <= equal <= self.high

    def sentence(self) -> str:
        """Return the result in words to publish; no number that is noise alone."""
        if self.unreliable:
            return (
                f"The {self.of} in {self.one} and in {self.other} cannot be compared: there is no "
                f"reliable estimate for {' and '.join(self.unreliable)}."
            )
        row = self._row()
        limits = limits_of(row.intervals[0], row) or "unbounded"
        how = "" if self.proved else ", approximate"
        level = percent(self.confidence)
        interval = f"({level} confidence interval of the {self.kind}: {limits}{how})"
        unsure = "" if self.excludes_equality else ", which may be noise or chance"
        if self.kind == "ratio":
            found = f"in {self.one} is {value_of(row)} times that in {self.other}"
        else:
            word = "higher" if self.value >= 0 else "lower"
            size = value_of(row).removeprefix("-")
            found = f"is {size} {word} in {self.one} than in {self.other}"
        return f"The {self.of} {found}{unsure} {interval}.{self._about_both()}"

    def _about_both(self) -> str:
        """Say what is supposed of those who may be in both, or that they are allowed for."""
        if self.person_in_both:
            return " This allows for persons who are in both, so the confidence is lower."
        return " This supposes that no record is in both." if self.of_two_releases else ""

    def _row(self) -> Mean:
        """Return the comparison as a row, which is rounded as all are."""
        one = Interval(self.low, self.high, *MEAN, self.proved, {}, self.confidence)
        return Mean(self.of, None, self.value, (one,))


def difference_of(one: Part, other: Part) -> Part:
    """Return one less the other.

    >>> difference_of(Part(5.0, 2.0, 9.0), Part(1.0, -2.0, 5.0))
    Part(value=4.0, low=-1.0, high=9.0)
    """
    a, b = one.inside(), other.inside()
    value = a.value - b.value
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    return Part(value, low, value + math.hypot(a.high - a.value, b.value - b.low))


def ratio_of(one: Part, other: Part) -> Part:
    """Return one divided by the other; unbounded if the other may be 0.

    >>> ratio_of(Part(6.0, 5.0, 7.0), Part(2.0, -1.0, 3.0)).high
    inf
    >>> low = ratio_of(Part(6.0, 5.0, 7.0), Part(2.0, 2.0, 2.0)).low  # a number without an error
    >>> low
    2.5
    """
    a, b = one.inside(), other.inside()
    if b.low <= 0 <= b.high:
        return Part(a.value / b.value if b.value else math.nan, -math.inf, math.inf)
    if b.value < 0:
        a, b = a.negative(), b.negative()
    return Part(a.value / b.value, _least_ratio(a, b), -_least_ratio(a.negative(), b))


def _least_ratio(a: Part, b: Part) -> float:
    """Return the least r for which the interval of a - r b holds 0, for b above 0.

    It solves (a - r b)^2 = (a - a.low)^2 + r^2 s^2, s the spread of b on the side that counts.
    """
    if a.low == -math.inf:
        return -math.inf
    rest = a.low * (2 * a.value - a.low)
    product = a.value * b.value
    if a.low >= 0:
        spread = b.high - b.value
        if spread == math.inf:
            return 0.0
        inner = product * product - (b.value - spread) * (b.value + spread) * rest
        below = product + math.sqrt(max(inner, 0.0))
        return rest / below if below > 0 else 0.0
    spread = b.value - b.low
    square = (b.value - spread) * (b.value + spread)
    return (product - math.sqrt(max(product * product - square * rest, 0.0))) / square


def compare(
    kind: Kind,
    rows: tuple[Mean, Mean],
    names: tuple[str, str],
    *,
    independent: bool,
    at_once: float | None = None,
) -> Comparison:
    """Compare two rows of the same statistic.

    If their intervals may depend on each other, limits are joined: that holds if both intervals do,
    with confidence 1 - 2a if each alone has 1 - a. If all intervals of a release hold ``at_once``
    with some confidence, limits are joined too: so all differences hold at once.
    """
    one, other = rows
    if (one.statistic, one.level) != (other.statistic, other.level):
        raise ParameterError(
            f"A {one.label} and a {other.label} are different statistics. Compare two of the same."
        )
    first, second = _alike(one, other)
    if first.confidence != second.confidence:
        raise ParameterError(
            f"The intervals have confidence {first.confidence:g} and {second.confidence:g}. Make "
            "both releases with the same confidence."
        )
    parts = Part(one.value, first.low, first.high), Part(other.value, second.low, second.high)
    joined = at_once is not None or not independent
    if joined:
        found = _joined(kind, *parts)
    else:
        found = difference_of(*parts) if kind == "difference" else ratio_of(*parts)
    # 2 * 0.95 - 1 is a bit below 0.9, which is what was meant
    least = max(round(2 * first.confidence - 1, 12), 0.0)
    without = tuple(name for name, row in zip(names, rows, strict=True) if not row.usable)
    return Comparison(
        kind=kind,
        one=names[0],
        other=names[1],
        of=f"{one.label} of {one.column}",
        value=math.nan if without else found.value,
        low=found.low,
        high=found.high,
        confidence=(at_once or least) if joined else first.confidence,
        proved=joined and first.proved and second.proved,
        person_in_both=at_once is None and not independent,
        unreliable=without,
    )


def _alike(one: Mean, other: Mean) -> tuple[Interval, Interval]:
    """Return intervals that are for the same, if there are such; else the first ones."""
    if not one.intervals or not other.intervals:
        raise ParameterError(
            "A comparison needs intervals. Make the release without confidence=None."
        )
    pairs = ((a, b) for a in one.intervals for b in other.intervals if a.kind == b.kind)
    return next(pairs, (one.intervals[0], other.intervals[0]))


def _joined(kind: Kind, one: Part, other: Part) -> Part:
    if kind == "difference":
        return Part(one.value - other.value, one.low - other.high, one.high - other.low)
    value = one.value / other.value if other.value else math.nan
    if other.low <= 0 <= other.high:
        return Part(value, -math.inf, math.inf)
    limits = [a / b for a in (one.low, one.high) for b in (other.low, other.high)]
    known = [limit for limit in limits if not math.isnan(limit)]
    open_ended = len(known) < len(limits)
    low, high = (-math.inf, math.inf) if open_ended else (min(known), max(known))
    return Part(value, low, high)
