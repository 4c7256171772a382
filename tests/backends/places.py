"""Every place in which data can lie: the same records, written by everyone who writes them."""

from __future__ import annotations

import csv
import itertools
import json
import os
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ..spark import local_session  # noqa: TID252
from .datasets import TYPES, Dataset

#: What ``open_table`` and ``mean`` take to find the data.
Place = dict[str, Any]

GROUP_ROWS = 8

_numbers = itertools.count()


def _new(folder: Path, suffix: str) -> Path:
    return folder / f"d{next(_numbers)}{suffix}"


@cache
def _duck() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


# ------------------------------------------------------------------------------------------ files


def write_pyarrow(data: Dataset, folder: Path) -> Path:
    path = _new(folder, ".parquet")
    pq.write_table(data.table, path, row_group_size=GROUP_ROWS)
    return path


def write_pyarrow_without_statistics(data: Dataset, folder: Path) -> Path:
    path = _new(folder, ".parquet")
    pq.write_table(data.table, path, row_group_size=GROUP_ROWS, write_statistics=False)
    return path


def write_pyarrow_with_pages(data: Dataset, folder: Path) -> Path:
    """Write statistics for pages as well, in which readers may skip, and no dictionaries."""
    path = _new(folder, ".parquet")
    pq.write_table(
        data.table, path, row_group_size=2 * GROUP_ROWS, write_page_index=True,
        use_dictionary=False, data_page_size=64, version="2.6",
    )  # fmt: skip
    return path


def write_polars(data: Dataset, folder: Path) -> Path:
    path = _new(folder, ".parquet")
    pl.from_arrow(data.table).write_parquet(path, row_group_size=GROUP_ROWS, statistics="full")
    return path


def write_duckdb(data: Dataset, folder: Path) -> Path:
    path = _new(folder, ".parquet")
    _duck().from_arrow(data.table).write_parquet(str(path))
    return path


def write_spark(data: Dataset, folder: Path) -> Path:
    """Write a folder of one file, and return the file."""
    path = _new(folder, "-spark")
    _spark_frame(data).coalesce(1).write.parquet(str(path))
    return next(path.glob("*.parquet"))


WRITERS: dict[str, Callable[[Dataset, Path], Path]] = {
    "pyarrow": write_pyarrow,
    "pyarrow without statistics": write_pyarrow_without_statistics,
    "pyarrow with pages": write_pyarrow_with_pages,
    "polars": write_polars,
    "duckdb": write_duckdb,
}


#: The same, and Spark, which not every environment has.
ALL_WRITERS = WRITERS | {"spark": write_spark}


def parquet(writer: str) -> Callable[[Dataset, Path], Place]:
    return lambda data, folder: {"data": ALL_WRITERS[writer](data, folder)}


def csv_file(data: Dataset, folder: Path) -> Place:
    """Write a CSV file in which every text is quoted."""
    path = _new(folder, ".csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(data.names.values())
        writer.writerows(data.rows)
    return {"data": path, "keys_are_text": True}


def _in_folders(
    data: Dataset, folder: Path, suffix: str, write: Callable[[Dataset, Path], Any]
) -> Path:
    """Write each half of the rows below a folder whose name is one column more."""
    top = _new(folder, suffix)
    half = len(data) // 2
    for part, rows in (("one", slice(None, half)), ("two", slice(half, None))):
        (top / f"part={part}").mkdir(parents=True)
        write(data.with_rows(data.rows[rows]), top / f"part={part}")
    return top


def parquet_in_folders(data: Dataset, folder: Path) -> Place:
    return {"data": _in_folders(data, folder, "-hive", write_pyarrow)}


def csv_in_folders(data: Dataset, folder: Path) -> Place:
    return {"data": _in_folders(data, folder, "-hive", csv_file), "keys_are_text": True}


def json_array(data: Dataset, folder: Path) -> Place:
    path = _new(folder, ".json")
    names = list(data.names.values())
    path.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in data.rows]))
    return {"data": path}


# ----------------------------------------------------------------------------------------- frames


def arrow(data: Dataset, folder: Path) -> Place:
    return {"data": data.table}


def batches(data: Dataset, folder: Path) -> Place:
    """Return a reader of batches, which can be read once."""
    return {"data": data.table.to_reader(max_chunksize=GROUP_ROWS)}


def dict_of_arrays(data: Dataset, folder: Path) -> Place:
    """Return columns in lists, and in arrays of NumPy and Arrow."""
    import numpy as np

    found: dict[str, Any] = {data.names[role]: cells for role, cells in data.columns.items()}
    found[data.names["value"]] = np.array(data.columns["value"], dtype=np.float64)
    found[data.names["second"]] = pa.array(data.columns["second"], pa.float64())
    found[data.names["person"]] = np.array([*data.columns["person"], None], dtype=object)[:-1]
    return {"data": found}


def pandas(data: Dataset, folder: Path) -> Place:
    return {"data": data.table.to_pandas(types_mapper=_pandas_type)}


def _pandas_type(kind: pa.DataType) -> Any:
    import pandas as pd

    return pd.Int64Dtype() if kind == pa.int64() else None


def polars(data: Dataset, folder: Path) -> Place:
    return {"data": pl.from_arrow(data.table)}


def polars_lazy(data: Dataset, folder: Path) -> Place:
    return {"data": pl.scan_parquet(write_polars(data, folder))}


# -------------------------------------------------------------------------------------- databases


def duckdb_relation(writer: str) -> Callable[[Dataset, Path], Place]:
    def open_relation(data: Dataset, folder: Path) -> Place:
        return {"data": _duck().read_parquet(str(ALL_WRITERS[writer](data, folder)))}

    return open_relation


def duckdb_view(data: Dataset, folder: Path) -> Place:
    path = write_pyarrow(data, folder)
    _duck().execute(f"CREATE OR REPLACE VIEW seen AS SELECT * FROM '{path}'")
    return {"data": _duck(), "table": "seen"}


def duckdb_hive(data: Dataset, folder: Path) -> Place:
    top = _in_folders(data, folder, "-hive", write_pyarrow)
    files = str(top / "*" / "*.parquet")
    return {"data": _duck().read_parquet(files, hive_partitioning=True)}


def table_name(data: Dataset) -> str:
    """Return the name of one of the columns, which may be one that compilers use, in quotes."""
    return _quoted(data.names.get("second", "records"))


def duckdb_table(data: Dataset, folder: Path, name: str = "") -> Place:
    name = name or table_name(data)
    _duck().register("given", data.table)
    _duck().execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")
    return {"data": _duck(), "table": name}


def duckdb_in_sql(data: Dataset, folder: Path) -> Place:
    """Return a table about which DuckDB computes every answer itself."""
    return duckdb_table(data, folder, f"d{next(_numbers)}") | {"in_sql": True}


@cache
def _clickhouse() -> Any:
    from chdb.session import Session

    return Session()


def clickhouse(data: Dataset, folder: Path) -> Place:
    """Write a Parquet file, and return a table that ClickHouse has read it to."""
    name, kinds = f"d{next(_numbers)}", {pa.float64(): "Float64", pa.int64(): "Int64"}
    kinds |= {pa.string(): "String", pa.bool_(): "Bool"}
    fields = ", ".join(
        f"{_clickhouse_name(column)} Nullable({kinds[TYPES[role]]})"
        for role, column in data.names.items()
    )
    _clickhouse().query(f"CREATE TABLE {name} ({fields}) ENGINE = MergeTree ORDER BY tuple()")
    if len(data):
        path = write_pyarrow(data, folder)
        _clickhouse().query(f"INSERT INTO {name} SELECT * FROM file('{path}', Parquet)")
    return {"data": _clickhouse(), "table": name}


def _clickhouse_name(name: str) -> str:
    return "`{}`".format(name.replace("\\", "\\\\").replace("`", "\\`"))


def sqlite(data: Dataset, folder: Path) -> Place:
    connection = sqlite3.connect(":memory:")
    kinds = {pa.float64(): "REAL", pa.int64(): "INTEGER", pa.string(): "TEXT", pa.bool_(): ""}
    fields = ", ".join(f"{_quoted(name)} {kinds[TYPES[role]]}" for role, name in data.names.items())
    name = table_name(data)
    connection.execute(f"CREATE TABLE {name} ({fields})")
    marks = ", ".join("?" * len(data.names))
    connection.executemany(f"INSERT INTO {name} VALUES ({marks})", data.rows)
    connection.commit()
    return {"data": connection, "table": name}


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


class Postgres:
    """One connection, in whose tables data sets lie; a table is dropped when the next one comes."""

    def __init__(self, address: str) -> None:
        import psycopg

        self.connection = psycopg.connect(address, autocommit=True)

    def table(self, data: Dataset, folder: Path) -> Place:
        return {"data": self.connection, "table": self._make(data, "")}

    def partitioned(self, data: Dataset, folder: Path) -> Place:
        """Rows with a whole number below 1 lie in one partition, all others in another."""
        whole = _quoted(data.names["whole"])
        name = self._make(data, f" PARTITION BY RANGE ({whole})")
        return {"data": self.connection, "table": name}

    def view(self, data: Dataset, folder: Path) -> Place:
        name = self._make(data, "")
        self.connection.execute(f"CREATE VIEW {name}_view AS SELECT * FROM {name}")
        return {"data": self.connection, "table": f"{name}_view"}

    def _make(self, data: Dataset, options: str) -> str:
        name = f"d{os.getpid()}_{next(_numbers)}"
        kinds = {pa.float64(): "float8", pa.int64(): "bigint", pa.string(): "text"}
        fields = ", ".join(
            f"{_quoted(column)} {kinds.get(TYPES[role], 'boolean')}"
            for role, column in data.names.items()
        )
        run = self.connection.execute
        run(f"CREATE TABLE {name} ({fields}){options}")
        if options:
            run(f"CREATE TABLE {name}_a PARTITION OF {name} FOR VALUES FROM (MINVALUE) TO (1)")
            run(f"CREATE TABLE {name}_b PARTITION OF {name} DEFAULT")
        with self.connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in data.rows:
                copy.write_row(row)
        return name


# ------------------------------------------------------------------------------------------ Spark


def _spark_frame(data: Dataset) -> Any:
    from pyspark.sql import types as kinds

    spark = {
        pa.float64(): kinds.DoubleType(), pa.int64(): kinds.LongType(),
        pa.bool_(): kinds.BooleanType(),
    }  # fmt: skip
    schema = kinds.StructType(
        [
            kinds.StructField(name, spark.get(TYPES[role], kinds.StringType()))
            for role, name in data.names.items()
        ]
    )
    return local_session().createDataFrame(data.rows, schema)


def spark_rows(data: Dataset, folder: Path) -> Place:
    return {"data": _spark_frame(data)}


def spark_kept(data: Dataset, folder: Path) -> Place:
    """Return rows in several partitions and another order, which Spark keeps."""
    return {"data": _spark_frame(data.with_rows(data.rows[::-1])).repartition(3).persist()}


def spark_parquet(writer: str) -> Callable[[Dataset, Path], Place]:
    def open_parquet(data: Dataset, folder: Path) -> Place:
        return {"data": local_session().read.parquet(str(WRITERS[writer](data, folder)))}

    return open_parquet


# -------------------------------------------------------------------------------------------- all

#: Places that need no server; each makes its place from a data set and an empty folder.
PLACES: dict[str, Callable[[Dataset, Path], Place]] = {
    "Arrow": arrow,
    "pandas": pandas,
    "Polars": polars,
    "Polars, lazy": polars_lazy,
    **{f"Parquet by {writer}": parquet(writer) for writer in WRITERS},
    "CSV": csv_file,
    "Parquet in folders": parquet_in_folders,
    "CSV in folders": csv_in_folders,
    "dict of arrays": dict_of_arrays,
    "reader of batches": batches,
    "SQLite": sqlite,
    "ClickHouse": clickhouse,
    "DuckDB table": duckdb_table,
    "DuckDB view": duckdb_view,
    "DuckDB, hive partitions": duckdb_hive,
    **{f"DuckDB over Parquet by {writer}": duckdb_relation(writer) for writer in WRITERS},
}

SPARK_PLACES: dict[str, Callable[[Dataset, Path], Place]] = {
    "Spark": spark_rows,
    "Spark over Parquet by pyarrow": spark_parquet("pyarrow"),
    "Spark over Parquet by polars": spark_parquet("polars"),
    "Parquet by Spark": parquet("spark"),
    "DuckDB over Parquet by Spark": duckdb_relation("spark"),
}

#: Places that hold every text that a data set may have.
ANY_TEXT = frozenset(
    name for name in (*PLACES, *SPARK_PLACES) if not name.startswith(("CSV", "SQLite"))
)
