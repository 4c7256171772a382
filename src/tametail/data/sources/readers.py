"""What can be read once, readers of Arrow's batches and streams of bytes: each is copied to a file.

Nothing is read before it is asked for, which is after a ledger has been charged.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, TypeGuard

import pyarrow as pa

from tametail._shown import shown
from tametail.data.sources import Block, Source, Tell, Wanted
from tametail.data.sources.arrow import ArrowColumns, ArrowSource
from tametail.data.sources.names import AnyName, pick_column
from tametail.errors import DataError, ParameterError
from tametail.parse import Parse


class ReaderSource(ArrowColumns):
    """Columns of a ``RecordBatchReader``: copied to a file that has no name when first asked for.

    That is after a ledger has been charged. All memory that it takes is one batch.
    """

    def __init__(self, reader: pa.RecordBatchReader, parse: Parse | None) -> None:
        self._reader = reader
        super().__init__(reader.schema, parse)

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, of the copy."""
        return self._source.blocks(wanted, tell)

    @cached_property
    def _source(self) -> ArrowSource:
        path = _copied(
            self,
            self._write,
            "The record batches cannot be read to their end. A reader can be read once: pass a "
            "fresh one, or a table.",
        )
        return ArrowSource([path], self._parse)

    def _write(self, copy: IO[bytes]) -> None:
        # In a stream every batch may have dictionaries of its own. Those of a file must be the same
        # in all batches, and whether they are depends on records.
        with pa.ipc.new_stream(pa.PythonFile(copy, "w"), self.schema) as writer:
            for batch in self._reader:
                writer.write_batch(batch)


def _copied(owner: object, write: Callable[[IO[bytes]], None], reason: str) -> Path:
    """Return where a copy can be read that has no name, and is gone when its owner is."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the owner is there
    weakref.finalize(owner, copy.close)
    is_copied = False
    with suppress(Exception):  # what is copied may be anybody's, and its errors may quote records
        write(copy)
        copy.flush()
        is_copied = True
    if not is_copied:  # raised outside of the handler, without what its error says
        raise DataError(reason)
    return Path(f"/proc/self/fd/{copy.fileno()}")


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


class StreamSource(Source):
    """Columns of a stream that can be read once: it is copied to a file that has no name.

    Its format is what the caller says; names and types are known only when it is read.
    """

    def __init__(
        self, stream: IO[bytes], parse: Parse, opened: Callable[[Path, Parse], Source]
    ) -> None:
        self._stream, self._parse, self._opened = stream, parse, opened
        self.names = AnyName()
        self.is_counted = parse.format != "xlsx"  # what else there is counts every record

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:  # noqa: ARG002 - a source's verb
        """Return None: nothing has been read yet."""
        return None

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, of the copy, after a block without any: it has types if no other does."""
        source = self._source
        for name, _ in wanted:
            pick_column(source.names, name)
        nothing = source.empty(wanted)  # declared types that cannot be meant are refused
        if nothing is not None:
            yield nothing
        yield from source.blocks(wanted, tell)

    @cached_property
    def _source(self) -> Source:
        path = _copied(
            self,
            lambda copy: shutil.copyfileobj(self._stream, copy),
            "The stream cannot be read to its end. Write it to a file, and pass that.",
        )
        return self._opened(path, self._parse)


def is_stream(data: object) -> TypeGuard[IO[bytes]]:
    """Say whether data are a stream of bytes; one of text is refused."""
    if isinstance(data, io.TextIOBase):
        raise ParameterError(
            "The file is open in text mode. Pass its path, or open it with open(path, 'rb')."
        )
    is_file = isinstance(data, io.IOBase) or (
        hasattr(data, "read") and hasattr(data, "readable") and not hasattr(data, "__array__")
    )
    if is_file and not os.path.exists("/proc/self/fd"):
        raise ParameterError(
            "Streams are supported on Linux only. Write the data to a file, and pass its path."
        )
    return is_file


def path_of(stream: IO[bytes]) -> str | None:
    """Return the path of the file that a stream reads; None for a pipe, a socket or bytes."""
    with suppress(Exception):  # whatever a stream of somebody else's may raise
        number = stream.fileno()
        path = os.readlink(f"/proc/self/fd/{number}")
        if os.path.isfile(path) and os.path.samestat(os.stat(path), os.fstat(number)):
            return path
    return None


def check_place(data: object) -> None:
    """Refuse a file of Arrow's, for a ledger: it may be one on disk, and does not tell which."""
    memory = isinstance(data, pa.BufferReader)
    if isinstance(data, pa.NativeFile) and not memory and path_of(data) is None:
        raise ParameterError(
            "With a ledger, a file that pyarrow opened is not available: it does not tell where it "
            "lies. Pass the path, open(path, 'rb'), or a pyarrow dataset. No budget was spent."
        )


def format_of(parse: Parse | None) -> str:
    """Return what a stream holds, which the caller must say."""
    if parse is None or parse.format is None:
        raise ParameterError(
            f"Unknown format of the stream. Use parse=Parse(format={shown('csv')})."
        )
    return parse.format
