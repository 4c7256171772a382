"""A charge: made in one transaction, and on disk before the first record is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast
from uuid import uuid4

from tametail._json import Json
from tametail._shown import shown, shown_path
from tametail.errors import BudgetError, LedgerError, ParameterError, ResultNotStoredError
from tametail.ledger.accounts import (
    Account,
    body_of,
    find_account,
    real_name,
    refuse_mixture,
    with_parents,
)
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import Entry, request_hash
from tametail.ledger.identity import check_release_id, folders_above, inside
from tametail.ledger.parts import is_within
from tametail.ledger.rows import Rows, Storage
from tametail.ledger.show import refusal_message


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """What a release asks of a ledger: public numbers only."""

    dataset: str
    cost: Cost
    protection: Protection
    request: Json
    places: tuple[str, ...] = ()


@dataclass(slots=True)
class Ticket:
    """The proof of a charge: read the data, then :meth:`store` what is released, then return it.

    ``stored`` is not None if this id was released before; nothing was charged then, and no data
    must be read.
    """

    dataset: str
    release_id: str
    head: str
    """The hash of the charge; note it elsewhere, and a ledger that was cut off shows."""
    stored: str | None
    _request: str = field(repr=False)
    _storage: Storage = field(repr=False)

    @property
    def receipt(self) -> dict[str, str]:
        """What a release says about its charge; the head is known before the data are read."""
        return {"dataset": self.dataset, "release_id": self.release_id, "head": self.head}

    def store(self, result: str) -> str:
        """Put the released text on disk, for whoever asks again; return the new head."""
        try:
            with self._storage.writing() as rows:
                if rows.result(self.release_id) is not None:
                    raise LedgerError(f"Release {self.release_id!r} already has a stored result.")
                entry = Entry.after(
                    rows.last(),
                    "result",
                    self.dataset,
                    body_of(result=result),
                    release=self.release_id,
                    request=self._request,
                )
                rows.append(entry)
        except LedgerError as error:
            raise LedgerError(
                f"{error} The result was not stored and is not returned. The budget of release "
                f"{self.release_id!r} is spent."
            ) from None
        return entry.hash


def charge(storage: Storage, demand: ChargeRequest, release_id: str | None) -> Ticket:
    """Charge a release; return only when that is on disk.

    The same explicit id and request: the stored result, free. The same id without a result:
    :class:`ResultNotStoredError`. Another request under a used id, or a budget that does not admit
    it: :class:`BudgetError`, and nothing is spent.
    """
    release = uuid4().hex if release_id is None else check_release_id(release_id)
    try:
        return _charge(storage, demand, release, named=release_id is not None)
    except LedgerError as error:
        raise type(error)(
            f"{error} No data were read. Repeating the request with the same release_id never "
            "charges twice."
        ) from None


def _charge(storage: Storage, demand: ChargeRequest, release: str, *, named: bool) -> Ticket:
    request = cast("Json", plain(demand.request))
    with storage.writing() as rows:
        name = real_name(rows, demand.dataset)
        refuse_mixture(find_account(rows, name))
        digest = request_hash(name, request)
        earlier = rows.charge(release) if named else None
        if earlier is not None:
            stored = _stored(rows, earlier, demand, digest)
            return Ticket(name, release, earlier.hash, stored, digest, storage)
        storage.follow(rows)
        changed = admit(rows, demand)
        _refuse_outside(changed[0][1], request)
        head = _write(rows, demand, changed, release, digest, request)
    return Ticket(name, release, head, None, digest, storage)


def admit(rows: Rows, demand: ChargeRequest) -> list[tuple[Cost, Account]]:
    """Return price and account after the charge, for the data set and all that it is part of."""
    changed = []
    for account in with_parents(rows, demand.dataset):
        price = account.protection.price(demand.cost, of=demand.protection)
        after = account.after(price)
        if account.closed or not after.sound:
            last = rows.latest(account.dataset, 3)
            raise BudgetError(refusal_message(account, demand.cost, price, last))
        changed.append((price, after))
    for place in demand.places:
        _refuse_second_name(rows, place, [account.dataset for _, account in changed])
    return changed


def _write(
    rows: Rows,
    demand: ChargeRequest,
    changed: list[tuple[Cost, Account]],
    release: str,
    digest: str,
    request: Json,
) -> str:
    """Append the charge, its copies for the wholes, and more places; return the charge's hash."""
    asked = {"cost": demand.cost.to_dict(), "protection": demand.protection.to_dict()}
    name, places = changed[0][1].dataset, [*demand.places]

    def write(kind: str, dataset: str, body: Json, **columns: str | None) -> str:
        entry = Entry.after(rows.last(), kind, dataset, body, release=release, **columns)
        rows.append(entry)
        return entry.hash

    price, account = changed[0]
    noted = {"request": request, "places": places if len(places) > 1 else None, **asked}
    body = body_of(account, price=price.to_dict(), **noted)
    head = write("charge", name, body, request=digest, place=places[0] if places else None)
    for price, account in changed[1:]:
        noted = {"price": price.to_dict(), "of": name, **asked}
        write("part", account.dataset, body_of(account, **noted))
    for place in places[1:]:
        write("place", name, body_of(), place=place)
    return head


def _stored(rows: Rows, earlier: Entry, demand: ChargeRequest, digest: str) -> str:
    """Return the stored result of a charge, if everything that it depends on is as it was."""
    release, body = str(earlier.release), earlier.read()
    same = {
        "request": earlier.request == digest,
        "budget": body["cost"] == demand.cost.to_dict(),
        "privacy unit": body["protection"] == demand.protection.to_dict(),
        "data": set(earlier.places) == set(demand.places),
    }
    others = [what for what, is_same in same.items() if not is_same]
    if "request" in others:
        parts = _differing(body["request"] or {}, cast("Json", plain(demand.request)) or {})
        others = [*parts, *others[1:]] or others
    if others:
        now, then = _shown_places(demand.places), _shown_places(earlier.places)
        given = "" if same["data"] else f" It was used for {then}; this request is for {now}."
        raise BudgetError(
            f"release_id={shown(release)} was used for another request on {earlier.dataset!r}: "
            f"another {', another '.join(others)}.{given} Use a new release_id, or repeat the "
            "earlier request. No data were read and no budget was spent."
        )
    result = rows.result(release)
    if result is None:
        raise ResultNotStoredError(
            f"Release {shown(release)} was charged (entry {earlier.seq}) but has no stored result: "
            "it is still running, or it crashed. Its budget is spent. To run it again, use a new "
            "release_id; this spends budget again."
        )
    return str(result.read()["result"])


#: What parts of a request are called; the others as their arguments. Of the budget and of whom it
#: protects the charge speaks by itself.
_PARTS: Final = {"where": "condition", "columns": "column", "groups": "grouping"}
_SAID: Final = ("budget", "format", "neighbors", "person")


def _differing(then: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """Return which parts of a request are others, in words; both are in the ledger already."""
    names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    return [_PARTS.get(name, name) for name in names if name not in _SAID]


def _shown_places(places: Sequence[str]) -> str:
    """Return where data lie, in words."""
    if not places:
        return "data without a path, such as a frame"
    more = f" and {len(places) - 1} more places" if len(places) > 1 else ""
    return f"{shown_path(places[0])}{more}"


def _refuse_outside(account: Account, request: Json) -> None:
    """Refuse what may be about other records than those of a part by a condition."""
    if account.where is not None and not is_within(request, account.where):
        raise BudgetError(
            f"Dataset {account.dataset!r} is the part of {account.part_of!r} where "
            f"{account.where}. This request does not have that condition. Use tametail.mean, which "
            f"adds it, or charge {account.part_of!r}. No data were read and no budget was spent."
        )


def _refuse_second_name(rows: Rows, place: str, names: list[str]) -> None:
    """Refuse data that were charged under a name that is neither this one nor a whole of it.

    Parts of one whole by conditions may lie in one file: each release has its part's condition.
    """
    used = rows.names_at(folders_above(place))
    for low, high in inside(place):
        used |= rows.names_between(low, high)
    mine = find_account(rows, names[0])
    for name in sorted(used - set(names)):
        other, *wholes = with_parents(rows, name)
        is_whole_of_it = mine.dataset in {whole.dataset for whole in wholes}
        is_beside_it = mine.where and other.where and mine.part_of == other.part_of
        if not is_whole_of_it and not is_beside_it:
            raise BudgetError(_second_name(place, mine, other))


def _second_name(place: str, mine: Account, other: Account) -> str:
    """Return why data under a second name are refused, and what to do."""
    whole = other.part_of if other.part_of == mine.part_of else None
    split = (
        "To give records of one file budgets of their own, create parts by a condition: "
        f"create('{mine.dataset} A', budget, part_of={whole or other.dataset!r}, "
        'where="year == 2024").'
    )
    same = f"If they are the same data, use dataset={other.dataset!r}"
    alias = "" if whole else f", or create a second name for it with alias_of={other.dataset!r}"
    return (
        f"{place!r}, or data that overlap it, were charged as dataset {other.dataset!r}. "
        f"{same}{alias}. {split} No data were read and no budget was spent."
    )


def plain(value: object) -> object:
    """Return a request as plain values for JSON; infinities become text.

    >>> plain({"within": (0.0, float("inf"))})
    {'within': [0.0, 'inf']}
    """
    if isinstance(value, bool | str | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    raise ParameterError(f"Invalid request={shown(value)}. Use numbers, text, lists and dicts.")
