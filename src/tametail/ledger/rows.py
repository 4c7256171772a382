"""The ledger's few statements, the same for SQLite and PostgreSQL.

One table, to which rows are only ever added: a role with the rights to insert and to read is
enough. All that a charge needs is found by an index, so that the thousandth costs as much as the
first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, TypeAlias

from tametail.errors import LedgerError
from tametail.ledger.entries import ACCOUNT_KINDS, Entry

TABLE: Final = "tametail_entry"
COLUMNS: Final = "seq, kind, dataset, release, request, place, body, prev, hash"
ACCOUNT: Final = "kind IN ({})".format(", ".join(f"'{kind}'" for kind in ACCOUNT_KINDS))

#: Text has the right type for its back end in place of {text}; SQLite's compares by bytes already.
SCHEMA: Final = (
    f"""CREATE TABLE {TABLE}(
        seq BIGINT PRIMARY KEY, kind {{text}} NOT NULL, dataset {{text}} NOT NULL,
        release {{text}}, request {{text}}, place {{text}}, body {{text}} NOT NULL,
        prev {{text}} NOT NULL UNIQUE, hash {{text}} NOT NULL UNIQUE)""",
    f"CREATE UNIQUE INDEX {TABLE}_charge ON {TABLE}(release) WHERE kind = 'charge'",
    f"CREATE UNIQUE INDEX {TABLE}_result ON {TABLE}(release) WHERE kind = 'result'",
    f"CREATE UNIQUE INDEX {TABLE}_open ON {TABLE}(dataset) WHERE kind = 'open'",
    f"CREATE INDEX {TABLE}_account ON {TABLE}(dataset, seq) WHERE {ACCOUNT}",
    f"CREATE INDEX {TABLE}_place ON {TABLE}(place, dataset) WHERE place IS NOT NULL",
)

#: A row of the table as the driver gives it: integers, texts and None.
Row: TypeAlias = Sequence[Any]


class Connection(Protocol):
    """What both back ends' connections can do, with question marks for parameters."""

    def run(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        """Execute a statement and return its rows."""


class Storage(Protocol):
    """Where a ledger is kept."""

    def writing(self, *, create: bool = False) -> AbstractContextManager[Rows]:
        """Hold the ledger's only lock; leaving commits, and returns when that is on disk."""

    def reading(self) -> AbstractContextManager[Rows]:
        """See one state of the ledger, whatever is written meanwhile."""

    def check(self, rows: Rows) -> None:
        """Raise what is wrong with the storage itself."""

    def follow(self, rows: Rows) -> None:
        """Recompute what others wrote, where they can add entries but not grant budgets."""


class Rows:
    """The entries as seen by one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._run = connection.run
        self.added: list[Entry] = []
        """What this transaction has appended."""
        self.base: str | None = None
        """The head that was verified in this transaction, if that was done."""

    def last(self) -> tuple[int, str] | None:
        """Return number and hash of the last entry."""
        found = list(self._run(f"SELECT seq, hash FROM {TABLE} ORDER BY seq DESC LIMIT 1"))
        return (int(found[0][0]), str(found[0][1])) if found else None

    def append(self, entry: Entry) -> None:
        """Add an entry at the end, and see that it is there: a trigger may swallow or change it."""
        values = (
            entry.seq, entry.kind, entry.dataset, entry.release, entry.request, entry.place,
            entry.body, entry.prev, entry.hash,
        )  # fmt: skip
        marks = ", ".join("?" * len(values))
        if not self.added and self.base not in (None, entry.prev):
            raise LedgerError(
                "Entries were added by a program that did not wait for its turn. Nothing was "
                "written. Let only tametail write to the ledger, and try again."
            )
        list(self._run(f"INSERT INTO {TABLE}({COLUMNS}) VALUES ({marks})", values))
        if not self.holds([entry]):
            raise LedgerError(
                f"The database did not keep entry {entry.seq} as it was written. Remove the "
                f"trigger or rule on table {TABLE} that drops or changes rows."
            )
        self.added.append(entry)

    def holds(self, entries: Sequence[Entry]) -> bool:
        """Say whether all of these entries are there, as they were written."""
        return all(self._one("hash = ?", entry.hash) == entry for entry in entries)

    def opening(self, dataset: str) -> Entry | None:
        """Return the entry that created a data set."""
        return self._one("dataset = ? AND kind = 'open'", dataset)

    def account(self, dataset: str) -> Entry | None:
        """Return the last entry that states a data set's account."""
        return self._one(f"dataset = ? AND {ACCOUNT} ORDER BY seq DESC LIMIT 1", dataset)

    def charge(self, release: str) -> Entry | None:
        """Return the charge of a release."""
        return self._one("release = ? AND kind = 'charge'", release)

    def result(self, release: str) -> Entry | None:
        """Return the stored result of a release."""
        return self._one("release = ? AND kind = 'result'", release)

    def datasets(self) -> list[str]:
        """Return the names of all data sets, in the order of their creation."""
        found = self._run(f"SELECT dataset FROM {TABLE} WHERE kind = 'open' ORDER BY seq")
        return [name for (name,) in found]

    def names_at(self, places: Sequence[str]) -> set[str]:
        """Return the data sets that were charged for one of these places."""
        names: set[str] = set()
        for place in places:
            found = self._run(f"SELECT DISTINCT dataset FROM {TABLE} WHERE place = ?", (place,))
            names.update(name for (name,) in found)
        return names

    def names_between(self, low: str, high: str) -> set[str]:
        """Return the data sets that were charged for a place in [low, high), compared by bytes."""
        statement = f"SELECT DISTINCT dataset FROM {TABLE} WHERE place >= ? AND place < ?"
        return {name for (name,) in self._run(statement, (low, high))}

    def all(self, after: int = 0) -> Iterator[Entry]:
        """Yield every entry, or those behind a number, in order."""
        statement = f"SELECT {COLUMNS} FROM {TABLE} WHERE seq > ? ORDER BY seq"
        for row in self._run(statement, (after,)):
            yield Entry(*row)

    def latest(self, dataset: str | None, count: int | None) -> list[Entry]:
        """Return the last entries of accounts, of one data set or of all, oldest first."""
        where, values = ACCOUNT, []
        if dataset is not None:
            where, values = f"dataset = ? AND {where}", [dataset]
        limit = "" if count is None else f" LIMIT {int(count)}"
        statement = f"SELECT {COLUMNS} FROM {TABLE} WHERE {where} ORDER BY seq DESC{limit}"
        return [Entry(*row) for row in self._run(statement, values)][::-1]

    def has(self, digest: str) -> bool:
        """Say whether an entry has this hash."""
        return self._one("hash = ?", digest) is not None

    def _one(self, where: str, value: str) -> Entry | None:
        found = list(self._run(f"SELECT {COLUMNS} FROM {TABLE} WHERE {where}", (value,)))
        return Entry(*found[0]) if found else None
