"""Columns apart: a winsorized mean each, and the choice between that and a ball."""

from fractions import Fraction

import numpy as np
import pytest

import tametail as tt
from tametail.methods.winsorized.column import column_plans, divided
from tametail.planning import Plan, Step
from tametail.planning.table import JOINT, JOINT_COMMON, JOINT_SUM, KNOWN_SCALE, SEPARATE
from tametail.plans import paid_in
from tametail.privacy.budget import Zcdp, fits

ROWS = np.random.default_rng(5).lognormal(2, 1, size=(3_000, 3)) * [1.0, 1e3, 1e-2]


@pytest.mark.parametrize("n_columns", [2, 3, 7, 100])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 7.3])
def test_columns_share_the_budget(epsilon, n_columns):
    parts = divided(tt.pure(epsilon), n_columns)
    assert 0.999 * epsilon < sum(Fraction(part.epsilon) for part in parts) <= Fraction(epsilon)
    plan = tt.plan(n=10**6, epsilon=epsilon, n_columns=n_columns)
    plan = Plan(
        plan.request, 10**6, SEPARATE.name, SEPARATE.divide(plan.request, 10**6, plan.budget)
    )
    spent = [step.cost for part in column_plans(plan) for step in part.steps]
    assert sum(Fraction(cost.epsilon) for cost in spent) <= Fraction(epsilon)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n", [None, 3_000])
def test_every_column_finds_its_mean(adjacency, n):
    release = tt.mean(ROWS, epsilon=3, neighbors=adjacency, n=n)
    assert release.method == SEPARATE.name
    assert (np.abs(release.value / ROWS.mean(axis=0) - 1) < 0.2).all()
    assert (release.low < release.value).all()
    assert fits(tt.pure(release.guarantee.epsilon), tt.pure(3))
    assert release.guarantee.epsilon > 2.999
    assert tt.replay(release.plan, release.answers) == release


def test_intervals_hold_together():
    request = {"n": 3_000, "epsilon": 3, "n_columns": 3, "confidence": 0.94}
    parts = column_plans(tt.plan(**request))
    assert [part.confidence for part in parts] == pytest.approx([0.98] * 3)


def test_the_choice_is_made_from_public_numbers_and_said():
    few = tt.plan(n=20_000, epsilon=1, n_columns=2)
    assert few.method == SEPARATE.name
    assert "one by one: with heavy tails" in str(few)
    light = tt.plan(n=100_000, epsilon=4, n_columns=40, tail=tt.Moment(4, 1.0))
    assert light.method == JOINT.name
    assert "columns are clipped jointly: all have light tails" in str(light)
    poor = tt.plan(n=30_000, epsilon=1, n_columns=100, tail=tt.Moment(4, 1.0))
    assert poor.method == SEPARATE.name
    assert "joint clipping needs more" in str(poor)
    assert (
        tt.plan(n=300, epsilon=1, n_columns=40, tail=tt.Moment(4, 1.0)).method == KNOWN_SCALE.name
    )
    many = tt.plan(n=9_000, epsilon=1, n_columns=100)
    assert many.method == JOINT_SUM.name
    assert "sums are released jointly" in str(many)
    assert tt.plan(n=9_000, epsilon=1, n_columns=5).method == JOINT_SUM.name
    assert tt.plan(n=9_000, epsilon=1, n_columns=4).method == SEPARATE.name
    assert tt.plan(n=90_000, epsilon=1, n_columns=8, tail=tt.Moment(2, 1.0)).method == SEPARATE.name
    assert tt.plan(epsilon=1, n_columns=5).method == JOINT_SUM.name
    assert tt.plan(epsilon=1, delta=1e-6, n_columns=5).method == JOINT_SUM.name
    assert tt.plan(n=20_000, rho=0.5, n_columns=2).method == JOINT.name
    assert tt.plan(n=20_000, epsilon=1, n_columns=2, same_scale=True).method == JOINT_COMMON.name
    assert tt.plan(epsilon=1, n_columns=2).method == SEPARATE.name


UNITS = pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])


@UNITS
@pytest.mark.parametrize("n", [None, 2_000, 10_000, 1_000_000])
@pytest.mark.parametrize("n_columns", [2, 3])
def test_a_delta_is_left_alone_where_it_does_not_pay(adjacency, n, n_columns):
    """With two columns a ball of (epsilon, 1e-6) had up to 2.2 times the error of a pure budget."""
    request = {"n": n, "n_columns": n_columns, "epsilon": 1.0, "neighbors": adjacency}
    pure, plan = tt.plan(**request), tt.plan(**request, delta=1e-6)
    assert plan.method == pure.method == SEPARATE.name
    assert plan.steps == pure.steps
    assert fits(plan.spending, tt.approx(1, 1e-6))
    if n is not None:
        assert "noise without a delta" in str(plan)


@UNITS
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("epsilon", [0.02, 0.3, 4.0])
def test_the_smaller_noise_is_taken(adjacency, delta, epsilon):
    """The variance of noise on d sums of size 1, by what each way leaves for them."""
    for n_columns in (2, 4, 8, 16, 40):
        n = round(700 * n_columns / epsilon)
        plan = tt.plan(n=n, n_columns=n_columns, epsilon=epsilon, delta=delta, neighbors=adjacency)
        noise = {}
        for method in (SEPARATE, JOINT):
            steps = method.divide(plan.request, n, plan.budget)
            cost = next(step.cost for step in steps if step.name == "sum")
            gaussian = isinstance(cost, Zcdp)
            noise[method.name] = (
                n_columns / (2 * cost.rho) if gaussian else 2 * (n_columns / cost.epsilon) ** 2
            )
        assert (plan.method == JOINT.name) == (noise[JOINT.name] < noise[SEPARATE.name])
    assert plan.method == JOINT.name
    assert "with a delta, joint noise is smaller" in str(plan)


@UNITS
def test_releases_with_a_delta_find_their_means(adjacency):
    release = tt.mean(ROWS, epsilon=3, delta=1e-6, neighbors=adjacency)
    assert release.method == SEPARATE.name
    assert (np.abs(release.value / ROWS.mean(axis=0) - 1) < 0.2).all()
    assert fits(tt.approx(release.guarantee.epsilon, 1e-6), tt.approx(3, 1e-6))
    assert tt.replay(release.plan, release.answers) == release


@UNITS
@pytest.mark.parametrize("tail", [tt.Moment(2, 1.0), tt.Moment(4, 1.0), tt.Bounded(0, 1e6)])
def test_with_a_delta_columns_with_a_tail_are_together(adjacency, tail):
    plan = tt.plan(n=100_000, epsilon=1, delta=1e-6, n_columns=2, tail=tail, neighbors=adjacency)
    assert plan.method == JOINT.name
    mixed = tt.plan(
        n=100_000, epsilon=1, delta=1e-6, n_columns=2, tail=[tail, None], neighbors=adjacency
    )
    assert mixed.method == JOINT.name
    assert "columns are clipped jointly" not in str(plan)


def test_few_records_and_a_delta():
    """A ball cannot pay: few columns are apart, many share a scale, as the budgets compare."""
    assert tt.plan(n=100, epsilon=1, delta=1e-6, n_columns=3).method == SEPARATE.name
    assert tt.plan(n=100, epsilon=1, delta=1e-6, n_columns=30).method == JOINT_COMMON.name


def test_plans_that_had_begun_in_a_ball_go_on_in_one():
    """What was left of an approximate budget of two columns, before 0224, is zCDP."""
    request = tt.plan(epsilon=1, delta=1e-6, n_columns=2).request
    first, rest = paid_in(request.budget, Zcdp).split(0.05, 0.95)
    begun = Plan(request, None, JOINT.name, (Step("count", first), Step("rest", rest)))
    assert begun.with_count(20_000).method == JOINT.name


def test_claims_of_two_columns_are_as_good_as_one_by_one():
    """A ball had 3.6 times the error of two releases at half of the budget."""
    rows = np.random.default_rng(1).lognormal(7, 1.5, size=(20_000, 2))
    truth = rows.mean(axis=0)
    together = [tt.mean(rows, epsilon=1, confidence=None).value / truth - 1 for _ in range(40)]
    one = [
        [float(tt.mean(rows[:, j], epsilon=0.5, confidence=None)) / truth[j] - 1 for j in (0, 1)]
        for _ in range(40)
    ]
    assert np.sqrt(np.mean(np.square(together))) < 2 * np.sqrt(np.mean(np.square(one)))


def test_tiny_approximate_budgets_round_to_what_was_asked_for():
    """Once the questions were found to cost more than the plan, by rounding, after all of them."""
    rows = np.random.default_rng(3).normal(size=(100, 3))
    for _ in range(6):
        tt.mean(rows, epsilon=1e-6, delta=1e-12, tail=tt.Moment(2, 1.0))
