"""The paper's estimators on worst neighbors; n is public, so one record is replaced."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tametail.ask import Ask
from tametail.paper.ball import Coordinates, ball_estimator
from tametail.paper.range import range_estimator
from tametail.paper.tournament import play, tournament_estimator
from tametail.paper.univariate import mean_estimator
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Pure
from tametail.privacy.choices import coordinate_costs
from tametail.queries.paper import Scores

from .cases import APPROX, NOTIONS, PURE, ZCDP, Case, Records, estimator_case

#: Half the width of a bucket of the paper's estimators.
RADIUS = 4.0

#: One record replaced by another, at the places where these might slip.
REPLACED: dict[str, tuple[Any, Any]] = {
    "a far outlier moves": (1e9, -1e9),
    "a record crosses a bucket border": (math.nextafter(2 * RADIUS, 0), 2 * RADIUS),
    "a record leaves its bucket empty": (-1.0, 1.0),
    "NaN against a value": (math.nan, 1.0),
    "infinity against a value": (math.inf, 1.0),
    "None against minus infinity": (None, -math.inf),
}

NEAR, FAR = 8.5, 1e300  # R: 6 buckets, or so many that empty ones rule
OUTLIER = (1e9, -1e9)

#: Each of an estimator's cases gets a part of its runs; some find no question asked twice.
DRAWS, SLOW_DRAWS = 40_000, 15_000


def range_cases() -> Iterator[Case]:
    """PDPRE, CDPRE and ADPRE alone."""
    for name, (old, new) in REPLACED.items():
        for cost in NOTIONS:
            yield range_case(name, [1.0] * 2, old, new, cost, NEAR)
    # As many records as it takes to stand out among all those buckets half of the time.
    for cost, records in ((PURE, 690), (ZCDP, 52), (APPROX, 3)):
        yield range_case("R = 1e300", [1.0] * records, -1.0, 1.0, cost, FAR)


def range_case(name: str, others: Records, old: Any, new: Any, cost: Budget, R: float) -> Case:
    """One record among ``others`` is replaced."""

    def estimate(ask: Ask) -> tuple[float, ...]:
        return (range_estimator(ask, cost, radius=RADIUS, R=R).center,)

    neighbors = [[*others, old], [*others, new]]
    return _case(f"range_estimate: {name}", neighbors, cost, estimate)


def mean_cases() -> Iterator[Case]:
    """PDPODME, CDPODME and ADPODME; the replaced record is averaged, or locates.

    The second half of a block is what PDPODME averages; the first half finds its range.
    """
    for cost in NOTIONS[:2]:
        yield _mean_case("nothing to locate", [1.0] * 2, 1, OUTLIER, cost, R=2 * RADIUS)
    # Two buckets equally full, and nothing to average: the estimate is the range, little noise.
    balanced = [1.0, -1.0] * 10 + [None] * 20
    for cost in NOTIONS:
        yield _mean_case("a far outlier moves", [1.0] * 6, 5, OUTLIER, cost)
        yield _mean_case("a locating record moves", balanced, 0, (1.0, -1.0), cost)
    for name, pair in {
        "NaN against an outlier": (math.nan, 1e9),
        "infinity against minus infinity": (math.inf, -math.inf),
        "None against minus infinity": (None, -math.inf),
    }.items():
        yield _mean_case(name, [1.0] * 2, 1, pair, PURE, R=2 * RADIUS)
    yield _mean_case("m = 3, n = 11", [1.0] * 11, 7, OUTLIER, PURE, blocks=3)
    yield _mean_case("m = 3, n = 3", [1.0] * 3, 1, OUTLIER, PURE, blocks=3)


def _mean_case(
    name: str,
    records: Records,
    place: int,
    pair: tuple[Any, Any],
    cost: Budget,
    blocks: int = 1,
    R: float = NEAR,
) -> Case:
    def estimate(ask: Ask) -> tuple[float, ...]:
        size = len(records)
        return (mean_estimator(ask, cost, size=size, blocks=blocks, radius=RADIUS, R=R),)

    neighbors = [[*records[:place], record, *records[place + 1 :]] for record in pair]
    return _case(f"mean_1d: {name}", neighbors, cost, estimate)


def ball_cases() -> Iterator[Case]:
    """CDPHDME and its twins; the replaced row finds the center, or is averaged."""
    rows = np.ones((8, 2))
    for cost in (ZCDP, APPROX, PURE):
        for name, place, pair in (
            ("a locating row moves", 0, ((-7.0, -7.0), (7.0, 7.0))),
            ("a row moves across the ball", 6, ((3.0, 3.0), (-3.0, -3.0))),
            ("a row leaves the ball", 6, ((3.0, 3.0), (1e9, 1e9))),
            ("NaN against a row", 6, ((math.nan, 1.0), (3.0, 3.0))),
        ):
            estimate = partial(_ball, cost)
            neighbors = _replaced(rows, place, pair)
            yield _rows_case(f"mean_ball: {name}", neighbors, cost, estimate, SLOW_DRAWS)


def _ball(cost: Budget, ask: Ask) -> tuple[float, ...]:
    coarse = Coordinates(coordinate_costs(cost, 2), 1, RADIUS, NEAR)
    return tuple(ball_estimator(ask, cost, size=8, radius=5.0, coarse=coarse))


def tournament_cases() -> Iterator[Case]:
    """PDPHDME, and its matches alone."""
    # A grid of 5 x 5 points of which neighbors of neighbors play; 3 blocks of 3 rows.
    grid = Scores((0.0, 0.0), -4, 16, 2, 1, 64, 3, 9, 4)
    rows = np.ones((9, 2))
    pairs = {
        "a row moves": ((4.0, 4.0), (-4.0, -4.0)),
        "None against infinity": ((math.nan, math.nan), (math.inf, math.inf)),
    }
    for name, pair in pairs.items():
        matches = partial(_matches, grid)
        neighbors = _replaced(rows, 4, pair)
        yield _rows_case(f"tournament: {name}", neighbors, PURE, matches, DRAWS)
    whole = partial(_tournament, replace(grid, size=4, blocks=1))
    for place in (0, 6):
        pair = (7.0, 7.0), (-7.0, -7.0)
        name = f"mean_tournament: row {place} moves"
        neighbors = _replaced(np.ones((8, 2)), place, pair)
        yield _rows_case(name, neighbors, PURE, whole, SLOW_DRAWS)


def _matches(grid: Scores, ask: Ask) -> tuple[float, ...]:
    return tuple(play(ask, PURE, (0.0, 0.0), grid))


def _tournament(grid: Scores, ask: Ask) -> tuple[float, ...]:
    coarse = Coordinates([Pure(PURE.epsilon / 2)] * 2, 1, RADIUS, NEAR)
    return tuple(tournament_estimator(ask, PURE, size=8, coarse=coarse, grid=grid))


def _replaced(rows: Any, place: int, pair: Any) -> list[Any]:
    neighbors = [rows.copy(), rows.copy()]
    for neighbor, row in zip(neighbors, pair, strict=True):
        neighbor[place] = row
    return neighbors


def _case(name: str, neighbors: Any, cost: Budget, estimate: Any, **options: Any) -> Case:
    options = {"draws": DRAWS} | options
    return estimator_case(name, neighbors, cost, Adjacency.REPLACE_ONE, estimate, **options)


def _rows_case(name: str, neighbors: Any, cost: Budget, estimate: Any, draws: int) -> Case:
    return _case(name, neighbors, cost, estimate, draws=draws)
