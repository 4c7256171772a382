"""The bounded Laplace mean: what it clips, and how much noise it adds."""

import numpy as np
import pytest
from scipy import stats

from baselines.bounded_laplace import bounded_laplace_mean


def test_records_beyond_the_bounds_count_as_the_bounds():
    rng = np.random.default_rng(1)
    value = bounded_laplace_mean(np.array([1e9, -1e9, 3.0, 1e9]), 1e12, 10.0, rng)
    assert value == pytest.approx((10 - 10 + 3 + 10) / 4, abs=1e-6)


def test_noise_is_laplace_with_the_sensitivity_of_changing_one_record():
    rng, records = np.random.default_rng(2), np.zeros(50)
    noises = [bounded_laplace_mean(records, 0.5, 10.0, rng) for _ in range(20_000)]
    expected = stats.laplace(scale=2 * 10.0 / (50 * 0.5))
    assert stats.kstest(noises, expected.cdf).pvalue > 1e-6
