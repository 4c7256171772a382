"""Checks of single arguments: every message names the argument and says what to write."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tametail import _validate as check
from tametail.errors import ParameterError


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int64(1), Fraction(1)])
def test_every_kind_of_number_is_one(value):
    assert check.number(x=value) == 1.0


@pytest.mark.parametrize("value", [None, "1", True, math.nan, 1j, [1], Decimal(1), object])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ParameterError, match=r"^Invalid x=.*. Use a number, such as x=1"):
        check.number(x=value)


def test_integers_beyond_the_doubles_are_infinite():
    assert check.number(x=10**400) == math.inf
    assert check.number(x=-(10**400)) == -math.inf
    with pytest.raises(ParameterError, match="Use a finite number"):
        check.finite_number(x=10**400)


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        (check.finite_number, math.inf, "Invalid x=inf. Use a finite number"),
        (check.positive, 0, "Invalid x=0. It must be positive"),
        (check.positive, -0.0, "Invalid x=-0.0"),
        (check.probability, 0, "Invalid x=0. It must be between 0 and 1"),
        (check.probability, 1.0, "Invalid x=1.0"),
        (check.count, -1, "Invalid x=-1. Use an integer, 0 or larger"),
        (check.count, 1.5, "Invalid x=1.5"),
    ],
)
def test_refusals(function, value, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        function(x=value)


def test_one_of_names_the_choices():
    assert check.one_of(("a", "b"), x="b") == "b"
    with pytest.raises(ParameterError, match=r"^Invalid x='c'. Use x='a' or x='b'"):
        check.one_of(("a", "b"), x="c")


@pytest.mark.parametrize("value", [None, 1, ["a"], {}])
def test_one_of_takes_anything(value):
    with pytest.raises(ParameterError, match="Invalid x="):
        check.one_of(("a", "b"), x=value)
