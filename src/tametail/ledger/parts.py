"""Parts of a data set by a condition: the records with one value in one column, such as a year.

Their charges add up in the whole, as those of all parts do. A release with a condition also counts,
with noise, the records that the condition leaves out, so that it depends on those of other parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from tametail._shown import shown
from tametail.errors import ParameterError

_NAME: Final = r"`(?:[^`]|``)+`|[^\W\d]\w*"
_NUMBER: Final = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_CONDITION: Final = re.compile(
    rf"\s*({_NAME})\s*==\s*(?:({_NUMBER})|'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\")\s*"
)
_PLAIN: Final = re.compile(r"[^\W\d]\w*")
_WORDS: Final = ("and", "or", "not", "is", "missing", "in")


def check_condition(where: object) -> str:
    """Return a condition as a request writes it, or say what one looks like.

    >>> check_condition("year==2024.0"), check_condition('`state` == "CA"')
    ('year == 2024', "state == 'CA'")
    """
    found = _CONDITION.fullmatch(where) if isinstance(where, str) else None
    if found is None or found[1] in _WORDS or not math.isfinite(float(found[2] or 0)):
        raise ParameterError(
            f"where={shown(where)} does not define a part. Compare one column with one number or "
            'text, as in where="year == 2024" or where="state == \'CA\'".'
        )
    name, number, single, double = found.groups()
    if number is not None:
        return f"{_name(name)} == {_number(number)}"
    text = double.replace('""', '"') if single is None else single.replace("''", "'")
    return "{} == '{}'".format(_name(name), text.replace("'", "''"))


def _name(written: str) -> str:
    plain = written[1:-1].replace("``", "`") if written.startswith("`") else written
    if _PLAIN.fullmatch(plain) and plain not in _WORDS:
        return plain
    return "`{}`".format(plain.replace("`", "``"))


def _number(written: str) -> str:
    value = abs(float(written))
    digits = f"{value:.0f}" if value.is_integer() and value < 1e15 else repr(value)
    return f"-{digits}" if written.startswith("-") else digits


def is_within(request: Mapping[str, object], condition: str) -> bool:
    """Say whether a request is about records that satisfy a condition.

    The text of a request puts every "or" in parentheses, so that what begins with the condition and
    "and" holds only where the condition does.
    """
    where = str(request.get("where") or "")
    return where == condition or where.startswith(f"{condition} and ")
