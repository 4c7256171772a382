"""Data: where they are, and exact answers about them in integers.

A :class:`~tametail.data.relation.Relation` says what is asked about, in public terms; a backend
answers queries about it. There are two: ``local``, over rows that are read in this process, and
``sql``, which has databases and Spark compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tametail.data.relation import Relation
from tametail.queries.query import Exact, Query


class Backend(Protocol):
    """What ``ask`` needs of the data."""

    @property
    def relation(self) -> Relation:
        """What is asked about."""

    def on(self, relation: Relation) -> Backend:
        """Return the backend for another relation over the same rows."""

    @property
    def is_remote(self) -> bool:
        """Whether a question is a journey, so that it pays to ask several at once."""

    @property
    def size(self) -> int:
        """The number of records, missing ones included, or of persons. Public in replace-one."""

    def answer(self, query: Query[object], /) -> Exact:
        """Return the exact answer to ``query``."""

    def answer_each(self, queries: Sequence[Query[object]], /) -> list[Exact]:
        """Return the answer to each query about its own group, in the order of codes."""

    @property
    def locators(self) -> tuple[str, ...]:
        """Where the data lie, for a ledger, as far as the backend knows it."""

    @property
    def reading(self) -> str | None:
        """How the records are read, in the words of a plan, if that is worth a word."""

    @property
    def units(self) -> tuple[str | None, ...]:
        """What the columns are measured in, where their declared types say so."""

    @property
    def conditions(self) -> tuple[bool, ...]:
        """Which of the columns are conditions: 0 or 1 wherever they are known."""

    def close(self) -> None:
        """End what was opened; to be called twice does no harm."""
