"""What only a server can do: rights, locks, and being gone."""

import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

import pytest

import tametail as tt
from tametail.errors import LedgerError, LedgerIntegrityError, MissingExtraError
from tametail.ledger import Ledger
from tametail.ledger.accounts import body_of, find_account
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import Entry, request_hash
from tametail.ledger.postgres import PostgresStorage
from tametail.ledger.rows import TABLE

from . import race
from .by_hand import POLICY, SWALLOWED, forged, insert, role, run
from .servers import kill_and_start_again, new_schema, start_server


@pytest.fixture
def url(server):
    return new_schema(server)


def test_entries_cannot_be_changed_even_by_their_owner(url):
    import psycopg

    Ledger(url).create("claims", tt.pure(1))
    for statement in (f"UPDATE {TABLE} SET body = ''", f"DELETE FROM {TABLE}", f"TRUNCATE {TABLE}"):
        with pytest.raises(psycopg.Error, match="never changed"):
            run(url, statement)


@pytest.fixture
def spender(url):
    """Return the address for a role that may only insert and read."""
    yield from _role(url, policy=False)


@pytest.fixture
def analyst(url):
    """Return the address of a role under the policy of the guide."""
    yield from _role(url, policy=True)


def _role(url, *, policy):
    if "postgres:@" not in url:
        pytest.skip("the named server's address has no user that could be replaced")
    Ledger(url).create("claims", tt.pure(1))
    with role(url, policy=policy) as address:
        yield address


def test_a_role_that_may_only_insert_and_read_is_enough(spender):
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


def test_the_guide_has_the_policy_that_is_tested():
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "track-budgets.md"
    assert f"```sql\n{POLICY}```" in guide.read_text(encoding="utf-8")


def test_a_role_that_may_only_spend(url, analyst):
    """The policy of the guide: spenders add charges and results, and create or raise nothing."""
    ledger = Ledger(analyst)
    ledger.charge("claims", tt.pure(0.5), locator=["/a", "/b"]).store("{}")
    with pytest.raises(LedgerError, match="permission denied"):
        ledger.raise_budget("claims", tt.pure(100), "because")
    with pytest.raises(LedgerError, match="permission denied"):
        ledger.create("mine", tt.pure(100))
    with pytest.raises(LedgerError, match="permission denied"):
        ledger.close("claims", "because")
    assert Ledger(url).verify().entries == 4


FORGERIES = {
    "a larger budget": {"budget": {"epsilon": "1000000"}},
    "sums that begin anew": {"spent": {"epsilon": "0", "concentrated": "0", "charges": 0}},
    "no whole": {"part_of": "claims"},
    "an open end": {"closed": True},
    "another unit": {"neighbors": "replace-one"},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_spender_cannot_grant_budget_by_hand(url, analyst, forgery):
    """A row that the policy lets a spender write must not be believed what it says of budgets."""
    ledger = Ledger(analyst)
    ledger.charge("claims", tt.pure(0.9)).store("{}")
    insert(analyst, forged(ledger, **FORGERIES[forgery]))
    for other in (ledger, Ledger(analyst), Ledger(url)):  # who has seen the charges, and who not
        for epsilon in (0.05, 500):
            with pytest.raises(LedgerIntegrityError, match="Entry 4"):
                other.charge("claims", tt.pure(epsilon))
        with pytest.raises(LedgerIntegrityError, match="Entry 4"):
            other.raise_budget("claims", tt.pure(2), "board")
        with pytest.raises(LedgerIntegrityError, match="Entry 4"):
            other.close("claims", "board")
    assert len(Ledger(url).history()) == 3
    Ledger(url).export(os.devnull)  # auditors can still look


def test_a_second_forged_charge_does_not_hide_the_first(analyst):
    """Each follows from the one before; only the first does not."""
    ledger = Ledger(analyst)
    ledger.charge("claims", tt.pure(0.9))
    first = forged(ledger, spent={"epsilon": "0.1", "concentrated": "0.005", "charges": 1})
    insert(analyst, first)
    again = forged(ledger, "second", spent={"epsilon": "0.2", "concentrated": "0.01", "charges": 2})
    insert(analyst, again)
    with pytest.raises(LedgerIntegrityError, match="Entry 3"):
        Ledger(analyst).charge("claims", tt.pure(0.5))


def test_a_charge_by_hand_in_the_middle_of_another(url, analyst, monkeypatch):
    """Whoever writes by hand waits for no lock: after the others verified, before they charge."""
    ledger = Ledger(analyst)
    ledger.charge("claims", tt.pure(0.9))
    follow = PostgresStorage.follow

    def late(self, rows):
        follow(self, rows)
        insert(analyst, forged(Ledger(url), budget={"epsilon": "1000000"}))

    with monkeypatch.context() as patched:
        patched.setattr(PostgresStorage, "follow", late)
        with pytest.raises(LedgerError, match="did not wait for its turn"):
            ledger.charge("claims", tt.pure(500))
    assert len(Ledger(url).history()) == 3


def test_a_charge_below_zero_gives_nothing_back(ledger):
    """It is chained, priced and added up as it should be, and yet no charge."""
    ledger.create("claims", tt.pure(1))
    ledger.charge("claims", tt.pure(0.9))
    with ledger._storage.writing() as rows:
        account = find_account(rows, "claims").after(Cost(epsilon=Fraction(-1)))
        cost = {"epsilon": "-1"}
        body = body_of(
            account, price=cost, cost=cost, protection=Protection().to_dict(), request={}
        )
        rows.append(Entry.after(rows.last(), "charge", "claims", body, release="refund",
                                request=request_hash("claims", {})))  # fmt: skip
    with pytest.raises(LedgerIntegrityError, match="Entry 3"):
        ledger.verify()


def test_entries_that_are_hidden_are_missed(url, analyst):
    """A policy that shows everyone their own charges only would let all spend the whole budget."""
    Ledger(url).charge("claims", tt.pure(0.9), release_id="theirs")
    Ledger(url).create("other", tt.pure(1))
    run(
        url,
        f"DROP POLICY everyone_reads ON {TABLE}",
        f"CREATE POLICY own_rows ON {TABLE} FOR SELECT USING (release IS DISTINCT FROM 'theirs')",
    )
    with pytest.raises(LedgerIntegrityError, match="hides entries"):
        Ledger(analyst).charge("claims", tt.pure(0.5))


def test_a_restored_copy_is_recomputed(url):
    """What a process has verified before is not what the table holds now."""
    ledger = Ledger(url)
    ledger.create("claims", tt.pure(1))
    for number in range(3):
        ledger.charge("claims", tt.pure(0.1), release_id=f"r{number}")
    run(
        url,
        f"ALTER TABLE {TABLE} DISABLE TRIGGER USER",
        f"DELETE FROM {TABLE} WHERE seq > 2",
        f"ALTER TABLE {TABLE} ENABLE TRIGGER USER",
    )
    for number in range(3):
        ledger.charge("claims", tt.pure(0.1), release_id=f"again{number}")
    assert ledger.verify().entries == 5


# Writes that are swallowed


@pytest.mark.parametrize("way", SWALLOWED)
def test_a_charge_that_the_server_swallows_is_not_acknowledged(url, way):
    Ledger(url).create("claims", tt.pure(1))
    run(url, *(statement.format(table=TABLE) for statement in SWALLOWED[way]))
    for _ in range(2):
        with pytest.raises(LedgerError, match="Remove the trigger") as caught:
            Ledger(url).charge("claims", tt.pure(0.1))
        assert "No data were read" in str(caught.value)
    assert Ledger(url).remaining("claims").charges == 0


def test_a_table_that_is_empty_after_a_crash_is_refused(url):
    Ledger(url).create("claims", tt.pure(1))
    run(url, f"ALTER TABLE {TABLE} SET UNLOGGED")
    for use in (
        lambda: Ledger(url).charge("claims", tt.pure(0.1)),
        lambda: Ledger(url).create("more", tt.pure(1)),
        lambda: Ledger(url).verify(),
    ):
        with pytest.raises(LedgerError, match="SET LOGGED"):
            use()
    run(url, f"ALTER TABLE {TABLE} SET LOGGED")
    Ledger(url).charge("claims", tt.pure(0.1))


def test_a_temporary_table_is_no_ledger(url, monkeypatch):
    """A pooled connection may hold one of the same name, which goes before the ledger's."""
    import psycopg

    Ledger(url).create("claims", tt.pure(1))
    connect = psycopg.connect

    def pooled(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.execute(f"CREATE TEMP TABLE {TABLE} (LIKE {TABLE})")
        return connection

    monkeypatch.setattr(psycopg, "connect", pooled)
    with pytest.raises(LedgerError, match="temporary"):
        Ledger(url).charge("claims", tt.pure(0.1))


# What a connection may bring


@pytest.mark.parametrize("option", ["client_encoding=SQL_ASCII", "client_encoding=LATIN1"])
def test_another_encoding_of_the_connection(url, option, monkeypatch):
    ledger = Ledger(f"{url}&{option}")
    ledger.create("Ansprüche", tt.pure(1))
    ledger.charge("Ansprüche", tt.pure(0.1), release_id="ü", locator="/Größe€.csv").store("{}")
    assert Ledger(url).datasets() == ledger.datasets() == ["Ansprüche"]
    monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")
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
    assert Ledger(url).remaining("claims").charges == 0


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
    with pytest.raises(MissingExtraError, match=r"pip install 'psycopg\[binary\]>="):
        Ledger("postgresql://localhost/office").remaining("claims")


@pytest.mark.skipif(
    "TAMETAIL_TEST_POSTGRES" in os.environ, reason="that server is not ours to kill"
)
def test_a_server_that_is_killed_in_between():
    """kill -9 of the whole server while four processes spend; it is started again, and 99 it is."""
    server = start_server()
    url = new_schema(server.get_uri())

    def kill():
        deadline = time.monotonic() + 600
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
