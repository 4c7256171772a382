"""A ledger on a PostgreSQL server, for teams.

One advisory lock per ledger orders all writers; `FOR UPDATE` would need the right to update, which
no role of a ledger should have. A commit returns when the server has it on disk, and what was
committed is read again: a rule or a trigger may have dropped it.

A role that may add charges, but grant no budget, can still write any text into them. So whoever
charges recomputes all entries that were added since it last did, and trusts the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from tametail.errors import LedgerError, LedgerIntegrityError, MissingExtraError
from tametail.ledger.rows import SCHEMA, TABLE, Row, Rows
from tametail.ledger.verify import Verifier

if TYPE_CHECKING:
    import psycopg

# The upper half of the lock's number says whose it is, the lower half which table.
_OWNER: Final = 0x7461696C
_LOCK: Final = (
    f"SELECT pg_advisory_xact_lock(({_OWNER}::bigint << 32) | '{TABLE}'::regclass::oid::bigint)"
)
# Not to_regclass: it may answer from a cache that is older than the lock.
_FIND: Final = (
    f"SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = '{TABLE}' "  # noqa: S608  a constant
    "AND schemaname = ANY(current_schemas(false))"
)
#: Of what the name stands for, which may be a temporary table.
_KEPT: Final = (
    "SELECT 1 FROM pg_catalog.pg_class "  # noqa: S608  a constant
    f"WHERE oid = '{TABLE}'::regclass AND relkind = 'r' AND relpersistence = 'p'"
)
_NEVER: Final = (
    f"""CREATE FUNCTION {TABLE}_never() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION ''entries are never changed''; END'""",
    f"""CREATE TRIGGER {TABLE}_never BEFORE UPDATE OR DELETE OR TRUNCATE ON {TABLE}
        EXECUTE FUNCTION {TABLE}_never()""",
)
_TOO_MANY: Final = "53300"  # connections; those of others will end
_PATIENCE: Final = 0.05


class PostgresConnection:
    """A connection of psycopg, seen as the ledger wants it."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self.raw = connection

    def run(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        """Execute a statement and return its rows; a long answer comes in pieces."""
        text = statement.replace("?", "%s").encode()
        if "ORDER BY seq" in statement and "LIMIT" not in statement:
            with self.raw.cursor(name="entries") as cursor:
                cursor.itersize = 5_000
                yield from cursor.execute(text, parameters)
            return
        done = self.raw.execute(text, parameters or None)
        yield from done if done.description else ()

    def do(self, statement: str) -> list[Row]:
        """Execute a statement to its end."""
        return list(self.run(statement))


class PostgresStorage:
    """The ledger in the table of the database at ``url``."""

    def __init__(self, url: str, *, timeout: float = 60.0) -> None:
        self._url = url
        self._timeout = timeout
        self._verified = Verifier()
        parts = urlsplit(url)
        self.shown = f"postgresql://{parts.hostname or ''}{parts.path}"  # never the password

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Rows]:
        """Hold the ledger's lock; leaving commits, and returns when the server has it on disk."""
        with self._errors("written"), closing(self._open()) as raw:
            connection = PostgresConnection(raw)
            connection.do("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            connection.do("SET LOCAL synchronous_commit TO on")
            connection.do(f"SET LOCAL lock_timeout TO {int(1000 * self._timeout)}")
            self._prepare(connection, create)
            connection.do(_LOCK)
            rows = Rows(connection)
            yield rows
            connection.do("COMMIT")
            if not Rows(connection).holds(rows.added):
                raise LedgerError(
                    f"The server {self.shown} confirmed entries that are not in the table. Remove "
                    f"the trigger on table {TABLE} that drops or changes rows."
                )

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """See one state of the table."""
        with self._errors("read"), closing(self._open()) as raw:
            connection = PostgresConnection(raw)
            connection.do("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._prepare(connection, create=False)
            yield Rows(connection)

    def check(self, rows: Rows) -> None:
        """Leave the check of its files to the server."""

    def follow(self, rows: Rows) -> None:
        """Recompute what others added since; under the lock, so that one thread does it."""
        known, self._verified = self._verified, Verifier()
        if known.number and not rows.has(known.head):
            known = Verifier()  # another copy was restored
        try:
            known.follow(rows.all(after=known.number))
        except LedgerIntegrityError as error:
            raise LedgerIntegrityError(
                f"{error} Nothing can be charged until an administrator has looked at the ledger. "
                "If row security hides entries from this role, it needs a policy FOR SELECT USING "
                "(true)."
            ) from None
        self._verified = known
        rows.base = known.head  # what is believed below must not come from entries behind it

    def _open(self) -> psycopg.Connection[tuple[object, ...]]:
        driver = _driver()
        give_up = time.monotonic() + self._timeout
        while True:
            try:
                opened: psycopg.Connection[tuple[object, ...]] = driver.connect(
                    self._url,
                    autocommit=True,
                    connect_timeout=max(2, int(self._timeout)),
                    client_encoding="UTF8",  # with others, text comes as bytes
                )
                return opened
            except driver.OperationalError as error:
                # Nothing was asked yet, so trying again is no retry of a release.
                busy = error.sqlstate == _TOO_MANY or "too many clients" in str(error)
                if not busy or time.monotonic() > give_up:
                    raise
                time.sleep(_PATIENCE)

    def _prepare(self, connection: PostgresConnection, create: bool) -> None:
        """Make the table, or see that it is there; and that the server keeps what it says."""
        if connection.do("SHOW fsync") != [("on",)]:
            raise LedgerError(
                f"The server of {self.shown} runs with fsync = off and may lose charges. Turn "
                "fsync on."
            )
        if create:  # two who create at once: the second waits here, and then sees the table
            connection.do(f"SELECT pg_advisory_xact_lock({_OWNER})")
        if connection.do(_FIND):
            if not connection.do(_KEPT):
                raise LedgerError(
                    f"The table {TABLE} in {self.shown} is unlogged or temporary and may lose "
                    f"charges. Ask its owner to run ALTER TABLE {TABLE} SET LOGGED."
                )
            return
        if not create:
            raise LedgerError(
                f"No ledger in {self.shown}. Check the address, or create one: "
                "ledger.create('claims', budget=...)."
            )
        for statement in (*SCHEMA, *_NEVER):
            connection.do(statement.format(text='TEXT COLLATE "C"'))

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        driver = _driver()
        try:
            yield
        except driver.Error as error:
            raise LedgerError(
                f"The ledger {self.shown} cannot be {doing}: {_reason(error)}."
            ) from None


def _reason(error: psycopg.Error) -> str:
    """Return the server's first line, which speaks of the ledger and not of data."""
    if error.sqlstate == "55P03":
        return "it is busy; try again"
    if error.sqlstate == "42501":
        return "permission denied; ask for the right to read and insert into its table"
    first = (str(error).splitlines() or ["the server did not answer"])[0]
    return first.strip().rstrip(".")


def _driver() -> ModuleType:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError.of("A ledger on PostgreSQL", "postgres") from None
    return psycopg
