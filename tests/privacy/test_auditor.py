"""The auditor has teeth: it sees an exact mechanism's epsilon, and flags a broken one."""

import math

import numpy as np
import pytest

from .auditor import audit

RUNS = 200_000
CERTAIN = 1 - 1e-7


def laplace(shift, scale, seed):
    rng = np.random.default_rng(seed)
    return lambda count: shift + rng.laplace(0.0, scale, count)


def discrete_laplace(shift, scale, seed):
    rng = np.random.default_rng(seed)
    p = 1 - math.exp(-1 / scale)
    return lambda count: shift + rng.geometric(p, count) - rng.geometric(p, count)


@pytest.mark.parametrize("noise", [laplace, discrete_laplace])
def test_nine_tenths_of_an_exact_epsilon_are_seen(noise):
    bound = audit(noise(0, 1.0, 1), noise(1, 1.0, 2), RUNS)
    assert 0.9 <= bound <= 1.0


@pytest.mark.parametrize("noise", [laplace, discrete_laplace])
def test_half_the_noise_is_flagged(noise):
    assert audit(noise(0, 0.5, 1), noise(1, 0.5, 2), RUNS, confidence=CERTAIN) > 1.7


def test_noise_that_is_right_for_an_average_record_only_is_flagged():
    """Ten percent too little noise is seen, though epsilon is off by a tenth only."""
    assert audit(laplace(0, 0.9, 1), laplace(1, 0.9, 2), RUNS, confidence=CERTAIN) > 1.0


def test_equal_neighbors_show_nothing():
    assert audit(laplace(0, 1.0, 1), laplace(0, 1.0, 2), RUNS) < 0.05


def test_delta_is_taken_off():
    """An output that occurs with probability delta on one side only is no evidence at delta."""

    def rarely(chance, seed):
        rng = np.random.default_rng(seed)
        return lambda count: (rng.random(count) < chance).tolist()

    first, second = rarely(0.05, 1), rarely(0.0, 2)
    assert audit(first, second, 20_000) > 3
    assert audit(first, second, 20_000, delta=0.05) == 0


def test_labels_and_none_are_outputs_like_any_other():
    def mostly(label, seed):
        rng = np.random.default_rng(seed)
        return lambda count: [label if hit else None for hit in rng.random(count) < 0.5]

    assert audit(mostly("a", 1), mostly("b", 2), 20_000) > 4


def test_the_bound_is_below_the_truth_nearly_always():
    """At confidence 0.9 at most a tenth of the bounds may lie above the true epsilon."""
    above = sum(
        audit(laplace(0, 1.0, seed), laplace(1, 1.0, seed + 1000), 2000, confidence=0.9) > 1.0
        for seed in range(60)
    )
    assert above <= 20  # more than 20 of 60 have probability below 1e-6, and the seeds are fixed
