"""Truncation bias and the moments of known laws, against independent evaluation."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from tametail.errors import ParameterError
from tametail.inequalities.moments import normal_moment, two_point_atom, two_point_moment
from tametail.theory import (
    bias_constant,
    discarding_bias,
    radius_for_bias,
    truncation_bias,
)
from tametail.theory.moments import (
    lognormal_moment,
    pareto_moment,
    student_moment,
)


@pytest.mark.parametrize("k", [1.2, 2, 3, 4, 8])
def test_bias_constant_is_the_largest_ratio(k):
    x = np.linspace(1, 1 + 20 / (k - 1), 400_001)
    assert bias_constant(k) == pytest.approx(np.max((x - 1) / x**k), rel=1e-6)


@pytest.mark.parametrize("k", [1.5, 2, 3, 4])
@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_truncation_bias_is_attained_by_an_atom(k, scale):
    T = 50 * scale
    atom = k * T / (k - 1)
    mass = (scale / atom) ** k  # an atom at distance `atom` that uses up the whole moment
    assert truncation_bias(T, k, scale) == pytest.approx(mass * (atom - T))


@pytest.mark.parametrize("name", ["t", "pareto", "lognormal"])
def test_no_law_exceeds_the_truncation_bias(name):
    law = {"t": stats.t(3.5), "pareto": stats.pareto(3.5), "lognormal": stats.lognorm(1.0)}[name]
    k = 3
    scale = law.expect(lambda x: abs(x - law.mean()) ** k, limit=500) ** (1 / k)
    for multiple in (1, 3, 10):
        T = multiple * scale
        excess, _ = quad(law.sf, law.mean() + T, np.inf)
        assert excess <= truncation_bias(T, k, scale)


@pytest.mark.parametrize("k", [1.5, 2, 4])
def test_discarding_bias_is_attained_just_beyond_the_end(k):
    T, scale = 50.0, 2.0
    mass = (scale / T) ** k
    assert discarding_bias(T, k, scale) == pytest.approx(mass * T)
    assert discarding_bias(T, k, scale) * bias_constant(k) == pytest.approx(
        truncation_bias(T, k, scale)
    )


def test_radius_inverts_the_bias():
    for k in (1.5, 2, 5):
        T = radius_for_bias(0.01, k, scale=3.0)
        assert truncation_bias(T, k, scale=3.0) == pytest.approx(0.01)


@pytest.mark.parametrize(("p", "k"), [(1e-6, 2), (0.01, 3), (0.5, 1.5), (0.3, 8)])
def test_two_point_moment_by_summation(p, k):
    tau = two_point_atom(p, k)
    direct = p * abs(tau - p * tau) ** k + (1 - p) * (p * tau) ** k
    assert direct == pytest.approx(1)
    assert two_point_moment(p, -tau, k) == pytest.approx(1)


@pytest.mark.parametrize(
    ("ours", "law"),
    [
        (normal_moment, stats.norm()),
        (lambda k: student_moment(5.5, k), stats.t(5.5)),
        (lambda k: pareto_moment(5.5, k), stats.pareto(5.5)),
        (lambda k: lognormal_moment(0.7, k), stats.lognorm(0.7)),
    ],
    ids=["normal", "t", "pareto", "lognormal"],
)
@pytest.mark.parametrize("k", [1.5, 2, 3, 4])
def test_central_moments_by_quadrature(ours, law, k):
    mu = law.mean()

    def tail(x, side):  # E|X - mu|^k = int k t^(k-1) P(|X - mu| > t) dt
        return k * x ** (k - 1) * (law.sf(mu + x) if side > 0 else law.cdf(mu - x))

    below, _ = quad(tail, 0, np.inf, args=(-1,), limit=500)
    above, _ = quad(tail, 0, np.inf, args=(1,), limit=500)
    assert ours(k) == pytest.approx(below + above, rel=1e-6)


def test_lognormal_even_moments_in_closed_form():
    s = 2.0
    m2 = math.expm1(s * s) * math.exp(s * s)
    m4 = math.exp(2 * s * s) * math.expm1(s * s) ** 2
    w = math.exp(s * s)
    m4 *= w**4 + 2 * w**3 + 3 * w**2 - 3
    assert lognormal_moment(s, 2) == pytest.approx(m2, rel=1e-9)
    assert lognormal_moment(s, 4) == pytest.approx(m4, rel=1e-9)


def test_moments_that_do_not_exist():
    assert student_moment(3, 3) == math.inf
    assert pareto_moment(2.5, 3) == math.inf


@pytest.mark.parametrize("k", [1, 0.5, math.inf, math.nan])
def test_order_of_moment_is_checked(k):
    with pytest.raises(ParameterError, match="k="):
        bias_constant(k)
