"""The three privacy definitions as values: Pure, Zcdp and Approx, and how a budget splits.

Import these from :mod:`tametail.privacy.budget`, which has everything about budgets.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Final, Self

from tametail._json import Json
from tametail._shown import shown
from tametail._validate import number, positive, probability
from tametail.errors import ParameterError
from tametail.privacy.accounting import round_down
from tametail.privacy.decimals import spendable

# Beyond these a budget either protects nothing or allows nothing; within them no formula of
# this package overflows or underflows.
SMALLEST: Final = 1e-100
LARGEST: Final = 1e100

# Shares such as 0.1 + 0.2 + 0.7 miss 1 by a rounding error; this much is taken for 1.
_SHARE_TOLERANCE: Final = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Budget(ABC):
    """A privacy budget, or the cost of one question: :class:`Pure`, :class:`Zcdp`, :class:`Approx`.

    All numbers of a budget add up under composition, so splitting treats them alike.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            checked = _check(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, checked)

    @classmethod
    def trusted(cls, *numbers: float) -> Self:
        """Return a budget of floats that follow from checked ones: only their size is looked at.

        >>> Pure.trusted(0.25)
        Pure(epsilon=0.25)
        """
        if not all(SMALLEST <= value <= LARGEST for value in numbers):
            return cls(*numbers)  # which says what is wrong
        budget = object.__new__(cls)
        for field, value in zip(fields(cls), numbers, strict=True):
            object.__setattr__(budget, field.name, value)
        return budget

    @abstractmethod
    def __str__(self) -> str: ...

    @property
    @abstractmethod
    def strength(self) -> float:
        """The scale of the noise on a query of sensitivity 1 is 1 / strength."""

    def values(self) -> tuple[float, ...]:
        """Return the numbers of the budget, in the order of its constructor."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def spendable(self) -> Self:
        """Return the largest budget in doubles that is not above the decimals that this prints.

        A mechanism that is given this never spends more than was agreed on: ten times
        ``Pure(0.1).spendable()`` is at most 1.

        >>> Pure(0.5).spendable(), Pure(0.1).spendable().epsilon < 0.1
        (Pure(epsilon=0.5), True)
        """
        return self.trusted(*map(spendable, self.values()))

    def share(self, fraction: float) -> Self:
        """Return this part of the budget, rounded down.

        >>> Pure(1.0).share(0.25)
        Pure(epsilon=0.25)
        """
        part = Fraction(positive(fraction=fraction))
        if part > 1:
            raise ParameterError(
                f"Invalid fraction={shown(fraction)}. It must be above 0 and at most 1."
            )
        return self.trusted(*(round_down(part * Fraction(whole)) for whole in self.values()))

    def split(self, *shares: float) -> tuple[Self, ...]:
        """Return pieces in these proportions; their exact sum never exceeds the whole.

        The shares sum to at most 1. When they sum to 1 the last piece is all that is left,
        rounded down to a float.

        >>> Pure(1.0).split(0.25, 0.75)
        (Pure(epsilon=0.25), Pure(epsilon=0.75))
        """
        checked = tuple(positive(share=share) for share in shares)
        return tuple(self.trusted(*piece) for piece in _split(self.values(), checked))

    def to_dict(self) -> Json:
        """Return the budget as plain values, for JSON.

        >>> Budget.from_dict(Pure(1.0).to_dict())
        Pure(epsilon=1.0)
        """
        numbers = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": type(self).__name__.lower(), **numbers}

    @staticmethod
    def from_dict(values: Json) -> Budget:
        """Return the budget that :meth:`to_dict` described."""
        numbers = dict(values) if isinstance(values, Mapping) else {}
        kinds: dict[str, type[Budget]] = {"pure": Pure, "zcdp": Zcdp, "approx": Approx}
        given = numbers.pop("kind", None)
        kind = kinds.get(given) if isinstance(given, str) else None
        if kind is None or numbers.keys() != {field.name for field in fields(kind)}:
            raise ParameterError(
                "This is not a budget. Use for example {'kind': 'pure', 'epsilon': 1.0}, "
                "{'kind': 'zcdp', 'rho': 0.5} or {'kind': 'approx', 'epsilon': 1.0, 'delta': "
                "1e-6}."
            )
        return kind(**numbers)


@dataclass(frozen=True, slots=True)
class Pure(Budget):
    """Pure differential privacy: probabilities change by a factor of at most e^epsilon."""

    epsilon: float

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:.12g} (pure)"

    @property
    def strength(self) -> float:
        """Epsilon: Laplace noise of scale 1 / epsilon."""
        return self.epsilon


@dataclass(frozen=True, slots=True)
class Zcdp(Budget):
    """Zero-concentrated differential privacy: Renyi divergences of order a at most rho a."""

    rho: float

    def __str__(self) -> str:
        return f"rho = {self.rho:.12g} (zCDP)"

    @property
    def strength(self) -> float:
        """sqrt(2 rho): Gaussian noise of standard deviation 1 / sqrt(2 rho)."""
        return math.sqrt(2 * self.rho)


@dataclass(frozen=True, slots=True)
class Approx(Budget):
    """Approximate differential privacy: a factor of at most e^epsilon, and delta in addition."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:.12g}, delta = {self.delta:.12g} (approximate)"

    @property
    def strength(self) -> float:
        """Epsilon: Laplace noise of scale 1 / epsilon."""
        return self.epsilon


def _check(name: str, value: object) -> float:
    if name == "delta":
        if number(delta=value) == 0:
            raise ParameterError(
                f"delta={shown(value)} means pure differential privacy. Use pure(epsilon), or a "
                "delta above 0, such as delta=1e-6."
            )
        return probability(delta=value)
    checked = positive(**{name: value})
    if not SMALLEST <= checked <= LARGEST:
        raise ParameterError(
            f"{name}={shown(value)} is too {'small' if checked < 1 else 'large'}. Use a value from "
            f"{SMALLEST:g} to {LARGEST:g}; 0.01 to 10 is common."
        )
    return checked


@lru_cache(maxsize=1024)  # releases of one plan ask for the same pieces
def _split(whole: tuple[float, ...], shares: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """Return the numbers of the pieces."""
    parts = list(map(Fraction, shares))
    total = sum(parts, Fraction(0))
    if not parts or total > 1 + _SHARE_TOLERANCE:
        raise ParameterError(
            f"The shares sum to {float(total):.12g}. Use positive shares that sum to at most 1, "
            "such as split(0.25, 0.75)."
        )
    numbers = map(Fraction, whole)
    if total < 1 - _SHARE_TOLERANCE:
        columns = [[round_down(part * number) for part in parts] for number in numbers]
    else:
        columns = [_pieces(number, [part / total for part in parts]) for number in numbers]
    return tuple(zip(*columns, strict=True))


def _pieces(whole: Fraction, parts: list[Fraction]) -> list[float]:
    """Return floats in these proportions; the last one takes what the rounding has left."""
    pieces = [round_down(part * whole) for part in parts[:-1]]
    return [*pieces, round_down(whole - sum(map(Fraction, pieces)))]
