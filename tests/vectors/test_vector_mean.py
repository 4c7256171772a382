"""The vector mean from end to end: accuracy on easy data, edges, and what may leave."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tametail as tt
from tametail.errors import BudgetError, ColumnError, ParameterError
from tametail.planning import Plan
from tametail.planning.table import JOINT, JOINT_COMMON

COMMON, OWN = JOINT_COMMON.name, JOINT.name

BUDGETS = [tt.pure(3.0), tt.zcdp(0.5), tt.approx(2.0, 1e-6)]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(11)
    return rng.normal(size=(6_000, 4)) * [1.0, 30.0, 0.01, 5.0] + [3.0, -200.0, 100.0, 0.0]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_every_budget_and_unit_finds_the_means(rows, budget, adjacency):
    release = tt.mean(rows, budget=budget, neighbors=adjacency)
    assert (np.abs(release.value - rows.mean(axis=0)) < 0.5 * rows.std(axis=0)).all()
    assert (release.low <= release.value).all()
    assert (release.value <= release.high).all()
    assert {row.intervals[-1].target for row in release} == {"clipped mean"}
    assert release.guarantee.neighbors == adjacency
    if isinstance(budget, type(tt.zcdp(1))):
        assert 0.99 * budget.rho <= release.guarantee.rho <= budget.rho
    else:
        assert 0.99 * budget.epsilon <= release.guarantee.epsilon <= budget.epsilon


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("common", [False, True])
def test_a_release_follows_from_plan_and_answers(rows, budget, common):
    release = tt.mean(rows, budget=budget, same_scale=common)
    again = tt.replay(release.plan, json.loads(json.dumps(release.answers)))
    assert again == release
    assert Plan.from_json(release.plan.to_json()) == release.plan


def test_heavy_tails_do_no_harm():
    rows = np.random.default_rng(2).standard_t(2.5, size=(4_000, 10)) + 37
    release = tt.mean(rows, rho=0.5, neighbors="replace-one", confidence=None)
    assert release.low is None
    assert np.linalg.norm(release.value - 37) < 1


def test_constant_columns_come_out_exact(rows):
    mixed = np.column_stack([rows[:, 0], np.zeros(6_000), np.full(6_000, 7.0)])
    release = tt.mean(mixed, rho=0.5)
    assert release.value[1:].tolist() == [0.0, 7.0]
    assert tt.mean(np.zeros((6_000, 3)), rho=0.5).value.tolist() == [0.0] * 3


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_one_column_no_rows_and_more_columns_than_rows(adjacency):
    rng = np.random.default_rng(4)
    one = tt.mean(rng.normal(size=(5_000, 1)), epsilon=1.0, neighbors=adjacency)
    assert abs(one.value) < 0.5
    for matrix in (np.empty((0, 3)), rng.normal(size=(30, 60)), rng.normal(size=(1, 2))):
        release = tt.mean(matrix, rho=0.5, neighbors=adjacency)
        assert np.isfinite(release.value).all()


def test_infinite_and_missing_cells_never_fail(rows):
    spoilt = rows.copy()
    spoilt[::50, 0] = np.nan
    spoilt[1::1000, 1] = np.inf
    spoilt[2::1000, 1] = -np.inf
    release = tt.mean(spoilt, rho=0.5)
    assert (np.abs(release.value - rows.mean(axis=0)) < 0.5 * rows.std(axis=0)).all()
    hopeless = tt.mean(np.full((5_000, 2), np.nan), rho=0.5)
    assert np.isfinite(hopeless.value).all()


def test_a_common_scale_is_better_for_one_unit():
    rng = np.random.default_rng(6)
    rows = np.abs(rng.normal(size=(3_000, 60))) * np.linspace(0, 1, 60)
    release = tt.mean(rows, rho=0.2, neighbors="replace-one", same_scale=True, confidence=None)
    assert release.plan.method == COMMON
    assert np.linalg.norm(release.value - rows.mean(axis=0)) < 0.3


def test_the_plan_goes_over_to_a_common_scale_and_says_so():
    plan = tt.plan(budget=tt.zcdp(0.5), n_columns=200, n=500)
    assert plan.method == COMMON
    assert "are too few to estimate a center" in plan.advice[0]
    assert tt.plan(budget=tt.zcdp(0.5), n_columns=50, n=1000).method == OWN


def test_a_tail_makes_intervals_for_the_mean():
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(20_000, 3))
    tails = [tt.Moment(2, 1.5), tt.Bounded(-8, 8), tt.Moment(4, 2.0)]
    release = tt.mean(rows, rho=0.5, tail=tails, within=[5.0, None, (-3, 3)])
    assert release.interval_target == "mean"
    assert ((release.low <= 0) & (release.high >= 0)).all()
    assert (release.high - release.low < 2).all()
    told = tt.mean(rows, rho=0.5, tail=tt.Moment(2, 1.0), within=5.0)
    assert [step.name for step in told.plan.with_count(20_000).steps][1:3] == ["center", "radius"]


def test_intervals_of_all_columns_hold_at_once():
    rng = np.random.default_rng(10)
    held = 0
    for _ in range(20):
        rows = rng.uniform(-1, 1, size=(2_000, 10)) + 5
        release = tt.mean(rows, rho=0.5, n=2_000, confidence=0.9)
        held += bool(((release.low <= 5) & (release.high >= 5)).all())
    assert held >= 12  # P(fewer) < 1e-6 if each holds with 0.9


def test_frames_and_files_give_the_columns_that_were_named(tmp_path, rows):
    frame = pd.DataFrame(rows, columns=list("abcd"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1_500)
    sources = [
        frame,
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        pa.Table.from_pandas(frame),
        tmp_path / "rows.csv",
        tmp_path / "rows.parquet",
    ]
    for data in sources:
        release = tt.mean(data, ["d", "a"], rho=5.0, neighbors="replace-one")
        assert release.columns == ("d", "a")
        assert (np.abs(release.value - rows[:, [3, 0]].mean(axis=0)) < 0.5).all()
        assert release.plan.n == 6_000


def test_cells_of_a_file_that_are_no_numbers_are_missing(tmp_path):
    lines = ["a,b", *(["1,2", "x,3"] * 1_000)]
    (tmp_path / "odd.csv").write_text("\n".join(lines), encoding="utf-8")
    release = tt.mean(tmp_path / "odd.csv", ["a", "b"], rho=5.0, neighbors="replace-one")
    assert release.plan.n == 2_000
    pq.write_table(
        pa.table({"a": [1, None] * 1_000, "b": [0.5, 2.0] * 1_000}), tmp_path / "p.parquet"
    )
    assert len(tt.mean(tmp_path / "p.parquet", ["a", "b"], rho=5.0)) == 2


def test_public_mistakes_are_told_before_anything_is_read(rows):
    frame = pd.DataFrame(rows, columns=list("abcd"))
    with pytest.raises(ColumnError, match="No column 'e'"):
        tt.mean(frame, ["a", "e"], rho=0.5)
    with pytest.raises(ParameterError, match="twice"):
        tt.mean(frame, ["a", "a"], rho=0.5)
    with pytest.raises(ColumnError, match="column="):
        tt.mean(frame, rho=0.5)
    with pytest.raises(ParameterError, match="3 entries for 4 columns"):
        tt.mean(rows, rho=0.5, tail=[None] * 3)
    with pytest.raises(ParameterError, match="Missing privacy budget"):
        tt.mean(rows)
    with pytest.raises(ColumnError, match="3 dimensions"):
        tt.mean(np.zeros((5, 2, 2)), rho=0.5)
    plan = tt.plan(budget=tt.zcdp(0.5), n_columns=3)
    with pytest.raises(ParameterError, match="3 columns"):
        tt.mean(rows, plan=plan)


def test_a_changed_plan_cannot_cost_more():
    plan = tt.plan(budget=tt.zcdp(0.5), n_columns=3, n=1000).to_dict()
    plan["steps"][0]["cost"]["rho"] = 0.5
    with pytest.raises(BudgetError, match="exceeds its budget"):
        Plan.from_dict(plan)


def test_a_release_shows_a_table(rows):
    release = tt.mean(rows, rho=0.5)
    record = json.loads(release.to_json())
    assert set(record) >= {
        "value",
        "low",
        "high",
        "interval_target",
        "confidence",
        "columns",
        "rho",
    }
    page = release._repr_html_()
    assert page.count("<tr>") == 5
    assert "tail extrapolated" in str(release)
    assert np.asarray(release).shape == (4,)
    assert all(math.isfinite(x) for x in record["value"])


EXTREMES = [{"epsilon": 1e-5}, {"epsilon": 1e5}, {"rho": 1e-9}, {"rho": 1e9}]


@pytest.mark.parametrize("request_", EXTREMES, ids=str)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_extreme_budgets_give_a_release(request_, adjacency):
    rows = np.random.default_rng(3).normal(size=(300, 3))
    assert np.isfinite(tt.mean(rows, neighbors=adjacency, **request_).value).all()


def test_the_first_item_of_a_list_says_how_many_columns_there_are():
    ragged = [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0], [7.0, 8.0], "x", None] * 300
    release = tt.mean(ragged, rho=1.0)
    assert len(release) == 2
    assert np.isfinite(release.value).all()
    assert len(tt.mean([1.0, *ragged], rho=1.0)) == 1


@pytest.mark.parametrize("common", [False, True])
def test_the_first_interval_has_what_clipping_took_off(common):
    rows = np.random.default_rng(3).pareto(1.5, size=(10_000, 6))
    for row in tt.mean(rows, rho=0.5, same_scale=common):
        first, second = row.intervals
        assert first.target == "mean"
        assert first.low < second.low <= second.high < first.high
        assert first.low <= 2 <= first.high
        assert first.high - second.high == pytest.approx(first.error_components["clipping"])


def test_nothing_is_added_below_a_half_line_that_is_not_clipped():
    rows = np.random.default_rng(3).pareto(1.5, size=(10_000, 6))
    for row in tt.mean(rows, rho=0.5, tail=tt.Bounded(0, None)):
        first, second = row.intervals
        assert first.low == second.low
        assert first.high > second.high


def test_of_these_records_alone_clipping_stays_out_of_the_interval(rows):
    for row in tt.mean(rows, rho=0.5, target="data"):
        assert [one.target for one in row.intervals] == ["clipped mean"]
