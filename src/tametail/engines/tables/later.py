"""A table whose records wait: they are read, once, when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from tametail.engines.cells import Floats
from tametail.engines.tables import Table, Tell


class LaterTable:
    """Columns that are known, of rows that are not there yet.

    To read a lazy frame or an iterator is to look at records, which comes after a ledger has been
    charged; names and types are schema, and were checked before.
    """

    def __init__(self, columns: tuple[str, ...], make: Callable[[], Table]) -> None:
        self.columns = columns
        self.in_place = False
        self._make = make

    @cached_property
    def _table(self) -> Table:
        return self._make()

    def rows(self) -> int:
        """Return the number of rows: they are read."""
        return self._table.rows()

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield rows, which are read once."""
        return self._table.chunks(most, start, stop, tell)

    def column(self, index: int) -> Table:
        """Return the table of one column, of the same rows; they still wait."""
        return LaterTable((self.columns[index],), lambda: self._table.column(index))
