"""The number that a cell of text is, as the query specification says: slow, without patterns."""

from __future__ import annotations

import math
import string
from fractions import Fraction

SPACE = " \t\n\v\f\r"


def number_in(cell: bytes | str | None, parse) -> float:
    """Return the number in a cell, NaN if there is none."""
    if cell is None:
        return math.nan
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
    text = text.strip(SPACE)
    text = _without_parentheses(text, parse) if parse.accounting else text
    text = _without_currency(text, parse)
    if parse.percent and text.endswith("%") and "n" not in text.lower():  # no percent of infinity
        return _plain(text[:-1].rstrip(" "), parse) / 100.0
    return _plain(text, parse)


def _without_parentheses(text, parse):
    """Return -12 for (12); a currency sign may stand before or behind the parentheses."""
    before, opened, rest = text.partition("(")
    inner, closed, after = rest.partition(")")
    signs = ("", *parse.currency)
    if not opened or not closed or not inner or any(sign in inner for sign in "()+-"):
        return text
    if before.rstrip(" ") not in signs or after.lstrip(" ") not in signs or "(" in after:
        return text
    if (before and before.rstrip(" ") == "") or (after and after.lstrip(" ") == ""):
        return text
    return "-" + inner


def _without_currency(text, parse):
    """Return the text without a currency sign at its beginning, behind + or -, and at its end."""
    by_length = sorted(parse.currency, key=len, reverse=True)
    sign = text[:1] if text[:1] in ("+", "-") else ""
    rest = text[len(sign) :].lstrip(" ")
    for each in by_length:
        if rest.startswith(each):
            text = sign + rest[len(each) :].lstrip(" ")
            break
    for each in by_length:
        if text.endswith(each):
            text = text[: -len(each)].rstrip(" ")
            break
    return text


def _plain(text, parse):
    size = text[1:] if text[:1] in ("+", "-") else text
    found = _size(size, parse)
    return -found if text[:1] == "-" else found


def _size(text, parse):
    if text.lower() in ("inf", "infinity"):
        return math.inf
    mantissa, mark, exponent = text.replace("E", "e").partition("e")
    whole, point, fraction = mantissa.partition(parse.decimal)
    power = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    if mark and not _digits(power):
        return math.nan
    if not (_digits(fraction) or (fraction == "" and (whole or not point))):
        return math.nan
    groups = whole.split(parse.thousands or {".": ",", ",": "."}[parse.decimal])
    if not _are_groups(groups) and not (whole == "" and point and fraction):
        return math.nan
    # If the caller does not say what groups digits, digits must follow the decimal sign.
    if parse.thousands is None and len(groups) > 1 and (groups[0][0] == "0" or not fraction):
        return math.nan
    return _nearest("".join(groups) + fraction, (int(exponent) if mark else 0) - len(fraction))


def _are_groups(groups):
    """Say whether digits are grouped: 1 to 3, then twos and threes, 3 at last; or not at all."""
    if not all(map(_digits, groups)):
        return False
    lengths = [len(group) for group in groups]
    middle = all(length in (2, 3) for length in lengths[1:-1])
    return len(groups) == 1 or (lengths[0] <= 3 and middle and lengths[-1] == 3)


def _digits(text):
    return text != "" and all(sign in string.digits for sign in text)


def _nearest(digits, power):
    """Return the double nearest to an integer times a power of ten."""
    if int(digits) == 0:
        return 0.0
    if len(digits.lstrip("0")) + power > 400:
        return math.inf
    if len(digits.lstrip("0")) + power < -400:
        return 0.0
    exact = int(digits) * Fraction(10) ** power
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf
