"""Checks that all functions of the paper share; they read no data."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

from tametail._shown import shown
from tametail._validate import number
from tametail.errors import ParameterError
from tametail.privacy.budget import Approx, Budget

#: Lengths up to here and down to its inverse leave room for the noise within the doubles.
LARGEST = 1e250

#: Noise for less than this would not fit in 64 bits, not even on the coarsest lattice.
LEAST_STRENGTH = 1e-12


def parse_bound(R: object, budget: Budget, where: str) -> float:
    """Return R; infinity is for approximate budgets only. ``where`` says what R bounds."""
    bound = number(R=R)
    if bound <= 0:
        raise ParameterError(f"R={shown(R)} is not positive: write R > 0 for a mean {where}.")
    if math.isinf(bound) and not isinstance(budget, Approx):
        raise ParameterError(
            "R=inf needs a budget with a delta: write approx(epsilon, delta), or give a finite R."
        )
    return bound


def check_strength(costs: list[Budget], budget: Budget) -> None:
    """Refuse a budget whose parts would need more noise than 64 bits hold."""
    if min(cost.strength for cost in costs) < LEAST_STRENGTH:
        raise ParameterError(f"{budget} is too small for any noise that fits: write a larger one.")


def length_that_fits(
    compute: Callable[[], float], *, alpha: float, k: float, scale: float
) -> float:
    """Return a length that doubles can hold with room for the noise, or refuse."""
    length = math.inf
    if 1 / LARGEST <= alpha / scale <= LARGEST:
        with suppress(OverflowError, ZeroDivisionError):
            length = compute()
    if not 1 / LARGEST <= length <= LARGEST:
        raise ParameterError(
            f"alpha={alpha!r}, k={k!r} and scale={scale!r} ask for an interval that doubles "
            "cannot hold: write an alpha closer to the scale, or other units for the records."
        )
    return length
