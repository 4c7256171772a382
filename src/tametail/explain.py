"""Plain words for people: a release and a plan on a terminal and in a notebook."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tametail.planning import Method, Plan
    from tametail.release import Mean, Release


def text(release: Release) -> str:
    """Return one line for one mean, and a table for more, or for groups."""
    if not release.means:
        return f"no group was large enough to be seen; {release.guarantee}"
    if len(release) == 1 and release.groups is None:
        return f"mean {_summary(release, release[0])}; {release.guarantee}"
    table = [_header(release), *map(_cells, release)]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    lines = []
    for name, *numbers in table:
        right = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
        lines.append("  ".join([name.ljust(widths[0]), *right]))
    return "\n".join([*lines, _caption(release), *release.notes])


def page(release: Release) -> str:
    """Return a table for notebooks."""
    if len(release) == 1 and release.groups is None:
        return _table(_facts(release, release[0]))
    lines = [_row(_header(release), "th"), *(_row(_cells(row), "td") for row in release)]
    notes = "".join(f"<br>{html.escape(note)}" for note in release.notes)
    caption = f"<caption>{html.escape(_caption(release))}{notes}</caption>"
    return f"<table>{caption}{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def lines(release: Release) -> list[str]:
    """Say in a few plain lines what was released, for the terminal."""
    if len(release) != 1 or release.groups is not None:
        return text(release).splitlines() + _doubts(release) + _receipt(release)
    row = release[0]
    found = [f"mean       {row.value:.6g}"]
    if row.low is not None and row.high is not None and release.confidence is not None:
        ends = f"{row.low:.6g} to {row.high:.6g}"
        if row.interval_for == "mean":
            covers = "for the mean, if what was assumed of the records holds"
        else:
            covers = "for the mean of clipped records; what lies beyond is not bounded"
        found.append(f"interval   {ends} ({100 * release.confidence:g}%), {covers}")
    if row.clip is not None:
        found.append(f"clipping   {_clipping(*row.clip)}")
    found.append(f"guarantee  {release.guarantee}")
    found += _doubts(release) + [f"note       {note}" for note in release.notes]
    return found + _receipt(release)


def _receipt(release: Release) -> list[str]:
    """Say which ledger entry paid; with the head, a ledger that was cut off later shows."""
    if release.receipt is None:
        return []
    told = "{dataset}, release {release_id}, head {head}".format(**release.receipt)
    return [f"ledger     {told}"]


def describe_plan(plan: Plan, method: Method) -> str:
    """Return the plan as a table of its steps, with what it predicts and advises."""
    size = "unknown" if plan.n is None else f"{plan.n:,}"
    columns = f", {plan.dim} columns" if plan.dim > 1 else ""
    found = [f"{plan.method}{columns}, n = {size}, {plan.budget}, {plan.unit}"]
    whole = method.working(plan.budget).values()[0]
    asked, width = Counter(step.name for step in plan.steps), 7 if plan.dim == 1 else 8
    for step in plan.steps:
        name = f"{step.name} {step.round}" if asked[step.name] > 1 else step.name
        part = 100 * step.cost.values()[0] / whole
        found.append(f"  {name:<{width}} {part:5.1f}%  {method.purposes[step.name]}")
    found += [f"  {reason}" for reason in method.reasons(plan)]
    return "\n".join([*found, *_predictions(plan), *(f"  advice: {line}" for line in plan.advice)])


def _predictions(plan: Plan) -> Iterable[str]:
    rmse, relative = plan.rmse, plan.relative_rmse
    if isinstance(rmse, float):
        yield f"  root mean squared error at most {rmse:.4g}"
    if relative is not None:
        law = "all were independent and" if plan.dim > 1 else "the records were"
        where = " in every column" if plan.dim > 1 else ""
        yield (
            f"  error about {relative:.3g} standard deviations{where} "
            f"(if {law} lognormal with sigma 1)"
        )


def _summary(release: Release, row: Mean) -> str:
    if row.low is None or row.high is None or release.confidence is None:
        return f"{row.value:.6g}"
    ends = f"{row.low:.6g} to {row.high:.6g}"
    found = f"{row.value:.6g} ({100 * release.confidence:g}% interval {ends}"
    return found + (")" if row.interval_for == "mean" else f" for the {row.interval_for})")


def _facts(release: Release, row: Mean) -> list[tuple[str, str]]:
    facts = [("mean", _summary(release, row)), ("guarantee", str(release.guarantee))]
    if row.parts:
        shown = ", ".join(f"{name} {size:.3g}" for name, size in row.parts.items())
        facts.append(("half-width is made of", shown))
    if row.clip:
        ends = f"{row.clip[0]:.6g} to {row.clip[1]:.6g}"
        facts.append(("records beyond these were clipped", ends))
    return facts + [("note", note) for note in release.notes]


def _table(facts: list[tuple[str, str]]) -> str:
    left = "style='text-align:left'"
    cells = "".join(
        f"<tr><th {left}>{html.escape(name)}</th><td {left}>{html.escape(words)}</td></tr>"
        for name, words in facts
    )
    return f"<table>{cells}</table>"


def _row(cells: tuple[str, ...], tag: str) -> str:
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)


def _header(release: Release) -> tuple[str, ...]:
    groups = release.groups
    name = "column" if groups is None else ", ".join(groups.by)
    counted = () if groups is None or groups.borrow is None else ("count",)
    return (name, "mean", *(() if release.confidence is None else ("low", "high")), *counted)


def _cells(row: Mean) -> tuple[str, ...]:
    ends = () if row.low is None or row.high is None else (f"{row.low:.6g}", f"{row.high:.6g}")
    counted = () if row.count is None else (f"{row.count:.0f}",)
    return (name_of(row), f"{row.value:.6g}", *ends, *counted)


def name_of(row: Mean) -> str:
    """Return what a row is called: its column, or its group; both, if there may be several."""
    if row.group is None:
        return row.column
    cells = row.group if isinstance(row.group, tuple) else (row.group,)
    return ", ".join(map(str, cells))


def _caption(release: Release) -> str:
    """Return what the intervals are for, and the guarantee."""
    if release.confidence is None:
        return str(release.guarantee)
    kinds = " or the ".join(sorted({str(row.interval_for) for row in release}))
    return (
        f"{100 * release.confidence:g}% intervals for {_together(release)}, for the {kinds}; "
        f"{release.guarantee}"
    )


def _together(release: Release) -> str:
    """Say what the intervals hold for at once."""
    groups = release.groups
    if groups is None:
        return "all columns at once"
    if groups.simultaneous:
        return "all groups at once"
    several = release.plan.dim > 1 and groups.simultaneous is None
    return "all columns of each group at once" if several else "each group alone"


def _doubts(release: Release) -> list[str]:
    doubtful = [name_of(row) for row in release if row.assumption_doubtful]
    if not doubtful:
        return []
    where = "" if len(release) == 1 else f" of {', '.join(doubtful)}"
    return [f"doubt      the records{where} do not look as assumed: do not trust the interval"]


def _clipping(low: float, high: float) -> str:
    if low == high:
        return "too few records or too little budget to see a spread: the answer is a median"
    return f"records below {low:.6g} count as that, records above {high:.6g} as that"
