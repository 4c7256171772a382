"""Faults while data are read, briefly; ``make faults`` tries longer."""

import math

import pytest

from .cases import CASES, eight_threads, forked

#: The answers of a release hold more than 60 bits: they are noisy counts in some hundred places,
#: none of which has a probability above a half. Two of 40 releases agree at most so often.
ALIKE = math.comb(40, 2) * 2.0**-60

REAL = {eight_threads, forked}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.real_noise(fails=ALIKE) if fault in REAL else ())
        for fault in CASES
    ],
    ids=lambda fault: fault.__name__,
)
def test_fault(fault, tmp_path):
    assert fault(tmp_path, CASES[fault][0])
