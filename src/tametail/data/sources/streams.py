"""Sources whose records wait: Arrow and JSON lines files, and streams that can be read once.

Nothing of them is read before it is asked for, which is after a ledger has been charged, but for
the schema that an Arrow file declares.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeGuard

import pyarrow as pa

from tametail._shown import shown, shown_path
from tametail.data.sources import (
    Block,
    Cells,
    Source,
    Streamed,
    Tell,
    Wanted,
    durations_of,
    names_of,
)
from tametail.data.sources.blocks import open_bytes
from tametail.data.sources.files import UNREADABLE, guarded, unreadable
from tametail.data.sources.frames import FrameSource, untyped_cells
from tametail.data.sources.names import AnyName, pick_column
from tametail.errors import DataError, ParameterError
from tametail.parse import Parse

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

#: The cells of a record of JSON, by name.
Record = dict[str, object]

#: Lines of a JSON file that are read at a time.
_LINES = 1 << 14

#: A longer line of JSON is one missing record, and its bytes are skipped.
_LONGEST_LINE = 1 << 24


class ArrowBatches(Streamed):
    """Columns that come in batches of Arrow, declared like those of a frame, read when asked."""

    def __init__(self, schema: pa.Schema, parse: Parse | None) -> None:
        self._parse = parse
        #: Names and types, as they are declared.
        self.schema = schema
        self.names = list(schema.names)

    def durations(self) -> frozenset[str]:
        """Return the columns that are declared as durations."""
        return durations_of(self.schema)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        return FrameSource(self.schema.empty_table(), self._parse).empty(wanted)

    def _blocks(
        self, batches: Iterator[pa.RecordBatch], wanted: Sequence[Wanted], most: int
    ) -> Iterator[Block]:
        """Yield one block for each batch, so that memory does not grow with their number."""
        for batch in batches:
            table = pa.Table.from_batches([batch])
            yield from FrameSource(table, self._parse).blocks(wanted, most, _tell_nobody)


class ArrowSource(ArrowBatches):
    """Columns of Arrow files (Feather is one)."""

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        self._files = files
        schemas = [_schema(path) for path in files]
        for path, schema in zip(files, schemas, strict=True):
            if not schema.equals(schemas[0]):
                raise DataError(
                    f"{shown_path(path)} and {shown_path(files[0])} have different columns. Use "
                    "files with the same schema."
                )
        super().__init__(schemas[0], parse)

    def blocks(self, wanted: Sequence[Wanted], most: int, tell: Tell) -> Iterator[Block]:
        """Yield the rows of one file after the other."""
        for number, path in enumerate(self._files):
            with _opened(path) as reader:
                yield from self._blocks(guarded(_batches(reader), path, "Arrow"), wanted, most)
            tell((number + 1) / len(self._files))


class DatasetSource(ArrowBatches):
    """Columns of a dataset of Arrow, which may be many files of any kind that Arrow reads."""

    def __init__(self, data: Dataset, parse: Parse | None) -> None:
        self._data = data
        super().__init__(data.schema, parse)

    def blocks(self, wanted: Sequence[Wanted], most: int, tell: Tell) -> Iterator[Block]:
        """Yield the rows batch by batch; what Arrow says of a failure may quote cells."""
        stream = self._data.to_batches(columns=names_of(wanted))
        yield from self._blocks(guarded(stream, Path("the dataset"), "a dataset"), wanted, most)
        tell(1.0)


class ReaderSource(ArrowBatches):
    """Columns of a ``RecordBatchReader``: copied to a file that has no name when first asked for.

    That is after a ledger has been charged. All memory that it takes is one batch.
    """

    def __init__(self, reader: pa.RecordBatchReader, parse: Parse | None) -> None:
        self._reader = reader
        super().__init__(reader.schema, parse)

    def blocks(self, wanted: Sequence[Wanted], most: int, tell: Tell) -> Iterator[Block]:
        """Yield the rows, of the copy."""
        return self._source.blocks(wanted, most, tell)

    @cached_property
    def _source(self) -> ArrowSource:
        path = _copied(
            self,
            self._write,
            "the record batches cannot be read to their end: a reader can be read once. Pass a "
            "fresh one, or a table.",
        )
        return ArrowSource([path], self._parse)

    def _write(self, copy: IO[bytes]) -> None:
        with pa.ipc.new_file(pa.PythonFile(copy, "w"), self.schema) as writer:
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
    """Say whether data are a reader of Arrow's batches."""
    if not isinstance(data, pa.RecordBatchReader):
        return False
    if not os.path.exists("/proc/self/fd"):
        raise ParameterError("readers are read on Linux: pass reader.read_all(), which is a table.")
    return True


def _tell_nobody(_: float) -> None:
    pass


def is_dataset(data: object) -> TypeGuard[Dataset]:
    """Say whether data are a dataset of Arrow."""
    kinds = type(data).__mro__
    return any(f"{kind.__module__}.{kind.__name__}" == "pyarrow._dataset.Dataset" for kind in kinds)


def _schema(path: Path) -> pa.Schema:
    with _opened(path) as reader:
        return reader.schema


def _opened(path: Path) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    """Open an Arrow file, or say that it cannot be read.

    It is not mapped into memory: whoever truncated the file would end this process.
    """
    for opened in (pa.ipc.open_file, pa.ipc.open_stream):
        with suppress(*UNREADABLE):
            return opened(pa.OSFile(str(path)))
    raise unreadable(path, "Arrow")


def _batches(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        return (reader.get_batch(place) for place in range(reader.num_record_batches))
    return iter(reader)


class JsonSource(Streamed):
    """Columns of JSON lines: an object in every line. Nothing declares them.

    A line that is no object is a missing record, and so is one too long; a name that a line lacks
    is a missing cell. Numbers are numbers; text is read as numbers if the caller says how.
    """

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        self._files, self._parse = files, parse
        self.names = AnyName()

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        return {one: untyped_cells([], one[1], self._parse) for one in wanted}

    def blocks(self, wanted: Sequence[Wanted], most: int, tell: Tell) -> Iterator[Block]:
        """Yield some records at a time."""
        del most
        total, before = sum(path.stat().st_size for path in self._files), 0
        for path in self._files:
            with open_bytes(path) as file:
                for records in self._records(path, file):
                    yield {one: self._of(records, one) for one in wanted}
                    tell(min((before + file.tell()) / max(total, 1), 1.0))
            before += path.stat().st_size

    def _records(self, path: Path, file: pa.NativeFile) -> Iterator[list[Record]]:
        stream = io.BufferedReader(file)
        while lines := _lines(path, stream):
            yield [_record(line) for line in lines]

    def _of(self, records: list[Record], one: Wanted) -> Cells:
        return untyped_cells([record.get(one[0]) for record in records], one[1], self._parse)


def _lines(path: Path, stream: io.BufferedReader) -> list[bytes]:
    """Return the next lines; an empty one stands for one that is too long."""
    found: list[bytes] = []
    try:
        while len(found) < _LINES and (line := stream.readline(_LONGEST_LINE)):
            is_whole = line.endswith(b"\n") or len(line) < _LONGEST_LINE
            found.append(line if is_whole else b"")
            while not is_whole and (rest := stream.readline(_LONGEST_LINE)):
                is_whole = rest.endswith(b"\n")
    except UNREADABLE:
        found = []
    else:
        return found
    raise unreadable(path, "JSON lines")


def _record(line: bytes) -> Record:
    """Return what a line holds by name; nothing, if it is no object."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # an integer of thousands of digits is a ValueError, too
        return {}
    return found if isinstance(found, dict) else {}


class StreamSource(Streamed):
    """Columns of a stream that can be read once: it is copied to a file that has no name.

    Its format is what the caller says; names and types are known only when it is read.
    """

    def __init__(
        self, stream: IO[bytes], parse: Parse, opened: Callable[[Path, Parse], Source]
    ) -> None:
        self._stream, self._parse, self._opened = stream, parse, opened
        self.names = AnyName()

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:  # noqa: ARG002 - a source's verb
        """Return None: nothing has been read yet."""
        return None

    def blocks(self, wanted: Sequence[Wanted], most: int, tell: Tell) -> Iterator[Block]:
        """Yield the rows, of the copy."""
        source = self._source
        for name, _ in wanted:
            pick_column(source.names, name)
        source.empty(wanted)  # declared types that cannot be meant are refused
        return source.blocks(wanted, most, tell)

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


def format_of(parse: Parse | None) -> str:
    """Return what a stream holds, which the caller must say."""
    if parse is None or parse.format is None:
        raise ParameterError(
            f"Unknown format of the stream. Use parse=Parse(format={shown('csv')})."
        )
    return parse.format
