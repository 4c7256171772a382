"""How a number is written for people: separators, and only digits that mean something.

Programs get all digits: JSON, CSV and ``--quiet`` do not come here.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

#: What stands for a number that there is not.
MISSING = "\N{EN DASH}"

#: A double has no more digits.
_MOST_DIGITS = 15

#: Enough for every double at every step.
_EXACT = Context(prec=700)


def step_of(low: float, value: float, high: float) -> int | None:
    """Return the power of ten to which a value and its interval are rounded.

    That is two digits of the half-width. If the value is much closer to one limit than to the
    other, that distance has a digit, as long as the value has no more than three. None if the
    interval has no finite width.

    >>> step_of(1439.77, 1481.73, 1590.09), step_of(13259.5, 13475.6, 13678.1)
    (0, 1)
    >>> step_of(5600.0, 6400.0, 31200.0), step_of(-math.inf, 1.0, 3.0)
    (2, None)
    >>> step_of(1438.0, 1480.0, 283_178_830.0)
    1
    """
    half = high / 2 - low / 2
    if not math.isfinite(half) or half <= 0:
        return None
    side = min(value - low, high - value)
    step = _order(half) - 1
    if side > 0 and _order(side) < _order(half):
        near = _order(side) if value == 0 else max(_order(side), _order(abs(value)) - 2)
        step = min(step - 1, near)
    return max(step, _order(max(abs(low), abs(high))) - _MOST_DIGITS + 1)


def rounded(value: float, step: int) -> str:
    """Return a number to a power of ten.

    >>> rounded(1481.73, 0), rounded(13475.6, 1), rounded(-0.04, -1), rounded(2e-7, -8)
    ('1,482', '13,480', '0.0', '2.0e-7')
    """
    return _written(value, step, ROUND_HALF_EVEN)


def rounded_down(value: float, step: int) -> str:
    """Return a lower limit, rounded outward.

    >>> rounded_down(1439.77, 0), rounded_down(13259.5, 1)
    ('1,439', '13,250')
    """
    return _written(value, step, ROUND_FLOOR)


def rounded_up(value: float, step: int) -> str:
    """Return an upper limit, rounded outward.

    >>> rounded_up(1590.09, 0), rounded_up(-0.01, -1)
    ('1,591', '0.0')
    """
    return _written(value, step, ROUND_CEILING)


def significant(value: float, digits: int = 3) -> str:
    """Return a number to a few significant digits: counts, clipping bounds, errors.

    >>> significant(19_795.2), significant(-30739.0), significant(0.0123456), significant(0.0)
    ('19,800', '-30,700', '0.0123', '0')
    >>> significant(9.999), significant(math.inf)
    ('10', '–')
    """
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    text = rounded(value, _order(value) - digits + 1)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def given(value: float) -> str:
    """Return a public number as somebody gave it, with separators.

    >>> given(2500.0), given(0.1), given(250_000)
    ('2,500', '0.1', '250,000')
    """
    return f"{value:,.12g}"


def percent(confidence: float) -> str:
    """Return a confidence in percent, with as many digits as it takes not to be called 100%.

    >>> percent(0.95), percent(0.999), percent(0.99999999)
    ('95%', '99.9%', '99.999999%')
    """
    texts = (f"{100 * confidence:.{digits}g}" for digits in range(6, 18))
    return next((text for text in texts if text != "100"), "100") + "%"


def cells_used(share: float, *, sure: bool) -> str:
    """Say how many of the cells were used; not ``sure`` if noise alone may make the share so low.

    >>> cells_used(0.832, sure=True), cells_used(0.986, sure=False)
    ('83% of cells used, the rest are not numbers', 'unreadable cells: none, or too few to detect')
    """
    if not sure:
        return "unreadable cells: none, or too few to detect"
    return f"{part_of(share)} of cells used, the rest are not numbers"


def counted(text: str, things: str) -> str:
    """Return a number that is already written, with what it counts; one of them is singular.

    >>> counted("1", "records"), counted("0", "people"), counted("1", "people")
    ('1 record', '0 people', '1 person')
    """
    one = {"people": "person"}.get(things, things.removesuffix("s"))
    return f"{text} {one if text == '1' else things}"


def part_of(share: float) -> str:
    """Return a share in percent; close to 1 with one more digit.

    >>> part_of(0.314), part_of(0.9934)
    ('31%', '99.3%')
    """
    return f"{share:.0%}" if share < 0.98 else f"{share:.1%}"


def _order(value: float) -> int:
    """Return the power of ten of the first digit."""
    return Decimal(value).adjusted()


def _written(value: float, step: int, rounding: str) -> str:
    unit = Decimal(1).scaleb(step, _EXACT)
    exact = _EXACT.plus(Decimal(value).quantize(unit, rounding, _EXACT))  # plus: there is no -0
    if exact and not 1e-4 <= abs(exact) < 1e15:
        digits = max(exact.adjusted() - step, 0)
        mantissa, _, power = f"{exact:.{digits}e}".partition("e")
        return f"{mantissa}e{int(power)}"
    return f"{exact:,.{max(-step, 0)}f}"
