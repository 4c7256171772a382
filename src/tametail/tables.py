"""Means as a table: the row of a group, and the columns of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from tametail._shown import shown
from tametail.grouping import Groups
from tametail.keys import Label
from tametail.means import Mean
from tametail.notes import Note
from tametail.statistic import SUM

#: What a frame of the rows has for columns.
_CELLS = ("low", "high", "interval_target", "assumption_contradicted")

#: Libraries of frames, and what makes one of them out of columns.
_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}

Cells = dict[str, list[object]]
"""The columns of a frame, by name."""


#: So many groups are named in a message.
_FEW = 8


def row_of(means: Sequence[Mean], key: object, *, by_group: bool) -> Mean:
    """Return the row of a group, of a group and a column, of a column, or of a statistic."""
    if by_group:
        return _row_of_group(means, key)
    if isinstance(key, int):
        return means[key]
    labels, columns = [row.label for row in means], [row.column for row in means]
    names = labels if len(set(labels)) > 1 else columns
    if key in names:
        return means[names.index(str(key))]
    raise KeyError(f"No row {shown(key)}. Rows: {names}.")


def _row_of_group(means: Sequence[Mean], key: object) -> Mean:
    for label, column in ((key, None), _group_and_column(key)):
        cells = label if isinstance(label, tuple) else (label,)
        found = [
            row
            for row in means
            if _same(row.group, cells) and column in (None, row.column, row.label)
        ]
        if len(found) == 1:
            return found[0]
    if len(found) > 1:
        several = dict.fromkeys((row.label if _differ(found) else row.column) for row in found)
        raise KeyError(
            f"Several rows of group {shown(key)}: {', '.join(several)}. Name one, too, as in "
            f"release[{shown(key)}, {shown(next(iter(several)))}]."
        )
    labels = list(dict.fromkeys(row.group for row in means))
    few = f"{', '.join(map(repr, labels[:_FEW]))}{', ...' * (len(labels) > _FEW)}"
    raise KeyError(
        f"No single row {shown(key)}. Groups: {few}. Use release[group], or release[group, column] "
        "with several columns. Rows by position are in release.means."
    )


def _differ(rows: Sequence[Mean]) -> bool:
    return len({row.label for row in rows}) > 1


def _group_and_column(key: object) -> tuple[object, object]:
    """Read a key as group and column, if it is both."""
    if not isinstance(key, tuple) or len(key) < 2:
        return key, None
    *group, column = key
    return group[0] if len(group) == 1 else tuple(group), column


def _same(label: Label | None, cells: tuple[object, ...]) -> bool:
    """Say whether a label is these cells; the name of all other rows stands for all its cells."""
    own = label if isinstance(label, tuple) else (label,)
    if len(cells) == 1 and len(own) > 1:
        cells = cells * len(own)
    pairs = zip(own, cells, strict=False)
    return len(own) == len(cells) and all(type(a) is type(b) and a == b for a, b in pairs)


def cells_of(
    means: Sequence[Mean],
    groups: Groups | None,
    shared: Sequence[Note],
    *,
    several: bool,
    persons: bool,
    noise: float = 0.0,
) -> Cells:
    """Return the columns of a frame of these rows, of one column or several, and of persons.

    A row has its own notes and the ``shared`` notes on all of them, since rows are read one by one.
    Numbers of persons and of what was summed are missing where they may be ``noise``.
    """
    notes: Cells = {
        "notes": ["; ".join(map(str, dict.fromkeys([*shared, *row.notes]))) for row in means]
    }
    if groups is not None:
        counts = _counts(means, noise, persons=persons)
        return _cells_of_groups(means, groups, notes, counts, several=several)
    measured = ("units",) if any(row.units for row in means) else ()
    counted = _counts(means, noise, persons=True) | _totals(means) if persons else {}
    named = _statistics(means) | _fields(means, "column", "group") | _values(means, "value")
    return named | _fields(means, *_CELLS, *measured) | counted | _fields(means, "usable") | notes


def _cells_of_groups(
    means: Sequence[Mean], groups: Groups, notes: Cells, counts: Cells, *, several: bool
) -> Cells:
    labels = [row.group if isinstance(row.group, tuple) else (row.group,) for row in means]
    cells: Cells = {
        name: [_in_frames(label[place]) for label in labels] for place, name in enumerate(groups.by)
    }
    if several:
        cells |= _fields(means, "column")
    kinds = {row.statistic for row in means} or {"mean"}
    name = kinds.pop() if len(kinds) == 1 else "value"
    cells |= _statistics(means) | {
        **_values(means, name),
        **_fields(means, "low", "high"),
        **{column: cell for column, cell in counts.items() if column != name},
        **(_totals(means) if name == "mean" else {}),
        **_fields(means, "interval_target", "usable"),
        **notes,
    }
    if groups.pooling == "mean":
        for name, own in (("shrunk", "value"), ("shrunk_low", "low"), ("shrunk_high", "high")):
            cells[name] = [getattr(row.shrunk, own, None) for row in means]
    return cells


def _values(means: Sequence[Mean], name: str) -> Cells:
    """Return the values; a value that says nothing is missing, as in all that people read."""
    return {name: [row.value if row.usable else None for row in means]}


def _counts(means: Sequence[Mean], noise: float, *, persons: bool) -> Cells:
    """Return how many there are; persons whose sums are added are not also called records."""
    names = ("count", "persons") if persons else ("count",)
    if persons and all(row.statistic == SUM for row in means):
        names = ("persons",)
    return {name: [shown_count(row, name, noise) for row in means] for name in names}


def shown_count(row: Mean, name: str, noise: float) -> float | None:
    """Return the number ``name`` of a row for people and frames; None if it may be noise alone.

    >>> few = Mean("paid", None, 7.5e6, statistic="sum", count=1.0, persons=1.0)
    >>> shown_count(few, "persons", 300.0), shown_count(few, "count", 0.0)
    (None, 1.0)
    >>> shown_count(Mean("x", None, 1.0, count=-60.0), "count", 300.0)
    0.0
    """
    number: float | None = getattr(row, name)
    if number is None:
        return None
    is_rough = name == "persons" or row.statistic == SUM  # other counts are asked for exactly
    return None if is_rough and number < noise else max(number, 0.0)


def _totals(means: Sequence[Mean]) -> Cells:
    return {"total": [row.total if row.usable else None for row in means]}


def _statistics(means: Sequence[Mean]) -> Cells:
    """Return which statistic each row is, and its level, where not all are means."""
    if all(row.statistic == "mean" for row in means):
        return {}
    leveled = any(row.level is not None for row in means)
    return _fields(means, "statistic", *(("level",) if leveled else ()))


def _fields(means: Sequence[Mean], *names: str) -> Cells:
    return {name: [getattr(row, name) for row in means] for name in names}


def _in_frames(cell: object) -> object:
    """Return a cell of a key that frames can hold: bytes that are no text are written out."""
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell


def library_of(data: object) -> str | None:
    """Return the library that the caller's frame comes from; None if there is no frame.

    >>> library_of([1.0]) is None
    True
    """
    root = type(data).__module__.partition(".")[0]
    return root if root in _FRAMES else None


def make_frame(cells: Cells, library: str | None) -> object:
    """Make a frame: of this library, else of whichever is installed."""
    usable = [library] if library else [name for name in _FRAMES if find_spec(name)]
    return getattr(import_module(usable[0]), _FRAMES[usable[0]])(cells)
