"""A database gives the integers that the kernel gives on the same records, for every query."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.engines.open import open_table
from tametail.engines.sql.column import SqlColumn
from tametail.errors import ColumnError
from tametail.queries.column import (
    Buckets,
    ClippedSum,
    Count,
    DistanceSum,
    Lattice,
    Median,
    Squares,
    TailNodes,
)
from tametail.queries.groups import Cells

from .conftest import SPECIAL, hostile

LATTICES = [
    Lattice(0, -2, 0, 10), Lattice(-20, 0, 1 << 20, 1 << 21), Lattice(10, -32, 0, 512),
    Lattice(-1022, -(1 << 36), 0, 1 << 36), Lattice(1022, -(1 << 36), 0, 1 << 36),
    Lattice(1022, -1, 0, 0), Lattice(1, -16, -3, 16), Lattice(1000, -(1 << 35), 5, 1 << 35),
    Lattice(-30, 2**53 - 4, 2**53 - 2, 2**53),
]  # fmt: skip
AROUND = [
    (0.0, Lattice(-8, -256, 0, 768)), (1.5, Lattice(-30, -(1 << 29), 5, 1 << 29)),
    (1204.0, Lattice(0, -16, -3, 0)), (-1e308, Lattice(1000, 0, 7, 31 << 20)),
    (5e-324, Lattice(-1022, -(1 << 20), 0, 1 << 20)), (2981.0, Lattice(-10, -512, 0, 992)),
]  # fmt: skip
CENTRES = (
    0.0, -0.0, 1.25, -1e6, 2981.0, 1e308, -1e-300, 1e150, 2.0**969, 2.0**968, -(2.0**1000), 5e-324,
)  # fmt: skip
QUERIES = [
    Count(),
    *(ClippedSum(lattice, weight) for lattice in LATTICES for weight in (0, 3)),
    *(DistanceSum(centre, lattice, weight) for centre, lattice in AROUND for weight in (0, 11)),
    *(TailNodes(c, first, last, counted=last == 12) for c in CENTRES
      for first, last in ((-1022, 1023), (-10, 12))),
    *(Squares(c, octave, cap) for c, octave, cap in ((0.0, 0, 16), (1.25, -6, 3), (1e6, 20, 9))),
    Buckets(1.0, -5, 5), Buckets(0.125, -(1 << 40), 1 << 40),
    Median(0, -math.inf, math.inf), Median(0, 0.0, 1.5),
    Cells((-1.0, 1204.0)), Cells((0.0, 0.0)), Cells((-math.inf, math.inf)),
    Cells((5e-324, 2.0, 1e308)),
]  # fmt: skip


def in_memory(cells):
    return open_table([math.nan if cell is None else cell for cell in cells])


def same(found, expected):
    if isinstance(expected, dict):
        return found == expected
    return all(np.array_equal(one, two) for one, two in zip(found, expected, strict=True))


@pytest.fixture(scope="module")
def cells():
    return hostile()


@pytest.fixture(scope="module")
def expected(cells):
    return in_memory(cells)


@pytest.fixture(params=["postgres", "duck", "duck in SQL", "duck relation", "lite"])
def engine(request, cells):
    """An engine over the hostile column; DuckDB also with everything computed by its SQL."""
    name, _, way = request.param.partition(" ")
    database = request.getfixturevalue(name)
    made = database.make({"x": cells}, {"x": "double"})
    if way == "relation":
        made = {"data": database.connection.table(made["table"])}
    engine = open_table(columns="x", **made)
    if way == "in SQL":
        engine._session.in_process = False
    yield engine
    engine.close()


def test_every_query_has_the_integers_of_the_kernel(engine, expected):
    for query in QUERIES:
        assert same(engine.answer(query), expected.answer(query)), query
    assert engine.size == expected.size


@pytest.mark.parametrize("cells", [[], [None, math.nan]], ids=["none", "missing"])
def test_no_records(any_database, cells):
    expected = in_memory(cells)
    engine = open_table(columns="x", **any_database.make({"x": cells}, {"x": "double"}))
    for query in QUERIES:
        assert same(engine.answer(query), expected.answer(query)), query
    engine.close()


@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    exponent=st.integers(-1022, 1022),
    bits=st.integers(0, 2**64 - 1),
)
def test_any_bits_around_any_centre(database, seed, exponent, bits):
    cells = [*hostile(200, seed), *(-math.ldexp(1.0, exponent - 1075 + k) for k in range(4))]
    centre = float(np.array([bits], dtype=np.uint64).view(np.float64)[0])
    centre = centre if math.isfinite(centre) else 1.0
    lattice = Lattice(exponent, -(1 << 20), 3, 1 << 20)
    engine = open_table(columns="x", **database.make({"x": cells}, {"x": "double"}))
    engine._session.in_process = False
    expected = in_memory(cells)
    for query in (TailNodes(centre, -1022, 1023), ClippedSum(lattice, 1), Squares(centre, 3, 4)):
        assert same(engine.answer(query), expected.answer(query)), query
    engine.close()


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("integer", [2**63 - 1, -(2**63), 2**53 + 1, None, 0, -7]),
        ("boolean", [True, False, None, True]),
        ("real", [0.5, None, 2.0**100, -0.25]),
        ("numeric", ["0.1", "123456789012345678901234567890.1234", None, "-2.5"]),
    ],
)
def test_numbers_of_every_declared_type(database, kind, cells):
    engine = open_table(columns="x", **database.make({"x": cells}, {"x": kind}))
    numbers = [None if cell is None else float(cell) for cell in cells]
    expected = in_memory(numbers)
    for query in QUERIES[:12] + QUERIES[-6:]:
        assert same(engine.answer(query), expected.answer(query)), query
    # What a double may not hold is streamed: a cast on the server could raise for one record.
    assert isinstance(engine, SqlColumn) == (kind != "numeric")
    engine.close()


def test_exact_numbers_beyond_the_doubles_raise_nothing(postgres):
    cells = ["1e400", "-1e400", "NaN", "1e-400", "2.5"]
    engine = open_table(columns="x", **postgres.make({"x": cells}, {"x": "numeric"}))
    expected = in_memory([math.inf, -math.inf, None, 0.0, 2.5])
    assert engine.answer(Count())[0] == 4
    query = TailNodes(1.0, -10, 10)
    assert engine.answer(query) == expected.answer(query)
    engine.close()


@pytest.mark.parametrize(("kind", "match"), [("text", "not numeric"), ("date", "neither numeric")])
def test_other_declared_types_are_refused(database, kind, match):
    made = database.make({"x": []}, {"x": kind})
    with pytest.raises(ColumnError, match=match):
        open_table(columns="x", **made)


CONDITIONS = [
    ("x", "k > 1"), ("x / k", None), ("x * x", "s != 'b'"),
    ("x - k", "s is missing or s == 'a' or k < 3"),
    ("-x", "not (x < 0)"), ("x", "s < 'ä' and x / k > 1"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "where"), CONDITIONS)
def test_filters_and_computed_columns(any_database, cells, column, where):
    import pyarrow as pa

    some = [None if x is None or math.isnan(x) else x for x in cells[:600]]
    rows = {
        "x": some,
        "k": [None if i % 11 == 0 else i % 5 for i in range(600)],
        "s": [None if i % 7 == 0 else "aäb"[i % 3] for i in range(600)],
    }
    types = {"x": "double", "k": "integer", "s": "text"}
    engine = open_table(columns=column, where=where, **any_database.make(rows, types))
    expected = open_table(pa.table(rows), column, where=where)
    for query in (QUERIES[0], QUERIES[3], TailNodes(1.0, -1022, 1023), Median(0, -9.0, 1e300)):
        assert same(engine.answer(query), expected.answer(query)), query
    engine.close()


class TestSample:
    """The coins are those of Sampler, one for each place: here, that records meet them."""

    @pytest.fixture(params=["table", "view", "filtered"])
    def engine(self, request, postgres):
        made = postgres.make(
            {"x": [float(i) for i in range(3000)], "k": [i % 2 for i in range(3000)]},
            {"x": "double", "k": "integer"},
        )
        # Rows that are gone leave their places empty.
        postgres.connection.execute(f"DELETE FROM {made['table']} WHERE x >= 2000")
        if request.param == "view":
            name = f"{made['table']}v"
            postgres.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {made['table']}")
            made["table"] = name
        where = "k == 1" if request.param == "filtered" else None
        engine = open_table(columns="x", where=where, **made)
        engine.expected = range(1, 2000, 2) if where else range(2000)
        yield engine
        engine.close()

    def test_every_record_is_in_it_at_the_rate(self, engine):
        halvings, rounds = 2, 60
        counts = dict.fromkeys(map(float, engine.expected), 0)
        sizes = []
        for _ in range(rounds):
            sample = engine._sample(halvings)
            sample = sample[~np.isnan(sample)].tolist()
            assert len(set(sample)) == len(sample)
            sizes.append(len(sample))
            for x in sample:
                counts[x] += 1
        found = np.bincount(list(counts.values()), minlength=rounds + 1)
        law = stats.binom(rounds, 0.25)
        shares = law.pmf(np.arange(rounds + 1)) * len(counts)
        body = shares > 8
        observed = np.append(found[body], found[~body].sum())
        wanted = np.append(shares[body], shares[~body].sum())
        assert stats.chisquare(observed, wanted).pvalue > 1e-6
        assert abs(np.mean(sizes) / (len(counts) / 4) - 1) < 0.05

    def test_coins_are_new_each_time(self, engine):
        first, second = (engine._sample(3) for _ in "ab")
        assert not np.array_equal(first, second)


def test_special_doubles_survive_the_way(postgres):
    """Both ways of streaming, and the sample, give every double back."""
    engine = open_table(columns="x", **postgres.make({"x": list(SPECIAL)}, {"x": "double"}))
    wanted = np.sort(np.array(SPECIAL))
    np.testing.assert_array_equal(np.sort(engine._sample(0)), wanted)
    streamed = np.concatenate([*engine._streamed._numbers(1 << 10)])
    np.testing.assert_array_equal(np.sort(streamed), wanted)
    engine.close()
