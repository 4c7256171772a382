"""Limit lines: printed values, independent evaluation, and attacks on real mechanisms."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from tametail.errors import ParameterError
from tametail.inequalities.binomials import expect_binomial
from tametail.inequalities.lower_bounds import packing_rmse
from tametail.theory import (
    hardest_mass,
    location_lower_bound,
    lower_bound,
    packing_lower_bound,
)


@pytest.mark.parametrize(
    ("n", "epsilon", "k", "printed"),
    [(1e3, 1, 2, ".0318"), (1e4, 0.1, 2, ".0301"), (1e4, 1, 2, ".0101"), (1e4, 1, 4, ".00128")],
)
def test_sharper_than_the_printed_values(n, epsilon, k, printed):
    """Printed is the bound with tanh^2(eps H/2); group privacy's trade-off function gives more."""
    ratio = lower_bound(int(n), k=k, epsilon=epsilon) / float(printed)
    assert 1.05 < ratio < 1.35


def _iterated(epsilon, differing):
    """2 int f h/(f + h) for two outputs of a geometric mechanism, cut to [0, H], H apart."""
    if differing == 0:
        return 1.0
    ratio = math.exp(-epsilon)
    first = (1 - ratio) / (1 + ratio) * ratio ** np.arange(differing + 1.0)
    first[0], first[-1] = 1 / (1 + ratio), ratio**differing / (1 + ratio)
    assert first.sum() == pytest.approx(1)
    other = first[::-1]
    return float(2 * (first * other / (first + other)).sum())


def _direct(n, k, confusion):
    """The bound by brute force: every H with scipy's mass, a fine grid of p."""
    h = np.arange(0, n + 1)
    best, confused = 0.0, confusion(h)
    for p in np.geomspace(1e-3 / n, 0.5, 1000):
        tau = (p * (1 - p) * ((1 - p) ** (k - 1) + p ** (k - 1))) ** (-1 / k)
        best = max(best, p * tau * math.sqrt(stats.binom.pmf(h, n, p) @ confused))
    return best


@pytest.mark.parametrize("k", [1.5, 2, 3])
def test_by_brute_force(k):
    n = 300
    eps, delta, rho = 0.2, 1e-3, 0.01

    def delta_h(h):
        return np.minimum(1, delta * np.expm1(h * eps) / np.expm1(eps))

    def pure(h):
        return np.array([_iterated(eps, int(count)) for count in h])

    def approximate(h):
        return 1 - (delta_h(h) + (1 - delta_h(h)) * np.tanh(eps * h / 2) ** 2)

    def concentrated(h):
        roots = [
            brentq(lambda x, y=rho * count**2: 2 * x * math.tanh(x) - y, 0, rho * count**2 + 1)
            for count in h
        ]
        return np.cosh(roots) ** -2.0

    for privacy, confusion in (
        ({"epsilon": eps}, pure),
        ({"epsilon": eps, "delta": delta}, approximate),
        ({"rho": rho}, concentrated),
    ):
        ours = lower_bound(n, k=k, **privacy)
        assert ours == pytest.approx(_direct(n, k, confusion), rel=1e-4)


def test_binomial_expectation_for_huge_n():
    n = 10**9
    for mean in (0.5, 30.0, 5e4):
        p = mean / n
        h = np.arange(0, int(mean + 20 * math.sqrt(mean)) + 60)
        exact = stats.binom.pmf(h, n, p) @ np.exp(-h / mean)
        ours = expect_binomial(lambda x, m=mean: np.exp(-x / m), n, p, math.inf)
        assert ours == pytest.approx(exact, rel=1e-6)
        # and in closed form
        assert ours == pytest.approx(math.exp(n * math.log1p(p * math.expm1(-1 / mean))), rel=1e-9)


@pytest.mark.parametrize(
    "privacy", [{"epsilon": 0.5}, {"rho": 0.1}, {"epsilon": 0.5, "delta": 1e-5}]
)
@pytest.mark.parametrize("d", [1, 8])
def test_monotone(privacy, d):
    def bound(n=10_000, k=2, factor=1.0, scale=1.0, **more):
        scaled = {name: value * factor for name, value in privacy.items()}
        return lower_bound(n, k=k, scale=scale, d=d, **scaled, **more)

    assert bound(n=1_000) > bound() > bound(n=100_000)
    assert bound(factor=0.1) > bound() > bound(factor=10)
    assert bound(k=4) < bound()
    assert bound(scale=7.0) == pytest.approx(7 * bound())
    assert bound(neighbors="add-remove") < bound()


def test_add_remove_is_replace_one_at_twice_the_budget():
    assert lower_bound(500, k=2, epsilon=1.0, neighbors="add-remove") == lower_bound(
        500, k=2, epsilon=2.0
    )
    assert lower_bound(500, k=2, rho=0.1, neighbors="add-remove") == lower_bound(500, k=2, rho=0.4)
    # group privacy over two steps: delta (1 + e^eps)
    assert lower_bound(500, k=2, epsilon=1.0, delta=1e-4, neighbors="add-remove") == pytest.approx(
        lower_bound(500, k=2, epsilon=2.0, delta=1e-4 * (1 + math.e)), rel=1e-12
    )


def test_delta_only_helps_the_algorithm():
    bounds = [lower_bound(1_000, k=2, epsilon=0.5, delta=delta) for delta in (1e-9, 1e-3, 0.5)]
    assert lower_bound(1_000, k=2, epsilon=0.5) >= bounds[0] >= bounds[1] >= bounds[2]
    assert bounds[0] > bounds[2]


def test_floor_without_privacy():
    assert lower_bound(400, k=2) == pytest.approx(1 / 20)
    assert lower_bound(400, k=4) > 3 ** (-1 / 4) / 20  # two values do better than normal records
    assert lower_bound(400, k=2, d=9) == pytest.approx(3 / 20)
    # infinite variance: slower than 1/sqrt(n)
    slope = math.log(lower_bound(10**8, k=1.5) / lower_bound(10**6, k=1.5)) / math.log(100)
    assert slope == pytest.approx(-1 / 3, abs=1e-3)


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_slope_of_the_privacy_term(k):
    first, second = (lower_bound(n, k=k, epsilon=0.1) for n in (10**5, 10**8))
    assert math.log(second / first) / math.log(1000) == pytest.approx(-(k - 1) / k, abs=1e-3)


def test_extremes_do_not_overflow():
    assert lower_bound(10, k=2, epsilon=1e-9) == pytest.approx(1.0)
    assert 0 < lower_bound(10, k=2, epsilon=1e4, delta=1e-9, neighbors="add-remove") < 1
    assert 0 < lower_bound(1, k=2, epsilon=1.0) <= 1
    assert 0 < lower_bound(10**9, k=2, rho=1e-12) < 1


@pytest.mark.parametrize(("n", "epsilon"), [(200, 1.0), (2_000, 0.2)])
def test_laplace_with_the_best_clip_stays_above(n, epsilon):
    """On the hard instance itself, with every clip point, told the family: never below."""
    k = 2
    p = hardest_mass(n, k=k, epsilon=epsilon)
    tau = (p * (1 - p)) ** -0.5
    bound = lower_bound(n, k=k, epsilon=epsilon)
    for clip in np.geomspace(tau / 100, tau, 200):
        for shrink in np.linspace(0.1, 1.5, 30):  # a released sum may be rescaled at will
            gain = shrink * clip / tau
            bias = (1 - gain) * p * tau
            sampling = gain**2 * tau**2 * p * (1 - p) / n
            noise = 2 * (shrink * 2 * clip / (n * epsilon)) ** 2
            assert math.sqrt(bias**2 + sampling + noise) >= bound


def test_randomized_response_attains_the_divergence():
    """One record (H = n = 1, p = 1/2 at most): the proof's chain, by hand."""
    epsilon = 0.7
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    f, h = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    divergence = 0.5 * np.sum((f - h) ** 2 / (f + h))
    assert divergence == pytest.approx(math.tanh(epsilon / 2) ** 2)


def test_zcdp_divergence_covers_the_gaussian():
    """The Gaussian mechanism, shift 1 and variance 1/(2 rho): below the g that is used."""
    x = np.linspace(-60, 61, 200_001)
    for rho in (0.01, 0.3, 1.0, 3.0):
        sd = (2 * rho) ** -0.5
        f, h = stats.norm.pdf(x, 0, sd), stats.norm.pdf(x, 1, sd)
        both = f + h
        quotient = np.divide((f - h) ** 2, both, out=np.zeros_like(x), where=both > 0)
        divergence = 0.5 * np.trapezoid(quotient, x)
        assert divergence <= -math.expm1(-rho)


@pytest.mark.parametrize("rho", [0.01, 0.5, 4.0])
def test_zcdp_divergence_covers_randomized_response(rho):
    """Pure epsilon = sqrt(2 rho) is rho-zCDP, so the bound for zCDP must let it through."""
    assert math.tanh(math.sqrt(2 * rho) / 2) ** 2 <= -math.expm1(-rho)


def test_the_zcdp_bound_is_below_the_pure_one():
    """What holds for all rho-zCDP algorithms holds for those of epsilon = sqrt(2 rho)."""
    for k, epsilon in ((2, 1.0), (3, 0.1), (8, 0.01)):
        concentrated = lower_bound(10_000, k=k, rho=epsilon**2 / 2)
        assert 0.5 * lower_bound(10_000, k=k, epsilon=epsilon) < concentrated
        assert concentrated < lower_bound(10_000, k=k, epsilon=epsilon)


def test_location_bound():
    n = location_lower_bound(1000, 0.5, 0.1, 0.2)
    assert n == math.ceil(math.log(1999 * 0.9 / 0.1) / 0.2)
    assert location_lower_bound(1000, 0.5, 0.1, 0.2, neighbors="add-remove") == math.ceil(
        math.log(1999 * 9) / 0.4
    )
    assert location_lower_bound(1, 1, 0.1, 1.0) == 0
    assert location_lower_bound(2, 1, 0.9, 1.0) == 0


def test_exponential_mechanism_respects_the_location_bound():
    """All n records at one of N places: the failure is exact, and n is never below the bound."""
    epsilon, places = 0.5, 1000
    for beta in (0.3, 0.05):
        n = 1
        while (places - 1) / (places - 1 + math.exp(epsilon * n / 2)) > beta:
            n += 1
        assert n >= location_lower_bound(float(places), 1.0, beta, epsilon)


@pytest.mark.parametrize(
    ("d", "alpha", "k", "epsilon", "beta"),
    [
        (32, 0.05, 2, 1.0, 0.1),
        (32, 0.05, 4, 1.0, 0.1),
        (40, 0.02, 3, 0.5, 0.2),
        (5, 0.01, 2, 3, 0.1),
    ],
)
def test_packing_bound(d, alpha, k, epsilon, beta):
    """Above the closed form by Markov's and Jensen's inequalities, without a packing's factor 2."""
    worth = min(math.expm1(epsilon), epsilon / (1 - beta))
    formula = ((1 - 1 / k) * d + math.log(1 - beta)) / (math.e * worth * alpha ** (k / (k - 1)))
    bound = packing_lower_bound(d, alpha, k, epsilon, beta)
    assert formula <= bound <= 5 * formula
    assert packing_lower_bound(d, 5 * alpha, k, epsilon, beta, scale=5.0) == bound
    assert packing_lower_bound(d, alpha, k, epsilon, beta, neighbors="add-remove") <= bound


def test_where_the_packing_bound_is_trivial():
    assert packing_lower_bound(1, 0.5, 2, 0.5, 0.99) == 0  # guessing is good enough
    assert packing_lower_bound(40, 1.0, 2, 0.5, 0.1) == 0
    # Where every record may differ: all n of them are c, as in the location bound.
    assert packing_lower_bound(40, 0.7, 2, 0.5, 0.1) == math.ceil(
        (40 * math.log(1 / 0.7) + math.log(0.9)) / 0.5
    )


def test_packing_joins_in_for_many_dimensions():
    # For large k the packing's d beats the sqrt(d) of separate coordinates.
    settings = {"n": 10**6, "k": 8, "epsilon": 0.1}
    apart = lower_bound(**settings, delta=1e-300, d=200)  # no packing with delta
    assert lower_bound(**settings, d=200) > apart
    # At k = 4 and n = 20,000 it is ahead at 200 columns, and not yet at 50.
    for d, ahead in ((50, False), (200, True)):
        two_points = lower_bound(20_000, k=4, epsilon=0.1, delta=1e-300, d=d)
        assert (packing_rmse(20_000, 4, 0.1, d) > two_points) is ahead
    one = lower_bound(**settings)
    assert lower_bound(**settings, d=4) == pytest.approx(2 * one, rel=0.1)


def test_one_hot_family_meets_the_moment_condition():
    rng = np.random.default_rng(1)
    for k, d, p in ((2, 5, 0.05), (3, 20, 0.02), (6, 3, 1 / 6)):
        tau = 1 / (p ** (1 / k) + p * math.sqrt(d))
        signs = rng.choice([-1, 1], d)
        points = np.vstack([tau * np.diag(signs), np.zeros((1, d))])
        mass = np.append(np.full(d, p), 1 - d * p)
        centered = points - mass @ points
        directions = np.vstack([rng.normal(size=(500, d)), np.eye(d), signs[None]])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        assert np.all(mass @ np.abs(centered @ directions.T) ** k <= 1 + 1e-12)


def test_mistakes_are_named():
    with pytest.raises(ParameterError, match="neighbors="):
        lower_bound(10, k=2, epsilon=1.0, neighbors="person")
    with pytest.raises(ParameterError, match="Missing privacy budget"):
        lower_bound(10, k=2, delta=0.1)
    with pytest.raises(ParameterError, match="n="):
        lower_bound(0, k=2, epsilon=1.0)
    with pytest.raises(ParameterError, match="at least 2"):
        lower_bound(10, k=1.5, epsilon=1.0, d=2)
