"""The private median over all doubles: keys, base measure, sensitivity, fit."""

from __future__ import annotations

import inspect
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tametail.doubles import from_key, to_key
from tametail.errors import InternalError
from tametail.mechanisms import candidates as module
from tametail.mechanisms import medians
from tametail.mechanisms.candidates import MAX_KEY
from tametail.mechanisms.medians import choose_median
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency

FALSE_ALARM = 1e-7
NO_KEYS = np.array([], dtype=np.int64)
ATOM, ALL_DOUBLES, SHORT_DOUBLES, INTEGERS, HUNDREDTHS = module.components()
LATTICES = [ALL_DOUBLES, SHORT_DOUBLES, INTEGERS, HUNDREDTHS]
UNITS = pytest.mark.parametrize("adjacency", list(RECORD_ADJACENCIES))


def key(value: float) -> int:
    return int(to_key(value))


def mass(component, first: int, last: int) -> int:
    """Mass of the keys first..last."""
    before, end = component.cumulative(np.array([first - 1, last]))
    return end - before


# Keys


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_keys_go_there_and_back(value):
    assert from_key(key(value)) == value
    assert key(-value) == -key(value)


@given(*[st.floats(allow_nan=False)] * 2)
def test_keys_keep_the_order(one, other):
    bounded = [min(max(value, -sys.float_info.max), sys.float_info.max) for value in (one, other)]
    assert (key(one) < key(other)) == (bounded[0] < bounded[1])
    assert (key(one) == key(other)) == (bounded[0] == bounded[1])


@given(st.integers(-MAX_KEY, MAX_KEY - 1))
def test_next_key_is_the_next_double(number):
    assert np.nextafter(from_key(number), math.inf) == from_key(number + 1)


def test_special_values_have_the_keys_at_the_ends_and_in_the_middle():
    largest = sys.float_info.max
    values = [-math.inf, -largest, -5e-324, -0.0, 0.0, 5e-324, 2.0**-1022, largest, math.inf]
    expected = [-MAX_KEY, -MAX_KEY, -1, 0, 0, 1, 2**52, MAX_KEY, MAX_KEY]
    assert to_key(values).tolist() == expected
    assert math.copysign(1, from_key(0)) == 1


# Base measure


def expected_weight(component, value: float) -> Fraction:
    """Mass of one double in a component, written from the definition, up to the normalization."""
    size = abs(Fraction(value))
    if size == 0:
        return Fraction(0)
    exponent = max(math.frexp(abs(value))[1] - 1, -1023)
    if abs(value) < 2.0**-1022:
        exponent = -1023
    if component is ALL_DOUBLES:
        return octave_mass(exponent) / 2**52
    if component is SHORT_DOUBLES:
        return octave_mass(exponent) / 2**16 if key(abs(value)) % 2**36 == 0 else Fraction(0)
    if component is INTEGERS:
        whole = size.denominator == 1 and size < 2**53
        return octave_mass(exponent) / 2**exponent if whole else Fraction(0)
    number = round(size * 100)
    if not 1 <= number <= 10**11 or number / 100 != abs(value):
        return Fraction(0)
    octave = number.bit_length() - 1
    return octave_mass(octave - 6) / 2**octave


def octave_mass(exponent: int) -> Fraction:
    fall = math.floor(3 * math.log2(1 + abs(exponent) / 8) + 1e-12)
    return Fraction(1, 2 ** (fall + max(0, (exponent - 20) // 4)))


PLACES = [0.0, 1.0, 37.0, 19.99, -0.07, -4096.0, 2.0**-1022, 1e9, 2.0**53, -sys.float_info.max]


@pytest.mark.parametrize("component", LATTICES, ids=["all", "short", "integers", "hundredths"])
@pytest.mark.parametrize("place", PLACES)
def test_masses_of_small_intervals_are_those_of_their_points(component, place):
    keys = [k for k in range(key(place) - 40, key(place) + 41) if abs(k) <= MAX_KEY]
    weights = [expected_weight(component, from_key(k)) for k in keys]
    one = mass(component, key(1.0), key(1.0)) / expected_weight(component, 1.0)
    for start in range(0, len(keys), 7):
        for end in range(start, len(keys), 5):
            exact = mass(component, keys[start], keys[end])
            assert exact == one * sum(weights[start : end + 1])


@pytest.mark.parametrize(
    ("component", "step", "numbers"),
    [(INTEGERS, 1, range(-300, 500)), (HUNDREDTHS, 100, range(-70, 2000))],
)
def test_masses_of_long_intervals_count_every_lattice_point(component, step, numbers):
    one = mass(component, key(1.0), key(1.0)) / expected_weight(component, 1.0)
    total = sum(expected_weight(component, number / step) for number in numbers)
    ends = key(numbers[0] / step), key(numbers[-1] / step)
    assert mass(component, *ends) == one * total


@given(st.integers(1, 10**11))
def test_hundredths_are_counted_at_every_step(number):
    at = key(number / 100)
    assert HUNDREDTHS.count_to(np.array([at - 1, at])).tolist() == [number - 1, number]


def test_lattices_end_where_they_should():
    assert mass(INTEGERS, key(2.0**53 - 1) + 1, MAX_KEY) == 0
    assert mass(HUNDREDTHS, key(1e9) + 1, MAX_KEY) == 0
    assert mass(HUNDREDTHS, 1, key(0.01) - 1) == 0


def test_components_have_equal_mass_and_are_symmetric():
    for component in module.components():
        total = mass(component, -MAX_KEY, MAX_KEY)
        assert total <= 2 * module.COMPONENT_MASS
        assert total * 1024 >= 2 * module.COMPONENT_MASS * 1023
        assert mass(component, -MAX_KEY, -1) == mass(component, 1, MAX_KEY)
    assert mass(ATOM, 0, 0) == mass(ATOM, -MAX_KEY, MAX_KEY)


@pytest.mark.parametrize("component", LATTICES, ids=["all", "short", "integers", "hundredths"])
@given(share=st.fractions(0, 1, max_denominator=10**9))
def test_positions_and_keys_are_inverse(component, share):
    low, high = component.cumulative(np.array([-MAX_KEY - 1, MAX_KEY]))
    position = min(low + math.floor(share * (high - low)), high - 1)
    chosen = component.key_at(position)
    before, at = component.cumulative(np.array([chosen - 1, chosen]))
    assert before <= position < at


def test_draws_from_the_base_measure_follow_it():
    cuts = [-2.5, -1.0, -0.3, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    edges = np.unique([place for cut in cuts for place in (key(cut) - 1, key(cut))])
    draws = list(medians._draw_keys([(edges[:1], edges[-1:])] * 8000))
    observed = np.bincount(np.searchsorted(edges, draws) - 1, minlength=len(edges) - 1)
    assert_fits(observed, shares(np.diff(module._base_cumulative(edges)), np.zeros(len(observed))))


def shares(base, exponents) -> np.ndarray:
    """Probabilities proportional to base exp(exponents), for integers base of any size."""
    weights = np.array([float(Fraction(part, sum(base))) for part in base]) * np.exp(exponents)
    return weights / weights.sum()


def assert_fits(observed: np.ndarray, share: np.ndarray) -> None:
    assert stats.chisquare(observed, share * observed.sum()).pvalue > FALSE_ALARM


# Scores


def brute_score(records: list[int], candidate: int, adjacency: Adjacency) -> int:
    below = sum(record < candidate for record in records)
    above = sum(record > candidate for record in records)
    return -max(below, above) if adjacency is Adjacency.REPLACE_ONE else -abs(below - above)


def scores(records: list[int], adjacency: Adjacency, first: int, last: int) -> dict[int, int]:
    keys, counts = np.unique(np.array(records, dtype=np.int64), return_counts=True)
    edges, run_scores = module._median_runs(keys, counts, adjacency, first, last)
    assert edges[0] == first - 1
    assert edges[-1] == last
    runs = zip(edges[:-1].tolist(), edges[1:].tolist(), run_scores.tolist(), strict=True)
    return {k: score for before, end, score in runs for k in range(before + 1, end + 1)}


RECORDS = st.lists(st.integers(-6, 6), max_size=12)
BOUNDS = st.tuples(st.integers(-8, 8), st.integers(-8, 8)).map(sorted)


@UNITS
@given(records=RECORDS, bounds=BOUNDS)
def test_runs_cover_the_range_with_the_scores_of_the_definition(adjacency, records, bounds):
    expected = {k: brute_score(records, k, adjacency) for k in range(bounds[0], bounds[1] + 1)}
    assert scores(records, adjacency, *bounds) == expected


@given(records=RECORDS, record=st.integers(-9, 9), bounds=BOUNDS)
def test_one_record_more_moves_an_add_remove_score_by_at_most_one(records, record, bounds):
    one = scores(records, Adjacency.ADD_REMOVE, *bounds)
    other = scores([*records, record], Adjacency.ADD_REMOVE, *bounds)
    assert one.keys() == other.keys()
    assert max(abs(one[k] - other[k]) for k in one) <= 1


@given(records=RECORDS, pair=st.tuples(*[st.integers(-9, 9)] * 2), bounds=BOUNDS)
def test_one_record_changed_moves_a_replace_one_score_by_at_most_one(records, pair, bounds):
    one = scores([*records, pair[0]], Adjacency.REPLACE_ONE, *bounds)
    other = scores([*records, pair[1]], Adjacency.REPLACE_ONE, *bounds)
    assert one.keys() == other.keys()
    assert max(abs(one[k] - other[k]) for k in one) <= 1


# The mechanism


@UNITS
@pytest.mark.parametrize("center", [math.pi, -1e-310])
def test_choices_among_nine_doubles_follow_the_distribution(adjacency, center):
    records = [key(center) + step for step in (-9, -2, -2, 0, 0, 1, 3, 3, 3, 8)]
    candidates = np.arange(key(center) - 4, key(center) + 5)
    edges = np.append(candidates[0] - 1, candidates)
    assert_choices_fit(records, edges, adjacency)


@UNITS
def test_choices_among_values_and_gaps_follow_the_distribution(adjacency):
    values = [0.25, 1.0, 1.0, 2.0, 2.5, 2.5, 3.0, 7.0]
    cuts = [place for value in (1.0, 2.0, 2.5, 3.0) for place in (key(value) - 1, key(value))]
    edges = np.array([key(0.5) - 1, *cuts, key(4.0)])
    assert_choices_fit([key(value) for value in values], edges, adjacency)


def assert_choices_fit(records: list[int], edges: np.ndarray, adjacency: Adjacency) -> None:
    """Test 4,000 choices, sorted into (edges[r], edges[r + 1]]; the score is constant in each."""
    rate, low, high = 0.3, from_key(int(edges[0]) + 1), from_key(int(edges[-1]))
    keys, counts = np.unique(records, return_counts=True)
    draws = [
        choose_median(keys, counts, rate, adjacency=adjacency, low=low, high=high)
        for _ in range(4000)
    ]
    observed = np.bincount(np.searchsorted(edges, to_key(draws)) - 1, minlength=len(edges) - 1)
    score = np.array([brute_score(records, int(k), adjacency) for k in edges[1:]])
    assert_fits(observed, shares(np.diff(module._base_cumulative(edges)), rate * score))


RANGES = [(-math.inf, math.inf), (0.0, math.inf), (-math.inf, -5.0), (3.5, 3.5), (-0.0, 0.0)]
DATA = [[], [0.0], [math.inf, -math.inf], [1e308] * 5, [5e-324, -5e-324], list(range(50))]


@UNITS
@pytest.mark.parametrize("bounds", RANGES)
@pytest.mark.parametrize("data", DATA, ids=range(len(DATA)))
def test_the_choice_is_finite_and_inside(adjacency, bounds, data):
    keys, counts = np.unique(to_key(np.array(data, dtype=float)), return_counts=True)
    for rate in (0, 0.01, 1e3):
        value = choose_median(
            keys, counts, rate, adjacency=adjacency, low=bounds[0], high=bounds[1]
        )
        assert isinstance(value, float)
        assert math.isfinite(value)
        assert bounds[0] <= value <= bounds[1]


@UNITS
@pytest.mark.parametrize("value", [0.0, 37.0, 19.99, 1204.0, -250.5])
def test_a_common_value_is_found_with_few_records(adjacency, value):
    """A value on a lattice costs about 15 nats; these records have 50."""
    for _ in range(20):
        chosen = choose_median(to_key([value]), np.array([100]), 0.5, adjacency=adjacency)
        assert chosen == value


@UNITS
def test_a_large_sample_gives_its_median(adjacency):
    rng = np.random.default_rng(7)
    data = 37 + rng.standard_t(3, 2001)
    keys, counts = np.unique(to_key(data), return_counts=True)
    assert abs(choose_median(keys, counts, 0.2, adjacency=adjacency) - np.median(data)) < 0.5


@UNITS
def test_records_outside_the_range_still_count(adjacency):
    data = np.repeat([-7.0, 2.0, 3.0], [900, 50, 50])
    keys, counts = np.unique(to_key(data), return_counts=True)
    value = choose_median(keys, counts, 1.0, adjacency=adjacency, low=1.0, high=4.0)
    assert 1.0 <= value <= 2.0


def test_without_records_the_choice_is_a_draw_from_the_base_measure():
    draws = [
        choose_median(NO_KEYS, NO_KEYS, 0.1, adjacency=Adjacency.ADD_REMOVE) for _ in range(500)
    ]
    assert stats.binomtest(draws.count(0.0), 500, 0.2).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("size", "share"), [(1e6, 0.02), (1e9, 1e-3), (1e20, 1e-6), (1e100, 1e-18)]
)
def test_the_base_measure_has_light_tails(size, share):
    start, middle, end = module._base_cumulative(np.array([-1, key(size), MAX_KEY]))
    assert end - middle < share * (end - start)


def test_bounds_in_the_wrong_order_are_an_internal_error():
    with pytest.raises(InternalError):
        choose_median(NO_KEYS, NO_KEYS, 0.1, adjacency=Adjacency.ADD_REMOVE, low=1.0, high=0.0)
    with pytest.raises(InternalError):
        choose_median(NO_KEYS, NO_KEYS, 0.1, adjacency=Adjacency.ADD_REMOVE, low=math.nan)


def test_no_public_function_takes_a_source_of_randomness():
    names = {
        name for f in (choose_median, to_key, from_key) for name in inspect.signature(f).parameters
    }
    assert names == {"keys", "counts", "rate", "adjacency", "low", "high", "values", "key"}


def test_a_draw_beyond_the_masses_is_noticed(monkeypatch):
    monkeypatch.setattr(medians, "uniform_integer", lambda low, high: high + 1)
    with pytest.raises(InternalError, match="do not add up"):
        choose_median(NO_KEYS, NO_KEYS, 0.1, adjacency=Adjacency.ADD_REMOVE)
