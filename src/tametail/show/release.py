"""A release on a terminal and in ``str()``: warnings, the result, the data, the privacy loss."""

from __future__ import annotations

from collections.abc import Sequence

from tametail.means import Mean
from tametail.privacy.odds import odds
from tametail.released import Released
from tametail.show import numbers
from tametail.show.intervals import details_of, level, quote
from tametail.show.rows import is_usable, name_of, plural, where_of
from tametail.show.tables import table_of
from tametail.show.warnings import notes_shown
from tametail.statistic import MEAN, QUANTILE, RECORDS
from tametail.tables import shown_count

#: More rows than this are not in ``str()``: the release has them all. What a command prints has
#: every row, for there is nothing else that was paid for.
_MOST_ROWS = 40

_PEOPLE = ("persons", "people")

#: Before a line: so wide.
_LABEL = 11


def text(release: Released) -> str:
    """Return what ``str()`` shows and a terminal prints."""
    return "\n".join(lines(release, most=_MOST_ROWS))


def mark(release: Released) -> str:
    """Return what stands in front of whatever is shown of a fake."""
    return "FAKE: " if release.fake else ""


def brief(release: Released) -> str:
    """Return a few words: what a ``repr`` shows."""
    spent = release.guarantee.numbers
    if len(release) == 1 and release.groups is None:
        found = quote(release, release.means[0])
        limits = "" if found.limits is None else f" ({found.limits})"
        name = f"{mark(release)}{release.means[0].label}{where_of(release)}"
        return f"{name} {found.value}{limits}, {spent}"
    groups = release.groups
    which = "" if groups is None else f" by {', '.join(groups.by)}"
    return f"{mark(release)}{len(release)} {plural(release)}{which}{where_of(release)}, {spent}"


def lines(release: Released, *, details: bool = False, most: int | None = None) -> list[str]:
    """Return the lines of a terminal; with ``details`` also what is behind the numbers.

    All rows, or the first of them, as many as ``most`` says.
    """
    notes = notes_shown(release)
    found = [_line("warning", note.text) for note in notes if note.kind == "warning"]
    if not release.means:
        found.append(_line("mean", f"{mark(release)}no group was large enough to be released"))
    elif len(release) == 1 and release.groups is None:
        found += _one(release)
    else:
        found += table_lines(release, most)
    found += _privacy(release, details=details)
    found += [_line("note", note.text) for note in notes if note.kind == "note"]
    if release.receipt is not None:
        paid = "{dataset}, release {release_id}, head hash {head}".format(**release.receipt)
        found.append(_line("ledger", paid))
    return [*found, *_details(release)] if details and release.means else found


def _line(label: str, words: str) -> str:
    return f"{label:<{_LABEL - 1}} {words}"


def _one(release: Released) -> list[str]:
    row = release.means[0]
    found = quote(release, row)
    label, level_of = row.label, ""
    if len(label) >= _LABEL:  # the number stands in its column: what it is more exactly, behind it
        label = label.rpartition(" ")[2]
        level_of = "" if row.level is None else f"at level {row.level:.12g}"
    more = [level_of, what_is_averaged(release) if is_usable(row) else ""]
    what = "".join(f"   {words}" for words in more if words)
    shown = [_line(label, f"{mark(release)}{found.value}{what}")]
    if found.limits is not None:
        qualifier = f"   {found.qualifier}" if found.qualifier else ""
        shown.append(_line(level(release), found.limits + qualifier))
    data = data_words(release, row)
    return [*shown, _line("data", data)] if data else shown


def what_is_averaged(release: Released) -> str:
    """Say what counts how much, where that is a question: with weights, or with persons."""
    weights = release.plan.request.weights
    if weights is not None:
        return f"weighted by {weights}"
    if release.plan.adjacency.person is None:
        return ""
    if release.plan.request.statistic == QUANTILE:
        return "of one mean per person"
    if release.plan.request.statistic != MEAN:
        return ""
    each = release.plan.request.each
    return "average of one mean per person" if each == "person" else "per record"


def data_words(release: Released, row: Mean) -> str:
    """Return the number of records and people and the share of cells used, as far as known.

    >>> import tametail as tt
    >>> release = tt.mean([1.0, 2.0] * 5_000, epsilon=10)
    >>> data_words(release, release[0])
    'about 10,000 records; unreadable cells: none, or too few to detect'
    """
    # Sums and counts of people know how many there are, and not their records.
    people = release.plan.request.each == "person" or row.persons == row.count
    asked = [("count", "people" if people else "records"), *([] if people else [_PEOPLE])]
    counted = [words for name, what in asked if (words := _number(release, row, name, what))]
    number = " of ".join([*counted[:1], *(words.removeprefix("about ") for words in counted[1:])])
    found = [words] if (words := f"{number}{where_of(release)}".strip()) else []
    if row.share_used is not None and row.column != RECORDS:  # which counts rows, not cells
        sure = any(note.code in ("cells-used", "many-unparsed-cells") for note in row.notes)
        found.append(numbers.cells_used(row.share_used, sure=sure))
    return "; ".join(found)


def _number(release: Released, row: Mean, name: str, what: str) -> str:
    """Return a private number of a row in words; if it may be noise alone, only what is certain."""
    if getattr(row, name) is None:
        return ""
    number = shown_count(row, name, release.count_noise)
    if number is None:
        most = numbers.significant(max(getattr(row, name), 0.0) + release.count_noise, 2)
        return f"fewer than about {most} {what}"
    return f"about {numbers.counted(numbers.significant(number), what)}"


def _privacy(release: Released, *, details: bool) -> list[str]:
    guarantee = release.guarantee
    together = "" if release.groups is None else " for all groups together"
    found = [_line("privacy", f"{guarantee.short}{together}, {guarantee.protects.change}")]
    if details and guarantee.implied:
        found.append(_line("", f"implies {guarantee.implied}"))
    return [*found, _line("odds", odds(guarantee))]


def _details(release: Released) -> list[str]:
    """Return clipping bounds, the other interval and the parts of the error, row by row."""
    single = len(release) == 1 and release.groups is None
    found = ["", "Details"]
    for row in release:
        pairs = details_of(release, row)
        if not single:
            pairs = pairs[:-1]
            found += [f"  {name_of(release, row)}"] * bool(pairs)
        found += [f"  {name:<18} {words}" for name, words in pairs]
    if not single:
        found.append(f"  {'method':<18} {release.method}")
    return found


def table_lines(release: Released, most: int | None = None) -> list[str]:
    """Return the rows as a table of plain text; the first of them, if there are more than most."""
    shown = table_of(release)
    rows = [row.cells for row in shown.rows[:most]]
    remarks = ["", *(row.remark for row in shown.rows[:most])]
    found = [f"{mark(release)}{len(release)} {plural(release)}"] if release.fake else []
    found += _aligned([shown.head, *rows], remarks)
    if len(release) > len(rows):
        found.append(f"... {len(release) - len(rows)} more rows: use to_frame()")
    found += ["", *([shown.caption] if shown.caption else [])]
    return [*found, *(f"{letter}  {words}" for letter, words in shown.footnotes)]


def _aligned(table: Sequence[tuple[str, ...]], remarks: Sequence[str]) -> list[str]:
    """Return a table in columns: names on the left, numbers on the right, a word behind."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    found = []
    for (name, *others), remark in zip(table, remarks, strict=True):
        right = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        found.append("   ".join([name.ljust(widths[0]), *right, remark]).rstrip())
    return found
