"""The engine of persons in groups: totals of each person in each group, and scaled sums of them.

A person's vector has a number for each group in which they have records; it follows from their
own records alone. Before it is added to those of others it is scaled down in whole numbers, so
that its length is within a limit exactly (docs/proofs/groups.md).
"""

from __future__ import annotations

import math
import secrets
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.doubles import LARGEST
from tametail.engines.cells import Floats
from tametail.engines.local import LocalEngine
from tametail.engines.persons.engine import Found, PersonsEngine
from tametail.engines.persons.sums import ExactSums
from tametail.engines.tables.later import LaterTable
from tametail.engines.tables.memory import MatrixTable
from tametail.queries.groups import (
    MOST_TICKS,
    SQUARE_BITS,
    KeyCounts,
    ScaledSquares,
    ScaledSums,
)
from tametail.queries.persons import GroupResiduals, PersonNorm, Vector, View
from tametail.queries.query import Exact, Query

Integers = npt.NDArray[np.int64]

#: Bits of the lower half of a number of ticks, for squares in two words.
_HALF = 19


class Pairs(NamedTuple):
    """Totals of one column, a row for each person and group, in the order of the persons."""

    persons: Integers
    groups: Integers
    sums: Floats
    counts: Integers


class PersonGroups(PersonsEngine):
    """Answers about persons who may have records in many groups.

    >>> from tametail.queries.persons import GroupRows
    >>> numbers, persons = np.array([[1.0], [2.0], [4.0]]), np.array([0, 0, 1])
    >>> engine = PersonGroups(numbers, persons, np.array([0, 1, 1]), 2, ("x",))
    >>> engine.answer(ScaledSums(GroupRows(), order=1, exponent=-3, limit=8, groups=2))
    (4, 12)
    """

    def __init__(
        self,
        numbers: Floats,
        persons: Integers,
        groups: Integers,
        count: int,
        columns: tuple[str, ...],
    ) -> None:
        kept = (persons >= 0) & (groups >= 0) & ~np.isnan(numbers).all(axis=1)
        self._numbers, self._groups, self._count = numbers[kept], groups[kept], count
        # Who has no record in these groups is nobody here.
        found, self._persons = np.unique(persons[kept], return_inverse=True)
        self._size, self._names = len(found), columns
        self._pairs = lru_cache(maxsize=None)(self._pairs_of)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._names

    @cached_property
    def _totals(self) -> Found:
        totals = [
            _totals_of(self._persons, self._numbers[:, index], self._size)
            for index in range(len(self._names))
        ]
        sums, counts = zip(*totals, strict=True)
        return Found(np.column_stack(sums), np.column_stack(counts), None)

    def _pairs_of(self, column: int) -> Pairs:
        """Return the totals of each person in each group."""
        numbers = self._numbers[:, column]
        present = ~np.isnan(numbers)
        joint = self._persons[present] * self._count + self._groups[present]
        pairs, places = np.unique(joint, return_inverse=True)
        sums, counts = _totals_of(places, numbers[present], len(pairs))
        return Pairs(pairs // max(self._count, 1), pairs % max(self._count, 1), sums, counts)

    def _vector(self, vector: Vector) -> Floats:
        """Return a number for each person and group, by one or two operations of IEEE 754."""
        _, _, sums, counts = self._pairs(vector.column)
        if not isinstance(vector, GroupResiduals):
            return np.ones(len(counts)) if vector.by_person else counts.astype(np.float64)
        with np.errstate(all="ignore"):
            if vector.by_person:
                found = sums / counts - vector.ratio
            else:
                found = sums - vector.ratio * counts
            return np.clip(found, -LARGEST, LARGEST)

    def view(self, view: View) -> LocalEngine:
        """Return an engine over one number for each person; lengths are computed once."""
        if not isinstance(view, PersonNorm):
            return super().view(view)
        name = (self.columns[view.column],)
        return LocalEngine(LaterTable(name, lambda: MatrixTable(self.numbers(view), name)))

    def numbers(self, view: View, start: int = 0, stop: int | None = None) -> Floats:
        """Return a number for each person; lengths are exact sums, rounded once."""
        if not isinstance(view, PersonNorm):
            return super().numbers(view, start, stop)
        with np.errstate(all="ignore"):
            sizes = np.abs(self._vector(view.vector))
            sizes = sizes * sizes if view.order == 2 else sizes
            persons = self._pairs(view.vector.column).persons
            sums, counts = _totals_of(persons, sizes, self._size)
            lengths = np.sqrt(sums) if view.order == 2 else sums
        return np.where(counts > 0, lengths, np.nan)[start:stop]

    def answer(self, query: Query[object]) -> Exact:
        """Return sums of scaled vectors; any other question is about the persons' means."""
        squared = isinstance(query, ScaledSquares)
        sums = query.sums if isinstance(query, ScaledSquares) else query
        if not isinstance(sums, ScaledSums):
            return super().answer(query)
        persons, groups, *_ = self._pairs(sums.vector.column)
        ticks = scaled(self._vector(sums.vector), persons, sums)
        if squared:
            ticks = ticks * ticks >> SQUARE_BITS
        totals = np.zeros(sums.groups, dtype=np.int64)
        np.add.at(totals, groups, ticks)
        return tuple(totals.tolist())


def scaled(vector: Floats, persons: Integers, query: ScaledSums) -> Integers:
    """Return the vectors in ticks, each scaled down if it is longer than the limit.

    Products are below 2**38 times 2**24, so 64 bits hold them; the squares are in two words and
    in Python's integers.
    """
    with np.errstate(all="ignore"):
        sizes = np.minimum(np.floor(np.ldexp(np.abs(vector), -query.exponent)), MOST_TICKS)
    ticks = sizes.astype(np.int64)
    firsts = np.flatnonzero(np.diff(persons, prepend=-1))
    if not len(firsts):
        return ticks
    lengths = _lengths(ticks, firsts, query)
    length = np.repeat(lengths, np.diff(firsts, append=len(ticks)))
    beyond = length > query.limit
    ticks[beyond] = ticks[beyond] * query.limit // length[beyond]
    return np.where(vector < 0, -ticks, ticks)


def _lengths(ticks: Integers, firsts: Integers, query: ScaledSums) -> Integers:
    """Return the length of each person's vector; a root is rounded up."""
    if query.order == 1:
        return np.add.reduceat(ticks, firsts)
    high, low = ticks >> _HALF, ticks & ((1 << _HALF) - 1)
    words = [np.add.reduceat(each, firsts) for each in (high * high, high * low, low * low)]
    roots = [
        math.isqrt(square - 1) + 1 if square else 0
        for square in (
            (a << 2 * _HALF) + (b << _HALF + 1) + c
            for a, b, c in zip(*(each.tolist() for each in words), strict=True)
        )
    ]
    return np.array(roots, dtype=np.int64)


def _totals_of(places: Integers, numbers: Floats, size: int) -> tuple[Floats, Integers]:
    """Return exact sums, rounded once, and numbers of records."""
    sums = ExactSums()
    sums.add(places, numbers, size)
    return sums.read(), sums.counts


def weigh_keys(persons: Integers, keys: Integers, count: int, query: KeyCounts) -> Integers:
    """Return what each key weighs; a person with too many has some chosen by secret coins."""
    kept = (persons >= 0) & (keys >= 0)
    whose, theirs = np.divmod(np.unique(persons[kept] * count + keys[kept]), max(count, 1))
    firsts = np.flatnonzero(np.diff(whose, prepend=-1))
    numbers = np.diff(firsts, append=len(whose))
    chosen = np.ones(len(whose), dtype=bool)
    for first, number in zip(
        firsts[numbers > query.most], numbers[numbers > query.most], strict=True
    ):
        left_out = secrets.SystemRandom().sample(range(number), number - query.most)
        chosen[first + np.array(left_out)] = False
    each = np.repeat(query.whole // np.minimum(numbers, query.most), numbers)
    weights = np.zeros(count, dtype=np.int64)
    np.add.at(weights, theirs[chosen], each[chosen])
    return weights
