"""The one interval to quote: its limits, and one qualifier that says what it rests on.

Every text, table, picture and sentence takes its words from here. The other intervals of a row are
in the details.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tametail.columns import Column
from tametail.means import MEAN, MEAN_AS_SEEN, WINSORIZED, Interval, Mean
from tametail.released import Released
from tametail.show import numbers
from tametail.show.rows import is_usable, step_for, value_of
from tametail.statistic import MEAN as MEAN_OF
from tametail.statistic import SHARE, SUM
from tametail.tail import Bounded, Moment, Tail

#: What a row shows in place of a number that says nothing.
NO_ESTIMATE = "no reliable estimate"

#: And in place of the limits of an interval that holds everything.
UNBOUNDED = "unbounded"

_NOT_INCLUDED = "effect of clipping not included"


#: Limits are rounded alike, unless one is so many times the other.
_FAR_APART = 100.0


class Quoted(NamedTuple):
    """A value and the interval to quote, as people read them."""

    value: str
    limits: str | None
    """None without an interval, because none was asked for."""
    qualifier: str
    mark: str
    """One letter for tables: what the interval rests on."""


#: What a mark in a table stands for, as a footnote.
MARKS = {
    "e": "approximate (tail extrapolated)",
    "c": f"for the clipped mean; the {_NOT_INCLUDED}",
    "g": "guaranteed if the assumption holds",
    "a": "approximate; rests on the assumption",
    "p": "guaranteed",
    "m": "approximate",
    "w": "the range that you gave for the mean, not evidence from the data",
    "x": "not valid: the data contradict the assumption",
}


def quote(release: Released, row: Mean) -> Quoted:
    """Return what people read of a row: the value, one interval and one qualifier."""
    usable = is_usable(row)
    first = row.intervals[0] if row.intervals else None
    value = value_of(row) if usable else NO_ESTIMATE
    if first is None or release.confidence is None:
        return Quoted(value, None, "", "")
    limits = limits_of(first, row)
    if limits is None:
        return Quoted(value, UNBOUNDED if usable else "none", "", "")
    column = _column(release, row)
    mark = _mark(first, row)
    # a sum may be that of people
    whose = {MEAN_OF: "records", SHARE: "records", SUM: "data"}.get(row.statistic)
    of_these = release.plan.request.target == "data" and whose is not None
    target = f"for the {row.statistic} of these {whose}" if of_these else ""
    qualifier = "; ".join(words for words in (_qualifier(mark, column), target) if words)
    return Quoted(value, limits, qualifier, mark)


def level(release: Released) -> str:
    """Return what an interval is called where there is little room."""
    return f"{numbers.percent(release.confidence or 0.0)} CI"


def limits_of(interval: Interval, row: Mean) -> str | None:
    """Return the limits of an interval of a row, rounded outward; None if there is none.

    >>> row = Mean("paid", None, 1481.73)
    >>> limits_of(Interval(1439.77, 1590.09, *MEAN, True, {}), row)
    '1,439 to 1,591'
    >>> limits_of(Interval(1439.77, math.inf, *MEAN, True, {}), row)
    'at least 1,430 (no upper limit)'
    """
    low, high = interval.low, interval.high
    step = step_for(row, interval)
    if math.isinf(low) and math.isinf(high):
        return None
    if math.isinf(high):
        return f"at least {row.measured(_one_limit(low, up=False))} (no upper limit)"
    if math.isinf(low):
        return f"at most {row.measured(_one_limit(high, up=True))} (no lower limit)"
    if step is None:
        return row.measured(f"{numbers.significant(low)} to {numbers.significant(high)}")
    below, above = (_own_step(row, end, step, beside) for end, beside in ((low, high), (high, low)))
    return row.measured(f"{numbers.rounded_down(low, below)} to {numbers.rounded_up(high, above)}")


def _own_step(row: Mean, limit: float, step: int, other: float) -> int:
    """Return where to round a limit: one that is much smaller than the other by its own size.

    >>> limits_of(Interval(1910.09, 2_525_408.0, *MEAN, True, {}), Mean("paid", None, 900_000.0))
    '1,900 to 2,530,000'
    """
    shown = float(numbers.rounded(row.value, step).replace(",", ""))
    is_far = limit * other > 0 and abs(other) >= _FAR_APART * abs(limit)
    if not is_far or (shown - limit) * (other - shown) < 0:  # else the value would lie outside
        return step
    own = min(step, math.floor(math.log10(abs(limit))) - 1)
    return max(own, 0) if row.statistic == "count" else own


def _one_limit(limit: float, *, up: bool) -> str:
    """Return a limit without a counterpart, to three digits and outward."""
    if limit == 0:
        return "0"
    step = math.floor(math.log10(abs(limit))) - 2
    return (numbers.rounded_up if up else numbers.rounded_down)(limit, step)


def assumption(tail: Tail) -> str:
    """Return what is assumed about the values, as the end of a sentence with "if".

    >>> assumption(Moment(2, 2500)), assumption(Bounded(0, None))
    ('the standard deviation is at most 2,500', 'all values are at least 0')
    >>> assumption(Moment(4, 2500)), assumption(Bounded(0, 250_000))
    ('E|X - mean|^4 is at most 2,500^4', 'all values are between 0 and 250,000')
    """
    if isinstance(tail, Moment):
        scale = numbers.given(tail.scale)
        if tail.k == 2:
            return f"the standard deviation is at most {scale}"
        return f"E|X - mean|^{tail.k:g} is at most {scale}^{tail.k:g}"
    if not isinstance(tail, Bounded):
        return "nothing is assumed"
    low, high = tail.said
    if low is not None and high is not None:
        return f"all values are between {numbers.given(low)} and {numbers.given(high)}"
    if low is not None:
        return f"all values are at least {numbers.given(low)}"
    return f"all values are at most {numbers.given(high or 0.0)}"


def details_of(release: Released, row: Mean) -> list[tuple[str, str]]:
    """Return what is behind the quoted interval, as names and words."""
    found = []
    if row.clip is not None and row.clip[0] < row.clip[1]:
        low, high = (numbers.significant(end) for end in row.clip)
        found.append(("clipping bounds", row.measured(f"{low} to {high}")))
    for other in row.intervals[1:]:
        limits = limits_of(other, row) or UNBOUNDED
        name = f"clipped {row.label}" if _is_clipped(other) else "other interval"
        how = "guaranteed" if other.proved else "approximate"
        found.append((name, f"{level(release)} {limits}   {how}"))
    if row.intervals and (words := _components(row.intervals[0].error_components)):
        side, hides = _side(row.intervals[0], row.value)
        found.append(("error components", side + words.replace("privacy noise", hides)))
    found.append(("method", release.method))
    return found


_COMPONENTS = {
    "sampling": "sampling",
    "privacy": "privacy noise",
    "clipping": "clipping",
    "rounding": "rounding",
}


def _components(parts: dict[str, float | None]) -> str:
    """Return what an interval is made of; a part that is far below the largest is left out."""
    known = {name: size for name, size in parts.items() if size is not None and math.isfinite(size)}
    largest = max(known.values(), default=0.0)
    found = [
        f"{words} ±{numbers.significant(known[name], 2)}"
        for name, words in _COMPONENTS.items()
        if known.get(name, 0.0) > 0.01 * largest
    ]
    if "clipping" in parts and parts["clipping"] is None and found:
        found.append("clipping not included")
    return ", ".join(found) + "   (not additive)" * (len(found) > 1)


def _side(interval: Interval, value: float) -> tuple[str, str]:
    """Say which limit the components are those of, where one is much farther than the other.

    There the noise may hide values far beyond the clipping bounds, which is the larger part.
    """
    below, above = value - interval.low, interval.high - value
    if not 0 <= 2 * min(below, above) < max(below, above) < math.inf:
        return "", "privacy noise"
    which = "upper" if above > below else "lower"
    return f"of the {which} limit: ", "privacy noise and the values it may hide"


def _is_clipped(one: Interval) -> bool:
    return one.basis == WINSORIZED.basis


def _column(release: Released, row: Mean) -> Column:
    columns = release.plan.request.columns
    return next((one for one in columns if one.name == row.column), columns[0])


def _mark(first: Interval, row: Mean) -> str:
    """Return the letter of what an interval rests on."""
    if row.assumption_contradicted:
        return "x"
    if _is_clipped(first):
        return "c"
    if first.basis == MEAN_AS_SEEN.basis:
        return "e"
    if first.kind != MEAN:  # counts, shares and quantiles need no assumption
        return "p" if first.proved else "m"
    if all(size is None for name, size in first.error_components.items() if name != "rounding"):
        return "w"
    return "g" if first.proved else "a"


def _qualifier(mark: str, column: Column) -> str:
    """Return a mark in words, with the assumption of the column."""
    assumed = assumption(column.tail)
    return {
        "c": f"approximate; clipped mean ({_NOT_INCLUDED})",
        "g": f"guaranteed if {assumed}",
        "a": f"approximate; assumes {assumed}",
        "w": (
            f"from {'bounds' if isinstance(column.tail, Bounded) else 'within'}, not from the data"
        ),
    }.get(mark, MARKS[mark])
