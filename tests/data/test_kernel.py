"""The kernel gives the integers of the specification, whatever the records and the chunks."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tametail.data.kernels import profile as profiles
from tametail.data.kernels.accumulator import CHUNK
from tametail.data.kernels.passes import Passes
from tametail.queries.column import (
    WIDEST_SIDE,
    Buckets,
    ClippedSum,
    ClippingGrid,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    ProfileQuery,
    Squares,
)

from ..opened import open_table  # noqa: TID252

ANY_RECORD = st.one_of(
    st.floats(),
    st.integers(-300, 300).map(lambda i: i / 8),
    st.builds(math.ldexp, st.sampled_from([1.0, -1.0, 1.0625, -1.9375]), st.integers(-1074, 1023)),
    st.none(),
)


@st.composite
def lattices(draw, widest=1 << 36):
    exponent = draw(st.one_of(st.integers(-6, 6), st.integers(-1022, 1022)))
    center = draw(st.one_of(st.integers(-50, 50), st.integers(-(2**53), 2**53)))
    below, above = (draw(st.one_of(st.integers(0, 99), st.integers(0, widest))) for _ in range(2))
    low, high = max(center - below, -(2**53)), min(center + above, 2**53)
    return ClippingGrid(exponent, low, center, high)


@st.composite
def edges(draw):
    """Lattices of distances: their ends have five significant bits."""
    below, above = (
        draw(st.integers(0, 31)) << draw(st.one_of(st.integers(0, 4), st.integers(0, 30)))
        for _ in range(2)
    )
    exponent = draw(st.one_of(st.integers(-6, 6), st.integers(-1022, 980)))
    return ClippingGrid(exponent, -below, draw(st.integers(-below, above)), above)


CENTERS = st.one_of(st.just(0.0), st.floats(allow_nan=False, allow_infinity=False))

ANY_QUERY = st.one_of(
    st.just(Count()),
    st.builds(DistanceSum, CENTERS, edges(), st.integers(0, 1000)),
    st.builds(ClippedSum, lattices(), st.integers(0, 1000)),
    st.builds(
        Buckets,
        st.one_of(st.sampled_from([1.0, 0.25, 3.7]), st.floats(5e-324, 1e308)),
        st.integers(-(10**20), 5),
        st.integers(5, 10**310),
    ),
    st.builds(
        LogHistogram,
        CENTERS,
        st.integers(-1030, 0),
        st.integers(0, 1030),
        st.booleans(),
    ),
    st.builds(
        Squares,
        CENTERS,
        st.one_of(st.integers(-9, 9), st.integers(-1000, 1023)),
        st.integers(1, 16),
    ),
    st.just(Median(0, -math.inf, math.inf)),
)


@settings(max_examples=600, deadline=None)
@given(query=ANY_QUERY, records=st.lists(ANY_RECORD, max_size=12))
def test_equals_the_reference(reference, comparable, query, records):
    assert comparable(open_table(records).answer(query)) == reference(query, records)


def test_equals_the_reference_at_every_border(reference, comparable, query, records):
    assert comparable(open_table(records).answer(query)) == reference(query, records)


def test_no_records(reference, comparable, query):
    assert comparable(open_table([]).answer(query)) == reference(query, [])
    found = comparable(open_table([None, math.nan]).answer(query))
    assert found == reference(query, [None, math.nan])


@pytest.mark.parametrize("size", [65535, 65536, 65537])
def test_chunk_borders(reference, comparable, query, records, size):
    values = np.array([math.nan if x is None else x for x in records])
    column = np.resize(values, size)
    column.flags.writeable = False  # an engine that writes to its input fails here
    if isinstance(query, Median):
        _, counts = open_table(column).answer(query)
        assert int(counts.sum()) == open_table(column).answer(Count())[0]
        return
    if isinstance(query, DistanceSum):  # its last rounding is that of the whole sum
        assert open_table(column).answer(query) == reference(query, column.tolist())
        return
    expected = _times(reference(query, records), size // values.size)
    rest = reference(query, values[: size % values.size].tolist())
    assert comparable(open_table(column).answer(query)) == _plus(expected, rest)


def _times(answer, factor):
    if isinstance(answer, dict):
        return {key: factor * count for key, count in answer.items()}
    return tuple(factor * part for part in answer)


def _plus(first, second):
    if isinstance(first, dict):
        return {key: count + second.get(key, 0) for key, count in first.items()}
    return tuple(a + b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_widest_lattice_adds_up_exactly(sign):
    lattice = ClippingGrid(0, -WIDEST_SIDE, 0, WIDEST_SIDE)
    chunk = np.full(CHUNK, sign * (WIDEST_SIDE - 1.0))
    odd = np.full(CHUNK - 1, sign * math.inf)
    total = Passes().answer(ClippedSum(lattice), lambda _: [chunk, odd, chunk])
    expected = 2 * CHUNK * (WIDEST_SIDE - 1) + (CHUNK - 1) * WIDEST_SIDE
    assert total == (sign * expected,)


def test_a_profile_knows_the_number_of_records(query, records, reference):
    if isinstance(query, ProfileQuery):
        engine = open_table(records)
        engine.answer(query)
        assert engine.answer(Count()) == reference(Count(), records)


def test_sums_of_distances_are_carried_before_they_overflow(monkeypatch, query, records):
    """As after 2^34 records: 28 bits each would add up to more than 64."""
    if isinstance(query, ProfileQuery):
        column = np.resize([math.nan if x is None else x for x in records], 1000)
        expected = open_table(column).answer(query)
        monkeypatch.setattr(profiles, "_CARRY", 300)
        monkeypatch.setattr(profiles, "_FEW", 100)
        assert Passes().answer(query, lambda _: np.array_split(column, 9)) == expected


def test_a_carried_sum_is_wider_than_64_bits(monkeypatch):
    monkeypatch.setattr(profiles, "_FEW", 0)
    profile = profiles.ProfilePass(DistanceSum(0.0, ClippingGrid(0, 0, 0, 16)))
    profile.add(np.array([15.0 + 2.0**-20] * 4))
    once = int(profile.read().rests.sum())
    profile.tables[:] *= (1 << 63) // (2 * once)
    for _ in range(4):  # each time as many again, and more than 64 bits hold in all
        held = profile.tables.copy()
        profile.records = profiles._CARRY
        profile.add(np.array([0.0]))
        profile.tables += held
    assert int(profile.read().rests.sum()) == 5 * (once * ((1 << 63) // (2 * once))) > 1 << 63


def test_missing_records_are_in_no_bin():
    """Tables over all bins count NaN as well, which has bins beyond infinity."""
    tables = np.zeros((profiles.BINS, 2), dtype=np.int64)
    bins = np.array([1.0, math.inf, math.nan, -math.nan]).view(np.int64) >> 48 & (profiles.BINS - 1)
    tables[bins, 0] = 1, 2, 4, 8
    found = profiles.Profile.of(tables, bands=(1 << profiles.BANDS) - 1)
    assert (found.records, found.bins.tolist()) == (3, sorted(bins[:2].tolist()))


@pytest.mark.parametrize("few", [0, 3, 1 << 12])
def test_few_records_need_no_tables(reference, comparable, monkeypatch, query, records, few):
    """They wait, then they go to the tables; or are counted by themselves."""
    monkeypatch.setattr(profiles, "_FEW", few)
    if isinstance(query, ProfileQuery):
        column = np.array([math.nan if x is None else x for x in records], dtype=np.float64)
        values = [x for x in column.tolist() if not math.isnan(x)]
        found = Passes().answer(query, lambda _: np.array_split(column, 4))
        assert comparable(found) == reference(query, values)
        parts = [profiles.ProfilePass(query) for _ in range(3)]
        for part, chunk in zip(parts, np.array_split(column, 3), strict=True):
            part.add(chunk)
        parts[0].merge(parts[1])
        parts[2].merge(parts[0])
        assert profiles.conclude(query, parts[2].read()) == found


@pytest.mark.parametrize("far", [1e300, -1e300, 1e-300, -1e-300, math.inf])
def test_records_that_waited_are_looked_at_wherever_they_lie(far):
    """Those of one pass lie in a band where none of the other pass lie, which has tables."""
    query = DistanceSum(0.0, ClippingGrid(0, -8, 0, 8))
    few, many = profiles.ProfilePass(query), profiles.ProfilePass(query)
    few.add(np.array([far]))
    many.add(np.ones(profiles._FEW + 1))
    assert few.tables is None
    # NumPy's loops tell no bands: so that the test holds of them, too, say where the ones lie.
    (bin_of_ones,) = many.read().bins
    many.bands = 1 << int(bin_of_ones) // (profiles.BINS // profiles.BANDS)
    few.merge(many)
    assert few.read().records == profiles._FEW + 2


@pytest.mark.parametrize("bits", [0x7FF0000000000001, 0xFFF0000000000001, 0x7FF8000000000000])
def test_every_kind_of_nan_is_missing(reference, comparable, query, bits):
    column = np.array([bits, 0x3FF0000000000000], dtype=np.uint64).view(np.float64)
    assert comparable(open_table(column).answer(query)) == reference(query, [math.nan, 1.0])


def test_integers_are_python_integers(query, records):
    answer = open_table(records).answer(query)
    if isinstance(query, Median):
        assert all(part.dtype == np.int64 for part in answer)
    else:
        parts = [*answer, *answer.values()] if isinstance(answer, dict) else answer
        assert all(type(part) is int for part in parts)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_memory_does_not_grow_with_the_records(query, dtype):
    if isinstance(query, Median):
        return  # the sample is kept: its size is the plan's choice
    column = np.arange(1 << 21).astype(dtype)  # twice the memory that is allowed, in float64
    tracemalloc.start()
    open_table(column % 97).size  # noqa: B018 - warms up what is imported lazily
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    open_table(column).answer(query if not isinstance(query, Buckets) else Buckets(1e-3, 0, 9))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - before < 8 << 20
