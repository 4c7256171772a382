"""The net: what was recorded before the house was rebuilt must still come out.

Requests and answers go through the public interface; structure, integers and choices must be
equal, floats equal to 1e-12. A change that is meant is entered in ``deliberate.json``::

    {"name": "intervals end where the mean can be", "decision": "docs/contributing/decisions/...",
     "tags": ["several", "within"], "fields": [".release.low", ".release.high"]}

``tags`` (all of them) or ``ids`` say which cases may differ, ``fields`` in what, and ``close``, if
it is there, by which part of a number at most.
"""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import fields
import hostile
import outcome
import pytest

ROOT = Path(__file__).parents[2]
DELIBERATE = json.loads((fields.HERE / "deliberate.json").read_text(encoding="utf-8"))
CASES = fields.load(fields.RELEASES) + fields.load(fields.STRUCTURED)
ENGINE_CASES = fields.load(fields.ENGINES)
RECORDED = ("plan", "release", "asked", "narrowed", "result")
#: Cases that one test compares: processes share the tests.
BATCH = 64


def where_different(case: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return what differs from the recording, and the names of the changes that explain it.

    What fails differs as a whole.
    """
    changes = [change for change in DELIBERATE if concerns(change, case)]
    recorded = {name: case[name] for name in RECORDED if name in case}
    try:
        found = outcome.conclude(case)
    except Exception as error:
        return [(f".error: {type(error).__name__}: {error}", [])]
    return [
        (where, [change["name"] for change in changes if explains(change, where, recorded, found)])
        for where in fields.differences(recorded, found)
    ]


def explains(change: dict[str, Any], where: str, recorded: Any, found: Any) -> bool:
    """Say whether a deliberate change explains a difference."""
    if not where.startswith(tuple(change["fields"])):
        return False
    return "close" not in change or where not in fields.differences(
        recorded, found, close=change["close"]
    )


def concerns(change: dict[str, Any], case: dict[str, Any]) -> bool:
    """Say whether a deliberate change is about this case."""
    if "ids" in change:
        return case["id"] in change["ids"]
    return set(change["tags"]) <= set(case["tags"])


@pytest.mark.parametrize("first", range(0, len(CASES), BATCH))
def test_every_release_and_plan_is_as_recorded(first):
    unexplained = [
        f"{case['id']} {case['tags']}: {where}"
        for case in CASES[first : first + BATCH]
        for where, names in where_different(case)
        if not names
    ]
    assert not unexplained, "\n".join([f"{len(unexplained)} differences", *unexplained[:20]])


def test_deliberate_changes_are_decided_and_needed():
    for change in DELIBERATE:
        assert (ROOT / change["decision"]).is_file(), change["decision"]
        assert change["decision"].startswith("docs/contributing/decisions/")
        assert change["fields"]
        concerned = (where_different(case) for case in CASES if concerns(change, case))
        needed = any(change["name"] in names for found in concerned for _, names in found)
        assert needed, f"nothing differs by: {change['name']}"
    assert len({change["name"] for change in DELIBERATE}) == len(DELIBERATE)


@pytest.mark.parametrize("case", ENGINE_CASES, ids=lambda case: f"{case['engine']}-{case['id']}")
def test_every_engine_gives_the_recorded_integers(case):
    found = hostile.answer(case)
    for name in ("answers", "moves"):
        sides = zip(case["queries"], case[name], found[name], strict=True)
        assert not [query for query, one, other in sides if one != other], name


def test_the_recording_covers_what_it_should():
    tags = [set(case["tags"]) for case in CASES]
    for units in ({"unit:add-remove"}, {"unit:replace-one"}):
        for definition in ("notion:pure", "notion:zcdp", "notion:approx"):
            for kind in ({"one", "honest"}, {"one", "hostile"}, {"several", "honest"}, {"plan"}):
                assert any(units | kind | {definition} <= found for found in tags)
    for word in ("second look", "new center", "common", "Moment", "Bounded", "within", "hostile"):
        assert sum(word in found for found in tags) >= 25, word
    for definition in ("notion:pure", "notion:zcdp", "notion:approx"):
        for kind in ({"person"}, {"group"}, {"person", "group"}):
            for lies in ("honest", "hostile"):
                assert any(kind | {definition, lies, "structured"} <= found for found in tags)
    for words in ({"group", "keys"}, {"each:record"}, {"each:person"}, {"where"}, {"other"},
                  {"borrow:None"}, {"borrow:mean"}, {"person", "several"}, {"group", "several"},
                  {"structured", "Bounded"}, {"person", "group", "keys"}):  # fmt: skip
        assert sum(words <= found for found in tags) >= 15, words


def test_every_query_class_is_in_the_recording():
    """Those that releases ask, and those that engines answer."""
    placed_cases = fields.load(fields.PLACED)
    queries = {query["class"] for case in ENGINE_CASES for query in case["queries"]}
    asked = {query["class"] for case in CASES for query, _ in case.get("asked", [])}
    queries |= {ask["query"]["class"] for case in placed_cases for ask in case["asks"]}
    assert len(queries) == 22
    assert queries - asked == {"Quantiles"}  # statistics other than the mean are not recorded


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        items = ((key, item) for key, item in value.items() if not fields.is_prose(key, item))
        return [leaf for key, item in items for leaf in leaves(item, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for key, item in enumerate(value) for leaf in leaves(item, (*path, key))]
    return [path]


def perturb(value: Any, scale: float) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        size = max(abs(value), scale)
        other = value - 1e-9 * size if 0 < size < math.inf else 3.5
        return other if other != value else 3.5  # the smallest double has nothing between it and 0
    if isinstance(value, str):
        return value + "."
    return "something"


@pytest.mark.parametrize(
    "index", [3, 100, 200, 300, 350, 400, 639, 652, 760, 850, 950, len(CASES) - 1]
)
def test_the_net_notices_whatever_is_perturbed_but_prose(index):
    case = CASES[index]
    assert not [where for where, names in where_different(case) if not names]
    recorded = {name: case[name] for name in RECORDED if name in case}
    scales = fields.scales(recorded.get("release", {}))
    for path in leaves(recorded):
        other = copy.deepcopy(recorded)
        holder = other
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = perturb(holder[path[-1]], next(map(scales.get, path[1:2]), None) or 0.0)
        assert fields.differences(recorded, other), path


def test_the_net_notices_another_answer():
    noticed = 0
    for case in [case for case in CASES if "honest" in case["tags"]][::25]:
        other = copy.deepcopy(case)
        last = other["answers"][-1]
        other["answers"][-1] = [2 * number + 10**6 for number in last]
        noticed += not all(names for _, names in where_different(other))
    assert noticed >= 3


def test_the_net_notices_another_integer_and_another_query():
    case = copy.deepcopy(ENGINE_CASES[0])
    assert case["answers"] == hostile.answer(case)["answers"]
    case["queries"][1]["fields"]["lattice"]["fields"]["high"] += 1
    found = hostile.answer(case)
    assert case["answers"] != found["answers"]
    assert case["moves"] != found["moves"]


def test_a_deliberate_change_excuses_what_it_names_and_nothing_else():
    change = {"name": "a", "tags": ["several", "within"], "fields": [".release.low"]}
    case = {"id": 7, "tags": ["several", "within", "hostile"]}
    assert concerns(change, case)
    assert not concerns(change, case | {"tags": ["several"]})
    assert not concerns(change | {"ids": [8]}, case)
    recorded, found = {"release": {"low": [1.0]}}, {"release": {"low": [1.01]}}
    assert explains(change, ".release.low[0]", recorded, found)
    assert not explains(change, ".release.high[0]", recorded, found)
    assert explains(change | {"close": 0.1}, ".release.low[0]", recorded, found)
    assert not explains(change | {"close": 0.001}, ".release.low[0]", recorded, found)
