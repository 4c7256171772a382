"""Rows with several columns, in memory.

The number of columns is schema, and public; no cell and no single row can make reading fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

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
)
from tametail.engines.kernels.passes import Passes
from tametail.engines.tables.frames import column_of, is_frame
from tametail.engines.tables.memory import MemoryEngine
from tametail.errors import ColumnError, ParameterError
from tametail.queries.paper import PaperQuery

_ADVICE = (
    "pass a matrix with a row for each record: a two-dimensional array, a frame whose columns "
    "are all numeric, or a list of rows of one length."
)


class MatrixEngine:
    """Answers vector queries over the rows of a matrix, some rows at a time.

    >>> from tametail.queries.paper import BallMean
    >>> rows = np.array([[1.0, 2.0], [3.0, 2.0], [np.nan, 0.0], [90.0, 0.0]])
    >>> MatrixEngine(rows).answer(BallMean((0.0, 0.0), exponent=0, radius=9, size=4, factor=30))
    (40, 40)
    """

    def __init__(self, matrix: npt.NDArray[Any]) -> None:
        check_array_type(matrix.dtype)
        if matrix.ndim != 2 or matrix.shape[1] == 0:
            raise ColumnError(f"the data have the shape {matrix.shape}: {_ADVICE}")
        self._matrix = matrix

    @property
    def size(self) -> int:
        """The number of rows. Public under replace-one only."""
        return int(self._matrix.shape[0])

    @property
    def dim(self) -> int:
        """The number of columns."""
        return int(self._matrix.shape[1])

    def answer(self, query: PaperQuery) -> Any:
        """Return the exact answer to a vector query."""
        return Passes().answer(query, self._chunks)

    def rows(self, start: int, stop: int) -> MatrixEngine:
        """Return an engine over the rows ``start..stop-1``."""
        return MatrixEngine(self._matrix[start:stop])

    def column(self, index: int) -> MemoryEngine:
        """Return an engine over one column."""
        return MemoryEngine(self._matrix[:, index])

    def _chunks(self, step: int) -> Iterator[Floats]:
        for start in range(0, self.size, step):
            block = self._matrix[start : start + step]
            yield array_to_floats(block.ravel()).reshape(block.shape)


def open_matrix(data: Any) -> MatrixEngine:
    """Return the engine over a two-dimensional array, a frame or a list of rows.

    >>> open_matrix([[1, 2.5], [3, None], ["not a number", 4]]).dim
    2
    """
    if isinstance(data, np.ndarray):
        return MatrixEngine(data)
    if is_frame(data):
        return MatrixEngine(_frame_to_floats(data))
    if hasattr(data, "__array__"):
        return MatrixEngine(np.asarray(data))
    if isinstance(data, str | bytes | Mapping | Set) or not isinstance(data, Iterable):
        raise ParameterError(f"data of type {type(data).__name__} cannot be read: {_ADVICE}")
    return MatrixEngine(_rows_to_floats(list(data)))


def _frame_to_floats(data: Any) -> Floats:
    frame = nw.from_native(data, allow_series=True)
    if not isinstance(frame, nw.DataFrame):
        # The columns of a lazy frame would be computed one by one, perhaps in other orders.
        raise ParameterError(f"data of type {type(data).__name__} cannot be read: {_ADVICE}")
    return np.column_stack([_column_to_floats(column_of(data, name)) for name in frame.columns])


def _column_to_floats(column: Any) -> Floats:
    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([np.empty(0), *map(arrow_to_floats, column.chunks)])
    check_array_type(column.dtype)
    return array_to_floats(column)


def _rows_to_floats(rows: list[Any]) -> Floats:
    """Return the cells. The width is schema: rows must agree on it, or cannot be read."""
    widths = {len(row) if _is_row(row) else None for row in rows}
    if len(widths) > 1 or None in widths:
        raise ParameterError(f"the rows are not all of one length: {_ADVICE}")
    return np.array([cells_to_floats(row) for row in rows]).reshape(len(rows), *widths or (0,))


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1)
