"""A guess of n may cost accuracy, never memory: how much is sampled follows a private count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tametail as tt
from tametail.ask import Data
from tametail.methods.joint import settings
from tametail.methods.joint.budget_split import (
    LARGEST_SAMPLE,
    center_halvings,
    choice_halvings,
    least_halvings,
)
from tametail.methods.joint.weigh import center_query
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.budget_split import sample_halvings
from tametail.privacy.budget import noise_for
from tametail.queries.column import MOST_HALVINGS
from tametail.queries.rows import ColumnMedians

RECORDS = 400_000


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every query that data are asked."""
    noted: list[Any] = []
    prepare = Data.prepare

    def note(self: Data, query: Any, cost: Any, adjacency: Any) -> Any:
        noted.append(query)
        return prepare(self, query, cost, adjacency)

    monkeypatch.setattr(Data, "prepare", note)
    return noted


def sampled(asked: list[Any]) -> list[int]:
    """How many records each question that samples is expected to hold."""
    return [RECORDS >> query.halvings for query in asked if hasattr(query, "halvings")]


@pytest.mark.parametrize("n", [0, 1, 1000, RECORDS])
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 0.5}, {"epsilon": 1, "delta": 1e-6}])
def test_a_small_guess_samples_as_little_as_the_right_one(asked, n, budget):
    tt.mean(np.arange(float(RECORDS)), n=n, **budget)
    assert asked[0] == type(asked[0])()  # a count comes first
    assert sampled(asked)
    assert max(sampled(asked)) < 4 * tuned.CENTER_SAMPLE


@pytest.mark.parametrize("n", [None, 1000])
def test_almost_no_budget_does_not_sample_everything_of_many(n):
    """The count says nothing then; its doubt alone keeps the sample small."""
    cost = tt.plan(n, epsilon=1e-6).cost("count")
    doubt = noise_for(cost, 1, 1).quantile(tuned.RARE)
    for records in (10**3, 10**7, 10**9):
        for off in (-0.99, 0.0, 0.99):
            times = sample_halvings(n or 1, records + off * doubt, doubt)
            assert records / 2**times <= tuned.LARGEST_SAMPLE


def test_several_columns_follow_the_count(asked):
    rows = np.random.default_rng(0).normal(size=(RECORDS, 2))
    tt.mean(rows, rho=1, n=1000)
    medians = [query for query in asked if isinstance(query, ColumnMedians)]
    assert sampled(medians)
    assert max(sampled(medians)) < RECORDS / 16


@pytest.mark.parametrize("n", [None, 1000])
@pytest.mark.parametrize("epsilon", [1, 1e-3])
def test_columns_apart_follow_the_count(asked, n, epsilon):
    rows = np.random.default_rng(0).normal(size=(RECORDS, 2))
    tt.mean(rows, epsilon=epsilon, n=n)
    assert sampled(asked)
    # At 1e-3 the count beside a guess is off by millions: its doubt bounds the sample, not more.
    most = 4 * tuned.CENTER_SAMPLE if epsilon == 1 else tuned.LARGEST_SAMPLE
    assert max(sampled(asked)) < most


@pytest.mark.parametrize("epsilon", [1, 1e-6])
def test_the_pool_of_groups_follows_the_count_and_its_doubt(asked, monkeypatch, epsilon):
    monkeypatch.setattr(tuned, "LARGEST_SAMPLE", 1 << 12)
    frame = pa.table({"x": np.arange(float(RECORDS)), "key": np.arange(RECORDS) % 3})
    for _ in range(6):  # about half of the noisy counts are negative
        tt.mean(frame, "x", by="key", keys=[0, 1, 2], epsilon=epsilon)
    assert sampled(asked)
    assert max(sampled(asked)) <= 1 << 12


def test_a_ball_keeps_few_cells_of_as_many_rows_as_there_may_be():
    """A guess of 8 million rows at epsilon = 1e-4, where the count leaves 77 million possible."""
    plan = tt.plan(8_000_000, epsilon=1e-4, n_columns=2, tail=tt.Moment(4, 1.0))
    assert settings.most(plan) > 4 * plan.n
    times = center_query(plan).halvings
    assert settings.most(plan) * plan.n_columns / 2**times <= max(
        2 * plan.n * plan.n_columns, LARGEST_SAMPLE
    )
    known = tt.plan(
        8_000_000, epsilon=1e-4, n_columns=2, tail=tt.Moment(4, 1.0), neighbors="replace-one"
    )
    assert settings.most(known) == known.n
    assert least_halvings(known.n, settings.most(known), known.n_columns) == 0


def test_the_count_beside_a_guess_costs_a_five_hundredth():
    whole, guess = tt.plan(epsilon=1), tt.plan(1000, epsilon=1)
    assert [step.name for step in guess.steps] == ["count", "center", "tail", "sum"]
    assert whole.cost("count").epsilon == pytest.approx(0.015)
    assert guess.cost("count").epsilon == pytest.approx(0.002)
    assert guess.spending.epsilon <= 1


def test_a_public_size_needs_no_count():
    assert not tt.plan(1000, epsilon=1, neighbors="replace-one").has("count")


def test_a_large_guess_still_decides():
    assert sample_halvings(10**7, 1000.0, 50.0) == sample_halvings(10**7, 10**7, 50.0)


@pytest.mark.parametrize("budget", [tt.pure(1), tt.zcdp(0.5)], ids=str)
def test_no_count_halves_more_often_than_the_sampler_can(budget):
    """Noise on a count may be anything; gaps of 2^56 records would not fit."""
    for n in (10**15, 2**62, 10**30):
        assert center_halvings(budget, n, 5) <= MOST_HALVINGS
        assert choice_halvings(budget, n, 5) <= MOST_HALVINGS
