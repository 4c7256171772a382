"""The means that users release, on worst neighbors for both units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import tametail as tt
from tametail.ask import Ask
from tametail.planning import Plan
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.privacy.budget import Budget
from tametail.run import run

from .cases import APPROX, ESTIMATOR_DRAWS, NOTIONS, PURE, ZCDP, Case, Records, estimator_case

#: Enough records that a spread shows, and so few that it does not.
MANY, FEW = [3.0, 4.0, 5.0] * 40, [3.0, 4.0, 5.0]

#: Under add-remove a public guess of n; under replace-one n is what it is.
GUESS = len(MANY)

#: The first pair of each estimator gets most of its runs.
MAIN, OTHERS = 0.6, 0.4

REPLACED: dict[str, tuple[Records, Any, Any]] = {
    "a far outlier moves": (MANY, 1e9, -1e9),
    "a record crosses the end of an octave": (FEW, math.nextafter(8.0, 0), 8.0),
    "a record leaves its octave empty": (FEW, 64.0, 4.0),
    "NaN against a value": (FEW, math.nan, 4.0),
    "None against infinity": (MANY, None, math.inf),
}
ADDED: dict[str, tuple[Records, Any]] = {
    "a far outlier comes": (MANY, 1e9),
    "a record at the end of an octave comes": (FEW, 8.0),
    "one record or none": ([], 4.0),
    "NaN comes": (FEW, math.nan),
    "infinity comes": (MANY, math.inf),
}


def release_cases() -> Iterator[Case]:
    """tametail.mean: each notion and unit, without and with knowledge."""
    for cost in NOTIONS:
        for adjacency in RECORD_ADJACENCIES:
            yield from _pairs("mean", adjacency, budget=cost, n=GUESS, confidence=None)
    add, replace = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
    yield from _pairs("mean with an interval", add, 0.2, budget=PURE, n=GUESS)
    for cost, adjacency, tail in (
        (ZCDP, add, tt.Moment(2, 2.0)),
        (PURE, replace, tt.Moment(2, 2.0)),
        (PURE, add, tt.Bounded(0.0, 10.0)),
        (ZCDP, replace, tt.Bounded(0.0, 10.0)),
    ):
        name = f"mean with {type(tail).__name__}"
        yield from _pairs(name, adjacency, 0.4, budget=cost, tail=tail, n=GUESS, confidence=None)
    yield loose_case()
    # A guess of n that makes the median look at a sample only.
    yield from _pairs("mean, n = 5000", add, 0.4, budget=PURE, n=5000, confidence=None)
    # Slow: every noisy count leads to another plan, and so to other questions.
    yield from _pairs("mean, n unknown", add, 0.1, budget=PURE, confidence=None)


def loose_case() -> Case:
    """A look that was cut short for bounds, and a second one: every step shows the record."""
    records, adjacency = [3.0, 4.0, 5.0] * 350, Adjacency.REPLACE_ONE
    told = {"tail": tt.Bounded(-1e12, 1e12), "confidence": None}
    plan = tt.plan(n=len(records) + 1, budget=PURE, neighbors=adjacency.value, **told)
    return estimator_case(
        "mean between loose bounds: a far outlier moves",
        [[*records, 1e9], [*records, -1e9]],
        plan.budget.spendable(),
        adjacency,
        partial(_release, plan),
        claimed=plan.spending,
        draws=ESTIMATOR_DRAWS // 5,
    )


def _pairs(name: str, adjacency: Adjacency, part: float = 1.0, **request: Any) -> Iterator[Case]:
    if adjacency is Adjacency.REPLACE_ONE:
        request.pop("n", None)
    plan = tt.plan(neighbors=adjacency.value, **request)
    table: dict[str, Any] = ADDED if adjacency is Adjacency.ADD_REMOVE else REPLACED
    for number, (pair, (records, *changed)) in enumerate(table.items()):
        share = OTHERS / (len(table) - 1) if number else MAIN
        neighbors = [[*records, record] for record in changed]
        if adjacency is Adjacency.ADD_REMOVE:
            neighbors.append(list(records))
        fixed = plan.with_size(len(neighbors[0])) if adjacency is Adjacency.REPLACE_ONE else plan
        yield estimator_case(
            f"{name}: {pair}",
            neighbors,
            plan.budget.spendable(),
            adjacency,
            partial(_release, fixed),
            claimed=fixed.spending,
            draws=int(ESTIMATOR_DRAWS * part * share),
        )


def _release(plan: Plan, ask: Ask) -> tuple[float, ...]:
    release = run(plan, ask)
    low, high = release.low or 0.0, release.high or 0.0
    return release.value, high - low if math.isfinite(high - low) else -1.0


def vector_cases() -> Iterator[Case]:
    """The vector mean: own and common scales."""
    settings: tuple[tuple[str, Budget, Adjacency, bool], ...] = (
        ("vector mean", PURE, Adjacency.ADD_REMOVE, False),
        ("vector mean", PURE, Adjacency.REPLACE_ONE, False),
        ("vector mean", ZCDP, Adjacency.ADD_REMOVE, False),
        ("vector mean", ZCDP, Adjacency.REPLACE_ONE, False),
        ("vector mean", APPROX, Adjacency.REPLACE_ONE, False),
        ("vector mean, one scale", ZCDP, Adjacency.ADD_REMOVE, True),
    )
    rows = np.array([[3.0, 4.0], [4.0, 4.0], [5.0, 4.5]] * 20)
    pairs = {
        "a far outlier": ((1e9, 1e9), (-1e9, -1e9)),
        "cells that are no numbers": ((math.nan, math.inf), (3.0, 4.0)),
    }
    for name, cost, adjacency, common in settings:
        added = adjacency is Adjacency.ADD_REMOVE
        plan = tt.plan(
            budget=cost,
            n_columns=2,
            neighbors=adjacency.value,
            n=61,
            same_scale=common,
            confidence=None,
        )
        for pair, (row, other) in pairs.items():
            neighbors = np.vstack([rows, [row]]), rows if added else np.vstack([rows, [other]])
            yield _rows_case(f"{name}: {pair}", neighbors, plan, ESTIMATOR_DRAWS // 10)


def pooled_cases() -> Iterator[Case]:
    """Columns that are summed together: so many records that all of them are seen."""
    rows = np.random.default_rng(0).exponential(size=(8_000, 8))
    far, other = np.full((1, 8), 1e9), np.full((1, 8), -1e9)
    for adjacency in RECORD_ADJACENCIES:
        plan = tt.plan(
            epsilon=1.0, n_columns=8, neighbors=adjacency.value, n=len(rows), confidence=None
        )
        less = rows[:-1] if adjacency is Adjacency.ADD_REMOVE else np.vstack([rows[:-1], other])
        neighbors = np.vstack([rows[:-1], far]), less
        name = "vector mean, one sum: a far outlier"
        yield _rows_case(name, neighbors, plan, ESTIMATOR_DRAWS // 100)


def _rows_case(name: str, neighbors: Any, plan: Plan, draws: int) -> Case:
    how = "more" if plan.adjacency is Adjacency.ADD_REMOVE else "replaced"
    return estimator_case(
        f"{name} {how}",
        neighbors,
        plan.budget.spendable(),
        plan.adjacency,
        partial(_vector, plan),
        claimed=plan.budget,
        draws=draws,
    )


def _vector(plan: Plan, ask: Ask) -> tuple[float, ...]:
    return tuple(row.value for row in run(plan, ask))
