"""Folders whose names are cells: ``year=2025/`` is a column of all files below, as Hive has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from tametail.data.sources import Block, Cells, Role, Source, Tell, Wanted
from tametail.data.sources.names import AnyName, Names, Numbers
from tametail.data.text import PLAIN, text_to_number
from tametail.errors import DataError
from tametail.parse import Parse

#: The folder of records that have no value.
_MISSING: Final = "__HIVE_DEFAULT_PARTITION__"

#: The cells that a file has by its folders, by name; None if missing.
Given = tuple[tuple[str, str | None], ...]

Make = Callable[[list[Path]], Source]


class FolderSource(Source):
    """Columns of files, and those that the names of their folders give.

    The cells of folders are read one by one like those of a CSV file, as text or as numbers: what
    one folder is called never changes how another one is read.
    """

    def __init__(self, files: list[tuple[Path, Given]], make: Make, parse: Parse | None) -> None:
        self.whole = make([path for path, _ in files])
        self.given = tuple(dict.fromkeys(name for _, given in files for name, _ in given))
        self._make, self._parse = make, parse or PLAIN
        runs = groupby(files, key=lambda one: one[1])
        self._runs = [(dict(given), [path for path, _ in run]) for given, run in runs]
        both = [name for name in self.given if name in list(self.whole.names)]
        if both:
            raise DataError(
                f"Column {both[0]!r} is in the files and in the names of their folders. Rename one."
            )
        self.names = _with_names(self.whole.names, self.given)
        self.is_counted = self.whole.is_counted

    def durations(self) -> frozenset[str]:
        """Return the columns that the files declare as durations."""
        return self.whole.durations()

    def size(self) -> int | None:
        """Return the number of rows, if the files know it."""
        return self.whole.size()

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        found = self.whole.empty(self._of_files(wanted))
        if found is None:
            return None
        return {one: self._repeated(None, one[1], 0) if self._is_given(one) else found[one]
                for one in wanted}  # fmt: skip

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows of all files; those below one folder share its cells."""
        own = self._of_files(wanted)
        for number, (given, files) in enumerate(self._runs):
            # Made for every pass: a source may keep what it has read, and there may be many.
            for block in self._make(files).blocks(own, lambda _: None):
                rows = len(next(iter(block.values())))
                yield {
                    one: self._repeated(given.get(one[0]), one[1], rows)
                    if self._is_given(one)
                    else block[one]
                    for one in wanted
                }
            tell((number + 1) / len(self._runs))

    def _is_given(self, one: Wanted) -> bool:
        return one[0] in self.given

    def _of_files(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        """Return what is wanted of the files: one column at least, which tells how many rows."""
        found = [one for one in wanted if not self._is_given(one)]
        names = self.whole.names
        first = "0" if isinstance(names, Numbers) else names[0] if names else ""
        return found or [(first, "id")]

    def _repeated(self, cell: str | None, role: Role, rows: int) -> Cells:
        if role == "number":
            number = np.nan if cell is None else text_to_number(cell, self._parse)
            return np.full(rows, number)
        kept = None if cell is None else cell.encode("utf-8", "surrogateescape")
        return pa.repeat(pa.scalar(kept, pa.binary()), rows)


def given_by_folders(folder: Path, files: list[Path]) -> list[tuple[Path, Given]] | None:
    """Return the files with the cells that their folders give them; None if these give none.

    A file that lies below no folder of a column has a missing cell there.
    """
    found = [(path, _given(path.relative_to(folder).parts[:-1])) for path in files]
    return found if any(given for _, given in found) else None


def _given(parts: Sequence[str]) -> Given:
    pairs = (part.partition("=") for part in parts)
    cells = [(unquote(name), unquote(cell)) for name, sign, cell in pairs if sign and name]
    return tuple((name, None if cell in ("", _MISSING) else cell) for name, cell in cells)


class _NumbersAnd(Numbers):
    """The numbers of columns that have no names, beside names that folders give."""

    given: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        return name in self.given or super().__contains__(name)


def _with_names(names: Sequence[str], given: tuple[str, ...]) -> Sequence[str]:
    """Return the names of the files' columns and these; what may be a record stays unshown."""
    if isinstance(names, Numbers):
        numbers = _NumbersAnd()
        numbers.given = given
        return numbers
    if isinstance(names, AnyName):
        return names
    if isinstance(names, Names):
        found = Names((*names, *given))
        found.unnamed = names.unnamed
        return found
    return [*names, *given]
