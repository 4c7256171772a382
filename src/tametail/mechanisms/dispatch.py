"""Which mechanism makes the answer of a query private: the query's type decides.

Every entry of :data:`MECHANISMS` takes a query, its cost and the neighboring relation: public
numbers. It returns the mechanism, a function of the exact answer. The proof that each costs no more
than it may is ``docs/proofs/ask.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from tametail.errors import InternalError
from tametail.keys import Key
from tametail.mechanisms.densest_bin import select_densest_bin
from tametail.mechanisms.groups import add_keyed_noise, choose_keys
from tametail.mechanisms.histograms import largest_bucket
from tametail.mechanisms.medians import Keys, choose_median
from tametail.mechanisms.noise import add_gaussian, add_laplace, lone_gaussian_rho
from tametail.mechanisms.quantiles import choose_quantiles
from tametail.mechanisms.ranks import Counts, choose_medians, choose_ranks
from tametail.mechanisms.select import select
from tametail.mechanisms.spherical import add_spherical
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, exponential_rate, on_sample
from tametail.queries.column import Buckets, Median, Quantiles
from tametail.queries.densest_bin import DensestBin
from tametail.queries.groups import KeyCounts, Keyed
from tametail.queries.paper import Scores
from tametail.queries.query import Exact, GaussianQuery, Query, RankQuery, SumQuery
from tametail.queries.rows import ChoiceQuery, ColumnMedians

Answer = TypeVar("Answer")
Chosen = tuple[tuple[Key, int], ...]
Integers = Callable[[Sequence[int]], tuple[int, ...]]


def mechanism_for(
    query: Query[Answer], cost: Budget, adjacency: Adjacency
) -> Callable[[Exact], Answer]:
    """Return the function that turns the exact answer of ``query`` into a private one.

    **Formal guarantee**: what it returns costs at most ``cost`` under ``adjacency``. See
    ``docs/proofs/ask.md``.

    >>> from tametail.privacy.budget import pure
    >>> from tametail.queries.column import Count
    >>> mechanism_for(Count(), pure(1000.0), Adjacency.ADD_REMOVE)((41, 2, 0))
    (41, 2, 0)
    """
    for kind in type(query).__mro__:
        if kind in MECHANISMS:
            mechanism: Callable[[Exact], Answer] = MECHANISMS[kind](query, cost, adjacency)
            return mechanism
    raise InternalError(f"there is no mechanism for {type(query).__name__}.")


def _noise(query: SumQuery, cost: Budget, adjacency: Adjacency) -> Integers:
    """Discrete Laplace noise, or Gaussian for a zCDP cost."""
    sensitivity = query.sensitivity(adjacency)
    if isinstance(cost, Zcdp):
        return partial(add_gaussian, l2_squared=sensitivity.l2_squared, rho=cost.rho)
    return partial(add_laplace, l1=sensitivity.l1, epsilon=cost.strength)


def _gaussian(query: GaussianQuery, cost: Budget, adjacency: Adjacency) -> Integers:
    """Discrete Gaussian noise; for (epsilon, delta) such that by itself it costs that.

    For epsilon alone, noise that is as spherical as the sensitivity.
    """
    l2_squared = query.sensitivity(adjacency).l2_squared
    if isinstance(cost, Pure):
        return partial(add_spherical, l2_squared=l2_squared, epsilon=cost.epsilon)
    if isinstance(cost, Approx):
        rho = lone_gaussian_rho(max(l2_squared, 1), cost)
        return partial(add_gaussian, l2_squared=l2_squared, rho=rho)
    return _noise(query, cost, adjacency)


def _median(
    query: Median, cost: Budget, adjacency: Adjacency
) -> Callable[[tuple[Keys, Keys]], float]:
    """A private median, chosen among all doubles by the exponential mechanism."""
    rate = exponential_rate(on_sample(cost, query.halvings))
    choose = partial(choose_median, rate=rate, adjacency=adjacency, low=query.low, high=query.high)
    return lambda exact: choose(*exact)


def _quantiles(
    query: Quantiles, cost: Budget, adjacency: Adjacency
) -> Callable[[tuple[Keys, Keys]], tuple[float, ...]]:
    """Private quantiles; together they cost ``cost``."""
    choose = partial(choose_quantiles, query=query, cost=cost, adjacency=adjacency)
    return lambda exact: choose(*exact)


def _bucket(
    query: Buckets, cost: Budget, adjacency: Adjacency
) -> Callable[[dict[int, int]], int | None]:
    """The key of a bucket that privately looks largest; None if none stands out."""
    return partial(largest_bucket, budget=cost, low=query.low, high=query.high, adjacency=adjacency)


def _densest_bin(
    query: DensestBin, cost: Budget, adjacency: Adjacency
) -> Callable[[dict[int, int]], int]:
    """The key of a bucket that many records are near, by the exponential mechanism."""
    # Under add-remove all scores move the same way.
    rate = exponential_rate(cost, monotone=adjacency.one_way) / query.score_sensitivity(adjacency)
    return partial(select_densest_bin, query=query, rate=rate)


def _tournament_winner(
    query: Scores, cost: Budget, adjacency: Adjacency
) -> Callable[[Sequence[int]], int]:
    """The index of a point with a high score, by the exponential mechanism."""
    rate = exponential_rate(cost) / query.score_sensitivity(adjacency)
    return partial(select, weights=[1] * query.points, rate=rate)


def _medians(
    query: ColumnMedians, cost: Budget, adjacency: Adjacency
) -> Callable[[Sequence[tuple[Counts, Counts]]], tuple[float, ...]]:
    """A private median of every column; together they cost ``cost``."""
    return partial(choose_medians, query=query, cost=cost, adjacency=adjacency)


def _ranks(
    query: ChoiceQuery, cost: Budget, adjacency: Adjacency
) -> Callable[[Sequence[Counts]], tuple[int, ...]]:
    """A private rank for every list of counts; together they cost ``cost``."""
    return partial(choose_ranks, query=query, cost=cost, adjacency=adjacency)


def _keyed(
    query: Keyed, cost: Budget, adjacency: Adjacency
) -> Callable[[Sequence[Sequence[int]]], tuple[int, ...]]:
    """Noise on the answers for all keys; a record moves one of them."""
    return partial(add_keyed_noise, query=query, cost=cost, adjacency=adjacency)


def _keys(
    query: KeyCounts, cost: Budget, adjacency: Adjacency
) -> Callable[[dict[Key, int]], Chosen]:
    """The keys that many hold."""
    return partial(choose_keys, query=query, cost=cost, adjacency=adjacency)


MECHANISMS: dict[type, Callable[[Any, Budget, Adjacency], Callable[[Exact], Any]]] = {
    SumQuery: _noise,
    GaussianQuery: _gaussian,
    Median: _median,
    Quantiles: _quantiles,
    Buckets: _bucket,
    DensestBin: _densest_bin,
    Scores: _tournament_winner,
    ColumnMedians: _medians,
    RankQuery: _ranks,
    Keyed: _keyed,
    KeyCounts: _keys,
}
