"""Plain words for people: a release and a plan on a terminal and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from tametail._shown import printable
from tametail.means import MEAN, WINSORISED, Interval, Mean
from tametail.plans import REFERENCE, Prediction, PricedRequest
from tametail.privacy.odds import odds, weak_budget
from tametail.released import Released
from tametail.tail import Bounded, Moment

#: The word before a note, by its kind.
WORDS: Final = {"warning": "warning", "remark": "note"}


def text(release: Released) -> str:
    """Return one line for one mean, a table for more or for groups; then a line for every note."""
    if not release.means:
        found = f"{mark(release)}no group was large enough to be seen; {release.guarantee}"
        return "\n".join([found, *said(release)])
    if len(release) == 1 and release.groups is None:
        row = release.means[0]
        found = f"{mark(release)}{row.label} {_summary(release, row)}; {release.guarantee}"
        return "\n".join([found, *said(release)])
    table = [header(release), *(cells(release, row) for row in release)]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    lines = []
    for name, *numbers in table:
        right = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
        lines.append("  ".join([name.ljust(widths[0]), *right]))
    return "\n".join([*lines, caption(release), *said(release)])


def mark(release: Released) -> str:
    """Return what stands in front of whatever is shown of a fake."""
    return "FAKE: " if release.fake else ""


def brief(release: Released) -> str:
    """Return a few words: what a ``repr`` shows."""
    guarantee = release.guarantee
    numbers = {"epsilon": guarantee.epsilon, "delta": guarantee.delta or None, "rho": guarantee.rho}
    spent = ", ".join(f"{name} = {x:.6g}" for name, x in numbers.items() if x is not None)
    if len(release) == 1 and release.groups is None:
        row = release.means[0]
        ends = "" if row.low is None or row.high is None else f" ({row.low:.6g} to {row.high:.6g})"
        return f"{mark(release)}{row.label} {row.shown}{ends}, {spent}"
    groups = release.groups
    which = "" if groups is None else f" by {', '.join(groups.by)}"
    return f"{mark(release)}{len(release)} {plural(release)}{which}, {spent}"


def lines(release: Released) -> list[str]:
    """Say in a few plain lines what was released, for the terminal."""
    if len(release) != 1 or release.groups is not None:
        told = [f"odds: {odds(release.guarantee)}"]
        return text(release).splitlines() + told + _receipt(release)
    row = release.means[0]
    found = [f"{row.label:<10} {mark(release)}{row.shown}"]
    for interval in row.intervals:
        ends, chance = ends_of(interval, row), percent(release.confidence or 0.0)
        found.append(f"interval   {ends} ({chance}), {covers(interval)}")
    if row.clip is not None and row.clip[0] < row.clip[1]:
        low, high = (row.measured(f"{end:.6g}") for end in row.clip)
        found.append(f"clipping   records below {low} count as that, records above {high} as that")
    found.append(f"guarantee  {release.guarantee}")
    found.append(f"odds       {odds(release.guarantee)}")
    found += [f"{WORDS[note.kind]:<10} {note}" for note in release.notes]
    return found + _receipt(release)


def _receipt(release: Released) -> list[str]:
    """Say which ledger entry paid; with the head, a ledger that was cut off later shows."""
    if release.receipt is None:
        return []
    told = "{dataset}, release {release_id}, head {head}".format(**release.receipt)
    return [f"ledger     {told}"]


def describe_plan(plan: PricedRequest, promised: Prediction, reasons: Sequence[str]) -> str:
    """Return the plan as a table of its steps, why they are those, and what it predicts."""
    size = "unknown" if plan.n is None else f"{plan.n:,}"
    columns = f", {plan.dim} columns" if plan.dim > 1 else ""
    fake = "FAKE: " if plan.request.fake else ""
    found = [f"{fake}{plan.method}{columns}, n = {size}, {plan.budget}, {plan.unit}"]
    width = 7 if plan.dim == 1 else 8
    for name, part, purpose in plan.shares():
        found.append(f"  {name:<{width}} {part:5.1f}%  {purpose}")
    found += [f"  {reason}" for reason in reasons]
    notes = (*weak_budget(plan.budget, plan.unit), *promised.notes)
    advice = (f"  advice: {note}" for note in notes)
    return "\n".join([*found, *predictions(plan, promised), *advice])


def predictions(plan: PricedRequest, promised: Prediction) -> Iterable[str]:
    """Yield what a plan predicts, a line for each number."""
    rmse, relative, scale = promised.rmse, promised.relative_rmse, promised.scale
    if scale is not None:
        yield from _in_own_scale(plan, promised, scale)
        return
    if isinstance(rmse, float):
        yield f"  root mean squared error at most {rmse:.4g}{_supposed(plan)}"
    if relative is not None:
        law = "all were independent and" if plan.dim > 1 else "the records were"
        where = " in every column" if plan.dim > 1 else ""
        yield (
            f"  error about {relative:.3g} standard deviations{where} "
            f"(if {law} lognormal with sigma 1)"
        )
    yield from _half_widths(plan, promised)


def _in_own_scale(plan: PricedRequest, promised: Prediction, scale: str) -> Iterable[str]:
    """Yield what is predicted of another statistic than a mean."""
    rmse = promised.rmse if promised.relative_rmse is None else promised.relative_rmse
    if isinstance(rmse, float):
        yield f"  typical error: {rmse:.3g} {scale}"
    confidence = plan.request.confidence
    width = None if confidence is None else promised.half_width(confidence)
    if confidence is not None and width is not None:
        yield f"  {percent(confidence)} interval of about ±{width:.3g} {scale}"


def _supposed(plan: PricedRequest) -> str:
    """Say where a bound of the error supposes the mean to be, if nobody has told."""
    (column,) = plan.request.columns
    if not isinstance(column.tail, Moment) or all(map(math.isfinite, column.possible)):
        return ""
    return ", for a mean within some thousand scales of 0"


def _half_widths(plan: PricedRequest, promised: Prediction) -> Iterable[str]:
    """Yield how wide the interval is expected to be, and for which records."""
    confidence = plan.request.confidence
    width = None if confidence is None else promised.half_width(confidence)
    if confidence is None or width is None:
        return
    words = f"  {percent(confidence)} interval "
    if math.isinf(width):
        yield words + "without ends: nothing is expected to stand out of the noise"
        return
    words += f"of about ±{width:.4g}"
    # A ball has one prediction for all columns, whatever was told of them.
    if "ball" in plan.method or all(tail is None for tail in plan.tails):
        yield f"{words} standard deviations"
    elif plan.dim == 1 and isinstance(plan.tails[0], Bounded):
        usual = promised.half_width(confidence, REFERENCE) or 0.0
        others = f", ±{usual:.4g} for uniform ones" if usual < width else ""
        yield f"{words} for the worst records within the bounds{others}"
    else:
        yield words


def _summary(release: Released, row: Mean) -> str:
    if row.low is None or row.high is None or release.confidence is None:
        return row.shown
    ends = ends_of(row.intervals[0], row)
    found = f"{row.shown} ({percent(release.confidence)} interval {ends}"
    return found + (")" if row.interval_for == MEAN else f" for the {row.interval_for})")


def ends_of(interval: Interval, row: Mean) -> str:
    """Return both ends of an interval of a row, in words if it has none."""
    if interval.low == -math.inf and interval.high == math.inf:
        return "without ends"
    return row.measured(f"{interval.low:.6g} to {interval.high:.6g}")


def covers(interval: Interval) -> str:
    """Say what an interval is for."""
    if interval.describes == MEAN:
        if interval.low == -math.inf and interval.high == math.inf:
            return "for the mean, which nothing that was assumed or seen bounds"
        return "for the mean, if what was assumed holds"
    if interval.describes == WINSORISED:
        return "for the mean of clipped records; what lies beyond is not bounded"
    return f"for the {interval.describes}"


def said(release: Released) -> list[str]:
    """Return every note as a line, with the columns that it is about if not all share it."""
    found = []
    for note in release.notes:
        about = [name_of(release, row) for row in release if note in row.notes]
        where = "" if note in release.remarks or len(about) == len(release) else ", ".join(about)
        found.append(f"{WORDS[note.kind]}: {where}{': ' * bool(where)}{note}")
    return found


def header(release: Released) -> tuple[str, ...]:
    """Return the heads of the table's columns."""
    groups = release.groups
    several = len({row.label for row in release}) > 1
    name = ("statistic" if several else "column") if groups is None else ", ".join(groups.by)
    counts = all(row.statistic == "count" for row in release)
    counted = () if groups is None or groups.borrow is None or counts else ("count",)
    ends = () if release.confidence is None else ("low", "high")
    return (name, mean_label(release), *ends, *counted)


def mean_label(release: Released) -> str:
    """Return "mean", with what the means are measured in if that is one thing for all of them.

    Of another statistic its name; "value" if there are several.
    """
    labels = {row.label for row in release} or {"mean"}
    label = labels.pop() if len(labels) == 1 else "value"
    measures = {row.measure for row in release}
    is_one = len(measures) == 1 and None not in measures
    return f"{label} [{measures.pop()}]" if is_one else label


def plural(release: Released) -> str:
    """Return what the rows are, in words."""
    kinds = {row.statistic for row in release}
    return f"{kinds.pop()}s" if len(kinds) == 1 else "statistics" if kinds else "means"


def cells(release: Released, row: Mean) -> tuple[str, ...]:
    """Return the cells of a row of the table."""
    ends = () if row.low is None or row.high is None else (f"{row.low:.6g}", f"{row.high:.6g}")
    shows = "count" in header(release)[2:]
    counted = (f"{row.count:.0f}" if row.count is not None else "",) if shows else ()
    return (name_of(release, row), f"{row.value:.6g}", *ends, *counted)


def header_told(release: Released) -> tuple[str, ...]:
    """Return the heads of a table with room for what each interval is for."""
    return (*header(release), *(() if release.confidence is None else ("interval for",)))


def cells_told(release: Released, row: Mean) -> tuple[str, ...]:
    """Return the cells of a row of such a table."""
    return (*cells(release, row), *(() if row.interval_for is None else (row.interval_for,)))


def name_of(release: Released, row: Mean) -> str:
    """Return what a row is called: its column, or its group; both, if there are several."""
    column = f"{row.column} [{row.measure}]" if row.measure else row.column
    several = len({one.label for one in release}) > 1
    if row.group is None:
        return row.label if several else column
    cells = row.group if isinstance(row.group, tuple) else (row.group,)
    name = printable(", ".join(map(str, cells)))
    if several:
        return f"{name}: {row.label}"
    return f"{name}: {column}" if release.plan.dim > 1 else name


def caption(release: Released) -> str:
    """Return what the intervals are for, and the guarantee."""
    if release.confidence is None:
        return f"{mark(release)}{release.guarantee}"
    kinds = " or the ".join(sorted({str(row.interval_for) for row in release}))
    return (
        f"{mark(release)}{percent(release.confidence)} intervals for {_together(release)}, for the "
        f"{kinds}; {release.guarantee}"
    )


def _together(release: Released) -> str:
    """Say what the intervals hold for at once."""
    groups = release.groups
    if groups is None:
        is_mean = release.plan.request.statistic == "mean"
        return "all columns at once" if is_mean else "each statistic alone"
    if groups.simultaneous:
        return "all groups at once"
    several = release.plan.dim > 1 and groups.simultaneous is None
    return "all columns of each group at once" if several else "each group alone"


def percent(confidence: float) -> str:
    """Return a confidence in percent, with as many digits as it takes not to be called 100%.

    >>> percent(0.95), percent(0.999), percent(0.99999999)
    ('95%', '99.9%', '99.999999%')
    """
    texts = (f"{100 * confidence:.{digits}g}" for digits in range(6, 18))
    return next((text for text in texts if text != "100"), "100") + "%"
