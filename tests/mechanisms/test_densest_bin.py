"""The bucket that most records are near: candidates, scores, sensitivity, law, exactness."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.errors import InternalError
from tametail.mechanisms import densest_bin, medians
from tametail.mechanisms.densest_bin import Level, _Near, select_densest_bin
from tametail.mechanisms.dispatch import mechanism_for
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.privacy.budget import pure, zcdp
from tametail.queries.densest_bin import LARGEST_KEY, DensestBin, mass_of, octave_spans, weight_of

FALSE_ALARM = 1e-7


@st.composite
def queries(draw):
    low = draw(st.integers(-70, 60))
    high = draw(st.integers(low, 75))
    return DensestBin(1.0, low, high, draw(st.integers(1, 9)), draw(st.booleans()))


COUNTS = st.dictionaries(st.integers(-80, 80), st.integers(1, 4), max_size=12)


def scores(query: DensestBin, counts: dict[int, int]) -> dict[int, int]:
    """The score of every candidate, written from the definition."""
    inside = {key: count for key, count in counts.items() if query.low <= key <= query.high}
    return {
        candidate: sum(
            count * query.weights[abs(key - candidate)]
            for key, count in inside.items()
            if abs(key - candidate) < query.reach
        )
        for candidate in range(query.low, query.high + 1)
    }


@settings(max_examples=150, deadline=None)
@given(query=queries(), counts=COUNTS)
def test_every_candidate_is_counted_once_and_found_at_its_place(query, counts):
    expected: dict[Level, list[int]] = {}
    for candidate, score in scores(query, counts).items():
        octave = abs(candidate).bit_length() if query.falling else -1
        expected.setdefault(Level(score, octave), []).append(candidate)
    near = _Near(counts, query)
    assert near.sizes() == Counter({level: len(found) for level, found in expected.items()})
    for level, candidates in expected.items():
        assert [near.find(level, place) for place in range(len(candidates))] == candidates


def test_candidates_in_blocks_are_the_same(monkeypatch):
    query = DensestBin(1.0, -500, 500, 7, falling=True)
    counts = {key: abs(key) % 3 + 1 for key in range(-450, 450, 11)}
    whole = _Near(counts, query)
    sizes = whole.sizes()
    found = [whole.find(level, size - 1) for level, size in sizes.items()]
    monkeypatch.setattr(densest_bin, "_BLOCK", 20)
    near = _Near(counts, query)
    assert near.sizes() == sizes
    assert [near.find(level, size - 1) for level, size in sizes.items()] == found


def test_what_was_not_counted_is_not_found():
    near = _Near({3: 1, 70: 2}, DensestBin(1.0, -90, 90, 3, falling=True))
    for level, size in near.sizes().items():
        with pytest.raises(InternalError, match="fewer candidates"):
            near.find(level, size)


def test_a_draw_beyond_all_masses_is_refused(monkeypatch):
    monkeypatch.setattr(densest_bin, "uniform_integer", lambda low, high: high + 1)
    with pytest.raises(InternalError, match="do not add up"):
        select_densest_bin({3: 1}, query=DensestBin(1.0, -9, 9, 3, falling=False), rate=Fraction(1))


@settings(max_examples=200, deadline=None)
@given(query=queries(), others=COUNTS, first=st.integers(-80, 80), second=st.integers(-80, 80))
def test_no_record_moves_a_score_by_more_than_the_peak(query, others, first, second):
    bound = query.score_sensitivity(Adjacency.REPLACE_ONE)
    base, one, two = (
        scores(query, Counter(others) + Counter(extra)) for extra in ([], [first], [second])
    )
    assert all(0 <= one[key] - base[key] <= bound for key in base)  # and all the same way
    assert all(abs(one[key] - two[key]) <= bound for key in base)


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES)
def test_a_record_at_a_candidate_moves_its_score_by_the_peak(adjacency):
    query = DensestBin(1.0, -9, 9, 6, falling=False)
    assert scores(query, {3: 1})[3] - scores(query, {})[3] == query.score_sensitivity(adjacency)


@pytest.mark.parametrize("falling", [False, True])
def test_choices_follow_their_law(falling):
    query, counts = DensestBin(1.0, -20, 12, 4, falling), {-19: 3, 2: 2, 3: 1, 11: 1, 30: 9}
    rate = Fraction(1, 12)
    found = scores(query, counts)
    weights = np.array(
        [
            weight_of(abs(key).bit_length() if falling else -1) * math.exp(float(rate) * score)
            for key, score in found.items()
        ],
        dtype=np.float64,
    )
    draws = Counter(select_densest_bin(counts, query=query, rate=rate) for _ in range(4000))
    observed = np.array([draws[key] for key in found])
    assert sum(observed) == 4000
    assert stats.chisquare(observed, weights / weights.sum() * 4000).pvalue > FALSE_ALARM


def test_a_draw_in_doubt_is_decided_in_integers(monkeypatch):
    """If floating point is never trusted, the law is still the same."""
    monkeypatch.setattr(medians, "DOUBT", 2.0)
    query, rate = DensestBin(1.0, 0, 40, 3, falling=False), Fraction(1, 3)
    draws = Counter(select_densest_bin({5: 2}, query=query, rate=rate) for _ in range(400))
    found = scores(query, {5: 2})
    weights = np.array([math.exp(float(rate) * score) for score in found.values()])
    expected = 400 * weights[4:7].sum() / weights.sum()
    assert abs(draws[4] + draws[5] + draws[6] - expected) < 6 * math.sqrt(400 / 4)


def test_masses_of_all_candidates():
    even = DensestBin(1.0, -1000, 3000, 5, falling=False)
    assert mass_of(even) == 4001
    falling = DensestBin(1.0, -LARGEST_KEY, LARGEST_KEY, 5, falling=True)
    spans = octave_spans(falling)
    sizes = {octave: sum(b - a + 1 for a, b in ends) for octave, ends in spans.items()}
    assert sum(sizes.values()) == 2 * LARGEST_KEY + 1
    assert mass_of(falling) == sum(size * weight_of(octave) for octave, size in sizes.items())
    # Octaves of usual sizes have about the same mass; those beyond have ever less.
    assert [sizes[o] * weight_of(o) == sizes[8] * weight_of(8) for o in (9, 12, 16, 17)] == [
        True, True, True, False,
    ]  # fmt: skip
    with pytest.raises(InternalError):
        select_densest_bin({}, query=DensestBin(1.0, 0, LARGEST_KEY + 1, 5, True), rate=Fraction(1))


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES)
def test_the_rate_is_that_of_the_cost_over_the_peak(adjacency):
    """Under add-remove all scores move the same way, which is twice as cheap."""
    query = DensestBin(1.0, -9, 9, 6, falling=False)
    way = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    for cost, rate in ((pure(1.0), Fraction(1, way)), (zcdp(0.5), Fraction(2, way))):
        assert mechanism_for(query, cost, adjacency).keywords["rate"] == rate / query.peak


def test_many_records_are_found_among_very_many_candidates():
    query = DensestBin(1.0, -LARGEST_KEY, LARGEST_KEY, 30, falling=True)
    counts = {10**9 + step: 40 for step in range(-5, 6)}
    for _ in range(20):
        assert (
            abs(select_densest_bin(counts, query=query, rate=Fraction(1, query.peak)) - 10**9) < 30
        )
