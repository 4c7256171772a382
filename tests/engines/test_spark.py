"""Spark gives the integers of the same records in memory, in local mode."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import tametail as tt
from tametail.engines import sampling
from tametail.engines.kernels.accumulator import CHUNK
from tametail.engines.kernels.passes import Passes
from tametail.engines.open import open_table
from tametail.engines.spark import bits
from tametail.engines.spark import column as spark
from tametail.engines.spark import rows as spark_rows
from tametail.engines.spark.rows import Shape, _Table
from tametail.errors import ColumnError, DataError, InternalError
from tametail.queries.column import Buckets, ClippedSum, Count, Lattice, Median, TailNodes

from .conftest import QUERIES
from .spark_session import local_session, needs_java

pytestmark = needs_java


@pytest.fixture(scope="module")
def session():
    session = local_session()
    yield session
    session.stop()


@pytest.fixture(params=["bits", "splitting"])
def way(request, monkeypatch):
    """How the profile is made: by a double's bits, or where these are out of reach."""
    if request.param == "splitting":
        monkeypatch.setattr(spark, "double_bits", lambda _frame: None)
    return request.param


def test_the_bits_of_a_double_can_be_had_here(session):
    """Else the tests below would try one way twice."""
    assert bits.double_bits(session.range(1)) is not None


def test_bits_that_are_wrong_are_not_used(session, monkeypatch):
    found = bits._by_static_invocation(session)
    for wrong in (lambda x: found(x + 1), lambda x: found(x).bitwiseAND(-2), lambda x: x):
        monkeypatch.setattr(bits, "_by_static_invocation", lambda _session, wrong=wrong: wrong)
        assert bits._tried(session) is None


def test_without_a_virtual_machine_nothing_is_lost(session, monkeypatch):
    """As through Spark Connect: names of the machine cannot be found."""
    monkeypatch.setattr(bits, "_by_static_invocation", lambda session: session.no_such_name)
    assert bits._tried(session) is None


def test_equals_the_reference_at_every_border(session, records, reference, comparable, way):
    # One test, not one for each: the fixture of queries would mix the modules' sessions.
    frame = session.createDataFrame([(x,) for x in records], "v double").repartition(3)
    engine = open_table(frame, "v")
    for query in QUERIES:
        assert comparable(engine.answer(query)) == reference(query, records), query


def test_without_errors_on_overflow(session, records, reference):
    # The other arithmetic that Spark has: it wraps where the default raises.
    session.conf.set("spark.sql.ansi.enabled", "false")
    engine = open_table(session.createDataFrame([(x,) for x in records], "v double"))
    for query in (
        ClippedSum(Lattice(exponent=-1022, low=-(2**36), centre=0, high=2**36), 7),
        Buckets(inverse_width=0.5, low=-4, high=10**300),
        TailNodes(centre=-2.0, first=-1022, last=1023),
    ):
        assert engine.answer(query) == reference(query, records)
    session.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("cells", [[], [(None,), (math.nan,)]], ids=["none", "missing"])
def test_no_records(session, reference, cells):
    engine = open_table(session.createDataFrame(cells, "v double"), "v")
    assert engine.size == len(cells)
    for query in (
        Count(),
        ClippedSum(Lattice(exponent=0, low=-9, centre=0, high=9), count_weight=7),
        Buckets(inverse_width=0.5, low=-4, high=4),
        TailNodes(centre=0.0, first=-4, last=6),
    ):
        assert engine.answer(query) == reference(query, [cell for (cell,) in cells])
    assert [part.size for part in engine.answer(Median(3, 0.0, 1.0))] == [0, 0]


DECLARED = {
    "bigint": [2**53 + 1, -(2**63), 2**63 - 1, 5, None, -(2**53) - 3, 9007199254740993 * 1023],
    "tinyint": [-128, 127, 0],
    "float": [np.float32(x).item() for x in (0.1, 1e-45, math.inf, math.nan, 3.4e38, -0.0)],
    "decimal(20,2)": [Decimal("0.10"), Decimal("-7.50"), None, Decimal("123456789012345678.99")],
    "decimal(38,18)": [Decimal("0.1"), Decimal("9007199254740993.000000000000000001")],
    "decimal(38,0)": [Decimal(10**38 - 1), Decimal(2**90 + 2**37), Decimal(-(2**90) - 2**36)],
    "boolean": [True, False, None],
    "void": [None, None],
}


@pytest.mark.parametrize("kind", DECLARED)
def test_declared_types(session, reference, comparable, kind):
    cells = DECLARED[kind]
    frame = session.createDataFrame([(cell,) for cell in cells], f"v {kind}").coalesce(1)
    expected = [None if cell is None else float(cell) for cell in cells]
    # The keys of all records are their doubles, but for infinities.
    for query in (Median(0, -math.inf, math.inf), ClippedSum(Lattice(-9, -(2**36), 0, 2**36), 1)):
        assert comparable(open_table(frame).answer(query)) == reference(query, expected)


def _doubles():
    """Random bits, and every border of a sixteenth with its neighbours, on both sides of zero."""
    rng = np.random.default_rng(7)
    random = rng.integers(0, 1 << 64, 100_000, dtype=np.uint64).view(np.float64)
    exponents, mantissas = np.meshgrid(np.arange(-1022, 1024), 1 + np.arange(16) / 16)
    borders = np.ldexp(mantissas, exponents).ravel()
    middles = np.ldexp(mantissas + 1 / 32, exponents).ravel()
    edges = np.concatenate([borders, middles])
    near = [np.nextafter(edges, 0.0), edges, np.nextafter(edges, math.inf)]
    subnormal = np.arange(1, 1 << 12).astype(np.uint64).view(np.float64)
    positive = np.concatenate([*near, subnormal])
    return np.concatenate([random, positive, -positive])


@pytest.fixture(scope="module")
def doubles():
    return _doubles()


@pytest.fixture(scope="module")
def doubles_file(doubles, tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "doubles.parquet"
    pq.write_table(pa.table({"v": doubles}), path, row_group_size=1 << 16)
    return str(path)


@pytest.mark.parametrize("centre", [0.0, -3.7])
def test_the_profile_has_the_bits_of_every_double(session, doubles, doubles_file, centre, way):
    query = TailNodes(centre, -3, 3)
    expected = Passes()
    engine = open_table(session.read.parquet(doubles_file))
    assert engine.answer(query) == expected.answer(query, lambda _: _chunks(doubles))
    # Records at the centre are in bins of their own, whatever their sign and sixteenth.
    found = [passes.found[centre] for passes in (engine._passes, expected)]
    assert found[0].records == found[1].records
    one, other = (profile.away() for profile in found)
    np.testing.assert_array_equal(one.bins, other.bins)
    np.testing.assert_array_equal(one.counts, other.counts)
    finite = one.bins % (1 << 15) < 0x7FF << 4
    np.testing.assert_array_equal(one.rests[finite], other.rests[finite])


def _chunks(values):
    return np.array_split(values, values.size // CHUNK + 1)


def test_sums_beyond_64_bits(session):
    rows = 1 << 28
    frame = session.range(rows).selectExpr("cast('Infinity' as double) as v")
    lattice = Lattice(0, -(2**36), -(2**36), 0)
    assert open_table(frame).answer(ClippedSum(lattice, 3)) == (rows << 36, 3 * rows)


class TestSample:
    @pytest.fixture
    def gaps(self, monkeypatch):
        """Inject the same gaps into every sampler: record 3, then every fifth."""
        monkeypatch.setattr(
            sampling, "geometric", lambda halvings, size: np.full(size, 4, dtype=np.int64)
        )

    def test_equals_memory_under_the_same_coins(self, session, gaps, doubles, doubles_file):
        query = Median(8, -math.inf, math.inf)
        frame = session.read.parquet(doubles_file).coalesce(1)
        expected = Passes().answer(query, lambda _: _chunks(doubles))
        for found, wanted in zip(open_table(frame).answer(query), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)

    @pytest.mark.parametrize("waste", [64, 0], ids=["one width", "counted"])
    def test_every_slot_has_a_coin_of_its_own(self, session, gaps, monkeypatch, waste):
        monkeypatch.setattr(spark_rows, "_LARGEST_WASTE", waste)
        frame = session.range(0, 1000, 1, 4).selectExpr("cast(id as double) as v")
        keys, counts = open_table(frame).answer(Median(2, -math.inf, math.inf))
        assert keys.view(np.float64).tolist() == list(range(4, 1000, 5))
        assert set(counts.tolist()) == {1}

    def test_partitions_of_any_size(self, session, monkeypatch):
        sizes = [0, 1, 900, 0, 3, 0]
        layout = [part for part, size in enumerate(sizes) for _ in range(size)]
        frame = session.createDataFrame([(float(p),) for p in layout], "v double")
        frame = frame.repartitionByRange(6, "v").persist()
        for waste in (64, 0):
            monkeypatch.setattr(spark_rows, "_LARGEST_WASTE", waste)
            _, counts = open_table(frame).answer(Median(1, 0.0, 9.0))
            assert stats.binomtest(int(counts.sum()), sum(sizes)).pvalue > 1e-7

    def test_coins_are_drawn_anew(self, session):
        frame = session.range(3000).selectExpr("cast(id as double) as v")
        engine = open_table(frame)
        first, second = (engine.answer(Median(1, 0.0, 1.0))[0] for _ in range(2))
        assert not np.array_equal(first, second)

    @pytest.mark.parametrize("most", [1 << 14, 0], ids=["few missing", "many missing"])
    def test_one_job_counts_and_samples(self, session, monkeypatch, most):
        monkeypatch.setattr(spark_rows, "_MOST_MISSING", most)
        frame = session.range(0, 90_000, 1, 3).selectExpr("if(id % 1000 = 7, null, id) as v")
        engine = open_table(frame)
        assert engine.answer(Count())[0] == 90_000 - 90
        jobs = []
        monkeypatch.setattr(spark_rows, "collect", jobs.append)
        # 90,000 rows were halved five times; halved seven times, some 700 are left.
        keys, counts = engine.answer(Median(7, -math.inf, math.inf))
        assert jobs == []
        assert stats.binomtest(int(counts.sum()), 90_000 - 90, 2.0**-7).pvalue > 1e-7
        assert set(counts.tolist()) == {1}
        assert not (keys.view(np.float64) % 1000 == 7).any()
        monkeypatch.undo()
        again, _ = engine.answer(Median(7, -math.inf, math.inf))
        assert not np.array_equal(keys, again)

    def test_what_was_halved_too_often_is_drawn_again(self, session):
        engine = open_table(session.range(20_000).selectExpr("double(id) as v"))
        assert engine.answer(Count())[0] == 20_000
        _, counts = engine.answer(Median(1, -math.inf, math.inf))
        assert stats.binomtest(int(counts.sum()), 20_000).pvalue > 1e-7

    def test_rows_that_were_not_counted_are_noticed(self, session, gaps, monkeypatch):
        frame = session.range(0, 1000, 1, 4).selectExpr("cast(id as double) as v")
        rows = open_table(frame)._rows
        for shape in (Shape(600, 4, 150), Shape(500, 2, 250)):  # shorter partitions, and fewer
            rows.__dict__["shape"] = shape
            assert rows.draw(2).numbers.tolist() == list(range(4, 1000, 5))
        monkeypatch.setattr(rows, "_measured_in_full", lambda: shape)
        with pytest.raises(DataError, match="write it to a table"):
            rows.draw(2)

    def test_many_slots_in_a_block(self):
        slots = np.array([0, 1, 2, 3, 4, 900, (1 << 33) + 5])
        table = _Table(slots, np.array([1000, 7]), halvings=8)
        # Five slots in a row: blocks of 16 rows would hold too many.
        assert table.bits < 4
        assert np.diff(np.append(table.first, len(table.words))).min() >= 1


class TestMean:
    @pytest.mark.parametrize(
        ("unit", "request_"),
        [("add-remove", {"epsilon": 1}), ("replace-one", {"rho": 0.5, "n": 10_000})],
    )
    def test_end_to_end(self, session, unit, request_):
        frame = session.range(20_000).selectExpr("cast(id % 101 as int) as amount", "id")
        release = tt.mean(frame, "amount", unit=unit, **request_)
        assert abs(float(release) - 50) < 5
        assert release.guarantee.unit == unit
        assert tt.replay(release.plan, release.answers) == release

    def test_a_table_of_the_catalogue(self, session):
        session.range(5000).selectExpr("double(id % 3) as v").createOrReplaceTempView("claims")
        release = tt.mean(session.table("claims"), "v", epsilon=1)
        assert abs(float(release) - 1) < 0.5

    def test_zero_rows_are_data(self, session):
        tt.mean(session.createDataFrame([], "v double"), "v", epsilon=1)

    def test_no_row_enters_python(self, session):
        frame = session.range(20_000).selectExpr("double(id) as v")
        jobs = session.sparkContext.statusTracker()
        session.sparkContext.setJobGroup("mean", "")
        tt.mean(frame, "v", epsilon=1)
        # rows, sample and missing, profile, sum; a shuffle is a job of its own
        assert 4 <= len(jobs.getJobIdsForGroup("mean")) <= 7
        plan = spark.SparkEngine(frame)._numbers._jdf.queryExecution().toString()
        assert "Python" not in plan


class TestErrors:
    def test_a_close_name_is_proposed(self, session):
        frame = session.range(3).selectExpr("double(id) as amount", "id")
        with pytest.raises(ColumnError, match="no column 'amout': did you mean 'amount'"):
            open_table(frame, "amout")

    def test_names_that_need_quotes(self, session):
        frame = session.range(3).selectExpr("double(id) as `a.b``c`", "id")
        assert open_table(frame, "a.b`c").answer(Count())[0] == 3

    def test_a_name_that_is_not_unique(self, session):
        frame = session.range(3).selectExpr("double(id) as v", "id as v")
        with pytest.raises(ColumnError, match="has the name of another"):
            open_table(frame, "v")

    @pytest.mark.parametrize("kind", ["string", "date", "array<double>", "struct<a:double>"])
    def test_a_type_that_is_not_numeric(self, session, kind):
        frame = session.createDataFrame([], f"v {kind}")
        with pytest.raises(ColumnError, match="not numeric"):
            open_table(frame, "v")

    def test_a_frame_that_fails_quotes_nothing(self, session):
        frame = session.createDataFrame([("SECRET",)], "s string")
        frame = frame.selectExpr("if(s = 'SECRET', double(raise_error(s)), 0.0) as v")
        with pytest.raises(DataError, match="counts as spent") as caught:
            tt.mean(frame, "v", epsilon=1)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_rows_have_no_positions(self, session):
        with pytest.raises(InternalError, match="no stable positions"):
            open_table(session.range(3)).rows(0, 1)
