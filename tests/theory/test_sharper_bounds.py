"""Each sharper bound against a brute-force computation on small cases."""

import math

import numpy as np
import pytest
from scipy import stats

from tametail.errors import ParameterError
from tametail.theory import accuracy_lower_bound, location_lower_bound
from tametail.theory.confusion import approximate, concentrated, pure_table
from tametail.theory.lower_bounds import coin_floor
from tametail.theory.packing import shift_cost


def left_over(f, h):
    """What is left of the variance of a sign: 2 int f h/(f + h)."""
    return 2 * np.divide(f * h, f + h, out=np.zeros_like(f), where=f + h > 0).sum()


def divergence(f, h):
    return float((f * np.log(f / h)).sum())


# --- zCDP


def test_no_pair_of_laws_beats_the_divergence_bound():
    rng = np.random.default_rng(1)
    tightest = math.inf
    for _ in range(2_000):
        f, h = rng.dirichlet(np.full(rng.integers(2, 6), rng.choice([0.3, 1, 5])), 2) + 1e-12
        f, h = f / f.sum(), h / h.sum()
        rho = max(divergence(f, h), divergence(h, f))
        bound = float(concentrated(np.array([rho]))[0])
        assert left_over(f, h) >= bound * (1 - 1e-9)
        tightest = min(tightest, left_over(f, h) / bound)
    assert tightest < 1.05


@pytest.mark.parametrize("x", [0.01, 0.5, 2.0, 6.0])
def test_the_symmetric_pair_attains_the_divergence_bound(x):
    f = np.array([1 / (1 + math.exp(-2 * x)), 1 / (1 + math.exp(2 * x))])
    rho = divergence(f, f[::-1])
    assert rho == pytest.approx(2 * x * math.tanh(x))
    assert concentrated(np.array([rho]))[0] == pytest.approx(left_over(f, f[::-1]), rel=1e-9)


# --- pure


def random_neighbour(f, epsilon, rng):
    """A law whose ratio to f lies in [e^-eps, e^eps], most of it at the ends."""
    ratio = np.exp(epsilon * rng.choice([-1.0, 1.0], len(f)))
    for _ in range(60):  # scale the ends that are too heavy until it is a law
        total = (f * ratio).sum()
        ratio = np.clip(ratio / total, math.exp(-epsilon), math.exp(epsilon))
    law = f * ratio
    return law if abs(law.sum() - 1) < 1e-9 else f


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_no_chain_of_neighbours_beats_the_trade_off_function(epsilon):
    rng = np.random.default_rng(2)
    table = pure_table(epsilon, 5)
    for _ in range(100):
        start = rng.dirichlet(np.ones(rng.integers(2, 8)))
        other = start
        for differing in range(1, 6):
            other = random_neighbour(other, epsilon, rng)
            assert left_over(start, other) >= table[differing] * (1 - 1e-6)


def test_group_privacy_alone_would_say_less():
    differing = np.arange(50.0)
    table = pure_table(0.3, 49)
    assert (table >= approximate(differing, 0.3, 0.0) * (1 - 1e-12)).all()
    assert table[20] > 3 * approximate(differing, 0.3, 0.0)[20]


# --- without privacy


@pytest.mark.parametrize("n", [5, 40, 400])
@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_exact_risk_on_two_values_is_above_the_floor(n, k):
    """Bayes' risk of the best estimate for the cosine prior, by summing over all data."""
    width = np.linspace(0.05, 0.9, 18)
    best = 0.0
    for w in width:
        m = np.linspace(-w, w, 4001)
        c = max(((1 - m**2) * ((1 + m) ** (k - 1) + (1 - m) ** (k - 1)) / 2).max(), 1.0) ** (-1 / k)
        prior = np.cos(math.pi * m / (2 * w)) ** 2
        prior /= prior.sum()
        chances = stats.binom.pmf(np.arange(n + 1)[:, None], n, (1 + m) / 2) * prior
        seen = chances.sum(axis=1)
        guess = (chances @ m) / np.maximum(seen, 1e-300)
        best = max(best, c * math.sqrt((prior * m**2).sum() - (seen * guess**2).sum()))
    assert coin_floor(n, k) <= best * 1.002  # the grid of widths is coarse
    assert coin_floor(n, k) > 0.7 * best


def test_below_two_moments_two_values_say_nothing():
    assert coin_floor(100, 1.5) == 0.0


# --- numbers of records


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(("n", "p"), [(10, 0.3), (100, 0.02), (1000, 0.001)])
def test_the_cost_of_a_shift_against_the_best_event(epsilon, n, p):
    """On D an event has at most min(1, P0 e^(eps H)): no algorithm has more on average."""
    h = np.arange(n + 1)
    mass = stats.binom.pmf(h, n, p)
    for log_chance in np.linspace(-12, -0.01, 60):
        average = float(mass @ np.exp(np.minimum(log_chance + epsilon * h, 0.0)))
        if not 0 < average < 1:
            continue
        cost = shift_cost(epsilon, 1 - average)
        assert log_chance >= math.log(average) - n * p * cost - 1e-9


@pytest.mark.parametrize("k", [2, 4])
def test_accuracy_bound_has_the_theorems_exponents(k):
    def records(alpha=1e-3, beta=1e-6, epsilon=0.01):
        return accuracy_lower_bound(alpha, beta, k=k, epsilon=epsilon)

    assert records(alpha=1e-4) / records() == pytest.approx(10 ** (k / (k - 1)), rel=0.01)
    assert records(epsilon=0.001) / records() == pytest.approx(10, rel=0.01)
    assert records(beta=1e-12) / records() == pytest.approx(2, rel=0.01)
    assert accuracy_lower_bound(0.01, 0.1, k=k, rho=1.0, unit="add-remove") < (
        accuracy_lower_bound(0.01, 0.1, k=k, rho=1.0)
    )
    assert accuracy_lower_bound(2.0, 0.1, k=k, epsilon=1.0) == 0


@pytest.mark.parametrize("n", [20, 200])
def test_telling_two_points_apart_needs_the_bound(n):
    """The best test of D+ and D- from a noisy sum, told everything, fails more below the bound."""
    epsilon, beta, k = 1.0, 0.1, 2
    p = 2.0 / n
    alpha = p * (p * (1 - p)) ** -0.5
    h = np.arange(n + 1)
    # Laplace noise of scale 2/eps on the sum of signs: right if the noisy sum has the right sign.
    right = float(stats.binom.pmf(h, n, p) @ (1 - np.exp(-h * epsilon / 2) / 2))
    needed = accuracy_lower_bound(alpha, beta, k=k, epsilon=epsilon)
    assert right < 1 - beta or n >= needed


def test_the_exponential_mechanism_attains_the_location_bound():
    epsilon, beta, intervals = 0.1, 0.05, 1000
    n = location_lower_bound(intervals * 0.5, 0.5, beta, epsilon)

    def success(records):  # weight e^(n eps) on the right one
        weight = math.exp(records * epsilon)
        return weight / (weight + intervals - 1)

    assert success(n) >= 1 - beta > success(n - 1)


@pytest.mark.parametrize("rho", [0.001, 0.1])
def test_no_gaussian_locates_below_the_bound(rho):
    """N intervals, a Gaussian on a one-hot vector of sensitivity sqrt(2) n: the largest entry."""
    rng = np.random.default_rng(3)
    beta, intervals = 0.2, 50
    needed = location_lower_bound(intervals * 1.0, 1.0, beta, rho=rho)
    noise = rng.normal(size=(4_000, intervals)) / math.sqrt(rho)
    for n in range(1, needed):
        found = (noise[:, 0] + n > noise[:, 1:].max(axis=1)).mean()
        assert found < 1 - beta + 0.03
    assert needed > 1


def test_delta_caps_the_location_bound():
    plain = location_lower_bound(1e300, 0.1, 0.05, 0.1)
    capped = location_lower_bound(1e300, 0.1, 0.05, 0.1, delta=1e-6)
    assert capped < plain
    assert capped <= math.log(1e6) / 0.1
    # With a tiny delta nothing changes.
    assert location_lower_bound(1e3, 0.1, 0.05, 0.1, delta=1e-300) == (
        location_lower_bound(1e3, 0.1, 0.05, 0.1)
    )


def test_guessing_is_enough_for_a_careless_target():
    assert location_lower_bound(2.0, 1.0, 0.6, rho=0.1) == 0
    with pytest.raises(ParameterError, match="privacy budget"):
        location_lower_bound(2.0, 1.0, 0.1)
