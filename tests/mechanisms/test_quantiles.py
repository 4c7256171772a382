"""Private quantiles of several levels: masses, law, sensitivity of scores, disjoint parts."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.doubles import from_key, to_key
from tametail.errors import InternalError
from tametail.mechanisms import quantiles as module
from tametail.mechanisms.candidates import _base_cumulative
from tametail.mechanisms.dispatch import mechanism_for
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.privacy.budget import pure, zcdp
from tametail.queries.column import Quantiles

FALSE_ALARM = 1e-7
ONE = 1 << 32


def part_of(records, first, last):
    keys, coins = (np.array(each, dtype=np.int64) for each in zip(*sorted(records), strict=True))
    return module._Part(keys, coins, first, last, (0, 1), (0, 1_000_000))


RECORDS = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, ONE - 1)), min_size=1, max_size=8)


def test_a_draw_beyond_all_masses_is_refused(monkeypatch):
    monkeypatch.setattr(module, "uniform_integer", lambda low, high: high + 1)
    with pytest.raises(InternalError, match="do not add up"):
        module._Runs.of(part_of([(1, 2)], -4, 4)).draw([0, 1])


@given(records=RECORDS, ends=st.tuples(st.integers(-5, 5), st.integers(-5, 5)))
def test_runs_have_all_mass_and_the_same_in_floats_as_in_integers(records, ends):
    first, last = min(ends), max(ends)
    runs = module._Runs.of(part_of(records, first, last))
    exact = [runs.mass(run) for run in range(len(runs.keys) + 1)]
    before, end = _base_cumulative(np.array([first - 1, last]))
    assert sum(exact) == int(end - before) * ONE
    assert np.allclose(runs.masses(), [mass / ONE for mass in exact], rtol=1e-12, atol=0)


def law_of(part, target, whole, rate):
    """Return the chance of every rank and key, from the definition."""
    weights = {}
    for key in range(part.first, part.last + 1):
        before, end = _base_cumulative(np.array([key - 1, key]))
        records = list(zip(part.keys.tolist(), part.coins.tolist(), strict=True))
        coins = sorted(coin for at, coin in records if at == key)
        below = sum(at < key for at, _ in records)
        edges = [-1, *coins, ONE - 1]
        for place, (low, high) in enumerate(pairwise(edges)):
            rank = below + place
            score = -abs(whole * rank - target * len(records))
            weights[rank, key] = int(end - before) * (high - low) * math.exp(float(rate) * score)
    total = sum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items() if weight}


@pytest.mark.parametrize("decided", ["by floats", "by integers"])
def test_choices_have_the_law_of_the_exponential_mechanism(decided, monkeypatch):
    if decided == "by integers":
        clear = module.clear_choices
        unsure = lambda *some: [(None, draw) for _, draw in clear(*some)]  # noqa: E731
        monkeypatch.setattr(module, "clear_choices", unsure)
    records = [(-1, ONE // 3), (0, 5), (0, ONE // 2), (0, ONE - 9), (2, ONE // 7), (9, 1)]
    part, rate = part_of(records, -2, 3), Fraction(1, 7)
    expected = law_of(part, 3, 10, rate)
    draws = 10_000 if decided == "by floats" else 4_000
    found = Counter(module._choose(part, 3, 10, rate) for _ in range(draws))
    assert set(found) <= set(expected)
    likely = [outcome for outcome, chance in expected.items() if chance * draws > 8]
    rest = 1 - sum(expected[outcome] for outcome in likely)
    counts = [found[outcome] for outcome in likely]
    chances = [expected[outcome] for outcome in likely]
    if rest > 1e-12:
        counts, chances = [*counts, draws - sum(counts)], [*chances, rest]
    assert stats.chisquare(counts, np.array(chances) * draws).pvalue > FALSE_ALARM


def scores(records, candidates, target, whole):
    return [
        -abs(whole * sum(record < each for record in records) - target * len(records))
        for each in candidates
    ]


PAIRS = st.tuples(st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=300, deadline=None)
@given(
    others=st.lists(PAIRS, max_size=6), one=PAIRS, two=PAIRS, split=PAIRS,
    target=st.integers(1, 9), adjacency=st.sampled_from(RECORD_ADJACENCIES),
)  # fmt: skip
def test_no_neighbor_moves_the_scores_of_a_depth_further(
    others, one, two, split, target, adjacency
):
    """Over all parts of a depth together, as the losses of parts add up."""
    query, whole = Quantiles(0, -1.0, 1.0, (500_000,)), 10
    candidates = [(key, coin) for key in range(5) for coin in range(5)]
    first, second = [*others, one], [*others, two] if adjacency.size_is_public else others

    def moved(a, b):
        pairs = zip(scores(a, candidates, target, whole), scores(b, candidates, target, whole),
                    strict=True)  # fmt: skip
        return max(abs(x - y) for x, y in pairs)

    assert moved(first, second) <= query.score_sensitivity(adjacency, target, whole, 0)
    sides = [[[r for r in records if (r < split) is below] for records in (first, second)]
             for below in (True, False)]  # fmt: skip
    assert sum(moved(*side) for side in sides) <= query.score_sensitivity(
        adjacency, target, whole, 1
    )


def test_the_sensitivities_of_scores_are_attained():
    query = Quantiles(0, -1.0, 1.0, (500_000,))
    at = [(1, 0)]
    for target in (2, 8):
        move = abs(
            scores([(0, 0)] * 5, at, target, 10)[0] - scores([(0, 0)] * 4, at, target, 10)[0]
        )
        other = abs(
            scores([(2, 0)] * 5, at, target, 10)[0] - scores([(2, 0)] * 4, at, target, 10)[0]
        )
        assert max(move, other) == query.score_sensitivity(Adjacency.ADD_REMOVE, target, 10, 0) == 8
        both = query.score_sensitivity(Adjacency.REPLACE_ONE, target, 10, 1)
        assert both == 16  # from a part that loses a record to one that gains it
    low, high = [(0, 0)] * 5, [(0, 0)] * 4 + [(2, 0)]
    moved = abs(scores(low, at, 1, 10)[0] - scores(high, at, 1, 10)[0])
    assert moved == query.score_sensitivity(Adjacency.REPLACE_ONE, 1, 10, 0) == 10


def test_a_record_is_in_one_part_of_every_depth(monkeypatch):
    seen, choose = [], module._choose

    def watched(part, *public):
        seen.append(part)
        return choose(part, *public)

    monkeypatch.setattr(module, "_choose", watched)
    keys, counts = to_key([1.0, 2.0, 3.0]), np.array([40, 100, 20])
    levels = tuple(range(100_000, 1_000_000, 100_000))
    query = Quantiles(0, -math.inf, math.inf, levels)
    for adjacency in RECORD_ADJACENCIES:
        seen.clear()
        found = mechanism_for(query, pure(2.0), adjacency)((keys, counts))
        assert list(found) == sorted(found)
        assert len(seen) == 9
        halves = seen[1], seen[5]  # the left one is gone through first
        assert [len(part.keys) for part in seen[:1]] == [160]
        assert sum(len(part.keys) for part in halves) == 160


def test_rates_share_the_cost_over_the_depths(monkeypatch):
    rates = []

    def watched(part, target, whole, rate):
        rates.append((rate, max(target, whole - target)))
        return len(part.keys) // 2, 0

    monkeypatch.setattr(module, "_choose", watched)
    query = Quantiles(0, -1.0, 1.0, tuple(range(1_000, 8_000, 1_000)))
    mechanism_for(query, pure(3.0), Adjacency.ADD_REMOVE)((to_key([0.0]), np.array([4])))
    assert query.depth == 3
    assert {rate * most for rate, most in rates} == {Fraction(1, 2)}  # of epsilon = 1 for each
    rates.clear()
    mechanism_for(query, zcdp(1.5), Adjacency.ADD_REMOVE)((to_key([0.0]), np.array([4])))
    assert {float(rate * most) for rate, most in rates} == {1.0}  # sqrt(2 rho / 3)


@pytest.mark.parametrize("adjacency", list(RECORD_ADJACENCIES))
def test_ties_are_divided_between_levels(adjacency):
    keys, counts = to_key([0.0, 5.0]), np.array([6_000, 4_000])
    query = Quantiles(0, -math.inf, math.inf, (100_000, 300_000, 500_000, 700_000, 900_000))
    found = mechanism_for(query, pure(2.0), adjacency)((keys, counts))
    assert found == (0.0, 0.0, 0.0, 5.0, 5.0)


def test_without_records_and_within_bounds():
    query = Quantiles(0, 1.0, 2.0, (100_000, 500_000))
    nothing = np.array([], dtype=np.int64)
    low, high = mechanism_for(query, pure(1.0), Adjacency.ADD_REMOVE)((nothing, nothing))
    assert 1.0 <= low <= high <= 2.0
    far = mechanism_for(query, pure(1.0), Adjacency.ADD_REMOVE)(
        (to_key([-9.0, 9.0]), np.array([5, 5]))
    )
    assert 1.0 <= far[0] <= far[1] <= 2.0
    assert from_key(int(to_key(far[0]))) == far[0]


def test_levels_ascend():
    for levels in ((), (0,), (5, 5), (7, 3), (1_000_000,)):
        with pytest.raises(AssertionError):
            Quantiles(0, -1.0, 1.0, levels)
