"""Means of persons and of groups: one of them comes, with all that belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import tametail as tt
from tametail.ask import Ask
from tametail.planning import Plan
from tametail.privacy.budget import Approx, Budget
from tametail.run import run

from .cases import APPROX, ESTIMATOR_DRAWS, NOTIONS, PURE, ZCDP, Case, estimator_case

Frame = pd.DataFrame

#: Runs of a pair, of ``ESTIMATOR_DRAWS``: questions follow earlier answers, so that nothing exact
#: can be remembered; a table of groups takes a tenth of a second.
PART, PART_BY_GROUP, PART_OF_GROUPS = 0.04, 0.02, 0.01


#: Enough of them that lengths stand out of the noise: else no sum would be asked for.
MANY = 800


def records() -> Frame:
    """Persons with three records each, in two groups."""
    who = np.repeat(np.arange(MANY), 3)
    x = np.tile([3.0, 4.0, 5.0], MANY) + who % 7
    return pd.DataFrame({"who": who, "x": x, "key": np.tile(["a", "a", "b"], MANY)})


#: Whoever comes: a person with one far record, with many records, in every group.
PERSONS = {
    "a person far away comes": pd.DataFrame({"who": [-1], "x": [1e9], "key": ["b"]}),
    "a person with many records comes": pd.DataFrame(
        {"who": -1, "x": np.linspace(6.0, 9.0, 60), "key": np.tile(["a", "b", "z"], 20)}
    ),
}
RECORDS = {
    "a far record comes": pd.DataFrame({"who": [-1], "x": [1e9], "key": ["b"]}),
    "a record of a key that nobody has": pd.DataFrame({"who": [-1], "x": [4.0], "key": ["new"]}),
}


def people_cases() -> Iterator[Case]:
    """``person=``, ``by=``, and both, for each notion; with a delta keys are chosen privately.

    Whoever comes from far away weighs the most, too.
    """
    for budget in NOTIONS:
        yield from _pairs("persons", PERSONS, budget, person="who")
        yield from _pairs("groups", RECORDS, budget, **_grouped(budget))
        yield from _pairs("persons by group", PERSONS, budget, person="who", **_grouped(budget))
    yield from _pairs("weighted mean", RECORDS, PURE, weights="1 + abs(x)")
    yield from _pairs("weighted mean of persons", PERSONS, ZCDP, person="who", weights="1 + abs(x)")
    line = partial(tt.regression, y="x", x="key == 'a'")
    yield from _pairs("regression", RECORDS, ZCDP, line)
    yield from _pairs("a mean of each person", PERSONS, PURE, person="who", each="person")
    yield from _pairs("groups alone", RECORDS, ZCDP, pooling=None, **_grouped(ZCDP))
    alone = {"person": "who", "each": "person"}
    yield from _pairs(
        "a mean of each person by group", PERSONS, APPROX, **alone, **_grouped(APPROX)
    )
    kept = {"person": "who", "groups_per_person": 1}
    for budget in NOTIONS:
        yield from _pairs("persons in one group", PERSONS, budget, **kept, **_grouped(budget))
    each = kept | {"each": "person"}
    yield from _pairs("a mean of each in one group", PERSONS, PURE, **each, **_grouped(PURE))


def _grouped(budget: Budget) -> dict[str, Any]:
    keys = None if isinstance(budget, Approx) else ["a", "b", "c"]
    return {"by": "key", "keys": keys, "other": "rest"}


def _pairs(
    name: str, comers: dict[str, Frame], budget: Budget, ask: Any = None, **request: Any
) -> Iterator[Case]:
    ask = ask or partial(tt.mean, column="x")
    call = partial(ask, budget=budget, confidence=None, **request)
    rows = records()
    part = PART if "by" not in request else PART_BY_GROUP if "person" in request else PART_OF_GROUPS
    for pair, comer in comers.items():
        neighbors = [pd.concat([rows, comer], ignore_index=True), rows]
        plan, _ = made(call, rows)
        assert plan == made(call, neighbors[0])[0], "a plan must not depend on who comes"
        yield estimator_case(
            f"{name}: {pair}",
            neighbors,
            plan.budget.spendable(),
            plan.adjacency,
            partial(_release, plan),
            claimed=plan.spending,
            backend=lambda frame, call=call: made(call, frame)[1],
            draws=int(ESTIMATOR_DRAWS * part),
        )


class _MadeError(Exception):
    pass


def made(call: Any, frame: Frame) -> tuple[Plan, Any]:
    """Return the plan and the backend that a public call makes, before anything is asked."""
    found: list[Any] = []

    def note(plan: Plan, backend: Any) -> Any:
        found.extend([plan, backend])
        raise _MadeError

    with mock.patch("tametail.api.running.prepare_release", note):
        try:
            call(frame)
        except _MadeError:
            return found[0], found[1]
    raise AssertionError("the call asked nothing")


def _release(plan: Plan, ask: Ask) -> tuple[float, ...]:
    """Return the values; private keys may be any number, and their answers hold what differs."""
    values = [row.value for row in run(plan, ask)]
    return float(len(values)), *values[:1]
