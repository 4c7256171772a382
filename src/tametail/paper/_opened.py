"""The data of a function of the paper: opened, paid for, and only then read."""

from __future__ import annotations

from dataclasses import dataclass

from tametail.ask import Ask, Data
from tametail.charged_calls import ChargeableCall
from tametail.data import Backend
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget


@dataclass(frozen=True, slots=True)
class Opened:
    """Data of which only the schema is known so far, and who may ask them what."""

    asked_for: Budget
    budget: Budget
    """What may be spent: the largest doubles not above the decimals that were asked for."""
    backend: Backend
    ask: Ask

    @classmethod
    def of(cls, data: object, budget: Budget, *, several: bool = False) -> Opened:
        """Open data; the paper's neighbors differ in one record, and the size is public."""
        from tametail.data.open import open_one, open_rows  # pyarrow: not at import

        backend = open_rows(data) if several else open_one(data)
        spendable = budget.spendable()
        ask = Ask(Data(backend), spendable, Adjacency.REPLACE_ONE)
        return cls(budget, spendable, backend, ask)

    @property
    def size(self) -> int:
        """The number of records; to know it is to read the data."""
        return self.backend.size

    def call(self, function: str, **arguments: object) -> ChargeableCall:
        """Return what a ledger is told of a call: its public arguments."""
        columns = list(self.backend.relation.names)
        told = {"columns": columns, **arguments}
        return ChargeableCall(
            function, self.asked_for, Adjacency.REPLACE_ONE, told, self.backend.locators
        )
