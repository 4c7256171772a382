"""What a release costs, in exact fractions, and what that is under a data set's own unit.

The only module of the ledger that knows the package's budgets. The conversions between units are
proved in ``docs/proofs/ledger.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from tametail._json import Json
from tametail._shown import shown
from tametail.errors import BudgetError, ParameterError
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp
from tametail.privacy.decimals import exact, rounded_up, to_text

ADD_REMOVE: Final = "add-remove"

_PRECISE: Final = Context(prec=60)
_ABOVE: Final = Decimal(1) + Decimal("1e-50")  # more than the rounding errors of 60 digits


@dataclass(frozen=True, slots=True)
class Cost:
    """The decimals of a budget; the numbers that its definition does not have are 0.

    >>> Cost.of(Approx(0.1, 1e-6))
    Cost(epsilon=Fraction(1, 10), delta=Fraction(1, 1000000), rho=Fraction(0, 1))
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    @classmethod
    def of(cls, budget: object) -> Cost:
        """Return the cost of a budget that is spent entirely."""
        match budget:
            case Pure():
                return cls(epsilon=exact(budget.epsilon))
            case Approx():
                return cls(epsilon=exact(budget.epsilon), delta=exact(budget.delta))
            case Zcdp():
                return cls(rho=exact(budget.rho))
        raise ParameterError(
            f"Invalid budget={shown(budget)}. Use tametail.pure(1), tametail.zcdp(0.5) or "
            "tametail.approx(1, 1e-6)."
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, str]) -> Cost:
        """Return the cost that :meth:`to_dict` described; one below 0 would give budget back."""
        numbers = {name: Fraction(text) for name, text in values.items()}
        if any(number < 0 for number in numbers.values()):
            raise ValueError("a cost is below 0.")
        return cls(**numbers)

    def to_dict(self) -> dict[str, str]:
        """Return the numbers that are not 0, as exact text.

        >>> Cost.of(Pure(0.1)).to_dict()
        {'epsilon': '0.1'}
        """
        named = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: to_text(number) for name, number in named.items() if number}

    def to_budget(self) -> Budget:
        """Return the budget whose printed decimals these are."""
        if self.rho:
            return Zcdp(float(self.rho))
        if self.delta:
            return Approx(float(self.epsilon), float(self.delta))
        return Pure(float(self.epsilon))

    def __str__(self) -> str:
        named = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return ", ".join(f"{name} = {float(x):.12g}" for name, x in named.items() if x)

    def priced(self, price: Cost) -> str:
        """Return the price of a release of this cost, and why it is not the cost, if so.

        >>> cost = Cost(epsilon=Fraction(1))
        >>> cost.priced(cost)
        'epsilon = 1'
        >>> cost.priced(cost.twice())
        'epsilon = 2 (epsilon = 1 for one person costs so much where one record is protected)'
        """
        if price == self:
            return str(price)
        return f"{price} ({self} for one person costs so much where one record is protected)"

    def twice(self) -> Cost:
        """Return the cost of two steps between neighbors: 2 epsilon, (1 + e^epsilon) delta, 4 rho.

        >>> Cost(epsilon=Fraction(1), rho=Fraction(1)).twice().to_dict()
        {'epsilon': '2', 'rho': '4'}
        """
        delta = self.delta * (1 + _exponential(self.epsilon)) if self.delta else self.delta
        return Cost(2 * self.epsilon, delta, 4 * self.rho)


def _exponential(exponent: Fraction) -> Fraction:
    """Return e^exponent, rounded up."""
    quotient = _PRECISE.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    if quotient > 700:  # then delta is far above 1, whatever it was
        return Fraction(10) ** 400
    raised = _PRECISE.exp(_PRECISE.multiply(quotient, _ABOVE))
    return rounded_up(_PRECISE.multiply(raised, _ABOVE))


@dataclass(frozen=True, slots=True)
class Protection:
    """What one neighbor is: a record or a person with all of their records; more or changed."""

    neighbors: str = ADD_REMOVE
    person: tuple[str, ...] = ()

    @classmethod
    def parse(cls, neighbors: object, person: object) -> Protection:
        """Check a relation and the column or columns that name a person (None: records).

        >>> Protection.parse("add-remove", "patient")
        Protection(neighbors='add-remove', person=('patient',))
        """
        checked = Adjacency.parse(neighbors, person)
        named = checked.person or ()
        return cls(checked.value, (named,) if isinstance(named, str) else tuple(sorted(named)))

    def to_dict(self) -> dict[str, object]:
        """Return the protection as plain values."""
        return {"neighbors": self.neighbors, "person": list(self.person)}

    @classmethod
    def from_dict(cls, values: Json) -> Protection:
        """Return the protection that :meth:`to_dict` described."""
        return cls(values["neighbors"], tuple(values["person"]))

    def __str__(self) -> str:
        what = f"one person ({', '.join(self.person)})" if self.person else "one record"
        return f"{what}, {self.neighbors}"

    def price(self, cost: Cost, of: Protection) -> Cost:
        """Return what a release that protects ``of`` at ``cost`` costs a data set that protects me.

        The same protection: the cost. A person more or less, on a data set that protects a record
        more or less: two steps, since the person leaves and comes back with the record. Anything
        else is refused.

        >>> patient = Protection.parse("add-remove", "patient")
        >>> Protection().price(Cost(epsilon=Fraction(1, 10)), of=patient).to_dict()
        {'epsilon': '0.2'}
        """
        if self == of:
            return cost
        if self == Protection() and of.neighbors == ADD_REMOVE:
            return cost.twice()
        raise BudgetError(
            f"The dataset protects {self}, but this release protects {of}. {self._advice(of)} No "
            "data were read and no budget was spent."
        )

    def _advice(self, of: Protection) -> str:
        if self.person and not of.person:
            who = self.person[0] if len(self.person) == 1 else self.person
            return (
                f"Use person={who!r}, unless this is a regression, which has no person=. For that, "
                "prepare a file with one row per person, and create a dataset for it with a budget "
                "of its own. The same people then pay from both."
            )
        if self.neighbors != of.neighbors:
            return f"Write neighbors={self.neighbors!r}."
        return "Create a dataset with its own budget that protects the same."
