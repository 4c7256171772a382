"""Recorded exact answers about data that lie in a place: memory, a file, a database or Spark.

A case has a data set, what is opened of it, questions to one engine, and their answers in integers.
The places are those of ``tests/backends``.
"""

from __future__ import annotations

from typing import Any

import adapters
import hostile
import numpy as np
import pyarrow as pa

#: Names of the columns of a long data set, by role.
LONG = {"value": "x", "second": "y", "whole": "j", "text": "k", "person": "who"}

_TEXTS = (None, "a", "b", "it's", "\u00e4", "a ", "abcdefghi" * 9)


def dataset_from(record: dict[str, Any]) -> dict[str, Any]:
    """Return names and columns of a data set; long ones are drawn again."""
    if "size" not in record:
        return record
    seed, size = record["seed"], record["size"]
    numbers = hostile.data_from({"kind": "moderate", "seed": seed, "shape": [2, size]})
    bits = np.random.PCG64(seed + 1).random_raw(size)
    numbers[0][bits % 31 == 0] = np.nan
    columns = {
        "value": numbers[0].tolist(),
        "second": [None if draw % 17 == 0 else one for draw, one in _beside(bits, numbers[1])],
        "whole": ((bits >> 8) % 5).tolist(),
        "text": [_TEXTS[place] for place in ((bits >> 16) % len(_TEXTS)).tolist()],
        "person": [f"p{place}" for place in ((bits >> 24) % (bits >> 32) % 200).tolist()],
    }
    return {"names": LONG, "columns": columns}


def _beside(bits: Any, numbers: Any) -> list[tuple[int, float]]:
    return list(zip(bits.tolist(), numbers.tolist(), strict=True))


def asked(case: dict[str, Any]) -> list[tuple[dict[str, Any], Any]]:
    """Return the questions: what the records are narrowed to first, and the query."""
    return [
        ({name: adapters.build(value) for name, value in ask["narrowed"].items()},
         adapters.build(ask["query"]))
        for ask in case["asks"]
    ]  # fmt: skip


def answers(place: dict[str, Any], case: dict[str, Any]) -> list[Any]:
    """Return the answers of a case, given where its data lie."""
    found = adapters.answers_at(place, case["opening"], asked(case))
    return [hostile.short(hostile.canonical(answer)) for answer in found]


def in_memory(case: dict[str, Any]) -> list[Any]:
    """Return the answers of a case whose data lie in memory, as a table of Arrow."""
    data = dataset_from(case["data"])
    kinds = {"value": pa.float64(), "second": pa.float64(), "whole": pa.int64()}
    table = pa.table(
        {
            name: pa.array(data["columns"][role], kinds.get(role, pa.string()))
            for role, name in data["names"].items()
        }
    )
    return answers({"data": table}, case)


def moves(case: dict[str, Any]) -> list[Any]:
    """Return how far one record, or one person, can move each answer."""
    return [adapters.sensitivities(query) for _, query in asked(case)]
