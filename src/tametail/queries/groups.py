"""Queries about groups: one question for every key at once, counts by cells, and the keys.

A record has one key, its own, whatever the other records are. Under add-remove one record more
or less therefore moves the answer for one key only: ``docs/proofs/groups.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tametail.keys import Key
from tametail.privacy.adjacency import Adjacency
from tametail.queries.persons import GroupRows, Vector  # noqa: F401 - GroupRows is for examples
from tametail.queries.query import Query, Sensitivity, SumQuery


@dataclass(frozen=True, slots=True)
class Cells(SumQuery):
    """The numbers of records below the first cut, from each cut to the next, and from the last on.

    Answer: one integer more than there are cuts; their sum is the number of records that are not
    missing.
    """

    cuts: tuple[float, ...]

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """A record is in one cell: a replacement empties one and fills another."""
        return Sensitivity(adjacency.changes, adjacency.changes)


@dataclass(frozen=True, slots=True)
class Keyed(Query[tuple[int, ...]]):
    """A question for every key, asked of the records of that key alone; add-remove only.

    Answer: the answers one after the other, in the order of the keys. Each gets the noise that its
    own sensitivity asks for.

    >>> Keyed((Cells((0.0, 1.0)), Cells((0.0, 1.0)))).sensitivities(Adjacency.ADD_REMOVE)[0].l1
    1
    """

    parts: tuple[SumQuery, ...]

    def sensitivities(self, adjacency: Adjacency) -> tuple[Sensitivity, ...]:
        """Return how far one record can move the answer for its key; no other answer moves."""
        if adjacency.size_is_public or adjacency.person is not None:
            raise AssertionError("whoever moves two keys pays for two: records, add-remove only")
        return tuple(part.sensitivity(adjacency) for part in self.parts)


@dataclass(frozen=True, slots=True)
class KeyCounts(Query[tuple[tuple[Key, int], ...]]):
    """What every key that occurs weighs, for a private choice of keys.

    Of records each weighs 1. A person weighs ``whole``, divided evenly among their keys and rounded
    down; of more than ``most`` keys so many are chosen by secret coins.

    Answer: the keys whose noisy weights are large, sorted, with these weights. It costs a delta.
    """

    whole: int = 1
    most: int = 1

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """A replacement takes a whole from some keys and gives one to others."""
        return Sensitivity(adjacency.changes * self.whole, adjacency.changes * self.whole**2)


#: Ends of a scaled vector: products of a number and a limit fit into 64 bits.
MOST_TICKS, MOST_LIMIT = 1 << 38, 1 << 24

#: Squares of scaled numbers are counted in units of so many bits, so that sums of them fit.
SQUARE_BITS = 24


@dataclass(frozen=True, slots=True)
class ScaledSums(SumQuery):
    """Sums over persons, one for each group, of vectors scaled down to a length of ``limit``.

    A number v of a person's vector becomes q = sign(v) floor(|v| / 2**exponent), at most
    ``MOST_TICKS`` in size. If their length N is beyond the limit, each becomes
    sign(q) floor(|q| limit / N). N is the sum of sizes (``order`` 1), or the root of the sum of
    squares, rounded up (``order`` 2).

    >>> query = ScaledSums(GroupRows(), order=1, exponent=0, limit=10, groups=3)
    >>> query.sensitivity(Adjacency.ADD_REMOVE), query.sensitivity(Adjacency.REPLACE_ONE).l1
    (Sensitivity(l1=10, l2_squared=100), 20)
    """

    vector: Vector
    order: int
    exponent: int
    limit: int
    groups: int

    def __post_init__(self) -> None:
        if self.order not in (1, 2) or not 0 < self.limit < MOST_LIMIT:
            raise AssertionError("a length of order 1 or 2, within the limit of limits")

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """A person is a vector of at most that length; a replacement is a difference of two."""
        most = adjacency.changes * self.limit
        longest = 1 if self.order == 1 else math.isqrt(max(self.groups, 1) - 1) + 1
        return Sensitivity(most * longest, most**2)


@dataclass(frozen=True, slots=True)
class ScaledSquares(SumQuery):
    """Sums over persons of the squares of what :class:`ScaledSums` adds up, group by group.

    Each square is counted in units of 2**SQUARE_BITS and rounded down.
    """

    sums: ScaledSums

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """In either norm the squares of a vector add up to no more than its length, squared."""
        most = adjacency.changes * (self.sums.limit**2 >> SQUARE_BITS)
        return Sensitivity(most, most**2)
