"""What a recorded case says: requests from JSON, and plans and releases as plain values.

Only public names are used here.
"""

from __future__ import annotations

import json
import lzma
import math
from pathlib import Path
from typing import Any

import adapters
import numpy as np

import tametail as tt

HERE = Path(__file__).parent
RELEASES, ENGINES = HERE / "releases.jsonl.xz", HERE / "engines.jsonl.xz"

#: Releases with persons, groups and conditions, and exact answers about such data.
STRUCTURED, PLACED = HERE / "structured.jsonl.xz", HERE / "placed.jsonl.xz"

#: Numbers on other processors may differ in the last bits: NumPy's exp and log do.
CLOSE = 1e-12

#: Prose, which other tests read: here numbers, codes and choices are compared.
PROSE = frozenset({"text", "words", "advice", "guarantee", "shared_notes"})


def is_prose(key: str, value: Any) -> bool:
    """Say whether a field holds sentences and nothing else."""
    sentences = value if isinstance(value, list) else [value]
    return key in PROSE and all(isinstance(sentence, str) for sentence in sentences)


def load(path: Path) -> list[dict[str, Any]]:
    """Return the recorded cases of a file, one JSON object in a line."""
    with lzma.open(path, "rt", encoding="ascii") as file:
        return [json.loads(line) for line in file]


def save(path: Path, cases: list[dict[str, Any]]) -> None:
    """Write cases; the same cases give the same bytes."""
    lines = "".join(json.dumps(case, separators=(",", ":")) + "\n" for case in cases)
    path.write_bytes(lzma.compress(lines.encode("ascii"), preset=9 | lzma.PRESET_EXTREME))


def request_from(record: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of ``plan`` that a record describes."""
    return {name: _argument(value) for name, value in record.items()}


def _argument(value: Any) -> Any:
    """Undo the marks {"Moment": [2, 1]}, {"range": [0, 1]}, {"key": ["a", 1]} and the like."""
    if isinstance(value, list):
        return [_argument(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, numbers),) = value.items()
    return tuple(numbers) if kind in ("range", "key") else getattr(tt, kind)(*numbers)


def plan_fields(plan: Any) -> dict[str, Any]:
    """Return what a plan decides and predicts."""
    return plain(
        {
            "n": plan.n,
            "method": plan.method,
            "steps": steps_of(plan),
            "rmse": plan.rmse,
            "relative_rmse": plan.relative_rmse,
            "half_width": plan.half_width(0.9),
            "advice": plan.advice,
            "text": str(plan),
        }
    )


def steps_of(plan: Any) -> list[list[Any]]:
    """Return names and costs; where there are rounds, their number was once part of the name."""
    rounds = [getattr(step, "round", 1) for step in plan.steps]
    numbered = max(rounds) > 1
    return [
        [f"{step.name} {number}" if numbered and step.name != "spread" else step.name,
         step.cost.to_dict()]
        for step, number in zip(plan.steps, rounds, strict=True)
    ]  # fmt: skip


#: Fields that a release of several columns did not have when the net was made.
_OF_ONE_COLUMN = ("error_components", "clip", "assumption_contradicted")


def release_fields(release: Any, several: bool) -> dict[str, Any]:
    """Return what a release states."""
    guarantee = release.guarantee
    fields = {
        "value": release.value,
        "low": release.low,
        "high": release.high,
        "interval_target": release.interval_target,
        "confidence": release.confidence,
        "intervals": release.to_dict()["intervals"],
        "notes": [note.to_dict() for note in release.notes],
        "method": release.plan.method,
        "steps": steps_of(release.plan),
        "guarantee": {
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "rho": guarantee.rho,
            "neighbors": str(guarantee.neighbors),
            "words": str(guarantee),
        },
        "answers": len(release.answers),
        "text": str(release),
    }
    own = {"columns": release.columns} if several else _of_one_column(release)
    return plain(fields | own)


def _of_one_column(release: Any) -> dict[str, Any]:
    return {name: getattr(release, name) for name in _OF_ONE_COLUMN}


def rows_fields(release: Any) -> dict[str, Any]:
    """Return what a release of groups or persons states, row by row."""
    whole = release.to_dict()
    names = ("rows", "shared_notes", "method", "confidence", "epsilon", "delta", "rho",
             "neighbors", "person")  # fmt: skip
    told = {name: whole[name] for name in (*names, "guarantee", "columns")}
    told["rows"] = [adapters.digest(plain(row)) for row in whole["rows"]]
    told |= {"steps": steps_of(release.plan), "answers": len(release.answers)}
    return plain(told | {"text": str(release)})


def answers_from(record: list[Any]) -> list[Any]:
    """Return recorded answers as ``replay`` takes them: tuples, numbers and keys of groups."""
    return [_answer(answer) for answer in record]


def _answer(value: Any) -> Any:
    if isinstance(value, dict):
        return adapters.key(value["key"])
    return tuple(_answer(item) for item in value) if isinstance(value, list) else value


def answers_to(answers: Any) -> Any:
    """Undo :func:`answers_from`."""
    if isinstance(answers, list | tuple):
        return [answers_to(item) for item in answers]
    return (
        answers if isinstance(answers, int | float) else {"key": list(adapters.cells_of(answers))}
    )


def conclude(case: dict[str, Any]) -> dict[str, Any]:
    """Run a recorded request, and its answers if there are any, through the public interface."""
    plan = adapters.about(tt.plan(**request_from(case["request"])), case.get("where"))
    result = {"plan": plan_fields(plan)}
    if case.get("answers") is not None:
        release = tt.replay(plan, answers_from(case["answers"]))
        several = case["request"].get("n_columns", 1) > 1
        is_structured = "structured" in case["tags"]
        result["release"] = (
            rows_fields(release) if is_structured else release_fields(release, several)
        )
    return result


def plain(value: Any) -> Any:
    """Return a value made of JSON's types; NumPy's numbers become Python's."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def exact(value: Any) -> Any:
    """Return a plain value with every float as its hexadecimal text: equal means bit for bit."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return value


def differences(
    expected: Any, found: Any, path: str = "", scale: float = 0.0, close: float = CLOSE
) -> list[str]:
    """Return where two plain values differ, as paths: all but floats must be equal.

    What was recorded counts: a field that came later is no difference, nor is other prose. A float
    may be off by ``close`` of itself or of ``scale``.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        known = scales(expected)
        return [
            where
            for key, value in expected.items()
            if not is_prose(key, value)
            for where in (
                differences(value, found[key], f"{path}.{key}", known.get(key, scale), close)
                if key in found
                else [f"{path}.{key}"]
            )
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [
            where
            for index, (one, other) in pairs
            for where in differences(one, other, f"{path}[{index}]", scale, close)
        ]
    if isinstance(expected, float) and isinstance(found, float):
        return [] if _close(expected, found, scale, close) else [path]
    return [] if type(expected) is type(found) and expected == found else [path]


def _close(expected: float, found: float, scale: float, close: float) -> bool:
    if not math.isfinite(expected):
        return expected == found or (math.isnan(expected) and math.isnan(found))
    return math.isclose(expected, found, rel_tol=close, abs_tol=close * scale)


def scales(record: dict[str, Any]) -> dict[str, float]:
    """Return the scales of a release: an end near 0 is a difference of larger numbers.

    For several columns the least scale of a column counts. Parts are parts of a half-width.
    """
    ends = ("value", "low", "high")
    told = [  # infinities may be words
        np.atleast_1d(record[key]).astype(np.float64) for key in ends if record.get(key) is not None
    ]
    if "value" not in record or not all(np.isfinite(numbers).all() for numbers in told):
        return {}
    sizes = (float(size or 0.0) for size in (record.get("error_components") or {}).values())
    width = max(sizes, default=0.0)
    found = dict.fromkeys(ends[1:], float(np.abs(told).max(axis=0).min()))
    return found | ({"error_components": width} if math.isfinite(width) else {})
