"""Every kernel adds up: chunks and parts never show in what is read."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from tametail.data.kernels import ball
from tametail.data.kernels.passes import PASSES, Passes
from tametail.queries.column import Count, LogHistogram, Median
from tametail.queries.paper import BallMean, Scores
from tametail.queries.rows import (
    Ball,
    BallLevels,
    BallSquares,
    BallSum,
    ColumnMedians,
    Distances,
    Rows,
)

ORDERS = {
    1: Ball((1.0, -2.0), (8.0, 3.7), (5, 20, 60), 1, (50, 40)),
    2: Ball((1.0, -2.0), (8.0, 3.7), (5, 20, 60), 2),
}
STEPS, OTHERS = (0.5, 1.0, 8.0), (0.25, 2.0, 4.0)
OVER_ROWS = [
    Rows(),
    ColumnMedians(0, ((-9.0, 9.0),) * 2),
    Distances((1.0, -2.0), (STEPS, STEPS), 1, (1,) * 4),
    Distances((1.0, -2.0), (STEPS, OTHERS), 1, (1,) * 4),
    Distances((1.0, -2.0), (STEPS,), 1, (1,) * 4, by_row=True),
    Distances((-2.0,), (STEPS,), 1, (1,) * 4, columns=(1,)),
    *(BallLevels(geometry, 1, (1,) * 4) for geometry in ORDERS.values()),
    *(BallSum(geometry, 1, 3, 2) for geometry in ORDERS.values()),
    *(BallSquares(geometry, 0) for geometry in ORDERS.values()),
    BallMean((0.0, 0.0), exponent=0, radius=9, size=40, factor=30),
    Scores((0.0, 0.0), exponent=0, size=40, step=5, reach=3, tie=5, xi=30, blocks=2, default=7),
]


def rows():
    matrix = np.random.default_rng(5).standard_t(1.5, (40, 2)) * 4
    matrix[3] = math.nan, math.inf
    matrix[17] = 1e308, -1e308
    matrix[18, 1] = math.nan
    return matrix


def found(query, *parts):
    """What is read when every part has an accumulator of its own, fed in uneven chunks."""
    accumulators = []
    for part in parts:
        accumulator = PASSES[type(query)].begin(query)
        for chunk in np.split(part, [len(part) // 7, len(part) // 2]):
            accumulator.add(chunk)
        accumulators.append(accumulator)
    first, *others = accumulators
    for other in others:
        first.merge(other)
    return PASSES[type(query)].conclude(query, first.read())


def same(one, other):
    np.testing.assert_equal(one, other)


def test_parts_of_a_column_add_up(query, records):
    column = np.array([math.nan if x is None else x for x in records])
    whole = PASSES[type(query)].begin(query)
    whole.add(column)
    expected = PASSES[type(query)].conclude(query, whole.read())
    same(found(query, column), expected)
    same(found(query, column[:5], column[5:6], column[6:6], column[6:]), expected)


@pytest.mark.parametrize("query", OVER_ROWS, ids=lambda query: type(query).__name__)
def test_parts_of_rows_add_up(query):
    matrix = rows()
    expected = Passes().answer(query, lambda _: [matrix])
    same(found(query, matrix), expected)
    same(found(query, matrix[:3], matrix[3:4], matrix[4:4], matrix[4:]), expected)


def test_a_profile_merged_beyond_64_bits(monkeypatch):
    monkeypatch.setattr("tametail.data.kernels.profile._CARRY", 3)
    query, column = LogHistogram(0.0, -3, 3, counted=True), np.array([1.0, -2.5, 1.9])
    assert found(query, column, column, column) == found(query, np.tile(column, 3))


def test_squares_are_carried_beyond_64_bits(monkeypatch):
    monkeypatch.setattr(ball, "_CARRY", 2)
    query = BallSquares(ORDERS[2], 1)
    assert found(query, rows(), rows()) == found(query, np.tile(rows(), (2, 1)))
    accumulator = ball.BallTotals(query)
    for _ in range(3):
        accumulator.squares += 1 << 62
        accumulator.add(rows()[:1])
        accumulator.add(rows()[:1])
    assert min(accumulator.read().squares) >= 3 << 62


def test_an_accumulator_can_be_sent(query, records):
    """As to and from the workers of a cluster."""
    column = np.array([math.nan if x is None else x for x in records])
    accumulator = PASSES[type(query)].begin(query)
    accumulator.add(column)
    other = pickle.loads(pickle.dumps(accumulator))
    same(other.read(), accumulator.read())


def test_one_pass_serves_all_queries_around_a_center():
    passes, made = Passes(), []

    def chunks(longest):
        made.append(longest)
        return [np.array([1.0, math.nan, 3.0])]

    assert passes.answer(LogHistogram(0.0, 0, 1, counted=True), chunks) == (0, 0, 31, 33, 64)
    assert passes.answer(LogHistogram(0.0, 1, 1), chunks) == (0, 64)
    assert len(made) == 1
    assert passes.answer(Count(), chunks) == (2, 1, 0)
    assert passes.answer(Count(), chunks) == (2, 1, 0)
    assert len(made) == 2
    passes.answer(Median(0, -1.0, 1.0), chunks)
    passes.answer(Median(0, -1.0, 1.0), chunks)  # coins are never used twice
    assert len(made) == 4


@pytest.mark.parametrize("order", [1, 2])
def test_rows_that_change_between_the_passes_stay_in_the_ball(order):
    """The sum is that of the rows of its own pass, each in the ball."""
    geometry, passes = ORDERS[order], Passes()
    passes.answer(BallLevels(geometry, 1, (1,) * 4), lambda _: [np.zeros((3, 2))])
    changed = np.array([[1e9, -1e9], [1.0, -2.0]])
    totals = passes.answer(BallSum(geometry, 0, 1), lambda _: [changed])
    assert sum(abs(part) ** order for part in totals[:2]) <= 5**order
    assert totals[2] == 2
