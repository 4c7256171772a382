"""Queries about groups: one question for every key at once, counts by cells, and the keys.

A record has one key, its own, whatever the other records are. Under add-remove one record more
or less therefore moves the answer for one key only: ``docs/proofs/groups.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tametail.keys import Key
from tametail.privacy.unit import Unit
from tametail.queries.query import Query, Sensitivity, SumQuery


@dataclass(frozen=True, slots=True)
class Cells(SumQuery):
    """The numbers of records below ``low``, from ``low`` to ``high``, and above ``high``.

    Answer: three integers, whose sum is the number of records that are not missing.
    """

    low: float
    high: float

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """A record is in one cell: a replacement empties one and fills another."""
        return Sensitivity(unit.changes, unit.changes)


@dataclass(frozen=True, slots=True)
class Keyed(Query[tuple[int, ...]]):
    """A question for every key, asked of the records of that key alone; add-remove only.

    Answer: the answers one after the other, in the order of the keys. Each gets the noise that its
    own sensitivity asks for.

    >>> Keyed((Cells(0.0, 1.0), Cells(0.0, 1.0))).sensitivities(Unit.ADD_REMOVE)[0].l1
    1
    """

    parts: tuple[SumQuery, ...]

    def sensitivities(self, unit: Unit) -> tuple[Sensitivity, ...]:
        """Return how far one record can move the answer for its key; no other answer moves."""
        if unit.size_is_public:
            raise AssertionError("a record that is replaced may move two keys: add-remove only")
        return tuple(part.sensitivity(unit) for part in self.parts)


@dataclass(frozen=True, slots=True)
class KeyCounts(Query[tuple[tuple[Key, int], ...]]):
    """The number of rows of every key that occurs, for a private choice of keys.

    Answer: the keys whose noisy counts are large, sorted, with these counts. It costs a delta.
    """

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """A row has one key: a replacement takes one from one key and gives it to another."""
        return Sensitivity(unit.changes, unit.changes)
