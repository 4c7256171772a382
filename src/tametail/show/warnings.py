"""Which notes are shown: warnings first, one for one cause, with the rows that they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tametail.means import Mean
from tametail.notes import HELPS, Note
from tametail.released import Released
from tametail.show.rows import is_usable, name_of, value_of

#: Notes with one cause, too few records for the budget: the first of them that is there is shown.
_TOO_FEW = ("few-records", "no-signal", "unbounded-interval", "median")

#: If a smaller share of the cells are numbers, that is the cause of all that follows.
_MOST_UNREAD = 0.5

#: So many rows are named beside a note.
_MOST_NAMES = 6


class ShownNote(NamedTuple):
    """A note as it is shown."""

    kind: str
    """"warning" or "note"."""
    text: str


def notes_shown(release: Released) -> list[ShownNote]:
    """Return the notes to show, warnings first; a row that shares none of them is not named."""
    if len(release) == 1 and release.groups is None:
        row = release.means[0]
        found = [(note, "") for note in one_per_cause(release.notes, row.share_used)]
        shown = [_shown(note, names) for note, names in found]
        has_cells = row.share_used is None or row.share_used >= _MOST_UNREAD
        if not is_usable(row) and has_cells and any(note.code == "median" for note in row.notes):
            shown.append(ShownNote("note", _only_a_median(row)))
    else:
        shown = [_shown(note, "") for note in one_per_cause(release.shared_notes)]
        shown += [_shown(note, names) for note, names in _of_rows(release)]
    return sorted(dict.fromkeys(shown), key=lambda one: one.kind != "warning")


def one_per_cause(notes: Sequence[Note], used: float | None = None) -> list[Note]:
    """Return one warning for one cause; advice that follows a warning is added to its text.

    Where most cells are not numbers, that there are few records follows; ``used`` is their share.

    >>> few = Note("warning", "few-records", "n x epsilon is below 500.")
    >>> hint = Note("info", "few-records", "It helps to state within=.")
    >>> median = Note("warning", "median", "This is a private median.")
    >>> [note.text for note in one_per_cause([median, few, hint])]
    ['n x epsilon is below 500. It helps to state within=.']
    """
    present = {note.code for note in notes if note.kind == "warning"}
    first = next((code for code in _TOO_FEW if code in present), None)
    unread = used is not None and used < _MOST_UNREAD and "many-unparsed-cells" in present
    found: list[Note] = []
    for note in notes:
        if note.code in _TOO_FEW and (unread or (note.kind == "warning" and note.code != first)):
            continue
        earlier = found[-1] if found else None
        if earlier is not None and earlier.code == note.code and note.text.startswith(HELPS):
            found[-1] = Note(earlier.kind, note.code, f"{earlier.text} {note.text}")
        elif note not in found:
            found.append(note)
    return found


def _of_rows(release: Released) -> Iterator[tuple[Note, str]]:
    """Yield the notes of rows, each once, with the names of the rows that have it."""
    about: dict[Note, list[str]] = {}
    for row in release:
        for note in one_per_cause(row.notes, row.share_used):
            if note not in release.shared_notes:
                about.setdefault(note, []).append(name_of(release, row))
    for note, names in about.items():
        yield note, "" if len(names) == len(release) else _named(names)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _shown(note: Note, names: str) -> ShownNote:
    kind = "warning" if note.kind == "warning" else "note"
    return ShownNote(kind, f"{names}: {note}" if names else str(note))


def _only_a_median(row: Mean) -> str:
    return f"The only estimate is a private median: {value_of(row)}. It may be far from the mean."
