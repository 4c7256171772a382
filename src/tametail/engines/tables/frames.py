"""Frames (pandas, Polars, Arrow and what else narwhals knows): find columns by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from tametail._shown import shown
from tametail.engines.cells import check_array_type, check_arrow_type
from tametail.engines.tables import Table
from tametail.engines.tables.later import LaterTable
from tametail.engines.tables.memory import Column, ColumnsTable, MatrixTable
from tametail.engines.text import objects_to_floats
from tametail.errors import ColumnError, DataError, ParameterError
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


def is_spark(data: object) -> bool:
    """Say whether ``data`` is a Spark frame, of a classic session or of Spark Connect."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def from_frame(data: object, wanted: Sequence[str | None] | None, parse: Parse | None) -> Table:
    """Return the table of the wanted columns of a frame or a series; None: of all of them.

    A lazy frame is computed, once, when its records are first asked for.
    """
    frame = check_known(data)
    if isinstance(frame, nw.Series):
        if wanted is not None and wanted != [None]:
            name = wanted[0] if len(wanted) == 1 else wanted
            raise ParameterError(
                f"column={shown(name)} is given, but a series has no columns: leave column out."
            )
        return _eager([frame], ["0"], parse)
    names = frame.collect_schema().names()
    chosen = names if wanted is None else [pick_column(names, name) for name in wanted]
    if isinstance(frame, nw.LazyFrame):
        return _lazy(frame, chosen, parse)
    return _eager([frame.get_column(name) for name in chosen], [*map(str, chosen)], parse)


def durations_of(data: object) -> frozenset[str]:
    """Return the columns of a frame that are declared as durations."""
    frame = check_known(data)
    if isinstance(frame, nw.Series):
        return frozenset({"0"} if frame.dtype == nw.Duration else ())
    return frozenset(
        str(name) for name, kind in frame.collect_schema().items() if kind == nw.Duration
    )


class Names(tuple[str, ...]):
    """Names of columns that may be records; ``unnamed`` is what a message says in their place."""

    unnamed: str | None = None


class AnyName(Names):
    """The names of columns that nothing declares: whatever is asked for may be one."""

    def __contains__(self, name: object) -> bool:
        """Say whether it may be a name: a text with a sign of arithmetic is a computation."""
        return isinstance(name, str) and not any(sign in name for sign in "+-*/`")


def pick_column(names: Sequence[str], column: str | None) -> str:
    """Return the column's name, or the only one there is."""
    if isinstance(names, AnyName):
        if column is None:
            raise ColumnError("no column is chosen, and the data declare none: write column=....")
        return column
    unnamed = names.unnamed if isinstance(names, Names) else None
    if column is None:
        if len(names) == 1 and unnamed is None:
            return names[0]
        which = f"the data have {len(names)} columns: write column=..., one of {list(names)}."
        raise ColumnError(f"no column is chosen: {unnamed}" if unnamed else which)
    # pandas may number its columns. Names that are the same twice are the engine's to refuse.
    same = list({name for name in names if str(name) == str(column)})
    if len(same) > 1:
        raise ColumnError(f"several columns are called {shown(column)}: rename all but one.")
    if not same:
        close = difflib.get_close_matches(str(column), [str(name) for name in names], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {list(names)}."
        if any(isinstance(name, tuple) for name in names):
            hint += " A name of several levels is one item of a list, as in column=[('a', 'x')]."
        raise ColumnError(f"there is no column {shown(column)}: {unnamed or hint}")
    return same[0]


def check_known(data: object) -> Known:
    """Return the frame as narwhals knows it, or say that names are not unique."""
    try:
        return nw.from_native(cast("IntoSeries", data), allow_series=True)
    except nw.exceptions.DuplicateError:
        raise ColumnError("several columns have the same name: rename all but one.") from None


def _lazy(frame: nw.LazyFrame[IntoLazyFrame], names: Sequence[str], parse: Parse | None) -> Table:
    """Return columns of a lazy frame: names and types are schema, its records wait."""
    schema, columns = frame.collect_schema(), tuple(map(str, names))
    for name in names:
        _check_lazy_type(name, schema[name], parse)

    def make() -> Table:
        # All columns at once: computed one by one, their rows may come in other orders.
        computed = compute(frame.select(list(names)))
        return _eager([computed.get_column(name) for name in names], columns, parse)

    return LaterTable(columns, make)


def _check_lazy_type(name: str, kind: nw.dtypes.DType, parse: Parse | None) -> None:
    if kind == nw.String and parse is None:
        check_arrow_type(str(name), pa.string())
    if kind in (nw.Datetime, nw.Date):
        check_arrow_type(str(name), pa.timestamp("us"))
    if not (kind.is_numeric() or kind in (nw.Boolean, nw.String, nw.Unknown, nw.Duration)):
        raise ColumnError(
            f"column {shown(name)} has type {kind}, which is not numeric: choose a numeric column "
            "or convert it before."
        )


def compute(frame: nw.LazyFrame[IntoLazyFrame]) -> nw.DataFrame[IntoDataFrame]:
    """Compute a lazy frame; what its own library says of a failure may quote cells."""
    try:
        return frame.collect()
    except Exception:  # noqa: S110 - every library has errors of its own
        pass
    raise DataError("the lazy frame cannot be computed: compute it before, and pass the result.")


def _eager(
    series: Sequence[nw.Series[IntoSeries]], names: Sequence[str], parse: Parse | None
) -> Table:
    columns = [_values(each, parse) for each in series]
    if len(columns) == 1 and isinstance(columns[0], np.ndarray):
        return MatrixTable(columns[0], names)
    return ColumnsTable(columns, names, parse)


def _values(series: nw.Series[IntoSeries], parse: Parse | None) -> Column:
    """Return the column as its library keeps it, if its declared type holds numbers."""
    kind = getattr(series.to_native(), "dtype", None)
    is_array = series.implementation.is_pandas() and isinstance(kind, np.dtype)
    # pandas does not declare what a column of objects holds.
    of_objects = is_array and isinstance(kind, np.dtypes.ObjectDType)
    if series.dtype == nw.Object or (of_objects and parse is not None):
        return objects_to_floats(series.to_list(), parse)
    if is_array:
        array: Column = series.to_numpy()
        check_array_type(array.dtype)
        return array
    categories = getattr(getattr(kind, "categories", None), "dtype", None)
    if isinstance(categories, np.dtypes.ObjectDType):
        # Whether such categories happen to be numbers depends on records.
        raise ColumnError(
            f"column {series.name!r} has categories of any type: convert it to float64 before."
        )
    values = to_arrow(series)
    if values is None:
        raise ColumnError(
            f"column {series.name!r} has type {kind}, which cannot be read: convert it to float64 "
            "before."
        )
    name = "0" if series.name in (None, "") else str(series.name)  # a series without a name
    check_arrow_type(name, values.type, text=parse is not None)
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def to_arrow(series: nw.Series[IntoSeries]) -> pa.ChunkedArray | None:
    """Return a column as Arrow keeps it; None if its type is none that Arrow knows."""
    # What becomes of a kind of column that no library knows could depend on its records.
    if series.dtype == nw.Unknown and series.implementation.is_pandas_like():
        return None
    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError):
        return None
