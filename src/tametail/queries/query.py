"""What a query is: a question whose type names its mechanism and the type of its answer.

A query holds public numbers and earlier private answers only. A :class:`SumQuery` says how far one
record can move its exact answer and gets noise; the other kinds are answered by a private choice.
:mod:`tametail.mechanisms.dispatch` has the mechanism of each kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from tametail.privacy.adjacency import Adjacency

Answer_co = TypeVar("Answer_co", covariant=True)

#: What an engine answers, in the form that the query's mechanism takes: integers, alone or in
#: tuples, lists, arrays and mappings. Which one it is goes by the query's type.
Exact: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one record can move an answer: in L1, and in L2 (squared, to stay an integer)."""

    l1: int
    l2_squared: int


class Query(ABC, Generic[Answer_co]):
    """A question about the records; ``ask(query, cost)`` returns its private answer."""

    __slots__ = ()


class SumQuery(Query[tuple[int, ...]]):
    """Integers that get discrete noise: Laplace, or Gaussian for a zCDP cost."""

    __slots__ = ()

    @abstractmethod
    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return how far one record can move the exact answer."""


class GaussianQuery(SumQuery):
    """Integers that get noise as round as the ball in which one record can move them.

    Discrete Gaussian noise, which by itself may cost (epsilon, delta); for a pure cost noise whose
    density falls with its length.
    """

    __slots__ = ()


class RankQuery(Query[tuple[int, ...]]):
    """Lists of counts; in each of them it is chosen where the counts pass a target."""

    __slots__ = ()


class KeysQuery(Query[Answer_co]):
    """The records as ordered integer keys, for private choices among all doubles in [low, high].

    A record is looked at with probability ``2**-halvings``, by a secret coin of its own. Exact
    answer: distinct keys and their counts.
    """

    __slots__ = ()

    halvings: int
    low: float
    high: float
