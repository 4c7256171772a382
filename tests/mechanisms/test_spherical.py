"""Spherical noise: its law, its cost, its digits, and what it leaves alone."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from tametail.errors import InternalError, ParameterError
from tametail.mechanisms import spherical
from tametail.mechanisms.spherical import add_spherical, draw_spherical, spherical_scale
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Pure
from tametail.queries.paper import BallMean

CERTAIN = 1e-7


@pytest.mark.parametrize("n_columns", [1, 2, 3, 7])
def test_length_and_direction_follow_their_laws(n_columns):
    scale = 10**9  # so fine that rounding plays no part
    draws = np.array([draw_spherical(n_columns, Fraction(scale)) for _ in range(400)]) / scale
    lengths = np.linalg.norm(draws, axis=1)
    assert stats.kstest(lengths, stats.gamma(n_columns).cdf).pvalue > CERTAIN
    assert stats.spearmanr(lengths, draws[:, 0]).pvalue > CERTAIN
    for place in range(n_columns):
        cosines = draws[:, place] / lengths
        if n_columns == 1:
            assert stats.binomtest(int((cosines > 0).sum()), 400).pvalue > CERTAIN
        else:  # (1 + cosine)/2 is beta((d - 1)/2, (d - 1)/2)
            law = stats.beta((n_columns - 1) / 2, (n_columns - 1) / 2, loc=-1, scale=2)
            assert stats.kstest(cosines, law.cdf).pvalue > CERTAIN
    if n_columns > 1:
        assert stats.spearmanr(draws[:, 0], draws[:, 1]).pvalue > CERTAIN


def test_the_integers_have_the_mass_of_their_squares():
    """In two columns, against the density integrated over unit squares."""
    scale, runs = 1.3, 2_000

    def mass(x, y):
        density = lambda b, a: math.exp(-math.hypot(a, b) / scale) / (2 * math.pi * scale**2)  # noqa: E731
        return integrate.dblquad(density, x - 0.5, x + 0.5, y - 0.5, y + 0.5, epsabs=1e-5)[0]

    corner = {(x, y): mass(x, y) for x in range(4) for y in range(x + 1)}
    law = {
        (x, y): corner[max(abs(x), abs(y)), min(abs(x), abs(y))]
        for x in range(-3, 4)
        for y in range(-3, 4)
    }
    seen = Counter(draw_spherical(2, Fraction(scale)) for _ in range(runs))
    likely = [cell for cell in law if runs * law[cell] >= 8]
    expected = np.array([law[cell] for cell in likely])
    observed = np.array([seen[cell] for cell in likely])
    expected = np.append(expected, 1 - expected.sum()) * runs
    observed = np.append(observed, runs - observed.sum())
    assert stats.chisquare(observed, expected).pvalue > CERTAIN


@given(st.integers(1, 2**60), st.floats(1e-9, 1e9))
def test_the_scale_is_enough_and_hardly_more(l2_squared, epsilon):
    scale = Fraction(spherical_scale(l2_squared, epsilon))
    assert (scale * Fraction(epsilon)) ** 2 >= l2_squared
    assert scale * Fraction(epsilon) <= Fraction(math.sqrt(l2_squared)) * (1 + Fraction(1, 2**50))


def test_a_pure_question_about_a_ball_gets_noise_for_its_euclidean_sensitivity():
    from tametail.mechanisms.dispatch import mechanism_for

    query = BallMean.around([0.0] * 30, 4.0, size=1000, strength=0.5)
    mechanism = mechanism_for(query, Pure(0.5), Adjacency.REPLACE_ONE)
    lengths = [math.hypot(*mechanism([0] * 30)) for _ in range(100)]
    expected = 30 * math.sqrt(query.sensitivity(Adjacency.REPLACE_ONE).l2_squared) / 0.5
    # A gamma law of order 30 has a deviation of 5.5, so the mean of 100 has 0.55 of 30.
    assert np.mean(lengths) == pytest.approx(expected, rel=0.12)


class Digits:
    """Stands in for the source: the first digits are nearly an integer, the next ones decide."""

    def __init__(self, draws):
        self._draws = iter(draws)
        self.asked = 0

    def below(self, _):
        self.asked += 1
        return next(self._draws)


@pytest.mark.parametrize(("step", "outcome"), [(1000, 0), (-1000, 1)])
def test_more_digits_of_the_same_draw_decide(monkeypatch, step, outcome):
    """One column: the size is -ln(u), and its nearest integer turns at u = e^(-1/2)."""
    exact = spherical.Rounded(100).down
    first, second = divmod(int(exact.scaleb(exact.exp(Decimal("-0.5")), 80)), 10**40)
    # Two signs, the point, the exponential and the length; then more of the last four.
    source = Digits([0, 0, 3 * 10**39, 4 * 10**39, 5 * 10**39, first, 1, 1, 1, second + step])
    monkeypatch.setattr(spherical, "random_below", source.below)
    assert draw_spherical(1, Fraction(1)) == (outcome,)
    assert source.asked == 10


def test_a_point_on_the_edge_of_the_disc_is_looked_at_again(monkeypatch):
    """0.6 and 0.8: the first 40 digits leave open on which side of the circle the point lies."""
    outside = [6 * 10**39, 8 * 10**39, 1, 1]  # beyond the circle by the next digits
    inside = [10**39, 10**39]
    source = Digits([0, 0, *outside, *inside, 5 * 10**39, 5 * 10**39])
    monkeypatch.setattr(spherical, "random_below", source.below)
    draw_spherical(1, Fraction(1))
    assert source.asked == 10


def test_numbers_that_begin_with_forty_zeros_or_nines_get_more_digits(monkeypatch):
    source = Digits([0, 7, 10**40 - 1, 3])
    monkeypatch.setattr(spherical, "random_below", source.below)
    tiny, large = (spherical._Uniform().enclosure(40) for _ in range(2))
    assert tiny == (Decimal("7e-80"), Decimal("8e-80"))
    assert 0 < large.low < large.high < 1


def test_values_of_any_size_keep_all_their_digits():
    assert add_spherical([10**300, -(2**200)], 1, 1e9) == (10**300, -(2**200))
    noisy = add_spherical(np.array([1, 2], dtype=np.int8), 1, 1.0)
    assert [type(value) for value in noisy] == [int, int]


def test_without_sensitivity_or_values_there_is_no_noise():
    assert add_spherical([5, 2**80], 0, 1e-9) == (5, 2**80)
    assert add_spherical([], 4, 1.0) == ()


def test_mistakes_are_named():
    with pytest.raises(ParameterError, match="epsilon="):
        add_spherical([1], 1, 0.0)
    with pytest.raises(InternalError, match="sensitivity"):
        spherical_scale(-1, 1.0)
