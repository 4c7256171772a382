"""A release as it is written down: what its record repeats, and where two records differ.

A record says some things twice, for readers who look at the top only; what was changed by hand is
found by comparing.
"""

from __future__ import annotations

import json
import math
from typing import cast

from tametail.errors import ParameterError
from tametail.keys import Key
from tametail.notes import FAKE

#: Format of the JSON text.
FORMAT = 4

#: What stands at the top of the plain values: a number for one row, a list for more.
TOP = (
    "usable",
    "value",
    "low",
    "high",
    "error_components",
    "intervals",
    "clip",
    "assumption_contradicted",
    "share_used",
)

#: What names a release and says when it was made.
NAMES = ("ledger", "issued")

#: Keys at the top that only repeat what the rows, the shared notes and the guarantee say.
DERIVED = (*TOP, "interval_target", "confidence", "guarantee", "columns", "notes")

#: What is said of a text that is none.
#: What versions before 0.3 wrote, and what is said of it.
OLD_FORMATS = (1, 2, 3)
OLD = (
    "This release was written by a version before 0.3, whose fields have other names. Read it with "
    "that version, or make it again, which spends budget again."
)

REFUSAL = "This is not a release. Use the output of Release.to_json() or Release.to_dict()."


def check_top(
    record: dict[str, object], rows: list[dict[str, object]], shared: list[object]
) -> None:
    """Refuse a record whose top says something else than its rows; nothing is read again."""
    given = {key: [row[key] for row in rows] for key in TOP if all(key in row for row in rows)}
    top: dict[str, object] = {
        key: cells[0] if len(cells) == 1 else cells for key, cells in given.items()
    }
    top["columns"] = [row["column"] for row in rows]
    own = (cast("list[object]", row.get("notes", [])) for row in rows)
    every = [*shared, *(note for notes in own for note in notes)]
    top["notes"] = list({json.dumps(note, sort_keys=True): note for note in every}.values())
    for key, cells in top.items():
        if key in record and not same_cells(record[key], cells):
            raise ParameterError(
                f"This release was edited: its {key} does not match its rows. Use the output of "
                "Release.to_json()."
            )


def check_mark(record: dict[str, object], *, fake: bool) -> None:
    """Refuse a record whose mark as a fake is not that of its plan, or is not in its notes."""
    given = cast("list[dict[str, object]]", record["shared_notes"])
    noted = any(note.get("code") == FAKE.code for note in given)
    if not record.get("fake", False) is noted is fake:
        raise ParameterError(
            "This release was edited: its parts disagree on whether it is fake. Use the output of "
            "Release.to_json()."
        )


def same_cells(one: object, other: object) -> bool:
    """Say whether plain values are the same; floats to a relative 1e-12, as decision 0006 says.

    >>> same_cells({"low": [1.0, "inf"]}, {"low": (1.0 + 1e-15, "inf")}), same_cells(1, True)
    (True, False)
    """
    return not differing_keys(one, other)


def differing_keys(one: object, other: object, path: str = "") -> list[str]:
    """Return where plain values differ, by the names of their keys.

    >>> differing_keys({"low": 1.0, "rows": [{"value": 2}]}, {"high": 1.0, "rows": [{"value": 3}]})
    ['high', 'low', 'rows[0].value']
    """
    if isinstance(one, dict) and isinstance(other, dict):
        found = [
            differing_keys(one[key], other[key], f"{path}.{key}" if path else key)
            if key in one and key in other
            else [f"{path}.{key}" if path else key]
            for key in sorted({*one, *other})
        ]
        return [place for places in found for place in places]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [place for i, (a, b) in pairs for place in differing_keys(a, b, f"{path}[{i}]")]
    if isinstance(one, float) and isinstance(other, float):
        return [] if math.isclose(one, other, rel_tol=1e-12) else [path]
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    alike = type(one) is type(other) or (numbers and bool not in (type(one), type(other)))
    return [] if alike and one == other else [path]


def answer(value: object) -> object:
    """Return an answer as it was: tuples are lists in JSON, infinities words."""
    if isinstance(value, list):
        return tuple(map(answer, value))
    if isinstance(value, dict):
        return Key(tuple(value["key"]))
    return float(value) if isinstance(value, str) else value
