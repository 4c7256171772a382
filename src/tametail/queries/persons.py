"""What may be asked about persons: a number for each of them, out of their own records alone.

A view names that number; it holds public numbers and earlier private answers. Any query about a
column may be asked about a view, with the sensitivity that it has there: one person is one number
(docs/proofs/persons.md). With s the sum of a person's records and c their number:
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PersonMean:
    """s / c: the mean of a person's records in a column; missing if c is 0."""

    column: int = 0


@dataclass(frozen=True, slots=True)
class PersonRows:
    """c: how many records a person has in a column; missing if there is none."""

    column: int = 0


@dataclass(frozen=True, slots=True)
class PersonResidual:
    """s - ratio * c: by how much a person's records exceed ``ratio`` together; missing if none."""

    ratio: float
    column: int = 0


@dataclass(frozen=True, slots=True)
class GroupResiduals:
    """s - ratio * c of a person in each of their groups; ``by_person``: s / c - ratio."""

    ratio: float
    column: int = 0
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class GroupRows:
    """c of a person in each of their groups; ``by_person``: 1."""

    column: int = 0
    by_person: bool = False


Vector = GroupResiduals | GroupRows
"""One number for each group in which a person has records, out of their own records alone."""


@dataclass(frozen=True, slots=True)
class PersonNorm:
    """The length of a person's vector: sum of sizes (``order`` 1) or root of squares (2)."""

    vector: Vector
    order: int

    @property
    def column(self) -> int:
        """The column of the vector."""
        return self.vector.column


View = PersonMean | PersonRows | PersonResidual | PersonNorm
