"""Record releases of persons and groups, with conditions and open bounds: structured.jsonl.xz.

    python tests/net/record_structured.py

Like record.py: the noise is real, so every run records other cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import adapters
import fields
import hostile
import numpy as np
import outcome
import pyarrow as pa
from record import BUDGETS, LAWS, RNG, pick, tags_of

import tametail as tt
from tametail.errors import ParameterError

FIRST = 10_000
SIZES = (0, 3, 60, 600, 3_000, 3_000)
TEXTS, WHOLES = ("a", "b", "c", "d", "e"), (1, 2)

#: Weights of the groups: some are large, some hold a few records, one of the public keys none.
WEIGHTS = (0.6, 0.25, 0.1, 0.04, 0.01)

CONDITIONS = ("x0 > 0", "k != 'a' and x0 is not missing", "j in (1, 2)")


def frame(laws: list[str], size: int) -> pa.Table:
    """Return records of persons: some of them have one, a few have many, some cells are missing."""
    places = np.where(RNG.random(size) < 0.3, RNG.integers(0, 5, size), RNG.integers(5, 900, size))
    columns = {f"x{number}": LAWS[law][0](size) for number, law in enumerate(laws)}
    persons = [None if place % 97 == 96 else f"p{place}" for place in places.tolist()]
    texts = [
        None if RNG.random() < 0.02 else str(RNG.choice(TEXTS, p=WEIGHTS)) for _ in range(size)
    ]
    wholes = RNG.integers(1, 4, size).tolist()
    return pa.table(
        {name: pa.array(cells, pa.float64()) for name, cells in columns.items()}
        | {"who": pa.array(persons, pa.string()), "k": pa.array(texts, pa.string())}
        | {"j": pa.array(wholes, pa.int64())}
    )


def about_records(scales: list[float]) -> dict[str, Any]:
    """Return what is said of the columns: mostly nothing, or a bound on one side."""
    half = [{"Bounded": pick([0.0, None], [None, 3 * scale])} for scale in scales]
    ends = {"range": [-30 * max(scales), 30 * max(scales)]}
    tail = pick(None, None, half[0] if len(half) == 1 else half)
    return {"tail": tail, "within": pick(None, None, None, ends)}


def about_groups(request: dict[str, Any], private: bool) -> dict[str, Any]:
    by = pick(["k"], ["k"], ["j"], ["k", "j"])
    cells = [TEXTS if name == "k" else WHOLES for name in by]
    keys: list[Any] = list(cells[0])[: pick(2, 3, 5)]
    if len(by) == 2:
        keys = [{"key": [one, other]} for one in cells[0][:2] for other in cells[1]]
    chosen = {"by": by, "keys": None if private else [*keys, *pick([], ["never"])[: by == ["k"]]]}
    chosen |= {"other": None if private else pick(None, None, "rest")}
    borrow = pick("shape", "shape", "mean", None)
    chosen["pooling"] = "shape" if borrow is None and request.get("person") else borrow
    return request | chosen | {"simultaneous": pick(None, True, False), "neighbors": "add-remove"}


def some_request(kind: str, scales: list[float], size: int) -> dict[str, Any]:
    """Return a request of a kind; it may be one that is refused."""
    request = dict(pick(*BUDGETS))
    request |= {
        "neighbors": pick("add-remove", "add-remove", "replace-one"),
        "n_columns": len(scales),
    }
    request |= {
        "missing": pick("skip", "skip", "skip", "none"),
        "target": pick("population", "data"),
    }
    request |= {"confidence": pick(0.95, 0.95, 0.8, None), "n": pick(None, None, size // 2 + 1)}
    request |= about_records(scales)
    if "person" in kind:
        request |= {"person": "who", "each": pick("record", "person")}
        request |= {"n_records": pick(None, None, 3 * size + 1)}
    if "keys" in kind:
        strength = {"epsilon": pick(0.5, 1.0, 3.0), "delta": pick(1e-4, 1e-7)}
        request = {k: v for k, v in request.items() if k not in ("rho", "budget")} | strength
    if "group" not in kind:
        return request
    request = about_groups(request, "keys" in kind)
    kept = {"groups_per_person": 1, "pooling": pick("shape", "shape", None)}
    return request | kept if "one-group" in kind else request


def some_case(number: int, kind: str, law: str, n_columns: int, lies: bool) -> dict[str, Any]:
    """Release something, and return the case; a request that is refused is drawn anew."""
    laws = [law, *(pick(*LAWS) for _ in range(n_columns - 1))]
    size = pick(*SIZES[1:] if "keys" in kind else SIZES)
    data = frame(laws, size)
    names = [f"x{place}" for place in range(n_columns)]
    change = hostile.liar(RNG) if lies else (lambda answer, _query: answer)
    while True:
        request = some_request(kind, [LAWS[name][1] for name in laws], size)
        where = pick(*CONDITIONS) if "where" in kind else pick(None, None, None, *CONDITIONS)
        where = None if request["missing"] == "none" else where
        try:
            request["n"] = size_of(data, names, request, where)
            plan = tt.plan(**fields.request_from(request))
            with adapters.changed(coarse(change)):
                release = tt.mean(data, names, plan=plan, where=where, **whose(request))
            break
        except ParameterError:
            continue
    tags = ["structured", *kind.split(), *tags_of(request, law, "hostile" if lies else "honest")]
    tags += [
        name for name in ("other", "simultaneous", "n_records") if request.get(name) is not None
    ]
    tags += [f"{name}:{request[name]}" for name in ("each", "pooling") if name in request]
    case = {"id": number, "tags": tags + ["where"] * (where is not None and "where" not in tags)}
    case |= {"request": request, "where": where, "answers": fields.answers_to(release.answers)}
    return case | outcome.conclude(case)


def coarse(change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the change, after which octave counts have few digits: the recording stays small."""

    def changed(answer: Any, query: Any) -> Any:
        found = change(answer, query)
        if type(query).__name__ != "LogHistogram":
            return found
        usual = int(np.median(np.abs(np.array(found, dtype=np.float64)))) + 1
        step = 2 << usual.bit_length()
        return tuple((number + step // 2) // step * step for number in found)

    return changed


def whose(request: dict[str, Any]) -> dict[str, Any]:
    """Return the column of persons, which is said again beside a plan."""
    return {"person": request["person"]} if "person" in request else {}


def size_of(data: pa.Table, names: list[str], request: dict[str, Any], where: Any) -> int | None:
    """Return n of the request; the number of records or persons where that is public."""
    if request["neighbors"] == "add-remove":
        guess: int | None = request["n"]
        return guess
    plan = tt.plan(**fields.request_from(request | {"n": 10}))
    found: int | None = tt.mean(data, names, plan=plan, where=where, **whose(request)).plan.n
    return found


#: Kinds of cases, the numbers of columns, and how many rounds over all laws.
KINDS = (
    ("where", (1, 1, 2), 3), ("person", (1,), 4), ("person", (2, 3), 3), ("group", (1,), 6),
    ("group", (2,), 2), ("group keys", (1, 1, 2), 3), ("person group", (1,), 5),
    ("person group", (2,), 1), ("person group keys", (1, 1, 2), 2),
    ("person group one-group", (1, 1, 2), 2),
)  # fmt: skip


def releases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = []
    for kind, dims, rounds in KINDS:
        for place, law in enumerate(list(LAWS) * rounds):
            cases.append(some_case(FIRST + len(cases), kind, law, pick(*dims), place % 3 == 2))
            print(len(cases), kind, law, flush=True)
    return cases


if __name__ == "__main__":
    recorded = releases()
    fields.save(fields.STRUCTURED, recorded)
    print(len(recorded), Counter(tag for case in recorded for tag in case["tags"]))
