"""The page opens databases by the names that a file of the user's gives them."""

import sqlite3

import numpy as np
import pytest
from tests.page.conftest import BASE, PLANTED, confirm, release

import tametail as tt


@pytest.fixture
def named(tmp_path, monkeypatch):
    """Name two databases: one with its table, one without."""
    place = tmp_path / "office.sqlite"
    charges = np.random.default_rng(4).lognormal(5, 1, 4000).round(2).tolist()
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE claims (charge REAL, patient TEXT)")
        rows = [(charge, str(number // 2)) for number, charge in enumerate(charges)]
        connection.executemany(
            "INSERT INTO claims VALUES (?, ?)", [*rows, (83461957.0, "quetzal-77")]
        )
    connection.close()
    names = tmp_path / "databases.toml"
    names.write_text(
        f"[claims]\naddress = '{place}'\ntable = 'claims'\n[office]\naddress = '{place}'\n"
    )
    monkeypatch.setenv("TAMETAIL_DATABASES", str(names))
    return place


def test_databases_are_listed_by_name(client, named):
    page = client.get(f"{BASE}/open").text
    assert "database=claims" in page
    assert 'value="office"' in page
    assert str(named) not in page


@pytest.mark.parametrize(
    "fields", [{"database": "claims"}, {"database": "office", "table": "claims"}]
)
def test_a_table_is_released(client, named, data, fields):
    form = client.get(f"{BASE}/release", params=fields)
    assert form.status_code == 200
    assert ">charge<" in form.text
    asked = fields | {"column": "charge", "epsilon": "1"}
    said = confirm(client, **asked)[0].text
    assert "claims" in said
    page = release(client, **asked)[1].text
    assert "--table claims" in page
    assert "table=&#39;claims&#39;" in page
    for value in PLANTED:
        assert value not in form.text + said + page


def test_a_ledger_knows_the_table(client, named, data):
    paid = {"ledger": "office.ledger", "dataset": "charges"}
    release(client, database="claims", column="charge", epsilon="1", **paid)
    ledger = tt.Ledger(data / "office.ledger")
    assert ledger.remaining("charges").charges == 1
    ledger.create("second", tt.pure(1))
    with pytest.raises(tt.errors.BudgetError, match="charged as dataset"):
        tt.mean(str(named), "charge", table="claims", epsilon=0.1, ledger=ledger, dataset="second")


@pytest.mark.parametrize(
    "fields",
    [
        {"database": "payroll"},
        {"database": "/etc/passwd"},
        {"database": "office", "table": "salaries"},
        {"database": "office", "table": 'claims"; DROP TABLE claims; --'},
        {"database": "office"},
    ],
)
def test_only_what_was_named_is_opened(client, named, fields):
    answer = client.get(f"{BASE}/release", params=fields)
    assert answer.status_code == 404
    assert "Traceback" not in answer.text
    with sqlite3.connect(named) as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (4001,)
    connection.close()


def test_without_a_file_of_names_there_is_no_word_of_databases(client, monkeypatch, tmp_path):
    monkeypatch.setenv("TAMETAIL_DATABASES", str(tmp_path / "none.toml"))
    assert "Databases" not in client.get(f"{BASE}/open").text
