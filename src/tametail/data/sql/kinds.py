"""Whether data are in a database: decided by types and names, without importing a driver."""

from __future__ import annotations

import os

#: Names that files of databases have.
_ENDINGS = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3", ".db3")


def is_database(data: object, table: object = None) -> bool:
    """Say whether data is a database, a connection to one, or a relation of DuckDB.

    >>> is_database("postgresql://host/db"), is_database("a.csv"), is_database("a.csv", "claims")
    (True, False, True)
    """
    return (
        table is not None
        or is_postgres_address(data)
        or is_postgres_connection(data)
        or is_duckdb_relation(data)
        or is_duckdb_connection(data)
        or is_sqlite_connection(data)
        or is_clickhouse(data)
        or is_ibis(data)
        or (isinstance(data, str | os.PathLike) and _is_named_so(data))
    )


def is_postgres_address(data: object) -> bool:
    """Say whether data is the address of a PostgreSQL server."""
    return isinstance(data, str) and data.startswith(("postgresql://", "postgres://"))


def is_postgres_connection(data: object) -> bool:
    """Say whether data is a connection of psycopg."""
    return any(
        kind.__module__.partition(".")[0] == "psycopg" and "Connection" in kind.__name__
        for kind in type(data).__mro__
    )


def is_duckdb_relation(data: object) -> bool:
    """Say whether data is a relation of DuckDB."""
    return type(data).__name__ == "DuckDBPyRelation"


def is_duckdb_connection(data: object) -> bool:
    """Say whether data is a connection of DuckDB."""
    return type(data).__name__ == "DuckDBPyConnection"


def is_sqlite_connection(data: object) -> bool:
    """Say whether data is a connection of Python's own SQLite."""
    return any(
        kind.__module__ == "sqlite3" and kind.__name__ == "Connection"
        for kind in type(data).__mro__
    )


def is_clickhouse(data: object) -> bool:
    """Say whether data is a session or a connection of chdb."""
    return type(data).__module__.partition(".")[0] == "chdb"


def is_ibis(data: object) -> bool:
    """Say whether data is a table of Ibis."""
    return any(
        kind.__module__.startswith("ibis.expr.types") and kind.__name__ == "Table"
        for kind in type(data).__mro__
    )


def _is_named_so(path: str | os.PathLike[str]) -> bool:
    name = os.fspath(path)
    return isinstance(name, str) and name.lower().endswith(_ENDINGS)
