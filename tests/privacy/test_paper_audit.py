"""No audit finds more than what range_estimate, mean_1d and the verbs of Ask claim.

A selection of the cases, in short runs; ``make audit`` runs all of them for long, and those of the
mechanisms.
"""

import pytest

from tametail import queries
from tametail.budget import Pure

from .auditor import audit
from .cases import NEAR, Case, ask_cases, mean_cases, range_case, range_cases

RUNS = 800
CERTAIN = 1 - 1e-8  # some forty audits: a false alarm in fewer than one of a million runs of tests

# The notions of privacy alternate in the list, so this takes each neighbour under one or two.
SHORT = [*[*range_cases()][::2], *mean_cases(), *[*ask_cases()][::3]]


def found(case: Case, runs: int = RUNS) -> float:
    return audit(case.first, case.second, runs, delta=case.delta, confidence=CERTAIN)


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
def test_no_more_is_found_than_is_claimed(case):
    assert found(case) <= case.claimed


def test_a_third_of_the_noise_on_the_mean_is_found(monkeypatch):
    """The same audit has teeth: a sensitivity of 2r instead of 6r does not pass."""
    honest = queries.ClippedSum.sensitivity

    def too_small(query, unit):
        sensitivity = honest(query, unit)
        return queries.Sensitivity(sensitivity.l1 // 3, sensitivity.l2_squared // 9)

    monkeypatch.setattr(queries.ClippedSum, "sensitivity", too_small)
    case = next(mean_cases())
    assert found(case, 3 * RUNS) > case.claimed


def test_a_range_that_costs_four_times_its_claim_is_found():
    """A range step at epsilon = 4 does not pass for one at epsilon = 1."""
    case = range_case("a record moves", [1.0], -1.0, 1.0, Pure(4.0), NEAR)
    assert found(case, 3 * RUNS) > 1.0
