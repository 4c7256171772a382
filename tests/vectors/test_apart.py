"""Columns apart: a winsorised mean each, and the choice between that and a ball."""

from fractions import Fraction

import numpy as np
import pytest

import tametail as tt
from tametail.methods.apart.estimate import column_plans, divided
from tametail.methods.kinds import APART, BALL, COMMON_BALL, LOCATED, POOLED
from tametail.planning import Plan
from tametail.privacy.budget import fits

ROWS = np.random.default_rng(5).lognormal(2, 1, size=(3_000, 3)) * [1.0, 1e3, 1e-2]


@pytest.mark.parametrize("dim", [2, 3, 7, 100])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 7.3])
def test_columns_share_the_budget(epsilon, dim):
    parts = divided(tt.pure(epsilon), dim)
    assert 0.999 * epsilon < sum(Fraction(part.epsilon) for part in parts) <= Fraction(epsilon)
    plan = tt.plan(n=10**6, epsilon=epsilon, dim=dim)
    plan = Plan(plan.request, 10**6, APART.name, APART.divide(plan.request, 10**6, plan.budget))
    spent = [step.cost for part in column_plans(plan) for step in part.steps]
    assert sum(Fraction(cost.epsilon) for cost in spent) <= Fraction(epsilon)


@pytest.mark.parametrize("unit", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n", [None, 3_000])
def test_every_column_finds_its_mean(unit, n):
    release = tt.mean(ROWS, epsilon=3, unit=unit, n=n)
    assert release.method == APART.name
    assert (np.abs(release.value / ROWS.mean(axis=0) - 1) < 0.2).all()
    assert (release.low < release.value).all()
    assert fits(tt.pure(release.guarantee.epsilon), tt.pure(3))
    assert release.guarantee.epsilon > 2.999
    assert tt.replay(release.plan, release.answers) == release


def test_intervals_hold_together():
    request = {"n": 3_000, "epsilon": 3, "dim": 3, "confidence": 0.94}
    parts = column_plans(tt.plan(**request))
    assert [part.confidence for part in parts] == pytest.approx([0.98] * 3)


def test_the_choice_is_made_from_public_numbers_and_said():
    few = tt.plan(n=20_000, epsilon=1, dim=2)
    assert few.method == APART.name
    assert "columns apart: with heavy tails" in str(few)
    light = tt.plan(n=100_000, epsilon=4, dim=40, tail=tt.Moment(4, 1.0))
    assert light.method == BALL.name
    assert "columns together: all are known to have light tails" in str(light)
    poor = tt.plan(n=30_000, epsilon=1, dim=100, tail=tt.Moment(4, 1.0))
    assert poor.method == APART.name
    assert "a ball takes more" in str(poor)
    assert tt.plan(n=300, epsilon=1, dim=40, tail=tt.Moment(4, 1.0)).method == LOCATED.name
    many = tt.plan(n=9_000, epsilon=1, dim=100)
    assert many.method == POOLED.name
    assert "columns looked at one by one, and summed together" in str(many)
    assert tt.plan(n=9_000, epsilon=1, dim=7).method == APART.name
    assert tt.plan(n=90_000, epsilon=1, dim=8, tail=tt.Moment(2, 1.0)).method == APART.name
    assert tt.plan(epsilon=1, dim=8).method == POOLED.name
    assert tt.plan(n=20_000, rho=0.5, dim=2).method == BALL.name
    assert tt.plan(n=20_000, epsilon=1, dim=2, common=True).method == COMMON_BALL.name
    assert tt.plan(epsilon=1, dim=2).method == APART.name


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
