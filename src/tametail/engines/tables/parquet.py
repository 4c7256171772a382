"""Columns of Parquet files, streamed in bounded memory.

Opening a table reads names, declared types and sizes of files, no record.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tametail._shown import shown_path
from tametail.engines.cells import Floats, arrow_to_floats, check_arrow_type
from tametail.engines.tables import CONVERTED, DECODED, Tell, cut
from tametail.engines.tables.files import UNREADABLE, check_alone, guarded, unreadable
from tametail.engines.tables.frames import pick_column
from tametail.engines.tables.memory import side_by_side
from tametail.engines.text import arrow_text_to_floats
from tametail.errors import DataError
from tametail.parse import Parse

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

#: Bytes of a column that are read at a time: they are still in the cache when they are decoded.
_BLOCK = 1 << 16

#: Rows that are read at a time of several columns.
_WIDE_ROWS = 1 << 13


class ParquetTable:
    """Columns of Parquet files that all declare them alike."""

    def __init__(
        self, files: list[Path], wanted: Sequence[str | None], parse: Parse | None
    ) -> None:
        self._files, self._parse = files, parse
        with open_parquet(files[0]) as file:
            schema = file.schema_arrow
        self.columns = tuple(pick_column(schema.names, name) for name in wanted)
        for name in self.columns:
            check_alone(schema.names, name)
        self._types = {name: schema.field(name).type for name in self.columns}
        self._are_text = {
            name: check_arrow_type(name, kind, text=parse is not None)
            for name, kind in self._types.items()
        }
        self.in_place = False
        self._rows = [self._measure(path) for path in files]

    def rows(self) -> int:
        """Return the number of rows, from the files' own metadata."""
        return sum(self._rows)

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield rows of all files in the order of their names."""
        return cut(self._blocks(most, tell), start, stop)

    def column(self, index: int) -> ParquetTable:
        """Return the table of one column."""
        one = copy.copy(self)
        one.columns = (self.columns[index],)
        return one

    def _blocks(self, most: int, tell: Tell) -> Iterator[Floats]:
        size = min(most, self._rows_at_once())
        total, rows = max(self.rows(), 1), 0
        for path in self._files:
            names, several = list(self.columns), len(self.columns) > 1
            with nullcontext() if several else memory_kept():
                opened = open_parquet(path)
            with opened as file:
                self._check_schema(path, file.schema_arrow)
                # Threads decode several columns at once; one they would only hand on.
                stream = file.iter_batches(batch_size=size, columns=names, use_threads=several)
                for batch in guarded(stream, path, "Parquet"):
                    yield side_by_side([self._numbers(batch, name) for name in self.columns])
                    rows += len(batch)
                    tell(rows / total)

    def _rows_at_once(self) -> int:
        if len(self.columns) > 1:
            return _WIDE_ROWS
        return CONVERTED if self._are_text[self.columns[0]] else DECODED  # text may be long

    def _numbers(self, batch: pa.RecordBatch, name: str) -> Floats:
        if self._parse is not None and self._are_text[name]:
            return arrow_text_to_floats(batch[name], self._parse)
        return arrow_to_floats(batch[name])

    def _measure(self, path: Path) -> int:
        with open_parquet(path) as file:
            self._check_schema(path, file.schema_arrow)
            return int(file.metadata.num_rows)

    def _check_schema(self, path: Path, schema: pa.Schema) -> None:
        types = {name: self._types[name] for name in self.columns}
        self.check_schema(path, schema, types, self._files)

    @staticmethod
    def check_schema(
        path: Path, schema: pa.Schema, types: dict[str, pa.DataType], files: list[Path]
    ) -> None:
        """Refuse a file that declares a column otherwise than the first file did."""
        for name, kind in types.items():
            if schema.names.count(name) != 1 or schema.field(name).type != kind:
                raise DataError(
                    f"{shown_path(path)} does not declare column {name!r} as {kind}, as "
                    f"{shown_path(files[0])} did: give all files one schema."
                )


def open_parquet(path: Path) -> ParquetFile:
    """Open a file, or say that it cannot be read."""
    from pyarrow.parquet import ParquetFile

    try:
        # A buffer keeps memory bounded also where a file is one large row group. A page that is
        # not what was written would be read as other records.
        return ParquetFile(
            path, pre_buffer=False, buffer_size=_BLOCK, page_checksum_verification=True
        )
    except UNREADABLE:
        raise unreadable(path, "Parquet") from None


@contextmanager
def memory_kept() -> Iterator[None]:
    """Let files that are opened here take their memory where a block is given out again at once.

    Arrow's usual pool, mimalloc, gives blocks of a megabyte back to the system, and new ones have
    to be cleared: a sixth of what decoding costs. A file keeps the pool that it finds when it is
    opened, and there is no argument for it; so the pool of the process is another one for a moment.
    Threads may do so at once: none of them puts back what another one has put there. What is kept
    is a few megabytes of one column; persons, who may need all memory there is, do without.
    """
    before = pa.default_memory_pool()
    if before.backend_name != "mimalloc" or "jemalloc" not in pa.supported_memory_backends():
        yield
        return
    pa.set_memory_pool(pa.jemalloc_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)
