"""One block: its bound against exact tails, and what it asks for beside blocks."""

import math

import numpy as np
import pytest
from scipy import stats

from tametail.errors import ParameterError
from tametail.privacy.budget import Approx, Pure, Zcdp
from tametail.theory import bucket_radius, mean_sample_size, truncation_bias
from tametail.theory.means import one_block

BUDGETS = [Pure(1.0), Pure(0.02), Zcdp(0.5), Zcdp(1e-4), Approx(1.0, 1e-6)]


def tail(n, p, low, high, scale, gaussian, distance):
    """P(|mean - expectation + noise| > distance) for n records on two points, by summation."""
    hits = np.arange(n + 1)
    centered = (low + (high - low) * hits / n) - (low + (high - low) * p)
    if gaussian:
        beyond = stats.norm.sf((distance - centered) / scale) + stats.norm.sf(
            (distance + centered) / scale
        )
    else:
        beyond = stats.laplace.sf((distance - centered) / scale) + stats.laplace.sf(
            (distance + centered) / scale
        )
    return float(stats.binom.pmf(hits, n, p) @ beyond)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(("alpha", "beta", "k"), [(0.3, 0.1, 2), (0.3, 0.001, 3), (0.5, 0.05, 8)])
def test_no_two_points_exceed_alpha_more_often_than_promised(budget, alpha, beta, k):
    """All variance that is allowed, and as far out as the range: the tail is computed exactly."""
    plan = one_block(alpha, beta, k, 1e4, budget)
    bias = truncation_bias(plan.margin, k)
    middle = 2 * bucket_radius(alpha, k)
    width = 2 * (middle + plan.margin)
    farthest = width - plan.margin + bias
    gaussian = isinstance(budget, Zcdp)
    scale = width / (plan.averaging * budget.strength)
    assert bias < alpha
    worst = 0.0
    for reach in np.geomspace(0.3, farthest, 12):
        # Two points of variance 1, the upper one so far above the mean; n cannot be too small.
        p = 1 / (1 + reach**2)
        risk = tail(plan.averaging, p, -1 / reach, reach, scale, gaussian, alpha - bias)
        worst = max(worst, risk)
    assert worst <= beta
    assert worst >= beta * 1e-4  # the bound is not for nothing


@pytest.mark.parametrize("k", [1.5, 2, 4])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_one_block_beats_blocks(budget, k):
    numbers = {name: value for name, value in budget.to_dict().items() if name != "kind"}
    for alpha, beta in ((0.3, 0.1), (0.05, 0.01), (0.01, 1e-6)):
        few, many = (
            mean_sample_size(alpha, beta, k, 1e3, constants=constants, **numbers)
            for constants in ("one-block", "tight")
        )
        assert few < many / 3


def test_one_block_moves_the_right_way():
    def records(alpha=0.1, beta=0.05, k=2, R=1e3, budget=BUDGETS[0]):
        return one_block(alpha, beta, k, R, budget).records

    assert records(alpha=0.05) > records()
    assert records(beta=0.001) > records()
    assert records(k=4) < records()
    assert records(R=1e30) > records() > records(R=1.0)
    assert records(budget=Pure(0.1)) > records()
    # A smaller beta costs ln(1/beta), and not as much again for a median.
    assert records(beta=1e-12) / records(beta=1e-6) == pytest.approx(2, rel=0.1)


def test_with_nothing_to_locate_all_records_are_averaged():
    assert one_block(0.1, 0.05, 2, 8.0, Pure(1.0)).locating == 0
    assert one_block(0.1, 0.05, 2, 8.1, Pure(1.0)).locating > 0
    assert one_block(0.1, 0.05, 2, math.inf, Approx(1.0, 1e-6)).locating > 0


def test_few_records_are_shared_out_alike():
    plan = one_block(0.1, 0.05, 2, 1e3, Pure(1.0))
    assert plan.locating_of(plan.records) == plan.locating_of(10**9) == plan.locating
    for size in (0, 1, 10, plan.records - 1):
        assert plan.locating_of(size) == plan.locating * size // plan.records


@pytest.mark.parametrize("scale", [0.5, 3.0, 1000.0])
def test_discrete_laplace_noise_has_the_smaller_moments(scale):
    """E e^(tZ) = (cosh(1/s) - 1)/(cosh(1/s) - cosh(t)) is at most 1/(1 - (t s)^2)."""
    z = np.arange(-int(60 * scale) - 60, int(60 * scale) + 61)
    mass = np.exp(-np.abs(z) / scale)
    mass /= mass.sum()
    for part in (0.05, 0.4, 0.9):
        t = part / scale
        discrete = float(mass @ np.exp(t * z))
        closed = (math.cosh(1 / scale) - 1) / (math.cosh(1 / scale) - math.cosh(t))
        assert discrete == pytest.approx(closed, rel=1e-2 if part == 0.9 else 1e-6)
        assert closed <= 1 / (1 - part**2) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.0}, "alpha="),
        ({"beta": 1.0}, "beta="),
        ({"k": 1.0}, "k="),
        ({"R": -1.0}, "R="),
        ({"R": math.nan}, "R="),
        ({"R": math.inf}, "R=inf"),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = {"alpha": 0.1, "beta": 0.05, "k": 2, "R": 100.0, "budget": Pure(1.0)} | change
    with pytest.raises(ParameterError, match=message):
        one_block(**arguments)
