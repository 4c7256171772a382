"""Tables whose rows are streamed: the engines of this machine, over the rows of a database."""

from __future__ import annotations

from collections.abc import Sequence

from tametail.engines import Engine
from tametail.engines.keyed import GroupedTable
from tametail.engines.local import LocalEngine
from tametail.engines.persons.engine import PersonsEngine
from tametail.engines.sql.column import SqlColumn
from tametail.engines.sql.records import Asked
from tametail.engines.sql.sessions import Session
from tametail.errors import InternalError
from tametail.keys import Key
from tametail.queries.persons import View
from tametail.queries.query import Exact, Query


class SqlTable:
    """Answers queries over rows as they stream by; about one column in the database, if it can."""

    def __init__(
        self,
        session: Session,
        local: LocalEngine | PersonsEngine | GroupedTable,
        asked: Asked | None = None,
    ) -> None:
        self._session, self._local, self._asked = session, local, asked
        self.columns = local.columns

    @property
    def locator(self) -> str | None:
        """Where the table lies, for a ledger."""
        return self._session.locator

    @property
    def reading(self) -> str:
        """How the records are read, in the words of a plan."""
        name = self._session.dialect.name
        return f"rows stream from {name} through this process, in bounded memory"

    def close(self) -> None:
        """End the session."""
        self._session.close()

    @property
    def size(self) -> int:
        """The number of records, missing ones included."""
        return self._local.size

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query``, in at most one pass over the rows."""
        return self._local.answer(query)

    def rows(self, start: int, stop: int) -> Engine:
        """Refuse: rows have no stable positions, so no two asks can share the budget by them."""
        raise InternalError(f"rows {start}..{stop} of a database have no stable positions.")

    def column(self, index: int) -> Engine:
        """Return an engine over one column."""
        if self._asked is None:
            return self._local.column(index)
        return SqlColumn(self._session, self._asked.records(index), self.columns[index])


class StreamedPersons(SqlTable):
    """The same for persons: memory grows with them, not with their records."""

    _local: PersonsEngine

    @property
    def reading(self) -> str:
        """How the records are read, in the words of a plan."""
        name = self._session.dialect.name
        return f"rows stream from {name} through this process, which keeps a sum for each person"

    def view(self, view: View) -> Engine:
        """Return an engine over one number of each person."""
        return self._local.view(view)


class StreamedGroups(SqlTable):
    """The same for groups, whose records are kept in memory side by side."""

    _local: GroupedTable

    @property
    def reading(self) -> str:
        """How the records are read, in the words of a plan."""
        name = self._session.dialect.name
        return f"rows stream from {name} into the memory of this process, group by group"

    def grouped(self, keys: Sequence[Key], *, other: bool) -> Engine:
        """Return an engine over the rows of these keys and, if wanted, all other rows."""
        return self._local.grouped(keys, other=other)
