"""DuckDB: files, connections and relations. It is a library in this process, not a server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tametail.data.sql.dialects import DUCKDB, Declared
from tametail.data.sql.duckdb_reads import Reads
from tametail.data.sql.sessions import BATCH, Kind, Row, Session, no_table, parts_of
from tametail.errors import DataError, ParameterError, imported

if TYPE_CHECKING:
    import duckdb

_TYPES: Final[dict[str, Declared]] = {
    "DOUBLE": "number", "FLOAT": "number", "UBIGINT": "number", "BIGINT": "integer",
    "INTEGER": "integer", "SMALLINT": "integer", "TINYINT": "integer", "UINTEGER": "integer",
    "USMALLINT": "integer", "UTINYINT": "integer", "BOOLEAN": "boolean", "DECIMAL": "decimal",
    "HUGEINT": "decimal", "UHUGEINT": "decimal", "BIGNUM": "decimal", "VARCHAR": "text",
    "ENUM": "text", "UUID": "moment", "DATE": "moment", "TIME": "moment", "TIMESTAMP": "moment",
    "TIMESTAMP WITH TIME ZONE": "moment",
}  # fmt: skip

#: Numbers in the names of relations in the questions about them.
_NUMBERS: Final = count()

_BUSY: Final = (
    "the DuckDB connection has an unfinished result; fetch it first (fetchall), or pass a relation "
    "of another connection, such as connection.cursor().table(...)"
)
_REASONS: Final = {
    "ResourceInUseException": _BUSY,
    "InterruptException": "the query was interrupted",
    "OutOfMemoryException": "DuckDB is out of memory; raise its memory_limit",
    "ConnectionException": "the connection is closed, or the file is open elsewhere",
    "TransactionException": "the connection is in a failed transaction; roll it back",
    "PermissionException": "DuckDB has no permission to read the files of the table",
}
_OTHERWISE: Final = "it cannot be computed; check that the table or relation can be read completely"


def declared_type(kind: object) -> Declared:
    """Return what a type of DuckDB holds, by its name.

    >>> declared_type("DECIMAL(10,2)"), declared_type("DOUBLE[]")
    ('decimal', None)
    """
    name = str(kind)
    return None if name.endswith("]") else _TYPES.get(name.partition("(")[0])


class _DuckSession(Session):
    """What relations and tables have in common: one connection in one transaction."""

    dialect = DUCKDB
    in_process = True

    _ends = False

    def __init__(self) -> None:
        self._driver = imported("duckdb", "A DuckDB file", "duckdb")

    def _relation(self, text: str) -> duckdb.DuckDBPyRelation:
        raise NotImplementedError

    def _begin(self) -> None:
        """See to one snapshot; in a transaction of the caller's that is its own."""
        # Outside of a transaction every statement has one of its own, with another number.
        if self.rows("SELECT txid_current()") != self.rows("SELECT txid_current()"):
            self.rows("BEGIN TRANSACTION")
            self._ends = True

    def rows(self, text: str) -> list[Row]:
        """Return all rows that a question gives; a statement that is none gives no relation."""

        def answer() -> list[Row]:
            found = self._relation(text)
            return [] if found is None else found.fetchall()

        return self._checked(answer, self._driver.Error)

    def stream(self, text: str, kinds: Sequence[Kind]) -> Iterator[list[pa.Array]]:
        """Yield the rows of a question as DuckDB's own arrays."""
        del kinds  # the question has cast them
        errors = (self._driver.Error, pa.ArrowException)
        reader = self._checked(lambda: self._relation(text).to_arrow_reader(BATCH), errors)
        try:
            while (batch := self._checked(lambda: next(reader, None), errors)) is not None:
                yield list(batch.columns)
        finally:
            reader.close()

    def close(self) -> None:
        """End the transaction, if it is ours."""
        if self._ends:
            self._ends = False
            with suppress(self._driver.Error):
                self._relation("ROLLBACK")

    def _reason(self, error: Exception) -> str:
        said = _REASONS.get(type(error).__name__, _OTHERWISE)
        return f"{self.shown} gave no answer: {said}."


class RelationSession(_DuckSession):
    """A relation, computed anew for every question in one transaction of its own connection.

    Whoever opens it closes it. It does not close itself when it is forgotten: the connection is
    the caller's, and its next transaction would be ended by an object that nobody sees.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        super().__init__()
        self.shown = "the DuckDB relation"
        self._records = relation
        # A name of its own: what another session of this connection reads must not become ours.
        self._name = f"tametail_records_{next(_NUMBERS)}"
        self.source = DUCKDB.identifier(self._name)
        kinds = zip(relation.columns, relation.types, strict=True)
        self.columns = {str(name): declared_type(kind) for name, kind in kinds}
        self._begin()
        # Before 2.0 the snapshot of a transaction is that of its first question.
        self.rows(f"SELECT 1 FROM {self.source} LIMIT 0")

    @property
    def locators(self) -> tuple[str, ...]:
        """Where everything lies that the relation reads, as far as its text tells."""
        with suppress(self._driver.Error, DataError):
            return Reads(self.rows).of_query(self._records.sql_query())
        return ()

    def _relation(self, text: str) -> duckdb.DuckDBPyRelation:
        return self._records.query(self._name, text)

    def _reason(self, error: Exception) -> str:
        # A relation cannot end a transaction that has failed; only its connection can.
        left = " Its connection is left in a failed transaction: call rollback() on it."
        return super()._reason(error) + left * self._ends


class DuckTableSession(_DuckSession):
    """A table or a view of a file, or of what a connection has open, through a cursor of ours.

    A cursor sees what is committed; temporary tables belong to one connection alone, and are
    passed as relations.
    """

    def __init__(
        self, data: str | os.PathLike[str] | duckdb.DuckDBPyConnection, table: str
    ) -> None:
        super().__init__()
        parts = parts_of(table)
        self.shown = "the DuckDB database"
        if isinstance(data, str | os.PathLike):
            self.shown = repr(os.fspath(data))
            self._cursor = self._open(os.fspath(data))
        else:
            self._cursor = self._checked(data.cursor, self._driver.Error)
        try:
            self._begin()
            self._find(parts, table)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        self.close()  # the cursor is ours alone

    def _open(self, path: str) -> duckdb.DuckDBPyConnection:
        def connect() -> duckdb.DuckDBPyConnection:
            try:
                return self._driver.connect(path, read_only=True)
            except self._driver.ConnectionException:  # this process has it open to write
                return self._driver.connect(path)

        return self._checked(
            connect,
            self._driver.Error,
            lambda _: (
                f"{self.shown} cannot be opened as a DuckDB file. Check the path, that no other "
                "process is writing to it, and that this version of DuckDB can read it."
            ),
        )

    def _relation(self, text: str) -> duckdb.DuckDBPyRelation:
        return self._cursor.sql(text)

    def _find(self, parts: tuple[str, ...], table: str) -> None:
        there = self.rows(
            "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal "
            "UNION ALL "
            "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        )
        ((database, schema),) = self.rows("SELECT current_database(), current_schema()")
        wanted = [one for one in there if one[3 - len(parts) :] == parts]
        here = [one for one in wanted if one[:2] == (database, schema)]
        found = here or wanted
        if len(found) != 1:
            if found:
                raise ParameterError(
                    f"There are several tables {table!r} in {self.shown}. Add the schema, as in "
                    "table='main.claims'."
                )
            raise no_table(table, [_short(*one) for one in there], self.shown)
        self.source = DUCKDB.identifier(*found[0])
        text = f"SELECT * FROM {self.source} LIMIT 0"
        # A view is bound anew, which may fail: DuckDB looks into the files that it is made of.
        relation = self._checked(lambda: self._relation(text), self._driver.Error)
        kinds = zip(relation.columns, relation.types, strict=True)
        self.columns = {str(name): declared_type(kind) for name, kind in kinds}
        self._table = found[0]

    @property
    def locators(self) -> tuple[str, ...]:
        """Where the table lies, and every table or file that a view reads."""
        return Reads(self.rows).of_table(*self._table)

    def close(self) -> None:
        """End the transaction and the cursor."""
        super().close()
        if hasattr(self, "_cursor"):
            self._cursor.close()


def _short(database: str, schema: str, name: str) -> str:
    del database
    return name if schema == "main" else f"{schema}.{name}"
