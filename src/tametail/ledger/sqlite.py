"""A ledger in a file, by the standard library's SQLite.

The journal is deleted at each commit (journal_mode DELETE) and the folder is synced after that
(synchronous EXTRA): with FULL, a power loss may bring the journal back and undo a commit that was
already acknowledged. A connection lives as long as one transaction, so that forks and threads
share nothing. What was written is read again through another connection before it counts: the file
may have been replaced, or written by somebody who held no lock.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from tametail._shown import shown_path
from tametail.errors import LedgerError, LedgerIntegrityError
from tametail.ledger.places import refuse_network, refuse_second_name
from tametail.ledger.rows import SCHEMA, TABLE, Row, Rows
from tametail.ledger.turns import turn

_SYNCHRONOUS: Final = ("EXTRA", 3)  # its name, and the number that SQLite answers
_PRAGMAS: Final = (
    f"PRAGMA synchronous = {_SYNCHRONOUS[0]}",
    "PRAGMA fullfsync = ON",  # macOS: through the disk's own cache
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA cache_spill = OFF",  # until it commits a writer leaves the file as others see it
)
_NEVER: Final = tuple(
    f"CREATE TRIGGER {TABLE}_{verb} BEFORE {verb} ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
    for verb in ("UPDATE", "DELETE")
)


Found = TypeVar("Found")


class SqliteConnection:
    """A connection of :mod:`sqlite3`, seen as the ledger wants it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        """Execute a statement and return its rows."""
        return self._connection.execute(statement, parameters)

    def close(self) -> None:
        """Close the connection; what is not committed is undone."""
        self._connection.close()


class SqliteStorage:
    """The ledger in the file at ``path``.

    ``connect`` is for tests that look below SQLite; it gets the path, the mode and the timeout.
    """

    def __init__(
        self,
        path: Path,
        *,
        timeout: float = 60.0,
        allow_network: bool = False,
        connect: Callable[[Path, str, float], SqliteConnection] | None = None,
    ) -> None:
        self.path = path
        self._timeout = timeout
        self._allow_network = allow_network
        self._connect = connect or _connect

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Rows]:
        """Hold the file's lock; leaving commits, and returns when that is on disk."""
        with self._errors("written"), self._opened(create, alone=True) as connection:
            connection.run("BEGIN IMMEDIATE")
            _prepare(connection, self.path, create)
            rows = Rows(connection)
            before = rows.last()
            yield rows
            if not rows.added:
                return
            if self._seen_by_others(Rows.last) != before:
                raise LedgerError(
                    f"The ledger {shown_path(self.path)} changed while it was open, although it "
                    "was locked. Nothing was written. Let no other program open its file, and "
                    "verify it with a head hash that you saved."
                )
            connection.run("COMMIT")
            if not self._seen_by_others(lambda found: found.holds(rows.added)):
                raise LedgerError(
                    f"The ledger {shown_path(self.path)} was replaced or overwritten while it was "
                    "open: what was written is not in the file. Verify it with a head hash that "
                    "you saved."
                )

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """See one state of the file."""
        with self._errors("read"), self._opened(create=False) as connection:
            connection.run("BEGIN")
            _prepare(connection, self.path, create=False)
            yield Rows(connection)

    @contextmanager
    def _opened(self, create: bool, *, alone: bool = False) -> Iterator[SqliteConnection]:
        """Wait for a turn, and open the file."""
        if not create and not self.path.exists():
            raise LedgerError(
                f"No ledger {shown_path(self.path)}. Check the path, or create one: "
                "ledger.create('claims', budget=...)."
            )
        with (
            turn(self._real, alone=alone, timeout=self._timeout),
            closing(self._open(create)) as connection,
        ):
            yield connection

    def _seen_by_others(self, find: Callable[[Rows], Found]) -> Found | None:
        """Return what is found by who opens the file now, by its name; None if it is no ledger."""
        with closing(self._connect(self._real, "rw", self._timeout)) as connection:
            return find(Rows(connection)) if _is_ledger(connection) else None

    @property
    def _real(self) -> Path:
        """The file itself: SQLite names the journal after the path that it is given."""
        return Path(os.path.realpath(self.path))

    def follow(self, rows: Rows) -> None:
        """Take entries as they are: who can write the file can change all of it."""

    def check(self, rows: Rows) -> None:
        """Let SQLite check its own file."""
        del rows  # the check needs a connection of its own, beside the transaction
        with self._errors("read"), closing(self._open(create=False)) as connection:
            said = [row[0] for row in connection.run("PRAGMA quick_check(1)")]
        if said != ["ok"]:
            raise LedgerIntegrityError(
                f"The file {shown_path(self.path)} is corrupt. Restore a copy of it."
            )

    def _open(self, create: bool) -> SqliteConnection:
        if not self._allow_network:
            refuse_network(self.path)
        refuse_second_name(self.path)
        connection = self._connect(self._real, "rwc" if create else "rw", self._timeout)
        for pragma in _PRAGMAS:
            connection.run(pragma)
        ((mode,),) = connection.run("PRAGMA journal_mode = DELETE")
        ((synchronous,),) = connection.run("PRAGMA synchronous")
        if (mode, synchronous) != ("delete", _SYNCHRONOUS[1]):
            connection.close()
            raise LedgerError(
                f"SQLite cannot write {shown_path(self.path)} durably (journal {mode}, synchronous "
                f"{synchronous}). Use a local disk."
            )
        return connection

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"The ledger {shown_path(self.path)} cannot be {doing}: {_reason(error)}."
            ) from None


def _connect(path: Path, mode: str, timeout: float) -> SqliteConnection:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return SqliteConnection(
        sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)
    )


def _prepare(connection: SqliteConnection, path: Path, create: bool) -> None:
    """Make the table, or see that it is there."""
    if _is_ledger(connection):
        return
    if not create:
        raise LedgerError(f"{shown_path(path)} is not a ledger. Check the path.")
    for statement in (*SCHEMA, *_NEVER):
        connection.run(statement.format(text="TEXT"))


def _is_ledger(connection: SqliteConnection) -> bool:
    named = connection.run(
        "SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table'", (TABLE,)
    )
    return bool(list(named))


def _reason(error: Exception) -> str:
    """Return what to do about an error of SQLite."""
    said = str(error)
    reasons = {
        "locked": "it is busy; try again",
        "readonly": "it is read-only; ask for write permission on the file and its folder",
        "full": "the disk is full; free some space",
        "not a database": "the file is not a ledger, or is damaged; restore a copy of it",
        "malformed": "the file is damaged; restore a copy of it",
        "unable to open": "it cannot be opened; check the folder and its permissions",
        "No such file": "it cannot be opened; check the folder and its permissions",
        "Permission denied": (
            "it cannot be opened; ask for read and write permission on its folder"
        ),
        "disk I/O": "the disk failed; check the system log",
    }
    known = [advice for sign, advice in reasons.items() if sign in said]
    return known[0] if known else said
