"""Verification: everything that can be computed again is, from the first entry to the last.

The filter is monotone: sums never fall, and sums that fit a budget did so all the way. So it is
evaluated once per budget period, at a raise, at the close and at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, Inexact, Rounded
from typing import Final

from tametail._json import Json
from tametail.errors import BudgetError, LedgerIntegrityError
from tametail.ledger.accounts import Account
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import START, Entry, request_hash
from tametail.ledger.filter import TotalSpent
from tametail.ledger.parts import is_within

_SUMS: Final = ("epsilon", "delta", "rho", "concentrated")
# Written in fractions, verified in decimals: two arithmetics, and the second one is quick. What
# would have to be rounded raises an ArithmeticError.
_EXACT: Final = Context(prec=10_000, traps=[Inexact, Rounded])
#: What an entry that nobody could have written makes of the code that reads it.
_ODD: Final = (
    ArithmeticError, AttributeError, BudgetError, KeyError, RecursionError, TypeError, ValueError,
)  # fmt: skip
_SHORTENED: Final = Context(prec=10_000, traps=[Inexact])

#: What to do about a ledger that does not verify.
_ADVICE = "Make no releases until you have restored a copy that verifies."


@dataclass(frozen=True, slots=True)
class Verified:
    """A ledger that is what it says."""

    entries: int
    head: str
    datasets: tuple[str, ...]

    def __str__(self) -> str:
        return f"OK: {self.entries} entries, hash chain intact. Head hash: {self.head}"


class _RunningTotals:
    """An account whose sums grow: what is fixed, as text, and the sums as decimals."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.fixed = account.to_dict()
        given: Json = self.fixed.pop("spent")
        self.sums = [Decimal(given.get(name, 0)) for name in _SUMS]
        self.charges = account.spent.charges

    def add(self, step: list[Decimal]) -> None:
        """Add one charge."""
        self.sums = list(map(_EXACT.add, self.sums, step))
        self.charges += 1

    def as_recorded(self) -> dict[str, str | int]:
        """Return the sums as an entry tells them."""
        shown: dict[str, str | int] = {
            name: str(x.normalize(_SHORTENED))
            for name, x in zip(_SUMS, self.sums, strict=True)
            if x
        }
        return shown | {"charges": self.charges}

    def now(self) -> Account:
        """Return the account with its sums of now."""
        return replace(self.account, spent=TotalSpent.from_dict(self.as_recorded()))


@dataclass(slots=True)
class _VerificationState:
    """What the entries so far imply."""

    accounts: dict[str, _RunningTotals] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    charges: dict[str, str | None] = field(default_factory=dict)
    results: set[str] = field(default_factory=set)
    waiting: list[tuple[str, str, str | None]] = field(default_factory=list)
    """What must still follow the charge before: kind, data set and place of each entry."""
    carried: Json = field(default_factory=dict)
    """The charge that is being carried."""
    prices: dict[tuple[str, str, str], tuple[dict[str, str], list[Decimal]]] = field(
        default_factory=dict
    )
    """Price and what it adds to the sums, of costs met before: there are few."""
    requests: dict[tuple[str, str], str] = field(default_factory=dict)
    """Hashes of requests met before: scheduled jobs ask the same again and again."""


class Verifier:
    """Recomputes chain, requests, prices, sums and filter, entry after entry."""

    def __init__(self) -> None:
        self.number, self.head = 0, START
        self._seen = _VerificationState()

    def follow(self, entries: Iterable[Entry]) -> Verified:
        """Go on with the next entries; raise at the first that is off, and then begin anew."""
        seen, changed = self._seen, set()
        for entry in entries:
            self.number += 1
            changed.add(entry.dataset)
            in_order = entry.seq == self.number and entry.prev == self.head
            if not in_order or entry.hash != entry.digest():
                raise LedgerIntegrityError(
                    f"Entry {self.number} was changed, removed or moved. {_ADVICE}"
                )
            self.head = entry.hash
            place = entry.kind, entry.dataset, entry.place
            is_next = not seen.waiting or seen.waiting[0] == place
            if not is_next or (not seen.waiting and entry.kind in ("part", "place")):
                _fail(entry, "does not match the charge before it")
            try:
                _CHECKS[entry.kind](seen, entry)
            except _ODD as error:
                _fail(entry, f"cannot be read ({type(error).__name__})")
        if seen.waiting:
            raise LedgerIntegrityError(
                f"The last charge is missing in {seen.waiting[0][1]!r}. {_ADVICE}"
            )
        for name in changed & seen.accounts.keys():
            _must_fit(seen.accounts[name].now())
        return Verified(self.number, self.head, tuple(seen.accounts))


def verify_entries(entries: Iterable[Entry]) -> Verified:
    """Recompute everything; raise at the first entry that is off."""
    return Verifier().follow(entries)


def _check_open(seen: _VerificationState, entry: Entry) -> None:
    body = entry.read()
    if entry.dataset in seen.accounts or entry.dataset in seen.aliases:
        _fail(entry, "creates a dataset that already exists")
    if "alias_of" in body:
        if body["alias_of"] not in seen.accounts:
            _fail(entry, "is an alias of an unknown dataset")
        seen.aliases[entry.dataset] = body["alias_of"]
        return
    account = Account.read(entry)
    if account.spent.charges or account.spent.concentrated or account.closed:
        _fail(entry, "starts with a spent budget")
    if account.part_of is not None and account.part_of not in seen.accounts:
        _fail(entry, "is part of an unknown dataset")
    if account.where is not None and account.part_of is None:
        _fail(entry, "has a condition, but is not a part")
    first = next(iter(seen.accounts.values()), None)
    if first is not None and first.account.fake != account.fake:
        _fail(entry, "mixes fake and real datasets")
    seen.accounts[entry.dataset] = _RunningTotals(account)


def _check_charge(seen: _VerificationState, entry: Entry) -> None:
    body = entry.read()
    if entry.release is None or entry.release in seen.charges:
        _fail(entry, "charges a release twice")
    key = entry.dataset, repr(body["request"])
    if key not in seen.requests:
        seen.requests[key] = request_hash(entry.dataset, body["request"])
    if entry.request != seen.requests[key]:
        _fail(entry, "has a request that does not match its hash")
    seen.charges[entry.release or ""] = entry.request
    _check_sums(seen, entry, body)
    where = seen.accounts[entry.dataset].account.where
    if where is not None and not is_within(body["request"], where):
        _fail(entry, "does not have the condition of the part")
    seen.carried = {"release": entry.release, "of": entry.dataset, "cost": body["cost"]}
    part_of = seen.accounts[entry.dataset].account.part_of
    while part_of is not None:
        seen.waiting.append(("part", part_of, None))
        part_of = seen.accounts[part_of].account.part_of
    first, *more = body.get("places") or [entry.place]
    if first != entry.place:
        _fail(entry, "lists data locations that do not match")
    seen.waiting.extend(("place", entry.dataset, place) for place in more)


def _check_part(seen: _VerificationState, entry: Entry) -> None:
    body = entry.read()
    del seen.waiting[0]
    given = {"release": entry.release, "of": body["of"], "cost": body["cost"]}
    if given != seen.carried:
        _fail(entry, "does not match the charge before it")
    _check_sums(seen, entry, body)


def _check_place(seen: _VerificationState, entry: Entry) -> None:
    body = entry.read()
    del seen.waiting[0]
    if entry.release != seen.carried["release"] or "account" in body:
        _fail(entry, "lists a location of another charge")


def _check_sums(seen: _VerificationState, entry: Entry, body: Json) -> None:
    """Check price and sums of a charge."""
    running = seen.accounts[entry.dataset]
    if running.account.closed:
        _fail(entry, "charges a closed dataset")
    key = entry.dataset, repr(body["protection"]), repr(body["cost"])
    if key not in seen.prices:
        seen.prices[key] = _price(running.account, body)
    price, step = seen.prices[key]
    running.add(step)
    given = body["account"]
    spent = given.pop("spent")
    if body["price"] != price or given != running.fixed or spent != running.as_recorded():
        _fail(entry, "has a cost or totals that do not match")


def _price(account: Account, body: Json) -> tuple[dict[str, str], list[Decimal]]:
    cost, protection = Cost.from_dict(body["cost"]), Protection.from_dict(body["protection"])
    price = account.protection.price(cost, of=protection)
    step = TotalSpent().plus(price).to_dict()
    return price.to_dict(), [Decimal(step.get(name, 0)) for name in _SUMS]


def _check_raise(seen: _VerificationState, entry: Entry) -> None:
    body = entry.read()
    before = seen.accounts[entry.dataset].now()
    _must_fit(before)
    after = replace(before, budget=Cost.from_dict(body["account"]["budget"]))
    if before.closed or body["account"] != after.to_dict() or not covers(after, before):
        _fail(entry, "raises a budget to a value that is not larger")
    seen.accounts[entry.dataset] = _RunningTotals(after)


def covers(after: Account, before: Account) -> bool:
    """Say whether a budget has the definition of the one before it and is smaller in no number."""
    new, old = after.budget, before.budget
    pairs = [(new.epsilon, old.epsilon), (new.delta, old.delta), (new.rho, old.rho)]
    return all(bool(x) == bool(y) and x >= y for x, y in pairs)


def _check_close(seen: _VerificationState, entry: Entry) -> None:
    body = entry.read()
    before = seen.accounts[entry.dataset].now()
    after = replace(before, closed=True)
    if before.closed or body["account"] != after.to_dict():
        _fail(entry, "closes or changes a closed dataset")
    seen.accounts[entry.dataset] = _RunningTotals(after)


def _check_result(seen: _VerificationState, entry: Entry) -> None:
    body = entry.read()
    release = entry.release or ""
    if release in seen.results or release not in seen.charges:
        _fail(entry, "is a result without a charge, or a second result")
    if seen.charges[release] != entry.request or not isinstance(body["result"], str):
        _fail(entry, "is the result of another request")
    seen.results.add(release)


_CHECKS = {
    "open": _check_open,
    "charge": _check_charge,
    "part": _check_part,
    "place": _check_place,
    "raise": _check_raise,
    "close": _check_close,
    "result": _check_result,
}


def _must_fit(account: Account) -> None:
    if not account.sound:
        raise LedgerIntegrityError(
            f"The charges of {account.dataset!r} exceed its budget. {_ADVICE}"
        )


def _fail(entry: Entry, why: str) -> None:
    raise LedgerIntegrityError(
        f"Entry {entry.seq} ({entry.kind} of {entry.dataset!r}) {why}. {_ADVICE}"
    )
