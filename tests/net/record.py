"""Record the net: requests, answers and what followed from them, with the code as it is.

    python tests/net/record.py releases     plans, and releases on data of many laws
    python tests/net/record.py engines      exact answers on hostile data

Persons, groups and conditions are recorded by record_structured.py and record_placed.py.

Answers are noisy, so every run records other cases. Only a change that is meant, and written down
as a decision, is a reason to record anew; a change of few cases goes to deliberate.json.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import tametail as tt
from tametail.errors import ParameterError

sys.path.insert(0, str(Path(__file__).parent))

import adapters
import fields
import hostile
import outcome

RNG = np.random.default_rng(20_240_611)

BUDGETS: list[dict[str, Any]] = [
    {"epsilon": 1.0}, {"epsilon": 0.1}, {"epsilon": 5.0}, {"epsilon": 0.5},
    {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 0.3, "delta": 1e-9},
    {"rho": 0.5}, {"rho": 0.005}, {"rho": 2.0},
    {"budget": {"pure": [0.7]}}, {"budget": {"zcdp": [0.05]}}, {"budget": {"approx": [2.0, 1e-5]}},
]  # fmt: skip

SIZES = (0, 1, 25, 300, 2_000, 2_000, 8_000, 8_000)


def gap(size: int) -> Any:
    return np.where(RNG.random(size) < 0.5, RNG.normal(-40, 1, size), RNG.normal(900, 3, size))


#: Laws of one column: a sample, and a scale that is roughly theirs.
LAWS: dict[str, tuple[Any, float]] = {
    "normal": (lambda n: RNG.normal(3, 2, n), 2.0),
    "t3": (lambda n: RNG.standard_t(3, n) * 10, 17.0),
    "pareto": (lambda n: RNG.pareto(1.6, n) * 100, 400.0),
    "lognormal": (lambda n: RNG.lognormal(5, 1.5, n), 1500.0),
    "zeros": (lambda n: np.where(RNG.random(n) < 0.95, 0.0, RNG.lognormal(6, 1, n)), 300.0),
    "rare": (lambda n: np.where(RNG.random(n) < 0.995, 0.0, 1000.0), 70.0),
    "constant": (lambda n: np.full(n, 12.5), 1.0),
    "million": (lambda n: RNG.normal(1e6, 0.1, n), 0.1),
    "billions": (lambda n: RNG.normal(1e12, 1.0, n), 1.0),
    "gap": (gap, 470.0),
    "missing": (lambda n: np.full(n, np.nan), 1.0),
    "half missing": (lambda n: np.where(RNG.random(n) < 0.5, np.nan, RNG.normal(50, 9, n)), 9.0),
    "tiny": (lambda n: RNG.normal(0, 1e-250, n), 1e-50),
    "infinite": (lambda n: np.where(RNG.random(n) < 0.01, np.inf, RNG.exponential(5, n)), 5.0),
}


def pick(*choices: Any) -> Any:
    return choices[RNG.integers(len(choices))]


def some_tail(scale: float) -> Any:
    moment = {"Moment": [pick(2, 2.0, 1.5, 3, 4), scale * pick(0.3, 1.0, 4.0)]}
    ends = pick([0.0, 20 * scale], [-10 * scale, 10 * scale], [-1e6, 2e12])
    return pick(None, None, None, moment, moment, {"Bounded": ends})


def some_within(scale: float) -> Any:
    far = {"range": [-3e12, 3e12]}
    return pick(None, None, None, None, 100 * scale, far, {"range": [0.0, float("inf")]})


def some_request(scales: list[float], size: int) -> dict[str, Any]:
    """Return a request as a record; n is the size under replace-one, where it is public."""
    request = dict(pick(*BUDGETS))
    adjacency, n_columns = pick("add-remove", "replace-one"), len(scales)
    request |= {"neighbors": adjacency, "missing": pick("skip", "skip", "none")}
    request |= {"confidence": pick(0.95, 0.95, 0.8, None)}
    request |= {"target": pick("population", "population", "data")}
    guesses = (None, None, size, 3 * size + 10, size // 3 + 1)
    request["n"] = size if adjacency == "replace-one" else pick(*guesses)
    if n_columns == 1:
        return request | {"tail": some_tail(scales[0]), "within": some_within(scales[0])}
    each = [some_tail(scale) for scale in scales]
    moments = [{"Moment": [2, scale]} for scale in scales]
    request |= {"n_columns": n_columns, "same_scale": pick(False, False, True)}
    request |= {"tail": pick(None, each, moments, some_tail(scales[0]))}
    ends = [some_within(scale) for scale in scales]
    return request | {"within": pick(None, None, ends, some_within(max(scales)))}


def tags_of(request: dict[str, Any], law: str, kind: str) -> list[str]:
    """Return words by which a deliberate change can name the cases that it concerns."""
    budget = request.get("budget", {})
    definition = "zcdp" if "rho" in request or "zcdp" in budget else "pure"
    definition = "approx" if "delta" in request or "approx" in budget else definition
    text = repr(request["tail"])
    found = [kind, f"law:{law}", f"notion:{definition}", f"unit:{request['neighbors']}"]
    found += [f"missing:{request['missing']}", f"target:{request['target']}"]
    found.append("several" if request.get("n_columns", 1) > 1 else "one")
    found += [name for name in ("Moment", "Bounded") if name in text]
    told = {"within": request["within"], "n": request["n"], "confidence": request["confidence"]}
    found += [name for name, value in told.items() if value is not None]
    return found + [name for name in ("common",) if request.get(name)]


def some_case(
    number: int, law: str, lies: bool, n_columns: int, request: Any = None, sizes: Any = SIZES
) -> dict[str, Any]:
    """Release something, and return the case; a request that is refused is drawn anew."""
    names = [law, *(pick(*LAWS) for _ in range(n_columns - 1))]
    size = pick(*sizes)
    columns = [LAWS[name][0](size) for name in names]
    data = columns[0] if n_columns == 1 else np.column_stack(columns)
    while True:
        chosen = request or some_request([LAWS[name][1] for name in names], size)
        if chosen["neighbors"] == "replace-one":
            chosen = chosen | {"n": size}
        try:
            plan = tt.plan(**fields.request_from(chosen))
            break
        except ParameterError:
            continue
    change = hostile.liar(RNG) if lies else (lambda answer, _query: answer)
    with adapters.changed(change):
        answers = fields.plain(tt.mean(data, plan=plan).answers)
    case = {"id": number, "tags": tags_of(chosen, law, "hostile" if lies else "honest")}
    case |= {"request": chosen, "answers": answers}
    case |= outcome.conclude(case)
    asked = Counter(query["class"] for query, _ in case["asked"])
    case["tags"] += ["new center"] if asked["Median"] > 1 else []
    case["tags"] += ["second look"] if asked["LogHistogram"] > asked["Median"] else []
    return case


def plan_alone(number: int) -> dict[str, Any]:
    """Return a case without answers: what is planned and predicted for more records."""
    n_columns = pick(1, 1, 2, 6, 30)
    while True:
        request = some_request([float(pick(1e-3, 1.0, 1e4)) for _ in range(n_columns)], 0)
        request["n"] = pick(None, 100, 10_000, 1_000_000, 10**12)
        try:
            tt.plan(**fields.request_from(request))
            break
        except ParameterError:
            continue
    case = {"id": number, "tags": tags_of(request, "none", "plan"), "request": request}
    return case | fields.conclude(case)


#: Arguments of the paper's estimators, and on what data.
TARGETS = {"alpha": 0.5, "k": 2, "R": 1e4}
PAPER: list[tuple[str, list[int], dict[str, Any], list[str]]] = [
    ("range_estimate", [500], TARGETS, ["pure", "zcdp", "approx"]),
    ("mean_1d", [4_000], TARGETS | {"beta": 0.1}, ["pure", "zcdp", "approx"]),
    ("mean_1d", [4_000], TARGETS | {"beta": 0.4, "constants": "paper"}, ["pure"]),
    ("mean_ball", [4_000, 3], TARGETS, ["zcdp", "approx"]),
    ("mean_ball", [4_000, 22], TARGETS | {"alpha": 2.0}, ["zcdp", "approx"]),
    ("mean_tournament", [3_000, 2], TARGETS | {"alpha": 1.5, "beta": 0.2}, ["pure"]),
]


def others(first: int) -> list[dict[str, Any]]:
    """Return cases of the paper's estimators, and of the sizes and budgets that a plan needs."""
    found = []
    for function, shape, request, notions in PAPER:
        for definition in notions:
            budget = {definition: [1.0, 1e-6] if definition == "approx" else [1.0]}
            data = {"kind": "near", "seed": 11, "shape": shape}
            case = {"function": function, "data": data, "request": request | {"budget": budget}}
            found += [case | {"answers": answers_of(case, lies)} for lies in (False, True)]
    for tail in (None, {"Moment": [2, 1.0]}):
        for adjacency in ("add-remove", "replace-one"):
            wanted = {"relative_error": 0.1} if tail is None else {"error": 0.1}
            request = wanted | {"tail": tail, "neighbors": adjacency}
            found.append({"function": "sample_size", "request": request | {"epsilon": 1.0}})
            found.append({"function": "epsilon_for", "request": request | {"n": 10_000}})
    numbered = [
        {"id": first + i, "tags": [case["function"]]} | case for i, case in enumerate(found)
    ]
    return [case | outcome.conclude(case) for case in numbered]


def answers_of(case: dict[str, Any], lies: bool) -> list[Any]:
    """Run one of the paper's estimators with noise, and return the noisy answers."""
    noted: list[Any] = []
    lie = hostile.liar(RNG)

    def note(answer: Any, query: Any) -> Any:
        is_number = isinstance(answer, tuple)
        noted.append(lie(answer, query) if lies and is_number else answer)
        return noted[-1]

    with adapters.changed(note):
        arguments = fields.request_from(case["request"])
        getattr(tt.paper, case["function"])(hostile.data_from(case["data"]), **arguments)
    return fields.plain(noted)


def releases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = []
    for lies, n_columns, rounds in ((False, 1, 12), (True, 1, 9), (False, 0, 6), (True, 0, 5)):
        for law in list(LAWS) * rounds:
            columns = n_columns or pick(2, 2, 3, 4, 6)
            cases.append(some_case(len(cases), law, lies, columns))
    cases += without_knowledge(len(cases))
    cases += few_of_known_scale(len(cases))
    cases += [plan_alone(len(cases) + index) for index in range(60)]
    return cases + others(len(cases))


def few_of_known_scale(first: int) -> list[dict[str, Any]]:
    """Return cases in which records are found by their scale."""
    cases: list[dict[str, Any]] = []
    for budget in ({"epsilon": 0.3}, {"rho": 0.02}, {"epsilon": 0.5, "delta": 1e-6}):
        for law in ("normal", "t3", "lognormal", "million") * 2:
            adjacency, size, scale = pick("add-remove", "replace-one"), 200, LAWS[law][1]
            request = budget | {"neighbors": adjacency, "missing": pick("skip", "none")}
            request |= {"target": "population", "confidence": pick(0.95, None)}
            request |= {"tail": {"Moment": [2, scale]}, "within": pick(None, 1e4 * scale)}
            request["n"] = size if adjacency == "replace-one" else None
            number = first + len(cases)
            cases.append(some_case(number, law, False, 1, request, sizes=(size,)))
    return cases


def without_knowledge(first: int) -> list[dict[str, Any]]:
    """Return cases in which the center is looked for again, or nothing stands out at first."""
    plainly = {"missing": "skip", "target": "population", "tail": None, "within": None, "n": None}
    cases: list[dict[str, Any]] = []
    for budget in ({"epsilon": 1.0}, {"rho": 0.5}, {"epsilon": 0.5}, {"epsilon": 1, "delta": 1e-6}):
        for law in ("billions", "billions", "billions", "million", "zeros", "rare", "gap") * 3:
            adjacency, confidence = pick("add-remove", "replace-one"), pick(0.95, None)
            request = budget | plainly | {"neighbors": adjacency, "confidence": confidence}
            number = first + len(cases)
            cases.append(some_case(number, law, False, 1, request, sizes=(300, 1_000, 2_000)))
    return cases


if __name__ == "__main__":
    if "engines" in sys.argv[1:]:
        fields.save(fields.ENGINES, hostile.engine_cases())
    if "releases" in sys.argv[1:]:
        recorded = releases()
        fields.save(fields.RELEASES, recorded)
        print(len(recorded), Counter(tag for case in recorded for tag in case["tags"]))
