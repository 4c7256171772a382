"""Rows of a database as they stream by, where it cannot compute what is asked by itself.

That is so for several columns together, for columns of exact numbers that no double holds, and for
SQLite. Rows come in pieces, so that memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tametail.data.sources import Block, Cells, Source, Tell, Wanted, names_of
from tametail.data.sources.frames import UntypedSource
from tametail.data.sql.dialects import Declared
from tametail.data.sql.sessions import ARROW, Kind, Session
from tametail.data.sql.sqlite import SqliteSession
from tametail.data.text import PLAIN, arrow_text_to_floats
from tametail.parse import Parse

_KINDS: dict[Declared, Kind] = {
    "number": "double", "integer": "double", "boolean": "double", "decimal": "text", "text": "text",
}  # fmt: skip

_IDS: dict[Declared, Kind] = {"integer": "integer", "boolean": "boolean"}


class SqlSource(Source):
    """The columns of a table or a view: a source for ids, conditions and computed columns."""

    def __init__(self, session: Session, parse: Parse | None = None) -> None:
        self._session, self._parse = session, parse
        self.names = list(session.columns)

    def size(self) -> int | None:
        """Return the number of rows, which the database counts."""
        ((rows,),) = self._session.rows(f"SELECT count(*) FROM {self._session.source}")
        return int(rows)

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows: the types are declared."""
        return {one: self._cells(pa.array([], ARROW[self._kind(one)]), one) for one in wanted}

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows in pieces."""
        kinds = [self._kind(one) for one in wanted]
        chosen = ", ".join(map(self._text, wanted, kinds))
        text = f"SELECT {chosen} FROM {self._session.source}"
        for arrays in self._session.stream(text, kinds):
            yield {one: self._cells(array, one) for one, array in zip(wanted, arrays, strict=True)}
        tell(1.0)

    def _kind(self, one: Wanted) -> Kind:
        name, role = one
        declared = self._session.columns[name]
        return (_IDS if role == "id" else _KINDS).get(declared, "text")

    def _text(self, one: Wanted, kind: Kind) -> str:
        """Return a column in the type that it is streamed as; no cell makes that fail."""
        name, role = one
        dialect, declared = self._session.dialect, self._session.columns[name]
        column = self._session.column(name)
        if kind == "double":
            return self._session.as_double(name)
        if kind in ("integer", "boolean"):
            return f"CAST({column} AS {_TYPES[kind]})"
        if role == "id" and declared == "decimal":
            column = dialect.canonical.format(x=column)
        return f"CAST({column} AS {dialect.long_text})"

    def _cells(self, array: pa.Array, one: Wanted) -> Cells:
        name, role = one
        declared = self._session.columns[name]
        if role == "number" and declared == "decimal":
            return arrow_text_to_floats(array, PLAIN)
        if role == "number" and declared == "text" and self._parse is not None:
            return arrow_text_to_floats(array, self._parse)
        return array


_TYPES = {"integer": "bigint", "boolean": "boolean"}


class QuerySource(Source):
    """The one column of a question, computed in the database."""

    def __init__(self, session: Session, text: str) -> None:
        self._session, self._text, self.names = session, text, ["x"]

    def empty(self, wanted: Sequence[Wanted]) -> Block | None:
        """Return a block without rows."""
        return {one: pa.array([], pa.float64()) for one in wanted}

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the numbers as they come; they come in no order."""
        for (cells,) in self._session.stream(self._text, ["double"]):
            yield dict.fromkeys(wanted, cells)
        tell(1.0)


class ObjectSource(UntypedSource):
    """The columns of a SQLite table: every cell has a type of its own."""

    reading = "rows stream from SQLite through this process"

    def __init__(self, session: SqliteSession, parse: Parse | None = None) -> None:
        super().__init__(list(session.columns), parse)
        self._session = session

    @property
    def locators(self) -> tuple[str, ...]:  # type: ignore[override]
        """Where the table lies, and what a view reads."""
        return self._session.locators

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield the rows in pieces."""
        names = names_of(wanted)
        chosen = ", ".join(map(self._session.dialect.identifier, names))
        text = f"SELECT {chosen} FROM {self._session.source}"
        for columns in self._session.cells(text):
            yield self._block(wanted, dict(zip(names, columns, strict=True)))
        tell(1.0)
