"""Columns of Excel workbooks (.xlsx), with the extra ``excel`` (openpyxl).

Opening one reads the first row of its sheet, which names the columns. Cells have a type of their
own each; what is no number is missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from tametail._shown import shown_path
from tametail.data.sources import Block, Tell, Wanted, names_of
from tametail.data.sources.csv import checked_names, same_names
from tametail.data.sources.files import unreadable
from tametail.data.sources.frames import UntypedSource
from tametail.data.sources.names import Names, Numbers
from tametail.errors import DataError, imported
from tametail.parse import Parse

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

Row = tuple[object, ...]
Found = TypeVar("Found")

#: Rows that are handed on at a time.
_ROWS: Final = 1 << 14


class ExcelSource(UntypedSource):
    """Columns of workbooks with one sheet each, which all have the same header.

    A row without any cell is no record: a sheet does not store it, and how many there are follows
    from where other rows stand.
    """

    is_counted = False

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        super().__init__((), parse)
        self._files = files
        headers = [_sheet(path, lambda rows: next(rows, None)) for path in files]
        self.names = same_names(list(map(self._names, files, headers)), files)

    @property
    def _has_header(self) -> bool:
        return self._parse is None or self._parse.header is not False

    def _names(self, path: Path, header: Row | None) -> Names:
        """Return the names in the first row; if they may be a record, they are not shown."""
        if not self._has_header:
            return Numbers()
        if header is None:
            raise DataError(
                f"{shown_path(path)} is empty: its first row has the names of the columns."
            )
        last = max(place for place, cell in enumerate(header) if cell is not None)
        names = Names("" if cell is None else str(cell) for cell in header[: last + 1])
        return checked_names(names, self._parse)

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, of all files in the order of their names."""
        names = names_of(wanted)
        for number, rows in enumerate(self._rows):
            for first in range(0, max(len(rows), 1), _ROWS):
                part = rows[first : first + _ROWS]
                cells = {name: _cells(part, self.names.index(name)) for name in names}
                yield self._block(wanted, cells)
            tell((number + 1) / len(self._files))

    @cached_property
    def _rows(self) -> list[list[Row]]:
        """The records of every file: a sheet has a million rows at most, and opens slowly."""
        skipped = 1 if self._has_header else 0
        return [
            _sheet(path, lambda rows: list(islice(rows, skipped, None))) for path in self._files
        ]


def _cells(rows: list[Row], place: int) -> list[object]:
    return [row[place] if place < len(row) else None for row in rows]


def _sheet(path: Path, read: Callable[[Iterator[Row]], Found]) -> Found:
    """Read the rows of the one sheet; what openpyxl warns of or raises may quote cells."""
    openpyxl = imported("openpyxl", "An Excel workbook", "excel")
    found: list[Found] = []
    sheets = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with path.open("rb") as file:
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                sheets = len(book.worksheets)
                if sheets == 1:
                    found.append(read(_rows_of(book.worksheets[0])))
        except Exception:  # noqa: S110 - raised below, without what was caught
            pass
    if sheets > 1:
        raise DataError(
            f"{shown_path(path)} has several sheets: save the one that is meant in a file of its "
            "own, as .xlsx or as .csv."
        )
    if not found:
        raise unreadable(path, "an Excel workbook (.xlsx)")
    return found[0]


def _rows_of(sheet: Worksheet) -> Iterator[Row]:
    """Yield the rows that have a cell; the size that a sheet states need not be true."""
    sheet.reset_dimensions()
    rows = sheet.iter_rows(values_only=True)
    return (row for row in rows if any(cell is not None for cell in row))
