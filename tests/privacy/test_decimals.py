"""A float counts as the decimal that it prints, and nothing spends more than that."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tametail.privacy.decimals import (
    double_below,
    exact,
    printed_below,
    rounded_down,
    rounded_up,
    spendable,
    to_text,
)

NUMBERS = st.floats(1e-100, 1e100)


def test_ten_charges_of_a_tenth_are_one():
    assert sum([exact(0.1)] * 10) == 1
    assert sum([Fraction(0.1)] * 10) > 1  # what doubles would say


@given(NUMBERS)
def test_a_mechanism_spends_the_largest_double_not_above_the_decimal(number):
    spent = spendable(number)
    assert Fraction(spent) <= exact(number) < Fraction(math.nextafter(spent, math.inf))
    assert spent in (number, math.nextafter(number, 0))


@given(st.lists(st.sampled_from([0.1, 0.2, 0.7, 0.01, 1e-7]), max_size=40))
def test_what_is_spent_is_never_above_what_is_charged(charges):
    assert sum(map(Fraction, map(spendable, charges))) <= sum(map(exact, charges))


@given(st.fractions(Fraction(1, 10**30), 10**30))
def test_what_is_shown_as_left_can_be_asked_for(left):
    shown = printed_below(left)
    assert exact(shown) <= left < exact(math.nextafter(shown, math.inf))


@given(st.fractions(0, 10**6))
def test_text_is_exact(number):
    assert Fraction(to_text(number)) == number


@pytest.mark.parametrize("number", [1, 0.1, 1e-7, 123456.789, 1e22, 5e-324])
def test_text_of_a_float_is_its_decimal(number):
    assert Fraction(to_text(exact(number))) == Fraction(repr(number))


@given(st.decimals(-(10**9), 10**9, allow_nan=False, places=30))
def test_rounding_knows_its_direction(number):
    assert rounded_down(number) <= Fraction(number) <= rounded_up(number)


def test_a_double_below():
    assert double_below(Fraction(1, 3)) <= Fraction(1, 3)
    assert double_below(Fraction(1, 2)) == 0.5
