"""The records in every database that is spoken to: columns under names of ours, as compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tametail.data.sql.clickhouse import CLICKHOUSE, ClickHouseSession
from tametail.data.sql.dialects import DUCKDB, POSTGRESQL, SPARK, Dialect
from tametail.expressions import Expression
from tametail.expressions.sql import TypedColumn, sql_condition, sql_value

from .examples import COLUMNS, ROWS, TABLE

#: Names of ours for the columns; text is compared by its bytes.
TYPED = {name: TypedColumn(f"n{place}", kind) for place, (name, kind) in enumerate(COLUMNS.items())}


class Database:
    """A table of the records in one database, and how a query is run there."""

    dialect: Dialect

    def query(self, text: str) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def sql(self, expression: Expression) -> str:
        """Return what the compiler of expressions writes."""
        write = sql_condition if expression.is_condition else sql_value
        return write(expression, TYPED, self.dialect.spoken)

    @property
    def source(self) -> str:
        """The table, with columns under names of ours, behind FROM."""
        named = ["n"]
        for name, (own, kind) in TYPED.items():
            column = self.dialect.identifier(name)
            text = self.dialect.binary.format(x=column) if kind == "text" else column
            named.append(f"{text} AS {own}")
        return f"(SELECT {', '.join(named)} FROM expression_records) AS r"

    def columns(
        self, expressions: list[Expression], *, numbers: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return the cells of each expression, in the order of records; conditions as numbers."""
        items = [
            f"{sql_value(each, TYPED, self.dialect.spoken) if numbers else self.sql(each)}"
            f" AS o{place}"
            for place, each in enumerate(expressions)
        ]
        found = self.query(f"SELECT n, {', '.join(items)} FROM {self.source}")
        rows = sorted(found, key=lambda row: row[0])
        return list(zip(*(row[1:] for row in rows), strict=True))

    def kept(self, conditions: list[Expression]) -> list[list[int]]:
        """Return the places of the records that each filter keeps."""
        parts = [
            f"SELECT {place} AS i, n FROM {self.source} WHERE {self.sql(each)}"
            for place, each in enumerate(conditions)
        ]
        found = self.query(" UNION ALL ".join(parts))
        return [sorted(n for i, n in found if i == place) for place in range(len(conditions))]


class DuckDB(Database):
    dialect = DUCKDB

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()
        numbered = TABLE.append_column("n", pa.array(range(len(ROWS))))
        self.connection.register("expression_records", numbered)

    def query(self, text: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(text).fetchall()


class PostgreSQL(Database):
    dialect = POSTGRESQL

    def __init__(self, address: str) -> None:
        import psycopg

        self.connection = psycopg.connect(address, autocommit=True)
        fields = ", ".join(
            f"{POSTGRESQL.identifier(name)} {'float8' if kind == 'number' else 'text'}"
            for name, kind in COLUMNS.items()
        )
        # Temporary: each connection has its own.
        self.connection.execute(f"CREATE TEMPORARY TABLE expression_records (n int, {fields})")
        with self.connection.cursor().copy("COPY expression_records FROM STDIN") as copy:
            for place, row in enumerate(ROWS):
                copy.write_row((place, *row.values()))

    def query(self, text: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(text.encode()).fetchall()


class ClickHouse(Database):
    dialect = CLICKHOUSE

    def __init__(self, folder: Path) -> None:
        from chdb.session import Session

        self.connection = Session()
        fields = ", ".join(
            f"{CLICKHOUSE.identifier(name)} Nullable({'Float64' if kind == 'number' else 'String'})"
            for name, kind in COLUMNS.items()
        )
        numbered = TABLE.append_column("n", pa.array(range(len(ROWS))))
        pq.write_table(numbered.select(["n", *COLUMNS]), folder / "records.parquet")
        run = self.connection.query
        run(f"CREATE TABLE expression_records (n Int64, {fields}) ENGINE = MergeTree ORDER BY n")
        run(f"INSERT INTO expression_records SELECT * FROM file('{folder}/records.parquet')")
        self.opened = ClickHouseSession(self.connection, "expression_records")

    def query(self, text: str) -> list[tuple[Any, ...]]:
        return self.opened.rows(text)


class Spark(Database):
    dialect = SPARK

    def __init__(self, session: Any) -> None:
        from tametail.data.sql.spark.session import register_functions

        self.session = session
        register_functions(session)
        schema = 'n int, x double, y double, `a b``"c` double, s string, t string'
        cells = [(place, *row.values()) for place, row in enumerate(ROWS)]
        frame = session.createDataFrame(cells, schema).coalesce(1).cache()
        frame.createOrReplaceTempView("expression_records")

    def query(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.session.sql(text).collect()]
