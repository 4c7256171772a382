"""Messages of the library in the words of the page: its fields, not the arguments of Python."""

from __future__ import annotations

import re
from typing import Final

#: What the page calls the arguments of the library.
_LABELS: Final = {
    "by": "By group",
    "column": "Column",
    "confidence": "Confidence",
    "dataset": "Its name for these data",
    "delta": "Delta",
    "each": "What counts once",
    "epsilon": "Epsilon",
    "keys": "The groups",
    "ledger": "Ledger",
    "missing": "Missing cells",
    "n": "How many there are",
    "other": "One more group",
    "parse": "How is this file written",
    "person": "Who is protected",
    "release_id": "An id of yours",
    "rho": "Rho",
    "tail": "What do you know",
    "unit": "Against which change",
    "where": "Only records with",
    "within": "The mean is at least, at most",
}

_VALUE: Final = (
    r"\w+\([^()]*\)|'[^']*'|\"[^\"]*\"|\.\.\.|\([^()]*\)|\[[^\][]*\]|-?[\d.][\d_.e+-]*\d|-?\d"
)
_ARGUMENT: Final = re.compile(rf"\b(?P<name>{'|'.join(_LABELS)})=(?P<value>{_VALUE})?(?!=)")


def for_people(message: str) -> str:
    """Return a message with the names of fields in place of arguments.

    >>> for_people("by= without keys= takes a delta: write delta=1e-7 beside it.")
    '“By group” without “The groups” takes a delta: write “Delta” 1e-7 beside it.'
    """
    return _ARGUMENT.sub(_field, message)


def _field(found: re.Match[str]) -> str:
    label, value = f"“{_LABELS[found['name']]}”", found["value"]
    return label if value is None or value == "..." else f"{label} {value}"
