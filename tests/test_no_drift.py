"""One column and several: whatever one can do the other can, in the same words."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tametail as tt
from tametail.errors import ParameterError
from tametail.planning import Plan

RNG = np.random.default_rng(8)
ROWS = RNG.normal([3.0, -200.0], [1.0, 30.0], size=(4_000, 2))
FRAME = pd.DataFrame(ROWS, columns=["paid", "open"])
BUDGETS = [tt.pure(2.0), tt.zcdp(0.5), tt.approx(2.0, 1e-6)]


def both(**request):
    """A release of one column, and one of two."""
    return [tt.mean(data, **request) for data in (ROWS[:, 0], ROWS)]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_rows_are_rows(budget):
    """By the type of the data or of the first item of a list, or by the number of columns."""
    one, two = [[x] for x in ROWS[:, 0].tolist()], ROWS.tolist()
    said = [
        {"budget": budget, "within": [(-1e6, 1e6)] * 2},
        {"budget": budget, "tail": [None, tt.Moment(2, 40.0)]},
        {"plan": tt.plan(n=len(two), budget=budget, n_columns=2)},
    ]
    releases = [tt.mean(two, **words) for words in said]
    plain = [tt.mean(data, budget=budget) for data in (two, list(ROWS), np.array(two))]
    for release in (*plain, *releases):
        assert (np.abs(release.value - [3, -200]) < [0.5, 15]).all()
        assert release.columns == ("0", "1")
    for data in (np.array(one), one, [tuple(row) for row in one]):
        assert abs(float(tt.mean(data, budget=budget)) - 3) < 0.5


def test_a_row_that_is_none_changes_no_other():
    """Neither the columns nor what the other rows are: they were said."""
    plan = tt.plan(n=4_000, rho=2.0, n_columns=2)
    for odd in (None, 7.0, [1.0], [1.0, 2.0, 3.0], "x"):
        release = tt.mean([*ROWS[:-1].tolist(), odd], plan=plan)
        assert (np.abs(release.value - [3, -200]) < [0.5, 15]).all()


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_within_clamps_value_and_interval(budget, adjacency):
    for release in both(budget=budget, neighbors=adjacency, within=(3.01, 5.0)):
        for row in release:
            assert 3.01 <= row.value <= 5.0
            assert row.low <= row.value <= row.high
            is_limited_by_within = any(note.code == "at-range-limit" for note in row.notes)
            assert is_limited_by_within or 3.01 <= row.low < row.high <= 5.0


@pytest.mark.parametrize("tail", [None, tt.Moment(2, 40.0), tt.Bounded(-1e3, 1e3)], ids=str)
@pytest.mark.parametrize("target", ["population", "data"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_an_interval_is_called_the_same(budget, target, tail):
    one, two = both(budget=budget, target=target, tail=tail)
    last = {row.intervals[-1].target for row in (*one, *two)}
    assert last == ({"mean"} if tail else {"clipped mean"})
    assert (two.low <= ROWS.mean(axis=0)).all()
    assert (two.high >= ROWS.mean(axis=0)).all()


def test_more_records_than_anyone_has_are_refused():
    for n_columns in (1, 2):
        with pytest.raises(ParameterError, match="It must be at most"):
            tt.plan(n=10**16, rho=0.5, n_columns=n_columns)


def test_a_list_of_one_column_is_one_column(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    plan = tt.plan(n=4_000, rho=0.5)
    for data in (FRAME, tmp_path / "rows.csv"):
        releases = [tt.mean(data, column, plan=plan) for column in ("paid", ["paid"], ("paid",))]
        assert {release.plan for release in releases} == {plan.with_names(["paid"])}
        assert isinstance(releases[0].value, float)
        assert all(release.value.shape == (1,) for release in releases[1:])  # a list gives arrays
    assert tt.mean(ROWS[:, :1], plan=plan).columns == ("0",)
    with pytest.raises(ParameterError, match="for 1 column, but the data have 2 columns"):
        tt.mean(ROWS, plan=plan)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_guarantee_is_in_the_notion_that_was_asked_for(budget):
    one, two = (release.guarantee for release in both(budget=budget))
    assert one.delta == two.delta
    assert (one.epsilon is None) == (two.epsilon is None)
    assert (one.rho is None) == (two.rho is None)
    assert one.epsilon == pytest.approx(two.epsilon) if one.epsilon else one.rho
    assert str(one).split("(")[1] == str(two).split("(")[1]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_release_has_rows_parts_clips_doubts_items_frames_and_pictures(budget):
    for release in both(budget=budget, tail=tt.Moment(2, 60.0)):
        assert [row.column for row in release] == list(release.columns)
        for index, row in enumerate(release):
            assert release[row.column] is row
            assert release[index].value == row.value  # noqa: PLR1736 - items, as users write them
            assert row.error_components.keys() == {"privacy", "sampling", "clipping", "rounding"}
            assert row.clip[0] <= row.value <= row.clip[1]
            assert row.assumption_contradicted is False
        assert len(release.to_frame()) == len(release)
        assert release.plot().get_xlabel() == "mean"
        assert tt.Release.from_json(release.to_json()) == release
        assert hash(tt.Release.from_json(release.to_json())) == hash(release)
        again = tt.replay(release.plan, json.loads(json.dumps(release.answers)))
        assert again.to_json() == replace(release, issued=None).to_json()
        with pytest.raises(KeyError, match="No row 'x'"):
            _ = release["x"]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_budget_of_a_plan_is_what_was_asked_for(budget):
    for n_columns in (1, 2):
        for n in (None, 4_000):
            plan = tt.plan(n=n, budget=budget, n_columns=n_columns)
            assert plan.budget == budget
            if n is None:
                counted = plan.with_count(4_000)
                assert counted.budget == budget
                assert counted.left == plan.cost("rest")
                assert counted.cost("count") == plan.cost("count")


@pytest.mark.parametrize(
    "frame", [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)], ids=type
)
def test_the_frame_is_of_the_callers_kind(frame):
    for column in ("paid", ["paid", "open"]):
        assert type(tt.mean(frame, column, rho=0.5).to_frame()) is type(frame)


def test_one_number_or_many():
    one, two = both(rho=0.5)
    assert isinstance(one.value, float)
    assert float(one) == one.value == float(one[0])
    assert np.asarray(one).shape == ()
    assert np.asarray(two).tolist() == two.value.tolist()
    with pytest.raises(TypeError, match="A release of 2 means is not a number"):
        float(two)


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_plan_goes_to_json_and_back(n_columns, budget):
    for request in ({}, {"n": 20}, {"n": 10**6, "confidence": None}, {"n": 900, "target": "data"}):
        plan = tt.plan(budget=budget, n_columns=n_columns, tail=tt.Moment(2, 3.0), **request)
        assert Plan.from_json(plan.to_json()) == plan
        assert str(Plan.from_json(plan.to_json())) == str(plan)


def test_a_plan_of_the_first_format_is_refused():
    for n_columns in (1, 2):
        record = tt.plan(n=100, epsilon=1, n_columns=n_columns).to_dict() | {"format": 1}
        with pytest.raises(ParameterError, match="format 1, and this version reads format 3"):
            Plan.from_dict(record)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_wrong_assumption_is_doubted(budget):
    for release in both(budget=budget, tail=tt.Moment(2, 1e-3)):
        assert all(row.assumption_contradicted for row in release)
        assert release.has_warnings
