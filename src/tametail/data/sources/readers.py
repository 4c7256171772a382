"""A reader of Arrow's batches: declared like a frame, and read once."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

import pyarrow as pa

from tametail.data.sources import Block, Streamed, Tell, Wanted, durations_of
from tametail.data.sources.frames import FrameSource
from tametail.data.sources.streams import ArrowSource
from tametail.errors import DataError, ParameterError
from tametail.parse import Parse


class ReaderSource(Streamed):
    """Columns of a ``RecordBatchReader``: copied to a file that has no name when first asked for.

    That is after a ledger has been charged. All memory that it takes is one batch.
    """

    def __init__(self, reader: pa.RecordBatchReader, parse: Parse | None) -> None:
        self._reader, self._parse = reader, parse
        self.schema: pa.Schema = reader.schema
        self.names = list(self.schema.names)

    def durations(self) -> frozenset[str]:
        """Return the columns that are declared as durations."""
        return durations_of(self.schema)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        return FrameSource(self.schema.empty_table(), self._parse).empty(wanted)

    def blocks(self, wanted: Sequence[Wanted], most: int, tell: Tell) -> Iterator[Block]:
        """Yield the rows, of the copy."""
        return self._source.blocks(wanted, most, tell)

    @cached_property
    def _source(self) -> ArrowSource:
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the source is there
        weakref.finalize(self, copy.close)
        is_copied = False
        with suppress(Exception):  # batches may come from anywhere, and errors may quote records
            with pa.ipc.new_file(pa.PythonFile(copy, "w"), self.schema) as writer:
                for batch in self._reader:
                    writer.write_batch(batch)
            copy.flush()
            is_copied = True
        if not is_copied:  # raised outside of the handler, without what its error says
            raise DataError(
                "The record batches cannot be read to their end. A reader can be read once: pass a "
                "fresh one, or a table."
            )
        return ArrowSource([Path(f"/proc/self/fd/{copy.fileno()}")], self._parse)


def is_reader(data: object) -> TypeGuard[pa.RecordBatchReader]:
    """Say whether data are a reader of Arrow's batches; one of text is refused.

    It guesses types from the first records, and fails at the first record that differs.
    """
    if not isinstance(data, pa.RecordBatchReader):
        return False
    if type(data).__name__ == "CSVStreamingReader":
        raise ParameterError(
            "The types of a CSV reader are inferred from records. Pass the path of the file "
            "instead, or a stream, with parse=Parse(format='csv')."
        )
    if not os.path.exists("/proc/self/fd"):
        raise ParameterError(
            "Record batch readers are supported on Linux only. Pass reader.read_all(), which is a "
            "table."
        )
    return True
