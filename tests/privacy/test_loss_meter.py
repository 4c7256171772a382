"""No pair of hostile neighbors loses more than is stated, at the noise that is really used."""

from __future__ import annotations

import math
import os
import random
from functools import partial
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from tests.registry import query_types

import tametail as tt
from tametail.doubles import to_key
from tametail.mechanisms import quantiles as quantiles_module
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.queries.column import DistanceSum, LogHistogram, Quantiles
from tametail.queries.query import Sensitivity

from .meter import Losses, Meter, measured, measured_histogram

#: Pairs for each request; ``make audit`` takes more.
PAIRS = int(os.environ.get("TAMETAIL_METER_PAIRS", "3"))

#: A sum of some dozens of doubles.
ROUNDING = 1 + 1e-9

BUDGETS = [tt.pure(1), tt.zcdp(0.5), tt.approx(1, 1e-6)]
HOSTILE = [
    0.0, -0.0, 5e-324, -1e-310, 1.0, math.nextafter(8.0, 0), 8.0, 64.0, -3.5, 1e9, -1e9, 1e16,
    1e308, -1.7976931348623157e308, math.inf, -math.inf, math.nan,
]  # fmt: skip
LAWS = {
    "lognormal": lambda rng, n: rng.lognormal(1, 2, n),
    "far": lambda rng, n: 1e6 + rng.exponential(size=n),
    "zeros": lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, rng.pareto(1.1, n)),
    "equal": lambda rng, n: np.full(n, 7.25),
    "hostile": lambda rng, n: rng.choice(HOSTILE, n),
    "few": lambda rng, n: rng.normal(size=3),
}


def pairs(adjacency, columns, seed):
    """Yield hostile neighbors: rows that differ in one."""
    rng = np.random.default_rng(seed)
    for number in range(PAIRS):
        law = list(LAWS.values())[(seed + number) % len(LAWS)]
        draws = [law(rng, int(rng.choice([40, 400, 3000]))) for _ in range(columns)]
        rows = np.column_stack([draw[: min(map(len, draws))] for draw in draws])
        one, other = rng.choice(HOSTILE, (2, columns))
        place = int(rng.integers(len(rows)))
        more = np.insert(rows, place, one, axis=0)
        less = rows if adjacency == "add-remove" else np.insert(rows, place, other, axis=0)
        first, second = (more, less) if rng.random() < 0.5 else (less, more)
        yield (first[:, 0], second[:, 0]) if columns == 1 else (first, second)


def check(call, adjacency, budget, columns=1, seed=0):
    parts = [0.0]
    for data, neighbor in pairs(adjacency, columns, seed):
        losses, _ = measured(call, data, neighbor)
        parts.append(losses.part_of(budget))
        assert parts[-1] <= ROUNDING, (parts[-1], losses)
    return max(parts)


REQUESTS = [
    {},
    {"confidence": None},
    {"tail": tt.Moment(2, 5.0)},
    {"tail": tt.Bounded(-10, 10), "missing": "none"},
    {"within": (0, math.inf), "target": "data"},
    {"n": 5000},
]


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_the_mean_of_a_column(number, budget, adjacency):
    call = partial(tt.mean, budget=budget, neighbors=str(adjacency), **REQUESTS[number])
    check(call, adjacency, budget, seed=number)


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(
    "request_", [{}, {"same_scale": True}, {"tail": tt.Moment(4, 3.0)}], ids=str
)
def test_the_means_of_several_columns(request_, budget, adjacency):
    check(
        partial(tt.mean, budget=budget, neighbors=str(adjacency), **request_),
        adjacency,
        budget,
        columns=3,
    )


STATISTICS = {
    "sum": tt.sum,
    "count": tt.count,
    "median": tt.median,
    "a low quantile": partial(tt.quantile, q=0.1),
    "quantiles": partial(tt.quantile, q=[0.05, 0.5, 0.6, 0.99], within=(-1e3, 1e9)),
    "quantiles alone": partial(tt.quantile, q=[0.25, 0.5, 0.75], confidence=None),
    "description": tt.describe,
    "description of these records": partial(tt.describe, target="data"),
}


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("name", STATISTICS)
def test_other_statistics_of_a_column(name, budget, adjacency):
    call = partial(STATISTICS[name], budget=budget, neighbors=str(adjacency))
    check(call, adjacency, budget, seed=list(STATISTICS).index(name))


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_shares(budget, adjacency):
    for data, neighbor in pairs(adjacency, 1, seed=2):
        frames = [pd.DataFrame({"x": each}) for each in (data, neighbor)]
        call = partial(tt.mean, column="x > 2", budget=budget, neighbors=str(adjacency))
        losses, _ = measured(call, *frames)
        assert losses.part_of(budget) <= ROUNDING, losses


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_weighted_means(budget, adjacency):
    """A record may have any value and any weight; so may its neighbor's."""
    for both in pairs(adjacency, 2, seed=6):
        frames = [pd.DataFrame(each, columns=["x", "w"]) for each in both]
        call = partial(tt.mean, column="x", weights="w", budget=budget, neighbors=str(adjacency))
        losses, _ = measured(call, *frames)
        assert losses.part_of(budget) <= ROUNDING, losses


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize("budget", BUDGETS[1:], ids=str)
def test_regressions(budget, adjacency):
    for both in pairs(adjacency, 3, seed=8):
        frames = [pd.DataFrame(each, columns=["y", "a", "b"]) for each in both]
        call = partial(tt.regression, y="y", x=["a", "b"], budget=budget, neighbors=str(adjacency))
        losses, _ = measured(call, *frames)
        assert losses.part_of(budget) <= ROUNDING, losses


LEVELS = {
    "one": (100_000,),
    "two": (499_999, 500_000),
    "three": (250_000, 500_000, 750_000),
    "at the ends": (10_000, 500_000, 990_000),
    "nine": tuple(range(100_000, 1_000_000, 100_000)),
}


def weighed_quantiles(query, first, second, cost, adjacency):
    """Weigh a query for quantiles, of which releases ask few kinds."""
    backends = []
    for records in (first, second):
        keys, counts = np.unique(to_key(records), return_counts=True)
        backends.append(
            SimpleNamespace(relation=None, answer=lambda _, exact=(keys, counts): exact)
        )
    losses = Losses()
    read, _ = Meter(*backends, losses).prepare(query, cost, adjacency)
    read(query)
    return losses.part_of(cost)


def tied_neighbors(adjacency, rng):
    """Return neighbors of which many records are equal, so that coins decide."""
    rest = rng.choice([0.0, 5.0, 5.5, 1e9], int(rng.choice([1, 30, 500])))
    one, other = rng.choice([-1e300, 0.0, 5.0, 1e300], 2)
    return np.append(rest, one), rest if adjacency.one_way else np.append(rest, other)


@pytest.mark.parametrize("halvings", [0, 3])
@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
def test_quantiles_of_tied_records(levels, adjacency, halvings):
    rng = np.random.default_rng(3)
    query = Quantiles(halvings, -math.inf, math.inf, levels)
    for cost in (tt.pure(1), tt.zcdp(0.5)):
        for _ in range(5 * PAIRS):
            part = weighed_quantiles(query, *tied_neighbors(adjacency, rng), cost, adjacency)
            assert part <= ROUNDING


SETTING = {"alpha": 0.5, "k": 2, "R": 1e6}
NORMAL = {"R": 1e6, "deviation": 5.0}
#: How many columns an estimator takes, under which budgets, and what else it is told.
PAPER = {
    tt.paper.range_estimate: (1, BUDGETS, SETTING),
    tt.paper.mean_1d: (1, BUDGETS, SETTING | {"beta": 0.2}),
    tt.paper.mean_ball: (2, BUDGETS, SETTING),
    tt.paper.mean_tournament: (2, BUDGETS[:1], SETTING | {"alpha": 2.0, "beta": 0.2}),
    tt.paper.related.karwa_vadhan: (1, BUDGETS, NORMAL),
    tt.paper.related.coinpress: (1, BUDGETS[1:2], NORMAL),
}


@pytest.mark.parametrize("estimator", PAPER, ids=lambda estimator: estimator.__name__)
def test_the_estimators_of_the_paper(estimator):
    columns, budgets, setting = PAPER[estimator]
    for seed, budget in enumerate(budgets):
        check(partial(estimator, budget=budget, **setting), "replace-one", budget, columns, seed)


def test_no_estimator_of_the_paper_is_left_out():
    rooms = (tt.paper, tt.paper.related)
    named = {getattr(room, name) for room in rooms for name in room.__all__}
    assert named - {tt.paper.related} == set(PAPER)


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("columns", [1, 3])
def test_measurements_of_opendp(columns, budget, adjacency):
    planned = tt.plan(n=400, budget=budget, neighbors=str(adjacency), n_columns=columns)
    check(tt.as_opendp(planned), adjacency, budget, columns)


KEYS = [0, 1, -1, 7, 10**30, -(2**70), None, math.nan, "7", 2.0, 2.5, math.inf]


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
@pytest.mark.parametrize(
    ("budget", "universe"),
    [*((budget, (-5, 2**80)) for budget in BUDGETS), (BUDGETS[2], None)],
    ids=str,
)
def test_histograms(budget, universe, adjacency):
    rng = random.Random(9)
    for _ in range(10 * PAIRS):
        rest = rng.choices(KEYS, k=rng.choice([0, 1, 40]))
        one, other = rng.choices(KEYS, k=2)
        first, second = [*rest, one], rest if adjacency.one_way else [*rest, other]
        losses = measured_histogram(first, second, budget, adjacency, universe)
        assert losses.part_of(budget) <= ROUNDING, losses


def of_persons(rows):
    """A frame of some persons' records."""
    return pd.DataFrame({"who": [who for who, _ in rows], "x": [cell for _, cell in rows]})


@pytest.mark.parametrize("each", ["record", "person"])
@pytest.mark.parametrize("budget", BUDGETS[:2], ids=str)
def test_persons_with_all_of_their_records(budget, each):
    rng = np.random.default_rng(5)
    for _ in range(PAIRS):
        rows = [(int(rng.integers(60)), cell) for cell in rng.lognormal(1, 2, 300)]
        theirs = [(1000, cell) for cell in rng.choice(HOSTILE, int(rng.choice([1, 5, 200])))]
        call = partial(tt.mean, column="x", person="who", budget=budget, each=each)
        losses, _ = measured(call, of_persons(rows + theirs), of_persons(rows))
        assert losses.part_of(budget) <= ROUNDING, losses


@pytest.mark.parametrize("name", ["sum", "count", "quantile", "mean"])
@pytest.mark.parametrize("budget", BUDGETS[:2], ids=str)
def test_other_statistics_of_persons(budget, name):
    rng = np.random.default_rng(4)
    told = {"q": [0.25, 0.5, 0.75], "each": "person"} if name == "quantile" else {}
    told |= {"weights": "x * x / who"} if name == "mean" else {}
    for _ in range(PAIRS):
        rows = [(int(rng.integers(60)), cell) for cell in rng.lognormal(1, 2, 300)]
        theirs = [(1000, cell) for cell in rng.choice(HOSTILE, int(rng.choice([1, 5, 200])))]
        call = partial(getattr(tt, name), column="x", person="who", budget=budget, **told)
        losses, _ = measured(call, of_persons(rows + theirs), of_persons(rows))
        assert losses.part_of(budget) <= ROUNDING, losses


GROUPED = [{}, {"pooling": None}, {"tail": tt.Bounded(-10, 10)}, {"pooling": "mean", "n": 400}]


@pytest.mark.parametrize("request_", GROUPED, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_groups_of_records(budget, request_):
    rng = np.random.default_rng(7)
    for _ in range(PAIRS):
        size = int(rng.choice([40, 3000]))
        rows = pd.DataFrame({"x": rng.lognormal(1, 2, size), "key": rng.choice(list("aab"), size)})
        more = pd.DataFrame({"x": [rng.choice(HOSTILE)], "key": [rng.choice(list("abz"))]})
        keys = None if isinstance(budget, tt.privacy.budget.Approx) else ["a", "b", "c"]
        call = partial(tt.mean, column="x", by="key", keys=keys, other="rest", budget=budget)
        losses, _ = measured(partial(call, **request_), pd.concat([rows, more]), rows)
        assert losses.part_of(budget) <= ROUNDING, losses


@pytest.mark.parametrize("kept", [None, 1], ids=["any groups", "one group"])
@pytest.mark.parametrize("each", ["record", "person"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_persons_in_many_groups(budget, each, kept):
    rng = np.random.default_rng(6)
    for _ in range(PAIRS):
        size, theirs = int(rng.choice([300, 3000])), int(rng.choice([1, 5, 200]))
        rows = pd.DataFrame({"x": rng.lognormal(1, 2, size), "key": rng.choice(list("aab"), size)})
        rows["who"] = rng.integers(0, 200, size)
        more = pd.DataFrame({"x": rng.choice(HOSTILE, theirs), "who": 1000})
        more["key"] = rng.choice(list("abcz"), theirs)
        keys = None if isinstance(budget, tt.privacy.budget.Approx) else ["a", "b", "c"]
        call = partial(tt.mean, column="x", by="key", keys=keys, other="rest", budget=budget)
        call = partial(call, person="who", each=each, groups_per_person=kept)
        losses, _ = measured(call, pd.concat([rows, more]), rows)
        assert losses.part_of(budget) <= ROUNDING, losses


def some_of_everything():
    """Yield a public function, data and a neighbor, until every question has been asked."""
    rng = np.random.default_rng(8)
    column, rows = rng.lognormal(1, 1, 3000), rng.lognormal(1, 1, (3000, 3))
    moment = {"tail": tt.Moment(2, 5.0), "within": 1e6}
    for request in ({"epsilon": 1}, {"epsilon": 0.01, **moment}, {"epsilon": 100, **moment}):
        yield partial(tt.mean, n=3000, **request), np.append(column, 1e9), column
    yield partial(tt.quantile, q=[0.25, 0.5, 0.9], epsilon=1), np.append(column, 1e9), column
    for request in ({}, {"same_scale": True}):
        yield partial(tt.mean, rho=0.5, **request), rows, rows[1:]
    frame = pd.DataFrame({"x": column, "key": "a", "who": np.arange(3000) // 3})
    grouped = partial(tt.mean, column="x", by="key", epsilon=1, delta=1e-6)
    yield grouped, frame, frame[1:]
    yield partial(grouped, person="who"), frame, frame[3:]
    for estimator, (columns, budgets, setting) in PAPER.items():
        data = column if columns == 1 else rows[:, :columns]
        other = data.copy()
        other[0] = 1e9
        yield partial(estimator, budget=budgets[-1], **setting), data, other


def test_every_question_is_weighed():
    asked = set()
    for call, data, neighbor in some_of_everything():
        asked |= measured(call, data, neighbor)[0].asked
    assert asked == set(query_types())


def test_the_meter_sees_nearly_all_of_what_is_spent():
    """Else it would prove nothing: some pair uses most of the budget."""
    call = partial(tt.mean, epsilon=1, n=121, confidence=None)
    records = np.array([3.0, 4.0, 5.0] * 40)
    losses, _ = measured(call, np.append(records, 1e9), records)
    assert 0.6 <= losses.part_of(tt.pure(1)) <= ROUNDING


@pytest.mark.parametrize("query", [DistanceSum, LogHistogram])
def test_the_meter_notices_a_sensitivity_that_is_too_small(query):
    stated = query.sensitivity

    def third(self, adjacency):
        right = stated(self, adjacency)
        return Sensitivity(max(right.l1 // 3, 1), max(right.l2_squared // 9, 1))

    call = partial(tt.mean, epsilon=1, n=4000, confidence=None)
    records = np.random.default_rng(1).lognormal(1, 1, 4000)
    with mock.patch.object(query, "sensitivity", third):
        found = [
            measured(call, np.append(records, 1e9), records)[0].part_of(tt.pure(1))
            for _ in range(3)
        ]
    assert max(found) > 1.05


def far_neighbors(adjacency):
    """Return neighbors that differ in a record at the bottom, which the second has at the top."""
    records = np.arange(1000.0)
    second = records if adjacency == "add-remove" else np.append(records, 1e6)
    return np.append(records, -5.0), second


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES, ids=str)
def test_the_meter_sees_nearly_all_of_what_quantiles_spend(adjacency):
    """Of three levels, on both depths: a record at the bottom may move every score the most."""
    query = Quantiles(0, -math.inf, math.inf, LEVELS["at the ends"])
    found = weighed_quantiles(query, *far_neighbors(adjacency), tt.pure(1), adjacency)
    assert 0.9 <= found <= ROUNDING


def in_one_part(self, adjacency, part=1, whole=2, depth=0):
    """Bound the scores as if both records of a replacement were in one part."""
    return whole


WRONG = {
    "sensitivity": ("add-remove", Quantiles, "score_sensitivity", lambda *_: 100_000),
    "replacement": ("replace-one", Quantiles, "score_sensitivity", in_one_part),
    "depths": ("add-remove", quantiles_module, "one_of_many", lambda cost, _: cost),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_meter_notices_quantiles_that_spend_too_much(name):
    adjacency, *patch = WRONG[name]
    query = Quantiles(0, -math.inf, math.inf, LEVELS["at the ends"])
    with mock.patch.object(*patch):
        found = weighed_quantiles(
            query, *far_neighbors(adjacency), tt.pure(1), Adjacency(adjacency)
        )
    assert found > 1.3
