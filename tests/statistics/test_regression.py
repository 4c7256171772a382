"""Linear regression: near least squares, refused where it cannot tell, and every way to ask."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail.cli.shell import main
from tametail.data.computed import products_of
from tametail.errors import ColumnError, InternalError, ParameterError
from tametail.expressions import Expression
from tametail.methods import regression
from tametail.queries.products import Products
from tametail.queries.rows import Rows

from ..expressions.reference import row_value  # noqa: TID252
from ..opened import open_table  # noqa: TID252

RNG = np.random.default_rng(5)
N = 20_000
BETA = np.array([2.0, 1.0, -1e-3, 500.0])


def design(rng, n):
    """Return y and three columns of very different sizes, with heavy errors."""
    z = rng.normal(size=(n, 3))
    x = z * [1.0, 1e3, 1e-3] + [0.0, 5e3, 0.0]
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    return frame.assign(y=BETA[0] + x @ BETA[1:] + rng.standard_t(3, n))


FRAME = design(RNG, N)
X = ["a", "b", "c"]


def least_squares(frame, x=X):
    return np.linalg.lstsq(np.column_stack([np.ones(len(frame)), frame[x]]), frame.y)[0]


# --- the numbers that are averaged, by their definition


def test_products_are_those_of_expressions_on_every_record():
    """In the language of computed columns, by its reference in plain Python."""
    rng = np.random.default_rng(2)
    rows = rng.choice([0.0, 3.7, -1e9, 1e300, -5e-324, math.nan, 0.1, 2.0], (60, 3))
    told = zip("yab", (0.3, 1.5, 7.0), (0.7, 3.0, 1e-3), strict=True)
    y, *x = (
        f"min(max(({name} - {c!r}) / {s!r}, -{2.0**500!r}), {2.0**500!r})" for name, c, s in told
    )
    d = [f"(1 + 0 * ({x[0]}))", *x]
    rest = f"{y} - (-0.3) * {d[0]} - 1.1 * {x[0]} - 2.5 * {x[1]}"
    pairs = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    asked = Products((0.3, 1.5, 7.0), (0.7, 3.0, 1e-3))
    scores = Products(asked.centers, asked.scales, (-0.3, 1.1, 2.5))
    texts = [f"({d[i]}) * ({d[j]})" for i, j in pairs] + [f"({y}) * ({each})" for each in d]
    for told, wanted in (asked, texts), (scores, [f"({rest}) * ({each})" for each in d]):
        expressions = [Expression.parse(text) for text in wanted]
        for cells, found in zip(rows, products_of(rows, told), strict=True):
            record = dict(zip("yab", cells, strict=True))
            numbers = [row_value(one, record) for one in expressions]
            if np.isnan(cells).any():
                numbers = [None] * len(numbers)
            expected = [math.nan if one is None else one for one in numbers]
            np.testing.assert_array_equal(found, expected)
    assert asked.pairs == tuple(pairs)


def test_a_row_is_made_of_its_own_cells_wherever_it_stands():
    rows = np.random.default_rng(3).standard_t(1, (999, 3))
    rows[::7, 1] = np.nan
    asked = Products((0.1, 0.2, 0.3), (0.3, 0.7, 9.0), (0.5, -0.1, 3.3))
    together = products_of(rows, asked)
    alone = np.concatenate([products_of(row[np.newaxis], asked) for row in rows])
    np.testing.assert_array_equal(together, alone)
    assert np.isnan(together[::7]).all()


def test_a_row_that_is_left_out_stays_so():
    opened = open_table(FRAME.head(500), ["y", "a"], where="a > 0")
    left = (FRAME.a.head(500) <= 0).sum()
    asked = opened.multiplied(Products((0.0, 0.0), (1.0, 1.0)))
    assert asked.answer(Rows()) == opened.answer(Rows()) == (500 - left, left)


def test_products_are_made_of_whole_rows_of_records():
    asked = Products((0.0, 0.0), (1.0, 1.0))
    for more in ({"person": "a"}, {"weights": "b"}):
        opened = open_table(FRAME, "y" if "weights" in more else ["y", "c"], **more)
        with pytest.raises(InternalError):
            opened.multiplied(asked)


# --- what is released


@pytest.mark.parametrize(
    "said",
    [{"rho": 0.5}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.5, "n": N}, {"rho": 0.5, "n": 100},
     {"rho": 0.5, "neighbors": "replace-one"}, {"rho": 0.5, "confidence": None},
     {"rho": 0.5, "where": "a < 1"}, {"rho": 0.5, "confidence": 0.8}, {"rho": 1e-5}],
    ids=str,
)  # fmt: skip
def test_a_regression_replays_and_goes_to_json_and_back(said):
    release = tt.regression(FRAME, "y", X, **said)
    assert (release.method, release.columns) == ("linear regression", ("intercept", *X))
    assert tt.replay(release.plan, release.answers) == release
    assert tt.Release.from_json(release.to_json()) == release
    assert release.plan == type(release.plan).from_json(release.plan.to_json())
    assert release.guarantee.rho == said.get("rho")
    assert "experimental" in [note.code for note in release.notes]
    assert {row.label for row in release} == {"coefficient"}
    assert all((row.low is None) == ("confidence" in said and not said["confidence"])
               for row in release)  # fmt: skip


def test_it_is_near_least_squares_and_intervals_hold():
    """The prototype has .77 to 1.41 of the errors of ordinary least squares."""
    rng = np.random.default_rng(8)
    errors, plain = [], []
    for _ in range(12):
        frame = design(rng, 10_000)
        release = tt.regression(frame, "y", X, rho=0.5)
        errors.append(release.value - BETA)
        plain.append(least_squares(frame) - BETA)
        assert all(row.low < true < row.high for row, true in zip(release, BETA, strict=True))
        # Without the tail intervals are narrower; a test of coverage is in the benchmarks.
        narrow, wide = release["a"].intervals[1], release["a"].intervals[0]
        assert wide.low < narrow.low < release["a"].value < narrow.high < wide.high < 3
        assert (wide.basis, narrow.basis) == ("extrapolated-tail", "clipped-data")
    ratio = np.sqrt(np.square(errors).mean(0) / np.square(plain).mean(0))
    assert ratio.max() < 2
    assert ratio.mean() < 1.5


def test_the_units_of_the_columns_do_not_matter():
    moved = FRAME.assign(a=FRAME.a * 1e-9 + 1, y=FRAME.y * 1e6 - 3e6)
    release = tt.regression(moved, "y", X, rho=2)
    assert abs(release["a"].value / 1e15 - 1) < 0.1
    assert abs(release["c"].value / 5e8 - 1) < 0.1


def test_conditions_and_computations_are_columns():
    frame = FRAME.assign(state=np.where(RNG.random(N) < 0.4, "CA", "NY"))
    frame["y"] = frame.y + 3 * (frame.state == "CA")
    release = tt.regression(frame, "y", ["a", "b / 1000", "c", "state == 'CA'"], rho=0.5)
    assert abs(release["state == 'CA'"].value - 3) < 0.3
    assert abs(release["b / 1000"].value + 1) < 0.2
    assert release["state == 'CA'"].low < 3 < release["state == 'CA'"].high


def test_a_record_with_a_missing_cell_is_left_out():
    holes = FRAME.assign(a=FRAME.a.where(RNG.random(N) < 0.8))
    release = tt.regression(holes, "y", X, rho=0.5)
    assert abs(release[0].count - holes.a.notna().sum()) < 500
    assert 0.75 < release[0].share_used < 0.85
    assert release["a"].low < 1 < release["a"].high


def test_the_newton_step_mends_what_clipping_does_to_the_equations(monkeypatch):
    """Products of heavy columns are clipped; scores are smaller, and hardly so."""
    rng = np.random.default_rng(4)
    x = np.exp(1.2 * rng.normal(size=(N, 2)))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=x @ [2.0, 1.0] + rng.normal(size=N))
    conclude, asked = regression._conclude, []

    def spy(plan, products, *more):
        asked.append(products)
        return conclude(plan, products, *more)

    monkeypatch.setattr(regression, "_conclude", spy)
    last = [tt.regression(frame, "y", ["a", "b"], rho=2)["a"].value - 2 for _ in range(6)]
    first = [one.coefficients[1] * one.scales[0] / one.scales[1] - 2 for one in asked]
    assert np.sqrt(np.square(last).mean()) < np.sqrt(np.square(first).mean()) / 2


# --- what is refused


COLLINEAR = FRAME.assign(d=FRAME.a * 0.99 + 1e3 * FRAME.c * math.sqrt(1 - 0.99**2), one=1.0)


@pytest.mark.parametrize("x", [["a", "d"], ["a", "one"], ["a", "2 * a"], ["one"]])
def test_columns_that_follow_from_others_are_refused(x):
    for more in ({}, {"confidence": None}):
        release = tt.regression(COLLINEAR, "y", x, rho=0.5, **more)
        assert np.isnan(release.value).all()
        assert all(row.low in (None, -math.inf) for row in release)
        assert "collinear" in [note.code for note in release.notes]
        assert release.has_warnings
        assert not any(row.usable for row in release)
        assert "No coefficient can be estimated" in str(release)
        assert "No reliable estimate of any coefficient." in release.sentence()
        # Nothing is asked after the refusal.
        assert len(release.answers) < len(tt.regression(FRAME, "y", X, rho=0.5).answers)


def test_too_few_records_are_refused():
    release = tt.regression(FRAME.head(60), "y", X, rho=0.01)
    assert np.isnan(release.value).all()
    assert release.has_warnings
    assert (
        tt.plan(n=60, rho=0.01, n_columns=4, statistic="regression").notes[0].code == "few-records"
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"epsilon": 1}, "rho=0.5"),
        ({"rho": 1, "x": ["a", "intercept"]}, "Rename it"),
        ({"rho": 1, "by": "c", "keys": [1]}, "where="),
        ({"rho": 1, "person": "c"}, "one row per person"),
        ({"rho": 1, "within": 5}, "clip in the column"),
        ({"rho": 1, "tail": tt.Bounded(0, None)}, "not available"),
        ({"rho": 1, "target": "data"}, "not available"),
        ({"rho": 1, "weights": "c"}, "not available"),
        ({"rho": 1, "x": []}, "at least one column"),
        ({"rho": 1, "x": ["a", "a"]}, "twice"),
        ({"rho": 1, "x": ["nothing"]}, "No column"),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_go_with_it_is_refused_before_anything_is_spent(said, words, tmp_path):
    ledger = tt.Ledger(tmp_path / "claims.ledger")
    ledger.create("claims", tt.zcdp(3))
    frame = FRAME.assign(intercept=1.0)
    with pytest.raises((ParameterError, ColumnError), match=words):
        tt.regression(frame, **({"y": "y", "x": X, "ledger": ledger, "dataset": "claims"} | said))
    assert ledger.remaining("claims").rho == 3


def test_a_ledger_pays(tmp_path):
    ledger = tt.Ledger(tmp_path / "claims.ledger")
    ledger.create("claims", tt.zcdp(3))
    tt.regression(FRAME, "y", "a", rho=0.5, ledger=ledger, dataset="claims")
    assert ledger.remaining("claims").rho == 2.5


# --- every way to ask


def test_reports_pages_and_frames_show_it(tmp_path):
    release = tt.regression(FRAME, "y", X, rho=0.5, n=N)
    release.report(tmp_path / "r.html")
    assert "Regression of y on a, b, c" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert release._repr_html_()
    assert release.plan._repr_html_()
    frame = release.to_frame()
    assert frame.column.tolist() == ["intercept", *X]
    assert "for all coefficients at once" in str(release)
    assert release.sentence().startswith("Regression of y on a, b, c: intercept ")
    assert "standardize" in str(release.plan)
    assert release.to_markdown().count("\n") > 5


def test_a_plan_can_be_made_before(tmp_path):
    plan = tt.plan(n=N, rho=0.5, n_columns=4, statistic="regression")
    assert [step.name for step in plan.steps] == ["count", "standardize", "products", "scores"]
    release = tt.mean(FRAME, ["y", *X], plan=plan)
    assert release["a"].low < 1 < release["a"].high
    measurement = tt.as_opendp(plan, ["y", *X])
    assert measurement.map(1) == 0.5
    assert measurement(FRAME).method == "linear regression"
    with pytest.raises(ParameterError, match="n_columns=3"):
        tt.plan(n=N, rho=0.5, statistic="regression")


def test_the_command_line_releases_it(tmp_path, capsys):
    path = tmp_path / "claims.csv"
    FRAME.to_csv(path, index=False)
    asked = ["regression", str(path), "--y", "y", "--x", "a, b", "--x", "c", "--rho", "0.5"]
    assert main(asked) == 0
    assert "intercept" in capsys.readouterr().out
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"] == ["intercept", *X]
    assert main(["regression", str(path), "--y", "y", "--x", "a", "-e", "1"]) == 2
    assert "--rho" in capsys.readouterr().err
