"""The rows of a release as a table: one interval each, and marks for what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tametail.means import Mean
from tametail.released import Released
from tametail.show import numbers
from tametail.show.intervals import MARKS, UNBOUNDED, Quoted, level, quote
from tametail.show.rows import is_usable, name_of, per_person, where_of
from tametail.statistic import MEAN, REGRESSION, SUM
from tametail.tables import shown_count


class Row(NamedTuple):
    """The cells of a row, and a word behind one that says nothing."""

    cells: tuple[str, ...]
    remark: str


class Table(NamedTuple):
    """A table for people."""

    head: tuple[str, ...]
    rows: list[Row]
    caption: str
    """Which records, and what most of the intervals rest on; "" without either."""
    footnotes: list[tuple[str, str]]
    """What the marks of the other intervals stand for."""


def table_of(release: Released) -> Table:
    """Return the rows as a table: name, mean, interval and count."""
    quotes = [quote(release, row) if is_usable(row) else None for row in release]
    found = Counter(one.mark for one in quotes if one is not None and one.mark)
    usual = found.most_common(1)[0][0] if found else ""
    counts = any(row.count is not None and row.statistic != "count" for row in release)
    quotes = [one and _bare(one, release) for one in quotes]
    rows = [
        _row(release, row, one, usual, counts=counts)
        for row, one in zip(release, quotes, strict=True)
    ]
    shared = [one for one in quotes if one is not None and one.mark == usual]
    notes = [(f"({mark})", MARKS[mark]) for mark in found if mark != usual]
    if counts and _counts_scaled_records(release):
        notes.append((_counted(release), "counted after scaling, so the number may be too low"))
    caption = _caption(release, shared, alone=len(found) == 1) if usual else ""
    said = f"{about_of(release)}{caption}".rstrip()
    return Table(_head(release, counts=counts), rows, said, notes)


def about_of(release: Released) -> str:
    """Return what is averaged, over which records, as sentences; "" if that is no question."""
    said = (per_person(release).strip(" ()"), where_of(release).strip())
    return "".join(f"{words[:1].upper()}{words[1:]}. " for words in said if words)


def _head(release: Released, *, counts: bool) -> tuple[str, ...]:
    groups = release.groups
    several = len({row.label for row in release}) > 1
    name = ("statistic" if several else "column") if groups is None else ", ".join(groups.by)
    limits = () if release.confidence is None else (level(release),)
    noise = release.count_noise if release.plan.request.statistic == SUM else 0.0
    rough = f" (±{numbers.significant(noise, 2)})" if noise else ""
    counted = (_counted(release) + rough,) if counts else ()
    return (name, mean_label(release), *limits, *counted)


def _counted(release: Released) -> str:
    """Return what the counts of the rows count."""
    counts_people = release.plan.request.each == "person" or any(
        row.persons is not None and row.persons == row.count for row in release
    )
    return "people" if counts_people else "records"


def _counts_scaled_records(release: Released) -> bool:
    """Say whether each person's records were scaled down to one vector before they were counted."""
    groups, person = release.groups, release.plan.adjacency.person
    if groups is None or person is None or groups.groups_per_person is not None:
        return False
    return release.plan.request.statistic == MEAN and _counted(release) == "records"


def mean_label(release: Released) -> str:
    """Return "mean", with what the means are measured in if that is one thing for all of them.

    Of another statistic its name; "value" if there are several.
    """
    labels = {row.label for row in release} or {"mean"}
    label = labels.pop() if len(labels) == 1 else "value"
    measures = {row.units for row in release}
    is_one = len(measures) == 1 and None not in measures
    return f"{label} [{measures.pop()}]" if is_one else label


def _row(release: Released, row: Mean, found: Quoted | None, usual: str, *, counts: bool) -> Row:
    """Return a row; of one that says nothing only the count."""
    limits: tuple[str, ...] = ()
    if release.confidence is not None:
        shown = numbers.MISSING if found is None else found.limits or numbers.MISSING
        other = found is not None and found.mark not in ("", usual)
        limits = (f"{shown} ({found.mark})" if found is not None and other else shown,)
    count = numbers.MISSING
    if (number := shown_count(row, "count", release.count_noise)) is not None:
        count = numbers.significant(float(round(number)))
    value = numbers.MISSING if found is None else found.value
    cells = (name_of(release, row), value, *limits, *((count,) if counts else ()))
    return Row(cells, "no signal" if found is None else "")


def _bare(found: Quoted, release: Released) -> Quoted:
    """Return numbers without what they are measured in, if the head of the table says it."""
    label = mean_label(release)
    unit = f" {label[:-1].rpartition(' [')[2]}" if label.endswith("]") else ""
    limits = found.limits and found.limits.replace(f"{unit} (", " (").removesuffix(unit)
    return found._replace(value=found.value.removesuffix(unit), limits=limits)


def _caption(release: Released, shared: Sequence[Quoted], *, alone: bool) -> str:
    """Say what the intervals hold for, and what most of them rest on; ``alone`` if all do."""
    said = {one.qualifier for one in shared}
    qualifier = said.pop() if len(said) == 1 else MARKS[shared[0].mark]
    unless = "" if alone else "; others are marked"
    if any(row.usable and quote(release, row).limits == UNBOUNDED for row in release):
        qualifier = f"{qualifier} where limits are given"
    return f"{level(release)} {_together(release)}, {qualifier}{unless}."


def _together(release: Released) -> str:
    """Say what the intervals hold for at once."""
    groups = release.groups
    if groups is None:
        asked = release.plan.request.statistic
        if asked == REGRESSION:
            return "for all coefficients at once"
        return "for all columns at once" if asked == MEAN else "per statistic"
    if groups.simultaneous:
        return "for all groups at once"
    several = release.plan.n_columns > 1 and groups.simultaneous is None
    return "for all columns of each group at once" if several else "per group"
