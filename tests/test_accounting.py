"""Conversions against two other accountants and exact arithmetic; rates and noise scales."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tametail.errors import InternalError, ParameterError
from tametail.privacy.accounting import round_down, round_up, square_root_down, square_root_up
from tametail.privacy.budget import (
    Approx,
    Noise,
    Pure,
    Zcdp,
    analytic_gaussian_sigma,
    approx,
    approx_to_zcdp,
    compose,
    exponential_rate,
    gaussian_delta,
    noise_for,
    pure,
    zcdp,
    zcdp_to_approx,
)

FIGURES = json.loads(
    Path(__file__).with_name("oracles").joinpath("dp_accounting_figures.json").read_text()
)

amounts = st.floats(1e-6, 1e6)
deltas = st.floats(1e-12, 0.5)
rationals = st.fractions(Fraction(1, 10**30), Fraction(10**30))


# --- rounding ------------------------------------------------------------------------------


@given(rationals)
def test_rounding_goes_to_the_stated_side_and_no_further(exact):
    assert math.nextafter(round_up(exact), 0) < exact <= round_up(exact)
    assert round_down(exact) <= exact < math.nextafter(round_down(exact), math.inf)


@given(rationals)
def test_square_roots_go_to_the_stated_side(exact):
    low, high = square_root_down(exact), square_root_up(exact)
    assert Fraction(low) ** 2 <= exact <= Fraction(high) ** 2
    assert high - low <= 3 * math.ulp(high)


# --- conversions ---------------------------------------------------------------------------


def _exact_conversion(rho: float, delta: float) -> Decimal:
    """Minimize the conversion of Canonne, Kamath and Steinke with 60 digits, by bisection."""
    rho, log_inverse = Decimal(rho), -Decimal(delta).ln()
    low, high = Decimal(0), (log_inverse / rho).sqrt()
    for _ in range(220):
        middle = (low + high) / 2
        above = rho * middle**2 + (1 + middle).ln() > log_inverse
        low, high = (low, middle) if above else (middle, high)
    return (1 + high) * rho + (log_inverse - (1 + high).ln()) / high - (1 + 1 / high).ln()


@pytest.mark.parametrize("rho", [1e-9, 1e-4, 0.02, 1.0, 50.0, 1e6])
@pytest.mark.parametrize("delta", [1e-30, 1e-9, 1e-3, 0.4])
def test_zcdp_to_approx_is_never_below_and_hardly_above_the_exact_minimum(rho, delta):
    with localcontext() as context:
        context.prec = 60
        exact = _exact_conversion(rho, delta)
        ours = Decimal(zcdp_to_approx(rho, delta))
        assert exact <= ours <= max(exact, Decimal(0)) * (1 + Decimal("1e-9")) + Decimal("1e-13")


@settings(deadline=None)  # the first example imports scipy
@given(amounts, deltas)
def test_the_conversion_beats_the_textbook_one(rho, delta):
    textbook = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert zcdp_to_approx(rho, delta) <= textbook * (1 + 1e-12)


@settings(deadline=None)  # the first example imports scipy
@given(st.floats(1e-3, 1e3), deltas)
def test_approx_to_zcdp_is_the_largest_rho_that_holds(epsilon, delta):
    rho = approx_to_zcdp(epsilon, delta)
    assert zcdp_to_approx(rho, delta) <= epsilon
    assert zcdp_to_approx(rho * (1 + 1e-6), delta) > epsilon


@pytest.mark.parametrize("function", [zcdp_to_approx, approx_to_zcdp])
def test_conversions_check_their_arguments(function):
    with pytest.raises(ParameterError, match="It must be positive"):
        function(-1, 1e-6)
    with pytest.raises(ParameterError, match="Invalid delta=1"):
        function(1, 1)


@pytest.mark.parametrize(
    ("s", "epsilon"), [(0.3, 0.5), (1.0, 0.0), (1.0, 2.0), (5.0, 0.3), (0.1, 60)]
)
def test_gaussian_delta_is_the_integral_of_the_positive_part(s, epsilon):
    from scipy.integrate import quad
    from scipy.stats import norm

    def excess(x):
        return norm.pdf(x, 1, s) - math.exp(epsilon) * norm.pdf(x, 0, s)

    start = epsilon * s**2 + 0.5  # where the two weighted densities cross
    integral = quad(excess, start, start + 40 * s, epsabs=1e-14)[0]
    assert gaussian_delta(s, epsilon) == pytest.approx(integral, rel=1e-8)


@settings(deadline=None)  # the first example imports scipy
@given(st.floats(1e-3, 100), st.floats(1e-10, 0.3), st.floats(1e-3, 1e6))
def test_analytic_sigma_is_enough_and_not_more(epsilon, delta, sensitivity):
    sigma = analytic_gaussian_sigma(sensitivity, epsilon, delta)
    assert gaussian_delta(sigma / sensitivity * (1 + 1e-9), epsilon) <= delta
    assert gaussian_delta(sigma / sensitivity * (1 - 1e-6), epsilon) > delta


def test_gaussian_delta_refuses_a_negative_epsilon():
    with pytest.raises(ParameterError, match="It must be 0 or larger"):
        gaussian_delta(1.0, -1)


# --- other accountants ---------------------------------------------------------------------


@pytest.mark.parametrize("row", FIGURES["zcdp_to_approx"])
def test_conversion_agrees_with_dp_accounting(row):
    # Its orders are a grid, so it can only be above the best real order, by about 1e-6.
    ours = zcdp_to_approx(row["rho"], row["delta"])
    assert row["epsilon"] * (1 - 1e-5) <= ours <= row["epsilon"]


@pytest.mark.parametrize("row", FIGURES["gaussian_sigma"])
def test_analytic_sigma_agrees_with_dp_accounting(row):
    ours = analytic_gaussian_sigma(1.0, row["epsilon"], row["delta"])
    assert ours == pytest.approx(row["sigma"], rel=1e-11)


def _oracle_costs(name, row):
    if name == "gaussians":
        return zcdp(round_up(1 / (2 * Fraction(row["sigma"]) ** 2)))
    return pure(row["epsilon"]) if name == "laplaces" else approx(row["epsilon"], row["own_delta"])


@pytest.mark.parametrize(
    ("name", "row"),
    [(name, row) for name in ("gaussians", "laplaces", "approximates") for row in FIGURES[name]],
)
def test_compositions_lie_above_the_truth_and_near_it(name, row):
    ours = compose([_oracle_costs(name, row)] * row["count"], Approx, row["delta"]).epsilon
    assert row["truth"] <= ours <= 1.25 * row["truth"]


@pytest.fixture(scope="module")
def opendp():
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib")
    return prelude


@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_conversion_agrees_with_opendp(opendp, scale, delta):
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    gaussian = opendp.m.make_gaussian(*space, scale=scale)
    theirs = opendp.c.make_zCDP_to_approxDP(gaussian).map(1).epsilon(delta)
    assert zcdp_to_approx(gaussian.map(1), delta) == pytest.approx(theirs, rel=1e-6)


def test_composition_agrees_with_opendp(opendp):
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    for make, kind in ((opendp.m.make_laplace, Pure), (opendp.m.make_gaussian, Zcdp)):
        parts = [make(*space, scale=scale) for scale in (1.5, 7.0, 33.3)]
        theirs = opendp.c.make_composition(parts).map(1)
        (ours,) = compose([kind(part.map(1)) for part in parts], kind).values()
        assert ours <= theirs <= ours * (1 + 1e-14)


def test_noise_scales_agree_with_opendp(opendp):
    space = opendp.vector_domain(opendp.atom_domain(T=int))
    laplace = opendp.m.make_laplace(
        space, opendp.l1_distance(T=int), scale=noise_for(pure(0.7), 3, 9).scale
    )
    assert laplace.map(3) == pytest.approx(0.7, rel=1e-14)
    gaussian = opendp.m.make_gaussian(
        space, opendp.l2_distance(T=int), scale=noise_for(zcdp(0.3), 3, 9).scale
    )
    assert gaussian.map(3) == pytest.approx(0.3, rel=1e-14)


# --- mechanisms' parameters ----------------------------------------------------------------


def test_exponential_rates():
    assert exponential_rate(pure(1)) == Fraction(1, 2)
    assert exponential_rate(pure(1), monotone=True) == 1
    assert exponential_rate(approx(1, 1e-6)) == Fraction(1, 2)
    assert exponential_rate(zcdp(0.5)) == 1
    assert exponential_rate(zcdp(0.5), monotone=True) == 2


@given(amounts, st.booleans())
def test_a_concentrated_rate_is_rounded_down(rho, monotone):
    bounded_range = exponential_rate(zcdp(rho), monotone=monotone) * (1 if monotone else 2)
    assert Fraction(rho) * (1 - Fraction(1, 2**50)) <= bounded_range**2 / 8 <= Fraction(rho)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(-1, 1)), min_size=2, max_size=6),
    st.floats(0.01, 3.0),
    st.floats(1.01, 50.0),
    st.booleans(),
)
def test_the_exponential_mechanism_at_this_rate_is_rho_zcdp(moves, rho, order, monotone):
    scores, steps = np.array(moves, dtype=float).T
    steps = np.abs(steps) if monotone else steps
    rate = float(exponential_rate(zcdp(rho), monotone=monotone))
    p, q = (x - np.logaddexp.reduce(x) for x in (rate * scores, rate * (scores + steps)))
    for a, b in ((p, q), (q, p)):
        divergence = np.logaddexp.reduce(order * a + (1 - order) * b) / (order - 1)
        assert divergence <= rho * order + 1e-9


def test_noise_is_laplace_or_gaussian():
    assert noise_for(pure(0.5), 2, 2) == Noise("laplace", 4.0)
    assert noise_for(approx(0.5, 1e-6), 2, 2) == Noise("laplace", 4.0)
    assert noise_for(zcdp(0.5), 2, 9) == Noise("gaussian", 3.0)
    with pytest.raises(InternalError, match="sensitivities are at least 1, not l1=0"):
        noise_for(pure(1), 0, 1)


@given(amounts, st.integers(1, 2**60))
def test_noise_scales_are_rounded_up(amount, size):
    assert Fraction(noise_for(pure(amount), size, 1).scale) * Fraction(amount) >= size
    gaussian = Fraction(noise_for(zcdp(amount), 1, size).scale)
    assert 2 * Fraction(amount) * gaussian**2 >= size


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.2, 1.0, 7.3, 200.0])
def test_noise_figures_bound_the_discrete_law(kind, scale):
    points = np.arange(0, int(60 * scale) + 20)
    power = points / scale if kind == "laplace" else points**2 / (2 * scale**2)
    weights = np.exp(-power) * np.where(points == 0, 1, 2)
    law = weights / weights.sum()
    noise = Noise(kind, scale)
    assert (law * points**2).sum() <= noise.variance * (1 + 1e-12)
    above = np.cumsum(law[::-1])[::-1]  # P(abs(noise) >= points)
    for bound in (0, 0.5, 1, scale, 2.5 * scale, 6 * scale):
        exact = above[math.floor(bound) + 1]
        assert exact * (1 - 1e-12) <= noise.tail(bound)
        if kind == "laplace":
            assert noise.tail(bound) == pytest.approx(exact, rel=1e-9)
    assert noise.tail(-1) == 1


@given(st.sampled_from(["laplace", "gaussian"]), st.floats(0.01, 1e12), st.floats(1e-12, 0.99))
def test_the_quantile_is_the_least_bound(kind, scale, p):
    noise = Noise(kind, scale)
    bound = noise.quantile(p)
    assert bound.is_integer()
    assert noise.tail(bound) <= p
    assert noise.tail(bound - max(1.0, bound * 1e-9)) > p


def test_a_quantile_whose_closed_form_falls_short_is_raised():
    noise = Noise("laplace", 34994413121693.387)  # rounded, its closed form is short by one
    assert noise.tail(noise.quantile(1e-6)) <= 1e-6


@pytest.mark.parametrize("p", [0, 1, -1, math.nan])
def test_a_quantile_needs_a_probability(p):
    with pytest.raises(ParameterError, match="p="):
        Noise("laplace", 1.0).quantile(p)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("terms", [1, 3, 8])
@pytest.mark.parametrize("p", [0.2, 1e-3])
def test_sums_of_noises_seldom_exceed_their_quantile(kind, terms, p):
    scale, points = 2.5, np.arange(-120, 121)
    power = np.abs(points) / scale if kind == "laplace" else points**2 / (2 * scale**2)
    law = np.exp(-power) / np.exp(-power).sum()
    total = law
    for _ in range(terms - 1):
        total = np.convolve(total, law)
    sums = np.arange(-120 * terms, 120 * terms + 1)
    bound = Noise(kind, scale).sum_quantile(p, terms)
    assert p / 50 < total[sums > bound].sum() <= p


def test_the_strength_of_a_budget_is_one_over_the_scale_of_its_noise():
    for budget in (pure(0.3), approx(0.3, 1e-6), zcdp(0.02)):
        assert noise_for(budget, 1, 1).scale == pytest.approx(1 / budget.strength)
