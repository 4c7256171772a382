"""Frames (pandas, Polars, Arrow and what else narwhals knows): find a column by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from tametail.engines.cells import cells_to_floats, check_arrow_type
from tametail.errors import ColumnError


def is_frame(data: Any) -> bool:
    """Say whether ``data`` is a frame or a series that narwhals knows, without importing any."""
    try:
        nw.from_native(data, allow_series=True)
    except TypeError:
        return False
    return True


def column_of(data: Any, column: str | None) -> Any:
    """Return the column as a NumPy array or an Arrow chunked array."""
    native = nw.from_native(data, allow_series=True)
    if isinstance(native, nw.LazyFrame):
        name = pick_column(native.collect_schema().names(), column)
        series = native.select(nw.col(name)).collect()[name]
    elif isinstance(native, nw.DataFrame):
        series = native[pick_column(native.columns, column)]
    else:
        series = native
    return _values(series)


def pick_column(names: Sequence[str], column: str | None) -> str:
    """Return the column's name, or the only one there is."""
    if column is None:
        if len(names) == 1:
            return names[0]
        raise ColumnError(
            f"the data have {len(names)} columns: write column=..., one of {list(names)}."
        )
    if column not in names:
        close = difflib.get_close_matches(str(column), [str(name) for name in names], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {list(names)}."
        raise ColumnError(f"there is no column {column!r}: {hint}")
    return column


def _values(series: nw.Series[Any]) -> Any:
    if series.dtype == nw.Object:
        return cells_to_floats(series.to_list())
    if series.implementation.is_pandas() and isinstance(series.to_native().dtype, np.dtype):
        return series.to_numpy()
    values = series.to_arrow()
    check_arrow_type(str(series.name), values.type)
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
