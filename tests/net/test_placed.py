"""Wherever the data are, groups, persons and conditions give the integers that were recorded."""

from __future__ import annotations

import os

import numpy as np
import pytest

from ..backends.datasets import Dataset  # noqa: TID252
from ..backends.places import PLACES, SPARK_PLACES, Postgres  # noqa: TID252
from ..spark import on_spark  # noqa: TID252

import fields  # isort: skip
import placed  # isort: skip

CASES = fields.load(fields.PLACED)

#: One of each kind of engine, and of each way to read what it is asked about.
ASKED = (
    "Arrow", "pandas", "Polars, lazy", "Parquet by pyarrow", "Parquet by duckdb", "CSV", "SQLite",
    "DuckDB table", "DuckDB over Parquet by pyarrow",
)  # fmt: skip

KINDS = ("column", "person", "group", "group keys", "person group", "person group keys")


def different(make, case, folder, asks=slice(None)):
    """Return the questions whose answers are not those of the recording."""
    data = Dataset(**placed.dataset_from(case["data"]))
    some = case | {name: case[name][asks] for name in ("asks", "answers")}
    found = placed.answers(make(data, folder), some)
    sides = zip(some["asks"], some["answers"], found, strict=True)
    return [ask for ask, recorded, answer in sides if recorded != answer]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("kind", KINDS)
def test_every_place_gives_the_recorded_integers(name, kind, tmp_path):
    for case in (case for case in CASES if case["kind"] == kind):
        assert not different(PLACES[name], case, tmp_path), case["opening"]


@pytest.fixture(scope="module")
def postgres(server):
    found = Postgres(server)
    yield found
    found.connection.close()


@pytest.mark.parametrize("kind", KINDS)
def test_postgresql_gives_the_recorded_integers(kind, postgres, tmp_path):
    for case in (case for case in CASES if case["kind"] == kind):
        assert not different(postgres.table, case, tmp_path), case["opening"]


#: A question to Spark takes a second: of each kind some, of different data sets. For all of them,
#: after Spark's engine was changed, set TAMETAIL_NET_SPARK=all (minutes).
ALL = os.environ.get("TAMETAIL_NET_SPARK") == "all"
SPARK_CASES = [case for case in CASES if ALL or case["id"] % 7 == 3]


@on_spark
@pytest.mark.parametrize("case", SPARK_CASES, ids=lambda case: f"{case['kind']}-{case['id']}")
def test_spark_gives_the_recorded_integers(case, tmp_path):
    step = 1 if ALL else -(-len(case["asks"]) // 4)
    assert not different(SPARK_PLACES["Spark"], case, tmp_path, slice(None, None, step))


def test_sensitivities_are_as_recorded():
    for case in CASES:
        assert placed.moves(case) == case["moves"], case["id"]


def test_the_recording_covers_persons_groups_and_spark():
    assert {case["kind"] for case in SPARK_CASES} == set(KINDS)
    asks = [ask for case in CASES for ask in case["asks"]]
    queries = [ask["query"]["class"] for ask in asks]
    parts = {
        part["class"]
        for ask in asks
        if ask["query"]["class"] == "Keyed"
        for part in ask["query"]["fields"]["parts"]
    }
    views = [ask["narrowed"]["view"]["class"] for ask in asks if "view" in ask["narrowed"]]
    for name in ("Keyed", "KeyCounts", "ScaledSums", "ScaledSquares", "Cells", "Rows", "BallSum"):
        assert queries.count(name) >= 10, name
    for name in ("PersonMean", "PersonRows", "PersonResidual", "PersonNorm"):
        assert views.count(name) >= 10, name
    assert parts == {"Cells", "ClippedSum", "Count", "DistanceSum", "Squares", "LogHistogram"}
    for name in ("where", "lines", "other"):
        assert sum(bool(case["opening"].get(name)) for case in CASES) >= 10, name
    assert sum("keys" in ask["narrowed"] for ask in asks) >= 10


def test_another_record_is_noticed(tmp_path):
    """A missing value that becomes a number changes answers of every kind."""
    noticed = set()
    for case in CASES:
        changed = placed.dataset_from(case["data"])
        columns = changed["columns"]
        values = [1.25 if np.isnan(cell or 0.0) else cell for cell in columns["value"]]
        other = case | {"data": changed | {"columns": columns | {"value": values}}}
        noticed |= {case["kind"]} if different(PLACES["Arrow"], other, tmp_path) else set()
    assert noticed == set(KINDS)
