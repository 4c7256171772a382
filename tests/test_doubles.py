"""Keys are in the order of the doubles, one for each."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tametail.doubles import LARGEST, from_key, to_key

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(first=FINITE, second=FINITE)
def test_keys_keep_the_order(first, second):
    a, b = to_key(np.array([first, second])).tolist()
    assert (a < b) == (first < second)
    assert (a == b) == (first == second)


@given(value=FINITE)
def test_there_and_back(value):
    (key,) = to_key(np.array([value])).tolist()
    assert from_key(key) == value
    assert math.copysign(1.0, from_key(0)) == 1.0


@given(value=st.floats(max_value=math.nextafter(LARGEST, 0), allow_nan=False, allow_infinity=False))
def test_neighboring_doubles_have_neighboring_keys(value):
    (key,) = to_key(np.array([value])).tolist()
    assert from_key(key + 1) == math.nextafter(value, math.inf)


def test_the_ends():
    low, negative, zero, high = to_key(np.array([-math.inf, -0.0, 0.0, math.inf])).tolist()
    assert (from_key(low), negative, zero, from_key(high)) == (-LARGEST, 0, 0, LARGEST)
    assert to_key(np.array([])).size == 0
