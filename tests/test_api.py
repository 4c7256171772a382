"""The public functions: guarantees, plans that are followed, replay, and every mistake."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail.errors import ColumnError, DataError, InternalError, ParameterError
from tametail.planning import Plan
from tametail.privacy.budget import fits

RECORDS = np.random.default_rng(11).lognormal(2, 1, 3000)
UNITS = ["add-remove", "replace-one"]
BUDGETS = [tt.pure(1), tt.pure(0.3), tt.zcdp(0.5), tt.approx(1, 1e-6), tt.approx(0.1, 1e-9)]
TAILS = [None, tt.Moment(2, 20), tt.Moment(1.5, 20), tt.Bounded(0, 200)]
OPTIONS = [
    {},
    {"n": 3000},
    {"missing": "none"},
    {"confidence": None},
    {"target": "data"},
    {"within": (0, math.inf)},
    {"within": 50, "missing": "none", "n": 2000},
]


def spent(guarantee):
    if guarantee.rho is not None:
        return tt.zcdp(guarantee.rho)
    if guarantee.delta:
        return tt.approx(guarantee.epsilon, guarantee.delta)
    return tt.pure(guarantee.epsilon)


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_guarantee_is_computed(adjacency, budget, options):
    """At most what was asked for, and nearly all of it; nothing is left unspent by accident."""
    guarantee = tt.mean(RECORDS, budget=budget, neighbors=adjacency, **options).guarantee
    assert fits(spent(guarantee), budget)
    asked = budget.values()[0]
    assert 0.9 * asked <= (guarantee.rho or guarantee.epsilon) <= asked
    assert guarantee.protects == adjacency


def test_a_budget_may_be_given_in_numbers():
    assert tt.mean(RECORDS, rho=0.5).guarantee.rho == pytest.approx(0.5, rel=0.1)
    assert tt.mean(RECORDS, epsilon=1, delta=1e-6).guarantee.epsilon <= 1
    pure = tt.mean(RECORDS, epsilon=1).guarantee
    assert (pure.epsilon, pure.delta, pure.rho) == (pytest.approx(1.0), 0.0, None)


def test_sentence_says_what_add_remove_implies():
    sentence = str(tt.mean(RECORDS, epsilon=1).guarantee)
    assert "epsilon = 1 (pure DP)" in sentence
    assert "for adding or removing any one record" in sentence
    assert "epsilon = 2 for replacing one record" in sentence
    assert "adding" not in str(tt.mean(RECORDS, epsilon=1, neighbors="replace-one").guarantee)


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", BUDGETS[::2], ids=str)
@pytest.mark.parametrize("tail", TAILS, ids=str)
@pytest.mark.parametrize("options", OPTIONS[::2], ids=str)
def test_replay_is_bit_for_bit(adjacency, budget, tail, options):
    release = tt.mean(RECORDS, budget=budget, neighbors=adjacency, tail=tail, **options)
    assert tt.replay(release.plan, release.answers) == release
    plan = Plan.from_json(release.plan.to_json())
    answers = json.loads(json.dumps(release.answers))
    again = tt.replay(plan, answers)
    assert again == release
    assert again.to_json() == replace(release, issued=None).to_json()


def test_replay_needs_all_answers():
    release = tt.mean(RECORDS, epsilon=1)
    with pytest.raises(InternalError, match="fewer answers"):
        tt.replay(release.plan, release.answers[:-1])


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("n", [None, 2500])
def test_release_follows_the_plan(adjacency, n):
    plan = tt.plan(
        n=n, rho=0.5, neighbors=adjacency, tail=tt.Moment(2, 20), within=100, confidence=0.9
    )
    release = tt.mean(RECORDS, plan=Plan.from_json(plan.to_json()))
    if adjacency == "add-remove":
        assert release.plan == plan
    else:  # the size is public: the steps are those of the plan, if it had any
        assert release.plan == plan.with_size(len(RECORDS))
        assert n is None or release.plan.steps == plan.steps
    assert release.confidence == 0.9
    assert release.guarantee.protects == adjacency


def test_value_and_interval_stay_within():
    release = tt.mean(RECORDS, epsilon=1, within=(0, 5))
    assert release.value == 5.0
    assert release.assumption_contradicted  # the records put the mean at about 10
    assert release.low <= 5.0 < release.high
    release = tt.mean(RECORDS, epsilon=1, within=(0, release.high))
    assert 0 <= release.low <= release.value <= release.high <= release.plan.answer_ranges[0][1]


@pytest.mark.parametrize("tail", TAILS, ids=str)
def test_interval_says_what_it_is_for(tail):
    release = tt.mean(RECORDS, epsilon=1, tail=tail)
    assert release.interval_target == "mean"
    basis = "extrapolated-tail" if tail is None else "assumption"
    assert release.intervals[0].basis == release.to_dict()["intervals"][0]["basis"] == basis
    assert release.low < release.value < release.high


@pytest.mark.parametrize("call", [tt.mean, tt.plan, tt.sample_size])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Missing privacy budget. Use epsilon=1"),
        ({"delta": 1e-6}, "Missing privacy budget"),
        ({"epsilon": 1, "rho": 1}, "epsilon and rho cannot be combined"),
        ({"epsilon": 1, "budget": tt.pure(1)}, "budget and epsilon cannot be combined"),
        ({"rho": 1, "delta": 1e-6}, "rho and delta cannot be combined"),
        ({"epsilon": -1}, "Invalid epsilon=-1"),
        ({"epsilon": 0}, "Invalid epsilon=0"),
        ({"epsilon": math.nan}, "Invalid epsilon=nan"),
        ({"epsilon": math.inf}, "Invalid epsilon=inf"),
        ({"epsilon": True}, "Invalid epsilon=True"),
        ({"epsilon": "1"}, "Invalid epsilon='1'"),
        ({"epsilon": 1e-9}, "epsilon = 1e-09 .pure. is too small to be useful"),
        ({"epsilon": 1e9}, "is too large to protect anyone"),
        ({"epsilon": 1e-200}, "epsilon=1e-200 is too small"),
        ({"rho": 1e-30}, "rho = 1e-30 .zCDP. is too small"),
        ({"rho": -1}, "Invalid rho=-1"),
        ({"epsilon": 1, "delta": 1}, "Invalid delta=1"),
        ({"epsilon": 1, "delta": 1.5}, "Invalid delta=1.5"),
        ({"epsilon": 1, "delta": 0}, "delta=0 means pure differential privacy. Use pure"),
        ({"budget": 1}, "Invalid budget=1. Use epsilon=1"),
        ({"epsilon": 1, "tail": 3}, "Invalid tail=3"),
        (
            {"epsilon": 1, "neighbors": "person"},
            "Invalid neighbors='person'. Use neighbors='add-remove'",
        ),
        ({"epsilon": 1, "confidence": 1}, "Invalid confidence=1"),
        ({"epsilon": 1, "confidence": -0.5}, "Invalid confidence=-0.5"),
        ({"epsilon": 1, "confidence": "high"}, "Invalid confidence='high'"),
    ],
)
def test_mistakes_of_budget_and_knowledge(call, arguments, message):
    first = {tt.mean: [[1.0]], tt.plan: [10], tt.sample_size: []}[call]
    wanted = {"relative_error": 0.1} if call is tt.sample_size else {}
    with pytest.raises(ParameterError, match=message):
        call(*first, **wanted, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"within": 0}, "Invalid within=0"),
        ({"within": (1, 0)}, "is empty"),
        ({"within": math.nan}, "Invalid within=nan"),
        ({"within": (10, 20), "tail": tt.Bounded(0, 1)}, "do not overlap"),
        ({"missing": "drop"}, "Invalid missing='drop'. Use missing='skip' or"),
        ({"target": "sample"}, "Invalid target='sample'. Use target='population' or"),
        ({"n": -1}, "Invalid n=-1"),
        ({"n": 2.5}, "Invalid n=2.5"),
        ({"n": "many"}, "Invalid n='many'"),
    ],
)
def test_mistakes_of_the_request(arguments, message):
    with pytest.raises(ParameterError, match=message):
        tt.mean([1.0], epsilon=1, **arguments)
    with pytest.raises(ParameterError, match=message):
        tt.plan(**({"n": 10, "epsilon": 1} | arguments))


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1}, {"budget": tt.pure(1)}, {"tail": tt.Moment(2, 1)}, {"within": 3},
        {"neighbors": "replace-one"}, {"missing": "none"}, {"n": 3}, {"confidence": 0.9},
        {"confidence": None}, {"target": "data"},
    ],
)  # fmt: skip
def test_a_plan_leaves_nothing_to_say(given):
    (name,) = given
    with pytest.raises(ParameterError, match=f"{name} cannot be combined with plan="):
        tt.mean([1.0], plan=tt.plan(epsilon=1), **given)


@pytest.mark.parametrize("plan", [3, "{}", {"format": 1}, tt.pure(1)])
def test_what_is_no_plan(plan):
    with pytest.raises(ParameterError, match=r"Use plan=tametail\.plan"):
        tt.mean([1.0], plan=plan)
    with pytest.raises(ParameterError, match="Invalid plan="):
        tt.replay(plan, [])


def test_common_is_for_several_columns():
    with pytest.raises(ParameterError, match="requires several columns"):
        tt.plan(n=10, epsilon=1, same_scale=True)
    with pytest.raises(ParameterError, match="requires several columns"):
        tt.mean([1.0, 2.0], epsilon=1, same_scale=True)


@pytest.mark.parametrize("error", [0, -1, math.nan, math.inf, None])
def test_errors_to_reach_are_positive(error):
    for told in ({"error": error, "tail": tt.Moment(2, 1)}, {"relative_error": error}):
        with pytest.raises(ParameterError, match="error="):
            tt.sample_size(epsilon=1, **told)
        with pytest.raises(ParameterError, match="error="):
            tt.epsilon_for(n=100, **told)


def test_an_error_without_a_tail_is_refused():
    """Once sample_size(error=200, epsilon=1) was 1: it was taken for standard deviations."""
    for call in (lambda: tt.sample_size(200, epsilon=1), lambda: tt.epsilon_for(200, n=1000)):
        with pytest.raises(ParameterError, match=r"Use relative_error=0\.1"):
            call()
    with pytest.raises(ParameterError, match="With tail=, use error="):
        tt.sample_size(relative_error=1, epsilon=1, tail=tt.Moment(2, 1))
    with pytest.raises(ParameterError, match="not both"):
        tt.sample_size(1, relative_error=1, epsilon=1)


FRAME = pd.DataFrame({"charge": [1.0, 2.0], "name": ["a", "b"]})


@pytest.mark.parametrize(
    ("data", "column", "error", "message"),
    [
        (FRAME, "ln(charge)", ColumnError, "Functions: abs, round, log"),
        (FRAME, "chrage", ColumnError, "No column 'chrage'. Did you mean 'charge'"),
        (FRAME, "zzz", ColumnError, r"Columns: charge, name"),
        (FRAME, None, ColumnError, "Add column=..., one of"),
        ("nowhere.csv", "a", DataError, "No file 'nowhere.csv'. Check the path"),
        (np.zeros((2, 3, 4)), None, ColumnError, "The data have 3 dimensions"),
        (np.array(["a", "b"]), None, ColumnError, "The data are text"),
    ],
)
def test_unreadable_data_cost_nothing(data, column, error, message):
    with pytest.raises(error, match=message) as caught:
        tt.mean(data, column, epsilon=1)
    assert str(caught.value).endswith("No budget was spent.")


@pytest.mark.parametrize(
    ("data", "column", "message"),
    [
        ([1.0], "a", "With column=, a list must contain paths"),
        (range(3), "a", "column='a' is not available for data of type range"),
        (5, None, "Unsupported data type int. Pass a list"),
        (None, None, "Unsupported data type NoneType"),
        ({"a": 1}, None, "of the dict"),
        (b"123", None, "Unsupported data type bytes"),
    ],
)
def test_data_of_a_wrong_type(data, column, message):
    with pytest.raises(ParameterError, match=message):
        tt.mean(data, column, epsilon=1)


def test_public_mistakes_come_before_the_data():
    """A wrong argument must not even open the file."""
    with pytest.raises(ParameterError, match="epsilon=-1"):
        tt.mean("nowhere.csv", "a", epsilon=-1)


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 0.5}, {"epsilon": 1, "delta": 1e-6}])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_stated_guarantee_does_not_depend_on_the_way_that_answers_went(budget, adjacency):
    # Constant records end in the branch that skips the step for the spread.
    constant, spread = [5.0] * 3_000, np.linspace(-1, 1, 3_000)
    stated = {
        str(tt.mean(data, neighbors=adjacency, **budget).guarantee) for data in (constant, spread)
    }
    assert len(stated) == 1
