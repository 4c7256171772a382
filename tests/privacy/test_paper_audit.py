"""No audit finds more than what mechanisms, queries and the paper's estimators claim.

A selection of the cases, in short runs; ``make audit`` runs all of them for long.
"""

import pytest

from tametail.privacy.budget import Pure
from tametail.queries import column as queries

from .auditor import audit_at
from .bulk import in_bulk
from .cases import Case
from .mechanism_cases import mechanism_cases, query_cases
from .paper_cases import NEAR, ball_cases, mean_cases, range_case, range_cases, tournament_cases

RUNS = 400  # enough to prove an epsilon of 3 where the outputs do not overlap
CERTAIN = 1 - 1e-4  # with the seeds of these tests there is no false alarm; with fresh ones, rarely

# Notions and units alternate in the lists, so this takes each under one or two of them.
SHORT = [
    *[*mechanism_cases()][::3],
    *[case for case in query_cases() if "Column" not in case.name][::6],
    *[*range_cases()][::4],
    *[*mean_cases()][::2],
    *[*ball_cases()][1::8],
    *[*tournament_cases()][:2],
]


def found(case: Case, runs: int = RUNS) -> list[float]:
    with in_bulk():
        deltas = [delta for _, delta in case.claims]
        return audit_at(deltas, case.first, case.second, runs, confidence=CERTAIN)


@pytest.mark.parametrize("case", SHORT, ids=str)
def test_no_more_is_found_than_is_claimed(case):
    for bound, (claimed, _) in zip(found(case), case.claims, strict=True):
        assert bound <= claimed


def test_a_third_of_the_noise_on_the_mean_is_found(monkeypatch):
    """The same audit has teeth: a sensitivity of 2r instead of 6r does not pass."""
    honest = queries.ClippedSum.sensitivity

    def too_small(query, adjacency):
        sensitivity = honest(query, adjacency)
        return queries.Sensitivity(sensitivity.l1 // 3, sensitivity.l2_squared // 9)

    monkeypatch.setattr(queries.ClippedSum, "sensitivity", too_small)
    case = next(mean_cases())
    assert found(case, 3 * RUNS)[0] > case.claims[0][0]


def test_a_range_that_costs_four_times_its_claim_is_found():
    """A range step at epsilon = 4 does not pass for one at epsilon = 1."""
    case = range_case("a record moves", [1.0], -1.0, 1.0, Pure(4.0), NEAR)
    assert found(case, 3 * RUNS)[0] > 1.0
