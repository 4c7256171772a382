"""Tables of Ibis: asked in their own database, with the integers of memory, or refused."""

from __future__ import annotations

import sqlite3

import pyarrow as pa
import pytest

import tametail as tt
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.queries.column import Count
from tametail.queries.persons import PersonMean

from ..backends.cases import CASES, dataset  # noqa: TID252
from ..backends.places import Postgres, sqlite  # noqa: TID252
from ..backends.questions import canonical  # noqa: TID252
from ..opened import open_table  # noqa: TID252
from ..spark import local_session, on_spark  # noqa: TID252

ibis = pytest.importorskip("ibis")

# Ibis calls what newer libraries deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

#: One case each of columns, conditions, persons, groups, and persons in groups.
ASKED = (
    "one column", "x / y where None", "three columns", "persons by who and at",
    "groups by state and year and all others", "persons in groups", "keys of persons",
)  # fmt: skip
ROWS = {"x": [1.0, 2.0, 3.0, None] * 500, "who": list(range(500)) * 4, "state": ["CA", "NY"] * 1000}


def of_duckdb(data, request):
    connection = ibis.duckdb.connect()
    connection.con.register("given", data.table)
    connection.con.execute("CREATE TABLE records AS SELECT * FROM given")
    return connection.table("records")


def of_sqlite(data, request):
    place = sqlite(data, None)
    # The place has the name in quotes, for SQL; Ibis quotes names itself.
    return ibis.sqlite.from_connection(place["data"]).table(place["table"].strip('"'))


def of_postgres(data, request):
    server = Postgres(request.getfixturevalue("server"))
    request.addfinalizer(server.connection.close)
    name = server.table(data, None)["table"]
    return ibis.postgres.from_connection(server.connection).table(name)


PLACES = {"DuckDB": of_duckdb, "SQLite": of_sqlite, "PostgreSQL": of_postgres}


@pytest.mark.parametrize("place", PLACES)
def test_every_answer_is_that_of_memory(place, request):
    data = dataset("hostile")
    table = PLACES[place](data, request)
    shifted = table.mutate(z=table.z + 1).filter(table.y.isnull() | (table.y > -40))
    here = pa.table(data.table)
    kept = [y is None or y > -40 for y in data.columns["second"]]
    here = here.filter(pa.array(kept))
    here = here.set_column(2, "z", pa.array([z + 1 for z in here["z"].to_pylist()], pa.float64()))
    for case in CASES:
        if case.name not in ASKED:
            continue
        found, wanted = (case.open({"data": one}) for one in (shifted, here))
        for ask in {type(ask.query): ask for ask in case.asks}.values():  # one of a kind
            assert canonical(ask.of(found[1])) == canonical(ask.of(wanted[1])), (case.name, ask)
        found[0].close()


@pytest.fixture
def claims():
    connection = ibis.duckdb.connect()
    connection.con.register("given", pa.table(ROWS))
    connection.con.execute("CREATE TABLE claims AS SELECT * FROM given")
    return connection.table("claims")


def test_a_release_of_a_table(claims):
    assert abs(tt.mean(claims, "x", epsilon=5).value - 2) < 0.2
    assert abs(tt.mean(claims, "x", epsilon=5, person="who").value - 2) < 0.3
    assert tt.mean(claims, "x", epsilon=5, by="state", keys=["CA", "NY"]).value.shape == (2,)
    with pytest.raises(ColumnError):
        tt.mean(claims, "y", epsilon=1)
    with pytest.raises(ParameterError, match="Remove it"):
        tt.mean(claims, "x", epsilon=1, table="claims")


@pytest.mark.parametrize("place", PLACES)
def test_a_view_goes_when_the_release_is_made(place, request):
    table = PLACES[place](dataset("hostile"), request)
    tt.mean(table, "z", epsilon=1)
    with pytest.raises(ColumnError):
        tt.mean(table, "nothing", epsilon=1)
    connection = table.get_backend()
    if place == "SQLite":
        assert connection.con.execute("SELECT count(*) FROM sqlite_temp_master").fetchone() == (0,)
    if place == "PostgreSQL":
        left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'tametail_ibis%'"
        assert connection.con.execute(left).fetchone() == (0,)
        assert connection.con.info.transaction_status.name == "IDLE"


def test_a_ledger_knows_the_table_behind_it(tmp_path):
    connection = sqlite3.connect(tmp_path / "claims.db")
    connection.execute("CREATE TABLE claims (x REAL)")
    connection.executemany("INSERT INTO claims VALUES (?)", [(float(x),) for x in range(1000)])
    connection.commit()
    ledger = tt.Ledger(tmp_path / "office.ledger")
    for name in ("a", "b"):
        ledger.create(name, tt.pure(3))
    table = ibis.sqlite.from_connection(connection).table("claims")
    for _ in range(2):  # a view of another name each time
        tt.mean(table.filter(table.x > 10), "x", epsilon=1, ledger=ledger, dataset="a")
    with pytest.raises(tt.errors.BudgetError):
        tt.mean(table, "x", epsilon=1, ledger=ledger, dataset="b")
    with pytest.raises(tt.errors.BudgetError):
        tt.mean(tmp_path / "claims.db", "x", table="claims", epsilon=1, ledger=ledger, dataset="b")
    connection.close()


def test_tables_without_a_database_of_ours_are_refused(claims, monkeypatch):
    unbound = ibis.table({"x": "float"}, name="nowhere")
    with pytest.raises(ParameterError, match=r"no connection of its own.*to_pyarrow"):
        tt.mean(unbound, "x", epsilon=1)
    monkeypatch.setattr(type(claims.get_backend()), "name", "snowflake")
    with pytest.raises(ParameterError, match=r"snowflake are not supported. Those of duckdb, post"):
        tt.mean(claims, "x", epsilon=1)


def test_what_cannot_be_computed_is_refused_without_the_words_of_the_database(claims):
    claims.get_backend().con.execute("DROP TABLE claims")
    with pytest.raises(DataError, match="cannot be asked in its database") as caught:
        tt.mean(claims, "x", epsilon=1)
    causes = [caught.value.__cause__, caught.value.__context__]
    assert all(isinstance(one, DataError) or one is None for one in causes)
    assert "claims" not in f"{caught.value}{causes}"


@on_spark
def test_a_table_on_spark():
    spark = local_session()
    frame = spark.sql("SELECT double(id % 101) AS x, id % 500 AS who FROM range(20000)")
    frame.createOrReplaceTempView("tametail_test_claims")
    table = ibis.pyspark.connect(spark).table("tametail_test_claims")
    for data in (table, frame):
        opened = open_table(data.filter(data.x > 50), "x", person="who")
        assert opened.view(PersonMean()).answer(Count()) == (500, 0, 0)
        opened.close()
    assert abs(tt.mean(table, "x", epsilon=5).value - 50) < 5
    spark.catalog.dropTempView("tametail_test_claims")
