"""Limits for persons in groups: how they are chosen, and that few persons are not far off."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail.methods.groups.persons import anchor_of_counts, best_limit
from tametail.methods.winsorized.tail_histogram import TailHistogram
from tametail.privacy.budget import Noise
from tametail.queries.column import SOFT_ONE


def tails_of(lengths, scale=5.0):
    """Return octave counts of lengths, with noise of this scale in records and none drawn."""
    counts = np.zeros(40)
    octaves = np.floor(np.log2(lengths)).astype(int) + 10
    np.add.at(counts, octaves, 1.0)
    return TailHistogram(np.zeros(40), counts, -10, Noise("laplace", scale * SOFT_ONE))


def cost_of(lengths, limit, noise, bias):
    return (noise * limit) ** 2 + (bias * np.maximum(lengths - limit, 0).sum()) ** 2


@pytest.mark.parametrize("noise", [3.0, 30.0, 300.0])
@pytest.mark.parametrize("sigma", [0.5, 1.5])
def test_a_limit_costs_little_more_than_the_best_one(noise, sigma):
    lengths = np.random.default_rng(5).lognormal(2, sigma, 5000)
    tails = tails_of(lengths)
    found = best_limit(tails, tails.highest_detected(tails.above), noise, 0.5)
    best = min(cost_of(lengths, limit, noise, 0.5) for limit in np.geomspace(0.1, 1e4, 400))
    assert cost_of(lengths, found, noise, 0.5) < 2.5 * best  # a root of 1.6


def test_noise_far_out_does_not_raise_a_limit():
    lengths = np.random.default_rng(5).lognormal(2, 1, 5000)
    tails = tails_of(lengths)
    last_bin = tails.highest_detected(tails.above)
    noisy = tails.above.copy()
    noisy[last_bin + 3] += 3 * tails.scale
    raised = best_limit(replace(tails, above=noisy), last_bin, 30.0, 0.5)
    assert raised <= 1.5 * best_limit(tails, last_bin, 30.0, 0.5)  # and not 8 times that


def test_numbers_of_records_are_seen_where_lengths_of_any_size_are_not():
    tails = tails_of(np.random.default_rng(6).integers(1, 60, 600).astype(float), scale=30.0)
    assert tails.highest_detected(tails.above) is None
    last_bin = anchor_of_counts(tails)
    assert 3 <= last_bin - 10 <= 5  # the octave of 8 to 32
    nobody = replace(tails, above=np.zeros(40))
    assert anchor_of_counts(nobody) is None


def few_persons_with_many_records(persons, groups, seed):
    """Persons with some 60 records each, as hospitals have diagnoses, in one of some groups."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(5, 120, persons)
    who = np.repeat(np.arange(persons), counts)
    levels = rng.lognormal(10, 0.4, persons)
    levels *= rng.lognormal(0, 0.2, groups)[np.arange(persons) % groups]
    paid = levels[who] * rng.lognormal(0, 0.8, len(who))
    return pd.DataFrame({"who": who, "key": who % groups, "paid": paid})


@pytest.mark.parametrize("persons", [1000, 3000])
def test_few_persons_in_many_groups_are_not_far_off(persons):
    """The pilot once divided a sum of records by persons: errors were many times the mean."""
    frame = few_persons_with_many_records(persons, 30, persons)
    truth = frame.groupby("key")["paid"].mean().to_numpy()
    for _ in range(3):
        release = tt.mean(frame, "paid", by="key", keys=list(range(30)), person="who", epsilon=1)
        error = np.sqrt(np.mean((release.value - truth) ** 2)) / truth.mean()
        assert error < 0.8


def test_the_plan_predicts_the_error_of_its_reference_law():
    rng = np.random.default_rng(8)
    persons, groups = 6000, 20
    frame = pd.DataFrame({"who": np.arange(persons), "key": np.arange(persons) % groups,
                          "paid": rng.lognormal(size=persons)})  # fmt: skip
    keys = list(range(groups))
    plan = tt.plan(n=persons, epsilon=1, person=True, by="key", keys=keys)
    errors = [tt.mean(frame, "paid", plan=plan, person="who").value - math.exp(0.5)
              for _ in range(4)]  # fmt: skip
    ratio = np.sqrt(np.mean(np.square(errors))) / math.sqrt(math.e * (math.e - 1))
    assert 0.5 < ratio / plan.relative_rmse < 2
    predicted = [
        tt.plan(n=n, epsilon=1, person=True, by="key", keys=keys).relative_rmse
        for n in (3000, 10**4, 10**5)
    ]
    assert predicted == sorted(predicted, reverse=True)


def test_a_sum_of_records_is_not_divided_by_persons():
    """If nobody's number of records stands out, the pilot stays, with a warning."""
    frame = few_persons_with_many_records(150, 1, 3)
    truth = frame["paid"].mean()
    for _ in range(4):
        release = tt.mean(frame, "paid", person="who", epsilon=0.5, n=150)
        if any(note.code == "no-signal" for note in release.notes):
            assert math.isinf(release.high)
        else:
            assert abs(float(release) / truth - 1) < 5
