"""CoinPress: the noise of one step, and its error on the laws that it was made for."""

import math

import numpy as np
import pytest
from scipy import stats

from baselines.coinpress import coinpress_mean, coinpress_mean_1d


def test_noise_of_one_step_is_that_of_the_clipping_ball():
    rng, n, rho, radius = np.random.default_rng(1), 40, 0.5, 3.0
    values = [coinpress_mean(np.zeros((n, 1)), rho, radius, rng, steps=1)[0] for _ in range(5_000)]
    level = math.log(100)
    bound = math.sqrt(1 + 2 * math.sqrt(level) + 2 * level)
    reach = min(radius + bound, math.sqrt(radius**2 + 6 * radius + bound**2))
    expected = stats.norm(scale=2 * reach / n / math.sqrt(2 * rho))
    assert stats.kstest(values, expected.cdf).pvalue > 1e-6


def test_one_row_moves_the_first_step_by_at_most_its_sensitivity():
    rows, changed = np.zeros((10, 2)), np.zeros((10, 2))
    rows[0], changed[0] = [1e9, 0], [-1e9, 0]
    found = [
        coinpress_mean(x, 1e12, 3.0, np.random.default_rng(2), steps=1) for x in (rows, changed)
    ]
    level = math.log(100)
    bound = math.sqrt(2 + 2 * math.sqrt(2 * level) + 2 * level)
    reach = min(3 + bound, math.sqrt(9 + 18 + bound**2))
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(2 * reach / 10, rel=1e-3)


@pytest.mark.parametrize("steps", [2, 4])
def test_normal_rows_cost_little_more_than_the_sampling_error(steps):
    rng, n, n_columns = np.random.default_rng(3), 4_000, 10
    errors = [
        np.linalg.norm(
            coinpress_mean(rng.normal(2, 1, (n, n_columns)), 0.5, 50.0, rng, steps=steps) - 2
        )
        for _ in range(60)
    ]
    assert 0.8 < math.sqrt(n / n_columns * np.mean(np.square(errors))) < 1.5


def test_one_dimension_is_the_same_in_other_units():
    records = np.random.default_rng(4).normal(37, 1, 2_000)
    plain = coinpress_mean_1d(records, 0.5, 1000.0, 1.0, np.random.default_rng(5))
    larger = coinpress_mean_1d(8 * records, 0.5, 8000.0, 8.0, np.random.default_rng(5))
    assert larger == pytest.approx(8 * plain)
    assert plain == pytest.approx(37, abs=0.2)


def test_the_callers_rows_stay_as_they_are():
    rows = np.full((20, 2), 1e6)
    coinpress_mean(rows, 0.5, 1.0, np.random.default_rng(6))
    assert (rows == 1e6).all()
