"""What is asked about, in public terms: which rows, which numbers of them, whose, in which group.

A relation holds names, conditions and keys, which are public, and no record. A backend answers
queries about a relation; narrower relations are derived by the verbs below and by nothing else, so
that :class:`~tametail.ask.Ask` can see which of them are disjoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from tametail.errors import InternalError
from tametail.keys import Key
from tametail.privacy.adjacency import Adjacency
from tametail.queries.persons import PersonMean, View
from tametail.queries.products import Products

#: Both ends for each column, one of them infinite; a single pair is for all columns.
OneSidedBounds = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Chosen keys, whose places are the codes of rows; ``other`` rows have one code more."""

    keys: tuple[Key, ...]
    other: bool = False

    def __len__(self) -> int:
        return len(self.keys) + self.other


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows with one or several numbers each.

    >>> relation = Relation(("charge", "nights"), person=("patient",), by=("state",))
    >>> relation.column(1).names
    ('nights',)
    >>> groups = relation.coded((Key(("CA",)), Key(("NY",))), other=True)
    >>> groups.codes, groups.of([2]).codes
    ((0, 1, 2), (2,))
    """

    values: tuple[str, ...]
    """Columns, or what computes a number from them."""
    where: str | None = None
    """A condition; the numbers of a row for which it is not true are missing."""
    person: tuple[str, ...] = ()
    """The columns that say whose a row is."""
    by: tuple[str, ...] = ()
    """The columns that say which group a row is in."""
    bounds: OneSidedBounds | None = None
    """What numbers are clipped to before anything else."""
    groups_per_person: Literal[1] | None = None
    """Whether each person is kept to the group that most of their rows are in."""
    is_dropped: bool = False
    """Whether these are the rows that keeping each person to one group leaves out."""
    chosen: tuple[int, ...] | None = None
    groups: Groups | None = None
    part: tuple[int, ...] | None = None
    view: View | None = None
    span: tuple[int, int] | None = None
    weights: str | None = None
    """What the one value of every row weighs: rows are read as w y and w (``data.computed``)."""
    products: Products | None = None
    """What numbers are made of all values of a row (``data.computed``)."""

    def with_values(self, values: Sequence[str]) -> Relation:
        """Return the relation whose columns were not named before the data were opened.

        One column of all records by itself has no bounds: its method clips there, and can tell
        whether records lie beyond.
        """
        alone = len(values) == 1 and not self.person and not self.by
        return replace(self, values=tuple(values), bounds=None if alone else self.bounds)

    def column(self, index: int) -> Relation:
        """Return the same rows with one of their numbers."""
        return replace(self, chosen=(self.columns[index],))

    def coded(self, keys: Sequence[Key], *, other: bool) -> Relation:
        """Return the rows of these keys and, if wanted, all ``other`` rows as one more group."""
        return replace(self, groups=Groups(tuple(keys), other))

    def of(self, codes: Sequence[int]) -> Relation:
        """Return the rows of some of the groups, by their codes."""
        return replace(self, part=tuple(codes))

    def per_person(self, view: View) -> Relation:
        """Return one row for each person, or each weighed record: a number made of theirs."""
        return replace(self, view=view)

    def multiplied(self, products: Products) -> Relation:
        """Return the same records, with products of all their values in place of these."""
        if self.person or self.by or self.weights is not None or self.chosen is not None:
            raise InternalError("products are made of whole rows of records.")
        return replace(self, products=products)

    def dropped(self) -> Relation:
        """Return the rows of persons in all chosen groups but the one that each is kept to."""
        return replace(self, is_dropped=True)

    def between(self, start: int, stop: int) -> Relation:
        """Return the rows ``start..stop-1``; positions are stable under replace-one only."""
        first, last = self.span or (0, stop)
        return replace(self, span=(min(first + start, last), min(first + stop, last)))

    @property
    def columns(self) -> tuple[int, ...]:
        """The places of the numbers that rows have here, among all values."""
        return tuple(range(len(self.values))) if self.chosen is None else self.chosen

    @property
    def places(self) -> tuple[int, ...]:
        """The places of the numbers that are read of every row here."""
        return self.columns if self.weights is None else tuple(range(self.width))

    @property
    def width(self) -> int:
        """How many numbers can be read of every row."""
        return len(self.values) if self.weights is None else 2

    @property
    def names(self) -> tuple[str, ...]:
        """The values that rows have here."""
        return tuple(self.values[place] for place in self.columns)

    @property
    def codes(self) -> tuple[int, ...]:
        """The groups that rows are in here; without groups, all rows have code 0."""
        if self.groups is None:
            return (0,)
        return tuple(range(len(self.groups))) if self.part is None else self.part

    @property
    def views(self) -> tuple[View, ...]:
        """The numbers of a person, or of a weighed record: by default the means of theirs."""
        if self.view is not None:
            return (self.view,)
        return tuple(map(PersonMean, self.columns)) if self.person or self.weights else ()

    def bounds_of(self, column: int) -> tuple[float, float] | None:
        """Return what the numbers of a column are clipped to first."""
        return None if self.bounds is None else self.bounds[min(column, len(self.bounds) - 1)]


def are_disjoint(relations: Sequence[Relation], adjacency: Adjacency) -> bool:
    """Say whether one record, or one person, is in at most one of these relations, for certain.

    Groups are disjoint if their codes are and nobody can be in two of them: a record has one key,
    its own, but a replacement may change it, and a person may have records of several keys unless
    the relation keeps each to one; the records that this leaves out may be of several again. Rows
    by position are disjoint if their positions are, which stay what they are under replace-one
    alone.
    """
    if not relations:
        return True
    first = relations[0]
    by_group = all(replace(each, part=None) == replace(first, part=None) for each in relations)
    if first.groups is not None and first.span is None and by_group:
        codes = [code for each in relations for code in each.codes]
        is_kept = first.groups_per_person == 1 and not first.is_dropped
        in_one = adjacency.person is None or is_kept
        return in_one and not adjacency.size_is_public and len(set(codes)) == len(codes)
    by_place = all(replace(each, span=None) == replace(first, span=None) for each in relations)
    if first.groups is None and by_place:
        spans = [each.span for each in relations if each.span is not None]
        taken = sorted(span for span in spans if span[0] < span[1])
        apart = all(one[1] <= other[0] for one, other in pairwise(taken))
        return adjacency.keeps_positions and len(spans) == len(relations) and apart
    return False
