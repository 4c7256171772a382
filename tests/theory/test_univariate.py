"""The one-dimensional theorems: known values, shapes, and simulation of their promises."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from tametail.errors import ParameterError
from tametail.theory import (
    bucket_count,
    bucket_radius,
    clip_radius,
    distribution,
    hard_instance,
    mean_sample_size,
    median_of_means_blocks,
    range_sample_size,
    truncation_bias,
)
from tametail.theory.univariate import stability_threshold

PRIVACIES = [{"epsilon": 1.0}, {"epsilon": 0.1}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}]


@pytest.mark.parametrize(("beta", "m"), [(0.05, 17), (0.01, 31), (0.3, 1), (0.29, 3)])
def test_tight_blocks_are_the_least(beta, m):
    assert median_of_means_blocks(beta) == m
    assert stats.binom.sf((m - 1) // 2, m, 0.3) <= beta
    if m > 1:
        assert stats.binom.sf((m - 3) // 2, m - 2, 0.3) > beta


def test_paper_blocks():
    for beta in (0.05, 0.01):
        m = median_of_means_blocks(beta, constants="paper")
        assert m % 2 == 1
        assert 0 <= m - 200 * math.log(2 / beta) < 2


def test_tiny_beta_is_quick_and_odd():
    m = median_of_means_blocks(1e-200)
    assert m % 2 == 1
    assert stats.binom.logsf((m - 1) // 2, m, 0.3) <= -200 * math.log(10)


@pytest.mark.parametrize(
    ("constants", "k"), [("tight", 1.5), *product(("paper", "tight"), (2, 3, 4))]
)
def test_radius_keeps_the_bias_below_a_third(k, constants):
    for alpha in (1e-3, 0.05, 0.5, 3.0):
        r = clip_radius(alpha, k, constants=constants)
        assert truncation_bias(r, k) <= alpha / 3 * (1 + 1e-12)
        assert bucket_radius(alpha, k, constants=constants) ** -k <= 1 / 16 + 1e-12
        assert clip_radius(alpha * 9, k, scale=9.0, constants=constants) == pytest.approx(9 * r)


def test_tight_radius_saves_an_order_of_magnitude():
    for k, alpha in ((2, 0.01), (2, 0.5), (3, 0.001), (4, 1e-4), (4, 0.9)):
        ratio = clip_radius(alpha, k, constants="paper") / clip_radius(alpha, k)
        assert 13 <= ratio <= 15.1


def test_the_floor_of_the_bucket_does_not_hide_the_rate():
    """With a floor of 4 for every k the slope at k = 4 was -1.03 here."""
    for k in (2, 3, 4):
        alphas = np.geomspace(0.02, 0.1, 5)
        sizes = [mean_sample_size(alpha, 0.05, k, 0.01, epsilon=1e-4) for alpha in alphas]
        slope = np.polyfit(np.log(sizes), np.log(alphas), 1)[0]
        assert slope == pytest.approx(-(k - 1) / k, abs=0.05)


def test_a_tiny_beta_does_not_overflow():
    for constants in ("paper", "tight"):
        least = median_of_means_blocks(5e-324, constants=constants)
        assert least % 2 == 1
        assert least >= median_of_means_blocks(1e-300, constants=constants)
    assert mean_sample_size(0.5, 5e-324, 2, 10.0, epsilon=1.0, constants="paper") < math.inf


def test_buckets_cover_the_mean_and_its_neighbourhood():
    for R in (11.0, 20.0, 1000.0, 1e300):
        r = 5.0
        half = bucket_count(R, r) // 2
        assert half * 2 * r >= R + r


def test_stability_threshold_pays_delta_once():
    for epsilon in (0.1, 1.0, 5.0):
        g = math.exp(-epsilon / 2)
        t = stability_threshold(epsilon, 1e-6)
        assert g ** (t - 1) / (1 + g) <= 1e-6 < g ** (t - 2) / (1 + g)


@pytest.mark.parametrize("privacy", PRIVACIES)
@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_sample_sizes_move_the_right_way(privacy, constants):
    def size(*, alpha=0.05, beta=0.05, k=2, R=1e3, scale=1.0, privacy=privacy):
        return mean_sample_size(alpha, beta, k, R, scale=scale, constants=constants, **privacy)

    stricter = {name: value / 10 for name, value in privacy.items()}
    assert size(alpha=0.01) > size()
    assert size(beta=0.001) > size()
    assert size(k=4) <= size()
    assert size(R=1e30) >= size()
    assert size(privacy=stricter) >= size()
    assert size(alpha=0.5, scale=10.0, R=1e4) == pytest.approx(size(), rel=1e-6)
    blocks = median_of_means_blocks(0.05, 0.2 if constants == "tight" else 0.3, constants)
    assert size() % (2 * blocks) == 0


@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_dependence_on_the_range(constants):
    def located(R, **privacy):
        return range_sample_size(0.05, 2, R, constants=constants, **privacy)

    # log R for pure DP, sqrt(log R) for zCDP, nothing for approximate DP; small budgets, so
    # that the privacy term rules.
    pure = located(1e200, epsilon=0.001) / located(1e50, epsilon=0.001)
    zcdp = located(1e200, rho=1e-7) / located(1e50, rho=1e-7)
    assert pure == pytest.approx(4, rel=0.1)
    assert zcdp == pytest.approx(2, rel=0.1)
    approximate = {"epsilon": 0.01, "delta": 1e-6}
    assert located(1e200, **approximate) == located(1e50, **approximate)
    assert located(math.inf, **approximate) == located(1e50, **approximate)
    assert located(3.0, epsilon=1.0) == 0


def _choose(counts, privacy, buckets, rng):
    """The three range mechanisms in floats; bucket keys to counts, the rest are empty."""
    keys, values = np.array(list(counts)), np.array(list(counts.values()), dtype=float)
    if "rho" in privacy:
        noisy = values + rng.normal(0, privacy["rho"] ** -0.5, len(values))
        # The maximum of the noise on all empty buckets, by its distribution function.
        empty = stats.norm.isf(rng.exponential() / buckets) * privacy["rho"] ** -0.5
        return keys[noisy.argmax()] if noisy.max() > empty else None
    if "delta" in privacy:
        noisy = values + rng.laplace(0, 2 / privacy["epsilon"], len(values))
        shown = noisy.max() >= stability_threshold(privacy["epsilon"], privacy["delta"])
        return keys[noisy.argmax()] if shown else None
    values = np.append(values, 2 / privacy["epsilon"] * math.log(buckets))  # all empty ones
    winner = (privacy["epsilon"] / 2 * values + rng.gumbel(size=len(values))).argmax()
    return keys[winner] if winner < len(keys) else None


@pytest.mark.parametrize("privacy", PRIVACIES)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("shape", ["D2", "pareto"])
def test_block_keeps_its_promise(privacy, k, shape):
    """Range step and block mean in floats: at most 0.05 and 0.2 failures."""
    alpha, R, runs = 0.2, 1e6, 300
    rng = np.random.default_rng(20 + k)
    r, margin = bucket_radius(alpha, k), clip_radius(alpha, k)
    small = range_sample_size(alpha, k, R, **privacy)
    pairs = 2 * median_of_means_blocks(0.05, failure=0.2)
    block = mean_sample_size(alpha, 0.05, k, R, **privacy) // pairs
    # The mean on a bucket edge splits the good records over two buckets: the worst place.
    mu = 2 * r * 1000
    heavy = distribution("pareto", k=k, a=k + 0.5)
    base = hard_instance("D2", alpha=alpha, k=k) if shape == "D2" else heavy
    shift = mu - base.mean
    missed = failed = 0
    for _ in range(runs):
        where = np.floor((base.sample(small, rng) + shift) / (2 * r)).astype(int)
        counts = dict(zip(*np.unique(where, return_counts=True), strict=True))
        bucket = _choose(counts, privacy, bucket_count(R, r), rng)
        if bucket is None or not -r <= mu - 2 * r * bucket <= 3 * r:
            missed += 1
            continue
        low, width = 2 * r * bucket - r - margin, 4 * r + 2 * margin
        clipped = np.clip(base.sample(block, rng) + shift, low, low + width)
        if "rho" in privacy:
            noise = rng.normal(0, width / block / math.sqrt(2 * privacy["rho"]))
        else:
            noise = rng.laplace(0, width / block / privacy["epsilon"])
        failed += abs(clipped.mean() + noise - mu) > alpha
    assert missed <= 0.05 * runs
    assert missed + failed <= 0.2 * runs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.0}, "alpha="),
        ({"beta": 1.0}, "beta="),
        ({"k": 1.0}, "k="),
        ({"R": -1.0}, "R="),
        ({"R": math.inf}, "R=inf"),
        ({"R": math.nan}, "R="),
        ({"epsilon": None}, "epsilon="),
        ({"epsilon": -1.0}, "epsilon="),
        ({"rho": 1.0}, "cannot be combined"),
        ({"delta": 2.0}, "delta="),
        ({"epsilon": None, "rho": 1.0, "delta": 1e-6}, "delta"),
        ({"constants": "loose"}, "constants="),
        ({"scale": 0.0}, "scale="),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = {"alpha": 0.1, "beta": 0.05, "k": 2, "R": 100.0, "epsilon": 1.0} | change
    with pytest.raises(ParameterError, match=message):
        mean_sample_size(**arguments)


def test_a_median_of_coin_flips_is_refused():
    with pytest.raises(ParameterError, match="failure="):
        median_of_means_blocks(0.05, failure=0.5)
