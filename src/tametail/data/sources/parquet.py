"""Columns of Parquet files, streamed in bounded memory.

Opening a source reads names, declared types and sizes of files, no record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tametail.data.cells import is_text
from tametail.data.sources import CONVERTED, DECODED, Block, Tell, Wanted, names_of
from tametail.data.sources.arrow import ArrowSource
from tametail.data.sources.files import UNREADABLE, guarded, unreadable
from tametail.parse import Parse

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

#: Bytes of a column that are read at a time: they are still in the cache when they are decoded.
_BLOCK = 1 << 16

#: The fewest rows that are read at a time, of however many columns.
_FEWEST_ROWS = 1 << 13


class ParquetSource(ArrowSource):
    """Columns of Parquet files that all declare them alike."""

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        self._rows: dict[Path, int] = {}
        super().__init__(files, parse)

    def _schema(self, path: Path) -> pa.Schema:
        """Return what a file declares, and take note of how many rows it has."""
        with open_parquet(path) as file:
            self._rows[path] = int(file.metadata.num_rows)
            return file.schema_arrow

    def size(self) -> int | None:
        """Return the number of rows, from the files' own metadata."""
        known = [self._rows.get(path) for path in self._files]
        return None if None in known else sum(rows or 0 for rows in known)

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield blocks of rows, of all files in the order of their names."""
        names = names_of(wanted)
        several = len(names) > 1
        size = self._rows_at_once(names)
        total, rows = max(self.size() or 1, 1), 0
        for path in self._files:
            with nullcontext() if several else memory_kept():
                opened = open_parquet(path)
            with opened as file:
                self._check(file.schema_arrow, wanted, path)
                # Threads decode several columns at once; one they would only hand on.
                stream = file.iter_batches(batch_size=size, columns=names, use_threads=several)
                for block in self._blocks(guarded(stream, path, "Parquet"), wanted):
                    rows += len(next(iter(block.values())))
                    yield block
                    tell(min(rows / total, 1.0))
                    del block

    def _rows_at_once(self, names: Sequence[str]) -> int:
        if any(is_text(self.schema.field(name).type) for name in names):
            return CONVERTED  # text may be long
        return max(DECODED // max(len(names), 1), _FEWEST_ROWS)


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
