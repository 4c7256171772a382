"""The guaranteed error inverts the sample size; rates have the theorem's exponents."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tametail.errors import ParameterError
from tametail.theory import (
    accuracy_lower_bound,
    approximate_rate,
    ball_sample_size,
    bias_constant,
    local_rate,
    lower_bound,
    mean_sample_size,
    optimal_clip,
    person_rate,
    person_sample_size,
    tournament_sample_size,
    upper_bound,
    winsorized_rmse,
)

PRIVACIES = [{"epsilon": 1.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}]


@pytest.mark.parametrize("privacy", PRIVACIES)
@pytest.mark.parametrize(
    ("constants", "k"),
    [("tight", 1.5), ("one-block", 1.5), *product(("paper", "tight", "one-block"), (2, 4))],
)
def test_upper_bound_inverts_the_mean(privacy, constants, k):
    n = 30_000_000
    settings = {"scale": 2.0, "constants": constants, **privacy}
    alpha, algorithm, used = upper_bound(n, k=k, R=1e3, beta=0.1, **settings)
    assert (algorithm, used) == ("mean_1d", constants)
    assert mean_sample_size(alpha, 0.1, k, 1e3, **settings) <= n
    assert mean_sample_size(alpha * (1 - 1e-6), 0.1, k, 1e3, **settings) > n


@pytest.mark.parametrize("d", [2, 3])
def test_upper_bound_inverts_ball_and_tournament(d):
    n = 100_000_000
    only = {"k": 3, "R": 100.0, "d": d, "constants": "tight"}
    alpha = upper_bound(n, algorithm="mean_ball", rho=0.1, **only).alpha
    assert ball_sample_size(alpha, 3, 100.0, d, beta=0.05, rho=0.1) <= n
    assert ball_sample_size(alpha * (1 - 1e-6), 3, 100.0, d, beta=0.05, rho=0.1) > n
    alpha = upper_bound(n, algorithm="mean_tournament", epsilon=1.0, **only).alpha
    assert tournament_sample_size(alpha, 0.05, 3, 100.0, d, epsilon=1.0) <= n
    assert tournament_sample_size(alpha * (1 - 1e-6), 0.05, 3, 100.0, d, epsilon=1.0) > n


@pytest.mark.parametrize(("d", "ball"), [(2, 0.024), (3, 0.0294), (10, 0.059), (50, 0.16)])
def test_the_best_of_all_is_promised_and_named(d, ball):
    """The tournament alone had .57, .72, 1.40 and 3.44 here."""
    settings = {"k": 2, "R": 10.0, "d": d, "epsilon": 1.0, "beta": 0.3}
    best = upper_bound(10**6, **settings)
    alone = upper_bound(10**6, algorithm="mean_ball", **settings)
    assert alone.alpha == pytest.approx(ball, abs=6e-4)
    assert best.alpha <= alone.alpha
    assert best.algorithm == ("mean_1d" if d <= 10 else "mean_ball")
    if best.algorithm == "mean_1d":  # a call for each column, at its part of everything
        asked = mean_sample_size(
            best.alpha / math.sqrt(d), 0.3 / d, 2, 10.0, epsilon=1 / d, constants=best.constants
        )
        assert asked <= 10**6


def test_nothing_is_promised_that_no_function_keeps():
    with pytest.raises(ParameterError, match="no function promises"):
        upper_bound(10**6, k=2, R=10.0, d=4, epsilon=1.0, algorithm="mean_tournament")
    with pytest.raises(ParameterError, match="no function promises"):
        upper_bound(10**6, k=2, R=10.0, d=2, rho=1.0, algorithm="mean_tournament")
    with pytest.raises(ParameterError, match="no function promises"):  # the paper has 0.3
        upper_bound(10**6, k=2, R=10.0, d=2, rho=1.0, algorithm="mean_ball", constants="paper")
    with pytest.raises(ParameterError, match="no function promises"):
        upper_bound(10**6, k=1.5, R=10.0, epsilon=1.0, constants="paper")


@pytest.mark.parametrize("constants", ["tight", "one-block"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_privacy_term_has_the_theorems_slope(k, constants):
    # A tiny epsilon, so that the privacy term rules: slope -(k-1)/k in n.
    sizes = (10**12, 10**15)
    first, second = (
        upper_bound(n, k=k, R=1.0, epsilon=1e-5, constants=constants).alpha for n in sizes
    )
    assert math.log(second / first) / math.log(1000) == pytest.approx(-(k - 1) / k, abs=0.01)


def test_sampling_term_has_slope_one_half():
    first, second = (upper_bound(n, k=8, R=10.0, epsilon=10.0).alpha for n in (10**7, 10**9))
    assert math.log(second / first) / math.log(100) == pytest.approx(-0.5, abs=0.01)


def test_too_few_records_have_no_guarantee():
    assert upper_bound(10, k=2, R=10.0, epsilon=1.0) == (math.inf, None, None)
    assert upper_bound(2_000, k=2, R=1e300, epsilon=0.1).alpha == math.inf
    assert upper_bound(100, k=2, R=10.0, d=50, rho=0.1).alpha == math.inf
    assert upper_bound(1_000, k=1.01, R=10.0, epsilon=1.0).alpha > 0.5  # nothing overflows


@pytest.mark.parametrize("privacy", PRIVACIES)
@pytest.mark.parametrize("d", [1, 3, 40])
def test_no_promise_is_below_the_limit(privacy, d):
    # An alpha with probability 1 - beta is no RMSE, but must lie above it at these constants.
    for n in (10**4, 10**6, 10**8):
        floor = lower_bound(n, k=2, d=d, **privacy)
        assert upper_bound(n, k=2, R=10.0, d=d, **privacy).alpha > floor


@pytest.mark.parametrize("privacy", PRIVACIES)
@pytest.mark.parametrize("k", [2, 4])
def test_no_sample_size_is_below_the_least(privacy, k):
    for alpha, beta in ((0.1, 0.05), (0.01, 0.3), (0.3, 1e-6)):
        asked = mean_sample_size(alpha, beta, k, 1.0, constants="one-block", **privacy)
        assert accuracy_lower_bound(alpha, beta, k=k, **privacy) <= asked


@pytest.mark.parametrize("k", [1.5, 2, 3, 8])
@pytest.mark.parametrize("privacy", [{"epsilon": 0.5}, {"rho": 0.1}])
def test_optimal_clip_minimises_bias_and_noise(k, privacy):
    n = 5_000

    def square(log_clip):
        clip = math.exp(log_clip)
        if "rho" in privacy:
            noise = (2 * clip / n) ** 2 / (2 * privacy["rho"])
        else:
            noise = 2 * (2 * clip / (n * privacy["epsilon"])) ** 2
        return (bias_constant(k) * clip ** (1 - k)) ** 2 + noise

    best = minimize_scalar(square, bounds=(-3, 15), method="bounded", options={"xatol": 1e-9})
    assert optimal_clip(n, k=k, **privacy) == pytest.approx(math.exp(best.x), rel=1e-4)
    assert optimal_clip(n, k=k, scale=3.0, **privacy) == pytest.approx(
        3 * optimal_clip(n, k=k, **privacy)
    )
    if k >= 2:
        expected = math.sqrt(best.fun + 1 / n)
        assert winsorized_rmse(n, k=k, **privacy) == pytest.approx(expected, rel=1e-6)


def test_optimal_clip_as_the_design_writes_it():
    n, epsilon, k = 10_000, 0.3, 3
    printed = (math.sqrt((k - 1) / 8) * bias_constant(k) * n * epsilon) ** (1 / k)
    assert optimal_clip(n, k=k, epsilon=epsilon) == pytest.approx(printed)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(("n", "epsilon"), [(10**3, 1.0), (10**4, 0.1), (10**4, 1.0)])
def test_winsorising_is_close_to_the_limit(k, n, epsilon):
    privacy_part = math.sqrt(winsorized_rmse(n, k=k, epsilon=epsilon) ** 2 - 1 / n)
    ratio = privacy_part / lower_bound(n, k=k, epsilon=epsilon)
    assert 1 <= ratio <= 1.7


def test_local_rate():
    assert local_rate(10**4, k=2, epsilon=0.1, scale=5.0) == pytest.approx(5 * 0.1**0.5)
    assert local_rate(1, k=2, epsilon=0.1) == 1.0
    sizes = np.array([10**5, 10**9])
    rates = [local_rate(int(n), k=4, epsilon=1.0) for n in sizes]
    assert np.diff(np.log(rates))[0] / np.diff(np.log(sizes))[0] == pytest.approx(-3 / 8)


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("d", [1, 7])
def test_person_rate_and_size_are_each_others_inverse_up_to_constants(k, d):
    for persons in (10**3, 10**6):
        for records in (1, 30, 10**4):
            for epsilon in (0.01, 1.0):
                rate = person_rate(persons, records, k=k, epsilon=epsilon, d=d)
                if persons * epsilon < d or rate == 1.0:
                    continue
                size = person_sample_size(rate, records, k=k, epsilon=epsilon, d=d)
                assert persons / 4 <= size <= 4 * persons


def test_person_rate_has_its_slopes():
    def slope(first, second, factor):
        return math.log(second / first) / math.log(factor)

    few = {"k": 4, "epsilon": 0.001}  # one record each: the paper's rate
    assert person_rate(10**5, 1, k=4, epsilon=0.001) == pytest.approx(100 ** (-3 / 4))
    low, high = person_rate(10**5, 1, **few), person_rate(10**6, 1, **few)
    assert slope(low, high, 10) == pytest.approx(-3 / 4)
    low, high = person_rate(10**5, 10**4, **few), person_rate(10**5, 10**6, **few)
    assert slope(low, high, 100) == pytest.approx(-1 / 2)  # noise on averages
    assert person_rate(50, 10**9, k=2, epsilon=0.01) == 1.0
    assert approximate_rate(10**6, k=4, epsilon=0.001, d=16) == pytest.approx((16e-3) ** 0.75)


def test_mistakes_are_named():
    with pytest.raises(ParameterError, match="n="):
        upper_bound(0, k=2, R=1.0, epsilon=1.0)
    with pytest.raises(ParameterError, match="epsilon="):
        local_rate(10, k=2, epsilon=0.0)
