"""Several columns of a matrix, a frame or files, as chunks of float64 rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.engines.cells import (
    Floats,
    array_to_floats,
    arrow_to_floats,
    cells_to_floats,
    check_array_type,
    text_to_floats,
)
from tametail.engines.kernels.passes import Chunks, Passes
from tametail.engines.tables.files import Progress, find_files
from tametail.engines.tables.frames import _computed as computed
from tametail.engines.tables.frames import _known as known_frame
from tametail.engines.tables.frames import column_of, is_frame, is_spark, pick_column
from tametail.engines.tables.sources import (
    SOURCES,
    CsvSource,
    ParquetSource,
    _blocks,
    _decompressed,
    _delimiter,
    _guarded,
    _open_bytes,
    ending,
)
from tametail.errors import ColumnError, InternalError, ParameterError
from tametail.queries.rows import RowQuery

#: Rows of a Parquet file that are read at a time.
_PARQUET_ROWS = 1 << 13


class TableEngine:
    """Answers column queries over rows, some thousand cells at a time.

    >>> from tametail.queries.rows import Rows
    >>> engine = open_table([[1, 2], [None, 4], [5, "n/a"]])
    >>> engine.columns, engine.answer(Rows())
    (('0', '1'), (3,))
    """

    def __init__(
        self,
        columns: Sequence[str],
        size: Callable[[], int],
        chunks: Chunks,
    ) -> None:
        self.columns = tuple(columns)
        self._size = size
        self._chunks = chunks
        self._passes = Passes()

    @property
    def size(self) -> int:
        """The number of rows. Public under replace-one only."""
        return self._size()

    def answer(self, query: RowQuery) -> Any:
        """Return the exact answer to ``query``."""
        return self._passes.answer(query, self._chunks)

    def rows(self, start: int, stop: int) -> TableEngine:
        """Refuse: the vector mean looks at all rows."""
        raise InternalError(f"rows {start} to {stop} of a table cannot be asked apart.")


def open_table(
    data: Any, columns: Sequence[str] | None = None, progress: Progress | None = None
) -> TableEngine:
    """Return the engine over several columns of ``data``: a path, a frame, or rows of numbers.

    Without ``columns`` a matrix has all of its columns, named by their positions.
    """
    names = None if columns is None else _distinct(columns)
    if isinstance(data, str | os.PathLike):
        return _open_files(data, _needed(names), progress)
    if is_spark(data):
        from tametail.engines.spark.table import SparkTableEngine

        return SparkTableEngine(data, _needed(names))
    if is_frame(data):
        return _open_frame(data, _needed(names))
    if names is not None:
        raise ParameterError(
            f"columns={list(names)!r} are given, but {type(data).__name__} has no names: columns "
            "belong to frames and files."
        )
    return _open_matrix(_matrix(data))


def _distinct(columns: Sequence[str]) -> tuple[str, ...]:
    are_names = not isinstance(columns, str) and all(isinstance(x, str | Integral) for x in columns)
    if not columns or not are_names:
        raise ParameterError(f"columns={columns!r} is no list of names: write columns=['a', 'b'].")
    names = tuple(map(str, columns))  # pandas numbers columns that have no name
    if len(set(names)) < len(names):
        raise ParameterError(f"columns={list(columns)!r} names a column twice: name each once.")
    return names


def _needed(names: tuple[str, ...] | None) -> tuple[str, ...]:
    if names is None:
        raise ParameterError("a frame or a file needs columns=['a', 'b', ...]: name the columns.")
    return names


def _matrix(data: Any) -> npt.NDArray[Any]:
    """Return a matrix of a numeric type; cells that are not numbers are missing."""
    if hasattr(data, "__array__"):
        matrix = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        check_array_type(matrix.dtype)
    else:
        matrix = _padded([_row(row) for row in data])
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ColumnError("the data are no matrix: pass one row per record, of one or more cells.")
    return cast("npt.NDArray[Any]", matrix)


def _row(row: Any) -> Floats:
    is_row = isinstance(row, Iterable) and not isinstance(row, str | bytes)
    return cells_to_floats(row if is_row else ())


def _padded(rows: list[Floats]) -> Floats:
    """Stack rows; the first says how many cells there are, and what others lack is missing."""
    width = len(rows[0]) if rows else 0
    matrix = np.full((len(rows), width), np.nan)
    for target, row in zip(matrix, rows, strict=True):
        target[: len(row)] = row[:width]
    return matrix


def _open_matrix(matrix: npt.NDArray[Any]) -> TableEngine:
    plain = matrix.dtype == np.float64 and not isinstance(matrix, np.ma.MaskedArray)

    def chunks(rows: int) -> Iterator[Floats]:
        for start in range(0, len(matrix), rows):
            part = matrix[start : start + rows]
            yield part if plain else array_to_floats(part.reshape(-1)).reshape(part.shape)

    return TableEngine([str(j) for j in range(matrix.shape[1])], lambda: len(matrix), chunks)


def _open_frame(data: Any, names: tuple[str, ...]) -> TableEngine:
    known = known_frame(data)
    if isinstance(known, nw.LazyFrame):  # computed once, not once for each column
        schema = known.collect_schema().names()
        data = computed(known.select([pick_column(schema, name) for name in names])).to_native()
    columns = [_typed(column_of(data, name)) for name in names]

    def chunks(rows: int) -> Iterator[Floats]:
        for start in range(0, len(columns[0]), rows):
            yield np.column_stack([_part(column, start, rows) for column in columns])

    return TableEngine(names, lambda: len(columns[0]), chunks)


def _typed(column: Any) -> Any:
    if isinstance(column, np.ndarray):
        check_array_type(column.dtype)
    return column


def _part(column: Any, start: int, rows: int) -> Floats:
    if isinstance(column, pa.ChunkedArray):
        return arrow_to_floats(column.slice(start, rows).combine_chunks())
    return array_to_floats(column[start : start + rows])


def _open_files(
    path: str | os.PathLike[str], names: tuple[str, ...], progress: Progress | None
) -> TableEngine:
    files = find_files(path)
    kind = SOURCES[ending(files[0])]
    # One source per column checks that the column is there, once, and of a numeric type.
    sources = [kind(files, name) for name in names]
    if isinstance(sources[0], ParquetSource):
        stream: Callable[[], Iterator[tuple[float, Floats]]] = partial(
            _parquet_rows, cast("list[ParquetSource]", sources)
        )
    else:
        stream = partial(_csv_rows, cast("list[CsvSource]", sources))

    def chunks(rows: int) -> Iterator[Floats]:
        for fraction, block in stream():
            for start in range(0, len(block), rows):
                yield block[start : start + rows]
            if progress:
                progress(fraction)

    return TableEngine(names, lambda: sources[0].size, chunks)


def _parquet_rows(sources: list[ParquetSource]) -> Iterator[tuple[float, Floats]]:
    """Yield the fraction of the rows done, and the next rows."""
    first, done, names = sources[0], 0, [source.name for source in sources]
    for path in first.files:
        with first._open(path) as file:
            stream = file.iter_batches(batch_size=_PARQUET_ROWS, columns=names)
            for batch in _guarded(stream, path, "Parquet"):
                done += len(batch)
                cells = [arrow_to_floats(batch[name]) for name in names]
                yield done / max(first.size, 1), np.column_stack(cells)


def _csv_rows(sources: list[CsvSource]) -> Iterator[tuple[float, Floats]]:
    """Yield the fraction of the bytes done, and the next rows."""
    first, before, total = sources[0], 0, sum(sources[0].bytes)
    for path, header, size in zip(first.files, first.header_rows, first.bytes, strict=True):
        with _open_bytes(path) as file:
            skip = header
            for block in _guarded(_blocks(_decompressed(path, file)), path, "CSV"):
                cells = [source._parse(block, _delimiter(path), skip) for source in sources]
                rows = np.column_stack([text_to_floats(column) for column in cells])
                yield min((before + file.tell()) / total, 1.0), rows
                skip = 0
        before += size
