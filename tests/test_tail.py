"""What a caller may say about records and mean."""

import math

import pytest

from tametail import Bounded, Moment, theory
from tametail.errors import ParameterError
from tametail.inequalities.truncation import bias_constant
from tametail.tail import parse_tail, parse_within, tail_from_dict


@pytest.mark.parametrize("tail", [None, Moment(2, 5), Moment(1.5, 1e-9), Bounded(-3, 8)])
def test_round_trip(tail):
    assert tail_from_dict(None if tail is None else tail.to_dict()) == tail
    assert parse_tail(tail) is tail


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Moment(1, 5), "k=1 is too small. Use k > 1"),
        (lambda: Moment(0.5, 5), "k=0.5 is too small"),
        (lambda: Moment(math.nan, 5), "Invalid k=nan"),
        (lambda: Moment(math.inf, 5), "Invalid k=inf"),
        (lambda: Moment(101, 5), "k=101 is above 100. Use a smaller k, or Bounded"),
        (lambda: Moment("2", 5), "Invalid k='2'"),
        (lambda: Moment(2, 0), "Invalid scale=0"),
        (lambda: Moment(2, -1), "Invalid scale=-1"),
        (lambda: Moment(2, True), "Invalid scale=True"),
        (lambda: Moment(2, 1e200), "scale=1e.200 is outside .* Convert the data to other units"),
        (lambda: Moment(2, 1e-200), "scale=1e-200 is outside"),
        (lambda: Bounded(2, 1), r"low=2 is not below high=1. Use Bounded\(low, high\)"),
        (lambda: Bounded(1, 1), "low=1 is not below high=1"),
        (lambda: Bounded(-math.inf, 1), "Invalid low=-inf"),
        (lambda: Bounded(0, math.nan), "Invalid high=nan"),
        (lambda: Bounded(0, 1e200), "is larger than .*other units"),
        (lambda: Bounded(0, 5e-324), "differ by less than 1e-300. .*other units"),
        (lambda: parse_tail(2), "Invalid tail=2. Use tail=Moment"),
        (lambda: parse_tail((0, 1)), "Invalid tail=tuple"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ParameterError, match=f"^{message}|{message}"):
        make()


@pytest.mark.parametrize(
    ("within", "expected"),
    [
        (None, (-math.inf, math.inf)),
        (5, (-5.0, 5.0)),
        (math.inf, (-math.inf, math.inf)),
        ((0, math.inf), (0.0, math.inf)),
        ([-1, 2], (-1.0, 2.0)),
    ],
)
def test_within(within, expected):
    assert parse_within(within) == expected


@pytest.mark.parametrize(
    ("within", "message"),
    [
        (0, "Invalid within=0. Use within=R"),
        (-5, "Invalid within=-5"),
        (math.nan, "Invalid within=nan"),
        ("5", "Invalid within='5'"),
        ((5, 1), "is empty. Use within="),
        ((1, 1), "is empty"),
        ((math.inf, math.inf), "is empty"),
        ((0, math.nan), "Invalid high=nan"),
        ((1, 2, 3), "Use within=R or"),
    ],
)
def test_within_mistakes(within, message):
    with pytest.raises(ParameterError, match=message):
        parse_within(within)


@pytest.mark.parametrize("k", [1.01, 2, 3.5, 100])
def test_the_constant_of_the_bias_is_that_of_the_theory(k):
    assert bias_constant(k) == theory.bias_constant(k)
