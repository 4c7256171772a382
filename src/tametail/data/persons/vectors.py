"""Persons in groups: totals of each person in each group, and scaled sums of them.

A person's vector has a number for each group in which they have records; it follows from their
own records alone. Before it is added to those of others it is scaled down in whole numbers, so
that its length is within a limit exactly (docs/proofs/groups.md).
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.data.cells import Floats
from tametail.data.persons.sums import ExactSums
from tametail.data.persons.totals import PersonTotals
from tametail.doubles import LARGEST
from tametail.queries.groups import (
    MOST_TICKS,
    SQUARE_BITS,
    KeyCounts,
    ScaledSquares,
    ScaledSums,
)
from tametail.queries.persons import GroupResiduals, PersonNorm, Vector, View
from tametail.randomness import random_sample

Integers = npt.NDArray[np.int64]

#: Bits of the lower half of a number of ticks, for squares in two words.
_HALF = 19


class Pairs(NamedTuple):
    """Totals of one column, a row for each person and group, in the order of the persons."""

    persons: Integers
    groups: Integers
    sums: Floats
    counts: Integers


class GroupedPersons:
    """Persons who may have records in several groups, made of rows in memory.

    Rows of nobody, of no group and without any number are left out, and so is who has no others.

    >>> from tametail.queries.persons import GroupRows
    >>> numbers, persons = np.array([[1.0], [2.0], [4.0]]), np.array([0, 0, 1])
    >>> grouped = GroupedPersons(numbers, persons, np.array([0, 1, 1]), groups=2)
    >>> grouped.scaled_totals(ScaledSums(GroupRows(), order=1, exponent=-3, limit=8, groups=2))
    (4, 12)
    """

    def __init__(
        self,
        numbers: Floats,
        persons: Integers,
        codes: Integers,
        groups: int,
        *,
        is_weighed: bool = False,
    ) -> None:
        kept = (persons >= 0) & (codes >= 0) & ~np.isnan(numbers).all(axis=1)
        self._numbers, self._codes, self._groups = numbers[kept], codes[kept], groups
        found, self._persons = np.unique(persons[kept], return_inverse=True)
        self._size = len(found)
        self._pairs: dict[int, Pairs] = {}
        of_column = partial(_totals_of, self._persons, size=self._size)
        sums, counts = zip(*map(of_column, self._numbers.T), strict=True)
        totals = PersonTotals(np.column_stack(sums), np.column_stack(counts))
        self._totals = totals.weighed() if is_weighed else totals

    def __len__(self) -> int:
        return self._size

    def numbers(self, view: View, start: int = 0, stop: int | None = None) -> Floats:
        """Return a number for each person; lengths are exact sums, rounded once."""
        if not isinstance(view, PersonNorm):
            return self._totals.numbers(view, start, stop)
        with np.errstate(all="ignore"):
            sizes = np.abs(self._vector(view.vector))
            sizes = sizes * sizes if view.order == 2 else sizes
            persons = self.pairs(view.column).persons
            sums, counts = _totals_of(persons, sizes, self._size)
            lengths = np.sqrt(sums) if view.order == 2 else sums
        return np.where(counts > 0, lengths, np.nan)[start:stop]

    def pairs(self, column: int) -> Pairs:
        """Return the totals of each person in each group."""
        if column not in self._pairs:
            numbers = self._numbers[:, column]
            present = ~np.isnan(numbers)
            joint = self._persons[present] * self._groups + self._codes[present]
            pairs, places = np.unique(joint, return_inverse=True)
            sums, counts = _totals_of(places, numbers[present], len(pairs))
            persons, groups = np.divmod(pairs, max(self._groups, 1))
            self._pairs[column] = Pairs(persons, groups, sums, counts)
        return self._pairs[column]

    def _vector(self, vector: Vector) -> Floats:
        """Return a number for each person and group, by one or two operations of IEEE 754."""
        _, _, sums, counts = self.pairs(vector.column)
        if not isinstance(vector, GroupResiduals):
            return np.ones(len(counts)) if vector.by_person else counts.astype(np.float64)
        with np.errstate(all="ignore"):
            if vector.by_person:
                found = sums / counts - vector.ratio
            else:
                found = sums - vector.ratio * counts
            return np.clip(found, -LARGEST, LARGEST)

    def scaled_totals(self, query: ScaledSums | ScaledSquares) -> tuple[int, ...]:
        """Return the sums, or the sums of squares, of all vectors, group by group."""
        sums = query.sums if isinstance(query, ScaledSquares) else query
        persons, groups, *_ = self.pairs(sums.vector.column)
        ticks = scaled(self._vector(sums.vector), persons, sums)
        if isinstance(query, ScaledSquares):
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


def bound_keys_per_person(
    persons: Integers, keys: Integers, count: int, query: KeyCounts
) -> Integers:
    """Return what each key weighs; a person with too many has some chosen by secret coins."""
    kept = (persons >= 0) & (keys >= 0)
    whose, theirs = np.divmod(np.unique(persons[kept] * count + keys[kept]), max(count, 1))
    firsts = np.flatnonzero(np.diff(whose, prepend=-1))
    numbers = np.diff(firsts, append=len(whose))
    chosen = np.ones(len(whose), dtype=bool)
    for first, number in zip(
        firsts[numbers > query.most], numbers[numbers > query.most], strict=True
    ):
        left_out = random_sample(list(range(number)), number - query.most)
        chosen[first + np.array(left_out)] = False
    each = np.repeat(query.whole // np.minimum(numbers, query.most), numbers)
    weights = np.zeros(count, dtype=np.int64)
    np.add.at(weights, theirs[chosen], each[chosen])
    return weights


def largest_groups(persons: Integers, codes: Integers, groups: int) -> npt.NDArray[np.bool_]:
    """Say which rows are in the group that most rows of their person are in.

    Ties go to the smaller code, which is public. A row of nobody, or of no group, is in none.

    >>> largest_groups(np.array([0, 0, 0, 1, 1]), np.array([1, 1, 0, 1, 0]), 2).tolist()
    [True, True, False, False, True]
    """
    counted = (persons >= 0) & (codes >= 0)
    joint = persons[counted] * groups + codes[counted]
    pairs, places, counts = np.unique(joint, return_inverse=True, return_counts=True)
    # By person, then by falling number of rows, then by code: the first of each person is kept.
    order = np.lexsort((pairs % groups, -counts, pairs // groups))
    firsts = np.diff((pairs // groups)[order], prepend=-1) != 0
    is_largest = np.zeros(len(pairs), dtype=bool)
    is_largest[order[firsts]] = True
    kept = np.zeros(len(persons), dtype=bool)
    kept[counted] = is_largest[places]
    return kept
