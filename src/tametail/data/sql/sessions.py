"""One table of one database, seen through one snapshot, whatever the driver.

A session is opened before a ledger is charged: it reads names and declared types. All questions
of a release go through it, so that all of them see the same records; :meth:`Session.close` ends
it. What a server says of a failure may quote cells, so that no word of it is passed on.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import pyarrow as pa

from tametail._shown import shown
from tametail.data.sql.dialects import Declared, Dialect
from tametail.errors import DataError, InternalError, ParameterError

#: A cell of an answer: integers, doubles, text, NULL.
Row = tuple[Any, ...]

#: What a column of a stream is read as.
Kind = Literal["double", "integer", "boolean", "text"]

#: Rows that are fetched at a time where rows are streamed.
BATCH = 1 << 16

ARROW = {
    "double": pa.float64(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "text": pa.large_string(),
}

Found = TypeVar("Found")
Errors = type[Exception] | tuple[type[Exception], ...]


@dataclass(frozen=True, slots=True)
class RowLocations:
    """Places in which rows lie: every row of the snapshot is in one of them, alone."""

    blocks: int
    in_block: int

    @property
    def count(self) -> int:
        """How many places there are."""
        return self.blocks * self.in_block


class Session(ABC):
    """What engines need of a database. Names of columns and their declared types are schema."""

    dialect: Dialect
    shown: str
    """The database in messages: never a user's name or a password."""
    source: str
    """What stands behind FROM."""
    columns: Mapping[str, Declared]
    compares_floats: bool = False
    """Whether floats can name persons: equal exactly if their values are."""
    in_process: bool = False
    """Whether the database is a library in this process, from which arrays come as they lie."""

    def column(self, name: str) -> str:
        """Return a column as SQL."""
        return self.dialect.identifier(name)

    def as_double(self, name: str) -> str:
        """Return a column of numbers, or of truth values, as a double."""
        column = self.column(name)
        inner = f"CAST({column} AS integer)" if self.columns[name] == "boolean" else column
        return f"CAST({inner} AS {self.dialect.double})"

    @property
    def locators(self) -> tuple[str, ...]:
        """Where the records lie, for a ledger: the table itself, and what a view reads."""
        return ()

    @abstractmethod
    def rows(self, text: str) -> list[Row]:
        """Return all rows that a question gives."""

    def stream(self, text: str, kinds: Sequence[Kind]) -> Iterator[list[pa.Array]]:
        """Yield the rows of a question in pieces: an array for each column."""
        raise InternalError(f"{len(kinds)} columns of {text!r} come in no arrays.")

    @abstractmethod
    def close(self) -> None:
        """End the snapshot, and what was opened for it. To be called twice does no harm."""

    def places(self) -> RowLocations | None:
        """Return where the rows of the table lie, if a row keeps its place in the snapshot."""
        return None

    def _checked(
        self,
        call: Callable[[], Found],
        errors: Errors,
        say: Callable[[Exception], str] | None = None,
    ) -> Found:
        """Call; an error of the driver becomes one of ours, without even a context to quote."""
        try:
            return call()
        except errors as error:
            reason = (say or self._reason)(error)
        raise DataError(reason)

    @abstractmethod
    def _reason(self, error: Exception) -> str:
        """Return a fixed text for an error, chosen by its class."""


def to_arrow(cells: Sequence[Any], kind: Kind) -> pa.Array:
    """Return cells of a driver as an array of the type that the question cast them to."""
    return pa.array(cells, ARROW[kind])


def parts_of(table: object) -> tuple[str, ...]:
    """Return the parts of a table's name.

    >>> parts_of("billing.claims"), parts_of('billing."claims.2025"')
    (('billing', 'claims'), ('billing', 'claims.2025'))
    """
    if not isinstance(table, str) or not _NAME.fullmatch(table):
        raise ParameterError(
            f"Invalid table={shown(table)}. Use table='claims', or table='billing.claims' with a "
            "schema. Put names with a dot in double quotes."
        )
    return tuple(
        part[1:-1].replace('""', '"') if part.startswith('"') else part
        for part in _PART.findall(table)
    )


_PART = re.compile(r'"(?:[^"\0]|"")+"|[^".\0]+')
_NAME = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern})){{0,2}}")


def no_table(table: str, there: Sequence[str], database: str) -> DataError:
    """Return the error for a table that is not there, with the nearest name that is."""
    close = difflib.get_close_matches(table, there, n=1)
    hint = f"Did you mean table={close[0]!r}?" if close else f"Tables: {sorted(there)[:20]}."
    return DataError(f"No table {shown(table)} in {database}. {hint}")
