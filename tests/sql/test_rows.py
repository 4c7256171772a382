"""Persons and groups of a database: who is who, what is refused, and how often rows are read.

That answers are those of memory is the table of ``tests/backends``.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from tametail.errors import ColumnError, InternalError
from tametail.keys import parse_keys
from tametail.queries.column import Count, LogHistogram, Median
from tametail.queries.groups import Cells, KeyCounts, Keyed

from ..opened import open_groups, open_table  # noqa: TID252

TYPES = {"x": "double", "who": "text", "at": "integer", "state": "text"}


def test_texts_are_compared_by_their_bytes_whatever_the_collation(postgres):
    """The statement says so, also on servers that have no collation to try it with."""
    made = postgres.make({"x": [1.0], "who": ["Ann"], "at": [1], "state": ["CA"]}, TYPES)
    opened = open_groups(columns="x", by=["state"], person=["who", "at"], **made)
    text = opened.backend._compiler.records(opened.relation, [0], ids=True)
    assert 'CAST("who" AS text) COLLATE "C" AS p0, CAST("at" AS bigint) AS p1' in text
    assert 'CAST("state" AS text) COLLATE "C" AS k0' in text
    opened.close()


def test_ids_are_compared_by_their_bytes(postgres):
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


def test_floats_name_neither_persons_nor_groups(database):
    made = database.make({"x": [1.0], "at": [1]}, TYPES)
    with pytest.raises(ColumnError, match="compared exactly"):
        open_table(columns="at", person="x", **made)
    with pytest.raises(ColumnError, match="compared exactly"):
        open_groups(columns="at", by=["x"], **made)


def test_rows_have_no_positions(any_database):
    """Two parts by position would share the budget, and each be about all rows."""
    made = any_database.make({"x": [1.0, 2.0], "who": ["a", "b"]}, TYPES)
    for person in (None, "who"):
        engine = open_table(columns="x", person=person, **made)
        if any_database.kind == "sqlite" and person is None:  # its rows are read here, in order
            assert engine.rows(0, 1).answer(Count())[0] == 1
        else:
            with pytest.raises(InternalError, match="no positions"):
                engine.rows(0, 1).answer(Count())
        engine.close()


class TestManyGroups:
    """Questions about many groups are one journey, or one reading of the rows."""

    KEYS = parse_keys(range(9), 1)

    @pytest.fixture
    def opened(self, database):
        cells = {"x": [float(i) for i in range(400)], "at": [i % 11 for i in range(400)]}
        opened = open_groups(columns="x", by=["at"], keys=self.KEYS, **database.make(cells, TYPES))
        yield opened
        opened.close()

    @pytest.fixture
    def asked(self, opened, monkeypatch):
        """Return what is asked for, as it is asked."""
        texts, session = [], opened.backend._session
        for name in ("rows", "stream"):
            kept = getattr(session, name)
            monkeypatch.setattr(
                session,
                name,
                lambda text, *more, kept=kept: texts.append(text) or kept(text, *more),
            )
        return texts

    def test_together(self, opened, asked):
        engine = opened.grouped(self.KEYS, other=False)
        for part in (Cells((0.0, 9.0)), Count(), LogHistogram(3.0, -9, 9), Median(0, 0.0, 900.0)):
            counted = len(asked)
            assert len(engine.answer(Keyed((part,) * 9))) == 9
            assert len(asked) <= counted + (1 if asked[:counted] else 2)

    def test_alone(self, opened, asked):
        """One by one, the groups of a database in this process are read from memory."""
        engine = opened.grouped(self.KEYS, other=False)
        for place in range(9):
            assert engine.keys([place]).answer(Count()) == (37 if place < 4 else 36, 0, 0)
        in_process = opened.backend._session.in_process
        assert len(asked) == (2 if in_process else 9)  # how many rows there are, and the rows


def test_a_key_with_the_character_0_is_a_key_like_others(duck):
    cells = ["a\0b", "a", "a\0", "\0", "b", "a\0b"]
    columns = {"state": cells, "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    place = duck.make(columns, {"state": "text", "x": "double"})
    keys = parse_keys(["a\0b", "a", "\0"], 1)
    found = []
    for data, in_process in ((place, True), (place, False), ({"data": pa.table(columns)}, None)):
        engine = open_groups(data["data"], "x", ["state"], keys, table=data.get("table"))
        if in_process is not None:
            engine.backend._session.in_process = in_process
        count = Keyed((Count(),) * 4)
        found.append((engine.answer(KeyCounts()), engine.grouped(keys, other=True).answer(count)))
    assert found[0] == found[1] == found[2]
    assert found[0][1] == [(2, 0, 0), (1, 0, 0), (1, 0, 0), (2, 0, 0)]
