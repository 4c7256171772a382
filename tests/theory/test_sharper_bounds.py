"""Each sharper bound against a brute-force computation on small cases."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from tametail.errors import ParameterError
from tametail.inequalities.binomials import expect_binomial
from tametail.inequalities.confusion import approximate, concentrated, mistakes, pure_table
from tametail.inequalities.lower_bounds import coin_floor, packing_rmse
from tametail.privacy.budget import Approx, Pure, Zcdp
from tametail.theory import accuracy_lower_bound, location_lower_bound


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


def random_neighbor(f, epsilon, rng):
    """A law whose ratio to f lies in [e^-eps, e^eps], most of it at the ends."""
    ratio = np.exp(epsilon * rng.choice([-1.0, 1.0], len(f)))
    for _ in range(60):  # scale the ends that are too heavy until it is a law
        total = (f * ratio).sum()
        ratio = np.clip(ratio / total, math.exp(-epsilon), math.exp(epsilon))
    law = f * ratio
    return law if abs(law.sum() - 1) < 1e-9 else f


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_no_chain_of_neighbors_beats_the_trade_off_function(epsilon):
    rng = np.random.default_rng(2)
    table = pure_table(epsilon, 5)
    for _ in range(100):
        start = rng.dirichlet(np.ones(rng.integers(2, 8)))
        other = start
        for differing in range(1, 6):
            other = random_neighbor(other, epsilon, rng)
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


def fewest_mistakes(epsilon, delta, differing):
    """The least average error over all private tests on a chain of neighbors, by a program."""
    steps = differing + 1
    rows, limits = [], []
    for one, other in pairwise(range(steps)):
        for first, second in ((one, other), (other, one)):
            row = np.zeros(steps)  # P_first(A) <= e^eps P_second(A) + delta, and the same for not A
            row[first], row[second] = 1, -math.exp(epsilon)
            rows += [row, -row]
            limits += [delta, delta - 1 + math.exp(epsilon)]
    cost = np.zeros(steps)
    cost[0], cost[-1] = 0.5, -0.5
    if differing == 0:
        return 0.5
    found = linprog(cost, np.array(rows), np.array(limits), bounds=(0, 1))
    return found.fun + 0.5


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.001, 0.1])
def test_no_private_test_makes_fewer_mistakes_and_one_makes_as_few(epsilon, delta):
    budget = Approx(epsilon, delta) if delta else Pure(epsilon)
    bound = mistakes(budget, np.arange(9.0))
    best = [fewest_mistakes(epsilon, delta, differing) for differing in range(9)]
    assert bound == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("rho", [0.01, 0.3, 2.0])
def test_no_pair_of_that_divergence_makes_fewer_mistakes(rho):
    rng = np.random.default_rng(4)
    bound = float(mistakes(Zcdp(rho), np.ones(1))[0])
    for _ in range(500):
        f, h = rng.dirichlet(np.ones(rng.integers(2, 6)), 2) + 1e-9
        f, h = f / f.sum(), h / h.sum()
        # Mix both until they are as close as rho allows.
        low, high = 0.0, 0.5
        for _ in range(40):
            part = (low + high) / 2
            one, other = (1 - part) * f + part * h, (1 - part) * h + part * f
            close = max(divergence(one, other), divergence(other, one)) <= rho
            low, high = (low, part) if close else (part, high)
        one, other = (1 - high) * f + high * h, (1 - high) * h + high * f
        assert np.minimum(one, other).sum() / 2 >= bound * (1 - 1e-6)


def best_success(epsilon, n, p, cells, near):
    """The largest chance of being near a random c among cells on a circle, over all mechanisms.

    Data for c have H records c and the others 0: chains from one common data set, H ~ Bin(n, p).
    """
    inputs = 1 + cells * n  # zeros; then for each c the data with 1, ..., n records c
    size = inputs * cells

    def place(c, differing, output):
        return ((1 + c * n + differing - 1) if differing else 0) * cells + output

    weights = stats.binom.pmf(np.arange(n + 1), n, p)
    cost, entries, row = np.zeros(size), [], 0
    for c in range(cells):
        for differing in range(n + 1):
            for step in range(-near, near + 1):
                cost[place(c, differing, (c + step) % cells)] -= weights[differing] / cells
        for differing, output in product(range(n), range(cells)):
            ends = place(c, differing, output), place(c, differing + 1, output)
            for one, other in (ends, ends[::-1]):
                entries += [(row, one, 1.0), (row, other, -math.exp(epsilon))]
                row += 1
    rows, columns, values = zip(*entries, strict=True)
    limits = coo_matrix((values, (rows, columns)), shape=(row, size))
    total = coo_matrix(
        (np.ones(size), (np.arange(size) // cells, np.arange(size))), shape=(inputs, size)
    )
    found = linprog(cost, limits, np.zeros(row), total, np.ones(inputs))
    return -found.fun


@pytest.mark.parametrize(("n", "p"), [(1, 0.4), (2, 0.7), (4, 0.5)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_no_mechanism_finds_a_uniform_mean_more_often(n, p, epsilon):
    """On a circle the share of c near any output is the same everywhere: 3 of 9 cells."""
    cells, near = 9, 1
    share = (2 * near + 1) / cells
    bound = expect_binomial(
        lambda differing: np.minimum(1.0, share * np.exp(epsilon * differing)), n, p, math.inf
    )
    best = best_success(epsilon, n, p, cells, near)
    assert best <= bound + 1e-9
    assert best >= 0.8 * bound


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_squared_error_is_the_integral_of_misses(d):
    n, k, epsilon = 40, 3, 0.5
    best = 0.0
    for p in np.geomspace(1e-3, 0.999, 400):
        radius = p ** (1 - 1 / k)
        a = np.linspace(0, radius, 400)
        h = np.arange(n + 1)[:, None]
        found = np.minimum(1.0, np.exp(epsilon * h) * (a / radius) ** d)
        missed = stats.binom.pmf(np.arange(n + 1), n, p) @ (1 - found)
        best = max(best, np.trapezoid(missed * 2 * a, a))
    assert packing_rmse(n, k, epsilon, d) == pytest.approx(math.sqrt(best), rel=0.01)


@pytest.mark.parametrize("k", [2, 4])
def test_accuracy_bound_has_the_theorems_exponents(k):
    def records(alpha=1e-3, beta=1e-6, epsilon=0.01):
        return accuracy_lower_bound(alpha, beta, k=k, epsilon=epsilon)

    assert records(alpha=1e-4) / records() == pytest.approx(10 ** (k / (k - 1)), rel=0.01)
    assert records(epsilon=0.001) / records() == pytest.approx(10, rel=0.01)
    assert records(beta=1e-12) / records() == pytest.approx(
        math.log(5e11) / math.log(5e5), rel=0.01
    )
    assert accuracy_lower_bound(0.01, 0.1, k=k, rho=1.0, neighbors="add-remove") < (
        accuracy_lower_bound(0.01, 0.1, k=k, rho=1.0)
    )
    assert accuracy_lower_bound(2.0, 0.1, k=k, epsilon=1.0) == 0


@pytest.mark.parametrize("k", [2, 4])
def test_a_delta_lowers_the_accuracy_bound_and_caps_it(k):
    def records(beta, **privacy):
        return accuracy_lower_bound(0.05, beta, k=k, epsilon=0.1, **privacy)

    assert records(0.05, delta=1e-300) == records(0.05)
    assert records(1e-3, delta=0.01) < records(1e-3, delta=1e-3) < records(1e-3)
    # A delta beyond beta is as good as no privacy: beyond ln(1/delta)/eps nothing is asked for.
    capped = [records(beta, delta=1e-4) for beta in (1e-6, 1e-12)]
    assert records(1e-12) / records(1e-6) == pytest.approx(2, rel=0.05)
    assert capped[1] < 1.5 * capped[0]


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
