"""The one front door: which table holds the data, decided by their type, which is public."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from numbers import Integral, Number
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tametail._shown import shown
from tametail.engines import Engine
from tametail.engines.cells import Array
from tametail.engines.half_lines import ClippedTable, HalfLines
from tametail.engines.keyed import GroupedTable
from tametail.engines.local import LocalEngine, Progress
from tametail.engines.persons.engine import PersonsEngine
from tametail.engines.sql.kinds import is_database
from tametail.engines.tables import Table
from tametail.engines.tables.computed import ComputedTable, Selection, is_computed
from tametail.engines.tables.csv import CsvTable
from tametail.engines.tables.files import find_files, kind_of
from tametail.engines.tables.frames import from_frame, is_frame, is_spark, pick_column
from tametail.engines.tables.later import LaterTable
from tametail.engines.tables.memory import (
    ColumnsTable,
    MatrixTable,
    are_durations,
    from_cells,
    from_durations,
    from_rows,
    width_of_rows,
)
from tametail.engines.tables.parquet import ParquetTable
from tametail.engines.tables.raw import CsvSource, FrameSource, ParquetSource, Source
from tametail.engines.tables.streams import (
    ArrowSource,
    DatasetSource,
    JsonSource,
    StreamSource,
    format_of,
    is_dataset,
    is_stream,
)
from tametail.engines.text import objects_to_floats
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.keys import Key
from tametail.parse import Parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ADVICE = (
    "pass a list or an array of numbers, a frame and a column, or the path of a file and a column."
)

#: Libraries whose frames can be grouped.
_LIBRARIES = ("pandas", "polars", "pyarrow", "narwhals", "pyspark")

#: One name, several, or none.
Columns = str | int | Sequence[str | int] | None
Person = str | Sequence[str] | None


def open_table(
    data: object,
    columns: Columns = None,
    progress: Progress | None = None,
    parse: Parse | None = None,
    person: Person = None,
    where: str | None = None,
    dim: int | None = None,
    table: str | None = None,
    lines: HalfLines | None = None,
) -> Engine:
    """Return the engine over one or several columns of ``data``.

    Parameters
    ----------
    data
        A path, a glob or a folder; a list of paths, if ``columns`` are given; a frame; a Spark
        frame; or numbers: an array of one or two dimensions, or a list, whose items are cells, or
        rows if the first of them is one.
    columns
        A name or a list of names. None: the only column of a frame or a file, all columns of a
        matrix.
    progress
        Called with the part of a pass that is done, in steps of 5%.
    parse
        How text is read as numbers.
    person
        The column, or columns, whose value says whose record it is: the engine answers about one
        row per person.
    where
        A condition; a record for which it is not true is missing.
    dim
        How many columns there are, if the caller said so: with several, the items of a list are
        rows, whatever the first is.
    table
        The table, if data is a database.
    lines
        Half lines to which records are clipped first: those of persons, and of several columns.

    Examples
    --------
    >>> open_table([1.0, 2.5, None]).size, open_table(np.array([[1, 2], [3, 4]])).columns
    (3, ('0', '1'))
    """
    _refuse_grouped(data)
    names = _names(columns)
    if is_database(data, table):
        from tametail.engines.sql.opening import Wish, open_database

        wish = Wish(names, where, _people(person), parse=parse, progress=progress, lines=lines)
        return open_database(data, table, wish)
    selects = person is not None or where is not None
    if selects or (names is not None and _has_computed(data, names, parse)):
        return _open_selection(data, names, person, where, progress, parse, lines)
    if is_spark(data):
        if lines is not None and names is not None and len(names) > 1:  # one: its method clips it
            return _select_in_spark(data, names, None, None, parse, lines)
        return _open_spark(data, names, parse)
    if names is None and parse is None and isinstance(data, list | tuple):
        width = dim if (dim or 1) > 1 else width_of_rows(data)
        if width is not None:
            return _local(from_rows(data, width), progress, lines)
    return _local(_table(data, names, parse), progress, lines)


def _refuse_grouped(data: object) -> None:
    """Refuse what a frame's own groupby gives: its items are groups, and no records."""
    kind = type(data)
    library = kind.__module__.partition(".")[0] in _LIBRARIES
    if library and (kind.__name__.endswith("GroupBy") or kind.__name__ == "GroupedData"):
        raise ParameterError(
            f"data of type {kind.__name__} are groups, not records: pass the frame itself, and "
            "write mean(frame, 'charge', by='state', ...)."
        )


def _local(table: Table, progress: Progress | None, lines: HalfLines | None) -> Engine:
    """Return the engine over a table; one column by itself is clipped by its method."""
    if lines is not None and len(table.columns) > 1:
        return LocalEngine(ClippedTable(table, lines), progress)
    return LocalEngine(table, progress)


def _open_selection(
    data: object,
    names: list[str] | None,
    person: Person,
    where: str | None,
    progress: Progress | None,
    parse: Parse | None,
    lines: HalfLines | None,
) -> Engine:
    if names is None:
        raise ParameterError("beside person= and where= a column is named: write column='charge'.")
    if person is None and len(names) == 1:  # its method clips it
        lines = None
    if is_spark(data):
        return _select_in_spark(data, names, person, where, parse, lines)
    selection = Selection(open_source(data, parse), names, where, _people(person), lines=lines)
    if person is None:
        return LocalEngine(ComputedTable(selection), progress, filtered=selection.is_filtered)
    return PersonsEngine(selection, progress)


def _select_in_spark(
    frame: DataFrame,
    names: list[str],
    person: Person,
    where: str | None,
    parse: Parse | None,
    lines: HalfLines | None,
) -> Engine:
    from tametail.engines.spark.persons import SparkPersons
    from tametail.engines.spark.selection import SparkSelection

    _check_no_parse(parse)
    selection = SparkSelection(frame, names, where, _people(person), lines=lines)
    if person is None:
        return _open_spark(selection.values, names, None, selection.left_out)
    return SparkPersons(selection)


def _people(person: Person) -> list[str]:
    return [] if person is None else [person] if isinstance(person, str) else list(person)


def _has_computed(data: object, names: list[str], parse: Parse | None) -> bool:
    """Say whether a name is none, but a computation, such as "charge / nights"."""
    if not any(sign in name for name in names for sign in "+-*/`"):
        return False
    known = _spark_names(data) if is_spark(data) else open_source(data, parse).names
    return any(is_computed(known, name) for name in names)


def _spark_names(frame: DataFrame) -> Sequence[str]:
    names: Sequence[str] = frame.columns
    return names


def open_one(data: object) -> Engine:
    """Return the engine over data that are one column, whose rows have stable positions."""
    engine = LocalEngine(_table(data, None, None)) if is_frame(data) else open_table(data)
    if len(engine.columns) != 1:
        raise ColumnError(
            "the data have 2 dimensions: pass one column, a one-dimensional array or a list."
        )
    return engine


def open_groups(
    data: object,
    columns: Columns,
    by: Sequence[str],
    keys: Sequence[Key] | None = None,
    parse: Parse | None = None,
    *,
    person: Person = None,
    where: str | None = None,
    progress: Progress | None = None,
    table: str | None = None,
    lines: HalfLines | None = None,
) -> Engine:
    """Return columns of a frame or of files beside the columns that their rows are grouped by.

    Public ``keys`` that the declared types of these columns cannot hold are refused.
    """
    _refuse_grouped(data)
    names = _names(columns)
    if is_database(data, table):
        from tametail.engines.sql.opening import Wish, open_database

        wish = Wish(names, where, _people(person), by, keys, parse, progress, lines)
        return open_database(data, table, wish)
    is_file = (
        isinstance(data, str | os.PathLike | list | tuple) or is_dataset(data) or is_stream(data)
    )
    if names is None or not (is_spark(data) or is_frame(data) or is_file):
        raise ParameterError(
            "by= needs a frame or a file and column=..., and numbers without a name are not "
            "grouped here: write mean(frame, 'charge', by='state', ...)."
        )
    if is_spark(data):
        return _group_in_spark(data, names, by, keys, person, where, parse, lines)
    selection = Selection(open_source(data, parse), names, where, _people(person), by, lines)
    grouped = GroupedTable(selection, progress)
    if keys is not None:
        grouped.check(keys)
    return grouped


def _group_in_spark(
    frame: DataFrame,
    names: list[str],
    by: Sequence[str],
    keys: Sequence[Key] | None,
    person: Person,
    where: str | None,
    parse: Parse | None,
    lines: HalfLines | None,
) -> Engine:
    from tametail.engines.spark.groups import SparkGroups
    from tametail.engines.spark.selection import SparkSelection

    _check_no_parse(parse)
    groups = SparkGroups(SparkSelection(frame, names, where, _people(person), by, lines))
    if keys is not None:
        groups.check(keys)
    return groups


def open_rows(data: object) -> Engine:
    """Return the engine over all columns of a matrix, a list of rows or a frame."""
    flat = not is_frame(data) and getattr(data, "ndim", 2) < 2
    if flat or isinstance(data, str | os.PathLike) or is_spark(data):
        raise ParameterError(
            f"data of type {type(data).__name__} cannot be read: pass a matrix with a row for each "
            "record: a two-dimensional array, a frame whose columns are all numeric, or a list of "
            "rows."
        )
    if is_frame(data):
        return LocalEngine(from_frame(data, None, None))
    return LocalEngine(from_rows(data) if isinstance(data, list | tuple) else _numbers(data, None))


def _table(data: object, names: list[str] | None, parse: Parse | None) -> Table:
    wanted: list[str | None] = [None] if names is None else [*names]
    if isinstance(data, str | os.PathLike):
        return _open_files([data], wanted, parse)
    if is_frame(data):
        return from_frame(data, wanted, parse)
    if is_stream(data) or is_dataset(data):
        return _waiting(open_source(data, parse), wanted)
    if names is None:
        return _numbers(data, parse)
    if isinstance(data, list | tuple):
        return _open_files(data, wanted, parse)
    given = shown(names[0] if len(names) == 1 else names)
    raise ParameterError(
        f"column={given} is given, but {type(data).__name__} has no columns that are known here: "
        "pass a frame of pandas or Polars, a table of Arrow, or the path of a file."
    )


def _names(columns: Columns) -> list[str] | None:
    """Return the names as text: pandas numbers columns that have none."""
    if columns is None:
        return None
    given = columns if isinstance(columns, list | tuple) else [columns]
    if not given or not all(map(_is_name, given)):
        raise ParameterError(
            f"column of type {type(columns).__name__} is neither a name nor a list of names: write "
            "column='a', or column=['a', 'b'] for several."
        )
    names = [str(name) for name in given]
    if len(set(names)) < len(names):
        raise ParameterError("column= names a column twice: name each once.")
    return names


def _is_name(name: object) -> bool:
    if type(name) is tuple:  # a name of several levels, which pandas has
        return bool(name) and all(map(_is_name, name))
    return isinstance(name, str) or (isinstance(name, Integral) and abs(int(name)) < 1 << 63)


def _open_spark(
    frame: DataFrame,
    names: list[str] | None,
    parse: Parse | None,
    left_out: DataFrame | None = None,
) -> Engine:
    _check_no_parse(parse)
    if names is None or len(names) == 1:
        from tametail.engines.spark.column import SparkEngine

        return SparkEngine(frame, None if names is None else names[0], left_out)
    from tametail.engines.spark.table import SparkTableEngine

    return SparkTableEngine(frame, names, left_out)


def _check_no_parse(parse: Parse | None) -> None:
    if parse is not None:
        raise ParameterError(
            "parse= is not there for Spark frames: cast the column before, with Spark's "
            "regexp_replace and try_cast, so that what is no number becomes NULL."
        )


def _open_files(paths: Sequence[object], wanted: list[str | None], parse: Parse | None) -> Table:
    files = find_all(paths, parse)
    kind = kind_of(files, parse)
    if kind in _SOURCES:
        return _waiting(_SOURCES[kind](files, parse), wanted)
    return (ParquetTable if kind == "Parquet" else CsvTable)(files, wanted, parse)


def _waiting(source: Source, wanted: list[str | None]) -> Table:
    """Return the table of a source whose records are read when they are asked for."""
    return ComputedTable(Selection(source, [pick_column(source.names, name) for name in wanted]))


#: Kinds of files that are read by their sources alone.
_SOURCES: dict[str, Callable[[list[Path], Parse | None], Source]] = {
    "Arrow": ArrowSource,
    "JSON lines": JsonSource,
}


def open_source(data: object, parse: Parse | None = None) -> Source:
    """Return the source of a frame, of files or of a stream; anything else has no named columns."""
    if is_frame(data):
        return FrameSource(data, parse)
    if is_dataset(data):
        return DatasetSource(data, parse)
    if is_stream(data):
        format_of(parse)
        return StreamSource(data, parse or Parse(), lambda path, said: _source([path], said))
    if not isinstance(data, str | os.PathLike | list | tuple):
        raise ParameterError(
            f"data of type {type(data).__name__} have no named columns: person=, where= and "
            "computed columns are for frames and for files."
        )
    return _source(find_all(data, parse), parse)


def _source(files: list[Path], parse: Parse | None) -> Source:
    kind = kind_of(files, parse)
    if kind in _SOURCES:
        return _SOURCES[kind](files, parse)
    return (ParquetSource if kind == "Parquet" else CsvSource)(files, parse)


def find_all(named: object, parse: Parse | None = None) -> list[Path]:
    """Return the files that a path, or a list of paths, names."""
    given = named if isinstance(named, list | tuple) else [named]
    paths = [path for path in given if isinstance(path, str | os.PathLike)]
    if len(paths) < len(given):
        raise ParameterError(
            "a list beside column= is a list of paths, and one of its items is none: leave column "
            "out if the list holds numbers."
        )
    if len(paths) == 1:
        files = find_files(paths[0], parse)
    else:
        found = (_one_of(path, position, parse) for position, path in enumerate(paths, 1))
        files = [file for each in found for file in each]
    if not files:
        raise ParameterError("the list of paths is empty: name a file.")
    return files


def _one_of(path: str | os.PathLike[str], position: int, parse: Parse | None) -> list[Path]:
    """Return the files of one item of a list; an item that is no path may be a record."""
    with suppress(DataError):
        return find_files(path, parse)
    raise DataError(
        f"item {position} of the list of paths is no file that can be read: name Parquet or CSV "
        "files, or leave column out if the list holds records."
    )


def _read_text(array: Array, parse: Parse) -> Array:
    """Return an array with its text read as numbers; one that is declared as numbers as it is."""
    if array.dtype.kind not in "OU":
        return array
    cells = np.ma.filled(array.astype(object), None).reshape(-1).tolist()
    return objects_to_floats(cells, parse).reshape(array.shape)


def _numbers(data: object, parse: Parse | None) -> Table:
    """Return the table of numbers in an order of their own; whatever has none is refused."""
    if isinstance(data, pa.Array):
        data = pa.chunked_array([data])
    if isinstance(data, pa.ChunkedArray):
        return ColumnsTable([data], ["0"], parse)
    if hasattr(data, "__array__") and not isinstance(data, np.ndarray | Number):
        data = np.asarray(data)
    if isinstance(data, np.ndarray):
        return MatrixTable(data if parse is None else _read_text(data, parse))
    refused = isinstance(data, Mapping | Set | str | bytes | bytearray | memoryview)
    if refused or not hasattr(data, "__iter__"):
        raise ParameterError(f"data of type {type(data).__name__} cannot be read: {_ADVICE}")
    if isinstance(data, Iterator):  # read when it is asked about, after a ledger was charged
        return LaterTable(("0",), lambda: MatrixTable(objects_to_floats(data, parse)))
    return from_durations(data) if are_durations(data) else from_cells(data, parse)
