"""Engines: they answer queries exactly, wherever the data are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tametail.keys import Key
from tametail.queries.persons import View
from tametail.queries.query import Exact, Query


class Engine(Protocol):
    """What ``ask`` needs of an engine: one verb, and parts of the data where they are stable."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns: schema, and public."""

    @property
    def size(self) -> int:
        """The number of records, missing ones included. Public under replace-one only."""

    def answer(self, query: Query[object], /) -> Exact:
        """Return the exact answer to ``query``."""

    def rows(self, start: int, stop: int) -> Engine:
        """Return an engine over the rows ``start..stop-1`` in their stored order."""

    def column(self, index: int) -> Engine:
        """Return an engine over one column."""


@runtime_checkable
class ByPerson(Protocol):
    """What an engine has beside that if it knows whose records are whose."""

    def view(self, view: View) -> Engine:
        """Return an engine over one number of each person."""


@runtime_checkable
class Groupable(Protocol):
    """What an engine has if its rows have keys, of which none is chosen yet."""

    def grouped(self, keys: Sequence[Key], *, other: bool) -> Engine:
        """Return an engine over the rows of these keys and, if wanted, all other rows."""


@runtime_checkable
class ByKey(Protocol):
    """What an engine has if it knows which rows have which key."""

    def keys(self, places: Sequence[int]) -> Engine:
        """Return an engine over the rows of some of the keys."""
