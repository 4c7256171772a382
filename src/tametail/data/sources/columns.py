"""A dict of arrays: columns side by side, each kept in whatever library made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tametail.data.cells import Array, array_to_floats, check_array_type
from tametail.data.sources import Block, Cells, Role, Source, Tell, Wanted, slices
from tametail.data.sources.frames import FrameSource, is_frame, texts, untyped_cells
from tametail.errors import ColumnError, ParameterError
from tametail.parse import Parse

#: Kinds of NumPy's types that hold Python's objects, text and bytes.
_OBJECTS, _TEXT, _BYTES = "O", "U", "S"

_ADVICE: Final = "Use mean({'charge': [12.0, 7.5]}, 'charge', ...) with arrays or lists."


class ColumnsSource(Source):
    """The columns of a dict, all of one length; items of lists are cells without a type."""

    def __init__(self, data: Mapping[object, object], parse: Parse | None) -> None:
        self._parse = parse
        self._columns = {str(name): _column(str(name), data[name], parse) for name in data}
        if not self._columns or len(self._columns) < len(data):
            raise ParameterError(f"The dict has no columns, or a name twice. {_ADVICE}")
        self.names = list(self._columns)
        sizes = {_size(column) for column in self._columns.values()}
        if len(sizes) > 1:
            raise ParameterError(f"The columns of the dict differ in length. {_ADVICE}")
        (self._rows,) = sizes

    def durations(self) -> frozenset[str]:
        """Return the columns that are declared as durations."""
        return frozenset(name for name, column in self._columns.items() if _is_duration(column))

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        return {one: self._cells(one, 0, 0) for one in wanted}

    def array(self, names: Sequence[str]) -> Array | None:
        """Return a single column that is an array of numbers."""
        column = self._columns[names[0]]
        if len(names) > 1 or not isinstance(column, np.ndarray) or column.dtype.kind not in "fiubm":
            return None
        return column

    def size(self) -> int | None:
        """Return the number of rows."""
        return self._rows

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, a slice of every column at a time."""
        for ends in slices(self._rows, wanted, tell):
            yield {one: self._cells(one, *ends) for one in wanted}

    def _cells(self, one: Wanted, first: int, last: int) -> Cells:
        name, role = one
        column = self._columns[name]
        if isinstance(column, FrameSource):
            return column.slice([one], first, last)[one]
        part = column[first:last]
        if not isinstance(part, np.ndarray):
            return untyped_cells(list(part), role, self._parse)
        return self._of_array(name, part, role)

    def _of_array(self, name: str, part: Array, role: Role) -> Cells:
        kind = part.dtype.kind
        written = kind == _TEXT and (role != "number" or self._parse is not None)
        if kind == _OBJECTS or written:
            cells = np.ma.filled(part.astype(object), None).tolist()
            is_id = written and role == "id"  # what is declared as text is compared as bytes
            return texts(cells) if is_id else untyped_cells(cells, role, self._parse)
        if role == "number":
            check_array_type(part.dtype, name)
            return array_to_floats(part)
        return _typed(name, part)


#: What a column is: an array, a list of cells, or one of a library of frames.
_Column = Array | list[object] | tuple[object, ...] | FrameSource


def _column(name: str, cells: object, parse: Parse | None) -> _Column:
    if isinstance(cells, pa.Array | pa.ChunkedArray):
        return FrameSource(pa.table({name: cells}), parse)
    if isinstance(cells, np.ndarray) and cells.ndim == 1:
        return cells
    if isinstance(cells, list | tuple):
        return cells
    if not isinstance(cells, np.ndarray) and is_frame(cells):
        found = FrameSource(cells, parse, name)
        if found.is_series:
            return found
    # No name: a dict may as well have a record for each person, and then its keys are persons.
    raise ParameterError(f"A column of the dict has type {type(cells).__name__}. {_ADVICE}")


def _size(column: _Column) -> int:
    return (column.size() or 0) if isinstance(column, FrameSource) else len(column)


def _is_duration(column: _Column) -> bool:
    if isinstance(column, FrameSource):
        return bool(column.durations())
    return isinstance(column, np.ndarray) and column.dtype.kind == "m"


def _typed(name: str, part: Array) -> pa.Array:
    """Return the cells of an array in Arrow's type for them, or refuse its type."""
    native = part.astype(part.dtype.newbyteorder("="), copy=False)
    mask = np.ma.getmaskarray(native) if isinstance(native, np.ma.MaskedArray) else None
    try:
        if native.dtype.kind == _BYTES:
            return pa.array(np.ma.getdata(native).tolist(), pa.large_binary(), mask=mask)
        return pa.array(np.ma.getdata(native), mask=mask)
    except pa.ArrowException:
        pass  # by its type: arrays of the types that Arrow knows never fail
    raise ColumnError(
        f"Column {name!r} has type {part.dtype}, which is not supported. Convert it first."
    )
