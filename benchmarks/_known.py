"""Persons whose totals are known, as data that can be asked: no records are added up again."""

from __future__ import annotations

from typing import Any

from tametail.data.open import open_data
from tametail.data.persons.totals import PersonTotals
from tametail.data.persons.vectors import GroupedPersons
from tametail.data.relation import Relation
from tametail.queries.groups import ScaledSquares, ScaledSums


class KnownPersons:
    """A backend that takes note of every question, with the relation that it was about."""

    is_remote = False
    locator = reading = None

    def __init__(
        self,
        persons: PersonTotals | GroupedPersons,
        relation: Relation,
        asked: list[Any] | None = None,
    ) -> None:
        self._persons, self.relation = persons, relation
        self.asked: list[tuple[Relation, Any]] = [] if asked is None else asked

    def on(self, relation: Relation) -> KnownPersons:
        """Return the same persons, asked about another relation."""
        return KnownPersons(self._persons, relation, self.asked)

    @property
    def size(self) -> int:
        """How many persons there are."""
        return len(self._persons)

    def answer(self, query: Any) -> Any:
        """Answer about the numbers of one view, or about vectors of persons."""
        self.asked.append((self.relation, query))
        if isinstance(query, ScaledSums | ScaledSquares):
            return self._persons.scaled_totals(query)  # type: ignore[attr-defined]
        (view,) = self.relation.views
        return open_data(self._persons.numbers(view)).answer(query)
