"""Noise through OpenDP: its law, its cost, and what it leaves alone."""

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import opendp.mod
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tametail.errors import InternalError, ParameterError
from tametail.mechanisms import noise
from tametail.mechanisms.noise import add_gaussian, add_laplace, gaussian_scale, laplace_scale
from tametail.privacy.opendp import gaussian_measurement, laplace_measurement

from ..distributions import follows, gaussian_law, laplace_law, noise_events  # noqa: TID252

DRAWS = 40_000
costs = st.floats(1e-12, 1e12)
sensitivities = st.integers(1, 2**14)


@pytest.mark.parametrize(("l1", "epsilon"), [(1, 2.0), (1, 0.5), (2, 0.3), (3, 0.1)])
def test_laplace_noise_follows_its_law(l1, epsilon):
    draws = add_laplace([7] * DRAWS, l1, epsilon)
    assert follows(draws, noise_events(laplace_law(l1 / epsilon), center=7))


@pytest.mark.parametrize(("l2_squared", "rho"), [(1, 2.0), (1, 0.1), (2, 0.1), (5, 0.02)])
def test_gaussian_noise_follows_its_law(l2_squared, rho):
    draws = add_gaussian([-3] * DRAWS, l2_squared, rho)
    assert follows(draws, noise_events(gaussian_law(math.sqrt(l2_squared / (2 * rho))), center=-3))


def test_the_fit_notices_a_scale_that_is_a_tenth_too_small():
    draws = add_laplace([0] * DRAWS, 1, 0.5)
    assert not follows(draws, noise_events(laplace_law(1.8)))


@given(sensitivities, costs)
def test_laplace_costs_at_most_epsilon_by_two_accounts(l1, epsilon):
    scale = laplace_scale(l1, epsilon)
    assert laplace_measurement(scale).map(l1) <= epsilon
    assert Fraction(l1) / Fraction(scale) <= Fraction(epsilon)
    assert scale <= max(noise.LEAST_SCALE, l1 / epsilon * (1 + 1e-14))


@given(sensitivities, costs)
def test_gaussian_costs_at_most_rho_by_two_accounts(l2_squared, rho):
    sigma = gaussian_scale(l2_squared, rho)
    assert gaussian_measurement(sigma).map(math.nextafter(math.sqrt(l2_squared), 0)) <= rho
    assert Fraction(l2_squared) / (2 * Fraction(sigma) ** 2) <= Fraction(rho)
    assert sigma <= max(noise.LEAST_SCALE, math.sqrt(l2_squared / (2 * rho)) * (1 + 1e-14))


@settings(max_examples=30)
@given(st.lists(st.integers(-(2**200), 2**200), max_size=5))
def test_values_of_any_size_keep_all_their_digits(values):
    assert add_laplace(values, 1, 1e6) == tuple(values)
    assert add_gaussian(values, 1, 1e7) == tuple(values)


def test_without_sensitivity_there_is_no_noise():
    assert add_laplace([5, 2**80], 0, 1e-9) == (5, 2**80)
    assert add_gaussian([5, 2**80], 0, 1e-9) == (5, 2**80)


def test_numpy_integers_come_back_as_python_integers():
    noisy = add_laplace(np.array([1, 2], dtype=np.int8), 1, 1.0)
    assert [type(value) for value in noisy] == [int, int]


def test_noise_that_does_not_fit_in_sixty_four_bits_is_refused():
    with pytest.raises(InternalError, match="64 bits"):
        laplace_scale(2**50, 1e-3)
    with pytest.raises(InternalError, match="64 bits"):
        gaussian_scale(2**50, 1e-30)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_a_budget_that_is_no_positive_number_is_a_parameter_error(epsilon):
    with pytest.raises(ParameterError, match="epsilon="):
        add_laplace([1], 1, epsilon)


@pytest.mark.parametrize("sensitivity", [-1, 2**63])
def test_an_impossible_sensitivity_is_an_internal_error(sensitivity):
    with pytest.raises(InternalError, match="sensitivity"):
        laplace_scale(sensitivity, 1.0)
    with pytest.raises(InternalError, match="sensitivity"):
        gaussian_scale(sensitivity * abs(sensitivity), 1.0)


def test_the_largest_noise_stays_far_within_sixty_four_bits():
    saturation = 2 * math.exp(-(2.0**63) / noise.GREATEST_SCALE)
    assert saturation < 2.0**-180


# Whatever is drawn, these pass; the seeded source would not ask OpenDP.
@pytest.mark.real_noise(fails=0.0)
@pytest.mark.parametrize("found", [set(), {"contrib"}, {"honest-but-curious"}])
def test_the_features_of_opendp_are_left_as_found(found, monkeypatch):
    monkeypatch.setattr(opendp.mod, "GLOBAL_FEATURES", set(found))
    laplace_measurement.cache_clear()
    add_laplace([1], 1, 1.0)
    assert found == opendp.mod.GLOBAL_FEATURES


# Two of 40 draws agree with probability at most (max P(z))^50, and P(0) < 1 / (2 * scale) = 0.0055.
@pytest.mark.real_noise(fails=math.comb(40, 2) * 0.0055**50)
def test_threads_can_build_and_draw_at_once():
    laplace_measurement.cache_clear()
    before = set(opendp.mod.GLOBAL_FEATURES)
    with ThreadPoolExecutor(8) as pool:
        draws = list(pool.map(lambda i: tuple(add_laplace([0] * 50, 1, 0.01 + i / 1e6)), range(40)))
    assert len(set(draws)) == 40
    assert before == opendp.mod.GLOBAL_FEATURES


def test_importing_the_mechanisms_does_not_import_opendp():
    modules = "noise, sparse, histogram, dispatch"
    program = (
        f"import sys; from tametail.mechanisms import {modules}; print('opendp' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("scale_of", "built"),
    [(laplace_scale, "laplace_measurement"), (gaussian_scale, "gaussian_measurement")],
)
def test_a_map_that_claims_too_little_is_not_believed(monkeypatch, scale_of, built):
    """Whatever OpenDP's map says is compared with exact fractions."""

    class Careless:
        def map(self, sensitivity):
            return 0.0

    monkeypatch.setattr(noise, built, lambda scale: Careless())

    def find_scales():
        for cost in np.linspace(0.1, 0.9, 50).tolist():  # half of these scales are rounded down
            scale_of.__wrapped__(1, cost)

    with pytest.raises(InternalError, match="disagrees"):
        find_scales()


def test_no_values_get_no_noise():
    assert add_laplace([], 1, 1.0) == add_gaussian([], 1, 1.0) == ()
