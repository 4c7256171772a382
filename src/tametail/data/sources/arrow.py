"""Columns that Arrow declares: in its own files, Parquet's (``parquet``), datasets and readers.

Names and types are schema. No record is read before it is asked for, which is after a ledger has
been charged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import pyarrow as pa

from tametail._shown import shown_path
from tametail.data.sources import DECODED, Block, Source, Tell, Wanted, names_of
from tametail.data.sources.files import UNREADABLE, guarded, refuse_repeated, unreadable
from tametail.data.sources.frames import arrow_cells
from tametail.errors import DataError
from tametail.parse import Parse

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset, FileSystemDataset, Fragment


class ArrowColumns(Source):
    """Columns that come in batches of Arrow."""

    def __init__(self, schema: pa.Schema, parse: Parse | None) -> None:
        self._parse = parse
        #: Names and types, as they are declared.
        self.schema = schema
        self.names = list(schema.names)

    def durations(self) -> frozenset[str]:
        """Return the columns that are declared as durations."""
        return frozenset(each.name for each in self.schema if pa.types.is_duration(each.type))

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        return {
            (name, role): arrow_cells(pa.nulls(0, self.schema.field(name).type), role, self._parse)
            for name, role in wanted
        }

    def _check(self, schema: pa.Schema, wanted: Sequence[Wanted], path: Path | None = None) -> None:
        """Refuse a file that declares one of these columns otherwise than the first file did."""
        for name in names_of(wanted):
            same = schema.names.count(name) == 1
            if not same or schema.field(name).type != self.schema.field(name).type:
                where = "" if path is None else f": look at {shown_path(path)}"
                raise DataError(
                    f"Column {name!r} does not have the same type in all files{where}. Use files "
                    "with the same schema."
                )

    def _blocks(
        self, batches: Iterable[pa.RecordBatch], wanted: Sequence[Wanted]
    ) -> Iterator[Block]:
        """Yield the rows of one batch after the other."""
        for batch in batches:
            for first in range(0, len(batch), DECODED):
                rows = batch.slice(first, DECODED)
                yield {one: arrow_cells(rows[one[0]], one[1], self._parse) for one in wanted}
                del rows
            del batch  # its memory is for the next one, while it is in the cache


class ArrowSource(ArrowColumns):
    """Columns of Arrow files (Feather is one) that all declare them alike."""

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        self._files = files
        super().__init__(self._schema(files[0]), parse)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows, and see that all files declare these columns alike."""
        for path in self._files:
            self._check(self._schema(path), wanted, path)
        return super().empty(wanted)

    def _schema(self, path: Path) -> pa.Schema:
        """Return what a file declares."""
        with _opened(path) as reader:
            return reader.schema

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows of one file after the other."""
        for number, path in enumerate(self._files):
            with _opened(path) as reader:
                yield from self._blocks(guarded(_batches(reader), path, "Arrow"), wanted)
            tell((number + 1) / len(self._files))


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


class DatasetSource(ArrowColumns):
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
        refuse_repeated(_SCHEMES.get(kind, f"{kind}:") + file for kind, file in _files_of(data))
        super().__init__(data.schema, parse)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows, and see that all files declare these columns alike.

        Arrow would convert what a file declares otherwise, and fail where a record does not fit.
        """
        for data in _with_files(self._data):
            for piece in guarded(data.get_fragments(), _DATASET, "a dataset"):
                schema = _schema_of(piece)  # of a column that it lacks all cells are missing
                self._check(schema, [one for one in wanted if schema.get_field_index(one[0]) >= 0])
        return super().empty(wanted)

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows batch by batch; what Arrow says of a failure may quote cells."""
        stream = self._data.to_batches(columns=names_of(wanted))
        yield from self._blocks(guarded(stream, _DATASET, "a dataset"), wanted)
        tell(1.0)


#: What stands for a dataset in messages, and files that declare no types.
_DATASET = Path("the dataset")
_UNDECLARED = ("CsvFileFormat", "JsonFileFormat")


def _with_files(data: Dataset) -> list[FileSystemDataset]:
    """Return the datasets of files that a dataset consists of."""
    if hasattr(data, "children"):
        return [one for child in data.children for one in _with_files(child)]
    return [data] if hasattr(data, "files") else []


def _files_of(data: Dataset) -> Iterator[tuple[str, str]]:
    """Yield the files of a dataset: which kind of file system each is in, and where in it."""
    for one in _with_files(data):
        system, folder = one.filesystem, ""
        while system.type_name == "subtree":
            system, folder = system.base_fs, f"{system.base_path.rstrip('/')}/{folder}"
        yield from ((system.type_name, folder + file) for file in one.files)


#: How an address begins, by the name that Arrow gives to a file system.
_SCHEMES = {"local": "", "s3": "s3://", "gcs": "gs://", "abfs": "abfs://"}


def places_of(data: Dataset) -> list[str]:
    """Return where the files of a dataset lie, as paths and addresses, as far as that is known."""
    return [_SCHEMES[kind] + file for kind, file in _files_of(data) if kind in _SCHEMES]


def _schema_of(piece: Fragment) -> pa.Schema:
    """Return what a file of a dataset declares."""
    with suppress(*UNREADABLE):
        return piece.physical_schema
    raise unreadable(_DATASET, "a dataset")


def is_dataset(data: object) -> TypeGuard[Dataset]:
    """Say whether data are a dataset of Arrow."""
    kinds = type(data).__mro__
    return any(f"{kind.__module__}.{kind.__name__}" == "pyarrow._dataset.Dataset" for kind in kinds)
