"""Checks of public numbers, shared by bounds and theorems."""

from __future__ import annotations

import math

from tametail._shown import shown
from tametail.errors import ParameterError
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Guarantee, Pure, Zcdp


def positive(**values: float) -> None:
    """Refuse any value that is not a finite number above zero."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ParameterError(f"Expected {name}={shown(value)} to be finite and above 0.")


def probability(**values: float) -> None:
    """Refuse any value outside the open interval (0, 1)."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ParameterError(f"Expected {name}={shown(value)} to lie between 0 and 1.")


def moment_order(k: float, at_least: float = 1.0) -> None:
    """Refuse an order of moment for which no theorem holds."""
    if not (1 < k < math.inf and k >= at_least):
        wanted = "above 1" if at_least <= 1 else f"at least {at_least:g}"
        raise ParameterError(f"Expected k={shown(k)} to be finite and {wanted}.")


def whole(**values: int) -> None:
    """Refuse any value that is not a whole number above zero."""
    for name, value in values.items():
        if value < 1 or value != int(value):
            raise ParameterError(
                f"Expected {name}={shown(value)} to be a whole number, at least 1."
            )


def as_replace_one(budget: Budget, adjacency: str) -> Budget:
    """Return what a guarantee under ``adjacency`` implies when one record is replaced.

    >>> as_replace_one(Pure(1.0), "add-remove")
    Pure(epsilon=2.0)
    """
    implied = Guarantee.from_budget(budget, Adjacency.parse(adjacency)).for_replacement()
    if implied.epsilon is None:
        return budget if implied.rho is None else Zcdp(implied.rho)
    if not implied.delta:
        return Pure(implied.epsilon)
    # delta = 1 is no guarantee at all; the largest double below it says the same.
    return Approx(implied.epsilon, min(implied.delta, math.nextafter(1.0, 0.0)))
