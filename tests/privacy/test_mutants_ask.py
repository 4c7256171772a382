"""What only a broken ask would do: noise of another scale, choices at another rate.

These tests kill mutants (``tests/mutants``) for which the other tests looked too weak.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tametail.ask import Ask, Data
from tametail.mechanisms.noise import lone_gaussian_rho
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, on_sample
from tametail.queries.column import Buckets, LogHistogram, Median
from tametail.queries.paper import BallMean, Scores

from ..opened import open_table  # noqa: TID252

FALSE_ALARM = 1e-7

#: Without records all 4,000 nodes are noise and nothing else.
NODES = LogHistogram(0.0, -1000, 999)


def ask_about(records: list[float], budget: Budget, adjacency: Adjacency) -> Ask:
    return Ask(Data(open_table(records).backend), budget, adjacency)


@pytest.mark.parametrize(
    ("adjacency", "records"), [(Adjacency.ADD_REMOVE, 1), (Adjacency.REPLACE_ONE, 2)]
)
@pytest.mark.parametrize("cost", [Pure(0.5), Approx(0.5, 1e-6), Zcdp(0.02)], ids=str)
def test_noise_has_the_scale_that_the_query_asks_for(cost, adjacency, records):
    sizes = np.abs(ask_about([], cost, adjacency)(NODES, cost))
    if isinstance(cost, Zcdp):
        expected = math.sqrt(2 / math.pi) * math.sqrt(records * 32**2 / (2 * cost.rho))
    else:
        expected = records * 32 / cost.epsilon
    # The mean of 4,000 sizes is off by a 63rd of itself at most: 0.15 is nine times that.
    assert 0.85 < sizes.mean() / expected < 1.15


def test_a_lone_gaussian_has_the_scale_of_its_cost():
    cost = Approx(1.0, 1e-6)
    query = BallMean((0.0,), exponent=0, radius=1, size=8, factor=1)
    l2_squared = query.sensitivity(Adjacency.REPLACE_ONE).l2_squared
    sigma = math.sqrt(l2_squared / (2 * lone_gaussian_rho(l2_squared, cost)))

    class Zeros:
        """An engine whose answer is long, so that one question shows the law of the noise."""

        size = 8

        def answer(self, query):
            return (0,) * 10_000

    drawn = Ask(Data(Zeros()), cost, Adjacency.REPLACE_ONE)(query, cost)
    # The standard deviation of 10,000 draws is off by a 141st of itself: 0.05 is seven times that.
    # A squared sensitivity of 3 for 4 would make it 0.87.
    assert l2_squared == 4
    assert 0.95 < np.std(drawn) / sigma < 1.05


def test_a_bucket_may_be_chosen_that_no_record_is_in():
    cost, buckets = Pure(1e-3), Buckets(inverse_width=1.0, low=-5, high=5)
    drawn = {ask_about([0.5], cost, Adjacency.REPLACE_ONE)(buckets, cost) for _ in range(200)}
    assert drawn > {0}
    assert drawn <= set(range(-5, 6))


class FixedScores:
    """An engine for a tournament of three points."""

    size = 4
    query = Scores((0.0,), 0, step=1, reach=1, tie=0, xi=9, blocks=1, size=4, default=0)

    def answer(self, query):
        return np.array([0, 2, 4])


@pytest.mark.parametrize("cost", [Pure(1.0), Zcdp(0.125)], ids=str)
def test_a_winner_is_chosen_at_the_rate_of_its_cost(cost):
    drawn = [
        Ask(Data(FixedScores()), cost, Adjacency.REPLACE_ONE)(FixedScores.query, cost)
        for _ in range(3000)
    ]
    weights = np.exp(0.5 * np.array([0, 2, 4]))
    expected = 3000 * weights / weights.sum()
    assert stats.chisquare(np.bincount(drawn, minlength=3), expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("halvings", [1, 3, 10, 40])
@pytest.mark.parametrize("cost", [Pure(1e-4), Pure(0.3), Approx(2.0, 1e-6), Zcdp(0.02), Pure(31.0)])
def test_what_a_sample_may_spend_costs_no_more_on_all(cost, halvings):
    whole = math.sqrt(2 * cost.rho) if isinstance(cost, Zcdp) else cost.epsilon
    spent = on_sample(cost, halvings).epsilon
    on_all = math.log1p(math.ldexp(math.expm1(spent), -halvings))
    assert on_all <= whole
    if whole <= 30:
        assert on_all > 0.999_999 * whole


def test_a_sampled_median_is_chosen_at_the_rate_of_the_sample():
    """Two candidates, and ten sampled records that prefer one of them."""
    cost, low, high = Pure(0.2), 1.0, math.nextafter(1.0, 2.0)

    class Sampled:
        size = 20

        def answer(self, query):
            return np.array([np.float64(low).view(np.int64)]), np.array([10])

    query = Median(1, low, high)
    drawn = [Ask(Data(Sampled()), cost, Adjacency.ADD_REMOVE)(query, cost) for _ in range(2000)]
    base = _base_masses(low, high)
    rate = math.log1p(2 * math.expm1(0.2)) / 2
    share = base[1] / (base[0] * math.exp(10 * rate) + base[1])
    assert stats.binomtest(drawn.count(high), 2000, share).pvalue > FALSE_ALARM


def _base_masses(low: float, high: float) -> list[float]:
    """The base measure of two neighboring doubles, relative to each other."""
    from tametail.doubles import to_key
    from tametail.mechanisms.candidates import _base_cumulative

    keys = to_key([low, high])
    masses = np.diff(_base_cumulative(np.array([keys[0] - 1, *keys])))
    return [float(mass / masses.sum()) for mass in masses]
