"""Arrays and lists: columns without names, which are numbered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from tametail.data.cells import (
    Array,
    Floats,
    array_to_floats,
    cells_to_floats,
    check_array_type,
    duration_to_float,
    is_duration,
)
from tametail.data.sources import Block, Source, Tell, Wanted, slices
from tametail.errors import ColumnError

_ADVICE = "Pass one row per record: a matrix or a list of rows, each with at least one cell."


class ArraySource(Source):
    """The columns of an array, named by their positions; all rows are in memory."""

    def __init__(self, array: Array, *, in_seconds: bool = False) -> None:
        check_array_type(array.dtype)
        self._in_seconds = in_seconds or array.dtype.kind == "m"
        matrix = array[:, np.newaxis] if array.ndim == 1 else array
        if matrix.ndim != 2:
            raise ColumnError(f"The data have {matrix.ndim} dimensions. {_ADVICE}")
        if matrix.shape[1] == 0:
            raise ColumnError(f"The data have no column. {_ADVICE}")
        self._matrix = matrix
        self.names = [str(place) for place in range(matrix.shape[1])]

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        return dict.fromkeys(wanted, np.empty(0))

    def array(self, names: Sequence[str]) -> Array | None:
        """Return these columns; all of them as they lie."""
        if list(names) == self.names:
            return self._matrix
        places = [int(name) for name in names]
        first, last = places[0], places[-1] + 1
        is_slice = places == list(range(first, last))
        return self._matrix[:, first:last] if is_slice else self._matrix[:, places]

    def size(self) -> int | None:
        """Return the number of rows."""
        return len(self._matrix)

    def durations(self) -> frozenset[str]:
        """Return all columns, if the array is one of durations."""
        return frozenset(self.names if self._in_seconds else ())

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, a slice at a time."""
        for ends in slices(len(self._matrix), wanted, tell):
            rows = self._matrix[slice(*ends)]
            yield {one: array_to_floats(rows[:, int(one[0])]) for one in wanted}


class LaterSource(Source):
    """The one column of an iterator: it is read, once, when it is first asked for.

    To read it is to look at records, which comes after a ledger has been charged.
    """

    def __init__(self, make: Callable[[], Array]) -> None:
        self._make, self.names = make, ["0"]

    @cached_property
    def _source(self) -> ArraySource:
        return ArraySource(self._make())

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        return dict.fromkeys(wanted, np.empty(0))

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, which are read once."""
        return self._source.blocks(wanted, tell)


def seconds_of(items: Iterable[object]) -> Floats:
    """Return the column of a list whose items are lengths of time, in seconds.

    What is none is missing, numbers too: of which unit would they be?
    """
    return np.fromiter(map(duration_to_float, items), dtype=np.float64)


def are_durations(data: object) -> bool:
    """Say whether a list holds lengths of time: whether its first item, and no other, is one.

    >>> import datetime as dt
    >>> are_durations([dt.timedelta(1), 5]), are_durations([5, dt.timedelta(1)])
    (True, False)
    """
    return isinstance(data, list | tuple) and len(data) > 0 and is_duration(data[0])


def rows_of(data: Iterable[object], n_columns: int | None = None) -> Floats:
    """Return the matrix of a list whose items are rows, by the word of whoever calls.

    A row is a list, a tuple or a one-dimensional array. There are ``n_columns`` columns; if that is
    None, as many as most rows have cells (of two lengths that are as frequent, the smaller),
    so that no single record decides it. What is no row is a row of missing cells, and so are the
    cells that a row lacks.

    >>> rows_of([[1, 2], None, [3], [4, 5]]).tolist()
    [[1.0, 2.0], [nan, nan], [3.0, nan], [4.0, 5.0]]
    """
    rows = [_row(item) for item in data]
    lengths = Counter(len(row) for row in rows if row is not None)
    # Without cells: all missing.
    width = n_columns or (most_frequent(lengths) if lengths else 0) or 1
    matrix = np.full((len(rows), width), np.nan)
    for target, row in zip(matrix, rows, strict=True):
        if row is not None:
            target[: len(row)] = row[:width]
    return matrix


def width_of_rows(data: Sequence[object]) -> int | None:
    """Return how many cells the first item has; None if it is no row, or if there is none.

    A list has no declared type: what its first item is stands for one, and is public as types are
    (docs/explanation/threat-model.md). No other item is looked at, and no cell.

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
