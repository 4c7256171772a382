"""What a ledger does, the same in a file and on a server."""

import csv
import json
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

import tametail as tt
from tametail.errors import (
    BudgetError,
    LedgerError,
    LedgerIntegrityError,
    ParameterError,
    ResultNotStoredError,
)
from tametail.ledger import Ledger, accounts
from tametail.ledger.entries import START

REQUEST = {"format": 2, "column": "amount"}


def spend(ledger, budget, dataset="claims", **more):
    return ledger.charge(dataset, budget, request=REQUEST, **more)


def test_ten_charges_of_a_tenth_fit_a_budget_of_one(ledger):
    ledger.create("claims", tt.pure(1))
    for _ in range(10):
        spend(ledger, tt.pure(0.1))
    with pytest.raises(BudgetError, match="Budget exceeded"):
        spend(ledger, tt.pure(1e-9))
    left = ledger.remaining("claims")
    assert (left.epsilon, left.share_spent, left.charges) == (0.0, 1.0, 10)


def test_the_same_id_and_request_give_the_stored_text_for_nothing(ledger):
    ledger.create("claims", tt.pure(1))
    ticket = spend(ledger, tt.pure(0.7), release_id="q3")
    assert ticket.stored is None
    head = ticket.store('{"value": 1.5}')
    again = spend(ledger, tt.pure(0.7), release_id="q3")
    assert (again.stored, again.head) == ('{"value": 1.5}', ticket.head)
    assert ledger.remaining("claims").charges == 1
    assert ledger.head == head


def test_without_an_id_every_call_pays(ledger):
    ledger.create("claims", tt.pure(1))
    first, second = spend(ledger, tt.pure(0.1)), spend(ledger, tt.pure(0.1))
    assert first.release_id != second.release_id
    assert ledger.remaining("claims").epsilon == 0.8


def test_a_charge_without_a_result_is_lost(ledger):
    ledger.create("claims", tt.pure(1))
    spend(ledger, tt.pure(0.6), release_id="q3")
    with pytest.raises(ResultNotStoredError, match="Its budget is spent"):
        spend(ledger, tt.pure(0.6), release_id="q3")
    assert ledger.remaining("claims").epsilon == 0.4


CHANGED = {
    "request": {"request": {**REQUEST, "n": 5}},
    "format": {"request": {**REQUEST, "format": 3}},
    "data set": {"dataset": "other"},
    "budget": {"budget": tt.pure(0.01)},
    "kind of budget": {"budget": tt.approx(0.1, 1e-9)},
    "neighbors": {"person": "patient"},
    "place": {"locator": "/data/2026.csv"},
    "one place more": {"locator": ["/data/2025.csv", "/data/2026.csv"]},
    "no place": {"locator": None},
}


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("change", CHANGED)
def test_another_request_under_a_used_id_is_refused(ledger, change, stored):
    """Whatever the answer or its statement depends on is compared, not the request alone."""
    ledger.create("claims", tt.approx(1, 1e-6))
    ledger.create("other", tt.pure(1))
    asked = {
        "dataset": "claims", "budget": tt.pure(0.1), "request": REQUEST, "release_id": "q3",
        "locator": "/data/2025.csv",
    }  # fmt: skip
    ticket = ledger.charge(**asked)
    if stored:
        ticket.store("{}")
    with pytest.raises(BudgetError, match=r"another request.* new release_id"):
        ledger.charge(**asked | CHANGED[change])
    assert len(ledger.history()) == 3
    if stored:
        assert ledger.charge(**asked).stored == "{}"


def test_other_data_under_a_used_id_are_named(ledger):
    ledger.create("claims", tt.pure(1))
    spend(ledger, tt.pure(0.1), release_id="q3", locator="/data/2025.csv").store("{}")
    with pytest.raises(BudgetError, match=r"used for '/data/2025.csv'.* for '/data/2026.csv'"):
        spend(ledger, tt.pure(0.1), release_id="q3", locator="/data/2026.csv")
    with pytest.raises(BudgetError, match="for data without a path"):
        spend(ledger, tt.pure(0.1), release_id="q3")
    with pytest.raises(BudgetError, match=r"'/data/2025.csv' and 1 more"):
        spend(ledger, tt.pure(0.1), release_id="q3", locator=["/data/2025.csv", "/b"])


def test_a_result_is_stored_once(ledger):
    ledger.create("claims", tt.pure(1))
    ticket = spend(ledger, tt.pure(0.1))
    ticket.store("{}")
    with pytest.raises(LedgerError, match="already has a stored result"):
        ticket.store("{}")


def test_a_refusal_says_what_is_left_and_what_was_charged_last(ledger):
    ledger.create("claims", tt.approx(1, 1e-6))
    spend(ledger, tt.approx(0.75, 1e-7), release_id="march")
    with pytest.raises(BudgetError) as caught:
        spend(ledger, tt.pure(0.5))
    told = str(caught.value)
    assert "epsilon = 0.25" in told
    assert "march" in told
    assert "No data were read" in told
    assert caught.value.exit_code == 3


def test_what_is_shown_as_left_can_be_spent_and_not_more(ledger):
    ledger.create("claims", tt.approx(1, 1e-6))
    spend(ledger, tt.zcdp(0.01))
    left = ledger.remaining("claims")
    for budget, excess in (
        (tt.zcdp(left.rho), tt.zcdp(left.rho * (1 + 1e-12))),
        (tt.pure(left.epsilon), tt.pure(left.epsilon * (1 + 1e-12))),
        (
            tt.approx(left.epsilon_with_delta, left.delta),
            tt.approx(left.epsilon_with_delta, left.delta * (1 + 1e-12)),
        ),
    ):
        assert ledger.quote("claims", budget).left.share_spent <= 1
        with pytest.raises(BudgetError):
            ledger.quote("claims", excess)
    assert ledger.remaining("claims").charges == 1  # quotes cost nothing


def test_a_person_release_on_a_record_ledger_at_the_converted_price(ledger):
    ledger.create("claims", tt.approx(1, 1e-6))
    quote = ledger.quote("claims", tt.approx(0.25, 1e-7), person="patient")
    assert quote.price.epsilon == Fraction(1, 2)
    assert 2.284e-7 < quote.price.delta < 2.2841e-7
    assert ledger.quote("claims", tt.zcdp(0.001), person="patient").price.rho == Fraction(4, 1000)
    spend(ledger, tt.pure(0.2), person="patient")
    assert ledger.remaining("claims").epsilon == 0.6
    assert ledger.verify().entries == 2


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        ({"person": "patient"}, {}),
        ({"person": "patient"}, {"person": "doctor"}),
        ({"person": "patient"}, {"person": ("patient", "year")}),
        ({"person": "patient"}, {"person": "patient", "neighbors": "replace-one"}),
        ({}, {"neighbors": "replace-one"}),
        ({"neighbors": "replace-one"}, {}),
        ({"neighbors": "replace-one"}, {"person": "patient", "neighbors": "replace-one"}),
        ({"neighbors": "replace-one"}, {"person": "patient"}),
    ],
)
def test_another_unit_is_refused(ledger, made, asked):
    ledger.create("claims", tt.pure(1), **made)
    with pytest.raises(BudgetError, match="protects"):
        spend(ledger, tt.pure(0.1), **asked)
    assert ledger.remaining("claims").charges == 0


def test_an_unknown_data_set_and_no_ledger_at_all(ledger, tmp_path):
    with pytest.raises(LedgerError, match="No ledger"):
        ledger.remaining("claims")
    with pytest.raises(LedgerError, match="No data were read"):
        spend(ledger, tt.pure(1))
    ledger.create("claims", tt.pure(1))
    with pytest.raises(ParameterError, match="No dataset 'claim'"):
        spend(ledger, tt.pure(1), dataset="claim")
    with pytest.raises(ParameterError, match="already"):
        ledger.create("claims", tt.pure(5))


@pytest.mark.parametrize("name", ["", " a", "a\n", "=cmd()", "x" * 201, 5, None, "'; DROP"])
def test_names_are_checked(ledger, name):
    with pytest.raises(ParameterError, match="Invalid dataset="):
        ledger.create(name, tt.pure(1))


@pytest.mark.parametrize("release_id", ["", " a", "a\n", "x" * 201, 5, "\0"])
def test_release_ids_are_checked(ledger, release_id):
    ledger.create("claims", tt.pure(1))
    with pytest.raises(ParameterError, match="Invalid release_id="):
        spend(ledger, tt.pure(0.1), release_id=release_id)


def test_odd_texts_survive(ledger):
    ledger.create("Ansprüche 2025/Q3", tt.pure(1), person=("Größe %s", "?"))
    odd = {"column": "a ? %s '\"\\ \u2028 \ud800 \0", "within": (0.0, float("inf"))}
    for _ in range(2):
        ticket = ledger.charge(
            "Ansprüche 2025/Q3", tt.pure(0.1), person=("?", "Größe %s"), request=odd,
            release_id="ü?%s", locator="/tmp/ü ?%s'",
        )  # fmt: skip
        if ticket.stored is None:
            ticket.store(json.dumps(odd))
    assert json.loads(ticket.stored) == {**odd, "within": [0.0, float("inf")]}
    assert ledger.verify().entries == 3


# Identity


def test_the_same_place_under_a_second_name_is_refused(ledger):
    ledger.create("claims", tt.pure(1))
    ledger.create("copy", tt.pure(1))
    spend(ledger, tt.pure(0.1), locator="/data/claims/2025.csv")
    for overlap in ("/data/claims/2025.csv", "/data/claims", "/data", "/",
                    "/data/claims/2025.csv/part"):  # fmt: skip
        with pytest.raises(BudgetError, match="charged as dataset 'claims'"):
            spend(ledger, tt.pure(0.1), dataset="copy", locator=overlap)
    for apart in ("/data/claims/2025.cs", "/data/claims/2025.csv2", "/data/claim", None):
        spend(ledger, tt.pure(0.1), dataset="copy", locator=apart)


def test_a_file_in_a_folder_that_was_charged(ledger):
    ledger.create("claims", tt.pure(1))
    ledger.create("copy", tt.pure(1))
    spend(ledger, tt.pure(0.1), locator="/data/claims")
    with pytest.raises(BudgetError, match="charged as dataset 'claims'"):
        spend(ledger, tt.pure(0.1), dataset="copy", locator="/data/claims/2025.csv")


def test_every_place_of_a_charge_counts(ledger):
    ledger.create("claims", tt.pure(1))
    ledger.create("copy", tt.pure(1))
    ledger.create("part", tt.pure(1), part_of="claims")
    files = ["/data/2024.csv", "/data/2025.csv", "/old"]
    spend(ledger, tt.pure(0.1), dataset="part", locator=files).store("{}")
    for place in [*files, "/data", "/old/2020.csv", ["/new", "/data/2025.csv"], "/"]:
        with pytest.raises(BudgetError, match="charged as dataset 'part'"):
            spend(ledger, tt.pure(0.1), dataset="copy", locator=place)
    spend(ledger, tt.pure(0.1), dataset="copy", locator=["/new", "/data/2026.csv"])
    with pytest.raises(BudgetError, match="charged as dataset 'copy'"):
        spend(ledger, tt.pure(0.1), locator=("/data/2026.csv",))
    assert ledger.verify().entries == 3 + 2 + 2 + 1 + 2
    assert [event.kind for event in ledger.history("part")] == ["open", "charge"]


def test_places_that_are_no_text(ledger):
    """Half a character, or a byte that is no text: written out, and no bare error."""
    ledger.create("claims", tt.pure(1))
    ledger.create("copy", tt.pure(1))
    for odd in ("/data/\ud800.csv", "/data/caf\udce9.csv", "/data/\0.csv"):
        spend(ledger, tt.pure(0.1), locator=odd)
        with pytest.raises(BudgetError, match="charged as dataset 'claims'"):
            spend(ledger, tt.pure(0.1), dataset="copy", locator=odd)
    for wrong in (5, [5], {"/data": 1}.items()):
        with pytest.raises(ParameterError, match=r"Invalid (ledger|locator)="):
            spend(ledger, tt.pure(0.1), locator=wrong)
    ledger.verify()


def test_an_alias_spends_the_same_budget(ledger):
    ledger.create("claims", tt.pure(1))
    ledger.create("claims-old-name", alias_of="claims")
    spend(ledger, tt.pure(0.6), locator="/data/claims.csv")
    with pytest.raises(BudgetError, match="Budget exceeded"):
        spend(ledger, tt.pure(0.6), dataset="claims-old-name", locator="/data/claims.csv")
    spend(ledger, tt.pure(0.4), dataset="claims-old-name", locator="/data/claims.csv")
    assert ledger.remaining("claims").epsilon == ledger.remaining("claims-old-name").epsilon == 0
    with pytest.raises(ParameterError, match="Remove them"):
        ledger.create("third", tt.pure(1), alias_of="claims")
    ledger.verify()


def test_a_part_charges_its_wholes(ledger):
    ledger.create("claims", tt.pure(1), person="patient")
    ledger.create("claims-2025", tt.pure(0.8), part_of="claims")
    ledger.create("claims-2025-11", tt.pure(0.5), part_of="claims-2025")
    ticket = spend(
        ledger, tt.pure(0.5), dataset="claims-2025-11", person="patient", locator="/data/11.csv"
    )
    ticket.store("{}")
    assert ledger.remaining("claims").epsilon == 0.5
    assert ledger.remaining("claims-2025").epsilon == 0.3
    assert ledger.remaining("claims-2025-11").epsilon == 0
    spend(ledger, tt.pure(0.3), dataset="claims", person="patient", locator="/data")
    assert ledger.remaining("claims-2025").epsilon == 0.2  # no more is left of the whole
    with pytest.raises(BudgetError, match="but 'claims' has"):
        spend(ledger, tt.pure(0.3), dataset="claims-2025", person="patient")
    assert ledger.verify().datasets == ("claims", "claims-2025", "claims-2025-11")
    with pytest.raises(ParameterError, match="must protect the same"):
        ledger.create("claims-2024", tt.pure(1), neighbors="replace-one", part_of="claims")


# Raise and close


def test_a_raise_is_an_entry_with_a_reason(ledger):
    ledger.create("claims", tt.pure(1))
    spend(ledger, tt.pure(1))
    head = ledger.raise_budget("claims", tt.pure(1.5), "board, 12 May")
    assert ledger.remaining("claims").epsilon == 0.5
    assert ledger.history("claims")[-1].reason == "board, 12 May"
    assert ledger.verify(head=head).entries == 3
    for budget in (tt.pure(1), tt.pure(1.5), tt.zcdp(9), tt.approx(2, 1e-6)):
        with pytest.raises(ParameterError, match="is not larger"):
            ledger.raise_budget("claims", budget, "no")
    with pytest.raises(ParameterError, match="Give a reason"):
        ledger.raise_budget("claims", tt.pure(2), " ")


def test_a_closed_data_set_admits_nothing_but_stored_releases(ledger):
    ledger.create("claims", tt.pure(1))
    ledger.create("part", tt.pure(1), part_of="claims")
    spend(ledger, tt.pure(0.1), release_id="q3").store("{}")
    ledger.close("claims", "retention ended")
    assert str(ledger.remaining("part")).endswith("closed")
    for dataset in ("claims", "part"):
        with pytest.raises(BudgetError, match="is closed"):
            spend(ledger, tt.pure(0.1), dataset=dataset)
    assert spend(ledger, tt.pure(0.1), release_id="q3").stored == "{}"
    for change in (lambda: ledger.close("claims", "again"),
                   lambda: ledger.raise_budget("claims", tt.pure(2), "no")):  # fmt: skip
        with pytest.raises(ParameterError, match="closed"):
            change()
    ledger.verify()


# Export, verify, clock


def test_export_has_every_entry_and_the_head(ledger, tmp_path):
    ledger.create("claims", tt.pure(1))
    spend(ledger, tt.pure(0.1), release_id="q3").store('{"value": 1}')
    lines, table = tmp_path / "all.jsonl", tmp_path / "all.csv"
    assert ledger.export(lines) == ledger.export(table) == ledger.head
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [record["kind"] for record in records[:-1]] == ["open", "charge", "result"]
    assert records[-1] == {"entries": 3, "head": ledger.head}
    rows = list(csv.reader(table.read_text().splitlines()))
    assert [row[1] for row in rows] == ["kind", "open", "charge", "result", "head"]
    assert rows[-1][-1] == ledger.head
    with pytest.raises(ParameterError, match="cannot be written"):
        ledger.export(tmp_path / "no" / "folder.csv")


def test_a_head_that_is_not_there_shows(ledger):
    head = ledger.create("claims", tt.pure(1))
    assert ledger.verify(head=head).head == head
    assert ledger.verify(head=START)
    with pytest.raises(LedgerIntegrityError, match="entries are missing"):
        ledger.verify(head="ab" * 32)
    with pytest.raises(ParameterError, match="Invalid head="):
        ledger.verify(head="abc")


def test_a_clock_that_is_set_back_changes_nothing(ledger, monkeypatch):
    ledger.create("claims", tt.pure(1))
    spend(ledger, tt.pure(0.5))

    class Earlier(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) - timedelta(days=3650)

    monkeypatch.setattr(accounts, "datetime", Earlier)
    spend(ledger, tt.pure(0.3))
    with pytest.raises(BudgetError):
        spend(ledger, tt.pure(0.3))
    events = ledger.history("claims")
    assert events[2].at < events[1].at
    ledger.verify()


def test_nothing_of_the_data_is_in_an_entry(ledger, tmp_path):
    ledger.create("claims", tt.pure(1))
    spend(ledger, tt.pure(0.5), locator="/data/claims.csv")
    ledger.export(tmp_path / "all.jsonl")
    charge = json.loads((tmp_path / "all.jsonl").read_text().splitlines()[1])["body"]
    assert charge.keys() == {
        "account", "at", "cost", "format", "price", "protection", "request", "user", "version",
    }  # fmt: skip


def test_history_and_plot(ledger):
    ledger.create("claims", tt.approx(1, 1e-6))
    ledger.create("alias", alias_of="claims")
    for _ in range(3):
        spend(ledger, tt.pure(0.1))
    assert [event.kind for event in ledger.history("claims")] == ["open", *["charge"] * 3]
    assert [event.seq for event in ledger.history(last=2)] == [4, 5]
    assert "charged epsilon = 0.1, release" in str(ledger.history("alias")[-1])
    ax = ledger.plot()
    (line,) = [line for line in ax.lines if len(line.get_xdata()) == 4]
    assert line.get_ydata()[-1] == pytest.approx(30)


@pytest.mark.parametrize("place", [5, None, "mysql://host/db", "https://host/office.ledger"])
def test_a_place_that_is_none(place):
    with pytest.raises(ParameterError, match=r"Invalid (ledger|locator)="):
        Ledger(place)


def test_a_ledger_of_an_older_format_is_refused_with_what_to_do(tmp_path, monkeypatch):
    ledger = tt.Ledger(tmp_path / "office.ledger")
    with monkeypatch.context() as older:
        older.setattr("tametail.ledger.accounts.FORMAT", 1)
        ledger.create("claims", tt.pure(1))
    for use in (lambda: ledger.remaining("claims"), ledger.verify, ledger.history):
        with pytest.raises(LedgerError, match=r"before 0\.3.*create a new ledger"):
            use()
