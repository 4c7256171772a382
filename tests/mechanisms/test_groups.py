"""Noise for all keys at once, and keys that are chosen privately."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tametail.errors import InternalError
from tametail.keys import Key
from tametail.mechanisms import groups
from tametail.mechanisms.groups import add_keyed_noise, choose_keys, key_threshold
from tametail.mechanisms.noise import laplace_scale
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import approx, pure, zcdp
from tametail.queries.column import ClippedSum, ClippingGrid
from tametail.queries.groups import Cells, KeyCounts, Keyed


def test_every_key_gets_the_noise_of_its_own_sensitivity():
    wide, narrow = (
        ClippedSum(ClippingGrid(0, -1000, 0, 1000)),
        ClippedSum(ClippingGrid(0, -10, 0, 10)),
    )
    query = Keyed((wide, narrow) * 3000)
    for cost, deviations in (
        (pure(1.0), (1000 * math.sqrt(2), 10 * math.sqrt(2))),
        (zcdp(0.5), (1000.0, 10.0)),
    ):
        noisy = add_keyed_noise([(0,)] * 6000, query, cost, Adjacency.ADD_REMOVE)
        for place, deviation in enumerate(deviations):
            assert np.std(noisy[place::2]) == pytest.approx(deviation, rel=0.15)


def test_replacements_are_refused():
    query = Keyed((Cells((0.0, 1.0)),))
    with pytest.raises(AssertionError, match="add-remove only"):
        add_keyed_noise([(1, 2, 3)], query, pure(1.0), Adjacency.REPLACE_ONE)
    with pytest.raises(InternalError, match="under add-remove"):
        choose_keys({}, KeyCounts(), approx(1, 0.1), Adjacency.REPLACE_ONE)
    with pytest.raises(InternalError, match="with a delta"):
        choose_keys({}, KeyCounts(), pure(1.0), Adjacency.ADD_REMOVE)


@given(st.floats(0.001, 20.0), st.floats(1e-15, 0.5))
def test_a_key_of_one_record_is_shown_with_probability_delta_at_most(epsilon, delta):
    """And one less would be too low: the threshold is the least that the law allows."""
    scale, least = laplace_scale(1, epsilon), key_threshold(approx(epsilon, delta), KeyCounts())

    def shown(threshold):  # P(1 + Z >= threshold), Z discrete Laplace
        return math.exp(-(threshold - 1) / scale) / (1 + math.exp(-1 / scale))

    assert shown(least) <= delta * (1 + 1e-12)
    assert least == 1 or shown(least - 1) > delta * (1 - 1e-9)


def test_keys_of_one_record_appear_as_seldom_as_delta_says():
    """The audit: delta raised to 0.01, and 40,000 keys that one record holds."""
    cost = approx(1.0, 0.01)
    alone = {Key((i,)): 1 for i in range(40_000)}
    shown = choose_keys(alone, KeyCounts(), cost, Adjacency.ADD_REMOVE)
    assert len(shown) <= 40_000 * 0.01 + 5 * math.sqrt(400)
    assert len(shown) >= 60  # and the threshold is not far above what it has to be
    assert min(count for _, count in shown) >= key_threshold(cost, KeyCounts())


def test_keys_are_sorted_by_kind_and_value_whatever_came_first():
    keys = [Key((cell,)) for cell in ("b", 10, "B", 9, True, "é", "z")]
    counts = dict.fromkeys(keys, 10**6)
    shown = choose_keys(counts, KeyCounts(), approx(1, 1e-6), Adjacency.ADD_REMOVE)
    assert [key.label for key, _ in shown] == [True, 9, 10, "B", "b", "z", "é"]


def test_the_threshold_uses_the_scale_that_is_drawn(monkeypatch):
    usual = key_threshold(approx(1.0, 1e-6), KeyCounts())
    monkeypatch.setattr(groups, "laplace_scale", lambda l1, epsilon: 3 * l1 / epsilon)
    assert key_threshold(approx(1.0, 1e-6), KeyCounts()) > 2 * usual


def test_sensitivities_are_those_of_one_key():
    assert Cells((0.0, 1.0)).sensitivity(Adjacency.REPLACE_ONE).l1 == 2
    assert KeyCounts().sensitivity(Adjacency.ADD_REMOVE).l1 == 1
    assert KeyCounts().sensitivity(Adjacency.REPLACE_ONE).l1 == 2
    assert Fraction(1) == Fraction(
        Keyed((Cells((0, 1)),) * 9).sensitivities(Adjacency.ADD_REMOVE)[8].l1
    )
