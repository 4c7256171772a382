"""The data of a function of the paper: opened, paid for, and only then read."""

from __future__ import annotations

from dataclasses import dataclass

from tametail.ask import Ask, Data
from tametail.engines import Engine
from tametail.paying import Bill
from tametail.privacy.budget import Budget
from tametail.privacy.unit import Unit


@dataclass(frozen=True, slots=True)
class Opened:
    """Data of which only the schema is known so far, and who may ask them what."""

    data: object
    asked_for: Budget
    budget: Budget
    """What may be spent: the largest doubles not above the decimals that were asked for."""
    engine: Engine
    ask: Ask

    @classmethod
    def of(cls, data: object, budget: Budget, *, several: bool = False) -> Opened:
        """Open data; the paper's neighbours differ in one record, and the size is public."""
        from tametail.engines.open import open_one, open_rows  # pyarrow: not at import

        engine = open_rows(data) if several else open_one(data)
        spendable = budget.spendable()
        return cls(data, budget, spendable, engine, Ask(Data(engine), spendable, Unit.REPLACE_ONE))

    @property
    def size(self) -> int:
        """The number of records; to know it is to read the data."""
        return self.engine.size

    def bill(self, function: str, **arguments: object) -> Bill:
        """Return what a ledger is told of a call: its public arguments."""
        return Bill(function, self.asked_for, Unit.REPLACE_ONE, arguments, self.data)
