"""A row as people read it: its name, its value, and whether the value says anything."""

from __future__ import annotations

from tametail._shown import printable
from tametail.means import Interval, Mean
from tametail.released import Released
from tametail.show import numbers
from tametail.statistic import MEAN, QUANTILE


def name_of(release: Released, row: Mean) -> str:
    """Return what a row is called: its column, or its group; both, if there are several."""
    column = f"{row.column} [{row.units}]" if row.units else row.column
    several = len({one.label for one in release}) > 1
    if row.group is None:
        return row.label if several else column
    cells = row.group if isinstance(row.group, tuple) else (row.group,)
    name = printable(", ".join(map(str, cells)))
    if several:
        return f"{name}: {row.label}"
    return f"{name}: {column}" if release.plan.n_columns > 1 else name


def plural(release: Released) -> str:
    """Return what the rows are, in words."""
    kinds = {row.statistic for row in release}
    return f"{kinds.pop()}s" if len(kinds) == 1 else "statistics" if kinds else "means"


def per_person(release: Released) -> str:
    """Return what stands behind a name where people count and not records; "" elsewhere.

    The median of the means of people is another number than the median of the records.
    """
    averages = {row.statistic for row in release} & {MEAN, QUANTILE}
    return " (one mean per person)" if averages and release.plan.request.each == "person" else ""


def where_of(release: Released) -> str:
    """Return what stands behind a name if only some records were asked about; "" elsewhere."""
    where = release.plan.request.where
    return "" if where is None else f" where {printable(where)}"


def value_of(row: Mean) -> str:
    """Return the value, rounded as its interval is; without one, to three digits.

    >>> value_of(Mean("paid", None, 1481.73))
    '1,480'
    """
    step = step_for(row, row.intervals[0]) if row.intervals else None
    text = numbers.significant(row.value) if step is None else numbers.rounded(row.value, step)
    return row.measured(text)


def step_for(row: Mean, interval: Interval) -> int | None:
    """Return the power of ten to which a row is rounded; counts are whole."""
    step = numbers.step_of(interval.low, row.value, interval.high)
    return max(step, 0) if step is not None and row.statistic == "count" else step


def is_usable(row: Mean) -> bool:
    """Say whether the value of a row says anything: then it is quoted (:attr:`Mean.usable`)."""
    return row.usable
