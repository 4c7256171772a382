"""Record exact answers about groups, persons and conditions on hostile data: placed.jsonl.xz.

    python tests/net/record_placed.py

The answers are those of data in memory; test_placed.py asks all other places for them as well.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import adapters
import fields
import numpy as np
import placed
from tests.backends.datasets import Dataset, some_dataset
from tests.backends.questions import COLUMN, CONDITIONS, KEYED, ROWS, VALUES, VECTORS, VIEWS

RNG = np.random.default_rng(20_261_118)
LINES = ([[0.0, math.inf]], [[-math.inf, 2.5]], None, None)


def pick(choices: Any) -> Any:
    return choices[RNG.integers(len(choices))]


def some(choices: Any, count: int) -> list[Any]:
    return [choices[place] for place in RNG.permutation(len(choices))[:count]]


def make(name: str, **values: Any) -> Any:
    return adapters.find_class(name, tuple(values))(**values)


def keyed(query: Any, count: int) -> Any:
    return make("Keyed", parts=(query,) * count)


def about_columns(several: bool) -> list[Any]:
    if not several:
        return [({}, query) for query in COLUMN]
    narrowed = [({"column": 1}, query) for query in some(COLUMN, 4)]
    return [({}, query) for query in ROWS] + narrowed


def about_persons(several: bool) -> list[Any]:
    views = [type(view)(**_values(view) | {"column": int(several)}) for view in VIEWS]
    found = [({"view": view}, query) for view in views for query in some(COLUMN, 4)]
    return found + [({}, query) for query in (ROWS if several else some(COLUMN, 3))]


def _values(view: Any) -> dict[str, Any]:
    return {name: getattr(view, name) for name in view.__dataclass_fields__}


def about_keys(count: int, several: bool) -> list[Any]:
    narrowed: dict[str, Any] = {"column": 1} if several else {}
    found = [(narrowed, keyed(query, count)) for query in KEYED]
    found += [({}, ROWS[0]), *((narrowed, query) for query in some(COLUMN, 3))]
    one, two = narrowed | {"keys": [count - 1]}, narrowed | {"keys": [0, count - 1]}
    found += [(one, query) for query in some(COLUMN, 3)]
    return found + [(two, keyed(query, 2)) for query in some(KEYED, 3)]


def about_persons_in_groups(count: int, several: bool) -> list[Any]:
    found: list[Any] = [({}, ROWS[0])]
    vectors = [type(one)(**_values(one) | {"column": int(several)}) for one in VECTORS]
    for vector in vectors:
        for order in (1, 2):
            for exponent, limit in ((-4, 500), (-20, 1 << 23), (3, 7)):
                sums = make(
                    "ScaledSums", vector=vector, order=order, exponent=exponent, limit=limit,
                    groups=count,
                )  # fmt: skip
                found += [({}, sums), ({}, make("ScaledSquares", sums=sums))]
            norm = make("PersonNorm", vector=vector, order=order)
            found += [({"view": norm}, query) for query in some(KEYED, 2)]
    mean = type(VIEWS[0])(int(several))
    found = some(found, 14) + [({"view": mean}, query) for query in some(COLUMN, 3)]
    norms = [make("PersonNorm", vector=vector, order=2) for vector in VECTORS[:2]]
    return found + [({"view": norm}, TAIL) for norm in norms]  # what a release asks


TAIL = next(query for query in COLUMN if type(query).__name__ == "LogHistogram")


def some_keys(data: Dataset) -> tuple[list[str], list[list[Any]]]:
    roles = pick((["text"], ["whole"], ["text", "whole"]))
    rows = zip(*(data.columns[role] for role in roles), strict=True)
    occurring = sorted({row for row in rows if None not in row}, key=repr)
    never = {"text": "never {x}", "whole": -5}
    keys = [*some(occurring, 4), tuple(never[role] for role in roles)]
    return [data.names[role] for role in roles], [list(key) for key in keys]


def some_opening(data: Dataset, kind: str) -> tuple[dict[str, Any], list[Any]]:
    """Return what is opened of the data, and questions about it."""
    quoted = {role: f"`{name.replace('`', '``')}`" for role, name in data.names.items()}
    text, where, several = pick(VALUES), pick(CONDITIONS), bool(RNG.random() < 0.5)
    value = data.names["value"] if text == "{value}" else text.format(**quoted)
    opening: dict[str, Any] = {"columns": [value, data.names["second"]] if several else [value]}
    opening["where"] = None if where is None else where.format(**quoted)
    if kind != "column" or several:
        opening["lines"] = pick(LINES)
    if "person" in kind:
        opening["person"] = data.names["person"]
    if "group" not in kind:
        asks = about_persons(several) if "person" in kind else about_columns(several)
        return opening, asks
    opening["by"], keys = some_keys(data)
    if "keys" in kind:
        whole, most = (60, 1000) if "person" in kind else (1, 1)
        return opening, [({}, make("KeyCounts", whole=whole, most=most))]
    opening |= {"keys": keys, "other": bool(RNG.random() < 0.5)}
    count = len(keys) + opening["other"]
    asks = about_persons_in_groups if "person" in kind else about_keys
    return opening, asks(count, several)


KINDS = ("column", "person", "group", "group keys", "person group", "person group keys")


def cases() -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for _ in range(9):
        data = some_dataset(RNG)
        records.append({"names": data.names, "columns": data.columns})
    records += [{"seed": seed, "size": size} for seed, size in ((31, 3_000), (37, 900))]
    found: list[dict[str, Any]] = []
    for record in records:
        data = Dataset(**placed.dataset_from(record))
        for kind in KINDS:
            opening, asks = some_opening(data, kind)
            described = [
                {"narrowed": {name: adapters.describe(value) for name, value in narrowed.items()},
                 "query": adapters.describe(query)}
                for narrowed, query in asks
            ]  # fmt: skip
            case = {"id": len(found), "kind": kind, "data": record, "opening": opening}
            found.append(case | {"asks": described})
    return [
        case | {"answers": placed.in_memory(case), "moves": placed.moves(case)} for case in found
    ]


if __name__ == "__main__":
    recorded = cases()
    fields.save(fields.PLACED, recorded)
    print(len(recorded), sum(len(case["asks"]) for case in recorded))
