"""Data in memory: lists, arrays, and columns of frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tametail.engines.cells import (
    Floats,
    array_to_floats,
    arrow_to_floats,
    cells_to_floats,
    check_array_type,
    check_arrow_type,
)
from tametail.engines.kernels import column as kernel
from tametail.errors import ColumnError
from tametail.queries.column import ColumnQuery


class MemoryEngine:
    """Answers queries over one column in memory, a chunk at a time.

    The column keeps its own type; only the chunk at hand is turned into float64.

    >>> from tametail.queries.column import Count
    >>> MemoryEngine([1, 2, None, "n/a", float("nan")]).answer(Count())
    (2,)
    """

    def __init__(self, column: Any) -> None:
        self._column = _as_column(column)
        self._profiles: dict[float, kernel.Profile] = {}

    @property
    def size(self) -> int:
        """The number of records, missing ones included."""
        return len(self._column)

    def answer(self, query: ColumnQuery) -> Any:
        """Return the exact answer to ``query``."""
        # An array of doubles is read where it is: then longer chunks are quicker.
        size = kernel.longest_chunk(query) if _is_plain(self._column) else kernel.CHUNK
        return kernel.answer(query, self._chunks(size), self._profiles)

    def rows(self, start: int, stop: int) -> MemoryEngine:
        """Return an engine over the rows ``start..stop-1``."""
        return MemoryEngine(self._column[start:stop])

    def _chunks(self, size: int) -> Iterator[Floats]:
        column = self._column
        if isinstance(column, pa.ChunkedArray):
            for piece in column.chunks:
                for start in range(0, len(piece), size):
                    yield arrow_to_floats(piece.slice(start, size))
            return
        for start in range(0, len(column), size):
            yield array_to_floats(column[start : start + size])


def _is_plain(column: Any) -> bool:
    is_array = isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray)
    return is_array and column.dtype == np.float64 and bool(column.flags.c_contiguous)


def _as_column(data: Any) -> Any:
    """Return a one-dimensional NumPy array or an Arrow chunked array; no cell can make it fail."""
    if isinstance(data, pa.Array):
        data = pa.chunked_array([data])
    if isinstance(data, pa.ChunkedArray):
        check_arrow_type("data", data.type)
        return data
    if isinstance(data, np.ndarray):
        check_array_type(data.dtype)
        if data.ndim == 2 and data.shape[1] == 1:
            data = data[:, 0]
        if data.ndim != 1:
            raise ColumnError(
                f"the data have {data.ndim} dimensions: pass one column, a one-dimensional array."
            )
        return data
    return cells_to_floats(data)
