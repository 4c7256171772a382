"""Columns by name: the one that is meant, or an error that says which there are."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from tametail._shown import shown
from tametail.errors import ColumnError
from tametail.expressions.tree import FUNCTIONS

#: What makes a text a computation, and no name: signs, the functions, and a test for missing.
_COMPUTES = re.compile(
    rf"[-+*/`<>=]|\b(?:{'|'.join(FUNCTIONS)})\s*\(|\bis\s+(?:not\s+)?missing\b|\bin\s*\("
)


class Names(tuple[str, ...]):
    """Names of columns that may be records; ``unnamed`` is what a message says in their place."""

    unnamed: str | None = None


class AnyName(Names):
    """The names of columns that nothing declares: whatever is asked for may be one."""

    def __contains__(self, name: object) -> bool:
        """Say whether it may be a name, and reads like no computation."""
        return isinstance(name, str) and _COMPUTES.search(name) is None


class Numbers(AnyName):
    """The numbers of columns that have no names, as text: how many there are no record tells.

    >>> "7" in Numbers(), "07" in Numbers(), "seven" in Numbers(), Numbers().index("7")
    (True, False, False, 7)
    """

    def __contains__(self, name: object) -> bool:
        """Say whether it is a number of a column."""
        return isinstance(name, str) and _NUMBER.fullmatch(name) is not None

    def index(self, name: str) -> int:  # type: ignore[override]
        """Return the place of a column."""
        return int(name)


#: No row has as many cells as this takes digits.
_NUMBER = re.compile(r"0|[1-9][0-9]{0,4}")


#: So many names are listed in a message.
_MOST_NAMES = 40


def pick_column(names: Sequence[str], column: str | None, *, computed: bool = False) -> str:
    """Return the column's name, or the only one there is; ``computed`` if it is in a formula."""
    if isinstance(names, Numbers) and column not in names:
        which = "No column is chosen" if column is None else f"No column {shown(column)}"
        raise ColumnError(
            f"{which}. The file has no column names, so its columns are called '0', '1', '2', .... "
            "Use column='0' for the first."
        )
    if isinstance(names, AnyName):
        if column is None:
            raise ColumnError("No column is chosen. Add column=....")
        return column
    unnamed = names.unnamed if isinstance(names, Names) else None
    if column is None:
        if len(names) == 1 and unnamed is None:
            return names[0]
        which = f"No column is chosen. Add column=..., one of {list(names)}."
        raise ColumnError(f"No column is chosen. {unnamed}" if unnamed else which)
    same = [name for name in names if name == str(column)]
    if len(same) > 1:
        raise ColumnError(f"Several columns are called {shown(column)}. Rename all but one.")
    if not same:
        close = difflib.get_close_matches(str(column), names, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        if computed and not close:
            hint = f"Text stands in quotes: '{column}'. "
        if isinstance(column, str) and re.match(r"\w+ *\(", column):  # the name of a call
            hint = f"Functions: {', '.join(FUNCTIONS)}. "
        hint += f"Columns: {', '.join(names[:_MOST_NAMES])}{', ...' * (len(names) > _MOST_NAMES)}."
        if any(name.startswith("(") for name in names):
            hint += " Pass a name with several levels as a list, as in column=[('a', 'x')]."
        raise ColumnError(f"No column {shown(column)}. {unnamed or hint}")
    return same[0]


def is_computed(names: Sequence[str], text: str) -> bool:
    """Say whether a text is no column and reads like a computation."""
    return text not in names and _COMPUTES.search(text) is not None
