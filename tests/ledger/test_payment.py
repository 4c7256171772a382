"""The order of a release: charged, read, stored, returned."""

import json

import pytest

import tametail as tt
from tametail.errors import BudgetError, LedgerError, ParameterError, ResultNotStoredError
from tametail.ledger import Ledger
from tametail.ledger.payment import Payment


@pytest.fixture
def ledger(place):
    made = Ledger(place)
    made.create("claims", tt.pure(1))
    return made


def pay(ledger, make, release_id=None, epsilon=0.25):
    payment = Payment.parse(ledger, "claims", release_id)
    return payment.run(
        make, write=json.dumps, read=json.loads, budget=tt.pure(epsilon), neighbors="add-remove",
        person=None, request={"column": "x"}, locator=None,
    )  # fmt: skip


def kinds(ledger):
    with ledger._storage.reading() as rows:
        return [entry.kind for entry in rows.all()]


def test_the_charge_is_there_when_data_are_read_and_the_result_when_it_is_returned(ledger):
    seen = []

    def make(ticket):
        seen.append((kinds(ledger), ticket.head == ledger.head))
        return {"value": 1.5, **ticket.receipt}

    released = pay(ledger, make, "q3")
    assert seen == [(["open", "charge"], True)]
    assert (released["dataset"], released["release_id"]) == ("claims", "q3")
    assert ledger.verify(head=released["head"])
    assert kinds(ledger) == ["open", "charge", "result"]
    assert pay(ledger, make, "q3") == released
    assert len(seen) == 1


def test_what_fails_after_the_charge_is_spent_and_lost(ledger):
    def make(ticket):
        raise RuntimeError("the disk with the data is gone")

    with pytest.raises(RuntimeError):
        pay(ledger, make, "q3")
    with pytest.raises(ResultNotStoredError):
        pay(ledger, make, "q3")
    assert ledger.remaining("claims").epsilon == 0.75


def test_what_is_refused_reads_nothing(ledger):
    for epsilon, release_id in ((5, None), (5, "q3")):
        with pytest.raises(BudgetError):
            pay(ledger, pytest.fail, release_id, epsilon)
    assert kinds(ledger) == ["open"]


def test_a_result_that_cannot_be_stored_is_not_returned(ledger, monkeypatch):
    from tametail.ledger.rows import Rows

    append = Rows.append

    def full(self, entry):
        if entry.kind == "result":
            raise LedgerError("the disk is full.")
        append(self, entry)

    monkeypatch.setattr(Rows, "append", full)
    with pytest.raises(LedgerError, match="is not returned"):
        pay(ledger, lambda ticket: {"value": 1})
    assert kinds(ledger) == ["open", "charge"]


def test_a_quote_charges_nothing(ledger):
    quote = Payment.parse(ledger, "claims", None).quote(
        budget=tt.pure(0.25), neighbors="add-remove", person=None, locator=None
    )
    assert str(quote).startswith(
        "Dry run: would spend epsilon = 0.25 of claims. Afterwards, remaining budget:"
    )
    assert "epsilon = 0.75" in str(quote)
    assert kinds(ledger) == ["open"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((None, "claims", None), "requires a ledger"),
        ((None, None, "q3"), "requires a ledger"),
        (("office.ledger", None, None), "requires dataset="),
        ((5, "claims", None), "Invalid ledger="),
        (("office.ledger", "claims", ""), "Invalid release_id="),
        (("office.ledger", "", None), "Invalid dataset="),
    ],
)
def test_arguments_that_do_not_fit(arguments, told):
    with pytest.raises(ParameterError, match=told):
        Payment.parse(*arguments)
    assert Payment.parse(None, None, None) is None
    assert Payment.parse("office.ledger", "claims", "q3").release_id == "q3"
