"""Several columns, persons and groups of a database: the integers of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tametail.engines.open import open_groups, open_table
from tametail.errors import ColumnError
from tametail.keys import parse_keys
from tametail.queries.column import ClippedSum, Count, DistanceSum, Lattice, Median, TailNodes
from tametail.queries.groups import Cells, KeyCounts, Keyed
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows
from tametail.queries.rows import Ball, BallLevels, BallSum, ColumnMedians, Distances, Rows

from .conftest import hostile
from .test_column import same

TYPES = {"x": "double", "y": "integer", "who": "text", "at": "integer", "state": "text",
         "year": "integer", "flag": "boolean"}  # fmt: skip


def rows(size=1500):
    rng = np.random.default_rng(3)
    cells = [None if x is None or np.isnan(x) else x for x in hostile(2 * size)[:size]]
    names = ["Ann", "ann", "Bob", "Bób", "", "a'b\\", None, "Ann "]
    return {
        "x": cells,
        "y": [None if i % 13 == 0 else int(v) for i, v in enumerate(rng.integers(-50, 50, size))],
        "who": [names[i] for i in rng.integers(0, len(names), size)],
        "at": [None if i % 29 == 0 else int(v) for i, v in enumerate(rng.integers(0, 9, size))],
        "state": [["CA", "NY", "ca", None, "TX", "C"][i] for i in rng.integers(0, 6, size)],
        "year": [[2013, 2014, None, -1][i] for i in rng.integers(0, 4, size)],
        "flag": [[True, False, None][i] for i in rng.integers(0, 3, size)],
    }


@pytest.fixture(scope="module")
def made():
    return rows()


@pytest.fixture(scope="module")
def memory(made):
    return pa.table(made)


COLUMN = [
    Count(), TailNodes(1.0, -1022, 1023, counted=True), Median(0, -np.inf, np.inf),
    DistanceSum(0.0, Lattice(-8, -256, 0, 768), 3), ClippedSum(Lattice(-3, -900, 4, 900), 2),
    Cells((-1.0, 5.0)),
]  # fmt: skip
BALL = Ball((0.0, 1.0), (1.0, 0.5), (1, 30, 1000), order=2)
TABLE = [
    Rows(), ColumnMedians(0, ((-np.inf, np.inf),) * 2),
    Distances((0.0, 1.0), ((0.5, 2.0, 1e4),) * 2, 3, (1, 1, 1, 1)),
    BallLevels(BALL, 3, (1, 1, 1, 1)), BallSum(BALL, 1, 5, 3),
]  # fmt: skip


def check(engine, expected, queries):
    for query in queries:
        assert same(engine.answer(query), expected.answer(query)), query


class TestSeveralColumns:
    def test_rows(self, any_database, made, memory):
        engine = open_table(columns=["x", "y"], **any_database.make(made, TYPES))
        expected = open_table(memory, ["x", "y"])
        check(engine, expected, TABLE)
        assert engine.size == expected.size == len(memory)
        for index in (0, 1):
            check(engine.column(index), expected.column(index), COLUMN)
        assert "stream" in engine.reading
        engine.close()


class TestPersons:
    @pytest.mark.parametrize("person", ["who", "at", ["who", "at"]], ids=str)
    @pytest.mark.parametrize("where", [None, "y > 0"])
    def test_views(self, any_database, made, memory, person, where):
        source = any_database.make(made, TYPES)
        engine = open_table(columns="x", person=person, where=where, **source)
        expected = open_table(memory, "x", person=person, where=where)
        assert engine.size == expected.size
        check(engine, expected, COLUMN)
        for view in (PersonMean(), PersonRows(), PersonResidual(-1.5), PersonResidual(1e300)):
            check(engine.view(view), expected.view(view), COLUMN)
        engine.close()

    def test_several_columns(self, any_database, made, memory):
        source = any_database.make(made, TYPES)
        engine = open_table(columns=["x", "y"], person="who", **source)
        expected = open_table(memory, ["x", "y"], person="who")
        check(engine, expected, TABLE)
        check(engine.view(PersonMean(1)), expected.view(PersonMean(1)), COLUMN)
        engine.close()

    def test_texts_are_compared_by_their_bytes_whatever_the_collation(self, postgres, made):
        """The statement says so, also on servers that have no collation to try it with."""
        source = postgres.make(made, TYPES)
        engine = open_table(columns="x", person=["who", "at"], **source)
        assert engine._ids == ['CAST("who" AS text) COLLATE "C"', '"at"']
        engine.close()

    def test_ids_are_compared_by_their_bytes(self, postgres):
        """A collation may take two names for one; persons are who they are by their bytes."""
        made = postgres.make({"x": [1.0, 2.0], "who": ["Ann", "ANN"]}, TYPES)
        collation = f"any_case_{made['table']}"
        try:
            postgres.connection.execute(
                f"CREATE COLLATION {collation} "
                "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            )
        except Exception:
            pytest.skip("the server has no ICU")
        postgres.connection.execute(
            f"ALTER TABLE {made['table']} ALTER who TYPE text COLLATE {collation}"
        )
        engine = open_table(columns="x", person="who", **made)
        assert engine.size == 2
        assert engine.answer(Count())[0] == 2
        engine.close()
        keys = parse_keys(["Ann"], 1)
        groups = open_groups(columns="x", by=["who"], keys=keys, **made)
        assert groups.grouped(keys, other=False).answer(Count())[0] == 1
        groups.close()

    def test_floats_name_nobody(self, database, made):
        with pytest.raises(ColumnError, match="compared exactly"):
            open_table(columns="y", person="x", **database.make(made, TYPES))


KEYS = {
    ("state",): ["NY", "CA", "", "ca", "no'b\\ody"],
    ("year",): [2014, -1, 5],
    ("flag",): [True, False],
    ("state", "year"): [("CA", 2013), ("CA", -1), ("TX", 2014)],
}


class TestGroups:
    @pytest.mark.parametrize("by", KEYS, ids=str)
    @pytest.mark.parametrize("other", [False, True])
    def test_keys(self, any_database, made, memory, by, other):
        if any_database.kind == "sqlite" and by == ("flag",):
            pytest.skip("SQLite has no truth values")
        keys = parse_keys(KEYS[by], len(by))
        source = any_database.make(made, TYPES)
        groups = [
            open_groups(columns="x", by=by, keys=keys, where="y > -40", **source),
            open_groups(memory, "x", by, keys, where="y > -40"),
        ]
        assert groups[0].answer(KeyCounts()) == groups[1].answer(KeyCounts())
        engine, expected = (group.grouped(keys, other=other) for group in groups)
        check(engine, expected, [*COLUMN, Rows()])
        count = len(keys) + other
        parts = [
            (Cells((-1.0, 5.0)),) * count,
            tuple(ClippedSum(Lattice(k - 3, -50, k, 60), k % 2) for k in range(count)),
            (Count(),) * count,
            tuple(TailNodes(float(k), -9, 9) for k in range(count)),
        ]
        check(engine, expected, map(Keyed, parts))
        for places in ([0], [count - 1], [1, 0], list(range(count))[::-1]):
            check(engine.keys(places), expected.keys(places), COLUMN)
            asked = Keyed(tuple(Cells((0.0, float(p))) for p in places))
            check(engine.keys(places), expected.keys(places), [asked])
        groups[0].close()

    def test_many_groups_alone_are_read_once(self, database, made, memory):
        keys = parse_keys(range(9), 1)
        source = database.make(made, TYPES)
        groups = [
            open_groups(columns="x", by=["at"], keys=keys, **source),
            open_groups(memory, "x", ["at"], keys),
        ]
        engine, expected = (group.grouped(keys, other=False) for group in groups)
        alone = [engine.keys([place]) for place in range(9)]
        for place in range(9):
            check(alone[place], expected.keys([place]), COLUMN)
        assert "engine" in vars(engine._shared)
        groups[0].close()

    def test_several_columns(self, any_database, made, memory):
        keys = parse_keys(["CA", "NY"], 1)
        source = any_database.make(made, TYPES)
        groups = [
            open_groups(columns=["x", "y"], by=["state"], keys=keys, **source),
            open_groups(memory, ["x", "y"], ["state"], keys),
        ]
        engine, expected = (group.grouped(keys, other=True) for group in groups)
        check(engine, expected, [Rows()])
        for index in (0, 1):
            check(engine.column(index), expected.column(index), COLUMN)
            asked = Keyed((Cells((0.0, 9.0)),) * 3)
            check(engine.column(index), expected.column(index), [asked])
        groups[0].close()

    def test_floats_are_no_keys(self, database, made):
        with pytest.raises(ColumnError, match="compared exactly"):
            open_groups(columns="y", by=["x"], **database.make(made, TYPES))
