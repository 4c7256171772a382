"""The one front door: where the data are, decided by their type, which is public."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from numbers import Integral, Number
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from tametail._shown import shown
from tametail.data import Backend
from tametail.data.cells import Array
from tametail.data.local import Local, Progress
from tametail.data.reader import Reader
from tametail.data.relation import Groups, Relation
from tametail.data.sources import Source
from tametail.data.sources.arrays import (
    ArraySource,
    LaterSource,
    are_durations,
    rows_of,
    seconds_of,
    width_of_rows,
)
from tametail.data.sources.arrow import ArrowSource, DatasetSource, is_dataset, places_of
from tametail.data.sources.columns import ColumnsSource
from tametail.data.sources.csv import CsvSource
from tametail.data.sources.excel import ExcelSource
from tametail.data.sources.files import find_files, kind_of, refuse_repeated
from tametail.data.sources.folders import FolderSource, given_by_folders
from tametail.data.sources.frames import FrameSource, is_frame, is_series, is_spark
from tametail.data.sources.json import JsonArraySource, JsonSource
from tametail.data.sources.names import pick_column
from tametail.data.sources.parquet import ParquetSource
from tametail.data.sources.readers import (
    ReaderSource,
    StreamSource,
    format_of,
    is_reader,
    is_stream,
    path_of,
)
from tametail.data.sql.kinds import is_database
from tametail.data.text import objects_to_floats
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.ledger.identity import locators_of
from tametail.parse import Parse
from tametail.statistic import RECORDS

_ADVICE = (
    "Pass a list or an array of numbers, a frame and a column, or the path of a file and a column."
)

#: Libraries whose frames can be grouped.
_LIBRARIES = ("pandas", "polars", "pyarrow", "narwhals", "pyspark")

#: One name, several, or none.
Columns = str | int | Sequence[str | int] | None


def open_data(
    data: object,
    columns: Columns = None,
    relation: Relation | None = None,
    *,
    parse: Parse | None = None,
    progress: Progress | None = None,
    n_columns: int | None = None,
    table: str | None = None,
    groups: Groups | None = None,
    counted: bool = False,
    counts_records: bool = False,
) -> Backend:
    """Return the backend over one or several columns of ``data``.

    Parameters
    ----------
    data
        A path, a glob or a folder; a list of paths, if ``columns`` are given; a frame; a Spark
        frame; or numbers: an array of one or two dimensions, or a list, whose items are cells, or
        rows if the first of them is one.
    columns
        A name or a list of names. None: the only column of a frame or a file, all columns of a
        matrix.
    relation
        What is asked about: a condition, persons, columns to group by, bounds.
    parse
        How text is read as numbers.
    progress
        Called with the part of a pass that is done, in steps of 5%.
    n_columns
        How many columns there are, if the caller said so: with several, the items of a list are
        rows, whatever the first is.
    table
        The table, if data is a database.
    groups
        Public keys, which are checked against the declared types of their columns.
    counted
        Whether the number of records is public, so that no record may change it.
    counts_records
        Whether all records are meant, and not numbers, if no column is named.

    Examples
    --------
    >>> open_data([1.0, 2.5, None]).size, open_data(np.array([[1, 2], [3, 4]])).relation.names
    (3, ('0', '1'))
    """
    _refuse_grouped(data)
    names = names_of(columns)
    if names is None and counts_records and _has_records(data, table):
        names = [RECORDS]
    asked = (relation or Relation(())).with_values(names or ())
    if asked.weights is not None and len(asked.values) > 1:
        raise ParameterError("weights= is available for one column at a time.")
    if is_database(data, table):
        from tametail.data.sql.opening import open_database

        return open_database(data, table, asked, parse, progress, groups)
    selects = asked.person or asked.where is not None or asked.weights is not None
    if names is None and selects:
        raise ParameterError(
            "person=, where= and weights= require column=, such as column='charge'."
        )
    if asked.by and (names is None or not _has_names(data)):
        raise ParameterError(
            "by= requires a frame or a file, and column=.... Use mean(frame, 'charge', by='state', "
            "...)."
        )
    if is_spark(data):
        from tametail.data.sql.opening import open_spark

        return open_spark(data, asked, parse, groups)
    if names is not None and not _has_names(data):
        raise _no_columns(data, names, selects=bool(selects))
    is_named = _has_names(data, names)
    source = open_source(data, parse) if is_named else _numbers(data, parse, n_columns)
    if names is not None and isinstance(source, FrameSource) and source.is_series:
        raise _no_columns(data, names, selects=bool(selects))
    if counted and not source.is_counted:
        raise DataError(
            "The number of records of an Excel workbook depends on their cells: a row without any "
            "is not stored. With neighbors='replace-one' that number is public, so save the sheet "
            "as .csv, or use neighbors='add-remove'."
        )
    if is_named:
        source.locators = _locators(data, parse)
    reader = Reader(source, asked if names else asked.with_values(_all(source)))
    if groups is not None:
        reader.check(groups)
    return Local(reader, progress)


def _locators(data: object, parse: Parse | None) -> tuple[str, ...]:
    """Return where named columns lie, for a ledger: files have a place, frames have none."""
    if isinstance(data, str | os.PathLike | list | tuple):
        return locators_of(data, files=find_all(data, parse))
    if is_dataset(data):
        return locators_of(places_of(data))
    return locators_of(path_of(data)) if is_stream(data) else ()


def _has_names(data: object, names: Sequence[str] | None = ()) -> bool:
    """Say whether data have named columns; a list is one of paths only if columns are named."""
    if isinstance(data, list | tuple):
        return names is not None
    return is_spark(data) or _opener_of(data) is not None


def _has_records(data: object, table: str | None) -> bool:
    """Say whether data have records of several columns, by their type: a series has numbers."""
    return is_database(data, table) or (_has_names(data, None) and not is_series(data))


def _no_columns(data: object, names: Sequence[str], *, selects: bool) -> ParameterError:
    if selects:
        return ParameterError(
            f"Data of type {type(data).__name__} have no named columns. person=, where=, "
            "weights= and computed columns require a frame or a file."
        )
    given = shown(names[0] if len(names) == 1 else names)
    return ParameterError(
        f"column={given} is not available for data of type {type(data).__name__}. Pass a pandas or "
        "Polars frame, an Arrow table, or the path of a file."
    )


def _all(source: Source) -> Sequence[str]:
    """Return the columns that are meant where none is named: all of a matrix, the only one else."""
    is_matrix = isinstance(source, ArraySource | LaterSource)
    return source.names if is_matrix else [pick_column(source.names, None)]


def _refuse_grouped(data: object) -> None:
    """Refuse what a frame's own groupby gives: its items are groups, and no records."""
    kind = type(data)
    library = kind.__module__.partition(".")[0] in _LIBRARIES
    if library and (kind.__name__.endswith("GroupBy") or kind.__name__ == "GroupedData"):
        raise ParameterError(
            f"Unsupported data type {kind.__name__}. Pass the frame itself, and use mean(frame, "
            "'charge', by='state', ...)."
        )


def open_one(data: object) -> Backend:
    """Return the backend over data that are one column, whose rows have stable positions."""
    backend = open_data(data, counted=True)
    if len(backend.relation.names) != 1:
        raise ColumnError(
            "The data have 2 dimensions. Pass one column, a one-dimensional array or a list."
        )
    return backend


def open_rows(data: object) -> Backend:
    """Return the backend over all columns of a matrix, a list of rows or a frame."""
    flat = not is_frame(data) and getattr(data, "ndim", 2) < 2
    if flat or isinstance(data, str | os.PathLike) or is_spark(data):
        raise ParameterError(
            f"Unsupported data type {type(data).__name__}. Pass a matrix with one row per record: "
            "a two-dimensional array, a frame of numeric columns, or a list of rows."
        )
    if is_frame(data):
        source: Source = FrameSource(data, None)
    elif isinstance(data, list | tuple):
        source = ArraySource(rows_of(data))
    else:
        source = _numbers(data, None, None)
    return Local(Reader(source, Relation(tuple(source.names))))


def names_of(columns: Columns) -> list[str] | None:
    """Return the names as text: pandas numbers columns that have none."""
    if columns is None:
        return None
    given = columns if isinstance(columns, list | tuple) else [columns]
    if not given or not all(map(_is_name, given)):
        raise ParameterError(
            f"Invalid column= of type {type(columns).__name__}. Use a name, column='a', or a list "
            "of names, column=['a', 'b']."
        )
    names = [str(name) for name in given]
    if len(set(names)) < len(names):
        raise ParameterError("column= names a column twice. Name each column once.")
    return names


def _is_name(name: object) -> bool:
    if type(name) is tuple:  # a name of several levels, which pandas has
        return bool(name) and all(map(_is_name, name))
    return isinstance(name, str) or (isinstance(name, Integral) and abs(int(name)) < 1 << 63)


#: Kinds of files, and what reads them.
_SOURCES: dict[str, Callable[[list[Path], Parse | None], Source]] = {
    "CSV": CsvSource, "Parquet": ParquetSource, "Arrow": ArrowSource, "JSON lines": JsonSource,
    "JSON": JsonArraySource, "Excel": ExcelSource,
}  # fmt: skip


def open_source(data: object, parse: Parse | None = None) -> Source:
    """Return the source of named columns: a frame, files, or a stream."""
    return (_opener_of(data) or _of_files)(data, parse)


def _opener_of(data: object) -> Callable[[Any, Parse | None], Source] | None:
    """Return what opens the named columns of data, by their type; None if they have none."""
    if isinstance(data, str | os.PathLike):
        return _of_files
    if isinstance(data, Mapping):
        return ColumnsSource
    if is_reader(data):
        return ReaderSource
    if is_frame(data):
        return FrameSource
    if is_dataset(data):
        return DatasetSource
    return _of_stream if is_stream(data) else None


def _of_stream(data: IO[bytes], parse: Parse | None) -> Source:
    format_of(parse)
    return StreamSource(data, parse or Parse(), lambda path, said: _source([path], said))


def _of_files(data: object, parse: Parse | None) -> Source:
    """Return the source of files; the names of folders below a folder may be cells."""
    files = find_all(data, parse)
    if isinstance(data, str | os.PathLike) and os.path.isdir(folder := Path(data).expanduser()):
        given = given_by_folders(folder, files)
        if given is not None:
            return FolderSource(given, lambda some: _source(some, parse), parse)
    return _source(files, parse)


def _source(files: list[Path], parse: Parse | None) -> Source:
    return _SOURCES[kind_of(files, parse)](files, parse)


def find_all(named: object, parse: Parse | None = None) -> list[Path]:
    """Return the files that a path, or a list of paths, names."""
    given = named if isinstance(named, list | tuple) else [named]
    paths = [path for path in given if isinstance(path, str | os.PathLike)]
    if len(paths) < len(given):
        raise ParameterError(
            "With column=, a list must contain paths, and one item is not a path. Remove column= "
            "if the list contains numbers."
        )
    if len(paths) == 1:
        files = find_files(paths[0], parse)
    else:
        found = (_one_of(path, position, parse) for position, path in enumerate(paths, 1))
        files = [file for each in found for file in each]
    if not files:
        raise ParameterError("The list of paths is empty. Name a file.")
    refuse_repeated(files)
    return files


def _one_of(path: str | os.PathLike[str], position: int, parse: Parse | None) -> list[Path]:
    """Return the files of one item of a list; an item that is no path may be a record."""
    with suppress(DataError):
        return find_files(path, parse)
    raise DataError(
        f"Item {position} of the list of paths is not a readable file. Name Parquet or CSV files, "
        "or remove column= if the list contains records."
    )


def _read_text(array: Array, parse: Parse) -> Array:
    """Return an array with its text read as numbers; one that is declared as numbers as it is."""
    if array.dtype.kind not in "OU":
        return array
    cells = np.ma.filled(array.astype(object), None).reshape(-1).tolist()
    return objects_to_floats(cells, parse).reshape(array.shape)


def _numbers(data: object, parse: Parse | None, n_columns: int | None) -> Source:
    """Return the source of numbers in an order of their own; whatever has none is refused."""
    if isinstance(data, pa.Array):
        data = pa.chunked_array([data])
    if isinstance(data, pa.ChunkedArray):
        return FrameSource(pa.table({"0": data}), parse)
    if parse is None and isinstance(data, list | tuple):
        width = n_columns if (n_columns or 1) > 1 else width_of_rows(data)
        if width is not None:
            return ArraySource(rows_of(data, width))
    if hasattr(data, "__array__") and not isinstance(data, np.ndarray | Number):
        data = np.asarray(data)
    if isinstance(data, np.ndarray):
        return ArraySource(data if parse is None else _read_text(data, parse))
    refused = isinstance(data, Mapping | Set | str | bytes | bytearray | memoryview)
    if refused or not hasattr(data, "__iter__"):
        raise ParameterError(f"Unsupported data type {type(data).__name__}. {_ADVICE}")
    if isinstance(data, Iterator):  # read when it is asked about, after a ledger was charged
        return LaterSource(lambda: objects_to_floats(data, parse))
    if are_durations(data):
        return ArraySource(seconds_of(data), in_seconds=True)
    return ArraySource(objects_to_floats(data, parse))
