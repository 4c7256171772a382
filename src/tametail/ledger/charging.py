"""A charge: made in one transaction, and on disk before the first record is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast
from uuid import uuid4

from tametail._json import Json
from tametail._shown import shown
from tametail.errors import BudgetError, LedgerError, LostRelease, ParameterError
from tametail.ledger.accounts import Account, body_of, real_name, with_wholes
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import Entry, request_hash
from tametail.ledger.identity import check_release_id, folders_above, inside
from tametail.ledger.rows import Rows, Storage
from tametail.ledger.show import refusal


@dataclass(frozen=True, slots=True)
class Demand:
    """What a release asks of a ledger: public numbers only."""

    dataset: str
    cost: Cost
    protection: Protection
    request: Json
    place: str | None = None


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
                    raise LedgerError(f"a result of {self.release_id!r} is stored already.")
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
                f"{error} The result was not stored and is not returned; the budget of release "
                f"{self.release_id!r} is spent."
            ) from None
        return entry.hash


def charge(storage: Storage, demand: Demand, release_id: str | None) -> Ticket:
    """Charge a release; return only when that is on disk.

    The same explicit id and request: the stored result, free. The same id without a result:
    :class:`LostRelease`. Another request under a used id, or a budget that does not admit it:
    :class:`BudgetError`, and nothing is spent.
    """
    release = uuid4().hex if release_id is None else check_release_id(release_id)
    try:
        return _charge(storage, demand, release, named=release_id is not None)
    except LedgerError as error:
        raise type(error)(
            f"{error} No data were read. Asking again under a release_id never charges twice."
        ) from None


def _charge(storage: Storage, demand: Demand, release: str, *, named: bool) -> Ticket:
    request = cast("Json", plain(demand.request))
    with storage.writing() as rows:
        name = real_name(rows, demand.dataset)
        digest = request_hash(name, request)
        earlier = rows.charge(release) if named else None
        if earlier is not None:
            stored = _stored(rows, earlier, release, digest)
            return Ticket(name, release, earlier.hash, stored, digest, storage)
        changed = admit(rows, demand)
        head = _write(rows, demand, changed, release, digest, request)
    return Ticket(name, release, head, None, digest, storage)


def admit(rows: Rows, demand: Demand) -> list[tuple[Cost, Account]]:
    """Return price and account after the charge, for the data set and all that it is part of."""
    changed = []
    for account in with_wholes(rows, demand.dataset):
        price = account.protection.price(demand.cost, of=demand.protection)
        after = account.after(price)
        if account.closed or not after.sound:
            raise BudgetError(refusal(account, price, rows.latest(account.dataset, 3)))
        changed.append((price, after))
    _refuse_second_name(rows, demand.place, [account.dataset for _, account in changed])
    return changed


def _write(
    rows: Rows,
    demand: Demand,
    changed: list[tuple[Cost, Account]],
    release: str,
    digest: str,
    request: Json,
) -> str:
    """Append the charge, and its copies for the wholes; return the hash of the charge."""
    heads = []
    asked = {"cost": demand.cost.to_dict(), "protection": demand.protection.to_dict()}
    for index, (price, account) in enumerate(changed):
        first = index == 0
        noted = {"request": request, **asked} if first else {"of": changed[0][1].dataset, **asked}
        entry = Entry.after(
            rows.last(),
            "charge" if first else "part",
            account.dataset,
            body_of(account, price=price.to_dict(), **noted),
            release=release,
            request=digest if first else None,
            place=demand.place if first else None,
        )
        rows.append(entry)
        heads.append(entry.hash)
    return heads[0]


def _stored(rows: Rows, earlier: Entry, release: str, digest: str) -> str:
    if earlier.request != digest:
        raise BudgetError(
            f"release_id={shown(release)} was used for another request on {earlier.dataset!r}: "
            "write "
            "another id, or ask as before. Nothing was read, nothing was spent."
        )
    result = rows.result(release)
    if result is None:
        raise LostRelease(
            f"release {shown(release)} was charged (entry {earlier.seq}), and no result of it is "
            "stored: it is still being made, or it crashed. It counts as spent, since data may "
            "have been read; there are no refunds. A new release_id pays again."
        )
    return str(result.read()["result"])


def _refuse_second_name(rows: Rows, place: str | None, names: list[str]) -> None:
    """Refuse data that were charged under a name that is neither this one nor a whole of it."""
    if place is None:
        return
    used = rows.names_at(folders_above(place))
    for low, high in inside(place):
        used |= rows.names_between(low, high)
    mine = names[0]
    others = sorted(
        name
        for name in used - set(names)
        if mine not in {account.dataset for account in with_wholes(rows, name)}
    )
    if others:
        raise BudgetError(
            f"{place!r}, or data that overlap it, were charged as data set {others[0]!r}: write "
            f"dataset={others[0]!r}; or, if {mine!r} is a part with a budget of its own, create it "
            f"with part_of={others[0]!r}, or as a second name with alias_of={others[0]!r}. "
            "Nothing was read, nothing was spent."
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
    raise ParameterError(
        f"request={shown(value)} is not plain: write numbers, texts, lists, dicts."
    )
