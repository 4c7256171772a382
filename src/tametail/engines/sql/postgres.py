"""PostgreSQL through psycopg 3: one transaction, repeatable read and read only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pyarrow as pa

from tametail.engines.sql.dialects import POSTGRESQL, Declared
from tametail.engines.sql.sessions import (
    BATCH,
    Row,
    Session,
    Slots,
    Streamed,
    no_table,
    parts_of,
    to_arrow,
)
from tametail.errors import DataError, MissingExtraError, ParameterError
from tametail.ledger.identity import server_address, table_of

if TYPE_CHECKING:
    import psycopg

_TYPES: Final[dict[str, Declared]] = {
    "float8": "number", "float4": "number", "int8": "integer", "int4": "integer",
    "int2": "integer", "bool": "boolean", "numeric": "decimal", "text": "text", "varchar": "text",
    "bpchar": "text", "name": "text", "citext": "text", "uuid": "moment", "date": "moment",
    "time": "moment", "timestamp": "moment", "timestamptz": "moment",
}  # fmt: skip

_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SAVE: Final = "SAVEPOINT tametail"
_UNDO: Final = ("ROLLBACK TO SAVEPOINT tametail", "RELEASE SAVEPOINT tametail")

#: For this transaction: ids that are times read alike everywhere.
_SETTINGS: Final = ("SET LOCAL timezone TO 'UTC'", "SET LOCAL client_encoding TO 'UTF8'")

_TABLE: Final = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text, coalesce(a.amname, ''), c.relhassubclass
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_am a ON a.oid = c.relam
WHERE c.oid = to_regclass({name})
"""
#: A domain has the type that it is made of.
_COLUMNS: Final = """
WITH RECURSIVE declared AS (
  SELECT a.attnum, a.attname, t.typname, t.typtype, t.typbasetype
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT d.attnum, d.attname, t.typname, t.typtype, t.typbasetype
  FROM declared d JOIN pg_catalog.pg_type t ON t.oid = d.typbasetype WHERE d.typtype = 'd'
)
SELECT attname::text, typname::text, typtype::text FROM declared WHERE typtype <> 'd'
ORDER BY attnum
"""
_TABLES: Final = """
SELECT CASE WHEN n.nspname = 'public' THEN c.relname::text ELSE n.nspname || '.' || c.relname END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_'
  AND n.nspname <> 'information_schema'
"""

#: What is said of a failure, by the class of its SQLSTATE; never in the server's words.
_STATES: Final = {
    "57014": "the server ended the query: it was cancelled, or took longer than statement_timeout "
    "allows",
    "57": "the server closed the connection, as it is shutting down or was told to",
    "08": "the connection was lost",
    "25P03": "the server closed the connection, as the session was idle for too long",
    "42501": "this role may not read the table: ask for SELECT on it",
    "28": "the server does not accept this role: check user and password (PGPASSWORD or ~/.pgpass)",
    "3D": "there is no such database on the server",
    "53": "the server has no room for the query: memory, disk or connections are used up",
    "40": "the server ended the transaction because of others: read a copy, or at another time",
}
_OTHERWISE: Final = (
    "the server could not compute an answer: if the table is a view or lies elsewhere, see that it "
    "can be read in full, or copy it to a table"
)


def shown_address(address: str) -> str:
    """Return an address for messages: without user, password and options.

    >>> shown_address("postgresql://ann:secret@db.example/claims?password=x")
    'postgresql://db.example/claims'
    """
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2].lower()
    return f"postgresql://{host}{parts.path}"


class PostgresSession(Session):
    """A table or a view of PostgreSQL."""

    dialect = POSTGRESQL

    def __init__(self, data: str | psycopg.Connection[Row], table: str) -> None:
        self._driver = _driver()
        self._ends: list[str] = []
        self._own = isinstance(data, str)
        self._was_autocommit = True
        self.shown = shown_address(data) if isinstance(data, str) else "the database"
        name = POSTGRESQL.identifier(*parts_of(table))
        self._connection = self._connect(data) if isinstance(data, str) else self._check(data)
        try:
            self._begin()
            self._find(name, table)
        except BaseException:
            self.close()
            raise

    def _connect(self, address: str) -> psycopg.Connection[Row]:
        def connect() -> psycopg.Connection[Row]:
            opened: psycopg.Connection[Row] = self._driver.connect(
                address, autocommit=True, connect_timeout=30, application_name="tametail"
            )
            return opened

        return self._checked(connect, self._driver.Error, self._refusal)

    def _check(self, connection: psycopg.Connection[Row]) -> psycopg.Connection[Row]:
        if "Async" in type(connection).__name__:
            raise ParameterError(
                f"data of type {type(connection).__name__} cannot be asked here: pass a "
                "psycopg.Connection, or the address of the database."
            )
        return connection

    def _begin(self) -> None:
        """See to one snapshot for all questions; a transaction of the caller's stays as it is."""
        status = self._connection.info.transaction_status.name
        if status == "IDLE":
            self._was_autocommit = self._connection.autocommit
            self._connection.autocommit = True
            self._do(_BEGIN)
            self._ends = ["ROLLBACK"]
        elif status == "INTRANS":
            self._do(_SAVE)
            self._ends = [*_UNDO]
            if self.rows("SHOW transaction_isolation")[0][0] not in _ONE_SNAPSHOT:
                raise ParameterError(
                    "the connection is in a transaction whose questions may each see other "
                    "records: commit or roll back before, or begin it with repeatable read."
                )
        else:
            raise DataError(
                "the connection is busy, failed or closed: finish what it is doing, or roll back."
            )
        for setting in _SETTINGS:
            self._do(setting)

    def _find(self, name: str, table: str) -> None:
        info = self._connection.info
        place = server_address(info.host, info.port, info.dbname)
        self.shown = place
        found = self.rows(_TABLE.format(name=POSTGRESQL.text(name)))
        if not found:
            raise no_table(table, [name for (name,) in self.rows(_TABLES)], place)
        oid, schema, relation, kind, method, has_children = found[0]
        if kind not in ("r", "p", "v", "m", "f"):
            raise DataError(f"{table!r} in {place} is no table: name a table or a view.")
        self._oid = int(oid)
        # Rows of a plain table keep their places in a snapshot.
        self._is_plain = kind in ("r", "m") and method == "heap" and not has_children
        self.source = POSTGRESQL.identifier(schema, relation)
        self.locator = table_of(place, schema, relation)
        declared = self.rows(_COLUMNS.format(oid=self._oid))
        self.columns = {
            column: "text" if sort == "e" else _TYPES.get(kind) for column, kind, sort in declared
        }
        self._is_utf8 = self.rows("SHOW server_encoding") == [("UTF8",)]
        if not self._is_utf8:  # bytes of text are not those of UTF-8
            hidden: dict[str, Declared] = {"text": None}
            self.columns = {
                name: hidden.get(kind or "", kind) for name, kind in self.columns.items()
            }
        # May it be read? And nobody shall write the table anew as long as it is.
        self.rows(f"SELECT 1 FROM {self.source} LIMIT 0")

    def places(self) -> Slots | None:
        """Return the pages of a plain table, and how many rows a page can hold."""
        if not self._is_plain:
            return None
        ((size, page),) = self.rows(
            f"SELECT pg_relation_size(CAST({self._oid} AS regclass)), "
            "CAST(current_setting('block_size') AS integer)"
        )
        return Slots(size // page, (page - _PAGE_HEADER) // _LEAST_ROW)

    def rows(self, text: str) -> list[Row]:
        """Return all rows that a question gives; doubles come as their bytes, so exactly."""

        def fetch() -> list[Row]:
            return self._connection.cursor(binary=True).execute(text.encode()).fetchall()

        return self._checked(fetch, self._driver.Error)

    def stream(self, text: str, kinds: Sequence[Streamed]) -> Iterator[list[pa.Array]]:
        """Yield the rows of a question through a cursor on the server."""
        cursor = self._connection.cursor(name="tametail", binary=True)
        try:
            self._checked(lambda: cursor.execute(text.encode()), self._driver.Error)
            while found := self._checked(lambda: cursor.fetchmany(BATCH), self._driver.Error):
                cells = zip(*found, strict=True)
                yield [to_arrow(each, kind) for each, kind in zip(cells, kinds, strict=True)]
        finally:
            with suppress(self._driver.Error):
                cursor.close()

    def _do(self, statement: str) -> None:
        self._checked(lambda: self._connection.execute(statement.encode()), self._driver.Error)

    def close(self) -> None:
        """End the transaction, if it is ours, and the connection, if that is."""
        ends, self._ends = self._ends, []
        with suppress(self._driver.Error):
            for statement in ends:
                self._connection.execute(statement.encode())
            if ends == ["ROLLBACK"]:
                self._connection.autocommit = self._was_autocommit
        if self._own:
            self._connection.close()

    def _reason(self, error: Exception) -> str:
        state = getattr(error, "sqlstate", None) or ("08" if self._is_lost() else "")
        said = _STATES.get(state) or _STATES.get(state[:2]) or _OTHERWISE
        return f"{self.shown} gave no answer: {said}."

    def _is_lost(self) -> bool:
        return bool(getattr(getattr(self, "_connection", None), "closed", True))

    def _refusal(self, error: Exception) -> str:
        state = getattr(error, "sqlstate", None) or ""
        said = _STATES.get(state[:2]) or (
            "check host, port, database, user and password (PGPASSWORD or ~/.pgpass), and that the "
            "server is up"
        )
        return f"{self.shown} cannot be opened: {said}."


_ONE_SNAPSHOT: Final = ("repeatable read", "serializable")

#: Bytes of a page before its rows, and of the least row with its pointer.
_PAGE_HEADER, _LEAST_ROW = 24, 28


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError(
            "data in PostgreSQL need psycopg: write pip install 'tametail[postgres]'."
        ) from None
    return psycopg
