"""Verification: everything that can be computed again is, from the first entry to the last.

The filter is monotone: sums never fall, and sums that fit a budget did so all the way. So it is
evaluated once per budget period, at a raise, at the close and at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tametail.errors import BudgetError, TamperedLedger
from tametail.ledger.accounts import Account
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import START, Entry, request_hash


@dataclass(frozen=True, slots=True)
class Verified:
    """A ledger that is what it says."""

    entries: int
    head: str
    datasets: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.entries} entries follow from each other; head {self.head}"


@dataclass(slots=True)
class _Seen:
    """What the entries so far imply."""

    accounts: dict[str, Account] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    charges: dict[str, str | None] = field(default_factory=dict)
    results: set[str] = field(default_factory=set)
    waiting: list[str] = field(default_factory=list)
    """Wholes that the charge before must still be carried to."""
    carried: dict[str, Any] = field(default_factory=dict)
    """The charge that is being carried."""
    prices: dict[tuple[str, str, str], Cost] = field(default_factory=dict)
    """Of costs met before: there are few, and fractions are slow to read."""


def verify_entries(entries: Iterable[Entry]) -> Verified:
    """Recompute chain, requests, prices, sums and filter; raise at the first thing that is off."""
    seen = _Seen()
    prev, number = START, 0
    for entry in entries:
        number += 1
        in_order = entry.seq == number and entry.prev == prev
        if not in_order or entry.hash != entry.digest():
            raise TamperedLedger(f"entry {number} was changed, removed or moved.")
        prev = entry.hash
        try:
            _CHECKS[entry.kind](seen, entry, entry.read())
        except (KeyError, TypeError, ValueError, ArithmeticError, BudgetError) as error:
            _fail(entry, f"cannot be understood ({type(error).__name__})")
    if seen.waiting:
        raise TamperedLedger(f"the last charge is not carried to {seen.waiting[0]!r}.")
    for account in seen.accounts.values():
        _must_fit(account)
    return Verified(number, prev, tuple(seen.accounts))


def _check_open(seen: _Seen, entry: Entry, body: dict[str, Any]) -> None:
    known = entry.dataset in seen.accounts or entry.dataset in seen.aliases
    if known or seen.waiting:
        _fail(entry, "creates a data set that exists")
    if "alias_of" in body:
        if body["alias_of"] not in seen.accounts:
            _fail(entry, "is an alias of nothing")
        seen.aliases[entry.dataset] = body["alias_of"]
        return
    account = Account.read(entry)
    if account.spent.charges or account.spent.concentrated or account.closed:
        _fail(entry, "starts with something spent")
    if account.part_of is not None and account.part_of not in seen.accounts:
        _fail(entry, "is part of nothing")
    seen.accounts[entry.dataset] = account


def _check_charge(seen: _Seen, entry: Entry, body: dict[str, Any]) -> None:
    if entry.release is None or entry.release in seen.charges or seen.waiting:
        _fail(entry, "charges a release again, or too early")
    if entry.request != request_hash(entry.dataset, body["request"]):
        _fail(entry, "has another request than its hash says")
    seen.charges[entry.release or ""] = entry.request
    account = _charged(seen, entry, body)
    seen.carried = {"release": entry.release, "of": entry.dataset, "cost": body["cost"]}
    part_of = account.part_of
    while part_of is not None:
        seen.waiting.append(part_of)
        part_of = seen.accounts[part_of].part_of


def _check_part(seen: _Seen, entry: Entry, body: dict[str, Any]) -> None:
    told = {"release": entry.release, "of": body["of"], "cost": body["cost"]}
    if not seen.waiting or seen.waiting.pop(0) != entry.dataset or told != seen.carried:
        _fail(entry, "carries another charge than the one before it")
    _charged(seen, entry, body)


def _charged(seen: _Seen, entry: Entry, body: dict[str, Any]) -> Account:
    """Check price and sums of a charge; keep and return the account after it."""
    before = seen.accounts[entry.dataset]
    if before.closed:
        _fail(entry, "charges a data set that is closed")
    protected, asked = body["protection"], body["cost"]
    key = entry.dataset, repr(protected), repr(asked)
    if key not in seen.prices:
        cost, protection = Cost.from_dict(asked), Protection.from_dict(protected)
        seen.prices[key] = before.protection.price(cost, of=protection)
    price = seen.prices[key]
    after = before.after(price)
    if body["price"] != price.to_dict() or body["account"] != after.to_dict():
        _fail(entry, "states a price or sums that do not follow")
    seen.accounts[entry.dataset] = after
    return after


def _check_raise(seen: _Seen, entry: Entry, body: dict[str, Any]) -> None:
    before = seen.accounts[entry.dataset]
    _must_fit(before)
    after = replace(before, budget=Cost.from_dict(body["account"]["budget"]))
    if before.closed or body["account"] != after.to_dict() or not covers(after, before):
        _fail(entry, "raises a budget to what is not more")
    seen.accounts[entry.dataset] = after


def covers(after: Account, before: Account) -> bool:
    """Say whether a budget has the notion of the one before it and is smaller in no number."""
    new, old = after.budget, before.budget
    pairs = [(new.epsilon, old.epsilon), (new.delta, old.delta), (new.rho, old.rho)]
    return all(bool(x) == bool(y) and x >= y for x, y in pairs)


def _check_close(seen: _Seen, entry: Entry, body: dict[str, Any]) -> None:
    before = seen.accounts[entry.dataset]
    after = replace(before, closed=True)
    if before.closed or body["account"] != after.to_dict():
        _fail(entry, "closes what is closed, or changes it")
    seen.accounts[entry.dataset] = after


def _check_result(seen: _Seen, entry: Entry, body: dict[str, Any]) -> None:
    release = entry.release or ""
    if release in seen.results or release not in seen.charges:
        _fail(entry, "is a result without a charge, or a second one")
    if seen.charges[release] != entry.request or not isinstance(body["result"], str):
        _fail(entry, "is the result of another request")
    seen.results.add(release)


_CHECKS = {
    "open": _check_open,
    "charge": _check_charge,
    "part": _check_part,
    "raise": _check_raise,
    "close": _check_close,
    "result": _check_result,
}


def _must_fit(account: Account) -> None:
    if not account.sound:
        raise TamperedLedger(f"more was charged to {account.dataset!r} than its budget admits.")


def _fail(entry: Entry, why: str) -> None:
    raise TamperedLedger(f"entry {entry.seq} ({entry.kind} of {entry.dataset!r}) {why}.")
