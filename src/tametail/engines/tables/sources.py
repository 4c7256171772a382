"""One column of Parquet or CSV files, as a stream of Arrow arrays.

Whatever goes wrong while records stream by becomes a ``DataError`` with a fixed text: the words
of the reading library may quote cells.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tametail.engines.cells import Floats, arrow_to_floats, check_arrow_type, text_to_floats
from tametail.engines.kernels import column as kernel
from tametail.engines.tables.frames import pick_column
from tametail.errors import ColumnError, DataError

_UNREADABLE = (pa.ArrowException, OSError, EOFError, csv.Error)

#: Bytes of a CSV file or of a Parquet column that are in memory at a time.
_CSV_BLOCK = 1 << 22
_PARQUET_BLOCK = 1 << 20

#: A CSV row beyond this is taken for a quote that never ends.
_LONGEST_ROW = 1 << 28

_LONE_RETURN = re.compile(rb"\r(?!\n)")

_ASCII = bytes(range(128)) + b"?" * 128


class Source(Protocol):
    """One column of several files of one kind."""

    @property
    def size(self) -> int:
        """The number of rows."""

    def batches(self) -> Iterator[tuple[float, pa.Array]]:
        """Yield the fraction done and the cells of the next rows."""

    def to_floats(self, cells: pa.Array) -> Floats:
        """Return the numbers in the cells."""


def _unreadable(path: Path, kind: str) -> DataError:
    return DataError(
        f"{str(path)!r} cannot be read as {kind}: it is truncated, corrupt or of another format; "
        "write it again."
    )


def _guarded(items: Iterable[Any], path: Path, kind: str) -> Iterator[Any]:
    """Yield the items; a failure to read becomes an error that holds nothing of the data."""
    iterator = iter(items)
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        except _UNREADABLE:
            break
        yield item
    # Raised outside of the handler, so that not even its context quotes the library.
    raise _unreadable(path, kind)


def _single(names: list[str], column: str | None) -> str:
    """Return the name of the column, which must be the only one of that name."""
    name = pick_column(names, column)
    if names.count(name) > 1:
        raise ColumnError(f"there are several columns {name!r}: rename all but one.")
    return name


class ParquetSource:
    """A column of Parquet files that all declare it alike."""

    def __init__(self, files: list[Path], column: str | None) -> None:
        self.files = files
        self.group_ends: list[list[int]] = []
        for path in files:
            with self._open(path) as file:
                schema, metadata = file.schema_arrow, file.metadata
            if path is files[0]:
                self.name = _single(schema.names, column)
                self.type = schema.field(self.name).type
                check_arrow_type(self.name, self.type)
            self._check_schema(path, schema)
            groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            self.group_ends.append(list(accumulate(groups)))

    @property
    def size(self) -> int:
        """The number of rows, from the files' own metadata."""
        return sum(ends[-1] for ends in self.group_ends if ends)

    def batches(self) -> Iterator[tuple[float, pa.Array]]:
        """Yield the fraction of row groups done and the next cells."""
        groups_before, groups = 0, sum(map(len, self.group_ends))
        for path, ends in zip(self.files, self.group_ends, strict=True):
            with self._open(path) as file:
                self._check_schema(path, file.schema_arrow)
                rows = 0
                stream = file.iter_batches(batch_size=kernel.CHUNK, columns=[self.name])
                for batch in _guarded(stream, path, "Parquet"):
                    rows += len(batch)
                    done = groups_before + bisect_right(ends, rows)
                    yield done / max(groups, 1), batch[self.name]
            groups_before += len(ends)

    def to_floats(self, cells: pa.Array) -> Floats:
        """Return the numbers in the cells."""
        return arrow_to_floats(cells)

    def _open(self, path: Path) -> Any:
        from pyarrow.parquet import ParquetFile

        try:
            # A buffer keeps memory bounded also where a file is one large row group.
            return ParquetFile(path, pre_buffer=False, buffer_size=_PARQUET_BLOCK)
        except _UNREADABLE:
            raise _unreadable(path, "Parquet") from None

    def _check_schema(self, path: Path, schema: pa.Schema) -> None:
        """Refuse a file that declares the column otherwise than the first file did."""
        if schema.names.count(self.name) != 1 or schema.field(self.name).type != self.type:
            raise DataError(
                f"{str(path)!r} does not declare column {self.name!r} as {self.type}, as "
                f"{str(self.files[0])!r} did: give all files one schema."
            )


class CsvSource:
    """A column of CSV files that all have the same header."""

    def __init__(self, files: list[Path], column: str | None) -> None:
        self.files = files
        headers = [_header(path) for path in files]
        names = headers[0][0]
        self.position = names.index(_single(names, column))
        self.width = len(names)
        self.header_rows = [rows for _, rows in headers]
        self.bytes = [path.stat().st_size for path in files]
        for path, (others, _) in zip(files, headers, strict=True):
            if others != names:
                raise DataError(
                    f"{str(path)!r} has other columns than {str(files[0])!r}: give all files one "
                    "header."
                )

    @cached_property
    def size(self) -> int:
        """The number of rows, by a pass over the files."""
        return sum(len(cells) for _, cells in self.batches())

    def batches(self) -> Iterator[tuple[float, pa.Array]]:
        """Yield the fraction of bytes done and the next cells."""
        bytes_before, total = 0, sum(self.bytes)
        for path, header_rows, size in zip(self.files, self.header_rows, self.bytes, strict=True):
            with _open_bytes(path) as file:
                for cells in _guarded(self._cells(path, file, header_rows), path, "CSV"):
                    yield min((bytes_before + file.tell()) / total, 1.0), cells
            bytes_before += size

    def to_floats(self, cells: pa.Array) -> Floats:
        """Return the numbers in the cells."""
        return text_to_floats(cells)

    def _cells(self, path: Path, file: pa.NativeFile, header_rows: int) -> Iterator[pa.Array]:
        for block in _blocks(_decompressed(path, file)):
            yield self._parse(block, _delimiter(path), header_rows)
            header_rows = 0

    def _parse(self, block: bytes, delimiter: str, header_rows: int) -> pa.Array:
        """Return the column's cells as text; a row with too few or too many cells is missing.

        Such a row, like an empty line, keeps its place: what one record looks like must change
        neither the number of rows nor the position of any other.
        """
        from pyarrow import csv as arrow_csv

        # Columns go by position: the header has been read, and is skipped here.
        names = [str(position) for position in range(self.width)]
        wanted = names[self.position]
        malformed: list[int] = []

        def note(row: Any) -> str:
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
                include_columns=[wanted],
                column_types={wanted: pa.string()},
                null_values=["", "NA", "N/A", "NULL", "null", "NaN", "nan"],
                strings_can_be_null=True,
            ),
        )
        return _with_gaps(table.column(0).combine_chunks(), malformed)


def _with_gaps(cells: pa.Array, gaps: list[int]) -> pa.Array:
    """Return the cells with a null at each of these positions of the result."""
    if not gaps:
        return cells
    is_gap = np.zeros(len(cells) + len(gaps), dtype=bool)
    is_gap[gaps] = True
    return cells.take(pa.array(np.cumsum(~is_gap) - 1, mask=is_gap))


def _delimiter(path: Path) -> str:
    return "\t" if ending(path).startswith(".tsv") else ","


def _open_bytes(path: Path) -> pa.NativeFile:
    try:
        return pa.OSFile(str(path))
    except OSError:
        raise _unreadable(path, "CSV") from None


def _decompressed(path: Path, file: pa.NativeFile) -> pa.NativeFile:
    return pa.CompressedInputStream(file, "gzip") if path.suffix.lower() == ".gz" else file


def _header(path: Path) -> tuple[list[str], int]:
    """Return the names in the first row that is not empty, and the number of rows up to it."""
    try:
        with _open_bytes(path) as file:
            text = io.TextIOWrapper(
                _decompressed(path, file), encoding="utf-8-sig", errors="replace", newline=""
            )
            for rows, names in enumerate(csv.reader(text, delimiter=_delimiter(path)), start=1):
                if names:
                    return names, rows
    except _UNREADABLE:
        raise _unreadable(path, "CSV") from None
    raise DataError(f"{str(path)!r} is empty: a CSV file begins with the names of its columns.")


def _blocks(stream: pa.NativeFile) -> Iterator[bytes]:
    """Yield the stream in blocks that end where a row ends, in ASCII.

    No number has a byte beyond ASCII, so replacing such bytes loses nothing, and then no
    encoding can stop the reader. In a file with line feeds a lone carriage return is part of a
    cell; the reader would take it for the end of a row.
    """
    ahead = stream.read(_CSV_BLOCK).removeprefix(b"\xef\xbb\xbf")
    rest, has_line_feeds = b"", False
    while ahead:
        rest += ahead.translate(_ASCII)
        end = _end_of_rows(rest)
        if end:
            has_line_feeds = True
            yield _LONE_RETURN.sub(b" ", rest[:end])
        elif len(rest) > _LONGEST_ROW:
            raise pa.ArrowInvalid("a row is too long")
        rest = rest[end:]
        ahead = stream.read(_CSV_BLOCK)
    if rest:
        last = _LONE_RETURN.sub(b" ", rest) if has_line_feeds else rest
        yield last if last.endswith(b"\n") else last + b"\n"


def _end_of_rows(block: bytes) -> int:
    """Return where the last complete row ends; 0 if none does.

    A line end with an odd number of quotes before it is inside of a quoted cell. To cut there
    would make several records of one.
    """
    end = block.rfind(b"\n") + 1
    odd = block.count(b'"', 0, end) % 2
    while odd and end:
        start = block.rfind(b"\n", 0, end - 1) + 1
        odd ^= block.count(b'"', start, end) % 2
        end = start
    return end


#: What reads a file, by the ending of its name.
SOURCES: dict[str, Callable[[list[Path], str | None], Source]] = {
    ".parquet": ParquetSource,
    ".csv": CsvSource,
    ".csv.gz": CsvSource,
    ".tsv": CsvSource,
    ".tsv.gz": CsvSource,
}


def ending(file: Path) -> str:
    """Return the ending of a file's name, with the one before '.gz'."""
    suffixes = file.name.lower().split(".")
    return "." + ".".join(suffixes[-2:] if suffixes[-1] == "gz" else suffixes[-1:])
