"""The exact exponential mechanism: enclosures, refinement, probabilities, privacy."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.errors import InternalError
from tametail.mechanisms import select as module
from tametail.mechanisms.select import select, uniform_integer

FALSE_ALARM = 1e-7
DIGITS = 400


def exp_negative(exponent: Fraction) -> Fraction:
    """exp(-exponent) to 400 digits, by a road of its own."""
    with localcontext() as context:
        context.prec = DIGITS
        quotient = Decimal(exponent.numerator) / Decimal(exponent.denominator)
        return Fraction((-quotient).exp())


def probabilities(levels: list[tuple[int, int]], rate: Fraction) -> list[Fraction]:
    weights = [mass * exp_negative(rate * distance) for distance, mass in levels]
    return [weight / sum(weights) for weight in weights]


def bits_of(point: Fraction) -> tuple[Callable[[int], int], list[int]]:
    """A source of the binary digits of a point in [0, 1); it notes how many it is asked for."""
    asked: list[int] = []

    def randbits(count: int) -> int:
        asked.append(count)
        return math.floor(point * 2 ** sum(asked)) % 2**count

    return randbits, asked


def first_width(levels: list[tuple[int, int]], rate: Fraction) -> int:
    randbits, asked = bits_of(Fraction(0))
    module._draw_level(levels, rate, randbits)
    return asked[0]


RATES = [
    Fraction(0),
    Fraction(1e-300),
    Fraction(0.05),
    Fraction(1, 3),
    Fraction(1),
    Fraction(10),
    Fraction(127, 2),
    Fraction(10**6),
]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("bits", [8, 64, 500])
def test_exp_is_enclosed_tightly(rate, bits):
    low, error = module._exp_negative(rate, bits)
    slack = Fraction(1, 10 ** (DIGITS - 5))
    assert low >= 0
    assert low <= 2**bits * (exp_negative(rate) + slack)
    assert 2**bits * (exp_negative(rate) - slack) <= low + error
    assert error <= 3


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=8, unique=True),
    st.fractions(0, 5, max_denominator=10**6),
    st.sampled_from([16, 80, 300]),
)
def test_every_level_weight_is_enclosed(distances, rate, bits):
    ascending = sorted(distances)
    weights = list(module._level_weights(ascending, rate, bits))
    slack = Fraction(1, 10 ** (DIGITS - 20))
    for distance, (low, error) in zip(ascending, weights, strict=True):
        exact = 2**bits * exp_negative(rate * distance) if rate * distance < 900 else 0
        assert low <= exact + slack
        assert exact - slack <= low + error


LEVELS = [
    [(0, 1), (1, 1)],
    [(0, 3), (1, 10), (2, 7), (9, 10**6)],
    [(0, 1), (700, 10**300)],
    [(0, 10**300), (3, 1), (4, 10**299)],
]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 7), Fraction(1)])
def test_the_distribution_function_is_exact(levels, rate):
    """The first draw at which the answer passes level i is the exact boundary, rounded up."""
    width = first_width(levels, rate)
    below = Fraction(0)
    for index, probability in enumerate(probabilities(levels, rate)[:-1]):
        below += probability
        low, high = 0, 2**width  # the answer at ``low`` is at most index, or low is 0
        while high - low > 1:
            middle = (low + high) // 2
            if module._draw_level(levels, rate, bits_of(Fraction(middle, 2**width))[0]) <= index:
                low = middle
            else:
                high = middle
        assert abs(Fraction(low, 2**width) - below) <= Fraction(2, 2**width)


@pytest.mark.parametrize(("shift", "answer"), [(-1, 0), (1, 1)])
@pytest.mark.parametrize(("agreeing", "draws"), [(1, 2), (2, 3), (4, 4)])
def test_an_open_draw_gets_more_bits_and_not_a_new_draw(shift, answer, agreeing, draws):
    """The point agrees with the boundary in all bits of the first draws: only later bits decide."""
    levels, rate = [(0, 5), (2, 7)], Fraction(1, 3)
    width = first_width(levels, rate)
    boundary = probabilities(levels, rate)[0]
    point = boundary + Fraction(shift, 2 ** (agreeing * width + 8))
    same_bits = 2 ** (agreeing * width)
    assert math.floor(point * same_bits) == math.floor(boundary * same_bits)
    randbits, asked = bits_of(point)
    assert module._draw_level(levels, rate, randbits) == answer
    assert asked == [width, width, 2 * width, 4 * width][:draws]


def test_a_level_far_below_is_reached_by_the_bits_that_belong_to_it():
    """exp(-300) is about 2^-433, below the first precision; the topmost points lead there."""
    levels, rate = [(0, 1), (300, 1)], Fraction(1)
    for exponent, answer in ((430, 0), (440, 1)):
        randbits, asked = bits_of(1 - Fraction(1, 2**exponent))
        assert module._draw_level(levels, rate, randbits) == answer
        assert len(asked) > 1


def test_draws_follow_the_distribution():
    scores, weights, rate = [0, 3, -2, 3, 1, 0], [4, 1, 9, 2, 0, 3], 0.4
    draws = np.bincount([select(scores, weights, rate) for _ in range(20_000)], minlength=6)
    expected = np.array(weights) * np.exp(rate * np.array(scores))
    assert draws[4] == 0
    positive = expected > 0
    expected = expected[positive] / expected.sum() * draws.sum()
    assert stats.chisquare(draws[positive], expected).pvalue > FALSE_ALARM


def test_huge_weights_can_outweigh_scores():
    # exp(690) is about 10^299.7, so that the two runs are about 2 to 1.
    draws = sum(select([690, 0], [1, 10**300], 1) for _ in range(3000))
    share = 1 / (1 + math.exp(690 - 300 * math.log(10)))
    assert stats.binomtest(draws, 3000, share).pvalue > FALSE_ALARM


def test_rate_zero_leaves_the_base_weights():
    draws = sum(select(np.array([10**9, -(10**9)]), [1, 3], 0) for _ in range(5000))
    assert stats.binomtest(draws, 5000, 0.75).pvalue > FALSE_ALARM


@pytest.mark.parametrize("rate", [1e3, 1e300, Fraction(10**400)])
def test_huge_rates_choose_the_best(rate):
    assert {select([7, 8, -(10**30)], [10**300, 1, 1], rate) for _ in range(20)} == {1}


def test_zero_weights_are_never_chosen():
    chosen = {select([100, 0, 100, 0], [0, 1, 0, 1], 0.1) for _ in range(200)}
    assert chosen == {1, 3}


def test_sums_of_array_weights_do_not_overflow():
    # In 64 bits the four weights of the first level would add up to 0.
    draws = {select(np.zeros(4, dtype=np.int8), np.full(4, 2**62), 1) for _ in range(200)}
    assert draws == {0, 1, 2, 3}


def probability_bounds(scores, weights, rate):
    """Bounds of each run's probability from the enclosures that the mechanism uses."""
    top = max(scores)
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    levels = [(top - scores[i], weights[i]) for i in order]
    lower, upper = module._cumulative_bounds(levels, rate, 400)
    bounds = {}
    enclosures = module._level_weights([distance for distance, _ in levels], rate, 400)
    for i, (low, error) in zip(order, enclosures, strict=True):
        bounds[i] = (
            Fraction(weights[i] * low, upper[-1]),
            Fraction(weights[i] * (low + error), lower[-1]),
        )
    return [bounds[i] for i in range(len(scores))]


RUNS = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(-1, 1), st.integers(1, 10**30)),
    min_size=1,
    max_size=8,
)
ROUNDING = 1 + Fraction(1, 2**200)


@settings(deadline=None)
@given(RUNS, st.fractions(Fraction(1, 1000), 3, max_denominator=1000))
def test_a_better_score_is_never_less_likely(runs, rate):
    scores, weights = [run[0] for run in runs], [run[2] for run in runs]
    better = [scores[0] + 1, *scores[1:]]
    (_, high), *_ = probability_bounds(scores, weights, rate)
    (other_low, _), *_ = probability_bounds(better, weights, rate)
    assert other_low * ROUNDING >= high / ROUNDING


@settings(deadline=None)
@given(RUNS, st.fractions(0, 3, max_denominator=1000))
def test_neighboring_scores_give_a_choice_that_is_twice_rate_private(runs, rate):
    scores, weights = [run[0] for run in runs], [run[2] for run in runs]
    moved = [score + move for score, move, _ in runs]
    limit = 1 / exp_negative(2 * rate) * ROUNDING
    one, other = (probability_bounds(s, weights, rate) for s in (scores, moved))
    for (low, _), (_, other_high) in zip(one, other, strict=True):
        assert other_high <= low * limit
    for (_, high), (other_low, _) in zip(one, other, strict=True):
        assert high <= other_low * limit


@settings(deadline=None)
@given(RUNS, st.fractions(0, 3, max_denominator=1000))
def test_monotone_scores_cost_half(runs, rate):
    scores, weights = [run[0] for run in runs], [run[2] for run in runs]
    moved = [score + max(move, 0) for score, move, _ in runs]
    limit = 1 / exp_negative(rate) * ROUNDING
    one, other = (probability_bounds(s, weights, rate) for s in (scores, moved))
    for (low, high), (other_low, other_high) in zip(one, other, strict=True):
        assert other_high <= low * limit
        assert high <= other_low * limit


@settings(deadline=None)
@given(RUNS, st.floats(1e-4, 1))
def test_the_zcdp_calibration_has_bounded_range(runs, rho):
    """The privacy loss has a range of at most eps = sqrt(8 rho), which gives eps^2/8 = rho."""
    epsilon = math.sqrt(8 * rho)
    rate = Fraction(epsilon) / 2
    scores, weights = [run[0] for run in runs], [run[2] for run in runs]
    moved = [score + move for score, move, _ in runs]
    one, other = (probability_bounds(s, weights, rate) for s in (scores, moved))
    ratios = [(a[0] / b[1], a[1] / b[0]) for a, b in zip(one, other, strict=True)]
    widest = max(high for _, high in ratios) / min(low for low, _ in ratios)
    assert widest <= ROUNDING / exp_negative(2 * rate)


def test_uniform_integers_are_uniform():
    draws = np.bincount([uniform_integer(-2, 4) + 2 for _ in range(7000)], minlength=7)
    assert len(draws) == 7
    assert stats.chisquare(draws).pvalue > FALSE_ALARM
    assert 0 <= uniform_integer(0, 10**300) <= 10**300


@pytest.mark.parametrize(
    ("scores", "weights", "rate"),
    [
        ([], [], 1),
        ([1, 2], [0, 0], 1),
        ([1, 2], [1], 1),
        ([1, 2], [1, -1], 1),
        ([1], [1], -1),
        ([1], [1], math.nan),
        ([1], [1], math.inf),
    ],
)
def test_misuse_is_an_internal_error(scores, weights, rate):
    with pytest.raises(InternalError):
        select(scores, weights, rate)


def test_fractional_scores_are_refused():
    with pytest.raises(TypeError):
        select([0.5], [1], 1)


def test_an_empty_range_is_an_internal_error():
    with pytest.raises(InternalError):
        uniform_integer(1, 0)


def test_no_public_function_takes_a_source_of_randomness():
    assert list(inspect.signature(select).parameters) == ["scores", "weights", "rate"]
    assert list(inspect.signature(uniform_integer).parameters) == ["low", "high"]


def test_a_draw_beyond_the_masses_is_noticed(monkeypatch):
    monkeypatch.setattr(module, "uniform_integer", lambda low, high: high + 1)
    with pytest.raises(InternalError, match="do not add up"):
        select([1, 1], [2, 3], 1)
