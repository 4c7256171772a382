"""What is Spark's own: samples by slots, bits without a function for them, types, and errors.

That answers are those of memory is the table of ``tests/backends``.
"""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import asdict
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import tametail as tt
from tametail.data import sampling
from tametail.data.kernels.accumulator import CHUNK
from tametail.data.kernels.ball import Totals
from tametail.data.kernels.passes import Passes
from tametail.data.sql.spark import partials, sample
from tametail.data.sql.spark.sample import PartitionSizes, SparkRows
from tametail.errors import ColumnError, DataError, InternalError, ParameterError
from tametail.keys import Key
from tametail.queries import column
from tametail.queries.column import Buckets, ClippedSum, ClippingGrid, Count, LogHistogram, Median
from tametail.queries.groups import KeyCounts
from tametail.queries.persons import PersonMean, PersonRows
from tametail.queries.rows import Ball, BallSum, ColumnMedians

from ..opened import open_groups, open_table  # noqa: TID252
from ..spark import ON_SPARK  # noqa: TID252

pytestmark = ON_SPARK

ANY = (-math.inf, math.inf)


def test_without_errors_on_overflow(spark, records, reference):
    # The other arithmetic that Spark has: it wraps where the default raises.
    spark.conf.set("spark.sql.ansi.enabled", "false")
    engine = open_table(spark.createDataFrame([(x,) for x in records], "v double"))
    for query in (
        ClippedSum(ClippingGrid(exponent=-1022, low=-(2**36), center=0, high=2**36), 7),
        Buckets(inverse_width=0.5, low=-4, high=10**300),
        LogHistogram(center=-2.0, first=-1022, last=1023),
    ):
        assert engine.answer(query) == reference(query, records)
    spark.conf.unset("spark.sql.ansi.enabled")


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
def test_declared_types(spark, reference, comparable, kind):
    cells = DECLARED[kind]
    frame = spark.createDataFrame([(cell,) for cell in cells], f"v {kind}").coalesce(1)
    expected = [None if cell is None else float(cell) for cell in cells]
    # The keys of all records are their doubles, but for infinities.
    for query in (Median(0, *ANY), ClippedSum(ClippingGrid(-9, -(2**36), 0, 2**36), 1)):
        assert comparable(open_table(frame).answer(query)) == reference(query, expected)


def _doubles():
    """Random bits, and every border of a sixteenth with its neighbors, on both sides of zero."""
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


@pytest.mark.parametrize("center", [0.0, -3.7])
def test_the_profile_has_the_bits_of_every_double(spark, doubles, doubles_file, center):
    query, passes = LogHistogram(center, -3, 3), Passes()
    expected = passes.answer(query, lambda _: _chunks(doubles))
    engine = open_table(spark.read.parquet(doubles_file))
    assert engine.answer(query) == expected
    # Records at the center are in bins of their own, whatever their sign and sixteenth.
    (found,), wanted = engine.backend._profiles.values(), passes.found[center]
    assert found.records == wanted.records
    one, other = found.away(), wanted.away()
    np.testing.assert_array_equal(one.bins, other.bins)
    np.testing.assert_array_equal(one.counts, other.counts)
    finite = one.bins % (1 << 15) < 0x7FF << 4
    np.testing.assert_array_equal(one.rests[finite], other.rests[finite])


def _chunks(values):
    return np.array_split(values, values.size // CHUNK + 1)


def test_sums_beyond_64_bits(spark, monkeypatch):
    # Within the limits of a lattice it takes 2**27 records, and a minute.
    monkeypatch.setattr(column, "WIDEST_SIDE", 1 << 52)
    rows = 1 << 12
    frame = spark.range(rows).selectExpr("cast('Infinity' as double) as v")
    # The center is taken off after the sum: it is the ticks themselves that must be large.
    lattice = ClippingGrid(0, 0, 0, 2**52)
    assert open_table(frame).answer(ClippedSum(lattice, 3)) == (rows << 52, 3 * rows)


def test_totals_beyond_64_bits():
    part = Totals([-(2**62)], [2**62], [2], outside=1, rows=5)
    sent = json.loads(json.dumps(asdict(part)))
    total = partials._added([Totals(**sent)] * 4)
    assert total == Totals([-(2**64)], [2**64], [8], outside=4, rows=20)


def test_a_partition_may_come_in_several_batches_or_there_may_be_none(spark):
    ball = Ball((3.0, 1.0), (4.0, 2.0), (9, 50), order=2)
    rows = np.column_stack([np.arange(300.0) % 11, np.arange(300.0) % 5])
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "64")
    frame = spark.range(0, 300, 1, 2).selectExpr("double(id % 11) as `a.b`", "id % 5 as c")
    for some, same in ((frame, rows), (frame.limit(0), rows[:0]),
                       (spark.createDataFrame([], frame.schema), rows[:0])):  # fmt: skip
        found = open_table(some, ["a.b", "c"]).answer(BallSum(ball, 0, 1))
        assert found == open_table(same).answer(BallSum(ball, 0, 1))
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


class TestSample:
    @pytest.fixture
    def gaps(self, monkeypatch):
        """Inject the same gaps into every sampler: record 3, then every fifth."""
        monkeypatch.setattr(
            sampling, "geometric", lambda halvings, size: np.full(size, 4, dtype=np.int64)
        )

    def test_equals_memory_under_the_same_coins(self, spark, gaps, doubles, doubles_file):
        query = Median(8, *ANY)
        frame = spark.read.parquet(doubles_file).coalesce(1)
        expected = Passes().answer(query, lambda _: _chunks(doubles))
        for found, wanted in zip(open_table(frame).answer(query), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)

    @pytest.mark.parametrize("waste", [64, 0], ids=["one width", "counted"])
    def test_every_slot_has_a_coin_of_its_own(self, spark, gaps, monkeypatch, waste):
        monkeypatch.setattr(sample, "_LARGEST_WASTE", waste)
        frame = spark.range(0, 1000, 1, 4).selectExpr("cast(id as double) as v")
        keys, counts = open_table(frame).answer(Median(2, *ANY))
        assert keys.view(np.float64).tolist() == list(range(4, 1000, 5))
        assert set(counts.tolist()) == {1}

    def test_partitions_of_any_size(self, spark, monkeypatch):
        sizes = [0, 1, 900, 0, 3, 0]
        layout = [part for part, size in enumerate(sizes) for _ in range(size)]
        frame = spark.createDataFrame([(float(p),) for p in layout], "v double")
        frame = frame.repartitionByRange(6, "v").persist()
        for waste in (64, 0):
            monkeypatch.setattr(sample, "_LARGEST_WASTE", waste)
            _, counts = open_table(frame).answer(Median(1, 0.0, 9.0))
            assert stats.binomtest(int(counts.sum()), sum(sizes)).pvalue > 1e-7

    def test_coins_are_drawn_anew(self, spark):
        frame = spark.range(3000).selectExpr("cast(id as double) as v")
        engine = open_table(frame)
        first, second = (engine.answer(Median(1, 0.0, 1.0))[0] for _ in range(2))
        assert not np.array_equal(first, second)

    @pytest.mark.parametrize("most", [1 << 14, 0], ids=["few missing", "many missing"])
    def test_one_job_counts_and_samples(self, spark, monkeypatch, most):
        monkeypatch.setattr(sample, "_MOST_MISSING", most)
        frame = spark.range(0, 90_000, 1, 3).selectExpr("if(id % 1000 = 7, null, id) as v")
        engine = open_table(frame)
        assert engine.answer(Count())[0] == 90_000 - 90
        jobs = []
        monkeypatch.setattr(sample, "collect", jobs.append)
        # 90,000 rows were halved five times; halved seven times, some 700 are left.
        keys, counts = engine.answer(Median(7, *ANY))
        assert jobs == []
        assert stats.binomtest(int(counts.sum()), 90_000 - 90, 2.0**-7).pvalue > 1e-7
        assert set(counts.tolist()) == {1}
        assert not (keys.view(np.float64) % 1000 == 7).any()
        monkeypatch.undo()
        again, _ = engine.answer(Median(7, *ANY))
        assert not np.array_equal(keys, again)

    def test_what_was_halved_too_often_is_drawn_again(self, spark):
        engine = open_table(spark.range(20_000).selectExpr("double(id) as v"))
        assert engine.answer(Count())[0] == 20_000
        _, counts = engine.answer(Median(1, *ANY))
        assert stats.binomtest(int(counts.sum()), 20_000).pvalue > 1e-7

    def test_rows_that_were_not_counted_are_noticed(self, spark, gaps, monkeypatch):
        frame = spark.range(0, 1000, 1, 4).selectExpr("cast(id as double) as x", "0 as code")
        rows = SparkRows(frame)
        for shape in (PartitionSizes(600, 4, 150), PartitionSizes(500, 2, 250)):
            rows.__dict__["shape"] = shape  # shorter partitions, and fewer
            assert rows.draw(2).numbers.tolist() == list(range(4, 1000, 5))
        monkeypatch.setattr(rows, "_measured_in_full", lambda: shape)
        with pytest.raises(DataError, match="Write it to a table"):
            rows.draw(2)

    def test_many_slots_in_a_block(self):
        slots = np.array([0, 1, 2, 3, 4, 900, (1 << 33) + 5])
        table = sample._Table(slots, np.array([1000, 7]), halvings=8)
        # A marker stands behind each partition, and one in a partition that nobody counted.
        assert (table.bits, table.first.tolist(), len(table.picked)) == (7, [0, 8, 9], 10)
        assert table.starts.tolist() == [0, *[10] * 6, 5, 7, 9]

    def test_every_slot_is_among_those_of_its_block(self):
        rng = np.random.default_rng(8)
        for halvings in (1, 3, 6):
            widths = rng.integers(0, 500, 5)
            places = np.concatenate(
                [np.arange(width) + (p << 33) for p, width in enumerate(widths)]
            )
            slots = np.sort(rng.choice(places, len(places) >> halvings, replace=False))
            table = sample._Table(slots, widths, halvings)
            block = table.first[slots >> 33] + ((slots & (1 << 33) - 1) >> table.bits)
            starts = table.starts[block]
            near = [table.picked[start : start + table.most] for start in starts]
            assert all(slot in found for slot, found in zip(slots, near, strict=True))

    def test_every_cell_of_several_columns_has_a_coin(self, spark):
        """Executors draw them, from the operating system."""
        frame = spark.range(0, 40_000, 1, 4).selectExpr("id as a", "-id as b")
        engine = open_table(frame, ["a", "b"])
        first, second = (engine.answer(ColumnMedians(3, (ANY, ANY))) for _ in range(2))
        for keys, counts in first:
            # Binomial(40,000, 1/8): twelve standard deviations.
            assert abs(counts.sum() - 5000) < 800
            assert (np.diff(keys) > 0).all()
        assert not np.array_equal(first[0][0], second[0][0])
        assert not np.array_equal(first[0][0], -first[1][0][::-1])


class TestMean:
    @pytest.mark.parametrize(
        ("adjacency", "request_"),
        [("add-remove", {"epsilon": 1}), ("replace-one", {"rho": 0.5, "n": 10_000})],
    )
    def test_end_to_end(self, spark, adjacency, request_):
        frame = spark.range(20_000).selectExpr("cast(id % 101 as int) as amount", "id")
        release = tt.mean(frame, "amount", neighbors=adjacency, **request_)
        assert abs(float(release) - 50) < 5
        assert release.guarantee.protects == adjacency
        assert tt.replay(release.plan, release.answers) == release

    @pytest.mark.parametrize("request_", [{"rho": 0.5}, {"epsilon": 2, "neighbors": "replace-one"}])
    def test_two_columns(self, spark, request_):
        frame = spark.range(0, 20_000, 1, 3).selectExpr("double(id % 101) a", "int(id % 7) b")
        release = tt.mean(frame, ["a", "b"], **request_)
        assert release.columns == ("a", "b")
        assert np.abs(release.value - [50, 3]).max() < 5

    def test_persons_and_groups(self, spark):
        rng = np.random.default_rng(3)
        states = rng.choice(["CA", "NY", "ny", "Z\u00fcrich"], 1500)
        memory = pd.DataFrame({"who": np.arange(1500) % 97, "x": rng.normal(100, 50, 1500),
                               "y": rng.lognormal(3, 1, 1500), "state": states})  # fmt: skip
        frame = spark.createDataFrame(memory).persist()
        release = tt.mean(frame, "x", epsilon=30, person="who", where="x > -1e6 and x < 1e6")
        assert tt.replay(release.plan, release.answers) == release
        assert abs(float(release) - 100) < 100
        table = tt.mean(frame, "y", by="state", keys=["CA", "NY"], other="rest", epsilon=5)
        assert [row.group for row in table] == ["CA", "NY", "rest"]
        assert tt.replay(table.plan, table.answers) == table
        table = tt.mean(frame, "y", by="state", person="who", epsilon=9, delta=1e-3)
        assert {row.group for row in table} <= set(states)

    @pytest.mark.parametrize("budget", [{"rho": 1}, {"epsilon": 1, "delta": 1e-6}], ids=str)
    def test_one_column_by_itself_tells_that_records_lie_beyond_a_bound(self, spark, budget):
        """Clipped first, no answer could tell: the warning was lost on Spark alone."""
        memory = pd.DataFrame({"y": np.random.default_rng(2).normal(0, 1, 5_000)})
        for data in (memory, spark.range(5_000).selectExpr("randn(2) AS y")):
            release = tt.mean(data, "y", tail=tt.Bounded(0, None), **budget)
            assert release.assumption_contradicted is True
            assert "assumption-contradicted" in {note.code for note in release.notes}

    def test_a_table_of_the_catalogue(self, spark):
        spark.range(5000).selectExpr("double(id % 3) as v").createOrReplaceTempView("claims")
        release = tt.mean(spark.table("claims"), "v", epsilon=1)
        assert abs(float(release) - 1) < 0.5

    def test_zero_rows_are_data(self, spark):
        tt.mean(spark.createDataFrame([], "v double"), "v", epsilon=1)

    def test_no_row_enters_python(self, spark):
        frame = spark.range(20_000).selectExpr("double(id) as v")
        jobs = spark.sparkContext.statusTracker()
        spark.sparkContext.setJobGroup("mean", "")
        tt.mean(frame, "v", epsilon=1)
        # rows with sample and missing, profile, sum; a shuffle may be a job of its own
        assert 3 <= len(jobs.getJobIdsForGroup("mean")) <= 7
        spark.sparkContext._jsc.clearJobGroup()
        backend = open_table(frame, "v").backend
        plan = backend._frame(f"SELECT * FROM {backend._numbers()}")._jdf.queryExecution()
        assert "Python" not in plan.toString()

    def test_nothing_is_left_behind(self, spark):
        """What Spark keeps for a release, and the views it is named by, end with it."""
        frame = spark.range(300).selectExpr("id % 7 as who", "double(id) as x", "id % 3 as k")

        def kept():
            return len(spark.sparkContext._jsc.getPersistentRDDs()), spark.catalog.listTables()

        before = kept()
        tt.mean(frame, "x", by="k", keys=[0, 1], person="who", epsilon=1)
        assert kept() == before


def test_ids_of_other_types(spark):
    from pyspark.sql import functions as fn

    day, more = datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)
    cells = [
        (Decimal("1.00"), day, True, 0.0, b"\xff", "a", 1.0),
        (Decimal("1.01"), more, False, 1.5, b"\xfe", "A", 2.0),
        (None, None, None, math.nan, None, None, 4.0),
        (Decimal("1.00"), day, True, -0.0, b"\xff", "a", 8.0),
    ]
    schema = "d decimal(30,2), day date, t boolean, half double, b binary, s string, x double"
    frame = spark.createDataFrame(cells, schema)
    frame = frame.withColumn("s", fn.expr("s COLLATE utf8_lcase"))
    for person in (["d", "day", "t"], ["half"], ["b", "s"], ["s"]):
        engine = open_table(frame, "x", person=person)
        means = [doubles.tolist() for doubles in engine.view(PersonMean()).answer(Median(0, *ANY))]
        assert means == [np.array([2.0, 4.5]).view(np.int64).tolist(), [1, 1]], person
        engine.close()


def test_a_person_with_too_many_keys_has_some_chosen(spark):
    rows = [("Ann", f"k{i}", 1.0) for i in range(7)] + [("Bob", "k0", 1.0), ("Bob", "k0", 2.0)]
    frame = spark.createDataFrame(rows, "who string, k string, x double")
    groups = open_groups(frame, "x", ["k"], person="who")
    found = groups.answer(KeyCounts(whole=60, most=3))
    own = {key.label: weight for key, weight in found.items()}
    assert sum(own.values()) == 2 * 60
    assert own["k0"] in (60, 80)
    assert sum(weight > 0 for weight in own.values()) in (3, 4)


class TestErrors:
    def test_a_close_name_is_proposed(self, spark):
        frame = spark.range(3).selectExpr("double(id) as amount", "id")
        for columns in ("amout", ["id", "amout"]):
            with pytest.raises(ColumnError, match=r"No column 'amout'\. Did you mean 'amount'"):
                open_table(frame, columns)

    def test_names_that_need_quotes(self, spark):
        frame = spark.range(3).selectExpr("double(id) as `a.b``c`", "id")
        assert open_table(frame, "a.b`c").answer(Count())[0] == 3

    def test_a_name_that_is_not_unique(self, spark):
        frame = spark.range(3).selectExpr("double(id) as v", "id as v", "id as w")
        for asked in ({"columns": "v"}, {"columns": "v + 1"}, {"columns": "w", "where": "v > 1"},
                      {"columns": "w", "person": "v"}):  # fmt: skip
            with pytest.raises(ColumnError, match=r"called 'v'|the same name as another"):
                open_table(frame, **asked)

    @pytest.mark.parametrize("kind", ["string", "date", "array<double>", "struct<a:double>"])
    def test_a_type_that_is_not_numeric(self, spark, kind):
        frame = spark.createDataFrame([], f"w double, v {kind}")
        for columns in ("v", ["w", "v"]):
            with pytest.raises(ColumnError, match=r"'v' is text|'v' .*neither numeric"):
                open_table(frame, columns)

    def test_what_names_nobody_or_no_group_is_refused(self, spark):
        frame = spark.sql("SELECT array(1) AS who, 1D AS x, 0.5D AS half, 1 AS y, 2 AS y")
        with pytest.raises(ColumnError, match="identify neither people"):
            open_table(frame, "x", person="who")
        with pytest.raises(ColumnError, match="compared exactly"):
            open_groups(frame, "x", ["half"])
        with pytest.raises(ParameterError, match="parse="):
            open_table(frame, "x", person="half", parse=tt.Parse(thousands=","))
        with pytest.raises(ParameterError, match="parse="):
            open_groups(frame, "x", ["y"], parse=tt.Parse(thousands=","))

    @pytest.mark.parametrize(
        ("column", "budget"), [("v", {"epsilon": 1}), (["v", "w"], {"rho": 1})]
    )
    def test_a_frame_that_fails_quotes_nothing(self, spark, column, budget):
        frame = spark.createDataFrame([("SECRET",)], "s string")
        frame = frame.selectExpr("if(s = 'SECRET', double(raise_error(s)), 0.0) as v", "1 as w")
        with pytest.raises(DataError, match="is spent") as caught:
            tt.mean(frame, column, **budget)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_rows_have_no_positions(self, spark):
        with pytest.raises(InternalError, match="no positions"):
            open_table(spark.range(3)).rows(0, 1)


def test_several_groups_of_records_that_weigh_are_asked_as_one(spark):
    rows = [("a", 1.5, 2.0), ("b", 4.0, 1.0), ("a", None, 1.0), ("c", 8.0, 3.0), ("b", 2.0, 0.0)]
    frame = pd.DataFrame(rows, columns=["k", "x", "w"])
    keys = [Key(("a",)), Key(("b",))]
    answers = []
    for data in (frame, spark.createDataFrame(rows, "k string, x double, w double")):
        engine = open_groups(data, "x", ["k"], weights="w").grouped(keys, other=False)
        answers.append([engine.answer(Count()), engine.view(PersonRows(0)).answer(
            ClippedSum(ClippingGrid(0, -8, 0, 8), 1))])  # fmt: skip
    assert answers[0] == answers[1]
