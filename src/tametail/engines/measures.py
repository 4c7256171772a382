"""What columns are measured in, where their declared types say so: durations are in seconds."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tametail.engines.cells import SECONDS
from tametail.engines.open import Columns, find_all, open_source
from tametail.engines.sql.kinds import is_database
from tametail.engines.tables.files import kind_of
from tametail.engines.tables.frames import durations_of, is_frame, is_spark
from tametail.engines.tables.memory import are_durations
from tametail.engines.tables.raw import ParquetSource
from tametail.engines.tables.streams import ArrowSource, DatasetSource, is_dataset
from tametail.parse import Parse


def measures_of(
    data: object,
    columns: Columns,
    found: Sequence[str],
    parse: Parse | None = None,
    table: str | None = None,
) -> tuple[str | None, ...]:
    """Return what the columns that were ``found`` in data are measured in; None: nothing is known.

    A database, Spark and a stream declare no durations here: the first two refuse them, and the
    types of a stream are known only when it is read.

    >>> measures_of(np.array([3, 4], dtype="m8[ms]"), None, ["0"])
    ('s',)
    """
    if is_database(data, table) or is_spark(data):
        return (None,) * len(found)
    holds_cells = columns is None and isinstance(data, list | tuple)
    if are_durations(data) if holds_cells else _is_array_of_durations(data):
        return (SECONDS,) * len(found)
    durations = frozenset() if holds_cells else _durations(data, parse)
    return tuple(SECONDS if name in durations else None for name in found)


def _is_array_of_durations(data: object) -> bool:
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return bool(pa.types.is_duration(data.type))
    return isinstance(data, np.ndarray) and data.dtype.kind == "m"


def _durations(data: object, parse: Parse | None) -> frozenset[str]:
    """Return the columns of a frame or of files that are declared as durations."""
    if is_frame(data):
        return durations_of(data)
    is_file = isinstance(data, str | os.PathLike | list | tuple)
    declared = is_file and kind_of(find_all(data, parse), parse) in ("Parquet", "Arrow")
    if not (declared or is_dataset(data)):
        return frozenset()
    source = open_source(data, parse)
    if not isinstance(source, ParquetSource | ArrowSource | DatasetSource):
        return frozenset()
    return frozenset(field.name for field in source.schema if pa.types.is_duration(field.type))
