"""Checks of public arguments: one line at the call, one clear sentence on failure."""

from __future__ import annotations

import math
import numbers
from typing import TypeVar

from tametail._shown import shown
from tametail.errors import ParameterError

Word = TypeVar("Word", bound=str)


def _single(named: dict[str, object]) -> tuple[str, object]:
    ((name, value),) = named.items()
    return name, value


def number(**named: object) -> float:
    """Return the one named argument as a float; infinities pass, NaN and non-numbers do not.

    >>> number(alpha=1)
    1.0
    """
    name, value = _single(named)
    result = math.nan
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            result = float(value)
        except OverflowError:
            result = -math.inf if value < 0 else math.inf
    if math.isnan(result):
        raise ParameterError(f"Invalid {name}={shown(value)}. Use a number, such as {name}=1.")
    return result


def finite_number(**named: object) -> float:
    """Return the one named argument as a finite float."""
    name, value = _single(named)
    result = number(**named)
    if math.isinf(result):
        raise ParameterError(f"Invalid {name}={shown(value)}. Use a finite number.")
    return result


def positive(**named: object) -> float:
    """Return the one named argument as a finite float above zero."""
    ((name, value),) = named.items()
    if type(value) is float and 0.0 < value < math.inf:
        return value  # the library's own numbers take this way
    result = finite_number(**named)
    if result <= 0:
        raise ParameterError(f"Invalid {name}={shown(value)}. It must be positive.")
    return result


def probability(**named: object) -> float:
    """Return the one named argument as a float strictly between 0 and 1."""
    ((name, value),) = named.items()
    if type(value) is float and 0.0 < value < 1.0:
        return value
    result = finite_number(**named)
    if not 0 < result < 1:
        raise ParameterError(f"Invalid {name}={shown(value)}. It must be between 0 and 1.")
    return result


def count(**named: object) -> int:
    """Return the one named argument as a non-negative integer."""
    name, value = _single(named)
    result = finite_number(**named)
    if result < 0 or result != int(result):
        raise ParameterError(f"Invalid {name}={shown(value)}. Use an integer, 0 or larger.")
    return int(result)


def flag(**named: object) -> bool:
    """Return the one named argument as True or False."""
    name, value = _single(named)
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):  # NumPy's, too
        return bool(value)
    raise ParameterError(f"Invalid {name}={shown(value)}. Use {name}=True or {name}=False.")


def one_of(allowed: tuple[Word, ...], **named: object) -> Word:
    """Return the one named argument if it is one of the allowed words."""
    name, value = _single(named)
    for word in allowed:
        if isinstance(value, str) and value == word:
            return word
    choices = " or ".join(f"{name}={word!r}" for word in allowed)
    raise ParameterError(f"Invalid {name}={shown(value)}. Use {choices}.")
