"""Columns of CSV files: every block is parsed once, for all columns that are wanted.

Opening a source reads the first row of each file, which names the columns. Without names columns
have numbers, and nothing is read.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tametail._shown import shown_path
from tametail.data.cells import Floats
from tametail.data.sources import Block, Cells, Role, Source, Tell, Wanted, names_of
from tametail.data.sources.arrays import most_frequent
from tametail.data.sources.blocks import (
    blocks,
    count_cells,
    decompressed,
    open_bytes,
    rows_apart,
    split_cells,
    split_rows,
    text_for_numbers,
)
from tametail.data.sources.files import ending, guarded
from tametail.data.sources.names import Names, Numbers, pick_column
from tametail.data.text import PLAIN, text_to_floats, text_to_number
from tametail.errors import DataError
from tametail.parse import Parse

#: Rows of a block whose cells are counted, to choose the way that is fast for most of them.
_ROWS_FOR_WIDTH = 64

#: Cells that are kept once they are parsed: 64 MB.
_KEPT_CELLS = 1 << 23

#: With what files in UTF-16 begin, as spreadsheets write them: no name in UTF-8 does.
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

#: With what other kinds of files begin, and what to do about them.
_NO_TEXT = {
    b"PAR1\x15": "is a Parquet file. Use parse=Parse(format='parquet').",
    b"ARROW1\x00": "is an Arrow file. Use parse=Parse(format='arrow').",
    b"PK\x03\x04": "is an Excel workbook or a ZIP archive. Use parse=Parse(format='xlsx') for the "
    "former, and unpack the latter.",
    b"\x1f\x8b": "is compressed with gzip. Pass a file whose name ends with .csv.gz, or unpack it.",
    b"(\xb5/\xfd": "is compressed with zstd. Pass a file whose name ends with .csv.zst, or unpack "
    "it.",
}

#: The same words whatever is in the row, which may be a record.
_UNNAMED = (
    "The first row does not look like column names (a cell is empty, repeated, a number, or "
    "contains a delimiter), so it is not shown: it may be a record. Use parse=Parse(header=False) "
    "if it is a record, parse=Parse(header=True) if it has the names, or "
    "parse=Parse(delimiter=';') if cells are separated by semicolons."
)


class _Header(NamedTuple):
    names: Names
    rows: int  # that are no records: the names, and empty lines before them


class _ParsedColumns:
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


class CsvSource(Source):
    """Columns of CSV files that all have the same header; text and ids are bytes as written."""

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        self._files, self._parse = files, parse or PLAIN
        headers = [self._header(path) for path in files]
        self.names = same_names([header.names for header in headers], files)
        self._width = None if isinstance(self.names, Numbers) else len(self.names)
        self._header_rows = [header.rows for header in headers]
        self._bytes = [path.stat().st_size for path in files]
        self._kept = _ParsedColumns()

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows: roles are the types of a CSV file."""
        for name, _ in wanted:
            pick_column(self.names, name)
        nothing = pa.array([], pa.binary())
        return {one: self._as_role(nothing, one[1]) for one in wanted}

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield blocks of rows, of all files in the order of their names."""
        names = names_of(wanted)
        positions = [self.names.index(name) for name in names]
        if all(role == "number" for _, role in wanted):
            for numbers in self._numbers(positions, tell):
                yield dict(zip(wanted, numbers, strict=True))
            return
        for cells in self._parsed(positions, pa.binary(), tell):
            columns = dict(zip(names, cells.columns, strict=True))
            yield {one: self._as_role(columns[one[0]], one[1]) for one in wanted}

    def _as_role(self, cells: pa.Array, role: Role) -> Cells:
        """Return numbers, or bytes; an empty cell is no text and names nobody."""
        if role == "number":
            return text_to_floats(text_for_numbers(cells, self._parse), self._parse)
        return pc.if_else(pc.equal(pc.binary_length(cells), 0), None, cells)

    def _numbers(self, positions: list[int], tell: Tell) -> Iterator[list[Floats]]:
        """Yield the numbers of every column in the next rows, and keep those of a small file."""
        kept = self._kept.find(positions)
        if kept is not None:
            yield from kept
            return
        fresh, room = [], self._kept.room
        for cells in self._parsed(positions, pa.string(), tell):
            columns = [text_to_floats(text, self._parse) for text in cells.columns]
            room -= len(columns) * len(columns[0])
            if room >= 0:
                fresh.append(columns)
            else:
                fresh.clear()
            yield columns
        if room >= 0:
            self._kept.keep(positions, fresh, room)

    def _parsed(
        self, positions: list[int], kind: pa.DataType, tell: Tell
    ) -> Iterator[pa.RecordBatch]:
        """Yield the cells of the next rows as text that may hold numbers, or as exact bytes."""
        before, total = 0, sum(self._bytes)
        for path, header_rows, size in zip(
            self._files, self._header_rows, self._bytes, strict=True
        ):
            with open_bytes(path) as file:
                wanted = _Cells(positions, kind, self._delimiter(path), self._width)
                stream = self._cells(path, file, header_rows, wanted)
                for cells in guarded(stream, path, "CSV"):
                    yield cells
                    tell(min((before + file.tell()) / max(total, 1), 1.0))
            before += size

    def _cells(
        self, path: Path, file: pa.NativeFile, header_rows: int, wanted: _Cells
    ) -> Iterator[pa.RecordBatch]:
        delimiter, exact = wanted.delimiter, wanted.kind != pa.string()
        for block in blocks(decompressed(path, file), self._parse, delimiter, exact=exact):
            skipped = list(islice(split_rows(block, delimiter), header_rows))
            header_rows -= len(skipped)
            records = block[sum(map(len, skipped)) :]
            if records:
                yield wanted.of(records)

    def _delimiter(self, path: Path) -> str:
        is_tabbed = ending(path).startswith(".tsv") or self._parse.format == "tsv"
        return self._parse.delimiter or ("\t" if is_tabbed else ",")

    def _header(self, path: Path) -> _Header:
        """Return the names in the first row that is not empty, and the rows before the records."""
        if self._parse.header is False:
            return _Header(Numbers(), 0)
        delimiter = self._delimiter(path)
        with open_bytes(path) as file:
            rows = guarded(self._first_rows(path, file), path, "CSV")
            for count, row in enumerate(rows, start=1):
                if self._parse.encoding == "utf-8":
                    _refuse_no_text(path, row)
                if row.strip(b"\r\n"):
                    cells = split_cells(row, delimiter)
                    names = Names(cell.decode("utf-8", "replace") for cell in cells)
                    return _Header(checked_names(names, self._parse, delimiter), count)
        raise DataError(
            f"{shown_path(path)} is empty. A CSV file starts with the names of its columns."
        )

    def _first_rows(self, path: Path, file: pa.NativeFile) -> Iterator[bytes]:
        delimiter = self._delimiter(path)
        for block in blocks(decompressed(path, file), self._parse, delimiter, exact=True):
            yield from split_rows(block, delimiter)


def _refuse_no_text(path: Path, row: bytes) -> None:
    """Refuse what is no text in UTF-8, by its first bytes: names do not begin like that."""
    if row.startswith(_MARKS):
        size = 32 if row.startswith(codecs.BOM_UTF32_LE) else 16
        raise DataError(
            f"{shown_path(path)} has a UTF-{size} byte order mark. Use "
            f"parse=Parse(encoding='utf-{size}')."
        )
    for begin, advice in _NO_TEXT.items():
        if row.startswith(begin):
            raise DataError(f"{shown_path(path)} {advice}")


class _Cells(NamedTuple):
    """Which cells of rows are wanted, and how they are found."""

    positions: list[int]
    kind: pa.DataType
    delimiter: str
    width: int | None
    """How many cells a row has; None where columns have no names and any number is right."""

    def of(self, block: bytes) -> pa.RecordBatch:
        """Return the columns' cells as text.

        A row with other than the right number of cells keeps its place, and so does an empty line:
        what one record looks like must change neither the number of rows nor what any other is.
        """
        width = self.width or self._usual_width(block)
        found, unusual = _read(block, self.delimiter, width, self.positions, self.kind)
        if not unusual:
            return found
        if self.width is None:
            others = self._at_positions(block, unusual)
        else:  # its cells are missing
            others = [[None] * len(unusual)] * len(self.positions)
        arrays = [pa.array(cells, self.kind) for cells in others]
        return _with_rows(found, pa.record_batch(arrays, schema=found.schema), unusual)

    def _usual_width(self, block: bytes) -> int:
        """Return how many cells most of the first rows have, where any number is right."""
        first = islice(split_rows(block, self.delimiter), _ROWS_FOR_WIDTH)
        widths = Counter(count_cells(row, self.delimiter) for row in first)
        return max(most_frequent(widths), *(position + 1 for position in self.positions))

    def _at_positions(self, block: bytes, places: list[int]) -> list[list[bytes | None]]:
        """Return the cells of some rows, column by column; None where a row is too short."""
        rows = list(split_rows(block, self.delimiter))
        cells = [split_cells(rows[place], self.delimiter) for place in places]
        return [
            [row[position] if position < len(row) else None for row in cells]
            for position in self.positions
        ]


def _read(
    block: bytes, delimiter: str, width: int, positions: list[int], kind: pa.DataType
) -> tuple[pa.RecordBatch, list[int]]:
    """Return the cells of rows of this width, and the places of all other rows."""
    from pyarrow import csv as arrow_csv

    names = [str(position) for position in range(width)]
    wanted = [names[position] for position in positions]
    nothing = pa.record_batch([pa.array([], kind) for _ in wanted], names=wanted)
    others: list[int] = []
    if not _is_utf8(block):  # the reader would fail to decode a row of another width
        block, others = rows_apart(block, delimiter, width)
        if not block:
            return nothing, others

    def note(row: arrow_csv.InvalidRow) -> str:
        others.append(row.number - 1)
        return "skip"

    # The reader leaves out a byte order mark at the beginning of what it is given. Here that is a
    # row like any other, and the mark a part of it: one more is put before it.
    if block.startswith(codecs.BOM_UTF8):
        block = codecs.BOM_UTF8 + block
    table = arrow_csv.read_csv(
        pa.BufferReader(block),
        read_options=arrow_csv.ReadOptions(
            use_threads=False, block_size=len(block), column_names=names
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            ignore_empty_lines=False,
            invalid_row_handler=note,
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, kind)
        ),
    )
    (batch,) = table.combine_chunks().to_batches() or [nothing]
    return batch, others


def _is_utf8(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def same_names(names: Sequence[Names], files: Sequence[Path]) -> Names:
    """Return the names of the columns of all files, or refuse files that differ in them."""
    for path, own in zip(files, names, strict=True):
        if own != names[0]:
            raise DataError(
                f"{shown_path(path)} and {shown_path(files[0])} have different columns. Use "
                "files with the same header."
            )
    return names[0]


def checked_names(names: Names, parse: Parse | None, delimiter: str = ",") -> Names:
    """Return names; if they may be a record, they say what stands for them in messages."""
    if (parse is None or parse.header is None) and not are_names(names, delimiter):
        names.unnamed = _UNNAMED
    return names


def are_names(cells: Sequence[str], delimiter: str) -> bool:
    """Say whether cells look like names.

    None is empty, repeated, reads as a number, or holds a sign that stands between cells elsewhere.

    >>> are_names(["name", "salary"], ","), are_names(["Smith", "184000"], ",")
    (True, False)
    >>> are_names(["Smith;184000"], ",")
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


def _with_rows(cells: pa.RecordBatch, others: pa.RecordBatch, places: list[int]) -> pa.RecordBatch:
    """Return the cells with other rows among them, each at its place in the result."""
    is_other = np.zeros(len(cells) + len(others), dtype=bool)
    is_other[places] = True
    order = np.where(is_other, len(cells) + np.cumsum(is_other), np.cumsum(~is_other)) - 1
    return pa.concat_batches([cells, others]).take(pa.array(order))
