"""What the guide promises of databases: what is asked, what is kept, and what is said nowhere."""

from __future__ import annotations

import json
import logging
import tracemalloc
import weakref
from urllib.parse import urlsplit

import duckdb
import numpy as np
import pytest

import tametail as tt
from tametail import cli
from tametail.data.sql import duckdb as engine_of_duckdb
from tametail.data.sql import postgresql as postgres
from tametail.data.sql import sqlite as lite
from tametail.queries.rows import Ball, BallLevels, BallSum, Distances

from ..opened import open_table  # noqa: TID252

TYPES = {"x": "double", "y": "double", "who": "text", "kind": "integer"}
READS = ("SELECT", "WITH", "SHOW", "BEGIN ISOLATION", "SET LOCAL", "ROLLBACK")
ESTIMATES = ("reltuples", "relpages", "pg_stat", "pg_class_size", "explain")
WAYS = {
    "one column": ("x", {}),
    "several columns": (["x", "y"], {}),
    "persons": ("x", {"person": "who"}),
    "groups": ("x", {"by": "kind", "keys": [0, 1, 2]}),
    "persons in groups": ("x", {"by": "kind", "keys": [0, 1, 2], "person": "who"}),
}


def columns(rows):
    rng = np.random.default_rng(5)
    return {
        "x": rng.lognormal(size=rows).tolist(),
        "y": rng.normal(size=rows).tolist(),
        "who": [f"p{i % 90}" for i in range(rows)],
        "kind": [i % 3 for i in range(rows)],
    }


@pytest.fixture
def reader(postgres):
    """The address of a role that may read one table and nothing else; its password is no word."""
    table = postgres.make(columns(600), TYPES)["table"]
    role, password = f"reader_{table}", "pw7SECRETpw"
    postgres.connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{password}'")
    postgres.connection.execute(f"GRANT SELECT ON {table} TO {role}")
    parts = urlsplit(postgres.address)
    host = parts.netloc.rpartition("@")[2]
    yield parts._replace(netloc=f"{role}:{password}@{host}").geturl(), table, password
    postgres.connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.parametrize("way", WAYS)
def test_the_right_to_read_is_enough_and_nothing_but_reading_is_asked(reader, monkeypatch, way):
    address, table, _ = reader
    texts = []
    for name in ("rows", "stream", "_do"):
        kept = getattr(postgres.PostgresSession, name)
        monkeypatch.setattr(
            postgres.PostgresSession,
            name,
            lambda own, text, *more, kept=kept: texts.append(text) or kept(own, text, *more),
        )
    column, more = WAYS[way]
    release = tt.mean(address, column, table=table, epsilon=1, **more)
    assert tt.replay(release.plan, release.answers) == release
    asked = [text.strip() for text in texts]
    assert all(text.startswith(READS) for text in asked)
    assert not any(word in text.lower() for text in asked for word in ESTIMATES)
    # The plan says how the records are read, and so it was.
    streams = "several" in way or "in groups" in way
    assert ("stream" in str(release.plan)) == streams
    assert ("computed in PostgreSQL" in str(release.plan)) != streams
    about = [text for text in asked if f'."{table}"' in text and "LIMIT 0" not in text]
    assert about
    if way == "persons":
        assert all("GROUP BY" in text for text in about), "a subquery by person in every question"


@pytest.mark.parametrize("way", WAYS)
def test_passwords_are_nowhere(reader, tmp_path, capsys, caplog, way):
    address, table, password = reader
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "office.ledger"
    tt.Ledger(path).create("claims", tt.pure(9))
    column, more = WAYS[way]
    charged = {"ledger": path, "dataset": "claims"}
    release = tt.mean(address, column, table=table, epsilon=1, **more, **charged)
    said = [str(release), repr(release), release.to_json(), str(release.plan), caplog.text]
    said += [release.plan.to_json(), json.dumps(release.to_dict())]
    asked = ["--table", table, "--column", "x", "--epsilon", "1"]
    assert cli.main(["mean", address, *asked, "--json"]) == 0
    assert cli.main(["mean", address, "--table", "nowhere", *asked[2:]]) == 4
    said += [*capsys.readouterr(), caplog.text]
    assert not any(password in text for text in said)
    assert all(password.encode() not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["postgres", "lite"])
def test_memory_does_not_grow_with_the_rows_of_several_columns(request, monkeypatch, name):
    for module in (lite, postgres):
        monkeypatch.setattr(module, "BATCH", 1000)
    database = request.getfixturevalue(name)
    ball = Ball((0.0, 0.0), (1.0, 1.0), (10, 1000), order=2)
    queries = [
        Distances((0.0, 0.0), ((0.5, 2.0),) * 2, 1, (1, 1, 1)),
        BallLevels(ball, 1, (1, 1, 1)),
        BallSum(ball, 1, 5, 3),
    ]

    def peak(rows):
        made = database.make({key: columns(rows)[key] for key in "xy"}, TYPES)
        engine = open_table(columns=["x", "y"], **made)
        engine.answer(queries[0])
        tracemalloc.start()
        for query in queries:
            engine.answer(query)
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        engine.close()
        return found

    few, many = peak(5_000), peak(80_000)
    assert many < few + 400_000  # 75,000 rows more are 1.2 MB, and as cells of Python 4.7 MB


def test_where_keeps_secret_how_many_records_meet_a_condition():
    """The public n of replace-one is that of the rows that were passed (threat model)."""
    duck = duckdb.connect()
    duck.execute("CREATE TABLE numbers AS SELECT CAST(range AS DOUBLE) AS x FROM range(5000)")
    every, some = duck.table("numbers"), duck.table("numbers").filter("x < 1000")
    asked = {"epsilon": 1, "neighbors": "replace-one"}
    secret, told = tt.mean(every, "x", where="x < 1000", **asked), tt.mean(some, "x", **asked)
    assert (secret.plan.n, told.plan.n) == (5000, 1000)


def test_duckdb_hands_over_one_piece_at_a_time(duck, monkeypatch):
    """Its arrays are not Python's to count: no piece is longer than asked for, none is kept."""
    monkeypatch.setattr(engine_of_duckdb, "BATCH", 3000)
    duck.connection.execute("CREATE TABLE pieces AS SELECT range + 0.5e0 AS x FROM range(20000)")
    engine = open_table(duck.connection, ["x", "x + 1"], table="pieces")
    stream = engine.backend._session.stream('SELECT x FROM "pieces"', ["double"])
    lengths, kept = [], None
    for (piece,) in stream:
        assert kept is None or kept() is None
        lengths.append(len(piece))
        kept = weakref.ref(piece)
        del piece
    assert sum(lengths) == 20_000
    assert max(lengths) <= 3000
    engine.close()
