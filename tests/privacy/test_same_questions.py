"""What is asked depends on noisy answers alone: other records lead to the same questions.

In the manner of auditors that record and replay: a release is made on some data, and all private
answers are recorded. Then it is made on other data while the same answers are forced. Questions,
their parameters and costs, and the release itself must be equal; only exact answers may differ.

In memory all requests are tried under all notions and units. Everywhere else each place has some of
them, and all with ``TAMETAIL_NEIGHBOR_CASES`` (``make audit``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tametail as tt
from tametail.ask import Data
from tametail.planning.table import METHODS

from ..backends.datasets import Dataset  # noqa: TID252
from ..backends.places import PLACES, SPARK_PLACES, Postgres  # noqa: TID252
from ..spark import on_spark  # noqa: TID252

BUDGETS = {
    "pure": {"epsilon": 1.0},
    "approximate": {"epsilon": 1.0, "delta": 1e-6},
    "zcdp": {"rho": 0.5},
}
UNITS = ("add-remove", "replace-one")

#: Requests by what they lead to; all of them about column x, or x and y.
ONE: dict[str, dict[str, Any]] = {
    "no assumption": {},
    "no interval": {"confidence": None},
    "range": {"within": (0.0, 1e6)},
    "moment": {"tail": tt.Moment(2, 500.0)},
    "moment and range": {"tail": tt.Moment(2, 500.0), "within": 1e4},
    "bounded": {"tail": tt.Bounded(0, 1e4)},
    "wide bounds": {"tail": tt.Bounded(-1e9, 1e9)},
    "one-sided": {"tail": tt.Bounded(0, None)},
    "these records": {"target": "data"},
    "nothing missing": {"missing": "none"},
    "condition": {"where": "y > 0 or s == 'a'"},
}
SEVERAL: dict[str, dict[str, Any]] = {
    "columns": {"column": ["x", "y"]},
    "same scale": {"column": ["x", "y"], "same_scale": True},
    "six columns": {"column": ["x", "y", "x + y", "x - y", "2 * x", "y / 2"]},
    "column moments": {"column": ["x", "y"], "tail": [tt.Moment(2, 500.0), tt.Moment(2, 9.0)]},
}
PERSONS: dict[str, dict[str, Any]] = {
    "records of persons": {"person": "p"},
    "means of persons": {"person": "p", "each": "person"},
    "columns of persons": {"person": "p", "column": ["x", "y"]},
}
GROUPS: dict[str, dict[str, Any]] = {
    "groups": {"by": "s", "keys": ["a", "b", "z"], "other": "rest"},
    "groups alone": {"by": "s", "keys": ["a", "b"], "pooling": None},
    "groups drawn together": {"by": "s", "keys": ["a", "b"], "pooling": "mean"},
    "persons in groups": {"by": "s", "keys": ["a", "b"], "person": "p"},
    "persons in one group": {"by": "s", "keys": ["a", "b"], "person": "p", "groups_per_person": 1},
    "private keys": {"by": "s", "epsilon": 9.0, "delta": 1e-3},
    "private keys of persons": {"by": "s", "person": "p", "epsilon": 9.0, "delta": 1e-3},
}


def _regression(
    data: Any, column: str, *, epsilon: Any = None, rho: Any = None, **said: Any
) -> Any:
    """Release a regression; of a pure budget it takes one with a delta."""
    budget = {"rho": rho} if epsilon is None else {"epsilon": epsilon, "delta": 1e-3}
    return tt.regression(data, column, "y", **(budget | said))


#: Other statistics than the mean; a share is the mean of a condition.
STATISTICS: dict[str, dict[str, Any]] = {
    "sum": {"statistic": tt.sum},
    "sum without interval": {"statistic": tt.sum, "confidence": None},
    "expected sum on one side": {
        "statistic": tt.sum, "tail": tt.Bounded(0, None), "target": "population",
    },
    "count": {"statistic": tt.count},
    "median": {"statistic": tt.median},
    "quantiles": {"statistic": tt.quantile, "q": [0.1, 0.5, 0.9]},
    "quantiles in a range": {"statistic": tt.quantile, "q": 0.75, "within": (0.0, 1e6)},
    "quantiles without interval": {"statistic": tt.quantile, "q": [0.2, 0.8], "confidence": None},
    "description": {"statistic": tt.describe},
    "description of these records": {"statistic": tt.describe, "target": "data"},
    "share": {"column": "x > 2"},
    "share of these records": {"column": "x > 50", "target": "data", "where": "y > 0"},
    "weighted mean": {"weights": "abs(y)"},
    "weighted mean of these records": {"weights": "y", "target": "data", "where": "x > 9"},
    "weighted mean of persons": {"weights": "abs(y)", "person": "p"},
    "regression": {"statistic": _regression},
    "regression without interval": {"statistic": _regression, "confidence": None, "where": "x > 9"},
    "sum of persons": {"statistic": tt.sum, "person": "p"},
    "count of persons": {"statistic": tt.count, "person": "p"},
    "median of persons": {"statistic": tt.median, "person": "p", "each": "person"},
}  # fmt: skip
STATISTICS_BY_GROUP: dict[str, dict[str, Any]] = {
    f"{name} by group": {**STATISTICS[name], "by": "s", "keys": ["a", "b", "z"], "other": "rest"}
    for name in ("sum", "count", "quantiles", "description", "share", "weighted mean")
}


def table(seed: int, size: int = 600) -> pa.Table:
    """Return data with a heavy tail, a second column, groups and persons."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "x": rng.lognormal(4, 1.5, size),
            "y": rng.normal(3, 5, size),
            "s": pa.array([["a", "b", "c"][i] for i in rng.integers(0, 3, size)]),
            "p": pa.array([f"p{i}" for i in rng.integers(0, size // 3, size)]),
        }
    )


def neighbor(data: pa.Table) -> pa.Table:
    """Replace one record by an extreme one, of a person and a group of its own."""
    record = {"x": [-1e300], "y": [float("nan")], "s": ["new"], "p": ["nobody else"]}
    return pa.concat_tables([data.slice(1), pa.table(record, schema=data.schema)])


@contextmanager
def watched(monkeypatch, forced: list[Any] | None):
    """Note questions, costs and private answers; with ``forced``, give these answers instead."""
    noted: list[Any] = []
    answers: list[Any] = []
    prepare = Data.prepare

    def spy(self, query, cost, adjacency):
        read, make_private = prepare(self, query, cost, adjacency)
        noted.append((query, cost, adjacency))

        def answer(exact):
            found = make_private(exact) if forced is None else forced[len(answers)]
            answers.append(found)
            return found

        return read, answer

    with monkeypatch.context() as patch:
        patch.setattr(Data, "prepare", spy)
        yield noted, answers


def compare(monkeypatch, first: Callable[[], Any], *others: Callable[[], Any]) -> int:
    """Release once, and then with the same answers elsewhere; return how many questions."""
    with watched(monkeypatch, None) as (asked, answers):
        one = first()
    for call in others:
        with watched(monkeypatch, answers) as (asked_again, _):
            other = call()
        assert asked_again == asked
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
        if isinstance(one, tt.Release):
            assert str(other) == str(one)
            assert other.notes == one.notes
    return len(asked)


def requests(kinds: dict[str, dict[str, Any]], units: tuple[str, ...]) -> list[Any]:
    return [
        pytest.param(
            {"column": "x", "neighbors": adjacency} | ({} if "epsilon" in each else budget) | each,
            id=f"{name}-{definition}-{adjacency}",
        )
        for name, each in kinds.items()
        for definition, budget in BUDGETS.items()
        for adjacency in units
    ]


EVERY = [
    *requests(ONE | SEVERAL | PERSONS | STATISTICS, UNITS),
    *requests(GROUPS | STATISTICS_BY_GROUP, UNITS[:1]),
]


def released(request: dict[str, Any], data: Any, **where: Any) -> tt.Release:
    """Release what a request names: a mean, where it names no other statistic."""
    told = {key: value for key, value in request.items() if key != "statistic"}
    found: tt.Release = request.get("statistic", tt.mean)(data, **told, **where)
    return found


def others_of(data: pa.Table, request: dict[str, Any]) -> list[pa.Table]:
    """Return other data about which the same is public: under replace-one, the same sizes."""
    if request.get("person") and request["neighbors"] == "replace-one":
        return [pa.concat_tables([data.slice(0, 599), data.slice(0, 1)])]
    columns = {name: data[name] for name in data.column_names}
    same_size = [neighbor(data), table(2), pa.table({**columns, "x": np.full(600, 7.0)})]
    if request["neighbors"] == "replace-one":
        return same_size
    return [data.slice(1), *same_size, table(3, 900), data.slice(0, 0)]


@pytest.mark.parametrize("request_", EVERY)
def test_other_records_lead_to_the_same_questions(monkeypatch, request_):
    data = table(1)
    every = (data, *others_of(data, request_))
    assert compare(monkeypatch, *(partial(released, request_, each) for each in every)) >= 1


def test_every_method_is_compared():
    found = {released(each.values[0], table(1)).plan.method for each in EVERY}
    assert found == {method.name for method in METHODS}


# --- wherever the data are


def placed(data: pa.Table) -> Dataset:
    """Return the table as what places are made of, which have a column of whole numbers."""
    roles = dict(zip(("value", "second", "text", "person"), data.column_names, strict=True))
    columns = {role: data[name].to_pylist() for role, name in roles.items()}
    return Dataset(roles | {"whole": "w"}, columns | {"whole": [0] * len(data)})


def compare_there(monkeypatch, make: Callable[..., Any], request: dict[str, Any], folder) -> int:
    def release(data: pa.Table) -> Any:
        place = make(placed(data), folder)
        return released(request, place["data"], table=place.get("table"))

    data = table(1)
    others = others_of(data, request)
    every = (data, others[0], others[-1])  # under add-remove the last has no records
    return compare(monkeypatch, *(partial(release, each) for each in every))


def some_of(every: list[Any], place: int, step: int, long_step: int = 1) -> list[Any]:
    """Return requests that other places do not have; all, or more of them, in the long form."""
    chosen = long_step if os.environ.get("TAMETAIL_NEIGHBOR_CASES") else step
    return every[place % chosen :: chosen]


@pytest.mark.parametrize("name", [name for name in PLACES if name != "Arrow"])
def test_other_records_lead_to_the_same_questions_everywhere(monkeypatch, tmp_path, name):
    for request in some_of(EVERY, list(PLACES).index(name), 2 * len(PLACES) - 1):
        assert compare_there(monkeypatch, PLACES[name], request.values[0], tmp_path) >= 1


@pytest.mark.parametrize("form", ["table", "partitioned", "view"])
def test_other_records_lead_to_the_same_questions_in_postgresql(
    monkeypatch, tmp_path, server, form
):
    found = Postgres(server)
    for request in some_of(EVERY, len(form), 8):
        assert compare_there(monkeypatch, getattr(found, form), request.values[0], tmp_path) >= 1
    found.connection.close()


@on_spark
def test_other_records_lead_to_the_same_questions_in_spark(monkeypatch, tmp_path):
    for place, make in enumerate(SPARK_PLACES.values()):
        for request in some_of(EVERY, 53 * place, len(EVERY), 12):
            assert compare_there(monkeypatch, make, request.values[0], tmp_path) >= 1


# --- the paper's functions

BOUNDS = {"k": 2, "R": 1e6, "scale": 300.0}
PAPER: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "range": (tt.paper.range_estimate, BOUNDS | {"alpha": 90.0}),
    "blocks": (tt.paper.mean_1d, BOUNDS | {"alpha": 90.0, "beta": 0.2}),
    "one block": (
        tt.paper.mean_1d,
        BOUNDS | {"alpha": 90.0, "beta": 0.2, "constants": "one-block"},
    ),
    "Karwa and Vadhan": (tt.paper.related.karwa_vadhan, {"R": 1e3, "deviation": 300.0}),
    "CoinPress": (tt.paper.related.coinpress, {"R": 1e3, "deviation": 300.0}),
    "ball": (tt.paper.mean_ball, BOUNDS | {"alpha": 90.0}),
    "tournament": (tt.paper.mean_tournament, BOUNDS | {"alpha": 200.0, "beta": 0.2}),
}


@pytest.mark.parametrize("budget", [tt.pure(2), tt.approx(2, 1e-6), tt.zcdp(0.5)], ids=str)
@pytest.mark.parametrize("name", PAPER)
def test_other_records_lead_to_the_same_questions_of_the_paper(monkeypatch, name, budget):
    function, told = PAPER[name]
    only = {"CoinPress": "zCDP", "tournament": "pure"}.get(name, "")
    if only not in str(budget):
        pytest.skip("not under this notion")
    several = name in ("ball", "tournament")
    rows = [
        np.column_stack([each["x"], each["y"]]) if several else each["x"].to_numpy()
        for each in (table(1), neighbor(table(1)), table(2))
    ]
    assert compare(monkeypatch, *(partial(function, each, budget, **told) for each in rows)) >= 1
