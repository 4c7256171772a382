"""The mechanisms themselves, on exact answers one record apart, and every query."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tametail.ask import Ask
from tametail.doubles import to_key
from tametail.keys import Key
from tametail.mechanisms.histograms import largest_bucket
from tametail.mechanisms.medians import choose_many_medians, choose_median
from tametail.mechanisms.noise import add_gaussian, add_laplace
from tametail.mechanisms.public import histogram
from tametail.mechanisms.ranks import choose_ranks
from tametail.mechanisms.select import select
from tametail.mechanisms.sparse import DiscreteGaussian, DiscreteLaplace, draw_exceedances
from tametail.mechanisms.spherical import add_spherical
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.privacy.budget import Approx, Budget, exponential_rate
from tametail.queries.column import (
    Buckets,
    ClippedSum,
    ClippingGrid,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    Quantiles,
    Squares,
)
from tametail.queries.densest_bin import DensestBin
from tametail.queries.groups import Cells, KeyCounts, Keyed, ScaledSquares, ScaledSums
from tametail.queries.paper import BallMean, Scores
from tametail.queries.persons import GroupResiduals
from tametail.queries.rows import (
    Ball,
    BallLevels,
    BallSquares,
    BallSum,
    ColumnMedians,
    Distances,
    Rows,
)

from ..opened import open_groups, open_table  # noqa: TID252
from .cases import (
    APPROX,
    MECHANISM_DRAWS,
    NOTIONS,
    PURE,
    QUERY_DRAWS,
    ZCDP,
    Case,
    estimator_case,
    simple_case,
)

REPLACE, ADD = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE


def mechanism_cases() -> Iterator[Case]:
    """Noise, choices and histograms; the cases of a mechanism share its runs."""
    noises: tuple[tuple[Budget, Callable[[int, int], tuple[int, ...]]], ...]
    noises = (PURE, _laplace), (ZCDP, _gaussian)
    for budget, add in noises:
        name = f"add{add.__name__}"
        yield Case(name, ADD, budget, partial(add, 0), partial(add, 1), MECHANISM_DRAWS)
    half, quarter, sixth = (-(-MECHANISM_DRAWS // cases) for cases in (2, 4, 6))
    for cost in NOTIONS[:2]:
        yield simple_case("select", REPLACE, cost, half, partial(_select, cost))
        yield simple_case("empty buckets", ADD, cost, half, partial(_reaching, cost))
        for adjacency in RECORD_ADJACENCIES:
            yield simple_case(
                "choose_median", adjacency, cost, quarter, partial(_median, cost, adjacency)
            )
            medians = partial(_medians, cost, adjacency)
            yield simple_case("choose_many_medians", adjacency, cost, quarter, medians)
    for cost in NOTIONS:
        for adjacency in RECORD_ADJACENCIES:
            yield simple_case(
                "largest_bucket", adjacency, cost, sixth, partial(_largest, cost, adjacency)
            )
            yield simple_case(
                "histogram", adjacency, cost, sixth, partial(_histogram, cost, adjacency)
            )
    yield simple_case("choose_ranks", ADD, PURE, MECHANISM_DRAWS, _ranks)
    yield simple_case("add_spherical", ADD, PURE, MECHANISM_DRAWS // 10, _spherical)


def _laplace(exact: int, count: int) -> tuple[int, ...]:
    return add_laplace([exact] * count, 1, PURE.epsilon)


def _gaussian(exact: int, count: int) -> tuple[int, ...]:
    return add_gaussian([exact] * count, 1, ZCDP.rho)


def _spherical(side: int) -> int:
    # The first of two columns: what tells most, as the record moves along it.
    return add_spherical([side, 0], 1, PURE.epsilon)[0]


_SCORES = ([2, 1], [3, 0])
_COUNTS = {
    REPLACE: ({0: 2, 1: 1}, {0: 3}),
    ADD: ({0: 2, 1: 1}, {0: 2}),
}
#: Keys and counts of three records, the first of which goes to 0 or away.
_KEYS = {
    REPLACE: ((to_key([-9.0, 0.0]), np.array([1, 2])), (to_key([0.0]), np.array([3]))),
    ADD: ((to_key([-9.0, 0.0]), np.array([1, 2])), (to_key([0.0]), np.array([2]))),
}


def _select(cost: Budget, side: int) -> int:
    return select(_SCORES[side], [1, 1], exponential_rate(cost))


def _median(cost: Budget, adjacency: Adjacency, side: int) -> float:
    keys, counts = _KEYS[adjacency][side]
    return choose_median(
        keys, counts, exponential_rate(cost), adjacency=adjacency, low=-8.0, high=8.0
    )


def _medians(cost: Budget, adjacency: Adjacency, side: int) -> float:
    rate = exponential_rate(cost)
    (chosen,) = choose_many_medians([_KEYS[adjacency][side]], [(-8.0, 8.0)], rate, adjacency)
    return chosen


def _largest(cost: Budget, adjacency: Adjacency, side: int) -> int | None:
    return largest_bucket(_COUNTS[adjacency][side], cost, low=0, high=1, adjacency=adjacency)


def _histogram(cost: Budget, adjacency: Adjacency, side: int) -> Hashable:
    keys = [key for key, count in _COUNTS[adjacency][side].items() for _ in range(count)]
    universe = None if isinstance(cost, Approx) else (0, 1)
    counts = histogram(keys, cost, universe=universe, neighbors=adjacency).counts
    # Beyond the exact counts of the two neighbors, a noisy count says nothing more.
    return min(max(counts.get(0, 0), 2), 3), min(counts.get(1, -1), 1)


def _reaching(cost: Budget, side: int) -> Hashable:
    """One bucket among four: with a record it gets OpenDP's noise, empty it gets our own."""
    law: Any
    if cost is PURE:
        law, noisy = DiscreteLaplace(Fraction(1) / Fraction(PURE.epsilon)), _laplace(1, 1)
    else:
        law, noisy = DiscreteGaussian(Fraction(1)), _gaussian(1, 1)
    found = draw_exceedances(law, 4 - side, 1) + [y for y in noisy[:side] if y >= 1]
    return tuple(sorted(min(noise, 4) for noise in found))


def _ranks(side: int) -> Hashable:
    counts = [np.array(([3, 2, 1], [3, 3, 1])[side])]
    query = Distances((0.0,), ((1.0, 2.0, 4.0),), target=2, weights=(1, 1, 1, 1))
    return choose_ranks(counts, query, PURE, ADD)[0]


def query_cases() -> Iterator[Case]:
    """Every query with its noise, and every choice, on records that move it furthest."""
    yield from _sum_cases()
    yield from _choice_cases()
    yield from _row_cases()
    yield from _table_cases()
    yield from _group_cases()


def _group_cases() -> Iterator[Case]:
    """Queries about groups: a record more in one of two, and a key that one record holds."""
    cells = Cells((0.0, 1.0))
    first, second = [(5.0, 0), (0.5, 1)], [(0.5, 1)]
    for cost in NOTIONS[:2]:
        yield _query_case(cells, cost, REPLACE, [5.0], [-5.0])
        yield _query_case(cells, cost, ADD, [5.0], [])
        yield _query_case(Keyed((cells, cells)), cost, ADD, first, second, _keyed)
    yield _query_case(KeyCounts(), APPROX, ADD, ["a", "b", "b"], ["b", "b"], _keys)
    # A person alone in two groups, and with many records in a third.
    others = [(0, 0, 0.5), (1, 0, -0.5), (1, 2, 1.0)]
    theirs = [(2, 0, 3.0), (2, 1, -4.0), (2, 2, 1e9), (2, 2, 1e9)]
    for order, cost in ((1, PURE), (2, ZCDP)):
        sums = ScaledSums(GroupResiduals(0.25), order, -4, 80, 3)
        for query in (sums, ScaledSquares(replace(sums, limit=1 << 20))):
            yield _query_case(query, cost, ADD, others + theirs, others, _persons)
            yield _query_case(
                query, cost, REPLACE, others + theirs, [*others, (2, 2, -1e9)], _persons
            )


def _keyed(rows: Any) -> Any:
    values, keys = zip(*rows, strict=True)
    opened = open_groups(pa.table({"x": values, "key": keys}), "x", ["key"])
    return opened.grouped([Key((code,)) for code in range(2)], other=False)


def _persons(rows: Any) -> Any:
    who, keys, values = zip(*rows, strict=True)
    frame = pa.table({"x": values, "who": who, "key": keys})
    opened = open_groups(frame, "x", ["key"], person="who")
    return opened.grouped([Key((code,)) for code in range(3)], other=False)


def _keys(keys: Any) -> Any:
    return open_groups(pa.table({"x": [0.0] * len(keys), "key": keys}), "x", ["key"])


def _sum_cases() -> Iterator[Case]:
    lattice = ClippingGrid(exponent=-4, low=-48, center=0, high=64)
    sums: tuple[tuple[Any, float, float], ...] = (
        (Count(), 1.0, math.nan),
        (ClippedSum(lattice), math.inf, -math.inf),
        (ClippedSum(lattice, count_weight=48), math.inf, math.nan),
        (DistanceSum(0.5, lattice), math.inf, -math.inf),
        (DistanceSum(0.5, lattice, count_weight=48), math.inf, math.nan),
        (Squares(center=0.0, octave=2, cap=16), math.inf, 0.0),
        (LogHistogram(center=0.0, first=-2, last=3), 2.0, -2.0),
        (LogHistogram(center=0.0, first=-2, last=3, counted=True), 2.0, math.nan),
    )
    for query, old, new in sums:
        for cost in NOTIONS[:2]:
            yield _query_case(query, cost, REPLACE, [old], [new])
            yield _query_case(query, cost, ADD, [old], [])


def _choice_cases() -> Iterator[Case]:
    data = [-9.0, 0.0, 0.0]
    for halvings in (0, 1):
        query = Median(halvings, -8.0, 8.0)
        for cost in NOTIONS[:2]:
            yield _query_case(query, cost, REPLACE, data, [0.0, *data[1:]])
            yield _query_case(query, cost, ADD, data, data[1:])
    for halvings in (0, 1):
        # The first choice falls on the ties, which later ones divide; a replacement changes parts.
        several = Quantiles(halvings, -8.0, 8.0, (200_000, 500_000, 900_000))
        for cost in NOTIONS[:2]:
            yield _query_case(several, cost, REPLACE, data, [*data[1:], 9.0])
            yield _query_case(several, cost, ADD, data, data[1:])
    buckets, data = Buckets(inverse_width=1.0, low=0, high=1), [1.5, 0.5, 0.5]
    for cost in NOTIONS:
        yield _query_case(buckets, cost, REPLACE, data, [0.5, *data[1:]])
        yield _query_case(buckets, cost, ADD, data, data[1:])
    crowd = DensestBin(inverse_width=1.0, low=-3, high=3, reach=2, falling=False)
    for cost in NOTIONS[:2]:
        yield _query_case(crowd, cost, REPLACE, [2.5, 0.5], [-2.5, 0.5])
        yield _query_case(crowd, cost, ADD, [2.5, 0.5], [0.5])


def _row_cases() -> Iterator[Case]:
    """Queries over rows of a public number: the ball of the paper and its tournament."""
    first, second = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[-3.0, -4.0], [0.0, 0.0]])
    ball = BallMean((0.0, 0.0), exponent=-4, radius=80, size=2, factor=512)
    for cost in NOTIONS:
        yield _query_case(ball, cost, REPLACE, first, second, open_table)
    grid = Scores((0.0, 0.0), -4, 16, 2, 1, 64, 1, 2, 2)
    for cost in NOTIONS[:2]:
        yield _query_case(grid, cost, REPLACE, first, second, open_table)


def _table_cases() -> Iterator[Case]:
    """Queries of the vector mean."""
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    moved = np.array([[-3.0, -4.0], [0.0, 0.0], [0.0, 0.0]])
    far = np.array([[math.inf, -math.inf], [0.0, 0.0], [0.0, 0.0]])
    for order, cost in ((1, PURE), (2, ZCDP)):
        ball = Ball((0.0, 0.0), (16.0, 16.0), (20, 80), order)
        for adjacency, other in ((REPLACE, moved), (ADD, rows[1:])):
            weight = 20 if adjacency is ADD else 0
            yield _table_case(BallSum(ball, 1, weight), cost, adjacency, rows, other)
            yield _table_case(BallSquares(ball, 0), cost, adjacency, far, other)
            levels = BallLevels(ball, 1, (1, 1, 1))
            yield _table_case(levels, cost, adjacency, far, rows[1:] if adjacency is ADD else rows)
            for halvings in (0, 1):
                medians = ColumnMedians(halvings, ((-8.0, 8.0), (-8.0, 8.0)))
                yield _table_case(medians, cost, adjacency, far, other)
                distances = Distances(
                    (0.0, 0.0), ((1.0, 2.0),) * 2, 1, (1, 1, 1), halvings, least=1
                )
                yield _table_case(distances, cost, adjacency, rows, _none_of(rows, adjacency))
        yield _table_case(Rows(), cost, ADD, rows, rows[1:])


def _none_of(rows: Any, adjacency: Adjacency) -> Any:
    """Return the rows with the first one at 0, or without it."""
    return rows[1:] if adjacency is ADD else np.zeros_like(rows)


def _table_case(query: Any, cost: Budget, adjacency: Adjacency, first: Any, second: Any) -> Case:
    return _query_case(query, cost, adjacency, first, second, open_table)


def _query_case(
    query: Any,
    cost: Budget,
    adjacency: Adjacency,
    first: Any,
    second: Any,
    backend: Callable[[Any], Any] = open_table,
) -> Case:
    def estimate(ask: Ask) -> tuple[Any, ...]:
        answer = ask(query, cost)
        # How many keys stand out differs from run to run: all of them are one statistic.
        apart = isinstance(answer, tuple) and not isinstance(query, KeyCounts)
        return answer if apart else (answer,)

    name, draws = type(query).__name__, QUERY_DRAWS
    if getattr(query, "halvings", 0):  # the records are read in every run
        name, draws = f"{name} of a sample", QUERY_DRAWS // 4
    return estimator_case(
        name, (first, second), cost, adjacency, estimate, backend=backend, draws=draws
    )
