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


View = PersonMean | PersonRows | PersonResidual
