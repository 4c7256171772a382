"""Whatever is changed behind a ledger's back, ``verify`` says so; a cut-off end, by the head."""

import json
import sqlite3
from dataclasses import replace
from hashlib import sha256

import pytest

import tametail as tt
from tametail.errors import LedgerIntegrityError
from tametail.ledger import Ledger
from tametail.ledger.entries import Entry, canonical, request_hash
from tametail.ledger.rows import TABLE
from tametail.ledger.verify import verify_entries


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "office.ledger"
    ledger = Ledger(path)
    ledger.create("claims", tt.approx(1, 1e-6))
    ledger.create("part", tt.pure(1), part_of="claims")
    for index in range(4):
        ledger.charge("part", tt.pure(0.1), release_id=f"r{index}").store('{"value": 1}')
    ledger.raise_budget("claims", tt.approx(2, 1e-6), "board")
    ledger.close("part", "done")
    return path


def behind_its_back(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for verb in ("UPDATE", "DELETE"):
        connection.execute(f"DROP TRIGGER {TABLE}_{verb}")
    for statement in statements:
        assert connection.execute(statement).rowcount > 0, statement
    connection.close()


CHANGES = {
    "a cost": [f"UPDATE {TABLE} SET body = replace(body, '0.1', '0.01') WHERE seq = 3"],
    "a result": [f"UPDATE {TABLE} SET body = replace(body, '1}}', '2}}') WHERE seq = 5"],
    "a name": [f"UPDATE {TABLE} SET dataset = 'other' WHERE seq = 3"],
    "a place": [f"UPDATE {TABLE} SET place = '/tmp' WHERE seq = 3"],
    "an entry of the middle": [f"DELETE FROM {TABLE} WHERE seq = 6"],
    "a whole data set": [f"DELETE FROM {TABLE} WHERE dataset = 'part'"],
    "the first entry": [f"DELETE FROM {TABLE} WHERE seq = 1"],
    "the order": [
        f"UPDATE {TABLE} SET seq = 1000 WHERE seq = 6",
        f"UPDATE {TABLE} SET seq = 6 WHERE seq = 7",
        f"UPDATE {TABLE} SET seq = 7 WHERE seq = 1000",
    ],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_shows(path, change):
    Ledger(path).verify()
    behind_its_back(path, *CHANGES[change])
    with pytest.raises(LedgerIntegrityError):
        Ledger(path).verify()


def test_a_cut_off_end_shows_only_by_the_head(path):
    head = Ledger(path).head
    behind_its_back(path, f"DELETE FROM {TABLE} WHERE seq > 5")
    Ledger(path).verify()
    with pytest.raises(LedgerIntegrityError, match="entries are missing"):
        Ledger(path).verify(head=head)


def test_entries_cannot_be_changed_by_accident(path):
    connection = sqlite3.connect(path)
    for statement in (f"UPDATE {TABLE} SET body = ''", f"DELETE FROM {TABLE}"):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute(statement)
    connection.close()


def entries_of(path):
    with Ledger(path)._storage.reading() as rows:
        return list(rows.all())


def chained_again(entries):
    """Return entries with new numbers and hashes: what a forger would do who knows the format."""
    last, made = None, []
    for entry in entries:
        new = Entry.after(
            last, entry.kind, entry.dataset, {}, release=entry.release,
            request=entry.request, place=entry.place,
        )  # fmt: skip
        new = replace(new, body=entry.body)
        new = replace(new, hash=new.digest())
        made.append(new)
        last = new.seq, new.hash
    return made


def with_text(entry, body):
    return replace(entry, body=body)


def with_body(entry, **changes):
    return replace(entry, body=json.dumps(entry.read() | changes))


def forged_sums(entry, **sums):
    account = entry.read()["account"]
    return with_body(entry, account=account | {"spent": account["spent"] | sums})


# The entries: 1 open claims, 2 open part, then four times charge, part, result; raise, close.
FORGERIES = {
    "a charge left out": lambda e: [*e[:2], *e[5:]],
    "a part left out": lambda e: [*e[:3], *e[4:]],
    "a result left out is a lost release": lambda e: [*e[:4], *e[5:]],
    "a charge twice": lambda e: [*e[:5], *e[2:]],
    "a result twice": lambda e: [*e[:5], *e[4:]],
    "a result before its charge": lambda e: [*e[:2], e[4], *e[2:4], *e[5:]],
    "a data set twice": lambda e: [e[0], *e],
    "a charge after the close": lambda e: [*e, *e[2:4]],
    "sums that are too small": lambda e: [
        *e[:2], forged_sums(e[2], epsilon="0.01"), *e[3:]
    ],
    "a price below the cost": lambda e: [
        *e[:2], with_body(e[2], price={"epsilon": "0.01"}), *e[3:]
    ],
    "another request": lambda e: [*e[:2], with_body(e[2], request={"n": 1}), *e[3:]],
    "a part of another charge": lambda e: [
        *e[:3], with_body(e[3], cost={"epsilon": "0.2"}), *e[4:]
    ],
    "a budget that is lowered": lambda e: [
        *e[:-2],
        with_body(e[-2], account=e[-2].read()["account"] | {"budget": {"epsilon": "0.5"}}),
        e[-1],
    ],
    "an opening with something spent": lambda e: [forged_sums(e[0], charges=-5), *e[1:]],
    "part of an unknown dataset": lambda e: e[1:],
    "a body that is a list": lambda e: [*e[:2], with_text(e[2], "[]"), *e[3:]],
    "a body without end": lambda e: [*e[:2], with_text(e[2], "[" * 100_000), *e[3:]],
    "a request that is a list": lambda e: [*e[:2], with_body(e[2], request=[]), *e[3:]],
    "a kind that is unknown": lambda e: [replace(e[0], kind="note"), *e[1:]],
    "a close that changes sums": lambda e: [*e[:-1], forged_sums(e[-1], charges=0)],
    "a charge that is not carried": lambda e: e[:3],
    "a result of another request": lambda e: [
        *e[:4], replace(e[4], request=request_hash("part", {"n": 1})), *e[5:]
    ],
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forger_who_mends_the_chain_must_still_get_the_sums_right(path, forgery):
    entries = entries_of(path)
    assert verify_entries(chained_again(entries)).entries == len(entries)
    forged = chained_again(FORGERIES[forgery](entries))
    if forgery.endswith("lost release"):
        assert verify_entries(forged).entries == len(entries) - 1
        return
    with pytest.raises(LedgerIntegrityError):
        verify_entries(forged)


# The entries: 1 open, 2 charge, 3 and 4 its second and third place, 5 result.
FORGED_PLACES = {
    "a place left out": lambda e: [*e[:3], *e[4:]],
    "all places left out": lambda e: [*e[:2], e[4]],
    "places in another order": lambda e: [*e[:2], e[3], e[2], e[4]],
    "a place twice": lambda e: [*e[:4], *e[3:]],
    "another place": lambda e: [*e[:2], replace(e[2], place="/tmp"), *e[3:]],
    "a place of another release": lambda e: [*e[:2], replace(e[2], release="r9"), *e[3:]],
    "a place without its charge": lambda e: [e[0], *e[2:]],
    "fewer places in the charge": lambda e: [
        e[0], with_body(e[1], places=["/data/a.csv", "/data/b.csv"]), *e[2:]
    ],
    "another first place": lambda e: [e[0], replace(e[1], place="/tmp"), *e[2:]],
    "a place that states an account": lambda e: [
        *e[:2], with_body(e[2], account=e[1].read()["account"]), *e[3:]
    ],
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGED_PLACES)
def test_places_follow_their_charge(tmp_path, forgery):
    path = tmp_path / "office.ledger"
    Ledger(path).create("claims", tt.pure(1))
    places = ["/data/a.csv", "/data/b.csv", "/data/c.csv"]
    Ledger(path).charge("claims", tt.pure(0.1), release_id="r0", locator=places).store("{}")
    entries = entries_of(path)
    assert [entry.place for entry in entries] == [None, *places, None]
    assert verify_entries(chained_again(entries)).entries == 5
    with pytest.raises(LedgerIntegrityError):
        verify_entries(chained_again(FORGED_PLACES[forgery](entries)))


def test_overspending_shows_even_with_right_sums(tmp_path, monkeypatch):
    """A program that charges without asking the filter is found out by the next verification."""
    from tametail.ledger.accounts import Account

    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1))
    with monkeypatch.context() as patched:
        patched.setattr(Account, "sound", True)
        for _ in range(11):
            ledger.charge("claims", tt.pure(0.1))
        ledger.raise_budget("claims", tt.pure(2), "to hide it")
    with pytest.raises(LedgerIntegrityError, match="exceed its budget"):
        ledger.verify()


@pytest.mark.parametrize("text", ["plain", "\u00fc\u2028\ud800", '"\\\0\n', None])
def test_the_hash_is_that_of_canonical_json(text):
    entry = Entry.after((6, "ab"), "charge", "claims", {"b": 1, "a": text}, release=text)
    fields = [7, "charge", "claims", text, None, None, canonical({"a": text, "b": 1}), "ab"]
    assert entry.hash == entry.digest() == sha256(canonical(fields).encode()).hexdigest()
