"""Which engine reads the data: decided by their type, which is public."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np
import pyarrow as pa

from tametail.engines import Engine
from tametail.engines.tables.files import FileEngine, Progress
from tametail.engines.tables.frames import column_of, is_frame, is_spark
from tametail.engines.tables.memory import MemoryEngine
from tametail.errors import ParameterError

_ADVICE = (
    "pass a list or an array of numbers, a frame and a column, or the path of a file and a column."
)


def open_column(data: Any, column: str | None = None, progress: Progress | None = None) -> Engine:
    """Return the engine over one column of ``data``: a path, a frame, or numbers.

    >>> open_column([1.0, 2.5, None]).size
    3
    """
    if isinstance(data, str | os.PathLike):
        return FileEngine(data, column, progress)
    if is_spark(data):
        from tametail.engines.spark.column import SparkEngine

        return SparkEngine(data, column)
    if is_frame(data):
        return MemoryEngine(column_of(data, column))
    if column is not None:
        raise ParameterError(
            f"column={column!r} is given, but {type(data).__name__} has no columns: columns belong "
            "to frames and files."
        )
    return MemoryEngine(_sequence(data))


def _sequence(data: Any) -> Any:
    """Return numbers in an order of their own; whatever has none is refused."""
    if isinstance(data, pa.Array | np.ndarray):
        return data
    if hasattr(data, "__array__") and not isinstance(data, numbers.Number):
        return np.asarray(data)
    if isinstance(data, Iterator):
        return list(data)
    refused = isinstance(data, Mapping | Set | bytes | bytearray | memoryview)
    if refused or not hasattr(data, "__iter__"):
        raise ParameterError(f"data of type {type(data).__name__} cannot be read: {_ADVICE}")
    return data
