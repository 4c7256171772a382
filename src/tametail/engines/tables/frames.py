"""Frames (pandas, Polars, Arrow and what else narwhals knows): find a column by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from tametail.engines.cells import cells_to_floats, check_arrow_type
from tametail.errors import ColumnError, DataError, ParameterError


def is_frame(data: Any) -> bool:
    """Say whether ``data`` is a frame or a series that narwhals knows, without importing any."""
    try:
        nw.from_native(data, allow_series=True)
    except TypeError:
        return False
    except nw.exceptions.DuplicateError:
        return True
    return True


def is_spark(data: Any) -> bool:
    """Say whether ``data`` is a Spark frame, of a classic session or of Spark Connect."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def column_of(data: Any, column: str | None) -> Any:
    """Return the column as a NumPy array or an Arrow chunked array."""
    native = _known(data)
    if isinstance(native, nw.LazyFrame):
        names = native.collect_schema().names()
        native = _computed(native.select(nw.col(pick_column(names, column))))
    if isinstance(native, nw.DataFrame):
        return _values(native.get_column(pick_column(native.columns, column)))
    if column is not None:
        raise ParameterError(
            f"column={column!r} is given, but a series has no columns: leave column out."
        )
    return _values(native)


def pick_column(names: Sequence[str], column: str | None) -> str:
    """Return the column's name, or the only one there is."""
    if column is None:
        if len(names) == 1:
            return names[0]
        raise ColumnError(
            f"the data have {len(names)} columns: write column=..., one of {list(names)}."
        )
    # pandas may number its columns. Names that are the same twice are the engine's to refuse.
    same = list({name for name in names if str(name) == str(column)})
    if len(same) > 1:
        raise ColumnError(f"several columns are called {column!r}: rename all but one.")
    if not same:
        close = difflib.get_close_matches(str(column), [str(name) for name in names], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {list(names)}."
        raise ColumnError(f"there is no column {column!r}: {hint}")
    return same[0]


def _known(data: Any) -> Any:
    try:
        return nw.from_native(data, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise ColumnError("several columns have the same name: rename all but one.") from None


def _computed(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Compute a lazy frame; what its own library says of a failure may quote cells."""
    try:
        return frame.collect()
    except Exception:  # noqa: S110 - every library has errors of its own
        pass
    raise DataError("the lazy frame cannot be computed: compute it before, and pass the result.")


def _values(series: nw.Series[Any]) -> Any:
    if series.dtype == nw.Object:
        return cells_to_floats(series.to_list())
    if series.implementation.is_pandas() and isinstance(series.to_native().dtype, np.dtype):
        return series.to_numpy()
    categories = getattr(getattr(series.to_native(), "dtype", None), "categories", None)
    if isinstance(getattr(categories, "dtype", None), np.dtypes.ObjectDType):
        # Whether such categories happen to be numbers depends on records.
        raise ColumnError(
            f"column {series.name!r} has categories of any type: convert it to float64 before."
        )
    try:
        values = series.to_arrow()
    except (pa.ArrowException, TypeError):
        raise ColumnError(
            f"column {series.name!r} has type {series.to_native().dtype}, which cannot be read: "
            "convert it to float64 before."
        ) from None
    check_arrow_type(str(series.name), values.type)
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
