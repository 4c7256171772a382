"""Weighted means: the definition, the release, the refusals, and every way to ask."""

from __future__ import annotations

import json
import math
import sqlite3
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail.cli.shell import main
from tametail.doubles import LARGEST
from tametail.errors import ColumnError, ParameterError
from tametail.expressions import Expression
from tametail.page.forms import Form, release_from_form
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows
from tametail.show.sentences import assumptions

from ..backends.cases import dataset  # noqa: TID252
from ..expressions.reference import row_value  # noqa: TID252
from ..opened import open_table  # noqa: TID252

RNG = np.random.default_rng(5)
N = 12_000
FRAME = pd.DataFrame({
    "paid": np.round(RNG.lognormal(7, 1, N), 2), "state": RNG.choice(["CA", "NY"], N),
    "who": RNG.integers(0, 3_000, N),
})  # fmt: skip
FRAME["weight"] = np.exp(RNG.normal(0, 0.5, N)) * FRAME.paid**0.3
FRAME["home"] = np.where(FRAME.who % 2, "CA", "NY")


def weighted(frame, values=None):
    values = frame.paid if values is None else values
    return float((frame.weight * values).sum() / frame.weight.sum())


TRUE = weighted(FRAME)
BY = {"by": "state", "keys": ["CA", "NY"]}


# --- what is asked, by its definition (docs/reference/query-specification.md)


def pair(value, weight, row):
    """Return w y and w of a record, in plain Python; None if it has none."""
    y, w = row_value(Expression.parse(value), row), row_value(Expression.parse(weight), row)
    if y is None or w is None:
        return None
    w = max(w, 0.0)
    product = w * y
    if math.isnan(product):
        return None
    return min(max(product, -LARGEST), LARGEST), min(w, LARGEST)


def viewed(view, s, c):
    if isinstance(view, PersonRows):
        return c
    if isinstance(view, PersonMean):
        return None if c == 0 else min(max(s / c, -LARGEST), LARGEST)
    return min(max(s - view.ratio * c, -LARGEST), LARGEST)


VIEWS = (PersonMean(), PersonRows(), PersonResidual(-1.5), PersonResidual(1e300))


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize(("value", "weight"), [("x", "y"), ("y", "x"), ("x / y", "abs(x)")])
def test_records_that_weigh_are_those_of_the_definition(value, weight, view):
    data = dataset("hostile")
    names = list(data.names.values())
    expected = []
    for cells in data.rows:
        found = pair(value, weight, dict(zip(names, cells, strict=True)))
        number = None if found is None else viewed(view, *found)
        expected.append(math.nan if number is None else number)
    here = open_table(data.table, value, weights=weight).numbers(view)
    np.testing.assert_array_equal(here, expected)


def test_persons_who_weigh_are_the_sums_of_their_records():
    rows = [("a", 1.5, 2.0), ("a", 4.0, 1.0), ("b", 7.0, -3.0), ("b", None, 5.0), ("c", 1.0, None)]
    frame = pd.DataFrame(rows, columns=["p", "y", "w"])
    opened = open_table(frame, "y", person="p", weights="w")
    assert sorted(opened.numbers(PersonRows()))[:2] == [0.0, 3.0]  # c has no weight: missing
    residual = float(Fraction(7) - Fraction(3) * 2)
    assert sorted(opened.numbers(PersonResidual(2.0)))[:2] == [0.0, residual]
    assert np.isnan(opened.numbers(PersonRows())).sum() == 1


# --- what is released


@pytest.mark.parametrize(
    "said",
    [
        {"epsilon": 1}, {"rho": 0.1}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": 0.5, "n": 11_000},
        {"epsilon": 1, "neighbors": "replace-one"}, {"epsilon": 1, **BY},
        {"epsilon": 1, "confidence": None}, {"epsilon": 1, "target": "data"},
        {"epsilon": 2, "delta": 1e-6, "by": "state"}, {"epsilon": 1, "where": "paid < 5000"},
        {"epsilon": 1, "within": (0, 1e9)}, {"epsilon": 1, "person": "who"},
        {"epsilon": 1, "person": "who", "by": "home", "keys": ["CA", "NY"],
         "groups_per_person": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_weighted_mean_replays_and_goes_to_json_and_back(said):
    release = tt.mean(FRAME, "paid", weights="weight", **said)
    assert release.method == "weighted mean"
    assert tt.replay(release.plan, release.answers) == release
    assert tt.Release.from_json(release.to_json()) == release
    assert release.plan == type(release.plan).from_json(release.plan.to_json())
    assert release.guarantee.rho == said.get("rho")
    assert all("weights-only" in [note.code for note in row.notes] for row in release)
    assert ("Weights", "weight; weights below 0 count as 0") in assumptions(release.plan)
    if len(release) == 1:
        assert "weighted by weight" in str(release)
        assert release[0].total is None  # a weighted mean times a count of records is no sum
        which = f" where {said['where']}" if "where" in said else ""
        assert release.sentence().startswith(f"The weighted mean of paid{which} is ")


def test_it_is_near_and_its_interval_holds_it():
    plain = FRAME.paid.mean()
    assert 1.2 * plain < TRUE  # else a test of weights tells nothing
    for said in ({}, {"person": "who"}, {"target": "data"}):
        release = tt.mean(FRAME, "paid", weights="weight", epsilon=1, **said)
        assert release.low < TRUE < release.high
        assert abs(float(release) / TRUE - 1) < 0.1
    table = tt.mean(FRAME, "paid", weights="weight", epsilon=2, **BY)
    for state, own in FRAME.groupby("state"):
        assert table[state].low < weighted(own) < table[state].high
        assert abs(table[state].count - len(own)) < 300
    share = tt.mean(FRAME, "paid > 2000", weights="weight", epsilon=1)
    true = weighted(FRAME, FRAME.paid > 2_000)
    assert share.low < true < share.high
    assert abs(float(share) - true) < 0.03


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_the_scale_of_weights_does_not_matter(scale):
    release = tt.mean(FRAME, "paid", weights=f"weight * {scale}", epsilon=1)
    assert abs(float(release) / TRUE - 1) < 0.1


def test_missing_and_negative_weights_count_nothing():
    odd = FRAME.assign(weight=FRAME.weight.where(FRAME.paid < 2_000, -7.0))
    odd.loc[:2_000, "weight"] = np.nan
    used = odd[odd.weight > 0]
    release = tt.mean(odd, "paid", weights="weight", epsilon=2)
    assert abs(float(release) / weighted(used) - 1) < 0.1
    assert release[0].share_used == pytest.approx(1 - 2_001 / N, abs=0.02)


def test_nothing_is_claimed_where_weights_do_not_stand_out():
    for data, weight in ((FRAME, "0 * weight"), (FRAME.head(30), "weight")):
        release = tt.mean(data, "paid", weights=weight, epsilon=0.1)
        assert math.isinf(release.low)
        assert release.has_warnings


def test_it_is_the_same_wherever_the_data_are(tmp_path, request):
    path = tmp_path / "claims.parquet"
    FRAME.to_parquet(path)
    with sqlite3.connect(tmp_path / "claims.db") as base:
        FRAME.to_sql("claims", base, index=False)
    request.addfinalizer(base.close)
    ducks = duckdb.connect()
    ducks.execute("CREATE TABLE claims AS SELECT * FROM FRAME")
    for data, table in [(path, None), (base, "claims"), (ducks, "claims")]:
        for said in ({}, {"person": "who"}, BY):
            release = tt.mean(data, "paid", weights="weight", epsilon=1, table=table, **said)
            assert np.all(np.abs(release.value / TRUE - 1) < 0.15)
    base.close()


def test_a_plan_predicts_the_error_for_equal_weights():
    frame = pd.DataFrame({"y": np.random.default_rng(1).lognormal(0, 1, 100_000), "w": 3.0})
    plan = tt.plan(n=5_000, epsilon=1, weights="w")
    assert "equal weights" in str(plan)
    rng, errors = np.random.default_rng(2), []
    for _ in range(15):
        part = frame.sample(5_000, random_state=rng)
        release = tt.mean(part, "y", weights="w", epsilon=1)
        errors.append(float(release) - math.exp(0.5))
    deviation = math.sqrt((math.e - 1) * math.e)
    assert 0.5 < np.sqrt(np.mean(np.square(errors))) / deviation / plan.relative_rmse < 1.8
    saved = type(plan).from_json(plan.to_json())
    assert tt.mean(frame, "y", plan=saved).method == "weighted mean"


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda **o: tt.mean(FRAME, ["paid", "who"], **o), "one column"),
        (lambda **o: tt.mean(FRAME, "paid", tail=tt.Bounded(0, None), **o), "min\\(charge"),
        (lambda **o: tt.mean(FRAME, "paid", person="who", each="person", **o), "each='person'"),
        (lambda **o: tt.mean(FRAME, "paid", missing="none", **o), "missing='none'"),
        (lambda **o: tt.mean(FRAME, "paid", person="who", **BY, **o), "groups_per_person=1"),
        (lambda **o: tt.mean(FRAME.paid.to_numpy(), "paid", **o), "no named columns"),
        (lambda **o: tt.mean(FRAME.paid.to_numpy(), **o), "require column="),
        (lambda **o: tt.sum(FRAME, "paid", **o), "not available for a sum"),
        (lambda **o: tt.plan(statistic="sum", **o), "column='weight \\* charge'"),
    ],
)
def test_what_weights_do_not_go_with_is_refused(ask, words):
    with pytest.raises(ParameterError, match=words):
        ask(weights="weight", epsilon=1)


def test_a_weight_must_be_a_number():
    with pytest.raises(ParameterError, match="weights= must be the name"):
        tt.mean(FRAME, "paid", weights=FRAME.weight, epsilon=1)
    with pytest.raises(ColumnError, match=r"'wieght'.*Did you mean 'weight'"):
        tt.mean(FRAME, "paid", weights="wieght", epsilon=1)
    with pytest.raises(ColumnError, match="'state'"):
        tt.mean(FRAME, "paid", weights="state", epsilon=1)


def test_the_ledger_the_shell_and_fakes_know_weights(tmp_path, capsys):
    path = tmp_path / "claims.csv"
    FRAME.to_csv(path, index=False)
    book = tt.Ledger(tmp_path / "office.ledger")
    book.create("claims", tt.pure(2))
    paid = {"ledger": book, "dataset": "claims", "release_id": "one", "epsilon": 1}
    one = tt.mean(path, "paid", weights="weight", **paid)
    assert tt.mean(path, "paid", weights="weight", **paid) == one
    with pytest.raises(tt.errors.BudgetError):  # the same id, for something else
        tt.mean(path, "paid", **paid)
    assert main(["mean", str(path), "-c", "paid", "--weights", "weight", "-e", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["plan"]["request"]["weights"] == "weight"
    assert main(["plan", "-n", "9000", "-e", "1", "--weights", "weight"]) == 0
    assert "sum of the weights" in capsys.readouterr().out
    with tt.testing.fake_releases():
        assert tt.mean(path, "paid", weights="weight", epsilon=1).method == "weighted mean"


def test_the_page_has_a_field_for_weights():
    form = Form.read("column=paid&weights=weight&epsilon=1")
    assert release_from_form(form).plan().method == "weighted mean"
    other = Form.read("column=paid&weights=weight&epsilon=1&statistic=sum")
    assert release_from_form(other).plan().method == "sum"


def test_requests_without_weights_keep_their_hash():
    plain = tt.plan(n=100, epsilon=1).request
    assert "weights" not in plain.to_dict()
    assert plain.hash() != tt.plan(n=100, epsilon=1, weights="w").request.hash()
