"""What is left and what was spent, for people: values, lines, bars and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from tametail.drawing.axes import new_axes
from tametail.drawing.bars import ledger_bar
from tametail.ledger.accounts import Account
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import Entry
from tametail.ledger.filter import remaining_by_rule
from tametail.markup import element, text
from tametail.privacy.budget import Budget
from tametail.privacy.decimals import printed_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Remaining:
    """What one more release on a data set may cost: any one of these, not all of them.

    ``epsilon`` is the largest pure charge, ``rho`` the largest zCDP charge (0 if none is admitted).
    ``delta`` is what charges with a delta may still use, together with ``epsilon_with_delta``.
    """

    dataset: str
    budget: Budget
    protection: Protection
    epsilon: float
    rho: float
    epsilon_with_delta: float
    delta: float
    share_spent: float
    """The part of its own budget that is spent, between 0 and 1."""
    charges: int
    closed: bool
    part_of: str | None = None
    where: str | None = None
    """The condition on its records, if it is a part by a condition."""
    limited_by: str | None = None
    """What it is part of and has less left than its own budget, if there is such a data set."""
    fake: bool = False
    """Whether it was created where releases are made up (:mod:`tametail.testing`)."""

    @classmethod
    def of(cls, accounts: Sequence[Account]) -> Remaining:
        """Return what is left of a data set, given its account and those of its wholes."""
        account, *wholes = accounts
        own, *others = map(_most, accounts)
        least = map(min, zip(own, *others, strict=True))
        epsilon, rho, epsilon_with_delta, delta = map(printed_below, least)
        limits = [whole.dataset for whole, room in zip(wholes, others, strict=True)
                  if any(x < y for x, y in zip(room, own, strict=True))]  # fmt: skip
        return cls(
            account.dataset,
            account.budget.to_budget(),
            account.protection,
            epsilon,
            rho,
            epsilon_with_delta,
            delta,
            float(_share(account)),
            account.spent.charges,
            any(each.closed for each in accounts),
            account.part_of,
            account.where,
            limits[0] if limits else None,
            account.fake,
        )

    @property
    def _shown(self) -> str:
        return f"FAKE {self.dataset}" if self.fake else self.dataset

    def __str__(self) -> str:
        return f"{self._shown}: {self.words}"

    @property
    def words(self) -> str:
        """What remains, without the name."""
        return "closed" if self.closed else f"remaining budget: {self.remaining}"

    @property
    def remaining(self) -> str:
        """What one more release may cost, which is one of these."""
        choices = [f"epsilon = {self.epsilon:.12g}"]
        if self.rho:
            choices.append(f"rho = {self.rho:.12g}")
        if self.delta:
            choices.append(
                f"epsilon = {self.epsilon_with_delta:.12g} with delta = {self.delta:.12g}"
            )
        limit = f" (limited by {self.limited_by})" if self.limited_by else ""
        return f"{', or '.join(choices)}{limit}"

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a row of :func:`table`."""
        part = "" if self.part_of is None else f"; part of {self.part_of}"
        return (
            self._shown,
            f"{100 * self.share_spent:.1f}%",
            str(self.budget),
            "closed" if self.closed else self.remaining,
            str(self.charges),
            f"{self.protection}{part}{f': {self.where}' if self.where else ''}",
        )


#: What :func:`table` has for columns.
_HEAD = ("dataset", "spent", "budget", "remaining", "releases", "protects")


def table(found: Sequence[Remaining]) -> str:
    """Return budgets as a table for a terminal."""
    return _aligned([_HEAD, *(one.cells() for one in found)])


def history_table(events: Sequence[Event]) -> str:
    """Return the entries of a ledger as a table for a terminal."""
    return _aligned([("#", "time (UTC)", "dataset", "user", "event"), *(e.cells() for e in events)])


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


_ZERO = Fraction(0)


def _most(account: Account) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return the largest epsilon and rho of one more charge; and epsilon and delta of another."""
    found = [] if account.closed else remaining_by_rule(account.budget, account.spent)
    most = max((room for room in found if room.delta), key=lambda room: room.epsilon, default=None)
    return (
        max((room.epsilon for room in found), default=_ZERO),
        max((room.rho for room in found), default=_ZERO),
        _ZERO if most is None else most.epsilon,
        _ZERO if most is None else most.delta,
    )


def _share(account: Account) -> Fraction:
    found = remaining_by_rule(account.budget, account.spent)
    return min((room.share for room in found), default=Fraction(1))


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a data set's history."""

    seq: int
    at: str
    kind: str
    dataset: str
    release_id: str | None
    cost: str | None
    price: str | None
    user: str
    request: object
    reason: str | None
    place: str | None
    hash: str
    budget: str | None = None
    """What was granted, where an entry grants a budget."""

    @classmethod
    def of(cls, entry: Entry) -> Event:
        """Return what an entry says."""
        body = entry.read()
        given = {
            name: str(Cost.from_dict(body[name])) if name in body else None
            for name in ("cost", "price")
        }
        grants = entry.kind in ("open", "raise") and "account" in body
        return cls(
            entry.seq, body["at"], entry.kind, entry.dataset, entry.release, given["cost"],
            given["price"], body["user"], body.get("request"), body.get("reason"), entry.place,
            entry.hash, str(Account.read(entry).budget.to_budget()) if grants else None,
        )  # fmt: skip

    @property
    def words(self) -> str:
        """What happened."""
        return {
            "open": "created" if self.budget is None else f"created, budget {self.budget}",
            "charge": f"charged {self.price}, release {self.release_id}",
            "part": f"charged {self.price}, release {self.release_id} of a part",
            "result": f"stored the result of release {self.release_id}",
            "raise": f"budget raised to {self.budget}: {self.reason}",
            "close": f"closed: {self.reason}",
        }.get(self.kind, self.kind)

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a row of :func:`history_table`."""
        at = self.at.replace("T", " ")[:19]
        return str(self.seq), at, self.dataset, self.user, self.words

    def __str__(self) -> str:
        return "   ".join(self.cells())


def refusal_message(account: Account, cost: Cost, price: Cost, last: Sequence[Entry]) -> str:
    """Say why a charge is refused, what is left and what was charged last; all of it is public."""
    if account.closed:
        why = f"Dataset {account.dataset!r} is closed. Use another dataset"
    else:
        left = Remaining.of([account]).remaining
        why = (
            f"Budget exceeded: this release needs {cost.priced(price)}, but {account.dataset!r} "
            f"has {left} left. Use less, or ask those who keep the ledger for a larger budget"
        )
    charges = [Event.of(entry) for entry in last if entry.kind in ("charge", "part")]
    given = "; ".join(f"{event.price} ({event.release_id}, {event.user})" for event in charges)
    after = f" Last charge{'s' * (len(charges) != 1)}: {given}." if given else ""
    return f"{why}.{after} No data were read and no budget was spent."


def draw(histories: Sequence[tuple[str, Sequence[float]]], ax: Axes | None = None) -> Axes:
    """Draw the part of each budget that was spent, charge after charge."""
    ax = new_axes(ax, height=4.0)
    for name, shares in histories:
        percent = [100 * share for share in shares]
        ax.step(range(len(percent)), percent, where="post", label=f"{name}: {percent[-1]:.0f}%")
    ax.axhline(100, color="black", linewidth=0.8, linestyle="--")
    ax.set_ylim(0, 105)
    ax.set_xlabel("entries of the dataset (charges and raises)")
    ax.set_ylabel("budget spent (%)")
    if histories:
        ax.legend(fontsize="small", frameon=False)
    return ax


def shares(entries: Sequence[Entry]) -> list[float]:
    """Return the part of the budget that was spent, after each entry of a data set."""
    return [float(_share(Account.read(entry))) for entry in entries]


def cell(place: str, accounts: Sequence[Remaining], head: str) -> str:
    """Return a ledger as a cell of a notebook: how much of each budget is spent."""
    parts = [text("p", f"Ledger {place}", style="font-size:1.1em;margin:.2em 0")]
    for one in accounts:
        spent = f"{one.dataset}: {100 * one.share_spent:.1f}% of {one.budget} spent"
        parts.append(text("p", spent, style="margin:.6em 0 .2em"))
        parts.append(ledger_bar(one.share_spent, 640.0))
        words = f"{one.words[:1].upper()}{one.words[1:]}. Protects {one.protection}."
        parts.append(text("p", words, style="opacity:.8;margin:.2em 0"))
    parts.append(text("p", f"Head hash: {head}", style="font-family:monospace;opacity:.8"))
    return element("div", "".join(parts), style="max-width:46em;line-height:1.5")
