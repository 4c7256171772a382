"""No audit finds more than what range_estimate, mean_1d and the verbs of Ask claim.

Short versions; ``make audit`` runs the same cases for long, and the mechanisms as well.
"""

import pytest

from tametail.budget import Pure
from tametail.queries import Buckets, ClippedSum, Sensitivity

from .auditor import audit
from .cases import Case, ask_cases, mean_cases, range_cases

RUNS = 1500
CERTAIN = 1 - 1e-8  # about fifty audits: a false alarm in fewer than one of a million test runs


def found(case: Case) -> float:
    return audit(case.first, case.second, RUNS, delta=case.delta, confidence=CERTAIN)


@pytest.mark.parametrize(
    "case", [*range_cases(), *mean_cases(), *ask_cases()], ids=lambda case: case.name
)
def test_no_more_is_found_than_is_claimed(case):
    assert found(case) <= case.claimed
