"""What is stored as JSON: plain values, read back with one clear sentence on failure."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from tametail._shown import shown
from tametail.errors import ParameterError

#: Plain values by name, as JSON keeps them. Whoever reads one checks it: a constructor, or the
#: ``except`` around it that raises :func:`not_as_written`.
Json: TypeAlias = dict[str, Any]


def read_json(text: str, refusal: str) -> Json:
    """Return what a JSON text holds by name, or say what was expected.

    >>> read_json('{"n": 5}', "this is not a plan.")
    {'n': 5}
    """
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise ParameterError(refusal)
    return found


def not_as_written(refusal: str, error: Exception) -> ParameterError:
    """Return what to raise if stored values are not what was stored; only a field is named."""
    field = isinstance(error, KeyError) and error.args and isinstance(error.args[0], str)
    which = shown(error.args[0]) if field else "a part"
    return ParameterError(f"{refusal} {which} is missing or invalid.")
