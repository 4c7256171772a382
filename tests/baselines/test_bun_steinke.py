"""The trimmed mean: its smooth sensitivity by brute force, and its noises by their densities."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from baselines.bun_steinke import (
    _FREEDOM,
    LaplaceLogNormalNoise,
    StudentNoise,
    smooth_sensitivity,
    trimmed_mean,
)

GRID = (0.0, 1.0, 3.0, 4.0)


def trim(records, m):
    return float(np.mean(sorted(records)[m : len(records) - m]))


@cache
def local_sensitivity(records, m):
    """Change every record to every value."""
    changed = (
        (*records[:i], value, *records[i + 1 :]) for i in range(len(records)) for value in GRID
    )
    return max(abs(trim(other, m) - trim(records, m)) for other in changed)


@pytest.mark.parametrize("m", [0, 1, 2])
@pytest.mark.parametrize("t", [0.1, 0.7])
def test_smooth_sensitivity_is_that_of_brute_force(m, t):
    everything = list(itertools.product(GRID, repeat=5))
    for records in everything[::151]:
        expected = max(
            local_sensitivity(other, m)
            * math.exp(-t * sum(a != b for a, b in zip(records, other, strict=True)))
            for other in everything
        )
        ordered = np.sort(np.array(records))
        assert smooth_sensitivity(ordered, m, t, 0.0, 4.0) == pytest.approx(expected)


def test_student_noise_costs_what_it_says():
    noise = StudentNoise(0.8)
    grid = np.concatenate([-np.geomspace(1e-4, 1e6, 4_000)[::-1], np.geomspace(1e-4, 1e6, 4_000)])
    law = stats.t(_FREEDOM)
    for factor in (math.exp(noise.smoothing), math.exp(-noise.smoothing)):
        for shift in (noise.share, -noise.share):
            moved = stats.t(_FREEDOM, loc=shift, scale=factor)
            loss = np.abs(law.logpdf(grid) - moved.logpdf(grid)).max()
            assert loss <= 0.8 + 1e-9
    assert loss > 0.3  # the bound is not empty


def laplace_log_normal_density(sigma, z):
    """Integrate over the logarithm, by Gauss and Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    scales = np.exp(sigma * nodes)
    densities = np.exp(-np.abs(z)[:, np.newaxis] / scales) / (2 * scales)
    return densities @ weights / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("rho", [0.005, 0.5])
def test_laplace_log_normal_noise_costs_at_most_rho(rho):
    noise = LaplaceLogNormalNoise(rho)
    half = np.geomspace(1e-6, 200, 6_000)
    grid = np.concatenate([-half[::-1], half])
    here = laplace_log_normal_density(noise.sigma, grid)
    assert np.trapezoid(here, grid) == pytest.approx(1, abs=1e-4)
    for factor, shift in itertools.product((1, -1), (1, -1)):
        scale = math.exp(factor * noise.smoothing)
        moved = (grid - shift * noise.share) / scale
        there = laplace_log_normal_density(noise.sigma, moved) / scale
        for order in (1.1, 2.0, 4.0):
            divergence = math.log(np.trapezoid(here**order * there ** (1 - order), grid))
            assert divergence / (order - 1) <= order * rho * 1.001 + 1e-4


def test_noise_is_drawn_from_the_density():
    noise, rng = LaplaceLogNormalNoise(0.5), np.random.default_rng(1)
    draws = [noise.draw(rng) for _ in range(20_000)]
    half = np.geomspace(1e-6, 200, 4_000)
    density = laplace_log_normal_density(noise.sigma, half)
    beyond = np.concatenate([[0], np.cumsum(np.diff(half) * (density[1:] + density[:-1]) / 2)])

    def distribution(z):
        return 0.5 + np.sign(z) * np.interp(np.abs(z), half, beyond)

    assert stats.kstest(draws, distribution).pvalue > 1e-6


def test_variance_is_least_at_the_chosen_sigma():
    noise = LaplaceLogNormalNoise(0.5)

    def deviation(sigma):
        share = math.exp(-1.5 * sigma**2) * (noise.epsilon - noise.smoothing / sigma)
        return math.exp(sigma**2) / share

    best = deviation(noise.sigma)
    assert best < deviation(noise.sigma * 1.05)
    assert best < deviation(noise.sigma / 1.05)


@pytest.mark.parametrize("noise", [StudentNoise(1.0), LaplaceLogNormalNoise(0.5)])
def test_normal_records_cost_little_more_than_the_sampling_error(noise):
    rng, n = np.random.default_rng(2), 4_000
    errors = [trimmed_mean(rng.normal(37, 1, n), 1000.0, noise, rng) - 37 for _ in range(200)]
    assert 0.8 < math.sqrt(n * np.mean(np.square(errors))) < 2


def test_few_records_give_the_median_with_noise():
    rng, records = np.random.default_rng(3), np.array([1.0, 5.0, 7.0])
    values = [trimmed_mean(records, 10.0, StudentNoise(1e6), rng, trimmed=9) for _ in range(9)]
    assert np.median(values) == pytest.approx(5, abs=1e-3)
