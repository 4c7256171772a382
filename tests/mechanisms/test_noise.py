"""Noise through OpenDP: its law, its cost, and what it leaves alone."""

import math
import multiprocessing
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import opendp.mod
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.errors import InternalError, ParameterError
from tametail.mechanisms import noise
from tametail.mechanisms.noise import add_gaussian, add_laplace, gaussian_scale, laplace_scale

DRAWS = 20_000
costs = st.floats(1e-12, 1e12)
sensitivities = st.integers(1, 2**14)


def fits(draws, probability_of, centre=0):
    """Chi-square test against a law on the integers; cells expect at least ten draws."""
    seen = Counter(z - centre for z in draws)
    support = range(-400, 401)
    likely = [z for z in support if len(draws) * probability_of(z) >= 10]
    expected = np.array([probability_of(z) for z in likely])
    observed = np.array([seen[z] for z in likely])
    expected = np.append(expected, 1 - expected.sum()) * len(draws)
    observed = np.append(observed, len(draws) - observed.sum())
    return stats.chisquare(observed, expected).pvalue > 1e-7


def laplace_law(scale):
    p = math.exp(-1 / scale)
    return lambda z: (1 - p) / (1 + p) * p ** abs(z)


def gaussian_law(sigma):
    mass = sum(math.exp(-(z**2) / (2 * sigma**2)) for z in range(-1000, 1001))
    return lambda z: math.exp(-(z**2) / (2 * sigma**2)) / mass


@pytest.mark.parametrize(("l1", "epsilon"), [(1, 2.0), (1, 0.5), (2, 0.3), (3, 0.1)])
def test_laplace_noise_follows_its_law(l1, epsilon):
    draws = add_laplace([7] * DRAWS, l1, epsilon)
    assert fits(draws, laplace_law(laplace_scale(l1, epsilon)), centre=7)


@pytest.mark.parametrize(("l2_squared", "rho"), [(1, 2.0), (1, 0.1), (2, 0.1), (5, 0.02)])
def test_gaussian_noise_follows_its_law(l2_squared, rho):
    draws = add_gaussian([-3] * DRAWS, l2_squared, rho)
    assert fits(draws, gaussian_law(gaussian_scale(l2_squared, rho)), centre=-3)


def test_the_fit_notices_a_scale_that_is_a_tenth_too_small():
    assert not fits(add_laplace([0] * DRAWS, 1, 0.5), laplace_law(1.8))


@given(sensitivities, costs)
def test_laplace_costs_at_most_epsilon_by_two_accounts(l1, epsilon):
    scale = laplace_scale(l1, epsilon)
    assert noise._laplace(scale).map(l1) <= epsilon
    assert Fraction(l1) / Fraction(scale) <= Fraction(epsilon)
    assert scale <= max(noise.LEAST_SCALE, l1 / epsilon * (1 + 1e-14))


@given(sensitivities, costs)
def test_gaussian_costs_at_most_rho_by_two_accounts(l2_squared, rho):
    sigma = gaussian_scale(l2_squared, rho)
    assert noise._gaussian(sigma).map(math.nextafter(math.sqrt(l2_squared), 0)) <= rho
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


@pytest.mark.parametrize("found", [set(), {"contrib"}, {"honest-but-curious"}])
def test_the_features_of_opendp_are_left_as_found(found, monkeypatch):
    monkeypatch.setattr(opendp.mod, "GLOBAL_FEATURES", set(found))
    noise._laplace.cache_clear()
    add_laplace([1], 1, 1.0)
    assert found == opendp.mod.GLOBAL_FEATURES


def test_threads_can_build_and_draw_at_once():
    noise._laplace.cache_clear()
    before = set(opendp.mod.GLOBAL_FEATURES)
    with ThreadPoolExecutor(8) as pool:
        draws = list(pool.map(lambda i: tuple(add_laplace([0] * 50, 1, 0.01 + i / 1e6)), range(40)))
    assert len(set(draws)) == 40
    assert before == opendp.mod.GLOBAL_FEATURES


def _draw_into(queue):
    queue.put(add_laplace([0] * 50, 1, 0.01))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_forked_children_do_not_repeat_the_noise_of_their_parent():
    add_laplace([0], 1, 0.01)  # whatever state there is exists before the fork
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=_draw_into, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    drawn = [queue.get() for _ in children] + [add_laplace([0] * 50, 1, 0.01)]
    for child in children:
        child.join()
    assert len(set(map(tuple, drawn))) == 3


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
    ("scale_of", "built"), [(laplace_scale, "_laplace"), (gaussian_scale, "_gaussian")]
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
