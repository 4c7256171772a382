"""Databases by name, the command line, and where a table lies."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tametail import cli
from tametail.databases import Database, database, databases, schema_of_table
from tametail.errors import ParameterError
from tametail.ledger import locator_of


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "claims.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE claims (charge REAL)")
        connection.executemany("INSERT INTO claims VALUES (?)", [(float(i),) for i in range(900)])
    connection.close()
    return path


class TestConfiguration:
    def test_names(self, tmp_path, monkeypatch):
        path = tmp_path / "databases.toml"
        assert databases(path) == {}
        path.write_text(
            "[claims]\naddress = 'postgresql://db/office'\ntable = 'claims'\n"
            "[old]\naddress = 'old.duckdb'\n"
        )
        monkeypatch.setenv("TAMETAIL_DATABASES", str(path))
        assert database("claims") == Database("claims", "postgresql://db/office", "claims")
        assert database("old").table is None
        with pytest.raises(
            ParameterError, match=r"No database 'new'\. Databases: \['claims', 'old'"
        ):
            database("new")

    @pytest.mark.parametrize(
        "address", ["postgresql://ann:SECRET@db/office", "postgresql://db/office?password=SECRET"]
    )
    def test_passwords_are_refused_and_not_shown(self, tmp_path, address):
        path = tmp_path / "databases.toml"
        path.write_text(f"[claims]\naddress = '{address}'\n")
        with pytest.raises(ParameterError, match="pgpass") as caught:
            databases(path)
        assert "SECRET" not in str(caught.value)

    @pytest.mark.parametrize("text", ["[claims", "claims = 1", "[claims]\ntable = 'x'"])
    def test_what_is_not_written_so(self, tmp_path, text):
        path = tmp_path / "databases.toml"
        path.write_text(text)
        with pytest.raises(ParameterError, match="address = "):
            databases(path)

    def test_the_schema_of_a_table(self, database):
        made = database.make({"x": [1.0], "who": ["a"]}, {"x": "double", "who": "text"})
        assert schema_of_table(**made).columns == (("x", "number"), ("who", "text"))


class TestCommandLine:
    def test_a_table_of_a_file(self, file, capsys):
        done = cli.main(["mean", str(file), "--table", "claims", "--column", "charge",
                         "--epsilon", "1", "--json"])  # fmt: skip
        assert done == 0
        record = json.loads(capsys.readouterr().out)
        assert record["epsilon"] == 1
        assert "stream" in record["plan"]["reading"]

    def test_a_server(self, postgres, capsys):
        made = postgres.make({"charge": [float(i) for i in range(900)]}, {"charge": "double"})
        done = cli.main(["mean", made["data"], "--table", made["table"], "--column", "charge",
                         "--epsilon", "1"])  # fmt: skip
        assert done == 0
        assert "epsilon = 1" in capsys.readouterr().out

    def test_a_server_that_is_not_there(self, capsys):
        address = "postgresql://ann:SECRET@localhost:1/db"
        assert cli.main(["mean", address, "--table", "t", "--column", "x", "--epsilon", "1"]) == 4
        said = capsys.readouterr().err
        assert "localhost:1/db" in said
        assert "SECRET" not in said

    def test_the_price_of_a_table(self, file, tmp_path, capsys):
        ledger = str(tmp_path / "office.ledger")
        assert cli.main(["ledger", "create", "claims", "--epsilon", "2", "--ledger", ledger]) == 0
        done = cli.main(["mean", str(file), "--table", "claims", "--column", "charge", "--epsilon",
                         "1", "--ledger", ledger, "--dataset", "claims", "--dry-run"])  # fmt: skip
        assert done == 0
        assert "1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "table", "place"),
    [
        ("postgresql://ann:secret@DB.example/office", "claims",
         "postgresql://db.example:5432/office#claims"),
        ("postgres://127.0.0.1:5433/office?password=x", "public.claims",
         "postgresql://localhost:5433/office#claims"),
        ("postgresql:///office?host=/var/run", "old.claims",
         "postgresql://localhost:5432/office#old.claims"),
    ],
)  # fmt: skip
def test_where_a_table_lies(data, table, place):
    assert locator_of(data, table) == place
