"""Sources whose records wait: Arrow and JSON lines files, and datasets of Arrow.

Nothing of them is read before it is asked for, which is after a ledger has been charged, but for
the schema that an Arrow file declares.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import pyarrow as pa

from tametail._shown import shown_path
from tametail.data.sources import (
    Block,
    Cells,
    Streamed,
    Tell,
    Wanted,
    durations_of,
    names_of,
)
from tametail.data.sources.blocks import open_bytes
from tametail.data.sources.files import UNREADABLE, guarded, unreadable
from tametail.data.sources.frames import FrameSource, untyped_cells
from tametail.data.sources.names import AnyName
from tametail.errors import DataError
from tametail.parse import Parse

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset, FileSystemDataset, Fragment
    from pyarrow.fs import FileSystem

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
    """Columns of a dataset of Arrow: of files that declare types, or of tables.

    Of text Arrow would guess the types from the first records, and fail at the first that differs.
    """

    def __init__(self, data: Dataset, parse: Parse | None) -> None:
        self._data = data
        try:
            data.get_fragments()
        except ValueError:  # a filter may compute, and fail at one record
            raise DataError(
                "The dataset has a filter or a projection of its own. Pass the dataset without it, "
                "and use where= and a computed column."
            ) from None
        if any(type(one.format).__name__ in _UNDECLARED for one in _with_files(data)):
            raise DataError(
                "The dataset consists of text files, whose types Arrow infers from records. Pass "
                "their path instead, or a stream, with parse=Parse(format='csv')."
            )
        super().__init__(data.schema, parse)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows, and see that all files declare these columns alike.

        Arrow would convert what a file declares otherwise, and fail where a record does not fit.
        """
        for one in _with_files(self._data):
            for piece in guarded(one.get_fragments(), _DATASET, "a dataset"):
                self._check_piece(_schema_of(piece), names_of(wanted))
        return super().empty(wanted)

    def _check_piece(self, schema: pa.Schema, names: Sequence[str]) -> None:
        for name in names:
            place = schema.get_field_index(name)  # -1: its cells are missing
            if place >= 0 and schema.field(place).type != self.schema.field(name).type:
                raise DataError(
                    f"Column {name!r} does not have the same type in all files of the dataset. Use "
                    "files with the same schema."
                )

    def blocks(self, wanted: Sequence[Wanted], most: int, tell: Tell) -> Iterator[Block]:
        """Yield the rows batch by batch; what Arrow says of a failure may quote cells."""
        stream = self._data.to_batches(columns=names_of(wanted))
        yield from self._blocks(guarded(stream, _DATASET, "a dataset"), wanted, most)
        tell(1.0)


#: What stands for a dataset in messages, and files that declare no types.
_DATASET = Path("the dataset")
_UNDECLARED = ("CsvFileFormat", "JsonFileFormat")


def _with_files(data: Dataset) -> list[FileSystemDataset]:
    """Return the datasets of files that a dataset consists of."""
    if hasattr(data, "children"):
        return [one for child in data.children for one in _with_files(child)]
    return [data] if hasattr(data, "files") else []


def places_of(data: Dataset) -> list[str]:
    """Return where the files of a dataset lie, as paths and addresses, as far as that is known."""
    found = [_place(one.filesystem, file) for one in _with_files(data) for file in one.files]
    return [place for place in found if place is not None]


#: How an address begins, by the name that Arrow gives to a file system.
_SCHEMES = {"local": "", "s3": "s3://", "gcs": "gs://", "abfs": "abfs://"}


def _place(system: FileSystem, file: str) -> str | None:
    if system.type_name == "subtree":
        return _place(system.base_fs, f"{system.base_path.rstrip('/')}/{file}")
    scheme = _SCHEMES.get(system.type_name)
    return None if scheme is None else scheme + file


def _schema_of(piece: Fragment) -> pa.Schema:
    """Return what a file of a dataset declares."""
    with suppress(*UNREADABLE):
        return piece.physical_schema
    raise unreadable(_DATASET, "a dataset")


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
