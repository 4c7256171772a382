"""What goes wrong is said in our own words, with what it has cost, and nothing of the data."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from urllib.parse import quote, urlsplit

import duckdb
import numpy as np
import pytest

import tametail as tt
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.queries.column import Count, LogHistogram, Median

from ..opened import open_table  # noqa: TID252
from .conftest import sampled

SPENT, NOT_SPENT = "is spent", "No budget was spent"
ROWS = 400


@pytest.fixture
def table(postgres):
    made = postgres.make({"x": [float(i) for i in range(ROWS)]}, {"x": "double"})
    return made["table"]


@pytest.fixture
def view(postgres, table):
    """Make a view of the table with another column for x."""

    def make(column, more=""):
        name = f"{table}_view"
        chosen = f"SELECT {column} FROM {table}{more}"
        postgres.connection.execute(f"CREATE OR REPLACE VIEW {name} AS {chosen}")
        return name

    return make


def everything_said(error):
    return "".join(traceback.format_exception(error))


def mean(data, table, **more):
    return tt.mean(data, "x", table=table, epsilon=1, **more)


def with_option(address, option):
    mark = "&" if "?" in address else "?"
    return f"{address}{mark}options={quote(option)}"


class TestServer:
    def test_a_release_in_the_database(self, postgres, table):
        release = mean(postgres.address, table)
        assert tt.replay(release.plan, release.answers) == release
        assert "PostgreSQL" in str(release.plan)

    def test_the_right_to_read_is_enough(self, postgres, table):
        role = f"reader_{table}"
        postgres.connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
        address = urlsplit(postgres.address)
        theirs = address._replace(netloc=f"{role}:x@{address.netloc.rpartition('@')[2]}").geturl()
        with pytest.raises(DataError, match="may not read") as caught:
            mean(theirs, table)
        assert NOT_SPENT in str(caught.value)
        postgres.connection.execute(f"GRANT SELECT ON {table} TO {role}")
        assert mean(theirs, table, person=None).guarantee.epsilon == 1
        postgres.connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")

    def test_a_server_that_is_not_there(self):
        word = "sec" + "ret"  # a traceback shows lines of the source
        address = f"postgresql://zoe:{word}@localhost:1/db?password={word}2"
        with pytest.raises(DataError, match=r"postgresql://localhost:1/db cannot be") as caught:
            mean(address, "t")
        assert NOT_SPENT in str(caught.value)
        assert word not in everything_said(caught.value)
        assert "zoe" not in str(caught.value)

    def test_a_statement_that_takes_too_long(self, postgres, view):
        slow = with_option(postgres.address, "-cstatement_timeout=2000")
        with pytest.raises(DataError, match="statement_timeout") as caught:
            mean(slow, view("x + length(pg_sleep(0.2)::text) AS x"))
        assert SPENT in str(caught.value)

    @pytest.mark.parametrize(
        ("function", "said"), [("cancel", "canceled"), ("terminate", "closed the connection")]
    )
    def test_others_end_it(self, postgres, view, function, said):
        name = view("x + length(pg_sleep(0.2)::text) AS x")
        end = threading.Thread(target=_end_soon, args=(postgres, name, function))
        end.start()
        with pytest.raises(DataError, match=said) as caught:
            mean(postgres.address, name)
        end.join()
        assert SPENT in str(caught.value)

    def test_a_record_that_makes_a_view_fail_is_not_quoted(self, postgres, view):
        name = view("CAST('SECRET' || x AS float8) AS x")
        with pytest.raises(DataError, match="could not compute an answer") as caught:
            mean(postgres.address, name)
        assert SPENT in str(caught.value)
        assert "SECRET" not in everything_said(caught.value)

    def test_a_view_that_changes_is_noticed(self, postgres, view):
        from tametail.data.sql.backend import CHANGES

        name = view("x", ", generate_series(1, 1 + (random() * 9)::int)")
        engine = open_table(postgres.address, "x", table=name)

        def ask_often():
            for _ in range(60):
                engine.answer(Median(1, -np.inf, np.inf))

        with pytest.raises(DataError) as caught:
            ask_often()
        assert str(caught.value) == CHANGES
        engine.close()

    def test_names_are_quoted(self, postgres, table):
        odd = f'{table}; "DROP'
        postgres.connection.execute(
            'CREATE TABLE "{}" AS SELECT x AS "x "" %s ;" FROM {}'.format(
                odd.replace('"', '""'), table
            )
        )
        quoted = '"{}"'.format(odd.replace('"', '""'))
        release = tt.mean(postgres.address, 'x " %s ;', table=quoted, epsilon=1)
        assert release.guarantee.epsilon == 1

    def test_what_is_not_there(self, postgres, table):
        with pytest.raises(DataError, match=f"Did you mean table='{table}'"):
            mean(postgres.address, table + "x")
        with pytest.raises(ColumnError, match="No column 'y'"):
            tt.mean(postgres.address, "y", table=table, epsilon=1)
        with pytest.raises(ParameterError, match="Add the table"):
            tt.mean(postgres.address, "x", epsilon=1)
        with pytest.raises(ParameterError, match="Invalid table="):
            mean(postgres.address, "a.b.c.d")

    def test_one_snapshot_for_all_questions(self, postgres, table):
        engine = open_table(postgres.address, "x", table=table)
        assert engine.answer(Count())[0] == ROWS
        postgres.connection.execute(f"INSERT INTO {table} SELECT 1e9 FROM generate_series(1, 50)")
        nodes = LogHistogram(0.0, 20, 40, counted=True)
        assert engine.answer(nodes)[-1] == 32 * ROWS
        assert len(sampled(engine, 0)) == engine.size == ROWS
        engine.close()

    @pytest.mark.parametrize("kind", ["plain", "parent", "partitioned"])
    def test_tables_that_others_attach_do_not_show_in_a_release(self, postgres, table, kind):
        """A server looks up what inherits from a table for each question, whatever the snapshot."""
        do, known = postgres.connection.execute, 0 if kind == "plain" else ROWS
        rows = f"SELECT 5.0 FROM generate_series(1, {ROWS})"
        name, child, later = (f"{table}_{word}" for word in ("top", "child", "later"))
        by = " PARTITION BY LIST (x)" if kind == "partitioned" else ""
        do(f"CREATE TABLE {name} (x float8){by}")
        for one in (child, later):
            do(f"CREATE TABLE {one} (x float8)")
        do(f"INSERT INTO {later} {rows}")
        attach = (
            f"ALTER TABLE {name} ATTACH PARTITION {{}} FOR VALUES IN ({{}})"
            if kind == "partitioned"
            else f"ALTER TABLE {{}} INHERIT {name}"
        )
        if known:
            do(f"INSERT INTO {child} SELECT 7.0 FROM generate_series(1, {ROWS})")
            do(attach.format(child, 7))
        own = 0 if kind == "partitioned" else ROWS
        if own:
            do(f"INSERT INTO {name} {rows}")
        engine = open_table(postgres.address, "x", table=name)
        assert engine.answer(Count())[0] == own + known
        do(attach.format(later, 5))
        assert do(f"SELECT count(*) FROM {name}").fetchone() == (own + known + ROWS,)
        nodes = LogHistogram(0.0, 0, 9, counted=True)
        assert engine.answer(nodes)[-1] == 32 * (own + known)
        assert len(sampled(engine, 0)) == engine.size == own + known
        engine.close()
        do(f"DROP TABLE {name} CASCADE")

    def test_rows_of_two_tables_have_a_coin_each(self, postgres, table):
        """Those of a parent and of a child may lie at the same place in their files."""
        do, child = postgres.connection.execute, f"{table}_twin"
        do(f"CREATE TABLE {child} () INHERITS ({table})")
        do(f"INSERT INTO {child} SELECT 1000000 + x FROM ONLY {table}")
        engine = open_table(postgres.address, "x", table=table)
        found = {float(x) for x in sampled(engine, 1)}
        pairs = sum((x in found) == (1_000_000 + x in found) for x in range(ROWS))
        assert abs(pairs - ROWS / 2) < 7 * ROWS**0.5 / 2  # exceeded once in 1e11 times
        engine.close()
        do(f"DROP TABLE {child}")

    def test_a_column_that_is_computed_when_it_is_read_is_refused(self, postgres):
        """One record could make it fail: a sentence that depends on that record."""
        if postgres.connection.info.server_version < 180000:
            pytest.skip("virtual generated columns come with PostgreSQL 18")
        made = postgres.make({"x": [1.0, 0.0] * ROWS}, {"x": "double"})["table"]
        for kind, name in (("VIRTUAL", "inverse"), ("STORED", "twice")):
            value = "1 / x" if kind == "VIRTUAL" else "2 * x"
            added = f"{name} float8 GENERATED ALWAYS AS ({value}) {kind}"
            postgres.connection.execute(f"ALTER TABLE {made} ADD COLUMN {added}")
        for more in ({"columns": "inverse"}, {"columns": "x", "where": "inverse > 0"}):
            with pytest.raises(ColumnError, match="virtual column"):
                open_table(postgres.address, table=made, **more)
        for column in ("x", "twice"):
            engine = open_table(postgres.address, column, table=made)
            assert engine.answer(Count())[0] == 2 * ROWS
            engine.close()

    def test_statements_hold_nothing_of_the_data(self, postgres):
        """The same questions about other records are the same texts, but for coins."""
        found = []
        for numbers in ([1.0, 2.0, 3.0], [1e300, None, -5e-324]):
            made = postgres.make({"x": numbers, "who": ["a", "b", "c"]},
                                 {"x": "double", "who": "text"})  # fmt: skip
            for person in (None, "who"):
                engine = open_table(columns="x", person=person, **made)
                texts, ask = [], engine.backend._session.rows
                engine.backend._session.rows = lambda text, ask=ask, kept=texts: (
                    kept.append(text) or ask(text)
                )
                for query in (Count(), LogHistogram(1.0, -9, 9), Median(0, -1.0, 9.0)):
                    engine.answer(query)
                found.append([text.replace(made["table"], "t") for text in texts])
                engine.backend._session.rows = ask
                engine.close()
        assert found[:2] == found[2:]


def _end_soon(postgres, name, function):
    import psycopg

    with psycopg.connect(postgres.address, autocommit=True) as other:
        for _ in range(30_000):
            time.sleep(0.02)
            ended = other.execute(
                f"SELECT pg_{function}_backend(pid) FROM pg_stat_activity "
                f"WHERE query LIKE '%count(*)%{name}%' AND pid <> pg_backend_pid() "
                "AND state = 'active'"
            ).fetchall()
            if ended:
                return


class TestConnection:
    @pytest.fixture
    def connection(self, postgres):
        import psycopg

        with psycopg.connect(postgres.address) as connection:
            yield connection

    @pytest.mark.parametrize("autocommit", [False, True])
    def test_it_is_left_as_it_was(self, connection, table, autocommit):
        connection.autocommit = autocommit
        assert mean(connection, table).guarantee.epsilon == 1
        assert connection.autocommit == autocommit
        assert connection.info.transaction_status.name == "IDLE"

    @pytest.mark.parametrize("several", [False, True])
    def test_rows_that_a_connection_makes_its_own_way(self, postgres, table, several):
        import psycopg

        rows, cursors = psycopg.rows.dict_row, psycopg.ClientCursor
        with psycopg.connect(
            postgres.address, row_factory=rows, cursor_factory=cursors
        ) as connection:
            columns = ["x", "x + 1"] if several else "x"
            release = tt.mean(connection, columns, table=table, rho=1)
            assert tt.replay(release.plan, release.answers) == release
            assert connection.execute("SELECT 1 AS one").fetchone() == {"one": 1}

    def test_it_sees_its_own_transaction_which_goes_on(self, connection, table):
        import psycopg

        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute(f"INSERT INTO {table} SELECT 5 FROM generate_series(1, 100)")
        engine = open_table(connection, "x", table=table)
        assert engine.answer(Count())[0] == ROWS + 100
        engine.close()
        assert connection.info.transaction_status.name == "INTRANS"
        with pytest.raises(DataError, match="No table"):
            mean(connection, "nowhere")
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (ROWS + 100,)

    def test_a_transaction_without_a_snapshot_is_refused(self, connection, table):
        connection.execute("SELECT 1")
        with pytest.raises(ParameterError, match="repeatable read"):
            mean(connection, table)
        assert connection.execute("SELECT 1").fetchone() == (1,)

    def test_a_failed_transaction_is_named(self, connection, table):
        import psycopg

        with pytest.raises(psycopg.Error):
            connection.execute("SELECT nothing")
        with pytest.raises(DataError, match="busy, failed or closed"):
            mean(connection, table)


class TestDuckDB:
    @pytest.mark.skipif(
        duckdb.__version__ < "2", reason="DuckDB gives up the unfinished result without a word"
    )
    def test_a_busy_connection_is_named(self, duck):
        made = duck.make({"x": [1.0, 2.0]}, {"x": "double"})
        relation = duck.connection.table(made["table"])
        duck.connection.execute("SELECT * FROM range(100000)").fetchone()
        with pytest.raises(DataError, match="has an unfinished result") as caught:
            tt.mean(relation, "x", epsilon=1)
        assert NOT_SPENT in str(caught.value)
        # A table is read through a cursor of our own.
        assert tt.mean(**made, column="x", epsilon=1).guarantee.epsilon == 1
        duck.connection.fetchall()

    def test_one_snapshot_for_all_questions(self, duck):
        made = duck.make({"x": [1.0, 2.0]}, {"x": "double"})
        engines = [
            open_table(columns="x", **made),
            open_table(duck.connection.table(made["table"]), "x"),
        ]
        with duck.connection.cursor() as other:
            other.execute(f"INSERT INTO {made['table']} VALUES (3), (4)")
        for engine in engines:
            assert engine.answer(Count())[0] == 2
            assert engine.answer(LogHistogram(0.0, -3, 3, counted=True))[-1] == 64
            engine.close()
        assert duck.connection.execute(f"SELECT count(*) FROM {made['table']}").fetchall() == [(4,)]

    def test_a_file_that_another_process_has_open(self, tmp_path):
        duckdb = pytest.importorskip("duckdb")
        path = tmp_path / "claims.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE claims AS SELECT 1.0::DOUBLE AS x")
        script = (
            "import duckdb, sys\n"
            f"with duckdb.connect({str(path)!r}):\n    print('open', flush=True)\n    input()\n"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            other.stdout.readline()
            with pytest.raises(DataError, match="no other process is writing") as caught:
                mean(str(path), "claims")
            assert NOT_SPENT in str(caught.value)
        finally:
            other.communicate(b"\n")
        assert mean(str(path), "claims").guarantee.epsilon == 1

    def test_what_is_no_database(self, tmp_path):
        path = tmp_path / "claims.db"
        path.write_text("SECRET")
        with pytest.raises(DataError, match="neither a DuckDB nor a SQLite file") as caught:
            mean(path, "claims")
        assert "SECRET" not in everything_said(caught.value)
        with pytest.raises(DataError, match="Check the path"):
            mean(tmp_path / "nowhere.db", "claims")


class TestSQLite:
    def test_cells_of_any_kind_raise_nothing(self, tmp_path):
        path = tmp_path / "claims.sqlite"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE claims (x REAL, who TEXT)")
            cells = [1.5, 2, None, "3", "n/a", b"\xff", 2**62, float("inf")]
            connection.executemany("INSERT INTO claims VALUES (?, 'a')", [(c,) for c in cells])
            no_text = "CAST(X'ff' AS TEXT), CAST(X'fe' AS TEXT)"
            connection.execute(f"INSERT INTO claims VALUES ({no_text})")
        connection.close()
        engine = open_table(path, "x", table="claims")
        # A column that is declared REAL has made a number of "3".
        assert engine.answer(Count())[0] == 5
        engine.close()
        engine = open_table(path, "x", person="who", table="claims")
        assert engine.size == 2
        engine.close()

    def test_nothing_is_written_or_made(self, tmp_path):
        with pytest.raises(DataError):
            mean(tmp_path / "new.sqlite", "claims")
        assert not os.listdir(tmp_path)


class TestLedger:
    def test_the_same_table_under_a_second_name_is_refused(self, postgres, table, tmp_path):
        ledger = tt.Ledger(tmp_path / "office.ledger")
        for name in ("claims", "others"):
            ledger.create(name, tt.pure(3))
        first = mean(postgres.address, table, ledger=ledger, dataset="claims")
        assert first.guarantee.epsilon == 1
        with pytest.raises(tt.errors.BudgetError, match="claims"):
            mean(postgres.address, f"public.{table}", ledger=ledger, dataset="others")
        written = (tmp_path / "office.ledger").read_bytes()
        assert f"#{table}".encode() in written
        password = urlsplit(postgres.address).password
        assert not password or password.encode() not in written

    def test_a_failure_before_the_charge_costs_nothing(self, postgres, table, tmp_path):
        ledger = tt.Ledger(tmp_path / "office.ledger")
        ledger.create("claims", tt.pure(1))
        with pytest.raises(DataError):
            mean(postgres.address, table + "x", ledger=ledger, dataset="claims")
        assert mean(postgres.address, table, ledger=ledger, dataset="claims").guarantee.epsilon == 1


def test_a_view_that_cannot_be_opened_says_nothing_of_its_file(tmp_path):
    """DuckDB looks into a CSV file again when a view of it is used, and quotes what it finds."""
    path, connection = tmp_path / "x.csv", duckdb.connect()
    path.write_text("x,k\n1,a\n")
    columns = "columns={'x': 'DOUBLE', 'k': 'VARCHAR'}"
    connection.execute(f"CREATE VIEW csv AS SELECT * FROM read_csv('{path}', {columns})")
    connection.execute("CREATE TABLE gone (x DOUBLE)")
    connection.execute("CREATE VIEW lost AS SELECT x AS x FROM gone")
    connection.execute("DROP TABLE gone")
    path.write_text("x,k\n1,a\nplanted,q,r,s\n")
    for name in ("csv", "lost"):
        with pytest.raises(DataError, match="gave no answer") as caught:
            mean(connection, name)
        said = everything_said(caught.value)
        assert NOT_SPENT in said
        assert not any(word in said for word in ("planted", "sniff", "Catalog", "gone"))


def test_a_forgotten_session_of_a_relation_ends_no_other_transaction():
    """Once it did when it was collected, and its relation took the place of the one being read."""
    connection = duckdb.connect()
    other = open_table(connection.sql("SELECT 1.0 AS y"), "y")
    connection.rollback()
    engine = open_table(connection.sql("SELECT range * 1.0 AS x FROM range(100)"), "x")
    number = connection.sql("SELECT txid_current()").fetchall()
    del other
    gc.collect()
    assert connection.sql("SELECT txid_current()").fetchall() == number
    assert engine.answer(Count())[0] == 100
    engine.close()


def test_two_sessions_of_one_connection_read_what_is_theirs():
    connection = duckdb.connect()
    one, hundred = (
        open_table(connection.sql(f"SELECT 1.0 AS x FROM range({size})"), "x") for size in (1, 100)
    )
    for _ in range(2):
        assert one.answer(Count())[0] == 1
        assert hundred.answer(Count())[0] == 100
    one.close()
