"""Messages of the library in the words of the page: its fields, not the arguments of Python."""

from __future__ import annotations

import re
from typing import Final

from tametail.notes import FOR_LISTS

#: What the page calls the arguments of the library.
_LABELS: Final = {
    "by": "Group by",
    "column": "Columns",
    "confidence": "Confidence level",
    "dataset": "Dataset name in the ledger",
    "delta": "Delta",
    "each": "Average over",
    "epsilon": "Epsilon",
    "groups_per_person": "Each person belongs to one group",
    "keys": "Group keys",
    "ledger": "Budget ledger",
    "missing": "Missing cells",
    "n": "Number of records",
    "other": "Name for all other rows",
    "parse": "File and number format",
    "person": "Person ID column",
    "q": "Levels",
    "release_id": "Release ID",
    "rho": "Rho",
    "tail": "Assumption about the data",
    "neighbors": "Neighboring datasets",
    "weights": "Weight column",
    "where": "Only records where",
    "within": "Range of the mean",
}

_VALUE: Final = (
    r"\w+\([^()]*\)|'[^']*'|\"[^\"]*\"|\.\.\.|\([^()]*\)|\[[^\][]*\]|-?[\d.][\d_.e+-]*\d|-?\d"
)
_ARGUMENT: Final = re.compile(rf"\b(?P<name>{'|'.join(_LABELS)})=(?P<value>{_VALUE})?(?!=)")


def for_people(message: str) -> str:
    """Return a message with the names of fields in place of arguments.

    >>> for_people("by= without keys= needs a delta. Add delta=1e-7.")
    '“Group by” without “Group keys” needs a delta. Add “Delta” 1e-7.'
    """
    return _ARGUMENT.sub(_field, message.replace(FOR_LISTS, ""))


def _field(found: re.Match[str]) -> str:
    label, value = f"“{_LABELS[found['name']]}”", found["value"]
    return label if value is None or value == "..." else f"{label} {value}"
