"""Faults while data are read, briefly; ``make faults`` tries longer."""

import pytest

from .cases import CASES


@pytest.mark.parametrize("fault", CASES, ids=lambda fault: fault.__name__)
def test_fault(fault, tmp_path):
    assert fault(tmp_path, CASES[fault][0])
