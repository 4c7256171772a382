"""Vector queries: the integers of their definitions, and never more than their sensitivity."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.data.kernels import tournament
from tametail.data.sources.arrays import width_of_rows
from tametail.errors import ColumnError, InternalError, ParameterError
from tametail.privacy.adjacency import Adjacency
from tametail.queries.column import Count
from tametail.queries.paper import FARTHEST, BallMean, Scores

from ..opened import open_rows, open_table  # noqa: TID252

REPLACE, ADD = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE

#: Cells on a coarse lattice, so that ties and borders are hit all the time, and everything else.
CELL = st.one_of(
    st.integers(-40, 40).map(float),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, 5.0, -5.0, 3.0, 4.0, 1e300, -0.0]),
)


def rows_of(n_columns, least=1, most=9):
    return st.lists(st.tuples(*[CELL] * n_columns), min_size=least, max_size=most)


def ball_of(draw_size, n_columns):
    return st.builds(
        BallMean,
        center=st.tuples(*[st.sampled_from([0.0, 1.0, -0.5])] * n_columns),
        exponent=st.sampled_from([0, -1, 2]),
        radius=st.sampled_from([1, 5, 20]),
        size=st.just(draw_size),
        factor=st.sampled_from([1, 3, 1000]),
    )


def reference_ball(query, rows):
    total, kept = [0] * len(query.center), 0
    for row in rows:
        shifted = [(x - c) * 2.0**-query.exponent for x, c in zip(row, query.center, strict=True)]
        if not all(map(math.isfinite, shifted)):
            continue
        ticks = list(map(math.floor, shifted))
        if sum(t * t for t in ticks) <= query.radius**2:
            total, kept = [a + b for a, b in zip(total, ticks, strict=True)], kept + 1
    divisor = max(Fraction(kept), Fraction(3 * query.size, 4))
    return tuple(math.floor(query.factor * part / divisor) for part in total)


# --- the mean in a ball


@given(st.data(), rows_of(2))
def test_ball_mean_is_its_definition(data, rows):
    query = data.draw(ball_of(len(rows), 2))
    answer = open_table(np.array(rows)).answer(query)
    assert answer == reference_ball(query, rows)
    assert all(type(part) is int for part in answer)


@settings(max_examples=200)
@given(st.data(), rows_of(2), st.tuples(CELL, CELL))
def test_one_row_moves_the_ball_mean_by_at_most_its_sensitivity(data, rows, other):
    query = data.draw(ball_of(len(rows), 2))
    place = data.draw(st.integers(0, len(rows) - 1))
    neighbor = [*rows[:place], other, *rows[place + 1 :]]
    first, second = (open_table(np.array(x)).answer(query) for x in (rows, neighbor))
    moved = [a - b for a, b in zip(first, second, strict=True)]
    bound = query.sensitivity(REPLACE)
    assert sum(m * m for m in moved) <= bound.l2_squared
    assert sum(map(abs, moved)) <= bound.l1


@pytest.mark.parametrize("size", range(1, 14))
def test_the_sensitivity_of_the_ball_is_tight_and_holds_where_the_count_crosses(size):
    """All numbers of kept rows, all at one end, and a row that moves, leaves or comes."""
    query = BallMean((0.0,), exponent=0, radius=100, size=size, factor=1000)
    bound, largest = math.isqrt(query.sensitivity(REPLACE).l2_squared), 0
    kinds = (100.0, -100.0, 0.0, math.nan)
    for inside in range(size):
        others = [[100.0]] * inside + [[math.inf]] * (size - 1 - inside)
        answers = [open_table(np.array([*others, [x]])).answer(query)[0] for x in kinds]
        largest = max(largest, max(answers) - min(answers))
    assert largest <= bound
    if size % 4 == 0:  # 3n/4 is a number of rows, and then two opposite rows reach the bound
        assert largest >= bound - 3


def test_rounding_down_moves_a_ball_mean_further_than_the_mean_moves():
    """From a little above 0 to a little below, in every column at once."""
    query = BallMean((0.0,) * 4, exponent=0, radius=2, size=8, factor=1)
    rows = np.full((8, 4), np.inf)
    answers = []
    for cell in (1.0, -1.0):
        rows[0] = cell
        answers.append(open_table(rows).answer(query))
    assert answers == [(0,) * 4, (-1,) * 4]
    assert query.sensitivity(REPLACE).l2_squared >= 4


def test_ball_means_need_replace_one():
    with pytest.raises(InternalError, match="for replace-one only"):
        BallMean((0.0,), 0, 1, 1, 1).sensitivity(ADD)


@pytest.mark.parametrize("n_columns", [1, 21, 1000, 100_000])
@pytest.mark.parametrize("size", [0, 1, 1000, 10**9])
@pytest.mark.parametrize("strength", [1e-12, 1.0, 1e50])
def test_a_ball_fits_in_64_bits_and_rounding_costs_little(n_columns, size, strength):
    query = BallMean.around([0.0] * n_columns, 37.5, size=size, strength=strength)
    assert n_columns * query.radius**2 < 2**63
    assert 37.5 <= query.radius * 2.0**query.exponent <= 37.5 * 1.07
    l2 = math.sqrt(query.sensitivity(REPLACE).l2_squared)
    assert l2**2 < 2**63
    assert l2 / min(strength, 1.0) < 2.0**56
    if size > 0 and strength >= 1:
        assert l2 <= query.factor * 8 * query.radius / (3 * size) * (1 + 1e-5)


def test_squared_norms_are_exact_on_the_sphere():
    radius = 3 * 5**9  # (3, 4, 5) times a million: on the sphere, and one tick beyond it
    cells = np.array(
        [[3.0 * radius / 5, 4.0 * radius / 5], [3.0 * radius / 5, 4.0 * radius / 5 + 1]]
    )
    query = BallMean((0.0, 0.0), exponent=0, radius=radius, size=1, factor=1)
    assert open_table(cells).answer(query) == (3 * radius // 5, 4 * radius // 5)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_chunk_borders(extra):
    size = 2048 + extra  # rows of a chunk
    rows = np.resize(np.array([[1.0, -2.0], [np.nan, 0.0], [3.0, 4.0]]), (size, 2))
    query = BallMean((0.0, 0.0), exponent=-2, radius=20, size=size, factor=size)
    assert open_table(rows).answer(query) == reference_ball(query, rows.tolist())


# --- the scores of a tournament


def grid(n_columns, size, **changes):
    numbers = {"step": 5, "reach": 3, "tie": 5, "xi": 30, "blocks": 1, "default": 7}
    return Scores(center=(0.0,) * n_columns, exponent=0, size=size, **(numbers | changes))


def brute_force(query, rows):
    """Every pair of points, every block, one row after the other, in Python integers."""
    points = list(itertools.product(range(-query.reach, query.reach + 1), repeat=query.n_columns))
    return [_brute_score(query, rows, p, points) for p in points]


def _brute_score(query, rows, p, points):
    found = []
    for q in points:
        offset = [b - a for a, b in zip(p, q, strict=True)]
        squared = sum(o * o for o in offset)
        if not (squared > query.tie and query.step**2 * squared <= 4 * query.xi**2):
            continue
        gcd = math.gcd(*offset)
        v = [o // gcd for o in offset]
        norm = squared // gcd**2
        end = math.ceil(Fraction(query.xi) * Fraction(math.sqrt(norm)))  # norms here are small
        costs = []
        for block in range(query.blocks):
            chosen = rows[block * query.block_size : (block + 1) * query.block_size]
            shifted = [
                sum((x - query.step * k) * w for x, k, w in zip(row, p, v, strict=True))
                for row in chosen
            ]
            t = sorted(min(max(s, -end), end) for s in shifted)
            changed = 0
            while 2 * sum(t) < query.block_size * query.step * gcd * norm:
                t[changed] = end
                changed += 1
            costs.append(changed)
        found.append(sum(sorted(costs)[: query.blocks // 2 + 1]))
    return min(found, default=query.default)


@pytest.mark.parametrize(
    ("n_columns", "blocks", "reach"), [(1, 1, 6), (1, 5, 6), (2, 1, 3), (2, 3, 3), (3, 3, 2)]
)
@pytest.mark.parametrize("spread", [4, 30])
def test_scores_are_those_of_brute_force(n_columns, blocks, reach, spread):
    rows = np.floor(np.random.default_rng(spread).standard_t(3, (46, n_columns)) * spread).astype(
        int
    )
    query = grid(n_columns, 46, blocks=blocks, reach=reach)
    found = tournament.scores(query, rows)
    assert found.tolist() == brute_force(query, rows.tolist())
    assert found.max() > 0


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_score_is_the_distance_to_the_nearest_data_set_that_loses(blocks):
    """All 13^3 data sets of three cells: the definition itself, without any greedy step."""
    query = grid(1, 3, step=2, reach=2, tie=2, xi=6, blocks=blocks)
    everything = np.array(list(itertools.product(range(-12, 13, 2), repeat=3)))
    found = np.array([tournament.scores(query, rows[:, None]) for rows in everything])
    for index, k in enumerate(range(-2, 3)):
        loses = np.zeros(len(everything), dtype=bool)
        for other in set(range(-2, 3)) - {k - 1, k, k + 1}:
            sign = 1 if other > k else -1
            t = np.clip(sign * (everything - 2 * k), -6, 6)
            means = t.mean(axis=1) if blocks == 1 else np.median(t, axis=1)
            loses |= means >= abs(other - k)
        lost = everything[loses]
        distance = [(rows != lost).sum(axis=1).min() for rows in everything]
        assert found[:, index].tolist() == distance


@settings(max_examples=200)
@given(st.data(), st.sampled_from([(1, 1), (1, 3), (2, 1), (2, 3)]))
def test_one_row_moves_no_score_by_more_than_one(data, shape):
    n_columns, blocks = shape
    rows = data.draw(rows_of(n_columns, least=blocks, most=14))
    place = data.draw(st.integers(0, len(rows) - 1))
    neighbor = [*rows[:place], data.draw(st.tuples(*[CELL] * n_columns)), *rows[place + 1 :]]
    query = grid(n_columns, len(rows), blocks=blocks, xi=data.draw(st.sampled_from([9, 20, 45])))
    first, second = (open_table(np.array(x)).answer(query) for x in (rows, neighbor))
    assert np.abs(first - second).max() <= query.score_sensitivity(REPLACE) == 1


def test_one_row_can_move_a_score_by_one():
    query = grid(1, 4, reach=6)
    quiet, loud = np.zeros((4, 1)), np.array([[math.inf], [0.0], [0.0], [0.0]])
    moved = open_table(quiet).answer(query) - open_table(loud).answer(query)
    assert np.abs(moved).max() == 1


@pytest.mark.parametrize("changes", [{"tie": 1000}, {"xi": 5}])
def test_who_can_never_lose_is_decided_by_geometry_alone(changes):
    query = grid(2, 5, **changes)
    assert query.opponents() == []
    for cell in (0.0, 1e9, math.nan):
        assert set(open_table(np.full((5, 2), cell)).answer(query).tolist()) == {7}


def test_missing_cells_count_as_the_center_and_rows_beyond_the_blocks_as_nothing():
    query = grid(2, 5, blocks=3)
    rows = np.array([[1.0, np.nan], [np.inf, -np.inf], [9.0, 2.0], [np.nan] * 2, [1e300, 0.0]])
    as_ticks = np.array([[1, 0], [FARTHEST, -FARTHEST], [9, 2]])
    assert np.array_equal(open_table(rows).answer(query), tournament.scores(query, as_ticks))


def test_no_rows():
    assert set(open_table(np.empty((0, 2))).answer(grid(2, 0)).tolist()) == {0}
    assert open_table(np.empty((0, 2))).answer(BallMean((0.0, 0.0), 0, 9, 0, 5)) == (0, 0)
    assert BallMean((0.0,), 0, 9, 0, 5).sensitivity(REPLACE).l2_squared == 0


def test_the_points_come_in_the_order_of_their_values():
    query = Scores((10.0, 20.0), -1, 4, 1, 1, 9, 1, 1, 0)
    assert [query.value(index) for index in range(query.points)] == [
        [x, y] for x in (8.0, 10.0, 12.0) for y in (18.0, 20.0, 22.0)
    ]
    with pytest.raises(InternalError, match="for replace-one only"):
        query.score_sensitivity(ADD)


# --- what is a matrix


class Unruly(list):
    """A row whose own methods fail."""

    def _fail(self, *_):
        raise SystemExit("SECRET")

    __iter__ = __len__ = __getitem__ = __float__ = __eq__ = _fail
    __class__ = property(_fail)
    __hash__ = None


ROWS = [[1.0, 2.0], [3.0, math.nan], [5.0, 6.0]]
BALL = BallMean((0.0, 0.0), exponent=0, radius=9, size=3, factor=9)
EXPECTED = (24, 32)  # the rows (1, 2) and (5, 6), over 9/4
READABLE = {
    "array": np.array(ROWS),
    "float32": np.array(ROWS, dtype=np.float32),
    "Fortran order": np.asfortranarray(ROWS),
    "objects": np.array([[1, 2], [3, "n/a"], [5, 6]], dtype=object),
    "masked": np.ma.array([[1, 2], [3, 4], [5, 6]], mask=[[0, 0], [0, 1], [0, 0]]),
    "list": ROWS,
    "tuples with text": [(1, 2), (3, "n/a"), (5, 6)],
    "pandas": pd.DataFrame(ROWS, columns=["a", "b"]),
    "polars": pl.DataFrame(ROWS, schema=["a", "b"], orient="row"),
    "arrow": pa.table({"a": [1, 3, 5], "b": [2, None, 6]}),
}


@pytest.mark.parametrize("data", READABLE.values(), ids=READABLE)
def test_every_matrix_is_read_alike(data):
    engine = open_rows(data)
    assert (engine.size, len(engine.columns), engine.answer(BALL)) == (3, 2, EXPECTED)
    assert engine.rows(2, 3).size == 1
    assert engine.column(0).rows(2, 3).answer(Count())[0] == 1


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.zeros((3, 2, 2)), ColumnError, "3 dimensions. Pass one row per record"),
        (np.zeros((3, 0)), ColumnError, "no column. Pass one row per record"),
        (np.array([["a", "b"]]), ColumnError, " text "),
        (pd.DataFrame({"a": ["x", "y"]}, dtype="string"), ColumnError, " text "),
        ({"a": 1}, ParameterError, "Unsupported data type dict"),
        (3.0, ParameterError, "Unsupported data type float"),
        ("X.csv", ParameterError, "Unsupported data type str"),
    ],
)
def test_what_is_no_matrix_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        open_rows(data)


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        (None, [math.nan, math.nan]),
        ([], [math.nan, math.nan]),
        ([1], [1.0, math.nan]),
        ((1, None), [1.0, math.nan]),
        ([1, 2, 3], [1.0, 2.0]),
        ("ab", [math.nan, math.nan]),
        (7.0, [math.nan, math.nan]),
        (np.array([1, 2, 3]), [1.0, 2.0]),
        (np.array(["1", "2"]), [math.nan, math.nan]),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), [1.0, math.nan]),
        (np.ones((2, 2)), [math.nan, math.nan]),
        (Unruly([1, 2]), [1.0, 2.0]),
    ],
    ids=str,
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_no_single_row_decides_what_the_columns_are(odd, expected, place):
    rows: list = [[5, 6], [7, 8]]
    rows.insert(place, odd)
    engine = open_rows(rows)
    assert engine.columns == ("0", "1")
    chunk = np.concatenate(list(engine.backend._chunks(100)))
    np.testing.assert_array_equal(chunk[place], expected)
    np.testing.assert_array_equal(np.delete(chunk, place, axis=0), [[5, 6], [7, 8]])


def test_most_rows_decide_how_many_columns_there_are():
    assert open_rows([1.0, [2.0, 3.0]]).columns == ("0", "1")
    assert open_rows([]).columns == ("0",)
    assert open_rows([[1, 2], [1, 2, 3]]).columns == ("0", "1")
    assert open_rows([[1], [2]]).answer(Count())[0] == 2
    assert open_rows([[], [], [1, 2]]).answer(Count())[0] == 1  # one column, as no record fails


@pytest.mark.parametrize("odd", [None, 7.0, [1.0], (1.0, 2.0, 3.0), np.ones((2, 2)), "x"], ids=str)
def test_only_the_first_item_says_what_a_list_is(odd):
    cells = open_table([5.0, odd, 6.0])
    assert cells.columns == ("0",)
    assert cells.answer(Count())[0] == 2 + isinstance(odd, float)
    rows = open_table([[5.0, 6.0], odd, [7.0, 8.0]])
    assert rows.columns == ("0", "1")
    chunk = np.concatenate(list(rows.backend._chunks(100)))
    np.testing.assert_array_equal(chunk[[0, 2]], [[5, 6], [7, 8]])


@pytest.mark.parametrize("first", ["a.csv", None, "[1, 2]", np.ones((2, 2)), {}, 1.0], ids=str)
def test_what_is_no_row_makes_cells(first):
    assert open_table([first, [1.0, 2.0], [3.0, 4.0]]).columns == ("0",)


def test_no_cell_and_no_later_item_is_looked_at():
    class Watched(list):
        def __getitem__(self, place):
            seen.append(place)
            return super().__getitem__(place)

    seen = []
    width_of_rows(Watched([[object(), object()], object()]))
    assert seen == [0]


@pytest.mark.parametrize("odd", [None, [1.0], [1.0, None], "x"])
def test_a_short_row_is_missing_cells_for_the_paper(odd):
    rows = [[1.0, 2.0]] * 4000
    given = {"budget": tt.zcdp(50.0), "alpha": 0.5, "k": 4, "R": 4.0}
    assert np.abs(tt.paper.mean_ball([*rows, odd], **given) - [1.0, 2.0]).max() < 1.0
    given = {"budget": tt.pure(50.0), "alpha": 2.0, "beta": 0.2, "k": 4, "R": 4.0}
    assert len(tt.paper.mean_tournament([*rows[:1000], odd], **given)) == 2


def test_a_noisy_ball_mean_is_a_point_around_the_center():
    query = BallMean((10.0, -3.0), exponent=1, radius=9, size=3, factor=4)
    assert query.value([6, -4]) == [10.0 + 2 * 6 / 4, -3.0 - 2 * 4 / 4]


def test_a_tournament_fits_in_64_bits_or_says_so():
    assert grid(2, 1000).fits()
    assert not grid(2, 1000, xi=2**44).fits()  # cells are clamped at that
    assert not grid(2, 2**56).fits()  # sums of so many rows
