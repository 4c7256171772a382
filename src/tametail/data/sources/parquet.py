"""Columns of Parquet files, streamed in bounded memory.

Opening a source reads names, declared types and sizes of files, no record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tametail._shown import shown_path
from tametail.data.cells import is_text
from tametail.data.sources import (
    CONVERTED,
    DECODED,
    Block,
    Streamed,
    Tell,
    Wanted,
    durations_of,
    names_of,
)
from tametail.data.sources.files import UNREADABLE, guarded, unreadable
from tametail.data.sources.frames import arrow_cells
from tametail.errors import DataError
from tametail.parse import Parse

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

#: Bytes of a column that are read at a time: they are still in the cache when they are decoded.
_BLOCK = 1 << 16

#: The fewest rows that are read at a time, of however many columns.
_FEWEST_ROWS = 1 << 13


class ParquetSource(Streamed):
    """Columns of Parquet files that all declare them alike."""

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        self._files, self._parse = files, parse
        with open_parquet(files[0]) as file:
            self.schema: pa.Schema = file.schema_arrow
        self.names = list(self.schema.names)
        self._rows: int | None = None

    def durations(self) -> frozenset[str]:
        """Return the columns that are declared as durations."""
        return durations_of(self.schema)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows, and see that all files declare these columns alike."""
        types, rows = self._types(wanted), 0
        for path in self._files:
            with open_parquet(path) as file:
                self._check_schema(path, file.schema_arrow, types)
                rows += int(file.metadata.num_rows)
        self._rows = rows
        return {
            (name, role): arrow_cells(pa.nulls(0, types[name]), role, self._parse)
            for name, role in wanted
        }

    def size(self) -> int | None:
        """Return the number of rows, from the files' own metadata."""
        return self._rows

    def blocks(self, wanted: Sequence[Wanted], most: int, tell: Tell) -> Iterator[Block]:
        """Yield blocks of rows, of all files in the order of their names."""
        names, types = names_of(wanted), self._types(wanted)
        several = len(names) > 1
        size = min(most, _rows_at_once(types))
        total, rows = max(self._rows or 1, 1), 0
        for path in self._files:
            with nullcontext() if several else memory_kept():
                opened = open_parquet(path)
            with opened as file:
                self._check_schema(path, file.schema_arrow, types)
                # Threads decode several columns at once; one they would only hand on.
                stream = file.iter_batches(batch_size=size, columns=names, use_threads=several)
                for batch in guarded(stream, path, "Parquet"):
                    yield {one: arrow_cells(batch[one[0]], one[1], self._parse) for one in wanted}
                    rows += len(batch)
                    tell(min(rows / total, 1.0))
                    del batch  # its memory is for the next one, while it is in the cache

    def _types(self, wanted: Sequence[Wanted]) -> dict[str, pa.DataType]:
        return {name: self.schema.field(name).type for name in names_of(wanted)}

    def _check_schema(self, path: Path, schema: pa.Schema, types: dict[str, pa.DataType]) -> None:
        """Refuse a file that declares a column otherwise than the first file did."""
        for name, kind in types.items():
            if schema.names.count(name) != 1 or schema.field(name).type != kind:
                raise DataError(
                    f"Column {name!r} has type {kind} in {shown_path(self._files[0])}, but not in "
                    f"{shown_path(path)}. Use files with the same schema."
                )


def _rows_at_once(types: dict[str, pa.DataType]) -> int:
    if any(map(is_text, types.values())):
        return CONVERTED  # text may be long
    return max(DECODED // max(len(types), 1), _FEWEST_ROWS)


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
