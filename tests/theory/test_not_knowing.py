"""The price of not knowing: what follows from its definition, and that it binds an estimator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tametail.errors import ParameterError
from tametail.theory import price_of_not_knowing
from tametail.theory.not_knowing import _bound


def test_more_places_and_less_budget_cost_more():
    places = [price_of_not_knowing(10_000, epsilon=0.1, doublings=some) for some in (20, 100, 1000)]
    assert places == sorted(places)
    assert places[0] < 1 < places[1] < 2 < places[2] + 0.05
    assert price_of_not_knowing(10_000, epsilon=1.0) < price_of_not_knowing(10_000, epsilon=0.1)
    # Under add-remove records are told apart twice as well, and the oracle is as good.
    assert price_of_not_knowing(10_000, epsilon=0.1, neighbors="add-remove") < places[2]


def test_the_number_of_records_hardly_matters():
    found = [price_of_not_knowing(n, epsilon=0.1) for n in (10_000, 10**6)]
    assert found[0] == pytest.approx(found[1], rel=0.02)


def test_one_bound_written_out():
    n, epsilon, mass, step, places = 1000, 0.5, 4.0, 3.0, 200.0
    p, ratio = mass / (n * epsilon), 2.0**step
    records = np.arange(n + 1)
    chance = stats.binom.pmf(records, n, p)
    hit = (chance * np.minimum(1, np.exp(np.minimum(epsilon * records, 700)) / 200)).sum()
    oracle = math.sqrt(2 / mass**2 + 1 / (n * p))
    expected = (ratio - 1) / (ratio + 1) * math.sqrt(1 - hit) / oracle
    assert _bound(n, epsilon, mass, step, places, epsilon) == pytest.approx(expected, rel=1e-6)


def test_it_binds_a_simple_estimator():
    """Clip at a place drawn by the counts (exponential mechanism, half of the budget), then add up.

    The worst ratio over the places of one choice of p and B must not be below the bound for it.
    """
    rng = np.random.default_rng(3)
    n, epsilon, mass, step, places = 10_000, 0.1, 4.0, 4.75, 210
    p = mass / (n * epsilon)
    oracle = math.sqrt(2 / mass**2 + 1 / (n * p))
    bound = _bound(n, epsilon, mass, step, places, epsilon)
    squares = np.zeros(places)
    for place in range(0, places, 21):  # all places are alike to this estimator
        errors = []
        for _ in range(200):
            seen = rng.binomial(n, p)
            scores = np.zeros(places)
            scores[place] = seen
            found = int(np.argmax(scores * epsilon / 4 + rng.gumbel(size=places)))
            # In units of p t_place; a sum that is clipped elsewhere has noise of its own size.
            far = 2.0 ** min(step * (found - place), 20.0)
            clipped = seen * min(far, 1.0) if found != place else seen
            noise = rng.laplace() * 2 * far / epsilon
            errors.append((clipped + noise) / (n * p) - 1)
        squares[place] = np.mean(np.minimum(np.square(errors), 1e6))
    assert math.sqrt(squares.max()) / oracle >= bound


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("n", "epsilon"), [(1, 1e-9), (1, 0.4), (10, 0.01), (39, 0.01)])
def test_where_nothing_can_be_seen_it_says_nothing(n, epsilon, adjacency):
    """No oracle sees far records there either: a valid bound, and below 1."""
    assert 0.9 < price_of_not_knowing(n, epsilon=epsilon, neighbors=adjacency) < 1


def test_arguments():
    with pytest.raises(ParameterError):
        price_of_not_knowing(1000, epsilon=1.0, doublings=0.5)
    with pytest.raises(ParameterError):
        price_of_not_knowing(0, epsilon=1.0)
