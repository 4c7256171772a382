"""Who pays: the three arguments ``ledger``, ``dataset`` and ``release_id`` of all that releases.

A release is charged on disk, then made, then stored on disk, then returned, in this order
(:mod:`tametail.ledger.payment`). Nothing of the ledger is imported as long as nobody names one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tametail._fakes import refuse_fakes
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget

if TYPE_CHECKING:
    from tametail.ledger import Payment

Released = TypeVar("Released")


def payment_of(ledger: object, dataset: object, release_id: object) -> Payment | None:
    """Check the three arguments; None if there is no ledger.

    >>> payment_of(None, None, None) is None
    True
    """
    if ledger is None and dataset is None and release_id is None:
        return None
    from tametail.ledger import Payment

    return Payment.parse(ledger, dataset, release_id)


def _as_it_is(released: Any) -> Any:
    return released


@dataclass(frozen=True, slots=True)
class ChargeableCall:
    """What a ledger is told about a function that releases plain numbers: public arguments only."""

    function: str
    budget: Budget
    adjacency: Adjacency
    arguments: Mapping[str, object]
    locators: tuple[str, ...] = ()
    """Where the data lie, if they have a place."""

    def run_charged(
        self,
        payment: Payment | None,
        make: Callable[[], Released],
        *,
        write: Callable[[Released], object] = _as_it_is,
        read: Callable[..., Released] = _as_it_is,
    ) -> Released:
        """Return what ``make`` releases, once it is paid for; ``make`` is the first to read data.

        ``write`` gives plain values of what was released, and ``read`` undoes that, for whoever
        asks again under the same id; neither is needed where those are released.
        """
        refuse_fakes(self.function)
        if payment is None:
            return make()
        return payment.run(
            lambda _ticket: make(),
            write=lambda released: json.dumps(write(released)),
            read=lambda text: read(json.loads(text)),
            budget=self.budget,
            neighbors=self.adjacency.value,
            person=None,
            request={"function": self.function, **self.arguments},
            locator=self.locators,
        )
