"""A ledger in a file, by the standard library's SQLite.

The journal is deleted at each commit (journal_mode DELETE) and the folder is synced after that
(synchronous EXTRA): with FULL, a power loss may bring the journal back and undo a commit that was
already acknowledged. A connection lives as long as one transaction, so that forks and threads
share nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tametail._shown import shown_path
from tametail.errors import LedgerError, TamperedLedger
from tametail.ledger.places import refuse_network
from tametail.ledger.rows import SCHEMA, TABLE, Row, Rows

_SYNCHRONOUS: Final = ("EXTRA", 3)  # its name, and the number that SQLite answers
_PRAGMAS: Final = (
    f"PRAGMA synchronous = {_SYNCHRONOUS[0]}",
    "PRAGMA fullfsync = ON",  # macOS: through the disk's own cache
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)
_NEVER: Final = tuple(
    f"CREATE TRIGGER {TABLE}_{verb} BEFORE {verb} ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
    for verb in ("UPDATE", "DELETE")
)


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
        with self._errors("written"), closing(self._open(create)) as connection:
            connection.run("BEGIN IMMEDIATE")
            _prepare(connection, self.path, create)
            yield Rows(connection)
            connection.run("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """See one state of the file."""
        with self._errors("read"), closing(self._open(create=False)) as connection:
            connection.run("BEGIN")
            _prepare(connection, self.path, create=False)
            yield Rows(connection)

    def check(self, rows: Rows) -> None:
        """Let SQLite check its own file."""
        del rows  # the check needs a connection of its own, beside the transaction
        with self._errors("read"), closing(self._open(create=False)) as connection:
            said = [row[0] for row in connection.run("PRAGMA quick_check(1)")]
        if said != ["ok"]:
            raise TamperedLedger(
                f"the file {shown_path(self.path)} is corrupt: restore a copy of it."
            )

    def _open(self, create: bool) -> SqliteConnection:
        if not self._allow_network:
            refuse_network(self.path)
        if not create and not self.path.exists():
            raise LedgerError(
                f"there is no ledger {shown_path(self.path)}: check the path, or make one with "
                f"`tametail ledger create DATASET --ledger FILE --epsilon 1`."
            )
        connection = self._connect(self.path, "rwc" if create else "rw", self._timeout)
        for pragma in _PRAGMAS:
            connection.run(pragma)
        ((mode,),) = connection.run("PRAGMA journal_mode = DELETE")
        ((synchronous,),) = connection.run("PRAGMA synchronous")
        if (mode, synchronous) != ("delete", _SYNCHRONOUS[1]):
            connection.close()
            raise LedgerError(
                f"SQLite cannot keep {shown_path(self.path)} safe (journal {mode}, synchronous "
                f"{synchronous}): use a local disk."
            )
        return connection

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"the ledger {shown_path(self.path)} cannot be {doing}: {_reason(error)}."
            ) from None


def _connect(path: Path, mode: str, timeout: float) -> SqliteConnection:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return SqliteConnection(
        sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)
    )


def _prepare(connection: SqliteConnection, path: Path, create: bool) -> None:
    """Make the table, or see that it is there."""
    found = list(connection.run("SELECT 1 FROM sqlite_master WHERE name = ?", (TABLE,)))
    if found:
        return
    if not create:
        raise LedgerError(f"{shown_path(path)} is not a ledger: check the path.")
    for statement in (*SCHEMA, *_NEVER):
        connection.run(statement.format(text="TEXT"))


def _reason(error: Exception) -> str:
    """Return what to do about an error of SQLite."""
    said = str(error)
    reasons = {
        "locked": "others kept it busy for too long; try again",
        "readonly": "it is read-only; ask for the right to write it and its folder",
        "full": "the disk is full; make room",
        "not a database": "the file is not a ledger, or is damaged; restore a copy of it",
        "malformed": "the file is damaged; restore a copy of it",
        "unable to open": "it cannot be opened; check the folder and its rights",
        "disk I/O": "the disk failed; look at the system's log",
    }
    known = [advice for sign, advice in reasons.items() if sign in said]
    return known[0] if known else said
