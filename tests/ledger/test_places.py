"""Second names for the same records: views, relations, partitions and macros of databases."""

import gzip
import io
import os
import sqlite3
from contextlib import closing

import duckdb
import pyarrow as pa
import pytest
from pyarrow import fs

import tametail as tt
from tametail.data.open import open_data
from tametail.data.sources.arrow import places_of
from tametail.errors import BudgetError, ParameterError
from tametail.ledger import Ledger

from .servers import new_schema


@pytest.fixture
def office(tmp_path):
    """A ledger in which the table was charged as "claims", and another data set has a budget."""
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1))
    ledger.create("copy", tt.pure(1))
    return ledger


def charged(office, data, dataset, **more):
    tt.mean(data, "amount", epsilon=0.01, ledger=office, dataset=dataset, **more)


def refused(office, data, **more):
    with pytest.raises(BudgetError, match="charged as dataset 'claims'"):
        charged(office, data, "copy", **more)


# SQLite


@pytest.fixture
def sqlite_file(tmp_path):
    path = tmp_path / "claims.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE claims(id INTEGER PRIMARY KEY, amount REAL, year INT);"
        "CREATE TABLE others(id TEXT PRIMARY KEY, amount REAL) WITHOUT ROWID;"
        "CREATE INDEX by_amount ON claims(amount, year);"
        "INSERT INTO claims(amount, year) VALUES (1.0, 2024), (2.0, 2025);"
        "INSERT INTO others VALUES ('a', 1.0);"
        "CREATE VIEW plain AS SELECT * FROM claims;"
        "CREATE VIEW nested AS SELECT amount + 1 AS amount FROM plain WHERE year = 2025;"
        "CREATE VIEW joined AS SELECT o.amount FROM others o JOIN nested n ON n.amount = o.amount;"
        "CREATE VIEW indexed AS SELECT amount FROM claims ORDER BY amount;"
        "CREATE VIEW never AS SELECT amount FROM others WHERE amount IN (SELECT amount FROM claims)"
        " AND amount > 1e9;"
    )
    connection.close()
    return path


@pytest.mark.parametrize("view", ["plain", "nested", "joined", "indexed", "never"])
def test_a_view_of_sqlite_lies_where_its_tables_do(office, sqlite_file, view):
    charged(office, sqlite_file, "claims", table="claims")
    refused(office, sqlite_file, table=view)
    with closing(sqlite3.connect(sqlite_file)) as connection:
        refused(office, connection, table=view)
    charged(office, sqlite_file, "copy", table="others")


def test_a_table_after_its_view(office, sqlite_file):
    charged(office, sqlite_file, "claims", table="nested")
    refused(office, sqlite_file, table="claims")
    refused(office, sqlite_file, table="plain")


def test_a_view_of_an_attached_file(office, sqlite_file, tmp_path):
    charged(office, sqlite_file, "claims", table="claims")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("ATTACH ? AS there", (str(sqlite_file),))
    other.execute("CREATE TEMP VIEW across AS SELECT * FROM there.claims")
    refused(office, other, table="temp.across")
    refused(office, other, table="there.claims")
    other.close()


# DuckDB


@pytest.fixture
def duck(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    connection = duckdb.connect(str(tmp_path / "claims.duckdb"))
    for statement in (
        "CREATE TABLE claims AS SELECT CAST(range AS DOUBLE) AS amount, 2025 AS year FROM range(9)",
        "CREATE TABLE others AS SELECT 1.0 AS amount",
        "COPY claims TO 'claims.parquet'",
        "COPY claims TO 'claims.csv'",
        "CREATE SCHEMA s",
        "CREATE VIEW plain AS SELECT * FROM claims",
        'CREATE VIEW s."odd AS name" (amount) AS SELECT amount + 1 FROM plain WHERE year = 2025',
        "CREATE VIEW never AS SELECT o.amount FROM others o WHERE o.amount > 1e9 AND o.amount IN "
        "(SELECT amount FROM CLAIMS)",
        "CREATE MACRO rows_of() AS TABLE SELECT * FROM claims",
        "CREATE MACRO most() AS (SELECT max(amount) FROM claims)",
        "CREATE VIEW v AS SELECT * FROM rows_of()",
        "CREATE VIEW by_macro AS SELECT * FROM rows_of()",
        "CREATE VIEW by_scalar AS SELECT amount FROM others WHERE amount < most()",
        "CREATE VIEW by_text AS SELECT amount FROM query('SELECT * FROM claims')",
        "CREATE VIEW by_name AS SELECT amount FROM query_table('claims')",
        "CREATE VIEW file AS SELECT * FROM 'claims.parquet'",
        "CREATE VIEW files AS SELECT * FROM read_parquet(['./claims.parquet'])",
        "CREATE VIEW text AS SELECT amount FROM read_csv('claims.csv')",
    ):
        connection.execute(statement)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "view",
    ["plain", 's."odd AS name"', "never", "by_macro", "by_scalar", "by_text", "by_name"],
)
def test_a_view_of_duckdb_lies_where_its_tables_do(office, duck, view):
    charged(office, duck, "claims", table="claims")
    refused(office, duck, table=view)
    refused(office, duck.sql(f"SELECT * FROM {view}"))
    charged(office, duck, "copy", table="others")


@pytest.mark.parametrize(
    ("view", "file"),
    [("file", "claims.parquet"), ("files", "claims.parquet"), ("text", "claims.csv")],
)
def test_a_view_of_files_lies_where_they_do(office, duck, view, file):
    charged(office, file, "claims")
    refused(office, duck, table=view)


RELATIONS = {
    "a table": lambda duck: duck.table("claims"),
    "a filter": lambda duck: duck.table("claims").filter("year = 2025").project("amount"),
    "a view": lambda duck: duck.view("plain"),
    "a question": lambda duck: duck.sql("SELECT amount * 2 AS amount FROM plain"),
    "a union": lambda duck: duck.sql("SELECT amount FROM others UNION ALL SELECT amount FROM v"),
    "nothing by statistics": lambda duck: duck.sql("SELECT * FROM claims WHERE year > 3000"),
    "a schema": lambda duck: duck.sql("SELECT * FROM claims.main.claims"),
}  # fmt: skip


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_lies_where_its_tables_do(office, duck, relation):
    charged(office, duck, "claims", table="claims")
    refused(office, RELATIONS[relation](duck))


@pytest.mark.parametrize(
    "relation",
    [
        lambda duck: duck.from_parquet("claims.parquet"),
        lambda duck: duck.from_parquet(["claims.parquet"]),
        lambda duck: duck.sql("FROM 'claims.parquet'"),
        lambda duck: duck.sql("SELECT * FROM read_parquet('*.parquet')"),
        lambda duck: duckdb.connect().from_parquet("claims.parquet").filter("amount > 2"),
    ],
)
def test_a_relation_over_files_lies_where_they_do(office, duck, relation):
    charged(office, "claims.parquet", "claims")
    refused(office, relation(duck))


def test_a_relation_over_a_frame_has_no_place(office, duck):
    import pandas

    frame = pandas.DataFrame({"amount": [1.0, 2.0] * 50})
    charged(office, duck.from_df(frame), "claims")
    charged(office, duck.sql("SELECT * FROM frame"), "copy")
    assert all(event.place is None for event in office.history())


def test_a_database_that_is_attached(office, duck, tmp_path, sqlite_file):
    charged(office, duck, "claims", table="claims")
    duck.close()
    other = duckdb.connect()
    other.execute(f"ATTACH '{tmp_path}/claims.duckdb' AS there (READ_ONLY)")
    refused(office, other.sql("SELECT amount FROM there.claims"))
    refused(office, other, table="there.main.claims")


def test_no_password_of_an_attached_server_is_noted():
    """What DuckDB calls the path of another database may be its address, with a password."""
    from tametail.data.sql.duckdb_reads import Reads

    def rows(text):
        if "duckdb_databases" in text:
            return [("there", "host=db user=ann password=secret", "postgres")]
        return [("there", "public", "claims", None)] if "duckdb_tables" in text else []

    assert Reads(rows).of_table("there", "public", "claims") == ()


# PostgreSQL


@pytest.fixture
def postgres(server):
    import psycopg

    url = new_schema(server)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "CREATE TABLE claims(amount float8, year int)",
            "INSERT INTO claims SELECT g, 2025 FROM generate_series(1, 9) g",
            "CREATE TABLE others(amount float8)",
            "CREATE VIEW plain AS SELECT * FROM claims",
            "CREATE VIEW nested AS SELECT amount + 1 AS amount FROM plain WHERE year = 2025",
            "CREATE VIEW never AS SELECT amount FROM others WHERE amount > 1e9 AND amount IN "
            "(SELECT amount FROM claims)",
            "CREATE MATERIALIZED VIEW kept AS SELECT * FROM nested",
            "CREATE TABLE months(amount float8, month int) PARTITION BY LIST (month)",
            "CREATE TABLE november PARTITION OF months FOR VALUES IN (11)",
            "CREATE TABLE december PARTITION OF months FOR VALUES IN (12)",
            "CREATE VIEW all_months AS SELECT * FROM months",
            "CREATE TABLE days(amount float8, day int) PARTITION BY LIST (day)",
            *(
                f"CREATE TABLE day{day} PARTITION OF days FOR VALUES IN ({day})"
                for day in range(100)
            ),
        ):
            connection.execute(statement)
    return url


@pytest.mark.parametrize("view", ["plain", "nested", "never", "kept"])
def test_a_view_of_postgresql_lies_where_its_tables_do(office, postgres, view):
    charged(office, postgres, "claims", table="claims")
    refused(office, postgres, table=view)
    charged(office, postgres, "copy", table="others")


@pytest.mark.parametrize("whole", ["months", "all_months"])
def test_a_partition_lies_in_its_table(office, postgres, whole):
    charged(office, postgres, "claims", table="november")
    charged(office, postgres, "copy", table="december")
    refused(office, postgres, table=whole)
    office.create("all", tt.pure(1))
    with pytest.raises(BudgetError, match="charged as dataset"):
        charged(office, postgres, "all", table=whole)


def test_many_partitions_are_not_the_whole_database(office, postgres):
    charged(office, postgres, "claims", table="days")
    refused(office, postgres, table="day50")
    charged(office, postgres, "copy", table="claims")


def test_a_partition_after_its_table(office, postgres):
    charged(office, postgres, "claims", table="all_months")
    refused(office, postgres, table="december")
    refused(office, postgres, table="months")


def test_datasets_of_arrow_lie_where_their_files_do(tmp_path):
    import pyarrow as pa
    from pyarrow import dataset, fs, parquet

    for name in ("a.parquet", "b.parquet"):
        parquet.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / name)
    of_two = [dataset.dataset(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    below = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    files = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    assert list(open_data(dataset.dataset(of_two), "x").locators) == files
    found = open_data(dataset.dataset("b.parquet", filesystem=below), "x").locators
    assert list(found) == files[1:]


def test_a_dataset_on_another_machine_lies_at_its_address():
    from types import SimpleNamespace

    from pyarrow import fs

    storage = fs.S3FileSystem(anonymous=True, region="us-east-1")  # opens no connection
    below = fs.SubTreeFileSystem("bucket", storage)
    data = SimpleNamespace(files=["claims/a.parquet"], filesystem=below)
    assert places_of(data) == ["s3://bucket/claims/a.parquet"]


def test_a_handle_lies_where_its_file_does(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"x\n1\n"))
    csv = tt.Parse(format="csv")
    with path.open("rb") as plain, gzip.open(path) as unpacked:
        for handle in (plain, unpacked):
            assert open_data(handle, "x", parse=csv).locators == (str(path),)
    assert open_data(io.BytesIO(b"x\n1\n"), "x", parse=csv).locators == ()
    reading, writing = os.pipe()
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert open_data(pipe, "x", parse=csv).locators == ()


def test_a_file_that_arrow_opened_needs_a_place(tmp_path):
    """It does not tell where it lies: a ledger would take it for data of its own."""
    path, csv = tmp_path / "x.csv", tt.Parse(format="csv")
    path.write_text("x\n" + "1\n" * 500)
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(9))
    paid = {"epsilon": 1, "parse": csv, "ledger": ledger, "dataset": "claims"}
    for opened in (fs.LocalFileSystem().open_input_stream, fs.LocalFileSystem().open_input_file):
        with opened(str(path)) as handle, pytest.raises(ParameterError, match="Pass the path"):
            tt.mean(handle, "x", **paid)
        with opened(str(path)) as handle:
            assert len(tt.mean(handle, "x", epsilon=1, parse=csv)) == 1
    with pa.OSFile(str(path)) as handle:
        assert open_data(handle, "x", parse=csv).locators == (str(path),)
        assert tt.mean(handle, "x", **paid).receipt
    assert tt.mean(pa.BufferReader(path.read_bytes()), "x", **paid).receipt
