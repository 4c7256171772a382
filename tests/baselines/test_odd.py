"""A small version of benchmarks/odd.py: no release misleads without a word."""

from __future__ import annotations

import numpy as np
import pytest

import odd


@pytest.mark.parametrize("law", odd.LAWS)
def test_no_release_of_odd_data_misleads(law):
    """Far off, with a finite interval and no warning: none in 20,000, hence none in these."""
    for unit in odd.UNITS:
        outcome = odd.run(odd.Task(law, strength=500, unit=unit, trials=4, seed=7))
        assert outcome.silent == 0


def test_the_oracle_is_not_right_by_chance():
    records = np.random.default_rng(1).normal(1e6, 1.0, 2001)
    records += 1e6 - np.median(records)
    records[-1] -= (records.mean() - np.median(records)) * len(records)  # the median is the mean
    assert odd.oracle(records, epsilon=1) > 0.3 * records.std() / np.sqrt(len(records))


def test_the_oracle_knows_the_best_bounds():
    records = np.append(np.zeros(999), 1e6)
    clipped = odd.oracle(records, epsilon=1e9)  # nothing to gain from clipping but sampling
    assert clipped <= records.std() / np.sqrt(1000)
    assert odd.oracle(np.full(1000, 5.0), epsilon=1) == pytest.approx(5e-9)
