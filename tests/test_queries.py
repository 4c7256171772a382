"""No neighbor moves a query further than it states, and some neighbor moves it as far."""

from __future__ import annotations

import math
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tametail.data.kernels.passes import Passes
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.queries.column import (
    SOFT_ONE,
    WIDEST_SIDE,
    Buckets,
    ClippedSum,
    ClippingGrid,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    Sensitivity,
    Squares,
    edge_above,
    edge_below,
)
from tametail.queries.rows import Ball

MISSING = math.nan


@st.composite
def lattices(draw, widest=WIDEST_SIDE):
    exponent = draw(st.one_of(st.integers(-6, 6), st.integers(-1022, 1022)))
    center = draw(st.integers(-(2**40), 2**40))
    below, above = (draw(st.one_of(st.integers(0, 9), st.integers(0, widest))) for _ in range(2))
    return ClippingGrid(exponent, center - below, center, center + above)


@st.composite
def edges(draw):
    """Lattices of distances: their ends have five significant bits."""
    below, above = (draw(st.integers(0, 31)) << draw(st.integers(0, 30)) for _ in range(2))
    exponent = draw(st.one_of(st.integers(-30, 6), st.integers(-1022, 980)))
    return ClippingGrid(exponent, -below, draw(st.integers(-below, above)), above)


CENTERS = st.one_of(st.just(0.0), st.floats(allow_nan=False, allow_infinity=False))
SUM_QUERIES = st.one_of(
    st.just(Count()),
    st.builds(ClippedSum, lattices(), st.one_of(st.integers(0, 9), st.integers(0, 2**37))),
    st.builds(DistanceSum, CENTERS, edges(), st.one_of(st.integers(0, 9), st.integers(0, 2**37))),
    st.builds(Squares, CENTERS, st.integers(-1000, 1023), st.integers(1, 16)),
    st.builds(
        LogHistogram,
        CENTERS,
        st.integers(-60, 0),
        st.integers(0, 60),
        st.booleans(),
        st.none() | st.tuples(st.integers(-50, 0), st.integers(0, 50)),
    ),
    st.builds(Buckets, st.sampled_from([1.0, 0.25, 3.7]), st.integers(-9, 0), st.integers(1, 9)),
)


def _answer(query, records):
    """The answer as a mapping of its coordinates, so that all queries compare alike."""
    answer = Passes().answer(query, lambda _: [np.array(records, dtype=np.float64)])
    return answer if isinstance(answer, dict) else dict(enumerate(answer))


def _distance(query, first, second):
    a, b = _answer(query, first), _answer(query, second)
    moves = [abs(a.get(key, 0) - b.get(key, 0)) for key in a.keys() | b.keys()]
    return Sensitivity(sum(moves), sum(move**2 for move in moves))


def _borders(query):
    """Records at the edges of the query: missing, infinite, on and next to every border."""
    edges = [0.0]
    if isinstance(query, ClippedSum):
        lattice = query.lattice
        edges = [lattice.value(end) for end in (lattice.low, lattice.center, lattice.high)]
    elif isinstance(query, DistanceSum):
        lattice = query.lattice
        ends = (lattice.low, 0, lattice.high)
        # Beyond a clip point, but in the bin that begins there.
        edges = [query.center + f * lattice.value(end) for end in ends for f in (1, 1 + 1 / 40)]
    elif isinstance(query, Buckets):
        edges = [key / query.inverse_width for key in (query.low, query.high, query.high + 1)]
    elif isinstance(query, LogHistogram | Squares):
        octaves = (query.first, query.last) if isinstance(query, LogHistogram) else (query.octave,)
        if isinstance(query, LogHistogram) and query.fine is not None:
            octaves = (query.nodes[0], *query.fine, query.fine[1] + 2, query.nodes[-1])
        steps = [sign * math.ldexp(1.0, octave) for octave in octaves for sign in (-1, 1)]
        edges = [query.center, *(query.center + step for step in steps)]
    beside = [math.nextafter(edge, way) for edge in edges for way in (-math.inf, math.inf)]
    return [MISSING, -math.inf, math.inf, *edges, *beside]


def _exceeds(query, adjacency, first, second):
    moved, stated = _distance(query, first, second), query.sensitivity(adjacency)
    return moved.l1 > stated.l1 or moved.l2_squared > stated.l2_squared


@settings(max_examples=500, deadline=None)
@given(query=SUM_QUERIES, data=st.data())
def test_no_neighbor_moves_a_query_further(query, data):
    record = st.one_of(st.sampled_from(_borders(query)), st.floats(), st.floats(-20, 20))
    others = data.draw(st.lists(record, max_size=4))
    first, second = data.draw(record), data.draw(record)
    assert not _exceeds(query, Adjacency.REPLACE_ONE, [*others, first], [second, *others])
    assert not _exceeds(query, Adjacency.ADD_REMOVE, [*others, first], others)


@settings(max_examples=100, deadline=None)
@given(query=SUM_QUERIES)
@example(query=LogHistogram(0.0, -3, 3, counted=True))
@example(query=ClippedSum(ClippingGrid(0, -5, 0, 7), count_weight=3))
@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES)
def test_the_sensitivity_is_attained(query, adjacency):
    borders = _borders(query)
    if adjacency is Adjacency.ADD_REMOVE:
        moves = [_distance(query, [record], []) for record in borders]
    else:
        moves = [_distance(query, [a], [b]) for a, b in combinations(borders, 2)]
    stated = query.sensitivity(adjacency)
    assert max(move.l1 for move in moves) == stated.l1
    assert max(move.l2_squared for move in moves) == stated.l2_squared


def _scores(adjacency, records, candidates):
    keys, counts = Passes().answer(Median(0, -math.inf, math.inf), lambda _: [np.array(records)])
    below = np.array([counts[keys < candidate].sum() for candidate in candidates])
    above = np.array([counts[keys > candidate].sum() for candidate in candidates])
    return -np.maximum(below, above) if adjacency is Adjacency.REPLACE_ONE else -abs(below - above)


@settings(max_examples=200, deadline=None)
@given(
    others=st.lists(st.floats(), max_size=6),
    first=st.floats(),
    second=st.floats(),
    key=st.integers(-(2**63) + 1, 2**63 - 1),
)
@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES)
def test_no_neighbor_moves_a_score_of_the_median_further(adjacency, others, first, second, key):
    records = np.array([*others, first, second])
    keys, _ = Passes().answer(Median(0, -math.inf, math.inf), lambda _: [records])
    candidates = [key, 0, *keys.tolist()]
    bound = Median(0, -math.inf, math.inf).score_sensitivity(adjacency)
    base = _scores(adjacency, [*others], candidates)
    for record in (first, second):
        # A sample loses or gains a record under either unit: docs/proofs/sampling.md.
        assert abs(_scores(adjacency, [*others, record], candidates) - base).max() <= bound
    if adjacency is Adjacency.REPLACE_ONE:
        move = _scores(adjacency, [*others, first], candidates) - _scores(
            adjacency, [*others, second], candidates
        )
        assert abs(move).max() <= bound


def test_the_shared_count_is_free_under_replace_one():
    lattice = ClippingGrid(exponent=0, low=-2, center=0, high=10)
    for weight in range(3):
        assert ClippedSum(lattice, weight).sensitivity(Adjacency.REPLACE_ONE).l1 == lattice.width
    assert ClippedSum(lattice, 3).sensitivity(Adjacency.REPLACE_ONE).l1 == lattice.width + 1


def test_soft_counts_keep_the_number_of_records():
    answer = Passes().answer(
        LogHistogram(0.0, -3, 3), lambda _: [np.array([0.01, -5.0, 7.0, 1e9, math.nan])]
    )
    assert sum(answer) == 4 * SOFT_ONE


@given(
    center=st.floats(allow_nan=False, allow_infinity=False),
    below=st.floats(0, 1e308),
    above=st.floats(0, 1e308),
    bits=st.integers(4, 36),
)
def test_a_lattice_around_a_center(center, below, above, bits):
    lattice = ClippingGrid.around(center, below, above, bits)
    assert lattice.low <= lattice.center <= lattice.high
    assert lattice.side <= WIDEST_SIDE
    assert abs(lattice.value(lattice.center) / 2 - center / 2) <= lattice.tick / 4
    if lattice.side < WIDEST_SIDE:
        assert lattice.value(lattice.high - lattice.center) >= above - lattice.tick
        assert lattice.value(lattice.center - lattice.low) >= below - lattice.tick


def test_a_value_beyond_the_doubles_is_the_largest():
    lattice = ClippingGrid(exponent=1022, low=-9, center=0, high=9)
    assert lattice.value(9) == sys.float_info.max
    assert lattice.value(-9) == -sys.float_info.max


@pytest.mark.parametrize(
    "wrong",
    [(0, 1, 0, 2), (0, 0, 3, 2), (1023, 0, 0, 1), (-1023, 0, 0, 1), (0, 0, 0, 2**36 + 1)],
)
def test_a_lattice_keeps_its_limits(wrong):
    with pytest.raises(AssertionError, match="within its limits"):
        ClippingGrid(*wrong)


@pytest.mark.parametrize("ends", [(0, 33), (-33, 0), (0, 65 << 10), (8, 10), (-10, -8)])
def test_distances_are_clipped_at_edges_only(ends):
    lattice = ClippingGrid(0, ends[0], ends[1], ends[1])
    with pytest.raises(AssertionError, match="on edges of sixteenths"):
        DistanceSum(0.0, lattice)


DISTANCES = st.one_of(st.just(0.0), st.floats(0, 1e6), st.floats(0, sys.float_info.max))


@example(0.0, 0.0, 6.757449458893394e-308, 1.0, 1.0)
@given(st.floats(-1e6, 1e6), DISTANCES, DISTANCES, st.floats(1e-9, 1e3), st.floats(1, 1e12))
def test_a_lattice_of_distances_clips_no_closer_than_it_is_told(
    offset, below, above, strength, records
):
    lattice = ClippingGrid.of_distances(offset, below, above, strength=strength, records=records)
    DistanceSum(0.0, lattice)  # its ends are edges
    widest, farthest = max(below, above), math.ldexp(31.0, 1019)
    for told, ticks in ((below, -lattice.low), (above, lattice.high)):
        applied = lattice.value(ticks)
        assert applied >= min(told, farthest)
        # No tick is below the least normal double.
        assert applied <= max(told * 17 / 16, told + widest / 512, told + 2.0**-1022)
    assert lattice.side / min(strength, 1.0) <= 2.0**52


@given(DISTANCES)
def test_a_distance_lies_between_its_edges(distance):
    below, above = edge_below(distance), edge_above(distance)
    assert below <= distance
    assert above >= min(distance, math.ldexp(31.0, 1019))
    assert edge_below(below) == edge_above(below) == below
    assert edge_below(above) == edge_above(above) == above
    assert above <= below * 17 / 16 or distance < 2.0**-1000


@given(st.floats(1e-6, 1e6), st.floats(0, 1e6), st.floats(1e-6, 1e3), st.floats(1, 1e12))
def test_a_tick_is_far_below_the_noise_unless_bits_run_out(below, above, strength, records):
    lattice = ClippingGrid.below_noise(0.0, below, above, strength=strength, records=records)
    noise = max(below, above) / max(records * strength, 1.0)
    assert lattice.tick <= noise / 128 or lattice.side >= 2**29 or strength < 2.0**-16
    assert lattice.side / min(strength, 1.0) <= 2.0**52


def test_a_square_counts_in_its_unit():
    query = Squares(center=0.0, octave=3, cap=16)
    (answer,) = Passes().answer(query, lambda _: [np.array([8.0, -8.0])])
    assert 2 * 64 <= answer * query.unit <= 2 * 64 * (17 / 16) ** 2


@pytest.mark.parametrize(("limits", "floors"), [(None, (1,)), ((1,), (-1,))])
def test_floors_of_a_ball_are_distances_and_come_with_limits(limits, floors):
    with pytest.raises(AssertionError, match="floors"):
        Ball((0.0,), (1.0,), (3,), order=1, limits=limits, floors=floors)
