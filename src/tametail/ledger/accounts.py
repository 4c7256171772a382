"""Accounts: the state of a data set, as its entries state it, and how an entry changes it.

Every entry of an account holds its budget and running sums. The last one is all that a charge needs
to read; nothing is ever updated.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version

from tametail._fakes import fakes_in_use
from tametail._json import Json
from tametail._shown import shown
from tametail.errors import BudgetError, ParameterError
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import FORMAT, Entry
from tametail.ledger.filter import TotalSpent, admits
from tametail.ledger.rows import Rows


@dataclass(frozen=True, slots=True)
class Account:
    """A data set: what it protects, what may be spent and what has been."""

    dataset: str
    protection: Protection
    budget: Cost
    spent: TotalSpent
    closed: bool = False
    part_of: str | None = None
    where: str | None = None
    """Which records of the whole a part has, if a condition says so."""
    fake: bool = False
    """Whether it was created where releases are made up (:mod:`tametail.testing`)."""

    def after(self, price: Cost) -> Account:
        """Return the account after a charge, whether or not the budget admits it."""
        return replace(self, spent=self.spent.plus(price))

    @property
    def sound(self) -> bool:
        """Whether the budget admits what is spent."""
        return admits(self.budget, self.spent)

    def to_dict(self) -> Json:
        """Return the account as plain values, for the body of an entry."""
        return (
            self.protection.to_dict()
            | {
                "budget": self.budget.to_dict(),
                "spent": self.spent.to_dict(),
                "closed": self.closed,
                "part_of": self.part_of,
            }
            | ({} if self.where is None else {"where": self.where})
            | ({"fake": True} if self.fake else {})
        )

    @classmethod
    def read(cls, entry: Entry) -> Account:
        """Return the account as an entry states it."""
        state = entry.read()["account"]
        return cls(
            entry.dataset,
            Protection.from_dict(state),
            Cost.from_dict(state["budget"]),
            TotalSpent.from_dict(state["spent"]),
            state["closed"],
            state["part_of"],
            state.get("where"),
            state.get("fake", False),
        )


def real_name(rows: Rows, name: str) -> str:
    """Return the data set that a name stands for, itself or the one it is an alias of."""
    opening = rows.opening(name)
    if opening is None:
        known = ", ".join(rows.datasets()) or "none"
        raise ParameterError(
            f"No dataset {shown(name)} in this ledger. Datasets: {known}. Check the name, or "
            f"create it with ledger.create({shown(name)}, budget=..., neighbors or person). No "
            "data were read and no budget was spent."
        )
    alias = opening.read().get("alias_of")
    return name if alias is None else str(alias)


def find_account(rows: Rows, name: str) -> Account:
    """Return the account of a data set, under whichever of its names."""
    entry = rows.account(real_name(rows, name))
    if entry is None:
        raise ParameterError(f"The ledger has no account for {shown(name)}. Verify the ledger.")
    return Account.read(entry)


def refuse_mixture(account: Account) -> None:
    """Refuse a real data set where releases are made up, and a fake one where they are not."""
    fake = fakes_in_use() is not None
    if account.fake == fake:
        return
    if fake:
        raise BudgetError(
            f"Dataset {account.dataset!r} is real, but inside tametail.testing.fake_releases() all "
            "releases are fake. Create another ledger there. Nothing was changed and no budget was "
            "spent."
        )
    raise BudgetError(
        f"Dataset {account.dataset!r} is fake: it was created inside "
        "tametail.testing.fake_releases(). Create a ledger outside of it. No data were read and no "
        "budget was spent."
    )


def with_parents(rows: Rows, name: str) -> list[Account]:
    """Return the account of a data set and those of everything that it is part of."""
    return list(_climb(rows, name))  # it ends: a whole is older than its parts


def _climb(rows: Rows, name: str | None) -> Iterator[Account]:
    while name is not None:
        account = find_account(rows, name)
        yield account
        name = account.part_of


def body_of(account: Account | None = None, **fields: object) -> Json:
    """Return the body of an entry, with who wrote it, when and with which version."""
    noted = {
        "format": FORMAT,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),  # a note: `seq` orders
        "user": _user(),
        "version": _version(),
    }
    state = {} if account is None else {"account": account.to_dict()}
    return noted | state | {name: value for name, value in fields.items() if value is not None}


@lru_cache(maxsize=1)
def _version() -> str:
    return version("tametail")


@lru_cache(maxsize=1)
def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container whose user has no name
        return "unknown"
