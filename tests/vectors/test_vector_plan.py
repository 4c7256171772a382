"""Plans of vector means: made from public numbers, followed, replayed, on the command line."""

import json

import numpy as np
import pytest

import tametail as tt
from tametail.cli import main
from tametail.errors import ParameterError
from tametail.planning import Plan
from tametail.planning.table import JOINT_COMMON

COMMON = JOINT_COMMON.name


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(3).normal([1.0, 50.0, -3.0], [1.0, 9.0, 0.1], size=(5_000, 3))


def test_a_plan_with_several_columns_is_followed(rows):
    plan = tt.plan(n=5_000, rho=0.5, n_columns=3, neighbors="replace-one", target="data")
    assert isinstance(plan, Plan)
    release = tt.mean(rows, plan=plan)
    assert release.plan.steps == plan.steps
    assert release.plan.columns == release.columns == ("0", "1", "2")
    saved = Plan.from_json(release.plan.to_json())
    assert tt.replay(saved, json.loads(json.dumps(release.answers))) == release


def test_a_plan_and_data_must_agree_on_the_columns(rows):
    with pytest.raises(ParameterError, match="The plan is for 2 columns"):
        tt.mean(rows, plan=tt.plan(n=10, rho=0.5, n_columns=2))
    with pytest.raises(ParameterError, match="for 2 columns, but the data have 1 column"):
        tt.mean(rows[:, 0], plan=tt.plan(n=10, rho=0.5, n_columns=2))
    with pytest.raises(ParameterError, match="for 1 column, but the data have 3 columns"):
        tt.mean(rows, plan=tt.plan(n=10, rho=0.5))
    with pytest.raises(ParameterError, match="same_scale cannot be combined with plan"):
        tt.mean(rows, plan=tt.plan(n=10, rho=0.5, n_columns=3), same_scale=True)
    with pytest.raises(ParameterError, match="at least one column"):
        tt.plan(n=10, rho=0.5, n_columns=0)


def test_columns_of_one_unit_can_be_said_to_be_so(rows):
    assert tt.mean(rows, rho=0.5, same_scale=True).plan.method == COMMON
    assert tt.plan(n=5_000, rho=0.5, n_columns=3, same_scale=True).method == COMMON


def test_predictions_improve_with_records_and_budget():
    sizes = [3_000, 10_000, 10**5, 10**6, 10**8]
    for budget in (tt.zcdp(0.1), tt.zcdp(2.0), tt.pure(3.0)):
        errors = [tt.plan(n=n, budget=budget, n_columns=8).relative_rmse for n in sizes]
        assert errors == sorted(errors, reverse=True)
        widths = [tt.plan(n=n, budget=budget, n_columns=8).half_width() for n in sizes]
        assert widths == sorted(widths, reverse=True)
    weak, strong = (tt.plan(n=3_000, rho=rho, n_columns=8).relative_rmse for rho in (0.05, 5.0))
    assert strong < weak
    assert tt.plan(rho=0.5, n_columns=8).relative_rmse is None
    assert tt.plan(rho=0.5, n_columns=8).half_width() is None


def test_a_prediction_is_about_what_happens():
    rng = np.random.default_rng(4)
    deviation = np.sqrt((np.e - 1) * np.e)
    errors = [
        (tt.mean(rng.lognormal(size=(4_000, 20)), rho=0.1, n=4_000).value - np.exp(0.5)) / deviation
        for _ in range(4)
    ]
    measured = np.sqrt(np.mean(np.square(errors)))
    assert 1 / 3 < tt.plan(n=4_000, rho=0.1, n_columns=20).relative_rmse / measured < 3


@pytest.mark.parametrize(
    ("n", "n_columns", "rho", "tail"),
    [(10_000, 5, 0.5, None), (20_000, 20, 0.5, None), (10_000, 3, 0.05, None),
     (20_000, 5, 0.5, tt.Moment(2, 1)), (20_000, 5, 0.05, tt.Bounded(-1, 1))],
)  # fmt: skip
def test_the_predicted_interval_is_the_one_to_quote(n, n_columns, rho, tail):
    rows = np.random.default_rng(5).lognormal(size=(n, n_columns))
    rows = (rows - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    if isinstance(tail, tt.Bounded):
        rows = np.random.default_rng(5).uniform(-np.sqrt(3), np.sqrt(3), (n, n_columns))
        tail = tt.Bounded(-np.sqrt(3), np.sqrt(3))
    release = tt.mean(rows, rho=rho, tail=tail)
    measured = np.median([(row.high - row.low) / 2 for row in release])
    plan = tt.plan(n=n, rho=rho, n_columns=n_columns, tail=tail)
    assert plan.method == release.method
    assert release[0].interval_target == "mean"
    assert 1 / 2 < plan.half_width() / measured < 2


def test_a_plan_says_what_its_half_width_is_in():
    for tail in (None, tt.Moment(2, 100.0), tt.Bounded(0, 1000)):
        together = tt.plan(n=100_000, rho=0.5, n_columns=5, tail=tail)
        assert "standard deviations" in _interval_line(together)
    one = tt.plan(n=100_000, epsilon=1, tail=tt.Moment(2, 100.0))
    assert "standard deviations" not in _interval_line(one)
    mixed = tt.plan(n=100_000, epsilon=1, n_columns=2, tail=[tt.Moment(2, 100.0), None])
    assert mixed.half_width() is None


def _interval_line(plan):
    (line,) = [line for line in str(plan).splitlines() if "95% CI" in line]
    return line


def test_scales_that_were_told_give_errors_in_their_units():
    tails = [tt.Moment(2, 5.0), tt.Moment(2, 1.0)]
    plan = tt.plan(n=10_000, rho=0.5, n_columns=2, tail=tails)
    assert plan.rmse == (5.0 * plan.relative_rmse, plan.relative_rmse)
    assert tt.plan(n=10_000, rho=0.5, n_columns=2, tail=[tails[0], None]).rmse is None


def test_advice_says_what_was_given_up():
    (first, *_) = tt.plan(n=500, rho=0.5, n_columns=200).advice
    assert "are too few to estimate a center" in first
    assert any(
        "larger than the standard deviation" in text
        for text in tt.plan(n=50, rho=0.001, n_columns=200).advice
    )
    assert tt.plan(n=10_000, rho=0.5, n_columns=5).advice == ()


def test_the_command_line_prints_a_table_and_follows_a_plan(tmp_path, capsys):
    lines = ["a,b", *(f"{i % 7},{100 + i % 3}" for i in range(3_000))]
    (tmp_path / "rows.csv").write_text("\n".join(lines), encoding="utf-8")
    assert main(["plan", "-n", "3000", "--rho", "3", "--n-columns", "2", "--json"]) == 0
    written = capsys.readouterr().out
    assert json.loads(written)["relative_rmse"] > 0
    (tmp_path / "plan.json").write_text(written, encoding="utf-8")
    columns = ["--column", "a", "--column", "b"]
    data, plan = str(tmp_path / "rows.csv"), str(tmp_path / "plan.json")
    assert main(["mean", data, *columns, "--plan", plan]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["column", "mean", "95%", "CI"]
    assert [line.split()[0] for line in table[1:3]] == ["a", "b"]
    assert main(["mean", data, *columns, "--rho", "3", "--same-scale", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["method"] == COMMON
    assert main(["mean", data, "--column", "a", "--plan", plan]) == 2
    assert main(["plan", "--error", "0.1", "--rho", "3", "--n-columns", "2"]) == 2
    assert main(["plan", "-n", "3000", "--rho", "3", "--n-columns", "2"]) == 0


def test_a_sparse_column_is_found_by_a_second_look():
    rows = np.random.default_rng(9).normal(size=(20_000, 16))
    rows[:, 0] = 0.0
    rows[:120, 0] = 100.0  # the first look needs about 140 records, the second 50
    release = tt.mean(rows, rho=0.5, neighbors="replace-one", confidence=None)
    assert abs(release.value[0] - 0.6) < 0.4


def test_a_column_of_very_heavy_tails_does_not_drown_the_others():
    rng = np.random.default_rng(12)
    rows = rng.normal(size=(10_000, 3))
    rows[:, 2] = rng.pareto(0.4, size=10_000)
    value = tt.mean(rows, rho=0.5, neighbors="replace-one", confidence=None).value
    assert (np.abs(value[:2] - rows[:, :2].mean(axis=0)) < 0.05).all()
