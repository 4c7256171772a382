"""Columns of CSV files: every block is parsed once, for all columns that are wanted.

Opening a table reads the first row of each file, which names the columns.
"""

from __future__ import annotations

import copy
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tametail._shown import shown_path
from tametail.engines.cells import Floats
from tametail.engines.tables import Tell, cut
from tametail.engines.tables.blocks import blocks, decompressed, open_bytes, to_utf8
from tametail.engines.tables.files import UNREADABLE, check_alone, ending, guarded, unreadable
from tametail.engines.tables.frames import Names, pick_column
from tametail.engines.tables.memory import most_frequent, side_by_side
from tametail.engines.text import PLAIN, text_to_floats, text_to_number
from tametail.errors import DataError
from tametail.parse import Parse

#: Rows of a file without names that are looked at to know how many columns most of them have.
_ROWS_FOR_WIDTH = 1000

#: Cells that are kept once they are parsed: 64 MB.
_KEPT_CELLS = 1 << 23

#: What a cell may hold beside what counts, and where a row ends.
_QUOTED, _LINE_END = re.compile(rb'"[^"]*"'), re.compile(rb"\r\n?|\n")

#: The same words whatever is in the row, which may be a record.
_UNNAMED = (
    "the first row does not look like names (a cell is empty, repeated or a number, or holds what "
    "may be a delimiter), so it is not shown. Write parse=Parse(header=False) if it is a record, "
    "parse=Parse(header=True) if it has the names, and parse=Parse(delimiter=';') if semicolons "
    "stand between cells."
)


class _Header(NamedTuple):
    names: list[str]
    rows: int  # that are no records: the names, and empty lines before them


class _Kept:
    """The numbers of columns of a small file, so that their text is parsed once."""

    def __init__(self) -> None:
        self.room = _KEPT_CELLS
        self._columns: dict[int, list[Floats]] = {}

    def find(self, positions: list[int]) -> Iterator[list[Floats]] | None:
        """Return the blocks of these columns; None if one of them is not kept."""
        if not all(position in self._columns for position in positions):
            return None
        kept = (self._columns[position] for position in positions)
        return (list(block) for block in zip(*kept, strict=True))

    def keep(self, positions: list[int], blocks: list[list[Floats]], room: int) -> None:
        """Keep what a whole pass has read."""
        self.room = room
        for index, position in enumerate(positions):
            self._columns[position] = [columns[index] for columns in blocks]


class CsvTable:
    """Columns of CSV files that all have the same header."""

    def __init__(
        self, files: list[Path], wanted: Sequence[str | None], parse: Parse | None
    ) -> None:
        self._files, self._parse = files, parse or PLAIN
        headers = [self._header(path) for path in files]
        names = headers[0].names
        known = self._known(files[0], names)
        chosen = [pick_column(known, name) for name in wanted]
        for path, header in zip(files, headers, strict=True):
            if header.names != names:
                raise DataError(
                    f"{shown_path(path)} has other columns than {shown_path(files[0])}: give all "
                    "files one header."
                )
        for name in chosen:
            check_alone(names, name)
        self.columns = tuple(chosen)
        self.in_place = False
        self._kind = pa.string()  # of cells as they are parsed
        self._positions = [names.index(name) for name in chosen]
        self._width = len(names)
        self._header_rows = [header.rows for header in headers]
        self._bytes = [path.stat().st_size for path in files]
        self._rows: int | None = None
        self._kept = _Kept()  # shared with the tables of single columns

    def rows(self) -> int:
        """Return the number of rows, by a pass over the files."""
        if self._rows is None:
            self._rows = sum(len(columns[0]) for columns in self._columns(lambda _: None))
        return self._rows

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield rows of all files in the order of their names."""
        return cut(self._blocks(most, tell), start, stop)

    def column(self, index: int) -> CsvTable:
        """Return the table of one column."""
        one = copy.copy(self)
        one.columns, one._positions = (self.columns[index],), [self._positions[index]]
        return one

    def _blocks(self, most: int, tell: Tell) -> Iterator[Floats]:
        for columns in self._columns(tell):
            for start in range(0, len(columns[0]), most):
                yield side_by_side([column[start : start + most] for column in columns])

    def _columns(self, tell: Tell) -> Iterator[list[Floats]]:
        """Yield the numbers of every column in the next rows, and keep those of a small file."""
        kept = self._kept.find(self._positions)
        if kept is not None:
            yield from kept
            return
        fresh, room = [], self._kept.room
        for cells in self._parsed(tell):
            columns = [text_to_floats(text, self._parse) for text in cells.columns]
            room -= len(columns) * len(columns[0])
            if room >= 0:
                fresh.append(columns)
            else:
                fresh.clear()
            yield columns
        if room >= 0:
            self._kept.keep(self._positions, fresh, room)

    def raw_cells(self, tell: Tell) -> Iterator[pa.RecordBatch]:
        """Yield the cells of the next rows as the bytes that were written, in UTF-8."""
        exact = copy.copy(self)
        exact._kind = pa.binary()
        return exact._parsed(tell)

    @classmethod
    def names(cls, files: list[Path], parse: Parse | None) -> Names:
        """Return the names in the header of the first file."""
        table = cls.__new__(cls)
        table._parse = parse or PLAIN
        return table._known(files[0], table._header(files[0]).names)

    def _known(self, path: Path, names: list[str]) -> Names:
        """Return the names, and what stands for them in messages if they may be a record."""
        known = Names(names)
        if self._parse.header is None and not _are_names(names, self._delimiter(path)):
            known.unnamed = _UNNAMED
        return known

    def _parsed(self, tell: Tell) -> Iterator[pa.RecordBatch]:
        """Yield the cells of the next rows as text."""
        before, total = 0, sum(self._bytes)
        for path, header_rows, size in zip(
            self._files, self._header_rows, self._bytes, strict=True
        ):
            with open_bytes(path) as file:
                stream = self._cells(path, file, header_rows)
                for cells in guarded(stream, path, "CSV"):
                    yield cells
                    tell(min((before + file.tell()) / max(total, 1), 1.0))
            before += size

    def _cells(self, path: Path, file: pa.NativeFile, header_rows: int) -> Iterator[pa.RecordBatch]:
        for block in blocks(decompressed(path, file), self._parse, exact=self._kind != pa.string()):
            yield self._parse_block(block, self._delimiter(path), header_rows)
            header_rows = 0

    def _parse_block(self, block: bytes, delimiter: str, header_rows: int) -> pa.RecordBatch:
        """Return the columns' cells as text; a row with too few or too many cells is missing.

        Such a row, like an empty line, keeps its place: what one record looks like must change
        neither the number of rows nor the position of any other.
        """
        from pyarrow import csv as arrow_csv

        # Columns go by position: the header has been read, and is skipped here.
        names = [str(position) for position in range(self._width)]
        wanted = [names[position] for position in self._positions]
        malformed: list[int] = []

        def note(row: arrow_csv.InvalidRow) -> str:
            malformed.append(row.number - 1 - header_rows)
            return "skip"

        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                block_size=len(block),
                column_names=names,
                skip_rows_after_names=header_rows,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=note,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(wanted, self._kind)
            ),
        )
        (batch,) = table.combine_chunks().to_batches() or [_no_rows(table.schema)]
        return _with_gaps(batch, malformed)

    def _delimiter(self, path: Path) -> str:
        is_tabbed = ending(path).startswith(".tsv") or self._parse.format == "tsv"
        return self._parse.delimiter or ("\t" if is_tabbed else ",")

    def _header(self, path: Path) -> _Header:
        """Return the names in the first row that is not empty, and the rows before the records.

        Without names, columns are numbered, as many as most of the first rows have.
        """
        try:
            with open_bytes(path) as file:
                stream = decompressed(path, file)
                if self._parse.header is False:
                    widths = Counter(islice(self._widths(path, stream), _ROWS_FOR_WIDTH))
                    if widths:
                        return _Header([*map(str, range(most_frequent(widths)))], 0)
                else:
                    for count, names in enumerate(self._read_names(path, stream), start=1):
                        if names:
                            return _Header(names, count)
        except UNREADABLE:
            raise unreadable(path, "CSV") from None
        raise DataError(
            f"{shown_path(path)} is empty: a CSV file begins with the names of its columns."
        )

    def _read_names(self, path: Path, stream: pa.NativeFile) -> Iterator[list[str]]:
        text = io.TextIOWrapper(
            stream,
            encoding=to_utf8.get(self._parse.encoding, self._parse.encoding),
            errors="replace",
            newline="",
        )
        return csv.reader(text, delimiter=self._delimiter(path))

    def _widths(self, path: Path, stream: pa.NativeFile) -> Iterator[int]:
        """Yield how many cells each row has, but for empty ones.

        These rows are records, and Python's reader would stop at one with a long cell.
        """
        delimiter = self._delimiter(path).encode()
        for block in blocks(stream, self._parse, exact=True):
            for row in _LINE_END.split(_QUOTED.sub(b"_", block)):
                if row:
                    yield row.count(delimiter) + 1


def _are_names(cells: list[str], delimiter: str) -> bool:
    """Say whether cells look like names.

    None is empty, repeated, reads as a number, or holds a sign that stands between cells elsewhere.

    >>> _are_names(["name", "salary"], ","), _are_names(["Smith", "184000"], ",")
    (True, False)
    >>> _are_names(["Smith;184000"], ",")
    False
    """
    if any(sign in cell for cell in cells for sign in ",;|\t" if sign != delimiter):
        return False
    stripped = [cell.strip() for cell in cells]
    is_repeated = len(set(stripped)) < len(stripped)
    return all(stripped) and not is_repeated and not any(map(_is_number, stripped))


def _is_number(cell: str) -> bool:
    generous = Parse(thousands=",", percent=True, accounting=True, currency="$€£")
    european = Parse(decimal=",", thousands=".", percent=True, accounting=True, currency="$€£")
    return any(not np.isnan(text_to_number(cell, each)) for each in (generous, european))


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _with_gaps(cells: pa.RecordBatch, gaps: list[int]) -> pa.RecordBatch:
    """Return the cells with a row of nulls at each of these positions of the result."""
    if not gaps:
        return cells
    is_gap = np.zeros(len(cells) + len(gaps), dtype=bool)
    is_gap[gaps] = True
    return cells.take(pa.array(np.cumsum(~is_gap) - 1, mask=is_gap))
