"""A table of Ibis is a door: its SQL becomes a relation or a view on the connection that it has.

Databases whose dialect is here are asked like any other: DuckDB, PostgreSQL, SQLite and Spark. What
else Ibis can compile to nobody has tested, and is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar
from uuid import uuid4

from tametail.data.sql import duckdb
from tametail.data.sql.postgresql import PostgresSession
from tametail.data.sql.sessions import Session
from tametail.data.sql.sqlite import SqliteSession
from tametail.errors import DataError, ParameterError

if TYPE_CHECKING:
    import psycopg
    from pyspark.sql import DataFrame

Found = TypeVar("Found")

#: Connections on which a view is made.
Connection: TypeAlias = "sqlite3.Connection | psycopg.Connection[object]"

#: Backends of Ibis that are asked in their own database.
KNOWN: Final = ("duckdb", "postgres", "sqlite", "pyspark")

_COMPUTED: Final = (
    "compute it before, and pass the result, as in table.to_pyarrow(); a table made of a frame in "
    "memory is the frame itself."
)


class IbisTable(Protocol):
    """What is used of a table of Ibis."""

    def get_backend(self) -> Any:
        """Return whose table it is."""


def open_ibis(data: IbisTable, table: str | None = None) -> Session | DataFrame:
    """Return the session over a table of Ibis; of one on Spark, the frame."""
    if table is not None:
        raise ParameterError("table= is not available for an Ibis table. Remove it.")
    name, connection, text = _compiled(data)
    if name == "duckdb":
        relation = _checked(lambda: connection.sql(text))
        return duckdb.RelationSession(relation)
    if name == "pyspark":
        return _checked(lambda: connection.sql(text))
    view = f"tametail_ibis_{uuid4().hex}"
    kind = _PostgresView if name == "postgres" else _SqliteView
    _checked(lambda: _run(connection, f"CREATE TEMP VIEW {view} AS {text}"))
    try:
        return kind(connection, view)
    except BaseException:
        _forget(connection, view)
        raise


def _compiled(data: IbisTable) -> tuple[str, Any, str]:
    """Return the name of the backend, its connection, and the table as SQL."""
    backend = None
    with suppress(Exception):  # a table may have no backend, or several
        backend = data.get_backend()
    if backend is None:
        raise ParameterError(f"The Ibis table has no connection of its own: {_COMPUTED}")
    if backend.name not in KNOWN:
        raise ParameterError(
            f"Ibis tables of {backend.name} are not supported. Those of {', '.join(KNOWN)} are "
            f"asked in their own database. For others {_COMPUTED}"
        )
    text = _checked(lambda: str(backend.compile(data)))
    connection = backend._session if backend.name == "pyspark" else backend.con
    return backend.name, connection, text


def _checked(call: Callable[[], Found]) -> Found:
    """Call; what a database says of a failure is not passed on."""
    with suppress(Exception):
        return call()
    raise DataError(f"The Ibis table cannot be asked in its database: {_COMPUTED}")


def _run(connection: Connection, text: str) -> None:
    """Run a statement; a transaction of the caller's goes on, and none is left behind."""
    was_idle = not _in_transaction(connection)
    connection.execute(text)
    if was_idle and _in_transaction(connection):
        connection.commit()


def _in_transaction(connection: Connection) -> bool:
    if isinstance(connection, sqlite3.Connection):
        return connection.in_transaction
    return connection.info.transaction_status.name != "IDLE"


def _forget(connection: Connection, view: str) -> None:
    with suppress(Exception):  # a transaction that has failed takes the view along
        _run(connection, f"DROP VIEW IF EXISTS {view}")


class _View(Session):
    """What views of this session alone have in common: they go when it is closed."""

    _view: str | None = None
    _made_on: Connection

    @property
    def locators(self) -> tuple[str, ...]:
        """Where everything lies that the view reads; it has no place itself."""
        return tuple(place for place in super().locators if "tametail_ibis_" not in place)

    def close(self) -> None:
        """End the snapshot and the view."""
        super().close()  # type: ignore[safe-super]
        if self._view is not None:
            _forget(self._made_on, self._view)
            self._view = None


class _PostgresView(_View, PostgresSession):
    """A view of PostgreSQL."""

    def __init__(self, connection: psycopg.Connection[object], view: str) -> None:
        self._view, self._made_on = view, connection
        super().__init__(connection, f"pg_temp.{view}")


class _SqliteView(_View, SqliteSession):
    """A view of SQLite."""

    def __init__(self, connection: sqlite3.Connection, view: str) -> None:
        self._view, self._made_on = view, connection
        super().__init__(connection, f"temp.{view}")
