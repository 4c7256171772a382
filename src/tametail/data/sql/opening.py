"""Which database is meant, and which backend answers: by the type of the data, and schema."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tametail._files import is_sqlite
from tametail._shown import shown, shown_path
from tametail.data.local import Local, Progress
from tametail.data.reader import Reader
from tametail.data.relation import Groups, Relation
from tametail.data.sources import Source
from tametail.data.sources.files import refuse_address
from tametail.data.sql import duckdb, postgresql
from tametail.data.sql.backend import Sql
from tametail.data.sql.clickhouse import ClickHouseSession
from tametail.data.sql.compiler import Compiler, check_not_text
from tametail.data.sql.ibis import open_ibis
from tametail.data.sql.kinds import Kind, kind_of
from tametail.data.sql.sessions import Session
from tametail.data.sql.source import ObjectSource, SqlSource
from tametail.data.sql.sqlite import SqliteSession
from tametail.errors import DataError, ParameterError
from tametail.parse import Parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SQLITE, _DUCKDB = b"SQLite format 3\0", b"DUCK"


def open_session(data: object, table: str | None) -> Session:
    """Return the session over a table; names and declared types have been read, and no record."""
    kind = kind_of(data)
    if kind == "DuckDB relation":
        if table is not None:
            raise ParameterError("table= is not available for a relation. Remove it.")
        return duckdb.RelationSession(data)
    if table is None:
        raise ParameterError("The data are a database. Add the table, such as table='claims'.")
    if kind in _SESSIONS:
        return _SESSIONS[kind](data, table)
    if isinstance(data, str | os.PathLike):
        refuse_address(data)
        path = Path(data).expanduser()
        of_file = duckdb.DuckTableSession if _kind(path) == _DUCKDB else SqliteSession
        return of_file(path, table)
    raise ParameterError(
        f"table={shown(table)} requires a database, not {type(data).__name__}. Pass the address of "
        "a PostgreSQL server, a connection, or a DuckDB or SQLite file."
    )


#: What a session is opened by, for a connection or an address.
_SESSIONS: Final[dict[Kind | None, Callable[[Any, str], Session]]] = {
    "PostgreSQL": postgresql.PostgresSession,
    "DuckDB": duckdb.DuckTableSession,
    "SQLite": SqliteSession,
    "ClickHouse": ClickHouseSession,
}


def _kind(path: Path) -> bytes:
    """Return whose file it is, by the mark at its beginning."""
    found = is_sqlite(path)
    if found is None:  # to open it here would drop the locks that this process holds on it
        return _DUCKDB if path.suffix.lower() in (".duckdb", ".ddb") else _SQLITE
    if found:
        return _SQLITE
    head = None
    with suppress(OSError, ValueError), path.open("rb") as file:
        head = file.read(16)
    if head is None:  # raised outside of a handler, whose error quotes what may be no path
        raise DataError(f"No readable file {shown_path(path)}. Check the path.")
    if head[8:12] == _DUCKDB:
        return _DUCKDB
    raise DataError(
        f"{shown_path(path)} is neither a DuckDB nor a SQLite file. Use one, or remove table= for "
        "a Parquet or CSV file."
    )


def open_database(
    data: Any,
    table: str | None,
    relation: Relation,
    parse: Parse | None = None,
    progress: Progress | None = None,
    groups: Groups | None = None,
) -> Sql | Local:
    """Return the backend over columns of a table; ``groups`` are checked against their types."""
    session: Session
    if kind_of(data) == "Ibis":
        found = open_ibis(data, table)
        if not isinstance(found, Session):
            return open_spark(found, relation, parse, groups)
        session = found
    else:
        session = open_session(data, table)
    try:
        relation = relation if relation.values else relation.with_values([_only(session)])
        return _backend(session, relation, parse, progress, groups)
    except BaseException:
        session.close()
        raise


def _backend(
    session: Session,
    relation: Relation,
    parse: Parse | None,
    progress: Progress | None,
    groups: Groups | None,
) -> Sql | Local:
    source: Source
    if isinstance(session, SqliteSession):
        for name in relation.values if parse is None else ():
            check_not_text(name, session.columns.get(name))
        source = ObjectSource(session, parse)
        return Local(Reader(source, relation), progress)
    if parse is not None and isinstance(session, ClickHouseSession):
        raise ParameterError(
            "parse= is not available for ClickHouse. Convert the column first, with "
            "toFloat64OrNull."
        )
    compiler = Compiler(session, relation, parse)
    reader = Reader(SqlSource(session, parse), relation)
    if groups is not None:
        reader.check(groups)
    return Sql(session, compiler, relation, Local(reader, progress))


def open_spark(
    frame: DataFrame, relation: Relation, parse: Parse | None, groups: Groups | None
) -> Sql:
    """Return the backend over columns of a Spark frame."""
    from tametail.data.sql.spark.backend import SparkSql
    from tametail.data.sql.spark.session import SparkSession, register_functions

    if parse is not None:
        raise ParameterError(
            "parse= is not available for Spark frames. Convert the column first, with Spark's "
            "regexp_replace and try_cast, so that text becomes NULL."
        )
    session = SparkSession(frame)
    try:
        relation = relation if relation.values else relation.with_values([_only(session)])
        compiler = Compiler(session, relation)
        if groups is not None:
            compiler.check(groups)
        if compiler.is_own:
            register_functions(frame.sparkSession)
        return SparkSql(session, compiler, relation)
    except BaseException:
        session.close()
        raise


def _only(session: Session) -> str:
    names = list(session.columns)
    if len(names) != 1:
        raise ParameterError(f"No column is chosen. Add column=..., one of {names[:40]}.")
    return names[0]
