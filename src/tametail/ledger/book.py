"""The ledger as people and programs see it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tametail._fakes import fakes_in_use
from tametail._files import written_beside
from tametail._json import Json
from tametail._shown import shown, shown_path
from tametail._validate import count
from tametail.errors import LedgerIntegrityError, ParameterError
from tametail.ledger.accounts import (
    Account,
    body_of,
    find_account,
    real_name,
    refuse_mixture,
    with_parents,
)
from tametail.ledger.charging import ChargeRequest, Ticket, admit, charge
from tametail.ledger.cost import ADD_REMOVE, Cost, Protection
from tametail.ledger.entries import START, Entry
from tametail.ledger.export import write_csv, write_lines
from tametail.ledger.filter import TotalSpent
from tametail.ledger.identity import Places, check_name, check_places, check_release_id
from tametail.ledger.parts import check_condition
from tametail.ledger.rows import Rows, Storage
from tametail.ledger.show import Event, Remaining, cell, draw, shares
from tametail.ledger.verify import Verified, covers, verify_entries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tametail.privacy.budget import Budget


@dataclass(frozen=True, slots=True)
class Quote:
    """What a release would cost, and what would then be left; nothing was charged."""

    cost: Cost
    price: Cost
    left: Remaining

    def __str__(self) -> str:
        left, price = self.left, self.cost.priced(self.price)
        return f"Dry run: would spend {price} of {left.dataset}. Afterwards, {left.words}."


class Ledger:
    """A durable account of privacy budgets, in a file or on a PostgreSQL server.

    Formal guarantee: for each data set, all releases that were charged to it together satisfy its
    budget, for its privacy unit, also if each was chosen after seeing the results of those
    before (docs/proofs/ledger.md). After a raise that was decided on results, the guarantee is that
    of the largest budget that could have been granted.

    Parameters
    ----------
    place
        The path of a file, which must lie on a local disk, or ``"postgresql://host/database"``.
    allow_network
        Accept a file on a network file system, whose locks may fail.
    timeout
        Seconds to wait for others who write.

    Examples
    --------
    >>> import tempfile, tametail as tt
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = tt.Ledger(f"{folder.name}/office.ledger")
    >>> head = ledger.create("claims-2025", budget=tt.pure(1), person="patient")
    >>> ledger.remaining("claims-2025").epsilon
    1.0
    >>> ledger.verify(head=head).entries
    1
    >>> folder.cleanup()
    """

    def __init__(
        self, place: str | os.PathLike[str], *, allow_network: bool = False, timeout: float = 60.0
    ) -> None:
        self._storage = _storage_at(place, allow_network, timeout)
        self._shown = getattr(self._storage, "shown", os.fspath(place))

    def __repr__(self) -> str:
        return f"Ledger({self._shown!r})"

    def _repr_html_(self) -> str:
        return cell(self._shown, [self.remaining(name) for name in self.datasets()], self.head)

    def create(
        self,
        name: str,
        budget: Budget | None = None,
        neighbors: str | None = None,
        person: str | tuple[str, ...] | None = None,
        *,
        alias_of: str | None = None,
        part_of: str | None = None,
        where: str | None = None,
    ) -> str:
        """Create a data set with its budget; return the head.

        Parameters
        ----------
        name
            Chosen by you. A window of time is a name too: "claims-2025-11".
        budget
            ``pure``, ``zcdp`` or ``approx``: what all releases together may cost.
        neighbors, person
            What is protected: "add-remove" (the default) or "replace-one"; records, or persons, who
            are named by this column.
        alias_of
            Make the name a second one for an existing data set, with its budget.
        part_of
            The data are part of those of another data set, which is charged as well.
        where
            With ``part_of``: the part has the records of the whole with one value in one column,
            such as "year == 2024". Releases on it get this condition.
        """
        name = check_name(name)
        if alias_of is not None:
            return self._create_alias(name, alias_of, (budget, neighbors, person, part_of, where))
        if budget is None:
            raise ParameterError("Missing budget. Use create(name, tametail.pure(1)).")
        if where is not None and part_of is None:
            raise ParameterError("where= requires part_of=, the dataset that this one is part of.")
        condition = None if where is None else check_condition(where)
        with self._storage.writing(create=True) as rows:
            self._storage.follow(rows)
            _refuse_known(rows, name)
            protection = Protection.parse(neighbors or ADD_REMOVE, person)
            whole = None
            if part_of is not None:
                whole, protection = _part(rows, part_of, protection, given=(neighbors, person))
            account = Account(
                name, protection, Cost.of(budget), TotalSpent(), part_of=whole, where=condition,
                fake=fakes_in_use() is not None,
            )  # fmt: skip
            return _append(rows, "open", name, body_of(account))

    def _create_alias(self, name: str, target: str, others: tuple[object, ...]) -> str:
        if any(other is not None for other in others):
            raise ParameterError(
                "alias_of cannot be combined with a budget, neighbors, person, part_of or where: "
                "an alias shares those of its dataset. Remove them."
            )
        with self._storage.writing() as rows:
            _refuse_known(rows, name)
            return _append(rows, "open", name, body_of(alias_of=real_name(rows, target)))

    def condition(self, dataset: str) -> str | None:
        """Return which records of its whole a part has, if a condition says so."""
        with self._storage.reading() as rows:
            return find_account(rows, check_name(dataset)).where

    def charge(
        self,
        dataset: str,
        budget: Budget,
        *,
        neighbors: str = ADD_REMOVE,
        person: object = None,
        request: Json | None = None,
        release_id: str | None = None,
        locator: Places = None,
    ) -> Ticket:
        """Charge a release before any record is read; return when the charge is on disk.

        If ``ticket.stored`` is not None, it is the text that was released under this id before;
        nothing was charged. Otherwise read the data, give ``ticket.store`` the text that is
        released, and only then return it. ``request`` has the arguments that differ from their
        defaults; it must not depend on the data. ``locator`` says where the data lie: a path, an
        address, or several.

        A ``release_id`` stands for one request: another request, budget, privacy unit or place
        under it is refused.
        """
        demand = self._demand(dataset, budget, neighbors, person, request, locator)
        return charge(self._storage, demand, release_id)

    def quote(
        self,
        dataset: str,
        budget: Budget,
        *,
        neighbors: str = ADD_REMOVE,
        person: object = None,
        locator: Places = None,
    ) -> Quote:
        """Return what a release would cost and leave, or refuse it as :meth:`charge` would."""
        demand = self._demand(dataset, budget, neighbors, person, None, locator)
        with self._storage.reading() as rows:
            changed = admit(rows, demand)
        left = Remaining.of([account for _, account in changed])
        return Quote(demand.cost, changed[0][0], left)

    @staticmethod
    def _demand(
        dataset: object,
        budget: object,
        neighbors: object,
        person: object,
        request: Json | None,
        locator: Places,
    ) -> ChargeRequest:
        protection, places = Protection.parse(neighbors, person), check_places(locator)
        return ChargeRequest(
            check_name(dataset), Cost.of(budget), protection, request or {}, places
        )

    def datasets(self) -> list[str]:
        """Return the names of all data sets, in the order of their creation."""
        with self._storage.reading() as rows:
            return rows.datasets()

    def remaining(self, dataset: str) -> Remaining:
        """Return what may still be spent on a data set."""
        with self._storage.reading() as rows:
            return Remaining.of(with_parents(rows, check_name(dataset)))

    def history(self, dataset: str | None = None, last: int | None = None) -> list[Event]:
        """Return who charged what for which release, oldest first; of one data set or of all."""
        most = None if last is None else count(last=last)
        with self._storage.reading() as rows:
            name = None if dataset is None else real_name(rows, check_name(dataset))
            return [Event.of(entry) for entry in rows.latest(name, most)]

    def result(self, release_id: str) -> str | None:
        """Return what was released for this charge, as JSON; None if nothing is stored."""
        with self._storage.reading() as rows:
            entry = rows.result(check_release_id(release_id))
        return None if entry is None else str(entry.read()["result"])

    @property
    def head(self) -> str:
        """The hash of the last entry; note it elsewhere, and a cut-off end will show."""
        with self._storage.reading() as rows:
            last = rows.last()
        return last[1] if last else START

    def verify(self, head: str | None = None) -> Verified:
        """Recompute everything; with a head noted earlier, see that nothing was cut off since.

        Raises :class:`~tametail.errors.LedgerIntegrityError`.
        """
        with self._storage.reading() as rows:
            self._storage.check(rows)
            verified = verify_entries(rows.all())
            if head is not None and head != START and not rows.has(_checked_head(head)):
                raise LedgerIntegrityError(
                    f"Head hash {head} is not in this ledger: entries are missing, or an old copy "
                    "was restored. Do not make releases until you have found the newest copy."
                )
        return verified

    def export(self, path: str | os.PathLike[str]) -> str:
        """Write all entries and the head to a file, ``.csv`` or JSON lines; return the head."""
        write = write_csv if Path(path).suffix == ".csv" else write_lines
        try:
            with written_beside(path) as file, self._storage.reading() as rows:
                return write(rows.all(), file)
        except OSError as error:
            raise ParameterError(
                f"{shown_path(path)} cannot be written: {error.strerror}. Use another file."
            ) from None

    def raise_budget(self, dataset: str, budget: Budget, reason: str) -> str:
        """Grant a larger budget of the same kind, with a recorded reason; return the head hash."""
        with self._storage.writing() as rows:
            self._storage.follow(rows)
            before = _open_account(rows, dataset)
            after = replace(before, budget=Cost.of(budget))
            if not covers(after, before) or after.budget == before.budget:
                raise ParameterError(
                    f"budget={budget} is not larger than {before.budget}, or of another privacy "
                    "definition. Use a larger budget of the same kind. Budgets are never lowered; "
                    "close() ends a dataset."
                )
            body = body_of(after, reason=_reason(reason))
            return _append(rows, "raise", after.dataset, body)

    def close(self, dataset: str, reason: str) -> str:
        """Admit no further charge on a data set; stored releases stay. Return the head."""
        with self._storage.writing() as rows:
            self._storage.follow(rows)
            account = replace(_open_account(rows, dataset), closed=True)
            return _append(rows, "close", account.dataset, body_of(account, reason=_reason(reason)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how much of each budget was spent, charge after charge."""
        with self._storage.reading() as rows:
            names = [name for name in rows.datasets() if real_name(rows, name) == name]
            histories = [(name, shares(rows.latest(name, None))) for name in names]
        return draw(histories, ax)


def _storage_at(place: object, allow_network: bool, timeout: float) -> Storage:
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        from tametail.ledger.postgres import PostgresStorage

        return PostgresStorage(place, timeout=timeout)
    if not isinstance(place, str | os.PathLike) or "://" in os.fspath(place):
        raise ParameterError(
            f"Invalid ledger={shown(place)}. Use the path of a file, such as 'office.ledger', or "
            "'postgresql://host/database'."
        )
    from tametail.ledger.sqlite import SqliteStorage

    return SqliteStorage(Path(place), timeout=timeout, allow_network=allow_network)


def _append(rows: Rows, kind: str, name: str, body: Json) -> str:
    entry = Entry.after(rows.last(), kind, name, body)
    rows.append(entry)
    return entry.hash


def _refuse_known(rows: Rows, name: str) -> None:
    for first in rows.datasets()[:1]:  # a ledger is real or fake as a whole
        refuse_mixture(find_account(rows, first))
    if rows.opening(name) is not None:
        raise ParameterError(
            f"The ledger already has a dataset {shown(name)}. Use another name, or raise_budget()."
        )


def _part(
    rows: Rows, part_of: object, protection: Protection, given: tuple[object, ...]
) -> tuple[str, Protection]:
    """Return the whole and the protection of a part, which is that of the whole."""
    whole = find_account(rows, check_name(part_of))
    if any(value is not None for value in given) and protection != whole.protection:
        raise ParameterError(
            f"{shown(part_of)} protects {whole.protection}, and a part must protect the same. "
            "Remove neighbors and person."
        )
    return whole.dataset, whole.protection


def _open_account(rows: Rows, dataset: object) -> Account:
    account = find_account(rows, check_name(dataset))
    refuse_mixture(account)
    if account.closed:
        raise ParameterError(
            f"Dataset {shown(dataset)} is closed and cannot be reopened. "
            "Nothing was changed, and no budget was spent."
        )
    return account


def _reason(reason: object) -> str:
    if isinstance(reason, str) and reason.strip():
        return reason
    raise ParameterError(f"Invalid reason={shown(reason)}. Give a reason, for the audit.")


def _checked_head(head: object) -> str:
    if (
        isinstance(head, str)
        and len(head) == len(START)
        and not set(head) - set("0123456789abcdef")
    ):
        return head
    raise ParameterError(f"Invalid head={shown(head)}. Use the 64 digits of a head hash.")
