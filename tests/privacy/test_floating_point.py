"""No floating-point attack: outputs of neighbors lie on one public lattice, all of it possible.

Attacks on noise in floating point (Mironov 2012 and later) use that a release x + noise can only
take values that depend on x. Here answers are integers plus noise on all integers, or a choice
among all doubles; the ticks, ends and centers that turn them into values are functions of public
numbers and of earlier answers. Each of these steps is tested on data that floats handle badly.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.ask import Ask, Data, Replay
from tametail.mechanisms.candidates import MAX_KEY, _base_cumulative
from tametail.mechanisms.select import _draw_level
from tametail.paper.univariate import mean_estimator
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.queries.column import (
    ClippedSum,
    ClippingGrid,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    Squares,
)
from tametail.queries.paper import BallMean
from tametail.queries.rows import Ball, BallSquares, BallSum, Rows
from tametail.run import run

from ..opened import open_table  # noqa: TID252

rng = np.random.default_rng(7)

#: Data on which floats lose what integers keep, and one record that comes or is replaced.
HOSTILE = {
    "near 2^50, unit spread": (2.0**50 + rng.normal(0, 1, 400), 2.0**50 + 3.0, 2.0**50 - 3.0),
    "near -2^52": (-(2.0**52) + rng.integers(-3, 3, 400), -(2.0**52), 0.5),
    "near 2^1000": (2.0**1000 * (1 + rng.normal(0, 2.0**-40, 400)), 2.0**1000, -(2.0**1000)),
    "tiny spread": (1 + rng.normal(0, 2.0**-50, 400), 1 + 2.0**-52, 1 - 2.0**-53),
    "subnormal": (rng.integers(-9, 9, 400) * 5e-324, 5e-324, 2.0**-1022),
    "1e308": (rng.choice([1e308, -1e308], 400), 1.7e308, -math.inf),
    "cancelling": (np.tile([1e16, 1.0, -1e16, 2.0**-40], 100), 1.0, 1e16),
    "many scales": (rng.lognormal(0, 60, 400), 5e-324, 1e308),
}
UNITS = list(RECORD_ADJACENCIES)


def neighbors(name, adjacency):
    records, old, new = HOSTILE[name]
    first = np.append(records, old)
    return first, records if adjacency is Adjacency.ADD_REMOVE else np.append(records, new)


class Noting:
    """A responder that notes the questions that it passes on."""

    def __init__(self, responder):
        self.asked, self._responder = [], responder
        self.relation = responder.relation

    def prepare(self, query, cost, adjacency):
        self.asked.append((query, cost, adjacency))
        return self._responder.prepare(query, cost, adjacency)


class Forced:
    """Answers from a transcript while it lasts, then from the data."""

    def __init__(self, answers, engine):
        self._answers, self._data = iter(answers), Data(engine)

    def prepare(self, query, cost, adjacency):
        answer = next(self._answers, None)
        if answer is None:
            return self._data.prepare(query, cost, adjacency)
        return lambda query: answer, lambda answer: answer


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("name", HOSTILE)
def test_questions_follow_from_public_numbers_and_answers(name, adjacency):
    """Every tick, center and clip point: the same answers lead to the same questions."""
    for records in neighbors(name, adjacency):
        for request in ({"epsilon": 2.0}, {"rho": 0.5, "tail": tt.Moment(2, 4.0)}):
            plan = tt.plan(neighbors=adjacency.value, n=records.size, **request)
            data = Noting(Data(open_table(records).backend))
            release = run(plan, Ask(data, plan.budget, plan.adjacency))
            told = Noting(Replay(release.answers))
            assert run(plan, Ask(told, plan.budget, plan.adjacency)) == release
            assert told.asked == data.asked


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("name", HOSTILE)
def test_answers_are_integers_or_doubles(name, adjacency):
    for records in neighbors(name, adjacency):
        answers = tt.mean(records, epsilon=2, neighbors=adjacency.value).answers
        # Under add-remove a count comes first, twice if it is unclear, then the center; under
        # replace-one there is none. After the octave counts the center may be asked for again.
        place = next(at for at, answer in enumerate(answers) if type(answer) is float)
        assert place in ((1, 2) if adjacency is Adjacency.ADD_REMOVE else (0,))
        places = [place, place + 2] if type(answers[place + 2]) is float else [place]
        others = [answer for at, answer in enumerate(answers) if at not in places]
        assert type(answers[place]) is float
        assert all(type(number) is int for number in numbers_of(others))


def numbers_of(answers):
    for answer in answers:
        yield from answer if isinstance(answer, tuple) else (answer,)


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("name", HOSTILE)
def test_the_last_answer_alone_tells_neighbors_apart(name, adjacency):
    """With all earlier answers equal, both neighbors end on the values that one formula allows."""
    first, second = neighbors(name, adjacency)
    plan = tt.plan(neighbors=adjacency.value, epsilon=2.0, n=first.size, confidence=None)
    seen = Noting(Data(open_table(first).backend))
    answers = run(plan, Ask(seen, plan.budget, plan.adjacency)).answers
    last, moved = answers[-1], set()
    for records in (first, second):
        forced = Forced(answers[:-1], open_table(records))
        release = run(plan, Ask(forced, plan.budget, plan.adjacency))
        assert release.answers[:-1] == answers[:-1]
        assert all(type(number) is int for number in release.answers[-1])
        assert tt.replay(plan, release.answers) == release
    for step in (-1, 0, 1):  # any integer is possible, and leads to a finite value
        near = (*answers[:-1], (last[0] + step, *last[1:]))
        moved.add(tt.replay(plan, near).value)
    assert all(map(math.isfinite, moved))


LATTICES = [
    ClippingGrid(-4, -48, 0, 64),
    ClippingGrid.around(2.0**50, 8.0, 8.0),
    ClippingGrid.around(1.0, 2.0**-49, 2.0**-49),
    ClippingGrid.around(0.0, 1e308, 1e308),
    ClippingGrid.around(0.0, 1e-323, 1e-323),
]
EDGES = [
    ClippingGrid.of_distances(0.1 * side, side, side / 3, strength=1.0, records=1e9)
    for side in (2.0**-1010, 2.0**-49, 8.0, 1e308)
]
CENTERS = (0.0, 1.0, 2.0**50 + 0.25, -1.7e308)
SUMS = [
    Count(),
    *(ClippedSum(lattice, weight) for lattice in LATTICES for weight in (0, 7)),
    *(DistanceSum(c, edges, weight) for c in CENTERS for edges in EDGES for weight in (0, 7)),
    *(LogHistogram(center, -256, 255, counted) for center in (0.0, 2.0**50) for counted in (0, 1)),
    *(Squares(center, octave, 5) for center in (0.0, 1.0) for octave in (-40, 3, 900)),
]


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("name", HOSTILE)
def test_exact_answers_are_integers_in_any_order_and_move_as_stated(name, adjacency):
    """Sums in floats would depend on the order of the records (Casacuberta and others 2022)."""
    first, second = neighbors(name, adjacency)
    for query in SUMS:
        exact, other = (open_table(records).answer(query) for records in (first, second))
        assert all(type(number) is int for number in (*exact, *other))
        assert open_table(first[::-1]).answer(query) == exact
        assert open_table(rng.permutation(first)).answer(query) == exact
        sensitivity = query.sensitivity(adjacency)
        assert sum(abs(a - b) for a, b in zip(exact, other, strict=True)) <= sensitivity.l1
        moved = sum((a - b) ** 2 for a, b in zip(exact, other, strict=True))
        assert moved <= sensitivity.l2_squared


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("name", HOSTILE)
def test_sums_of_rows_are_integers_and_move_as_stated(name, adjacency):
    records, old, new = HOSTILE[name]
    rows = np.stack([records, records[::-1]], axis=1)
    inverse = 2.0 ** (10 - max(math.frexp(records[0])[1], -900))
    added = adjacency is Adjacency.ADD_REMOVE
    first, second = np.vstack([rows, [old, new]]), rows if added else np.vstack([rows, [new, old]])
    for order in (1, 2):
        ball = Ball((0.0, 1.0), (inverse, 1024.0), (100, 5000), order)
        for query in (BallSum(ball, 1, 9 if added else 0), BallSquares(ball, 0), Rows()):
            check_rows(query, first, second, adjacency)


def check_rows(query, first, second, adjacency):
    exact, other = (open_table(rows).answer(query) for rows in (first, second))
    assert all(type(number) is int for number in (*exact, *other))
    assert open_table(first[::-1]).answer(query) == exact
    sensitivity = query.sensitivity(adjacency)
    moves = [a - b for a, b in zip(exact, other, strict=True)]
    assert sum(map(abs, moves)) <= sensitivity.l1
    assert sum(move**2 for move in moves) <= sensitivity.l2_squared


@pytest.mark.parametrize("name", HOSTILE)
def test_the_papers_mean_lies_on_a_public_lattice(name):
    """With a block of 2^k records the value is a whole number of ticks / 2^k, for all data."""
    for records in neighbors(name, Adjacency.REPLACE_ONE):
        for radius in (4.0, 2.0**-40):
            asked = Noting(Data(open_table(records[:2]).backend))
            asked.on = lambda _, asked=asked: asked
            ask = Ask(asked, tt.pure(1.0), Adjacency.REPLACE_ONE)
            value = mean_estimator(ask, tt.pure(1.0), size=2, blocks=1, radius=radius, R=8.0)
            lattice = next(query.lattice for query, *_ in asked.asked if hasattr(query, "lattice"))
            assert (Fraction(value) / Fraction(2) ** lattice.exponent).denominator == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_the_mean_in_a_ball_is_an_integer_over_a_public_factor(name):
    records, old, _ = HOSTILE[name]
    rows = np.stack([records, records], axis=1)
    query = BallMean.around([records[0], old], 4.0, size=len(rows), strength=1.0)
    for each in (rows, np.vstack([rows[1:], [old, old]])):
        assert all(type(number) is int for number in open_table(each).answer(query))


keys = st.integers(-MAX_KEY, MAX_KEY)


@given(keys)
def test_every_double_can_be_a_median(key):
    """The base measure leaves out no double: none is impossible under any data."""
    before, at = _base_cumulative(np.array([key - 1, key]))
    assert at > before


@given(st.integers(1, 3000), st.fractions(Fraction(1, 100), 5))
def test_the_worst_candidate_can_be_chosen(gap, rate):
    """A weight of e^-15000 is not rounded to 0: with enough secret bits it is chosen."""
    ones = 2 * math.ceil(gap * rate / Fraction(69, 100)) + 64
    drawn = 0

    def nearly_one(bits):
        nonlocal drawn
        start, drawn = drawn, drawn + bits
        kept = min(max(ones - start, 0), bits)  # binary digits 1 up to there, then 0
        return ((1 << kept) - 1) << (bits - kept)

    assert _draw_level([(0, 1), (gap, 1)], rate, nearly_one) == 1
    assert _draw_level([(0, 1), (gap, 1)], rate, lambda bits: 0) == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_medians_know_records_only_by_order(name):
    """Answers to a median are keys and counts: 64-bit integers, the same in any order."""
    records, *_ = HOSTILE[name]
    query = Median(0, -math.inf, math.inf)
    keys_, counts = open_table(records).answer(query)
    again, counts_again = open_table(records[::-1]).answer(query)
    assert keys_.dtype == counts.dtype == np.int64
    assert (keys_ == again).all()
    assert (counts == counts_again).all()
    assert counts.sum() == records.size
