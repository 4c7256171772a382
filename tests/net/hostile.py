"""Answers that nobody would believe, and data that nobody would collect."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import adapters
import numpy as np

#: Noise fits in 64 bits, so a noisy integer can be any of these.
INTEGERS = (0, 1, -1, 7, -1000, 10**6, 10**15, 2**62, -(2**62))
MOST_ROWS = 10**13
DOUBLES = (0.0, -0.0, 5e-324, 1.0, -1e6, 1e12, 1e300, -1.7e308)


def liar(rng: np.random.Generator) -> Callable[[Any, Any], Any]:
    """Return a change of answers: half of them stay, others become anything of their type."""

    def change(answer: Any, query: Any) -> Any:  # noqa: PLR0911 - one for each type
        if rng.random() < 0.5:
            return answer
        if isinstance(answer, int):  # a choice of one
            many = len(query.weights) if hasattr(query, "weights") else query.high - query.low + 1
            return getattr(query, "low", 0) + int(rng.integers(min(many, MOST_ROWS)))
        if hasattr(query, "weights"):  # choices among candidates
            return tuple(int(rng.integers(len(query.weights))) for _ in answer)
        if isinstance(answer, float):
            return _inside(rng, answer, query.low, query.high)
        if hasattr(query, "most"):  # keys of groups, with what they weigh
            return tuple((key, abs(weight) + 1) for key, weight in answer[:: rng.integers(1, 3)])
        if hasattr(query, "ranges"):
            pairs = zip(answer, query.ranges, strict=True)
            return tuple(_inside(rng, value, *ends) for value, ends in pairs)
        lie = _integers(rng, answer)
        # No count of rows in memory is beyond this: a sample of that many is never drawn.
        return lie if len(lie) > 1 else (min(lie[0], MOST_ROWS),)

    return change


def _inside(rng: np.random.Generator, value: float, low: float, high: float) -> float:
    other = rng.choice([*DOUBLES, 2 * value, -value])
    return float(min(max(other, low), high))


def _integers(rng: np.random.Generator, answer: tuple[int, ...]) -> tuple[int, ...]:
    def one() -> int:
        return INTEGERS[rng.integers(len(INTEGERS))]

    ways: list[Callable[[], list[int]]] = [
        lambda: [0] * len(answer),
        lambda: [-x for x in answer],
        lambda: list(answer[::-1]),
        lambda: [1000 * x for x in answer],
        lambda: [one()] * len(answer),
        lambda: [one() for _ in answer],
        lambda: [one() if rng.random() < 0.05 else x for x in answer],
    ]
    return tuple(ways[rng.integers(len(ways))]())


# ---------------------------------------------------------------------------------------- data

SPECIAL = (
    float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308,
    2.225073858507201e-308, 1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 1.0,
    1.0, 1.0, -1.0, 0.1, 0.3, 2.0**53, 2.0**53 + 2, -(2.0**63), 1e-300, 3.5, 2.5, -2.5, 1e16, 7.25,
)  # fmt: skip

#: Cells of a list: what is no number is missing.
CELLS = (
    1, 2.5, None, "n/a", "3", True, 2**53 + 1, 10**30, -(2**64), 2**1023, 2**1024, "", -0.0, [1],
    1e308, 0, "nan", -7,
)  # fmt: skip


def data_from(record: dict[str, Any]) -> Any:
    """Return the data that a record describes."""
    kind = record["kind"]
    if kind == "cells":
        return record["cells"]
    if kind == "integers":
        return np.array(record["numbers"], dtype=record["type"]).reshape(record["shape"])
    if kind == "hex":
        found = np.frombuffer(bytes.fromhex(record["hex"]), dtype="<f8").reshape(record["shape"])
        return found.astype(np.float64)
    # The raw stream of a bit generator is the same in every version of NumPy.
    bits = np.random.PCG64(record["seed"]).random_raw(int(np.prod(record["shape"])))
    if kind == "near":  # in [1, 2), with 12 bits: many ties
        bits = (bits >> np.uint64(52) << np.uint64(40)) | np.uint64(1023 << 52)
    if kind == "moderate":  # of either sign, in 2**-16 to 2**16
        exponents = np.uint64(1007) + (bits >> np.uint64(52)) % np.uint64(32)
        sign = bits & np.uint64(1 << 63)
        bits = sign | (exponents << np.uint64(52)) | (bits & np.uint64((1 << 52) - 1))
    return bits.view(np.float64).reshape(record["shape"])


def _hex(values: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    data = np.resize(np.asarray(values, dtype="<f8"), shape)
    return {"kind": "hex", "shape": list(shape), "hex": data.tobytes().hex()}


def _drawn(kind: str, seed: int, *shape: int) -> dict[str, Any]:
    return {"kind": kind, "seed": seed, "shape": list(shape)}


def _whole(kind: str, numbers: list[int], *shape: int) -> dict[str, Any]:
    return {"kind": "integers", "type": kind, "numbers": numbers, "shape": list(shape)}


COLUMNS = [
    _hex(SPECIAL, (len(SPECIAL),)), _hex([], (0,)), _hex([float("nan")], (5,)), _hex([1e6], (9,)),
    _drawn("bits", 1, 500), _drawn("bits", 2, 70_001), _drawn("near", 3, 140_000),
    _drawn("moderate", 4, 140_000), _drawn("moderate", 5, 33),
    {"kind": "cells", "cells": list(CELLS)},
    _whole("int64", [-(2**63), 2**63 - 1, 2**53 + 1, 0, -1, 5], 6),
    _whole("uint64", [2**64 - 1, 2**63 + 1025, 0, 3], 4), _whole("int8", [-128, 127, 1, 1], 4),
]  # fmt: skip

TABLES = [
    _hex(SPECIAL, (40, 3)), _hex([float("nan")], (4, 2)), _hex([7.0], (6, 2)),
    _drawn("bits", 6, 400, 2), _drawn("near", 7, 5_000, 3), _drawn("moderate", 8, 5_000, 4),
    _drawn("moderate", 9, 31, 2), _whole("int64", [2**63 - 1, -(2**63), 3, 4, 2**53 + 1, 0], 3, 2),
]  # fmt: skip

ROWS = {
    "kind": "cells",
    "cells": [[1, 2], [None, 4.5], [5, "n/a"], [2**1024, -(10**30)], [True, -0.0], [1e308, "2"]],
}


def _make(name: str, **values: Any) -> dict[str, Any]:
    return {"class": name, "fields": values}


def _lattice(exponent: int, low: int, center: int, high: int) -> dict[str, Any]:
    return _make("ClippingGrid", exponent=exponent, low=low, center=center, high=high)


def column_queries() -> list[dict[str, Any]]:
    lattices = [
        _lattice(0, -2, 0, 10), _lattice(-20, 0, 1 << 20, 1 << 21), _lattice(10, -32, 0, 512),
        _lattice(-1022, -(1 << 30), 0, 1 << 30), _lattice(1000, -16, 0, 16),
    ]  # fmt: skip
    around = [
        (0.0, _lattice(-8, -256, 0, 768)), (1.5, _lattice(-30, -(1 << 29), 5, 1 << 29)),
        (1e6, _lattice(0, -16, -3, 0)), (-1e308, _lattice(1000, 0, 7, 31 << 20)),
        (5e-324, _lattice(-1022, -(1 << 20), 0, 1 << 20)),
    ]  # fmt: skip
    found = [_make("Count")]
    found += [_make("ClippedSum", lattice=one, count_weight=w) for one in lattices for w in (0, 3)]
    found += [
        _make("DistanceSum", center=center, lattice=one, count_weight=w)
        for center, one in around
        for w in (0, 11)
    ]
    found += [
        _make("Buckets", inverse_width=width, low=low, high=high)
        for width, low, high in ((1.0, -5, 5), (0.125, -(1 << 40), 1 << 40), (64.0, 0, 200))
    ]
    found += [
        _make("DensestBin", inverse_width=width, low=low, high=high, reach=4, falling=falling)
        for width, low, high, falling in ((1.0, -5, 5, False), (0.125, -(1 << 40), 1 << 40, True))
    ]
    found += [
        _make("LogHistogram", center=center, first=first, last=last, counted=counted)
        for center in (0.0, 1.25, -1e6, 1e308)
        for first, last, counted in ((-1022, 1023, False), (-10, 12, True))
    ]
    found += [
        _make("Squares", center=center, octave=octave, cap=cap)
        for center, octave, cap in ((0.0, 0, 16), (1.25, -6, 3), (0.0, 900, 1), (1e6, 20, 9))
    ]
    limits = ((float("-inf"), float("inf")), (0.0, 1.5))
    return found + [_make("Median", halvings=0, low=low, high=high) for low, high in limits]


def table_queries(n_columns: int) -> list[dict[str, Any]]:
    ends = ([float("-inf"), float("inf")], [0.0, 1.5])
    found = [_make("Rows")]
    found += [_make("ColumnMedians", halvings=0, ranges=[list(one)] * n_columns) for one in ends]
    centers = [0.0, 1.25, -3.0, 1e6][:n_columns]
    steps = [5e-324, 1e-3, 0.5, 2.0, 1e4, 1e300]
    choice = {"target": 3, "weights": [1] * 7, "halvings": 0, "window": 2, "least": 1}
    every = _make(
        "Distances", centers=centers, distances=[steps] * n_columns, by_row=False, **choice
    )
    by_row = _make("Distances", centers=centers, distances=[steps], by_row=True, **choice)
    last = {"centers": [centers[-1]], "columns": [n_columns - 1]}
    some = _make("Distances", distances=[steps], by_row=False, **last, **choice)
    found += [every, by_row, some]
    for order, limits in ((1, None), (2, None), (2, [40] * n_columns), (1, [100_000] * n_columns)):
        for inverse in (
            [1.0, 256.0, 2.0**-8, 0.0][:n_columns],
            [2.0**900] * n_columns,
            [2.0**-30] * n_columns,
        ):
            ball = _make(
                "Ball", centers=centers, inverse_ticks=inverse, radii=[1, 30, 1000, 1 << 21],
                order=order, limits=limits,
            )  # fmt: skip
            found.append(
                _make("BallLevels", ball=ball, target=2, weights=[1] * 5, halvings=0, least=1)
            )
            for level in (0, 2, 3):
                found.append(_make("BallSquares", ball=ball, level=level))
                found += [
                    _make("BallSum", ball=ball, level=level, count_weight=c, missing_weight=m)
                    for c, m in ((0, 0), (5, 3))
                ]
    return found


def matrix_queries(n_columns: int, size: int) -> list[dict[str, Any]]:
    center = [0.0, 1.25, -3.0, 1e6][:n_columns]
    found = [
        _make("BallMean", center=center, exponent=e, radius=radius, size=size, factor=1 << 20)
        for e, radius in ((0, 9), (-20, 1 << 22), (-3, 100), (40, 1 << 20))
    ]
    if n_columns == 2 and size >= 30:
        found += [
            _make(
                "Scores", center=center, exponent=e, step=8, reach=2, tie=2, xi=xi, blocks=5,
                size=size, default=size,
            )
            for e, xi in ((-3, 60), (0, 16), (20, 100))
        ]  # fmt: skip
    return found


def engine_cases() -> list[dict[str, Any]]:
    """Return every query on every kind of data, with the exact answers."""
    cases: list[dict[str, Any]] = [
        {"engine": "column", "data": data, "queries": column_queries()} for data in COLUMNS
    ]
    for data in [*TABLES, ROWS]:
        n_columns = data["shape"][1] if "shape" in data else 2
        cases.append({"engine": "table", "data": data, "queries": table_queries(n_columns)})
    for data in TABLES:
        queries = matrix_queries(data["shape"][1], data["shape"][0])
        cases.append({"engine": "matrix", "data": data, "queries": queries})
    return [{"id": number, **case, **answer(case)} for number, case in enumerate(cases)]


def answer(case: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the exact answers of a case, long ones as a hash, and the queries' sensitivities."""
    engine = adapters.open_engine(case["engine"], data_from(case["data"]))
    queries = [adapters.build(query) for query in case["queries"]]
    with np.errstate(all="ignore"):
        answers = [short(canonical(adapters.ask_engine(engine, query))) for query in queries]
    return {"answers": answers, "moves": [adapters.sensitivities(query) for query in queries]}


def canonical(found: Any) -> Any:
    """Return integers in lists; a mapping as its sorted pairs."""
    if isinstance(found, np.ndarray):
        return [canonical(item) for item in found.tolist()]
    if isinstance(found, dict):
        return sorted([_plain_key(key), int(value)] for key, value in found.items())
    if isinstance(found, tuple | list):
        return [canonical(item) for item in found]
    if found != int(found):
        raise TypeError("an exact answer consists of integers.")
    return int(found)


def _plain_key(key: Any) -> Any:
    """Return a bucket's number, or the key of a group as text: CSV files know nothing else."""
    if isinstance(key, int | np.integer):
        return int(key)
    return [str(cell) for cell in adapters.cells_of(key)]


def short(found: Any) -> Any:
    """Return an answer, or its hash if it is long."""
    text = json.dumps(found)
    if len(text) <= 400:
        return found
    return {"sha256": hashlib.sha256(text.encode("ascii")).hexdigest(), "length": len(found)}
