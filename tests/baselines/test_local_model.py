"""The local-model mean: reports are private one by one, and the rate is that of the theorem."""

import math

import numpy as np
import pytest
from scipy import stats

from baselines.local_model import clip_point, local_mean


def test_one_report_is_laplace_around_the_clipped_record():
    rng, reach = np.random.default_rng(1), clip_point(1, 0.5, 2, 3.0)
    reports = [local_mean(np.array([1e9]), 0.5, 2, 3.0, rng) for _ in range(20_000)]
    # Two records are at most 2T apart, so this scale is epsilon-DP for each person.
    expected = stats.laplace(loc=reach, scale=2 * reach / 0.5)
    assert stats.kstest(reports, expected.cdf).pvalue > 1e-6


def test_clip_point_follows_the_theorem():
    assert clip_point(10_000, 0.1, 2, 5.0) == pytest.approx(5 * 100**0.25)
    assert clip_point(10, 0.1, 2, 5.0) == 5.0


@pytest.mark.parametrize("k", [2, 4])
def test_error_is_of_the_order_of_the_theorem(k):
    rng, epsilon, n = np.random.default_rng(2), 0.5, 20_000
    scale = stats.norm().moment(k) ** (1 / k)
    errors = [local_mean(rng.normal(size=n), epsilon, k, scale, rng) for _ in range(200)]
    rate = scale * (n * epsilon**2) ** (-(k - 1) / (2 * k))
    # Noise alone has 2 sqrt(2) times the rate; the bias is at most once the rate.
    assert 0.5 < math.sqrt(np.mean(np.square(errors))) / rate / (2 * math.sqrt(2)) < 1.5
