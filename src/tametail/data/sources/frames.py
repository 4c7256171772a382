"""Frames (pandas, Polars, Arrow and what else narwhals knows): columns of them, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from tametail._shown import shown
from tametail.data.cells import (
    Array,
    array_to_floats,
    arrow_to_floats,
    check_array_type,
    check_arrow_type,
    decoded,
    is_text,
)
from tametail.data.sources import Block, Cells, Role, Source, Tell, Wanted, names_of, slices
from tametail.data.sources.names import pick_column
from tametail.data.text import arrow_text_to_floats, objects_to_floats
from tametail.errors import ColumnError, DataError
from tametail.parse import Parse

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoLazyFrame, IntoSeries

#: A frame or a series, as narwhals knows it.
Known: TypeAlias = (
    "nw.DataFrame[IntoDataFrame] | nw.LazyFrame[IntoLazyFrame] | nw.Series[IntoSeries]"
)


def is_frame(data: object) -> bool:
    """Say whether ``data`` is a frame or a series that narwhals knows, without importing any."""
    if isinstance(data, np.ndarray | list | tuple | str):  # narwhals would go through its list
        return False
    try:
        nw.from_native(cast("IntoSeries", data), allow_series=True)
    except TypeError:
        return False
    except nw.exceptions.DuplicateError:
        return True
    return True


def is_series(data: object) -> bool:
    """Say whether ``data`` is one column without a frame."""
    native = cast("IntoSeries", data)
    return isinstance(nw.from_native(native, allow_series=True, pass_through=True), nw.Series)


def is_spark(data: object) -> bool:
    """Say whether ``data`` is a Spark frame, of a classic session or of Spark Connect."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def check_known(data: object) -> Known:
    """Return the frame as narwhals knows it, or say that names are not unique."""
    try:
        return nw.from_native(cast("IntoSeries", data), allow_series=True)
    except nw.exceptions.DuplicateError:
        raise ColumnError("Several columns have the same name. Rename all but one.") from None


class FrameSource(Source):
    """Columns of a frame, or the one column of a series, which is called ``name``.

    A lazy frame is computed, once, when its records are first asked for: names and types are
    schema, and were checked before.
    """

    def __init__(self, data: object, parse: Parse | None, name: str = "0") -> None:
        frame, self._parse = check_known(data), parse
        self.is_series = isinstance(frame, nw.Series)
        if isinstance(frame, nw.Series):
            frame = frame.alias(name).to_frame()
        self._frame = frame
        self._computed: tuple[Sequence[str], nw.DataFrame[IntoDataFrame]] | None = None
        own = frame.collect_schema().names()
        # pandas may number its columns, and have "1" beside 1.
        self._own = {str(name): name for name in own}
        self.names = [str(name) for name in own]

    def durations(self) -> frozenset[str]:
        """Return the columns that are declared as durations."""
        schema = self._frame.collect_schema().items()
        return frozenset(str(name) for name, kind in schema if kind == nw.Duration)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows; a lazy frame is not computed for that."""
        if not isinstance(self._frame, nw.LazyFrame):
            return self._block(self._frame.head(0), wanted)
        declared = self._frame.collect_schema()
        schema = {name: declared[self._own[name]] for name in names_of(wanted)}
        for name, role in wanted:
            if role == "number":
                _check_lazy_type(name, schema[name])
        if any(kind == nw.Unknown for kind in schema.values()):
            return None
        nothing = nw.from_dict({name: [] for name in schema}, schema=schema, backend="pyarrow")
        return self._block(nothing, wanted)

    def array(self, names: Sequence[str]) -> Array | None:
        """Return the array in which pandas keeps a single column; no other frame has one."""
        if len(names) > 1 or isinstance(self._frame, nw.LazyFrame):
            return None
        series = self._frame.get_column(self._own[names[0]])
        if _is_array(series) and not (_is_untyped(series, "number") and self._parse is not None):
            # Not by narwhals: some versions compare cells to see whether any is missing.
            array: Array = nw.to_native(series).to_numpy()
            return array
        return None

    def size(self) -> int | None:
        """Return the number of rows; a lazy frame is computed for that."""
        return None if isinstance(self._frame, nw.LazyFrame) else len(self._frame)

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows, a slice of the columns at a time."""
        size = len(self._eager(names_of(wanted)))
        return (self.slice(wanted, *ends) for ends in slices(size, wanted, tell))

    def slice(self, wanted: Sequence[Wanted], first: int, last: int) -> Block:
        """Return the rows ``first..last-1``."""
        return self._block(self._eager(names_of(wanted))[first:last], wanted)

    def _eager(self, names: list[str]) -> nw.DataFrame[IntoDataFrame]:
        """Return the frame with these columns at least; a lazy one is computed, once.

        All columns at once: computed one by one, their rows may come in other orders.
        """
        if not isinstance(self._frame, nw.LazyFrame):
            return self._frame
        if self._computed is None or not set(names) <= set(self._computed[0]):
            # Polars takes "*" and "^...$" for patterns of names.
            chosen = self.names if any(set(name) & set("*^$") for name in names) else names
            own = [self._own[name] for name in chosen]
            frame = self._frame if chosen is self.names else self._frame.select(own)
            self._computed = chosen, compute(frame)
        return self._computed[1]

    def _block(self, frame: nw.DataFrame[IntoDataFrame], wanted: Sequence[Wanted]) -> Block:
        kept = {str(name): name for name in frame.columns}
        return {
            (name, role): _cells(name, frame.get_column(kept[name]), role, self._parse)
            for name, role in wanted
        }


def _check_lazy_type(name: str, kind: nw.dtypes.DType) -> None:
    """Refuse a declared type that holds no numbers before a lazy frame is computed."""
    if kind in (nw.Datetime, nw.Date):
        check_arrow_type(name, pa.timestamp("us"))
    known = (nw.Boolean, nw.String, nw.Unknown, nw.Duration, nw.Object, nw.Categorical, nw.Enum)
    if not (kind.is_numeric() or kind in known):
        raise ColumnError(
            f"Column {shown(name)} has type {kind}, which is not numeric. Choose a numeric column, "
            "or convert it first."
        )


def compute(frame: nw.LazyFrame[IntoLazyFrame]) -> nw.DataFrame[IntoDataFrame]:
    """Compute a lazy frame; what its own library says of a failure may quote cells."""
    try:
        return frame.collect()
    except Exception:  # noqa: S110 - every library has errors of its own
        pass
    raise DataError("The lazy frame cannot be computed. Compute it first, and pass the result.")


def _is_array(series: nw.Series[IntoSeries]) -> bool:
    """Say whether pandas keeps the column as an array of NumPy."""
    kind = getattr(series.to_native(), "dtype", None)
    return series.implementation.is_pandas() and isinstance(kind, np.dtype)


def _is_untyped(series: nw.Series[IntoSeries], role: Role) -> bool:
    """Say whether pandas keeps Python's objects, which Arrow may refuse by what they are."""
    kind = getattr(series.to_native(), "dtype", None)
    if series.dtype == nw.Object or isinstance(kind, np.dtypes.ObjectDType):
        return True
    # Categories that pandas keeps in Arrow are text or numbers; as Python's they may be no text.
    is_arrow = hasattr(kind, "pyarrow_dtype")
    if role == "number" or is_arrow or not series.implementation.is_pandas_like():
        return False
    objects = series.dtype in (nw.Categorical, nw.Enum)
    return objects or getattr(kind, "storage", None) == "python"


def _cells(name: str, series: nw.Series[IntoSeries], role: Role, parse: Parse | None) -> Cells:
    """Return the cells of a column as its role wants them, if its declared type allows that."""
    if _is_untyped(series, role):
        return untyped_cells(series.to_list(), role, parse)
    if role == "number" and _is_array(series):
        array: Array = series.to_numpy()
        check_array_type(array.dtype, name)
        return array_to_floats(array)
    kind = getattr(series.to_native(), "dtype", None)
    categories = getattr(getattr(kind, "categories", None), "dtype", None)
    if role == "number" and isinstance(categories, np.dtypes.ObjectDType):
        # Whether such categories happen to be numbers depends on records.
        raise ColumnError(
            f"Column {name!r} has categories of mixed types. Convert it to float64 first."
        )
    arrow = to_arrow(series)
    if arrow is None:
        raise ColumnError(
            f"Column {name!r} has type {kind}, which is not supported. Convert it to float64 first."
        )
    return arrow_cells(arrow, role, parse)


def to_arrow(series: nw.Series[IntoSeries]) -> pa.ChunkedArray | None:
    """Return a column as Arrow keeps it; None if its type is none that Arrow knows."""
    # What becomes of a kind of column that no library knows could depend on its records.
    if series.dtype == nw.Unknown and series.implementation.is_pandas_like():
        return None
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):  # narwhals would make one array of its pieces
        return native
    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError):
        return None


class UntypedSource(Source):
    """Columns whose cells have a type of their own each: roles are the types."""

    def __init__(self, names: Sequence[str], parse: Parse | None) -> None:
        self.names, self._parse = names, parse

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        for name, _ in wanted:
            pick_column(self.names, name)
        return self._block(wanted, {name: () for name, _ in wanted})

    def _block(self, wanted: Sequence[Wanted], cells: Mapping[str, Sequence[object]]) -> Block:
        return {one: untyped_cells(list(cells[one[0]]), one[1], self._parse) for one in wanted}


def untyped_cells(cells: list[object], role: Role, parse: Parse | None) -> Cells:
    """Return cells that each have a type of their own as their role wants them."""
    if role == "number":
        return objects_to_floats(cells, parse)
    return cells if role == "id" else texts(cells)


def texts(cells: list[Any]) -> pa.Array:
    """Return the text of untyped cells as bytes; what is no text is missing."""
    encoded = [
        str.encode(cell, "utf-8", "surrogatepass") if issubclass(type(cell), str) else None
        for cell in cells
    ]
    return pa.array(encoded, pa.large_binary())


def arrow_cells(cells: pa.Array | pa.ChunkedArray, role: Role, parse: Parse | None) -> Cells:
    """Return the numbers in text, if the caller said how they are written; else the cells.

    Durations are numbers of seconds.
    """
    pieces = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    if role == "number" and pa.types.is_duration(cells.type):
        return np.concatenate([np.empty(0), *map(arrow_to_floats, pieces)])
    if role != "number" or parse is None or not is_text(cells.type):
        return _one(cells)
    numbers = (arrow_text_to_floats(piece, parse) for piece in pieces)
    return np.concatenate([np.empty(0), *numbers])


def _one(cells: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a chunked array as one; text gets wide offsets, so that it always fits.

    Pieces may have dictionaries of their own, which together may hold more than there are indices.
    """
    if not isinstance(cells, pa.ChunkedArray):
        return cells
    if cells.num_chunks == 1:
        return cells.chunk(0)
    if pa.types.is_dictionary(cells.type) and cells.num_chunks:
        return pa.concat_arrays(list(map(decoded, cells.chunks)))
    if pa.types.is_string(cells.type) or pa.types.is_binary(cells.type):
        cells = cells.cast(pa.large_binary())
    joined = cells.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
