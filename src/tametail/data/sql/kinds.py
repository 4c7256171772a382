"""Whether data are in a database: decided by types and names, without importing a driver."""

from __future__ import annotations

import os
from typing import Literal

#: What data in a database may be. An Ibis table, a relation and a frame of Spark are tables.
Kind = Literal["PostgreSQL", "DuckDB", "DuckDB relation", "SQLite", "ClickHouse", "Ibis", "file"]

#: Names that files of databases have.
_ENDINGS = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3", ".db3")

#: Classes by the package that they are in, and by their names.
_CLASSES: tuple[tuple[str, tuple[str, ...], Kind], ...] = (
    ("psycopg", ("Connection", "AsyncConnection"), "PostgreSQL"),
    ("sqlite3", ("Connection",), "SQLite"),
    ("ibis.expr.types", ("Table",), "Ibis"),
)


def is_database(data: object, table: object = None) -> bool:
    """Say whether data is a database, a connection to one, or a relation of DuckDB.

    >>> is_database("postgresql://host/db"), is_database("a.csv"), is_database("a.csv", "claims")
    (True, False, True)
    """
    return table is not None or kind_of(data) is not None


def kind_of(data: object) -> Kind | None:
    """Return what data are; None if they are in no database that is known.

    >>> kind_of("postgres://host/db"), kind_of("claims.duckdb"), kind_of([1.0])
    ('PostgreSQL', 'file', None)
    """
    if isinstance(data, str) and data.startswith(("postgresql://", "postgres://")):
        return "PostgreSQL"
    if isinstance(data, str | os.PathLike):
        return "file" if str(os.fspath(data)).lower().endswith(_ENDINGS) else None
    name = type(data).__name__
    if name in ("DuckDBPyRelation", "DuckDBPyConnection"):  # versions differ in their modules
        return "DuckDB relation" if name.endswith("Relation") else "DuckDB"
    if type(data).__module__.partition(".")[0] == "chdb":
        return "ClickHouse"
    for kind in type(data).__mro__:
        for module, names, found in _CLASSES:
            if f"{kind.__module__}.".startswith(f"{module}.") and kind.__name__ in names:
                return found
    return None
