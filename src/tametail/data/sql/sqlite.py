"""SQLite, which is streamed: its cells have types of their own, whatever a column declares.

Of what is declared only text matters: such a column holds no numbers, unless a caller says how they
are written in it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from tametail.data.sql.dialects import SQLITE, Declared
from tametail.data.sql.sessions import BATCH, Row, Session, no_table, parts_of
from tametail.ledger.identity import check_places, table_of


class SqliteSession(Session):
    """A table or a view of a SQLite file, or of what a connection has open."""

    dialect = SQLITE

    def __init__(self, data: str | os.PathLike[str] | sqlite3.Connection, table: str) -> None:
        *schema, name = parts_of(table)
        self._own = not isinstance(data, sqlite3.Connection)
        self._ends = False
        self.shown = "the SQLite database"
        if isinstance(data, sqlite3.Connection):
            self._connection = data
        else:
            self.shown = repr(os.fspath(data))
            # No file is made where there is none, and nothing is written.
            address = f"file:{quote(str(Path(data).expanduser().resolve()))}?mode=ro"
            self._connection = self._checked(
                lambda: sqlite3.connect(address, uri=True, timeout=60), sqlite3.Error
            )
        try:
            self._begin()
            self._find(schema[0] if schema else "main", name, table)
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._checked(lambda: self._connection.execute("BEGIN"), sqlite3.Error)
            self._ends = True

    def _find(self, schema: str, name: str, table: str) -> None:
        catalogue = f"{SQLITE.identifier(schema)}.sqlite_master"
        there = self.rows(f"SELECT name FROM {catalogue} WHERE type IN ('table', 'view')")
        if (name,) not in there:
            raise no_table(table, [one for (one,) in there], self.shown)
        self.source = SQLITE.identifier(schema, name)
        columns = self.rows(
            f"SELECT name, type FROM pragma_table_info({SQLITE.text(name)}, {SQLITE.text(schema)})"
        )
        self.columns: dict[str, Declared] = {
            column: "text" if is_text(kind) else None for column, kind in columns
        }
        self._table = schema, name

    @property
    def locators(self) -> tuple[str, ...]:
        """Return where the table lies, and every table that a view reads.

        SQLite tells that by the program that it makes of a question, which it does not run.
        """
        files = {row[0]: (row[1], row[2]) for row in self.rows("PRAGMA database_list")}
        places = [self._table]
        for _, code, _, page, database, *_ in self.rows(f"EXPLAIN SELECT * FROM {self.source}"):
            if code in ("OpenRead", "ReopenIdx") and database in files:
                catalogue = f"{SQLITE.identifier(files[database][0])}.sqlite_master"
                found = self.rows(f"SELECT tbl_name FROM {catalogue} WHERE rootpage = {int(page)}")
                places += [(files[database][0], table) for (table,) in found]
        paths = dict(files.values())
        return check_places(
            [
                table_of(os.path.realpath(paths[one]), table)
                for one, table in places
                if paths.get(one)
            ]
        )

    def rows(self, text: str) -> list[Row]:
        """Return all rows that a question gives."""
        return [row for found in self._fetch(text) for row in found]

    def cells(self, text: str) -> Iterator[list[tuple[object, ...]]]:
        """Yield the cells of every column, in pieces."""
        return (list(zip(*found, strict=True)) for found in self._fetch(text))

    def _fetch(self, text: str) -> Iterator[list[Row]]:
        # Bytes that are no text are no reason to fail; nor is what a caller's converter says.
        factory, self._connection.text_factory = self._connection.text_factory, _decoded
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.row_factory = None
                self._checked(lambda: cursor.execute(text), Exception)
                while found := self._checked(lambda: cursor.fetchmany(BATCH), Exception):
                    yield found
        finally:
            self._connection.text_factory = factory

    def close(self) -> None:
        """End the transaction, if it is ours, and the connection, if that is."""
        with suppress(sqlite3.Error):
            if self._ends:
                self._ends = False
                self._connection.execute("ROLLBACK")
        if self._own and hasattr(self, "_connection"):
            self._connection.close()

    def _reason(self, error: Exception) -> str:
        del error
        return (
            f"{self.shown} cannot be read as SQLite. Check the path, that no process is writing to "
            "it, and that the table can be read completely."
        )


def is_text(declared: str | None) -> bool:
    """Say whether a column is declared as text, by SQLite's own rule for names of types.

    >>> is_text("TEXT"), is_text("varchar(20)"), is_text("CHARINT"), is_text("REAL"), is_text("")
    (True, True, False, False, False)
    """
    name = (declared or "").upper()
    return "INT" not in name and any(part in name for part in ("CHAR", "CLOB", "TEXT"))


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
