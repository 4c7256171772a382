"""The door for whatever releases: charge, read, store, return, in this order and in one place.

::

    payment = Payment.parse(ledger, dataset, release_id)       # None: no ledger was asked for
    if payment is None:
        return make(None)
    return payment.run(demand, make, write=..., read=...)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tametail._json import Json
from tametail._shown import shown
from tametail.errors import DataError, LedgerError, ParameterError
from tametail.ledger.book import Ledger, Quote
from tametail.ledger.charging import Ticket
from tametail.ledger.identity import Places, check_name, check_release_id
from tametail.privacy.budget import Budget

Released = TypeVar("Released")


@dataclass(frozen=True, slots=True)
class Payment:
    """Which ledger pays for a release, under which name of the data and which id."""

    ledger: Ledger
    dataset: str
    release_id: str | None = None

    @classmethod
    def parse(cls, ledger: object, dataset: object, release_id: object) -> Payment | None:
        """Check the three arguments of a release; None if there is no ledger.

        >>> Payment.parse(None, None, None) is None
        True
        """
        if ledger is None:
            given = [name for name, value in (("dataset", dataset), ("release_id", release_id))
                     if value is not None]  # fmt: skip
            if given:
                raise ParameterError(
                    f"{', '.join(given)} requires a ledger. Add ledger='office.ledger', or remove "
                    "it."
                )
            return None
        if dataset is None:
            raise ParameterError(
                "ledger= requires dataset=, the name of these data in the ledger, such as "
                "dataset='claims-2025'."
            )
        opened = Ledger(ledger) if isinstance(ledger, str | os.PathLike) else ledger
        if not isinstance(opened, Ledger):
            raise ParameterError(f"Invalid ledger={shown(ledger)}. Use tametail.Ledger(path).")
        checked = None if release_id is None else check_release_id(release_id)
        return cls(opened, check_name(dataset), checked)

    def condition(self) -> str | None:
        """Return the condition on the records, if the data set is a part by a condition."""
        try:
            return self.ledger.condition(self.dataset)
        except LedgerError as error:
            read = "" if "No data were read" in str(error) else " No data were read."
            raise type(error)(f"{error}{read}") from None

    def quote(self, *, budget: Budget, neighbors: str, person: object, locator: Places) -> Quote:
        """Return what the release would cost and leave; nothing is charged (``--dry-run``)."""
        return self.ledger.quote(
            self.dataset, budget, neighbors=neighbors, person=person, locator=locator
        )

    def run(
        self,
        make: Callable[[Ticket], Released],
        *,
        write: Callable[[Released], str],
        read: Callable[[str], Released],
        budget: Budget,
        neighbors: str,
        person: object,
        request: Json,
        locator: Places,
    ) -> Released:
        """Release once: charged on disk, then made, then stored on disk, then returned.

        ``make`` is the first that touches a record, and gets the ticket, whose ``head`` belongs to
        the release. If this id and request were released before, ``read`` gets the stored text,
        and nothing is made. Nothing is tried again, and nothing is given back.
        """
        ticket = self.ledger.charge(
            self.dataset,
            budget,
            neighbors=neighbors,
            person=person,
            request=request,
            release_id=self.release_id,
            locator=locator,
        )
        if ticket.stored is not None:
            return read(ticket.stored)
        try:
            released = make(ticket)
        except DataError as error:  # whatever it says itself: this budget is gone
            raise type(error)(f"{error} The ledger has charged this release.") from None
        ticket.store(write(released))
        return released
