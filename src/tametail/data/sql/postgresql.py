"""PostgreSQL through psycopg 3: one transaction, repeatable read and read only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pyarrow as pa

from tametail.data.sql.dialects import POSTGRESQL, Declared
from tametail.data.sql.sessions import (
    BATCH,
    Kind,
    Row,
    RowLocations,
    Session,
    no_table,
    parts_of,
    to_arrow,
)
from tametail.errors import DataError, ParameterError, imported
from tametail.ledger.identity import check_places, server_address, table_of

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
#: A domain has the type that it is made of. A virtual generated column is computed when it is read,
#: which one record can make fail (1 / x), so that it has no type here.
_COLUMNS: Final = """
WITH RECURSIVE declared AS (
  SELECT a.attnum, a.attname, t.typname, t.typtype, t.typbasetype, a.attgenerated = 'v' AS virtual
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT d.attnum, d.attname, t.typname, t.typtype, t.typbasetype, d.virtual
  FROM declared d JOIN pg_catalog.pg_type t ON t.oid = d.typbasetype WHERE d.typtype = 'd'
)
SELECT attname::text, CASE WHEN virtual THEN 'virtual' ELSE typname::text END, typtype::text
FROM declared WHERE typtype <> 'd' ORDER BY attnum
"""
#: The table and all that inherit from it, its partitions too, as this snapshot knows them.
_TREE: Final = """
WITH RECURSIVE tree(oid) AS (
  SELECT CAST({oid} AS oid)
  UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid
)
SELECT CAST(oid AS bigint) FROM tree
"""
#: The table and what views read, as far as the catalogue tells, each with what it is a part of.
_READ: Final = """
WITH RECURSIVE read(oid) AS (
  SELECT CAST({oid} AS oid)
  UNION SELECT d.refobjid FROM read
    JOIN pg_catalog.pg_rewrite w ON w.ev_class = read.oid AND w.ev_type = '1'
    JOIN pg_catalog.pg_depend d ON d.objid = w.oid
      AND d.classid = CAST('pg_catalog.pg_rewrite' AS regclass)
      AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
), path(oid, schema, names) AS (
  SELECT read.oid, n.nspname, ARRAY[CAST(c.relname AS text)]
  FROM read JOIN pg_catalog.pg_class c ON c.oid = read.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  UNION ALL SELECT i.inhparent, n.nspname, CAST(c.relname AS text) || path.names
  FROM path JOIN pg_catalog.pg_inherits i ON i.inhrelid = path.oid
  JOIN pg_catalog.pg_class c ON c.oid = i.inhparent
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
)
SELECT CAST(schema AS text), array_to_string(names, '/') FROM path
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = path.oid)
ORDER BY path.oid, names
"""
_TABLES: Final = """
SELECT CASE WHEN n.nspname = 'public' THEN c.relname::text ELSE n.nspname || '.' || c.relname END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_'
  AND n.nspname <> 'information_schema'
"""

#: What is said of a failure, by the class of its SQLSTATE; never in the server's words.
_STATES: Final = {
    "57014": "the server ended the query: it was canceled, or exceeded statement_timeout",
    "57": "the server closed the connection",
    "08": "the connection was lost",
    "25P03": "the server closed the connection because the session was idle",
    "42501": "this role may not read the table: ask for SELECT on it",
    "28": (
        "the server does not accept this role; check user and password (PGPASSWORD or ~/.pgpass)"
    ),
    "3D": "no such database on the server",
    "53": "the server is out of memory, disk space or connections",
    "40": (
        "the server ended the transaction because of a conflict; use a copy, or try again later"
    ),
}
_OTHERWISE: Final = (
    "the server could not compute an answer; check that the view or foreign table can be read "
    "completely, or copy it to a table"
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

    def __init__(self, data: str | psycopg.Connection[object], table: str) -> None:
        self._driver = imported("psycopg", "A table in PostgreSQL", "postgres")
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

    def _connect(self, address: str) -> psycopg.Connection[object]:
        def connect() -> psycopg.Connection[object]:
            opened: psycopg.Connection[object] = self._driver.connect(
                address, autocommit=True, connect_timeout=30, application_name="tametail"
            )
            return opened

        return self._checked(connect, self._driver.Error, self._refusal)

    def _check(self, connection: psycopg.Connection[object]) -> psycopg.Connection[object]:
        if "Async" in type(connection).__name__:
            raise ParameterError(
                f"Unsupported data type {type(connection).__name__}. Pass a psycopg.Connection, or "
                "the address of the database."
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
                    "The connection is in a transaction in which every query may see different "
                    "records. Commit or roll back first, or begin it with repeatable read."
                )
        else:
            raise DataError(
                "The connection is busy, failed or closed. Finish its query, or roll back."
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
            raise DataError(f"{table!r} in {place} is not a table. Use a table or a view.")
        self._oid = int(oid)
        # Rows of a plain table keep their places in a snapshot.
        self._is_plain = kind in ("r", "m") and method == "heap" and not has_children
        name = POSTGRESQL.identifier(schema, relation)
        self.source = self._snapshot_of(name, has_tree=has_children or kind == "p")
        declared = self.rows(_COLUMNS.format(oid=self._oid))
        self.columns = {
            column: "text" if sort == "e" and kind != "virtual" else _TYPES.get(kind)
            for column, kind, sort in declared
        }
        self._is_utf8 = self.rows("SHOW server_encoding") == [("UTF8",)]
        if not self._is_utf8:  # bytes of text are not those of UTF-8
            hidden: dict[str, Declared] = {"text": None}
            self.columns = {
                name: hidden.get(kind or "", kind) for name, kind in self.columns.items()
            }
        # May it be read? And nobody shall write the table anew as long as it is.
        self.rows(f"SELECT 1 FROM {self.source} LIMIT 0")

    @property
    def locators(self) -> tuple[str, ...]:
        """Where the table lies, and every table that a view reads; a partition, in its table."""
        read = self.rows(_READ.format(oid=self._oid))
        return check_places([table_of(self.shown, *one) for one in read])

    def _snapshot_of(self, name: str, *, has_tree: bool) -> str:
        """Return what to read so that all questions see the same tables.

        Which tables inherit from this one a server looks up anew for each question, whatever the
        snapshot is: what another session attaches meanwhile would show in the middle of a release.
        It cannot take a table away that was read before: that waits for the end of the transaction.
        """
        if not has_tree:
            return f"ONLY {name}"
        known = ", ".join(str(oid) for (oid,) in self.rows(_TREE.format(oid=self._oid)))
        return f"(SELECT * FROM {name} WHERE tableoid IN ({known})) AS known_tables"

    def places(self) -> RowLocations | None:
        """Return the pages of a plain table, and how many rows a page can hold."""
        if not self._is_plain:
            return None
        ((size, page),) = self.rows(
            f"SELECT pg_relation_size(CAST({self._oid} AS regclass)), "
            "CAST(current_setting('block_size') AS integer)"
        )
        return RowLocations(size // page, (page - _PAGE_HEADER) // _LEAST_ROW)

    def rows(self, text: str) -> list[Row]:
        """Return all rows that a question gives; doubles come as their bytes, so exactly."""

        def fetch() -> list[Row]:
            found: list[Row] = self._cursor().execute(text.encode()).fetchall()
            return found

        return self._checked(fetch, self._driver.Error)

    def stream(self, text: str, kinds: Sequence[Kind]) -> Iterator[list[pa.Array]]:
        """Yield the rows of a question through a cursor on the server."""
        cursor = self._cursor("tametail")
        try:
            self._checked(lambda: cursor.execute(text.encode()), self._driver.Error)
            while found := self._checked(lambda: cursor.fetchmany(BATCH), self._driver.Error):
                cells = zip(*found, strict=True)
                yield [to_arrow(each, kind) for each, kind in zip(cells, kinds, strict=True)]
        finally:
            with suppress(self._driver.Error):
                cursor.close()

    def _do(self, statement: str) -> None:
        self._checked(lambda: self._cursor().execute(statement.encode()), self._driver.Error)

    def _cursor(self, name: str | None = None) -> Any:
        """Return a cursor of our own: those that a connection makes may have other rows."""
        as_tuples = self._driver.rows.tuple_row
        if name is None:
            cursor = self._driver.Cursor(self._connection, row_factory=as_tuples)
        else:  # on the server
            cursor = self._driver.ServerCursor(self._connection, name, row_factory=as_tuples)
        cursor.format = self._driver.pq.Format.BINARY
        return cursor

    def close(self) -> None:
        """End the transaction, if it is ours, and the connection, if that is."""
        ends, self._ends = self._ends, []
        with suppress(self._driver.Error):
            for statement in ends:
                self._cursor().execute(statement.encode())
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
