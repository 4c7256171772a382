"""Rows with several columns, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tametail.engines import vector_kernel
from tametail.engines.cells import Floats, array_to_floats, check_array_type
from tametail.errors import ColumnError

#: Values per chunk of rows, over all columns.
CHUNK_VALUES = 1 << 18


class MatrixEngine:
    """Answers vector queries over the rows of a matrix, some rows at a time."""

    def __init__(self, matrix: Any) -> None:
        values = np.asarray(matrix)
        check_array_type(values.dtype)
        if values.ndim != 2:
            raise ColumnError(
                f"the data have {values.ndim} dimensions: pass a matrix with a row per record."
            )
        self._values = values

    @property
    def size(self) -> int:
        """The number of rows. Public under replace-one only."""
        return int(self._values.shape[0])

    @property
    def dim(self) -> int:
        """The number of columns; public."""
        return int(self._values.shape[1])

    def answer(self, query: Any) -> Any:
        """Return the exact answer to a vector query."""
        return vector_kernel.answer(query, self._chunks())

    def rows(self, start: int, stop: int) -> MatrixEngine:
        """Return an engine over the rows ``start..stop-1``."""
        return MatrixEngine(self._values[start:stop])

    def _chunks(self) -> Iterator[Floats]:
        step = max(CHUNK_VALUES // max(self.dim, 1), 1)
        for start in range(0, self.size, step):
            block = self._values[start : start + step]
            yield array_to_floats(block.ravel()).reshape(block.shape)
