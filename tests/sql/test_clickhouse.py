"""ClickHouse by chdb: what is its own, beside the integers that tests/backends compare."""

from __future__ import annotations

import numpy as np
import pytest

import tametail as tt
from tametail.data.sql.clickhouse import ClickHouseSession, declared_type
from tametail.errors import DataError, ParameterError
from tametail.parse import Parse
from tametail.queries.column import ClippedSum, ClippingGrid, Count
from tametail.queries.groups import KeyCounts

from ..opened import open_groups, open_table  # noqa: TID252


@pytest.fixture(scope="module")
def session():
    return pytest.importorskip("chdb.session").Session()


@pytest.fixture
def run(session):
    return session.query


def test_names_of_ours_are_columns_like_others(session, run):
    run("CREATE TABLE ours (y Float64, v0 Float64, x Float64, f Int64, r Float64) ENGINE = Memory")
    run("INSERT INTO ours SELECT number, 100 + number, 1000 + number, 1, 5 FROM numbers(50)")
    opened = open_table(session, "y + v0 + x", table="ours", where="f == 1")
    total = sum(3 * place + 1100 for place in range(50))
    assert opened.answer(ClippedSum(ClippingGrid(0, -(2**20), 0, 2**20), 1)) == (total, 50)
    opened.close()


def test_types_by_their_names():
    names = ("Nullable(Float64)", "LowCardinality(Nullable(String))", "Decimal(9, 2)", "UInt64")
    assert [declared_type(name) for name in names] == ["number", "text", "decimal", "number"]
    others = ("Array(Float64)", "FixedString(3)", "Tuple(Int64)", "Map(String, Int64)", "JSON")
    assert [declared_type(name) for name in others] == [None] * 5


def test_what_is_computed_when_it_is_read_is_refused(session, run):
    run("CREATE TABLE computed (x Float64, z Int64 ALIAS intDiv(1, x)) ENGINE = Memory")
    with pytest.raises(tt.errors.ColumnError, match="'z' is neither numeric"):
        tt.mean(session, "z", table="computed", epsilon=1)


def test_views_and_tables_of_others_are_refused(session, run):
    run("CREATE TABLE plain (x Float64) ENGINE = Memory")
    run("CREATE VIEW seen AS SELECT x FROM plain")
    with pytest.raises(DataError, match="engine is View"):
        tt.mean(session, "x", table="seen", epsilon=1)
    with pytest.raises(DataError, match="Did you mean table='plain'"):
        tt.mean(session, "x", table="plaim", epsilon=1)
    with pytest.raises(ParameterError, match="parse= is not available for ClickHouse"):
        open_table(session, "x", table="plain", parse=Parse())


def test_text_of_any_bytes_neither_fails_nor_is_another(session, run):
    run("CREATE TABLE bytes (x Float64, g String, p String) ENGINE = Memory")
    run("INSERT INTO bytes VALUES (1, 'a', '\\xff'), (2, 'a', '\\xfe'), (4, '\\xff', '\\xff')")
    persons = open_table(session, "x", table="bytes", person="p")
    assert persons.answer(Count()) == (2, 0, 0)
    groups = open_groups(session, "x", ("g",), None, table="bytes")
    found = groups.answer(KeyCounts())
    assert sorted(key.cells for key in found) == [("a",), ("\udcff",)]
    persons.close()
    groups.close()


def test_a_release_leaves_the_session_as_it_was(session, run):
    run("CREATE TABLE many (x Float64, g Int64) ENGINE = MergeTree ORDER BY tuple()")
    run("INSERT INTO many SELECT intDiv(number, 40) % 100, number % 40 FROM numbers(200000)")
    limit = "SELECT getSetting('max_query_size'), getSetting('max_ast_elements')"
    before = str(run(limit))
    release = tt.mean(session, "x", table="many", by="g", keys=list(range(40)), epsilon=8)
    assert str(run(limit)) == before
    assert np.abs(release.value - 49.5).max() < 5
    with pytest.raises(DataError):
        tt.mean(session, "x", table="nothing", epsilon=1)
    assert str(run(limit)) == before


def test_a_table_in_files_has_a_place_and_one_in_memory_has_none(session, run):
    run("CREATE TABLE kept (x Float64) ENGINE = MergeTree ORDER BY tuple()")
    run("CREATE TABLE lost (x Float64) ENGINE = Memory")
    (place,) = ClickHouseSession(session, "default.kept").locators
    assert place.startswith("/")
    assert ClickHouseSession(session, "lost").locators == ()
