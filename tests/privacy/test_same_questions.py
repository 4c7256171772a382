"""What is asked depends on noisy answers alone: other records lead to the same questions.

In the manner of auditors that record and replay: a release is made on some data, and all private
answers are recorded. Then it is made on other data while the same answers are forced. Questions,
their parameters and costs, and the release itself must be equal; only exact answers may differ.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import tametail as tt
from tametail.ask import Data

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
    "same scale": {"column": ["x", "y"], "common": True},
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
    "groups alone": {"by": "s", "keys": ["a", "b"], "borrow": None},
    "groups drawn together": {"by": "s", "keys": ["a", "b"], "borrow": "mean"},
    "persons in groups": {"by": "s", "keys": ["a", "b"], "person": "p"},
    "private keys": {"by": "s", "epsilon": 9.0, "delta": 1e-3},
    "private keys of persons": {"by": "s", "person": "p", "epsilon": 9.0, "delta": 1e-3},
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

    def spy(self, query, cost, unit):
        read, make_private = prepare(self, query, cost, unit)
        noted.append((query, cost, unit))

        def answer(exact):
            found = make_private(exact) if forced is None else forced[len(answers)]
            answers.append(found)
            return found

        return read, answer

    with monkeypatch.context() as patch:
        patch.setattr(Data, "prepare", spy)
        yield noted, answers


def compare(monkeypatch, data: Any, other: Any, request: dict[str, Any]) -> int:
    """Release both, the second with the answers of the first; return how many questions."""
    request = {"column": "x"} | request
    with watched(monkeypatch, None) as (asked, answers):
        first = tt.mean(data, **request)
    with watched(monkeypatch, answers) as (asked_again, _):
        second = tt.mean(other, **request)
    assert asked_again == asked
    assert second == first
    assert str(second) == str(first)
    assert second.notes == first.notes
    return len(asked)


def requests(kinds: dict[str, dict[str, Any]], units: tuple[str, ...]) -> list[Any]:
    return [
        pytest.param(({} if "epsilon" in each else budget) | each | {"unit": unit},
                     id=f"{name}-{notion}-{unit}")
        for name, each in kinds.items()
        for notion, budget in BUDGETS.items()
        for unit in units
    ]  # fmt: skip


EVERY = [*requests(ONE | SEVERAL | PERSONS, UNITS), *requests(GROUPS, UNITS[:1])]


@pytest.mark.parametrize("request_", EVERY)
def test_other_records_lead_to_the_same_questions(monkeypatch, request_):
    data = table(1)
    others = [neighbor(data), table(2), pa.table({**_columns(data), "x": np.full(600, 7.0)})]
    if request_.get("person"):
        others = [pa.concat_tables([data.slice(0, 599), data.slice(0, 1)])]
        others += [] if request_["unit"] == "replace-one" else [table(2), neighbor(data)]
    for other in others[:2]:
        assert compare(monkeypatch, data, other, request_) >= 1


def _columns(data: pa.Table) -> dict[str, Any]:
    return {name: data[name] for name in data.column_names}


PLACES = ("CSV", "DuckDB", "SQLite", "PostgreSQL")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["no assumption", "condition", "columns", "records of persons",
                                  "groups", "persons in groups"])  # fmt: skip
def test_other_records_lead_to_the_same_questions_everywhere(
    monkeypatch, tmp_path, request, place, name
):
    asked = (ONE | SEVERAL | PERSONS | GROUPS)[name] | {"epsilon": 1.0}
    data = table(1)
    found = [_place(place, each, tmp_path, request) for each in (data, neighbor(data))]
    (first, table_name), (second, other_name) = found
    assert table_name == other_name or place == "PostgreSQL"
    with watched(monkeypatch, None) as (questions, answers):
        one = tt.mean(first, **({"column": "x"} | asked), table=table_name)
    with watched(monkeypatch, answers) as (again, _):
        two = tt.mean(second, **({"column": "x"} | asked), table=other_name)
    assert questions == again
    assert one == two


def _place(place: str, data: pa.Table, folder: Any, request: Any) -> tuple[Any, str | None]:
    """Return what ``mean`` takes: data and, for a database, the name of the table."""
    if place == "CSV":
        path = folder / f"{id(data)}.csv"
        pyarrow.csv.write_csv(data, path)
        return path, None
    if place == "DuckDB":
        import duckdb

        connection = duckdb.connect()
        connection.register("given", data)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
        return connection, "t"
    from ..backends.datasets import Dataset  # noqa: TID252
    from ..backends.places import Postgres, sqlite  # noqa: TID252

    roles = dict(zip(("value", "second", "text", "person"), data.column_names, strict=True))
    columns = {role: data[name].to_pylist() for role, name in roles.items()}
    made = Dataset(roles, columns)
    if place == "SQLite":
        found = sqlite(made, folder)
        return found["data"], found["table"]
    found = Postgres(request.getfixturevalue("server")).table(made, folder)
    request.addfinalizer(found["data"].close)
    return found["data"], found["table"]
