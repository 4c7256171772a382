"""Rows in memory: arrays, columns of frames, lists of cells and lists of rows.

A column keeps its own type; only the chunk at hand is turned into float64. Doubles are read
where they lie.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.engines.cells import (
    Array,
    Floats,
    array_to_floats,
    arrow_to_floats,
    cells_to_floats,
    check_array_type,
    check_arrow_type,
    duration_to_float,
    is_duration,
)
from tametail.engines.tables import CONVERTED, Tell
from tametail.engines.text import arrow_text_to_floats, objects_to_floats
from tametail.errors import ColumnError
from tametail.parse import Parse

#: One column as its library keeps it: a NumPy array, or a chunked array of Arrow.
Column: TypeAlias = "Array | pa.ChunkedArray"

_ADVICE = "pass one row per record: a matrix, or a list of rows, of one or more cells."


class MatrixTable:
    """The columns of an array, named by their positions unless names are given."""

    def __init__(self, matrix: Array, names: Sequence[str] | None = None) -> None:
        check_array_type(matrix.dtype)
        if matrix.ndim == 1:
            matrix = matrix[:, np.newaxis]
        if matrix.ndim != 2:
            raise ColumnError(f"the data have {matrix.ndim} dimensions: {_ADVICE}")
        if matrix.shape[1] == 0:
            raise ColumnError(f"the data have no column: {_ADVICE}")
        self._matrix: npt.NDArray[Any] = matrix
        self.columns = tuple(map(str, range(matrix.shape[1])) if names is None else names)
        is_masked = isinstance(matrix, np.ma.MaskedArray)
        self._is_plain = matrix.dtype == np.float64 and matrix.dtype.isnative and not is_masked
        self.in_place = self._is_plain and bool(matrix.flags.c_contiguous)

    def rows(self) -> int:
        """Return the number of rows."""
        return len(self._matrix)

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield rows, uncopied if they are doubles."""
        matrix = self._matrix[start:stop]
        most = most if self.in_place else min(most, CONVERTED)
        for first in range(0, len(matrix), most):
            part = matrix[first : first + most]
            yield part if self._is_plain else array_to_floats(part.reshape(-1)).reshape(part.shape)
            tell((first + len(part)) / len(matrix))

    def column(self, index: int) -> MatrixTable:
        """Return the table of one column."""
        return MatrixTable(self._matrix[:, index : index + 1], (self.columns[index],))


class ColumnsTable:
    """Columns of one length, each of a type of its own."""

    def __init__(
        self, columns: Sequence[Column], names: Sequence[str], parse: Parse | None = None
    ) -> None:
        self.columns = tuple(names)
        self._columns = [
            _Column(each, name, parse) for each, name in zip(columns, names, strict=True)
        ]
        self.in_place = False

    def rows(self) -> int:
        """Return the number of rows."""
        return self._columns[0].size

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield rows with all columns side by side."""
        places, most = range(self.rows())[start:stop], min(most, CONVERTED)
        for first in range(places.start, places.stop, most):
            last = min(first + most, places.stop)
            yield side_by_side([column.floats(first, last) for column in self._columns])
            tell((last - places.start) / len(places))

    def column(self, index: int) -> ColumnsTable:
        """Return the table of one column."""
        one = copy.copy(self)
        one.columns, one._columns = (self.columns[index],), [self._columns[index]]
        return one


class _Column:
    """A column whose rows are found by position, whatever pieces it is made of."""

    def __init__(self, column: Column, name: str, parse: Parse | None) -> None:
        self.size = len(column)
        self._parse = parse
        self._is_arrow = not isinstance(column, np.ndarray)
        if not isinstance(column, np.ndarray):
            self._is_text = check_arrow_type(name, column.type, text=parse is not None)
            self._pieces = column.chunks
            self._ends = list(accumulate(map(len, self._pieces)))
        else:
            check_array_type(column.dtype)
            self._array = column

    def floats(self, start: int, stop: int) -> Floats:
        """Return the numbers of the rows ``start..stop-1``."""
        if not self._is_arrow:
            return array_to_floats(self._array[start:stop])
        found = []
        for piece in range(bisect_right(self._ends, start), len(self._ends)):
            before = self._ends[piece] - len(self._pieces[piece])
            if before >= stop:
                break
            offset = max(start - before, 0)
            found.append(self._to_floats(self._pieces[piece].slice(offset, stop - before - offset)))
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0), *found])

    def _to_floats(self, cells: pa.Array) -> Floats:
        if self._is_text and self._parse is not None:
            return arrow_text_to_floats(cells, self._parse)
        return arrow_to_floats(cells)


def side_by_side(columns: Sequence[Floats]) -> Floats:
    """Return columns as a matrix; a single one is not copied."""
    return columns[0][:, np.newaxis] if len(columns) == 1 else np.column_stack(columns)


def from_cells(items: Iterable[object], parse: Parse | None = None) -> MatrixTable:
    """Return the table of a list, whose items are cells of one column, whatever they are.

    No item is looked at to find out: one that looks like a row would change what all others are.

    >>> from_cells([1.0, [2, 3], None]).columns
    ('0',)
    """
    return MatrixTable(objects_to_floats(items, parse))


def from_durations(items: Iterable[object]) -> MatrixTable:
    """Return the table of a list whose items are lengths of time, in seconds.

    What is none is missing, numbers too: of which unit would they be?
    """
    return MatrixTable(np.fromiter(map(duration_to_float, items), dtype=np.float64))


def are_durations(data: object) -> bool:
    """Say whether a list holds lengths of time: whether its first item, and no other, is one.

    >>> import datetime as dt
    >>> are_durations([dt.timedelta(1), 5]), are_durations([5, dt.timedelta(1)])
    (True, False)
    """
    return isinstance(data, list | tuple) and len(data) > 0 and is_duration(data[0])


def from_rows(data: Iterable[object], dim: int | None = None) -> MatrixTable:
    """Return the table of a list whose items are rows, by the word of whoever calls.

    A row is a list, a tuple or a one-dimensional array. There are ``dim`` columns; if nobody said
    how many, as many as most rows have cells (of two lengths that are as frequent, the smaller),
    so that no single record decides it. What is no row is a row of missing cells, and so are the
    cells that a row lacks.

    >>> from_rows([[1, 2], None, [3], [4, 5]]).columns
    ('0', '1')
    """
    rows = [_row(item) for item in data]
    lengths = Counter(len(row) for row in rows if row is not None)
    width = dim or (most_frequent(lengths) if lengths else 0) or 1  # without cells: all missing
    matrix = np.full((len(rows), width), np.nan)
    for target, row in zip(matrix, rows, strict=True):
        if row is not None:
            target[: len(row)] = row[:width]
    return MatrixTable(matrix)


def width_of_rows(data: Sequence[object]) -> int | None:
    """Return how many cells the first item has; None if it is no row, or if there is none.

    A list has no declared type: what its first item is stands for one, and is public as types are
    (docs/threat-model.md). No other item is looked at, and no cell.

    >>> width_of_rows([[1, 2], None]), width_of_rows([1, [2, 3]]), width_of_rows([])
    (2, None, None)
    """
    first = data[0] if len(data) else None
    kind = type(first)
    if issubclass(kind, list | tuple):
        return max(len(cast(Sequence[object], first)), 1)
    if issubclass(kind, np.ndarray) and np.ndarray.ndim.__get__(first) == 1:
        return max(int(np.ndarray.size.__get__(first)), 1)
    return None


def most_frequent(lengths: Counter[int]) -> int:
    """Return the length that most have; of two that are as frequent, the smaller.

    >>> most_frequent(Counter([3, 2, 3, 2, 7]))
    2
    """
    return min(lengths, key=lambda length: (-lengths[length], length))


def _row(item: Any) -> Floats | None:
    """Return the numbers of a row, None if the item is no row; no code of the item's own runs."""
    kind = type(item)
    for base in (list, tuple):
        if issubclass(kind, base):
            return cells_to_floats(base.__iter__(item))
    if not issubclass(kind, np.ndarray) or np.ndarray.ndim.__get__(item) != 1:
        return None
    if kind is not np.ma.MaskedArray:
        item = np.ndarray.view(item, np.ndarray)
    return array_to_floats(item) if item.dtype.kind in "fiubO" else np.full(len(item), np.nan)
