"""What only a server can do: rights, locks, and being gone."""

import os
import subprocess
import sys
import time
from urllib.parse import quote

import pytest

import tametail as tt
from tametail.errors import LedgerError, MissingExtraError
from tametail.ledger import Ledger
from tametail.ledger.rows import TABLE

from . import race
from .servers import kill_and_start_again, new_schema, start_server


@pytest.fixture
def url(server):
    return new_schema(server)


def run(url, *statements):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_entries_cannot_be_changed_even_by_their_owner(url):
    import psycopg

    Ledger(url).create("claims", tt.pure(1))
    for statement in (f"UPDATE {TABLE} SET body = ''", f"DELETE FROM {TABLE}", f"TRUNCATE {TABLE}"):
        with pytest.raises(psycopg.Error, match="never changed"):
            run(url, statement)


@pytest.fixture
def spender(url):
    """Return the address for a role that may only insert and read."""
    Ledger(url).create("claims", tt.pure(1))
    name = f"spender_{os.getpid()}_{time.monotonic_ns()}"
    schema = url.partition("search_path%3D")[2]
    run(
        url,
        f"CREATE ROLE {name} LOGIN PASSWORD 'secret'",
        f"GRANT USAGE ON SCHEMA {schema} TO {name}",
        f"GRANT SELECT, INSERT ON {TABLE} TO {name}",
    )
    yield url.replace("postgres:@", f"{name}:secret@", 1)
    run(url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_a_role_that_may_only_insert_and_read_is_enough(spender):
    if "secret" not in spender:
        pytest.skip("the named server's address has no user that could be replaced")
    import psycopg

    ledger = Ledger(spender)
    ledger.charge("claims", tt.pure(0.5), release_id="q3").store("{}")
    assert ledger.charge("claims", tt.pure(0.5), release_id="q3").stored == "{}"
    assert ledger.verify().entries == 3
    for statement in (
        f"UPDATE {TABLE} SET body = ''",
        f"DELETE FROM {TABLE}",
        f"DROP TABLE {TABLE}",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(spender, statement)


def test_a_role_that_may_only_spend(url, spender):
    """The policy of the guide: spenders add charges and results, and create or raise nothing."""
    if "secret" not in spender:
        pytest.skip("the named server's address has no user that could be replaced")
    run(
        url,
        f"ALTER TABLE {TABLE} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY everyone_reads ON {TABLE} FOR SELECT USING (true)",
        f"CREATE POLICY spenders_spend ON {TABLE} FOR INSERT "
        "WITH CHECK (kind IN ('charge', 'part', 'result'))",
    )
    ledger = Ledger(spender)
    ledger.charge("claims", tt.pure(0.5)).store("{}")
    with pytest.raises(LedgerError, match="this role may not"):
        ledger.raise_budget("claims", tt.pure(100), "because")
    with pytest.raises(LedgerError, match="this role may not"):
        ledger.create("mine", tt.pure(100))
    assert Ledger(url).verify().entries == 3


def test_the_password_is_never_shown(spender):
    ledger = Ledger("postgresql://me:secret@localhost:1/office", timeout=2)
    with pytest.raises(LedgerError) as caught:
        ledger.charge("claims", tt.pure(0.1))
    assert "No data were read" in str(caught.value)
    assert "secret" not in str(caught.value) + repr(ledger)


def test_others_keep_it_busy(url):
    Ledger(url).create("claims", tt.pure(1))
    with (
        Ledger(url)._storage.writing(),
        pytest.raises(LedgerError, match="busy"),
    ):
        Ledger(url, timeout=0.2).charge("claims", tt.pure(0.1))
    assert Ledger(url).left("claims").charges == 0


def test_two_who_create_at_once(server):
    url = new_schema(server)
    code = "import sys, tametail as tt; tt.Ledger(sys.argv[1]).create(sys.argv[2], tt.pure(1))"
    names = [f"d{number}" for number in range(3)]
    running = [subprocess.Popen([sys.executable, "-c", code, url, name]) for name in names]
    assert [process.wait() for process in running] == [0] * 3
    assert sorted(Ledger(url).datasets()) == names


def test_commits_wait_for_the_disk(url):
    Ledger(url).create("claims", tt.pure(1))
    careless = url.replace("options=", f"options={quote('-csynchronous_commit=off ')}", 1)
    with Ledger(careless)._storage.writing() as rows:
        assert list(rows._run("SHOW synchronous_commit")) == [("on",)]


def test_without_psycopg_the_message_has_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"tametail\[postgres\]"):
        Ledger("postgresql://localhost/office").left("claims")


@pytest.mark.skipif(
    "TAMETAIL_TEST_POSTGRES" in os.environ, reason="that server is not ours to kill"
)
def test_a_server_that_is_killed_in_between():
    """kill -9 of the whole server while four processes spend; it is started again, and 99 it is."""
    server = start_server()
    url = new_schema(server.get_uri())

    def kill():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if any(event.kind == "charge" for event in _history(url)):
                break
            time.sleep(0.02)
        kill_and_start_again(server)

    outcome = race.run(url, spenders=200, threads=2, processes=4, during=kill)
    assert (outcome["accepted"], outcome["refused"]) == (99, 101)
    assert outcome["asked again"] > 0
    assert Ledger(url).verify().entries == 100
    server.cleanup()


def _history(url):
    try:
        return Ledger(url).history()
    except LedgerError:  # not created yet
        return []
