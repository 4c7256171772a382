"""Missing cells: left out column by column, as in one dimension, and clipped cells."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.methods.joint.interval import BallMeasure
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.privacy.budget import noise_for
from tametail.queries.rows import Ball, BallLevels, BallSquares, BallSum

from ..opened import open_table  # noqa: TID252

BUDGETS = [tt.pure(5.0), tt.zcdp(0.5)]

CELLS = st.one_of(st.floats(-60, 60), st.sampled_from([math.nan, math.inf, -math.inf, 0.0]))
ROWS = st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=12)


def clipped_ball(order):
    return Ball((1.0, -2.0, 0.0), (8.0, 3.7, 0.0), (20, 60, 300), order, limits=(17, 150, 0))


def into_ball(row, geometry, radius):
    """The map of a row in plain Python: round, clip the cells, then shrink."""
    cells = []
    for x, center, inverse, limit in zip(
        row, geometry.centers, geometry.inverse_ticks, geometry.limits, strict=True
    ):
        tick = (x - center) * inverse
        cells.append(0 if math.isnan(tick) else round(min(max(tick, -limit - 1), limit + 1)))
        cells[-1] = min(max(cells[-1], -limit), limit)
    if sum(abs(q) ** geometry.order for q in cells) <= radius**geometry.order:
        return cells, False
    cells = [min(max(q, -radius), radius) for q in cells]
    size = sum(abs(q) ** geometry.order for q in cells)
    if size > radius**geometry.order:
        norm = math.sqrt(size) if geometry.order == 2 else float(size)
        cells = [math.trunc(q * (radius / norm * (1.0 - 2.0**-40))) for q in cells]
    return cells, True


@pytest.mark.parametrize("order", [1, 2])
@given(rows=ROWS, level=st.integers(0, 2))
def test_clipped_cells_are_those_of_the_definition(order, rows, level):
    geometry = clipped_ball(order)
    engine = open_table(np.array(rows).reshape(-1, 3))
    mapped = [into_ball(row, geometry, geometry.radii[level]) for row in rows]
    sums = [sum(cells[j] for cells, _ in mapped) for j in range(3)]
    gaps = [sum(math.isnan(row[j]) for row in rows) for j in range(2)]
    answer = engine.answer(BallSum(geometry, level, 7, 5))
    assert answer == (*sums, 7 * len(rows), *(5 * count for count in gaps), 0)
    squares = [sum(cells[j] ** 2 for cells, _ in mapped) for j in range(3)]
    asked = BallSquares(geometry, level)
    assert asked.shift == 0
    assert engine.answer(asked)[:3] == tuple(squares)
    counts = [sum(into_ball(row, geometry, r)[1] for row in rows) for r in geometry.radii]
    assert engine.answer(BallLevels(geometry, 1, (1,) * 4))[0].tolist() == counts


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("adjacency", list(RECORD_ADJACENCIES))
@given(rows=ROWS, row=st.lists(CELLS, min_size=3, max_size=3), level=st.integers(0, 2))
def test_no_row_moves_sums_and_missing_cells_too_far(order, adjacency, rows, row, level):
    rows = [*rows, [math.inf, math.nan, 0.0]]
    neighbor = [*rows[:-1], row] if adjacency is Adjacency.REPLACE_ONE else rows[:-1]
    query = BallSum(clipped_ball(order), level, 3 if adjacency is Adjacency.ADD_REMOVE else 0, 11)
    first = open_table(np.array(rows)).answer(query)
    second = open_table(np.array(neighbor).reshape(-1, 3)).answer(query)
    moves = [a - b for a, b in zip(first, second, strict=True)]
    bound = query.sensitivity(adjacency)
    assert sum(map(abs, moves)) <= bound.l1
    assert sum(move**2 for move in moves) <= bound.l2_squared


@pytest.fixture(scope="module")
def holed():
    """Skewed columns: one of them mostly missing, one half, one with few gaps, one with none."""
    rows = np.exp(np.random.default_rng(8).normal(size=(20_000, 4)))
    rows[:14_000, 0] = np.nan
    rows[10_000:, 1] = np.nan
    rows[::100, 2] = np.nan
    return rows


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_missing_cells_are_left_out_of_their_columns(holed, budget, adjacency):
    release = tt.mean(holed, budget=budget, neighbors=adjacency)
    truth = np.nanmean(holed, axis=0)
    assert (np.abs(release.value - truth) < 0.12).all()
    assert (release.low <= truth + 0.05).all()
    assert (truth - 0.05 <= release.high).all()


def test_with_a_promise_a_missing_cell_counts_as_the_center(holed):
    rows = holed[5_000:15_000]  # in column 1 half of the cells are missing; the median is 1
    release = tt.mean(rows, rho=50.0, neighbors="replace-one", missing="none", confidence=None)
    assert abs(release.value[1] - (np.nanmean(rows[:, 1]) + 1.0) / 2) < 0.1


def test_a_column_of_nothing_and_rows_of_nothing_give_a_release():
    rows = np.full((3_000, 3), np.nan)
    rows[:1_500, :2] = np.random.default_rng(1).normal(50, 1, size=(1_500, 2))
    release = tt.mean(rows, rho=2.0)
    assert (np.abs(release.value[:2] - 50) < 1).all()
    assert np.isfinite(release.value).all()


def test_intervals_hold_for_the_cells_that_are_there():
    rng = np.random.default_rng(10)
    held, truth = 0, np.array([5, 5, 5, 0, 0, 0])
    for _ in range(20):
        rows = rng.uniform(truth - 1, truth + 1, size=(2_000, 6))
        rows[:1_200, [0, 3]] = np.nan
        release = tt.mean(rows, rho=0.5, n=2_000, confidence=0.9)
        held += bool(((release.low <= truth) & (release.high >= truth)).all())
    assert held >= 12  # P(fewer) < 1e-6 if each holds with 0.9


def test_noise_in_one_of_many_columns_is_not_taken_for_missing_cells():
    """With 50 columns noise often exceeds its 1% quantile in one; its mean was then far off."""
    n_columns, rows, cost = 50, 1_000, tt.pure(1.0)
    ball = Ball((0.0,) * n_columns, (1.0,) * n_columns, (30, 1000), order=1)
    query = BallSum(ball, 1, missing_weight=20)
    stated = query.sensitivity(Adjacency.REPLACE_ONE)
    noise = noise_for(cost, stated.l1, stated.l2_squared)
    sums, none = [300 * rows] * n_columns, [0] * (n_columns - 1)

    def offset(missing):
        answer = (*sums, *none, round(missing))
        return BallMeasure.of(query, cost, Adjacency.REPLACE_ONE, answer, rows, None).offsets[-1]

    assert offset(noise.quantile(0.005)) == offset(noise.quantile(1e-4 / 49)) == 300.0
    assert offset(noise.quantile(1e-4 / 51)) == 1000.0  # believed: the column has no other cells
