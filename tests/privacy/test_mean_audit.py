"""No audit finds more than a release states, and an overspending estimator is found out.

Short runs of some cases; ``make audit`` runs all of them for long.
"""

import pytest

from tametail.ask import Ask
from tametail.mechanisms.dispatch import MECHANISMS
from tametail.privacy.budget import Pure
from tametail.queries.column import DistanceSum, LogHistogram, Median
from tametail.queries.groups import Keyed, ScaledSums
from tametail.queries.query import SumQuery
from tametail.queries.rows import BallSum

from .auditor import audit_at
from .bulk import in_bulk
from .estimator_cases import loose_case, pooled_cases, release_cases, vector_cases
from .people_cases import people_cases

RUNS = 400  # enough to prove an epsilon of 3 where the outputs do not overlap
CERTAIN = 1 - 1e-4  # with the seeds of these tests there is no false alarm; with fresh ones, rarely

RELEASES, PEOPLE = [*release_cases()], [*people_cases()]
VECTORS, POOLED = [*vector_cases()], [*pooled_cases()]
SHORT = [*(RELEASES[place] for place in (7, 12, 17)), VECTORS[6], PEOPLE[6]]


def found(case, runs=RUNS):
    with in_bulk():
        deltas = [delta for _, delta in case.claims]
        return audit_at(deltas, case.first, case.second, runs, confidence=CERTAIN)


@pytest.mark.parametrize("case", SHORT, ids=str)
def test_no_more_is_found_than_is_stated(case):
    for bound, (claimed, _) in zip(found(case), case.claims, strict=True):
        assert bound <= claimed


def test_sums_with_a_twentieth_of_their_noise_are_found(monkeypatch):
    """The same audit has teeth: the evidence of all answers shows it."""
    case, honest = RELEASES[5], MECHANISMS[SumQuery]

    def too_quiet(query, cost, adjacency):
        return honest(query, Pure(20 * cost.strength), adjacency)

    monkeypatch.setitem(MECHANISMS, SumQuery, too_quiet)
    assert found(case)[0] > case.claims[0][0]


def test_pooled_sums_with_next_to_no_noise_are_found(monkeypatch):
    """Of columns that are summed together: a far row is an eighth of a radius in each of them."""
    case, honest = POOLED[0], MECHANISMS[SumQuery]

    def too_quiet(query, cost, adjacency):
        quiet = isinstance(query, BallSum)
        return honest(query, Pure(200 * cost.strength) if quiet else cost, adjacency)

    monkeypatch.setitem(MECHANISMS, SumQuery, too_quiet)
    assert found(case, 120)[0] > case.claims[0][0]


def test_scaled_sums_with_a_twentieth_of_their_noise_are_found(monkeypatch):
    """Of persons by group, of whom all else is asked as it should be."""
    case, honest = PEOPLE[5], MECHANISMS[SumQuery]
    assert case.name.startswith("persons by group")

    def too_quiet(query, cost, adjacency):
        quiet = isinstance(query, ScaledSums)
        return honest(query, Pure(20 * cost.strength) if quiet else cost, adjacency)

    monkeypatch.setitem(MECHANISMS, SumQuery, too_quiet)
    assert found(case, 320)[0] > case.claims[0][0]


def test_between_loose_bounds_all_looks_are_audited(monkeypatch):
    asked, ask, case = [], Ask.__call__, loose_case()

    def noted(self, query, cost):
        asked.append(type(query))
        return ask(self, query, cost)

    monkeypatch.setattr(Ask, "__call__", noted)
    with in_bulk():
        case.first(1)
    assert asked == [Median, LogHistogram, LogHistogram, DistanceSum] * (len(asked) // 4)
    assert asked


@pytest.mark.parametrize("case", [*VECTORS, *POOLED, *PEOPLE], ids=str)
def test_every_case_of_the_long_audit_runs(case, monkeypatch):
    """A case that raises would be noticed after an hour only, one without its sums never."""
    asked, ask = set(), Ask.__call__

    def noted(self, query, cost):
        asked.add(type(query))
        return ask(self, query, cost)

    monkeypatch.setattr(Ask, "__call__", noted)
    with in_bulk():
        assert len(case.first(2)) == len(case.second(2)) == 2
    if case in POOLED:
        assert BallSum in asked
    if case in PEOPLE:
        by_group = ScaledSums if case.adjacency.person is not None else Keyed
        alone = "group" not in case.name or "alone" in case.name
        one = BallSum if case.name.startswith("regression") else DistanceSum
        assert (one if alone else by_group) in asked
