"""Columns of keys beside a table: of frames and files, in the order of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tametail.engines.keys import OBJECT, TEXT, WHOLE, arrow_cells, kind_of_keys, object_cells
from tametail.engines.tables.csv import CsvTable
from tametail.engines.tables.files import UNREADABLE, check_alone, guarded, unreadable
from tametail.engines.tables.frames import check_known, pick_column
from tametail.engines.tables.parquet import open_parquet
from tametail.engines.text import Parse
from tametail.errors import ColumnError, DataError


class KeyColumns(Protocol):
    """Columns of keys: names and kinds are schema, known before a row is read."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """How the cells of each column are kept."""

    def read(self) -> list[pa.ChunkedArray]:
        """Return the cells of every column, in the order of the rows."""


class FrameKeys:
    """Columns of a frame that is computed."""

    def __init__(self, data: Any, by: Sequence[str]) -> None:
        frame = check_known(data)
        if isinstance(frame, nw.Series):
            raise ColumnError("by= names a column, and a series has none: pass a frame.")
        all_names = frame.columns
        self._series = [frame.get_column(pick_column(all_names, name)) for name in by]
        self.names = tuple(by)
        self.kinds = tuple(_kind(each) for each in self._series)

    def read(self) -> list[pa.ChunkedArray]:
        """Return the cells of every column."""
        return [_cells(each, kind) for each, kind in zip(self._series, self.kinds, strict=True)]


def _kind(series: nw.Series[Any]) -> str:
    """Return how a series is kept, by its declared type."""
    kind = series.dtype
    if series.implementation.is_pandas_like():
        # Converting what pandas keeps as objects could fail, by its records.
        native = getattr(series.to_native(), "dtype", None)
        if isinstance(native, np.dtype) and native.kind in "iu" and native != np.uint64:
            return WHOLE
        if kind in (nw.Object, nw.String, nw.Categorical, nw.Enum, nw.Boolean) or (
            kind.is_integer() and not isinstance(native, np.dtype)
        ):
            return OBJECT
        return kind_of_keys(str(series.name), pa.float64() if kind.is_float() else pa.null())
    return kind_of_keys(str(series.name), series.head(0).to_arrow().type)


def _cells(series: nw.Series[Any], kind: str) -> pa.ChunkedArray:
    if kind == OBJECT:
        return pa.chunked_array([object_cells(series.to_list())])
    if series.implementation.is_pandas_like():
        return pa.chunked_array([pa.array(series.to_numpy().astype(np.int64))])
    cells = series.to_arrow()
    pieces = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    empty = pa.array([], arrow_cells(cells.slice(0, 0), kind).type) if not pieces else None
    return pa.chunked_array([arrow_cells(piece, kind) for piece in pieces] or [empty])


class ParquetKeys:
    """Columns of Parquet files that all declare them alike."""

    def __init__(self, files: list[Path], by: Sequence[str]) -> None:
        self._files = files
        with open_parquet(files[0]) as file:
            schema = file.schema_arrow
        self.names = tuple(pick_column(schema.names, name) for name in by)
        for name in self.names:
            check_alone(schema.names, name)
        self._types = [schema.field(name).type for name in self.names]
        self.kinds = tuple(map(kind_of_keys, self.names, self._types))

    def read(self) -> list[pa.ChunkedArray]:
        """Return the cells of every column of all files in the order of their names."""
        return _stacked(self._batches(), self.kinds)

    def _batches(self) -> Iterator[list[pa.Array]]:
        for path in self._files:
            with open_parquet(path) as file:
                schema = file.schema_arrow
                for name, kind in zip(self.names, self._types, strict=True):
                    if schema.names.count(name) != 1 or schema.field(name).type != kind:
                        raise DataError(
                            f"{str(path)!r} does not declare column {name!r} as {kind}, as "
                            f"{str(self._files[0])!r} did: give all files one schema."
                        )
                for batch in guarded(file.iter_batches(columns=list(self.names)), path, "Parquet"):
                    yield [
                        arrow_cells(batch[name], kind)
                        for name, kind in zip(self.names, self.kinds, strict=True)
                    ]


class CsvKeys:
    """Columns of CSV files: the bytes of their cells. An empty cell is missing."""

    def __init__(self, files: list[Path], by: Sequence[str], parse: Parse | None) -> None:
        self._table = CsvTable(files, list(by), parse)
        self._files = files
        self.names = self._table.columns
        self.kinds = (TEXT,) * len(self.names)

    def read(self) -> list[pa.ChunkedArray]:
        """Return the cells of every column of all files in the order of their names."""
        try:
            return _stacked(self._batches(), self.kinds)
        except UNREADABLE:
            pass
        raise unreadable(self._files[0], "CSV")

    def _batches(self) -> Iterator[list[pa.Array]]:
        for batch in self._table.raw_cells(lambda _: None):
            yield [_without_empty(cells.cast(pa.large_binary())) for cells in batch.columns]


def _without_empty(cells: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(pc.binary_length(cells), 0), pa.scalar(None, cells.type), cells)


def _stacked(batches: Iterator[list[pa.Array]], kinds: Sequence[str]) -> list[pa.ChunkedArray]:
    """Return each column in one, whatever batches it came in."""
    pieces = list(batches)
    types = [arrow_cells(pa.array([], _EMPTY[kind]), kind).type for kind in kinds]
    return [
        pa.chunked_array([piece[place] for piece in pieces], type=kind)
        for place, kind in enumerate(types)
    ]


_EMPTY = {TEXT: pa.binary(), WHOLE: pa.int64(), "truth values": pa.bool_()}
