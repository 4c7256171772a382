"""Checks of public numbers, shared by the theorems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tametail.errors import ParameterError

Constants = Literal["paper", "tight"]


def positive(**values: float) -> None:
    """Refuse any value that is not a finite number above zero."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ParameterError(f"Expected {name}={value!r} to be finite and above 0.")


def probability(**values: float) -> None:
    """Refuse any value outside the open interval (0, 1)."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ParameterError(f"Expected {name}={value!r} to lie between 0 and 1.")


def moment_order(k: float, at_least: float = 1.0) -> None:
    """Refuse an order of moment for which no theorem holds."""
    if not (1 < k < math.inf and k >= at_least):
        wanted = "above 1" if at_least <= 1 else f"at least {at_least:g}"
        raise ParameterError(f"Expected k={k!r} to be finite and {wanted}.")


def whole(**values: int) -> None:
    """Refuse any value that is not a whole number above zero."""
    for name, value in values.items():
        if value < 1 or value != int(value):
            raise ParameterError(f"Expected {name}={value!r} to be a whole number, at least 1.")


def known_constants(constants: str) -> None:
    """Refuse a set of constants that does not exist."""
    if constants not in ("paper", "tight"):
        raise ParameterError(
            f"constants={constants!r} is not known: write constants='paper' or constants='tight'."
        )


@dataclass(frozen=True)
class Privacy:
    """One of the paper's three notions: epsilon, (epsilon, delta) or rho."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError("Write either epsilon=... (with or without delta=...) or rho=....")
        if self.delta is not None and self.epsilon is None:
            raise ParameterError("delta=... goes with epsilon=..., not with rho=....")
        for name, value in (("epsilon", self.epsilon), ("rho", self.rho)):
            if value is not None:
                positive(**{name: value})
        if self.delta is not None:
            probability(delta=self.delta)

    @property
    def strength(self) -> float:
        """Epsilon, or the epsilon = sqrt(2 rho) at which a Gaussian has the same rho."""
        if self.epsilon is not None:
            return self.epsilon
        assert self.rho is not None  # noqa: S101  one of the two is given
        return math.sqrt(2 * self.rho)

    def as_replace_one(self, unit: str) -> Privacy:
        """Return what a guarantee under ``unit`` implies when one record is replaced.

        A replacement is one removal and one addition: epsilon doubles, rho is multiplied by 4,
        and delta by ``1 + e^epsilon``.
        """
        if unit == "replace-one":
            return self
        if unit != "add-remove":
            raise ParameterError(
                f"unit={unit!r} is not known: write unit='replace-one' or unit='add-remove'."
            )
        if self.epsilon is None:
            assert self.rho is not None  # noqa: S101  one of the two is given
            return Privacy(rho=4 * self.rho)
        if self.delta is None:
            return Privacy(epsilon=2 * self.epsilon)
        doubled = self.delta * (1 + math.exp(min(self.epsilon, 700.0)))
        # delta = 1 is no guarantee at all; the largest double below it says the same.
        return Privacy(2 * self.epsilon, min(doubled, math.nextafter(1.0, 0.0)))
