"""One column of a database: bits and declared types of any kind, and samples.

That answers are those of memory is the table of ``tests/backends``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.errors import ColumnError
from tametail.keys import parse_keys
from tametail.queries.column import (
    ClippedSum,
    ClippingGrid,
    Count,
    LogHistogram,
    Median,
    Squares,
)
from tametail.queries.groups import Cells, Keyed

from ..opened import open_groups, open_table  # noqa: TID252
from .conftest import SPECIAL, hostile, sampled

QUERIES = [
    Count(),
    LogHistogram(1.25, -1022, 1023, counted=True),
    ClippedSum(ClippingGrid(-9, -(1 << 36), 0, 1 << 36), 3),
    ClippedSum(ClippingGrid(-1022, -(1 << 36), 0, 1 << 36)),
    Median(0, -math.inf, math.inf),
    Cells(()),
    Cells((5e-324, 2.0, 1e308)),
]


def in_memory(cells):
    return open_table([math.nan if cell is None else cell for cell in cells])


def same(found, expected):
    if isinstance(expected, dict):
        return found == expected
    return all(np.array_equal(one, two) for one, two in zip(found, expected, strict=True))


@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    exponent=st.integers(-1022, 1022),
    bits=st.integers(0, 2**64 - 1),
)
def test_any_bits_around_any_center(database, seed, exponent, bits):
    cells = [*hostile(200, seed), *(-math.ldexp(1.0, exponent - 1075 + k) for k in range(4))]
    center = float(np.array([bits], dtype=np.uint64).view(np.float64)[0])
    center = center if math.isfinite(center) else 1.0
    lattice = ClippingGrid(exponent, -(1 << 20), 3, 1 << 20)
    engine = open_table(columns="x", **database.make({"x": cells}, {"x": "double"}))
    engine.backend._session.in_process = False
    expected = in_memory(cells)
    for query in (LogHistogram(center, -1022, 1023), ClippedSum(lattice, 1), Squares(center, 3, 4)):
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
    for query in QUERIES:
        assert same(engine.answer(query), expected.answer(query)), query
    # What a double may not hold is streamed: a cast on the server could raise for one record.
    assert engine.backend.is_remote == (kind != "numeric")
    engine.close()


def test_exact_numbers_beyond_the_doubles_raise_nothing(postgres):
    cells = ["1e400", "-1e400", "NaN", "1e-400", "2.5"]
    engine = open_table(columns="x", **postgres.make({"x": cells}, {"x": "numeric"}))
    expected = in_memory([math.inf, -math.inf, None, 0.0, 2.5])
    assert engine.answer(Count())[0] == 4
    query = LogHistogram(1.0, -10, 10)
    assert engine.answer(query) == expected.answer(query)
    engine.close()


@pytest.mark.parametrize(("kind", "match"), [("text", "is text"), ("date", "neither numeric")])
def test_other_declared_types_are_refused(database, kind, match):
    made = database.make({"x": []}, {"x": kind})
    with pytest.raises(ColumnError, match=match):
        open_table(columns="x", **made)


class TestSample:
    """The coins are those of Sampler, one for each place: here, that records meet them."""

    @pytest.fixture(params=["table", "view", "filtered", "groups", "DuckDB", "DuckDB, groups"])
    def engine(self, request, postgres, duck):
        database = duck if "DuckDB" in request.param else postgres
        made = database.make(
            {"x": [float(i) for i in range(3000)], "k": [i % 2 for i in range(3000)]},
            {"x": "double", "k": "integer"},
        )
        # Rows that are gone leave their places empty.
        database.connection.execute(f"DELETE FROM {made['table']} WHERE x >= 2000")
        if request.param == "view":
            name = f"{made['table']}v"
            postgres.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {made['table']}")
            made["table"] = name
        where = "k == 1" if request.param == "filtered" else None
        if "groups" in request.param:
            keys = parse_keys([7, 1], 1)
            opened = open_groups(columns="x", by=["k"], keys=keys, **made)
            engine = opened.grouped(keys, other=False)
        else:
            engine = opened = open_table(columns="x", where=where, **made)
        opened.backend._session.in_process = False
        odd = where or engine.relation.groups
        engine.expected = range(1, 2000, 2) if odd else range(2000)
        yield engine
        opened.close()

    def test_every_record_is_in_it_at_the_rate(self, engine):
        halvings, rounds = 2, 60
        counts = dict.fromkeys(map(float, engine.expected), 0)
        sizes = []
        for _ in range(rounds):
            sample = sampled(engine, halvings)
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

    def test_groups_have_samples_of_their_own_sizes(self, database):
        """All toss the coins of the largest sample, and those of other groups some more."""
        cells = {"x": [float(i) for i in range(9000)], "k": [i % 3 for i in range(9000)]}
        made = database.make(cells, {"x": "double", "k": "integer"})
        keys = parse_keys([0, 1, 2], 1)
        opened = open_groups(columns="x", by=["k"], keys=keys, **made)
        opened.backend._session.in_process = False
        queries = tuple(Median(halvings, -math.inf, math.inf) for halvings in (2, 5, 0))
        found = opened.grouped(keys, other=False).answer(Keyed(queries))
        for place, ((keys_found, counts), query) in enumerate(zip(found, queries, strict=True)):
            assert (keys_found.view(np.float64) % 3 == place).all()
            assert set(counts.tolist()) == {1}
            expected = 3000 / 2**query.halvings
            assert abs(len(keys_found) - expected) <= 7 * math.sqrt(expected) * bool(query.halvings)
        opened.close()

    def test_coins_are_new_each_time(self, engine):
        first, second = (sampled(engine, 3) for _ in "ab")
        assert not np.array_equal(first, second)


def test_special_doubles_survive_the_way(postgres):
    """Both ways of streaming, and the sample, give every double back."""
    engine = open_table(columns="x", **postgres.make({"x": list(SPECIAL)}, {"x": "double"}))
    wanted = np.sort(np.array(SPECIAL))
    np.testing.assert_array_equal(np.sort(sampled(engine, 0)), wanted)
    streamed = np.concatenate([*engine.chunks(1 << 10)])
    np.testing.assert_array_equal(np.sort(streamed[:, 0]), wanted)
    engine.close()
