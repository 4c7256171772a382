"""How far noisy ranks may be off: bounds that hold for every number of records, and are close."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tametail.inequalities.ranks import binomial_tail, rank_deviation
from tametail.methods.quantiles.interval import NoisyCells, cut_above, interval
from tametail.privacy.budget import Noise


@pytest.mark.parametrize("level", [0.01, 0.05, 0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("most", [3, 40, 1_000, 30_000])
def test_binomial_tails_are_bounded_for_every_number_of_records(level, most):
    sizes = sorted({most, most // 2, most // 3 + 1, max(most - 1, 1)})
    for n in sizes:
        counts = np.arange(-1, n + 1)
        distances = n * level - counts
        exact = stats.binom.cdf(counts, n, level)
        assert np.all(binomial_tail(distances, level, float(most)) >= exact - 1e-7)


def test_the_bound_is_close_at_the_number_itself():
    n, level = 1_000, 0.3
    at = stats.binom.ppf(0.025, n, level) - 1
    bound = binomial_tail(np.array([n * level - at]), level, float(n))[0]
    assert bound < 1.35 * stats.binom.cdf(at, n, level)


def drawn(rng, noise, terms, size):
    if noise.kind == "gaussian":
        return np.rint(rng.normal(0, noise.scale, (terms, size))).sum(0)
    chance = 1 - np.exp(-1 / noise.scale)
    return (rng.geometric(chance, (terms, size)) - rng.geometric(chance, (terms, size))).sum(0)


@pytest.mark.parametrize("noise", [Noise("laplace", 0.4), Noise("laplace", 20.0),
                                   Noise("gaussian", 7.0), Noise("laplace", 900.0)])  # fmt: skip
@pytest.mark.parametrize(("level", "sides"), [(0.5, (1, 2)), (0.05, (2, 9)), (0.9, (5, 1))])
@pytest.mark.parametrize("n", [None, 300, 20_000])
def test_noisy_ranks_are_seldom_farther_and_not_much_less_often(noise, level, sides, n):
    rng, size = np.random.default_rng(11), 100_000
    left, right = (drawn(rng, noise, terms, size) for terms in sides)
    ranks = (1 - level) * left - level * right
    if n is not None:
        ranks = ranks + rng.binomial(n, level, size) - level * n
    found = rank_deviation(noise, level, sides, 0.025, None if n is None else float(n))
    chance = np.mean(ranks < -found)
    assert chance < 0.0265  # four standard errors above
    far = np.quantile(ranks, 0.025)
    assert found < -far * 1.15 + 2
    mirrored = rank_deviation(noise, 1 - level, sides[::-1], 0.025, None if n is None else float(n))
    assert np.mean(ranks > mirrored) < 0.0265


def test_more_records_never_make_it_smaller():
    noise = Noise("laplace", 3.0)
    found = [rank_deviation(noise, 0.3, (2, 2), 0.02, n) for n in (1.0, 10.0, 100.0, 1e4, 1e6)]
    assert found == sorted(found)
    assert rank_deviation(noise, 0.3, (2, 2), 1e-12, 1e4) == np.inf  # beyond what is followed


def test_limits_of_a_population_allow_for_sampling():
    """A cut 40 ranks from the level of 10,000 records: noise cannot do that, sampling can."""
    cuts = (1.0, cut_above(2.0))
    cells = NoisyCells(cuts, (4_960, 80, 4_960), Noise("laplace", 0.5))
    asked = {"level": 0.5, "lows": [1.0], "highs": [2.0], "confidence": 0.95}
    assert interval(cells, **asked, sampled=False) == (1.0, 2.0)
    assert interval(cells, **asked, sampled=True) == (-np.inf, np.inf)
    far = NoisyCells(cuts, (4_880, 240, 4_880), Noise("laplace", 0.5))
    assert interval(far, **asked, sampled=True) == (1.0, 2.0)
