"""Private choices for many columns."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from tametail.doubles import from_key, to_key
from tametail.mechanisms import medians as medians_module
from tametail.mechanisms.candidates import MAX_KEY, _base_cumulative, _median_runs
from tametail.mechanisms.medians import choose_many_medians
from tametail.mechanisms.ranks import _scores, choose_ranks
from tametail.mechanisms.select import select
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.privacy.budget import Pure, Zcdp, compose, fits, pure, zcdp
from tametail.privacy.choices import choice_rate, one_of_many
from tametail.queries.rows import Ball, BallLevels, ColumnMedians, Distances

from ..opened import open_table  # noqa: TID252


@pytest.mark.parametrize("cost", [pure(0.1), pure(1 / 3), zcdp(0.7), zcdp(1e-5)])
@pytest.mark.parametrize("choices", [1, 3, 7, 50, 768])
def test_many_choices_cost_no_more_than_all(cost, choices):
    each = one_of_many(cost, choices)
    assert fits(compose([each] * choices, type(cost)), cost)


@pytest.mark.parametrize("kind", [Pure, Zcdp])
def test_a_sample_allows_a_larger_rate_and_no_more_than_its_size(kind):
    rates = [choice_rate(kind(0.01), 50, halvings) for halvings in (1, 2, 4, 8)]
    assert rates == sorted(rates)
    assert all(b <= 16 * a for a, b in pairwise(rates))


def query(target, candidates, **more):
    return Distances((0.0,), ((1.0,),), target, (1,) * candidates, **more)


def test_scores_say_where_the_count_passes_the_target():
    counts = np.array([90, 60, 20, 0])
    assert _scores(counts[None], query(30, 5))[0].tolist() == [-60, -30, 0, -10, -30]
    # With a window a candidate needs records of its own.
    counts = np.array([31, 31, 31, 31, 0])
    windowed = _scores(counts[None], query(30, 6, window=2, least=20))
    assert windowed[0].tolist() == [-1, -20, -20, -1, 0, -30]
    # With a lead a candidate is the better the clearer it passes the target.
    counts = np.array([90, 60, 20, 0])
    led = _scores(counts[None], query(30, 5, lead=15))
    assert led[0].tolist() == [-60, -30, 10, -10, -30]
    # With a body it may not lie beyond all records.
    counts = np.array([90, 60, 40, 0, 0, 0, 0])
    bodily = _scores(counts[None], query(30, 8, window=2, least=20, lead=15, body=60))
    assert bodily[0].tolist() == [-60, -30, -10, 10, -30, -30, -45, -45]


def test_scores_move_by_at_most_one():
    rng = np.random.default_rng(5)
    for _ in range(200):
        values = rng.integers(0, 8, size=12)
        steps = np.arange(1, 7)
        lead, body = rng.integers(0, 4), rng.integers(0, 12)
        more = {"window": int(rng.integers(1, 4)), "lead": int(lead), "body": int(body)}
        asked = query(4, 7, least=3, **more)

        def scores(cells, steps=steps, asked=asked):
            return _scores((cells[:, None] >= steps).sum(axis=0)[None], asked)

        here = scores(values)
        changed = np.append(values[:-1], rng.integers(0, 8))
        bound = asked.score_sensitivity(Adjacency.REPLACE_ONE)
        assert np.abs(here - scores(changed)).max() <= bound
        assert np.abs(here - scores(values[:-1])).max() <= bound


@pytest.mark.parametrize("doubt", [medians_module.DOUBT, 1.0])
def test_choices_have_the_law_of_the_exponential_mechanism(doubt, monkeypatch):
    # With doubt 1 every draw is decided in integers.
    monkeypatch.setattr(medians_module, "DOUBT", doubt)
    counts = np.array([5, 3, 3, 1])
    asked = Distances((0.0,) * 3000, ((1.0,),) * 3000, 3, (4, 1, 2, 3, 0), 0)
    cost = pure(3000 * 0.8)
    chosen = choose_ranks([counts] * 3000, asked, cost, Adjacency.REPLACE_ONE)
    weights = np.array([4, 1, 2, 3, 0]) * np.exp(0.4 * _scores(counts[None], asked)[0])
    seen = np.bincount(chosen, minlength=5)
    assert seen[4] == 0
    expected = 3000 * weights / weights.sum()
    assert stats.chisquare(seen[:4], expected[:4]).pvalue > 1e-7
    assert math.isclose(float(choice_rate(cost, 3000)), 0.4)


DATA = np.array([-3.0, -3.0, 0.0, 0.01, 0.5, 1.0, 1.0, 2.0, 19.99, 1e6])


def medians(draws, adjacency):
    keys, counts = np.unique(to_key(DATA), return_counts=True)
    column = keys, counts.astype(np.int64)
    rate = Fraction(2)
    many = list(choose_many_medians([column] * draws, [(-10, 1e9)] * draws, rate, adjacency))
    edges, scores = _median_runs(*column, adjacency, *to_key([-10.0, 1e9]).tolist())
    masses = np.diff(_base_cumulative(edges))
    runs = [select(scores, masses, rate) for _ in range(draws)]
    keys = medians_module._draw_keys([(edges[[run]], edges[[run + 1]]) for run in runs])
    return np.array(many), np.array(list(map(from_key, keys)))


@pytest.mark.parametrize("adjacency", list(RECORD_ADJACENCIES))
@pytest.mark.parametrize("doubt", [medians_module.DOUBT, 1.0])
def test_medians_have_the_law_of_the_exact_choice(adjacency, doubt, monkeypatch):
    # With doubt 1 every draw is decided in integers.
    monkeypatch.setattr(medians_module, "DOUBT", doubt)
    cells = np.unique(DATA)
    tables = []
    for values in medians(1_500, adjacency):
        at = np.searchsorted(cells, values)
        hit = cells[np.minimum(at, len(cells) - 1)] == values
        tables.append(np.bincount(2 * at + hit, minlength=2 * len(cells) + 2))
    seen = np.array(tables)
    assert stats.chi2_contingency(seen[:, seen.sum(axis=0) > 0]).pvalue > 1e-7


def test_masses_in_floating_point_are_close():
    rng = np.random.default_rng(8)
    values = np.concatenate([rng.normal(size=300) * 10.0 ** rng.integers(-9, 9, 300), [0, 1, 2.5]])
    edges = np.unique(np.concatenate([to_key(values), to_key(values) - 1]))
    exact = np.diff(_base_cumulative(edges)).astype(float)
    assert np.allclose(medians_module._approximate_masses(edges), exact, rtol=1e-13, atol=0)


def test_a_draw_is_clear_only_away_from_the_ends():
    weights, starts = np.array([1.0, 2.0, 1.0, 5.0, 0.0, 5.0]), np.array([0, 3])
    for first, second, places in (
        (0, 0, [0, 3]),
        (2**62, 2**63, [None, None]),  # a quarter and a half: ends
        (2**62 - 2**40, 2**63 - 2**40, [None, None]),  # just below
        (2**62 + 2**40, 2**63 + 2**40, [None, None]),  # just above
        (2**63, 2**62, [1, 3]),
        (2**64 - 1, 2**64 - 1, [2, 5]),
    ):
        draws = np.array([first, second], dtype=np.uint64)
        assert medians_module.clear_places(weights, starts, draws) == places


def hard_columns(adjacency):
    """Runs and scores of columns at the ends of the doubles, with ties and neighbors."""
    rng = np.random.default_rng(31)
    for values in (
        [], [0.0], [1e300] * 40, [5e-324] * 9 + [-1e308], [1.0, np.nextafter(1.0, 2.0)] * 20,
        rng.normal(size=200), np.exp(40 * rng.normal(size=200)), rng.integers(0, 9, 300) / 100,
    ):  # fmt: skip
        keys, counts = np.unique(to_key(np.array(values, dtype=float)), return_counts=True)
        yield medians_module._Column(*_median_runs(keys, counts, adjacency, -MAX_KEY, MAX_KEY))


def draws_near_borders(column, rate):
    """Draws of 64 bits on both sides of where one level ends and the next begins."""
    masses = medians_module._approximate_masses(column.edges)
    weights = masses * np.exp(float(rate) * (column.scores - column.scores.max()))
    best_first = weights[np.argsort(-column.scores, kind="stable")]
    borders = np.unique(np.cumsum(best_first) / best_first.sum())
    for border in borders[:: len(borders) // 8 + 1]:
        for away in (2**40, 2**43, 2**45, 2**50):  # in doubt up to 2**44
            for draw in (int(border * 2.0**64) - away, int(border * 2.0**64) + away):
                yield min(max(draw, 0), 2**64 - 1)


@pytest.mark.parametrize("adjacency", list(RECORD_ADJACENCIES))
@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 10**9), Fraction(1, 50), Fraction(3, 2)])
def test_quick_and_exact_choices_agree_for_the_same_bits(adjacency, rate, monkeypatch):
    exact, in_doubt, clear = medians_module._exact_score, [], 0

    def counted(*given):
        in_doubt.append(given)
        return exact(*given)

    monkeypatch.setattr(medians_module, "_exact_score", counted)
    for column in hard_columns(adjacency):
        for draw in draws_near_borders(column, rate):
            bits, before = draw.to_bytes(8, "little"), len(in_doubt)
            monkeypatch.setattr(medians_module, "random_bytes", lambda _, bits=bits: bits)
            quick = medians_module._choose_scores([column], rate)
            if len(in_doubt) == before:  # whatever bits follow
                assert quick == [exact(*column, rate, draw)]
                clear += 1
    assert in_doubt
    assert clear > 50


def test_sums_of_too_many_weights_decide_nothing(monkeypatch):
    monkeypatch.setattr(medians_module, "_MOST_WEIGHTS", 2)
    draws = np.array([2**63], dtype=np.uint64)
    assert medians_module.clear_places(np.ones(3), np.array([0]), draws) == [None]


@pytest.mark.parametrize("doubt", [medians_module.DOUBT, 1.0])
def test_an_empty_gap_between_neighbors_is_never_chosen(doubt, monkeypatch):
    monkeypatch.setattr(medians_module, "DOUBT", doubt)
    keys = to_key([1.0, np.nextafter(1.0, 2.0)])
    column = keys, np.array([50, 50])
    chosen = set(
        choose_many_medians([column] * 50, [(0, 9)] * 50, Fraction(5000), Adjacency.REPLACE_ONE)
    )
    assert chosen <= {1.0, float(np.nextafter(1.0, 2.0))}


def test_a_draw_in_doubt_is_continued_and_not_replaced():
    keys, counts = np.unique(to_key(DATA), return_counts=True)
    edges, scores = _median_runs(
        keys, counts, Adjacency.REPLACE_ONE, *to_key([-10.0, 1e9]).tolist()
    )

    def decided(draw):
        found = (medians_module._exact_score(edges, scores, Fraction(1, 9), draw) for _ in range(9))
        return set(found)

    assert decided(0) == {scores.max()}
    assert decided(2**64 - 1) == {scores.min()}


def test_a_draw_between_the_bounds_takes_more_bits(monkeypatch):
    """Without a rate the border between two levels is the quotient of their masses."""
    edges, scores = _median_runs(
        *one_value(3.0), Adjacency.REPLACE_ONE, *to_key([1.0, 9.0]).tolist()
    )
    masses = np.diff(_base_cumulative(edges))
    best = int(masses[scores == scores.max()].sum())
    border = Fraction(best, int(masses.sum()))
    for appended, score in ((0, scores.max()), (-1, scores.min())):
        asked = []

        def randbits(bits, asked=asked, appended=appended):
            asked.append(bits)
            first = int(border * 2**bits)
            return first if len(asked) == 1 else appended % 2**bits

        monkeypatch.setattr(medians_module, "random_bits", randbits)
        draw = int(border * 2**64)
        assert medians_module._exact_score(edges, scores, Fraction(0), draw) == score
        assert len(asked) == 2


def one_value(value):
    return to_key([value]), np.array([5])


def test_columns_are_worked_on_in_turns(monkeypatch):
    monkeypatch.setattr(medians_module, "_MOST_EDGES", 3)
    columns = [one_value(value) for value in (2.0, 3.0, 5.0)]
    for part in (columns, columns[:2], []):
        chosen = choose_many_medians(
            part, [(1.0, 9.0)] * len(part), Fraction(100), Adjacency.ADD_REMOVE
        )
        assert list(chosen) == [2.0, 3.0, 5.0][: len(part)]


def test_a_draw_beyond_the_masses_is_noticed(monkeypatch):
    monkeypatch.setattr(medians_module, "uniform_integer", lambda low, high: high + 1)
    with pytest.raises(AssertionError, match="do not add up"):
        list(choose_many_medians([one_value(2.0)], [(1, 9)], Fraction(1), Adjacency.ADD_REMOVE))


@pytest.mark.parametrize("adjacency", list(RECORD_ADJACENCIES))
def test_scores_of_radii_and_of_columns_reach_their_sensitivity(adjacency):
    """One row outside of every ball, or beyond a median, against one at the center."""
    ball = Ball((0.0,), (1.0,), (5, 20), 2)
    levels = BallLevels(ball, 1, (1,) * 3)
    counts = [open_table(np.array([[x], [0.0]])).answer(levels) for x in (99.0, 0.0)]
    moved = np.abs(_scores(np.array(counts[0]), levels) - _scores(np.array(counts[1]), levels))
    assert moved.max() == levels.score_sensitivity(adjacency)

    medians = ColumnMedians(0, ((-9, 9),))
    scores = []
    for data in ([1.0, 2.0, 2.0], [2.0, 2.0]):
        ((keys, numbers),) = open_table(np.array([[x] for x in data])).answer(medians)
        edges, found = _median_runs(keys, numbers, adjacency, *to_key([2.0, 2.0]).tolist())
        scores.append(found[np.diff(edges) > 0])
    assert np.abs(scores[0] - scores[1]).max() == medians.score_sensitivity(adjacency)
