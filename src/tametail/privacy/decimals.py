"""Decimals: what a number says on paper, and the double that a mechanism may spend for it.

The double nearest to 0.1 is a little above one tenth, so ten of them exceed 1. A budget is agreed
on in decimals, so a float counts as the decimal that it prints; sums of decimals are exact
fractions; and a mechanism spends the largest double that is not above the decimal. Then ten
charges of 0.1 are 1, and no mechanism spends more than it was charged.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

#: Significant digits of a number that is not a decimal of its own and had to be rounded.
DIGITS: Final = 20

_EXACT: Final = Context(prec=10_000)


def exact(number: float) -> Fraction:
    """Return the decimal that a float prints, as an exact fraction.

    >>> exact(0.1), sum([exact(0.1)] * 10) == 1
    (Fraction(1, 10), True)
    """
    return Fraction(repr(float(number)))


@lru_cache(maxsize=1024)
def spendable(number: float) -> float:
    """Return the largest double that is not above the decimal that ``number`` prints.

    >>> spendable(0.5), spendable(0.1) < 0.1
    (0.5, True)
    """
    return double_below(exact(number))


def double_below(number: Fraction) -> float:
    """Return the largest double that is at most ``number``."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def printed_below(number: Fraction) -> float:
    """Return the largest double whose *printed decimal* is at most ``number``.

    What is shown as left can then be asked for: it is charged as it is printed.

    >>> printed_below(Fraction(3, 10)), exact(printed_below(Fraction(1, 3))) <= Fraction(1, 3)
    (0.3, True)
    """
    nearest = float(number)
    while exact(nearest) > number:
        nearest = math.nextafter(nearest, -math.inf)
    return nearest


def rounded_down(number: Decimal) -> Fraction:
    """Return ``number`` with 20 significant digits, rounded down."""
    return Fraction(Context(prec=DIGITS, rounding=ROUND_FLOOR).plus(number))


def rounded_up(number: Decimal) -> Fraction:
    """Return ``number`` with 20 significant digits, rounded up."""
    return Fraction(Context(prec=DIGITS, rounding=ROUND_CEILING).plus(number))


def to_text(number: Fraction) -> str:
    """Return an exact decimal as text; for a fraction that is none, numerator/denominator.

    >>> to_text(Fraction(1, 8)), to_text(exact(1e-7)), to_text(Fraction(1, 3))
    ('0.125', '1E-7', '1/3')
    """
    quotient = _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    if Fraction(quotient) != number:
        return f"{number.numerator}/{number.denominator}"
    return str(quotient.normalize(_EXACT))
