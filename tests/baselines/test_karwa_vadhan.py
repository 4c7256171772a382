"""Karwa and Vadhan's mean: bins, deviation up to a factor 8, coverage, and its privacy."""

import math

import numpy as np
import pytest
from scipy import stats

from baselines.karwa_vadhan import _deviation, karwa_vadhan_mean, largest_bin


def test_interval_covers_at_least_as_often_as_promised():
    rng, trials, failure = np.random.default_rng(1), 400, 0.1
    missed = 0
    for _ in range(trials):
        estimate = karwa_vadhan_mean(
            rng.normal(37, 2, size=2_000), 1.0, rng, radius=1000, deviation=2.0, failure=failure
        )
        low, high = estimate.interval
        missed += not low <= 37 <= high
        assert low <= estimate.value <= high
    assert stats.binomtest(missed, trials, failure, "greater").pvalue > 1e-6


def test_interval_has_the_width_of_the_formula():
    records = np.random.default_rng(2).normal(size=5_000)
    low, high = karwa_vadhan_mean(
        records, 2.0, np.random.default_rng(3), radius=10, deviation=1.0, failure=0.04
    ).interval
    noise = 8 * math.sqrt(math.log(5_000 / 0.01)) / 5_000
    expected = stats.norm.isf(0.005) / math.sqrt(5_000) + noise * math.log(100)
    assert (high - low) / 2 == pytest.approx(expected)


@pytest.mark.parametrize("deviation", [1e-6, 0.7, 1.0, 1.4, 3e5])
def test_deviation_is_found_within_a_factor_of_eight(deviation):
    rng = np.random.default_rng(4)
    records = 1e4 + deviation * rng.normal(size=4_000)
    found = _deviation(records, 1.0, 1e-6, (0.0, math.inf), rng)
    assert deviation <= found <= 8 * deviation


@pytest.mark.parametrize("mean", [0.0, -37.0, 1e7])
def test_with_delta_nothing_need_be_known(mean):
    rng = np.random.default_rng(5)
    errors = [
        karwa_vadhan_mean(rng.normal(mean, 3, size=5_000), 1.0, rng, delta=1e-6).value - mean
        for _ in range(50)
    ]
    assert math.sqrt(np.mean(np.square(errors))) < 1.0


def test_an_unknown_deviation_gives_no_interval():
    rng = np.random.default_rng(6)
    estimate = karwa_vadhan_mean(
        rng.normal(size=2_000), 1.0, rng, radius=100, deviation=(0.01, 100.0)
    )
    assert estimate.interval is None
    assert abs(estimate.value) < 1


def test_with_delta_an_answer_does_not_show_a_bin_that_few_records_are_in():
    rng, bins = np.random.default_rng(7), np.full(3, 17)
    assert all(largest_bin(bins, (-99, 99), 1.0, 1e-9, rng) == 0 for _ in range(2_000))


def test_pure_noise_may_choose_any_bin_and_all_alike():
    rng = np.random.default_rng(8)
    chosen = [largest_bin(np.array([2]), (0, 4), 1e-6, 0.0, rng) for _ in range(5_000)]
    assert stats.chisquare(np.bincount(chosen, minlength=5)).pvalue > 1e-6


def test_drawing_the_largest_empty_noise_at_once_is_as_drawing_all():
    rng, epsilon, trials = np.random.default_rng(9), 0.5, 20_000
    bins = np.zeros(12, dtype=np.int64)
    at_once = sum(largest_bin(bins, (0, 200), epsilon, 0.0, rng) == 0 for _ in range(trials))
    noises = rng.laplace(scale=2 / epsilon, size=(trials, 201))
    noises[:, 0] += 12
    one_by_one = int((noises.argmax(axis=1) == 0).sum())
    table = [[at_once, trials - at_once], [one_by_one, trials - one_by_one]]
    assert stats.chi2_contingency(table).pvalue > 1e-6
    assert 0.1 < at_once / trials < 0.9
