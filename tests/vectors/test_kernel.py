"""The integers of the column queries, against plain Python, and their sensitivities."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.doubles import to_key
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.queries.rows import (
    Ball,
    BallLevels,
    BallSquares,
    BallSum,
    ColumnMedians,
    Distances,
    Rows,
)

from ..opened import open_table  # noqa: TID252

CELLS = st.one_of(
    st.floats(-20, 20),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0]),
)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=12)


#: How cells are clipped before the norm: not at all, alike on both sides, or not alike.
CLIPPED = st.sampled_from([(None, None), ((9, 30), None), ((9, 30), (17, 0)), ((2, 40), (40, 2))])


def ball(order, clipped=(None, None)):
    return Ball((1.0, -2.0), (8.0, 3.7), (5, 20, 60), order, *clipped)


def into_ball(row, geometry, radius):
    """The map of a row, in Python integers and exact comparisons."""
    ticks = []
    ends = zip(*geometry.ends, strict=True)
    parts = zip(row, geometry.centers, geometry.inverse_ticks, ends, strict=True)
    for x, center, inverse, (low, high) in parts:
        distance = (x - center) * inverse
        ticks.append(0 if math.isnan(distance) else min(max(distance, low), high))
    size = sum(abs(q) if math.isinf(q) else abs(round(q)) ** geometry.order for q in ticks)
    if size <= radius**geometry.order:
        return [round(q) for q in ticks], False
    cells = [round(min(max(q, -radius), radius)) for q in ticks]
    size = sum(abs(q) ** geometry.order for q in cells)
    if size > radius**geometry.order:
        norm = math.sqrt(size) if geometry.order == 2 else float(size)
        factor = radius / norm * (1.0 - 2.0**-40)
        cells = [math.trunc(q * factor) for q in cells]
    return cells, True


@pytest.mark.parametrize("order", [1, 2])
@given(rows=ROWS, level=st.integers(0, 2), clipped=CLIPPED)
def test_sums_squares_and_levels_are_those_of_the_definition(order, rows, level, clipped):
    geometry = ball(order, clipped)
    engine = open_table(np.array(rows).reshape(-1, 2))
    mapped = [into_ball(row, geometry, geometry.radii[level]) for row in rows]
    sums = [sum(cells[j] for cells, _ in mapped) for j in range(2)]
    assert engine.answer(BallSum(geometry, level, 7)) == (*sums, 7 * len(rows))
    asked = BallSquares(geometry, level)
    squares = [sum(cells[j] ** 2 for cells, _ in mapped) >> asked.shift for j in range(2)]
    outside = sum(moved for _, moved in mapped)
    assert engine.answer(asked) == (*squares, asked.cut_weight * outside)
    counts = [sum(into_ball(row, geometry, r)[1] for row in rows) for r in geometry.radii]
    assert engine.answer(BallLevels(geometry, 1, (1,) * 4))[0].tolist() == counts


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("adjacency", list(RECORD_ADJACENCIES))
@given(
    rows=ROWS, row=st.lists(CELLS, min_size=2, max_size=2), level=st.integers(0, 2), clipped=CLIPPED
)
def test_no_row_moves_an_answer_by_more_than_its_sensitivity(
    order, adjacency, rows, row, level, clipped
):
    geometry = ball(order, clipped)
    rows = [*rows, [math.inf, 0.0]]
    neighbor = [*rows[:-1], row] if adjacency is Adjacency.REPLACE_ONE else rows[:-1]
    weight = 3 if adjacency is Adjacency.ADD_REMOVE else 0
    for query in (BallSum(geometry, level, weight), BallSquares(geometry, level), Rows()):
        first = open_table(np.array(rows)).answer(query)
        second = open_table(np.array(neighbor).reshape(-1, 2)).answer(query)
        moves = [a - b for a, b in zip(first, second, strict=True)]
        bound = query.sensitivity(adjacency)
        assert sum(map(abs, moves)) <= bound.l1
        assert sum(move**2 for move in moves) <= bound.l2_squared


def test_the_sensitivity_of_a_sum_is_reached():
    geometry = Ball((0.0,), (1.0,), (10,), 2)
    one, other = (open_table(np.array([[x]])).answer(BallSum(geometry, 0))[0] for x in (-10, 10))
    assert (one - other) ** 2 == BallSum(geometry, 0).sensitivity(Adjacency.REPLACE_ONE).l2_squared


def moves(query, first, second):
    answers = [
        open_table(np.array(rows).reshape(-1, query.ball.n_columns)) for rows in (first, second)
    ]
    one, other = (table.answer(query) for table in answers)
    return [abs(a - b) for a, b in zip(one, other, strict=True)]


@pytest.mark.parametrize(("order", "corner"), [(1, [6.0, 0, 0, 0]), (2, [3.0] * 4)])
def test_sensitivities_of_sums_are_reached(order, corner):
    """By the row of the ball that has the largest norms, against its opposite or against none."""
    geometry = Ball((0.0,) * 4, (1.0,) * 4, (6,), order)
    opposite = [-x for x in corner]
    for adjacency, weight, other in (
        (Adjacency.REPLACE_ONE, 0, [opposite]),
        (Adjacency.ADD_REMOVE, 3, []),
    ):
        query = BallSum(geometry, 0, weight)
        moved, bound = moves(query, [corner], other), query.sensitivity(adjacency)
        assert (sum(moved), sum(move**2 for move in moved)) == (bound.l1, bound.l2_squared)


@pytest.mark.parametrize("order", [1, 2])
def test_sensitivities_of_sums_cover_missing_cells(order):
    """A row of missing cells against none, or against a row on the border of the ball."""
    query = BallSum(Ball((0.0,) * 4, (1.0,) * 4, (2,), order), 0, 3, missing_weight=5)
    gaps, border = [math.nan] * 4, [2.0, 0.0, 0.0, 0.0]
    for adjacency, other in ((Adjacency.ADD_REMOVE, []), (Adjacency.REPLACE_ONE, [border])):
        moved, bound = moves(query, [gaps], other), query.sensitivity(adjacency)
        assert moved[-4:] == [5] * 4
        assert sum(moved) <= bound.l1
        assert sum(move**2 for move in moved) <= bound.l2_squared


def test_sensitivities_of_squares_cover_the_rows_cut():
    query = BallSquares(Ball((0.0, 0.0), (1.0, 1.0), (20,), 2), 0)
    along, across = [1e9, 0.0], [0.0, 1e9]
    for adjacency, other in ((Adjacency.REPLACE_ONE, [across]), (Adjacency.ADD_REMOVE, [])):
        moved, bound = moves(query, [along], other), query.sensitivity(adjacency)
        assert sum(moved) <= bound.l1
        assert sum(move**2 for move in moved) <= bound.l2_squared
    assert moved == [400, 0, query.cut_weight]


@settings(max_examples=50)
@given(rows=ROWS)
def test_what_becomes_of_a_row_does_not_depend_on_its_place(rows):
    matrix = np.array(rows).reshape(-1, 2)
    query = BallSum(ball(2), 1, 1)
    together = open_table(matrix).answer(query)
    apart = [open_table(matrix[i : i + 1]).answer(query) for i in range(len(matrix))]
    assert together == tuple(map(sum, zip(*apart, strict=True))) if apart else (0, 0, 0)


def test_chunks_do_not_matter():
    rng = np.random.default_rng(3)
    matrix = rng.standard_t(2, size=(5_000, 7)) * 30
    geometry = Ball((0.0,) * 7, (1000.0,) * 7, (2**12, 2**17, 2**21), 2)
    for level in range(3):
        query = BallSum(geometry, level, 1)
        whole = np.array(open_table(matrix).answer(query))
        halves = [open_table(part).answer(query) for part in (matrix[:1234], matrix[1234:])]
        assert (whole == np.array(halves).sum(axis=0)).all()


def test_missing_cells_count_as_the_center():
    geometry = Ball((5.0, 5.0), (1.0, 0.0), (100,), 2)
    rows = [[math.nan, 1.0], [7.0, math.nan], [math.nan, math.nan], [math.nan, math.inf]]
    assert open_table(np.array(rows)).answer(BallSum(geometry, 0, 1)) == (2, 0, 4)


def test_distances_count_cells_and_rows():
    rows = [[0.0, 10.0], [3.0, math.nan], [math.inf, 12.0], [math.nan, math.nan]]
    query = Distances((1.0, 10.0), ((1.0, 2.0, 5.0), (1.0, 2.0, 5.0)), 1, (1,) * 4)
    assert [c.tolist() for c in open_table(np.array(rows)).answer(query)] == [[3, 2, 1], [1, 1, 0]]
    query = Distances((1.0, 10.0), ((1.0, 2.0, 5.0),), 1, (1,) * 4, by_row=True)
    assert [c.tolist() for c in open_table(np.array(rows)).answer(query)] == [[3, 2, 1]]


def test_medians_see_every_cell_once():
    rows = [[1.0, math.nan], [1.0, 2.0], [-3.0, 2.0]]
    first, second = open_table(np.array(rows)).answer(ColumnMedians(0, ((-1, 1),) * 2))
    assert first[0].tolist() == to_key([-3.0, 1.0]).tolist()
    assert first[1].tolist() == [1, 2]
    assert second[1].tolist() == [2]


def test_a_sample_of_cells_has_its_rate():
    matrix = np.tile([1.0, 2.0, 3.0], (40_000, 1))
    answer = open_table(matrix).answer(ColumnMedians(4, ((-9, 9),) * 3))
    for column, (keys, counts) in enumerate(answer):
        assert keys.tolist() == to_key([column + 1.0]).tolist()
        assert abs(int(counts[0]) - 2500) < 6 * math.sqrt(2500)


def test_every_cell_of_a_row_has_a_coin_of_its_own():
    """One coin per row would show the same rows to the choices of all columns."""
    rows = np.tile(np.arange(1.0, 2001.0)[:, np.newaxis], (1, 2))
    (first, _), (second, _) = open_table(rows).answer(ColumnMedians(1, ((0, 9),) * 2))
    in_both = len(np.intersect1d(first, second))
    assert stats.binomtest(in_both, 2000, 0.25).pvalue > 1e-7


def test_a_ball_refuses_radii_beyond_its_limits():
    with pytest.raises(AssertionError):
        Ball((0.0,), (1.0,), (1 << 22,), 2)


@pytest.mark.parametrize(
    "query",
    [
        Rows(),
        Distances((0.0, 0.0), ((0.5, 2.0),) * 2, 1, (1, 1, 1)),
        BallLevels(ball(2), 1, (1, 1, 1, 1)),
        BallSum(ball(2), 1, 5, 3),
        BallSquares(ball(1), 2),
    ],
    ids=lambda query: type(query).__name__,
)
def test_nothing_is_kept_of_a_row(query, monkeypatch):
    """Once a ball kept the level of each row from its first pass to the second: a byte a row."""
    monkeypatch.setenv("TAMETAIL_THREADS", "1")  # each thread has a chunk
    rows = np.random.default_rng(8).normal(scale=30.0, size=(1 << 21, 2))
    few, many = open_table(rows[:1000]), open_table(rows)
    few.answer(query)
    tracemalloc.start()
    many.answer(query)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1 << 16  # 32 rows share a byte, at most
    assert peak < 12 << 20  # chunks; the rows are 32 MB
