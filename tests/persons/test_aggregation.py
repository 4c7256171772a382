"""One row per person: a function of that person's records alone, in every order and every chunk."""

import math
import tempfile
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tametail.data.kernels import native
from tametail.data.persons import spill
from tametail.data.persons.ids import Ids
from tametail.data.persons.sums import ExactSums
from tametail.data.persons.totals import TotalsByPerson
from tametail.data.sources.parquet import ParquetSource
from tametail.doubles import LARGEST
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows

from ..opened import open_table  # noqa: TID252

NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from(
    [0.1, 1e300, -1e300, 5e-324, -0.0, LARGEST, -LARGEST, 2.0**-1022]
)
NAMES = st.sampled_from(["Müller", "Möller", "", "a", "A", None])
RECORDS = st.lists(st.tuples(NAMES, NUMBERS), min_size=1, max_size=40)


NOON = datetime(2025, 7, 1, 12, tzinfo=UTC)

#: Cells that are equal for Python, each list of them: the ids of one person.
ONE_ID = [
    [7, 7.0, np.int64(7), np.uint8(7), np.float32(7), np.float64(7), Decimal(7), Decimal("7.00")],
    [1, True, np.bool_(True), Decimal("1E0")],
    [0.0, -0.0, 0, Decimal("-0.0")],
    [2**63, Decimal(2**63), 2.0**63],
    [NOON, NOON.astimezone(ZoneInfo("Asia/Tokyo")), NOON.astimezone(timezone(timedelta(hours=-5)))],
]


class Zone(tzinfo):
    """A zone that ends the program when it is asked."""

    def utcoffset(self, moment):
        raise SystemExit

    dst = tzname = utcoffset


class Name(datetime):
    """A moment with code of its own."""

    def isoformat(self, *arguments):
        raise SystemExit

    __eq__ = __hash__ = isoformat


NO_ID = [
    *(datetime(2025, 7, 1, tzinfo=Zone()), Name(2025, 7, 1), Decimal("sNaN"), Decimal("nan")),
    *(np.timedelta64(5, "D"), np.timedelta64(5, "ns"), timedelta(days=5)),
]


def engine(data, person="who", column="x", where=None):
    return open_table(data, column, person=person, where=where)


def rows_of(records, cuts=(), limit=None):
    """Return T(D), sorted: bits of the sum, and the count, of every person."""
    totals = TotalsByPerson(1, limit=limit)
    for part in np.split(np.arange(len(records)), sorted(cuts)):
        names = pa.array([records[i][0] for i in part], pa.string())
        numbers = np.array([records[i][1] for i in part], dtype=np.float64)
        totals.add(numbers[:, np.newaxis], [names])
    found = totals.read()
    bits = found.sums[:, 0].copy().view(np.int64).tolist()
    return sorted(zip(bits, found.counts[:, 0].tolist(), strict=True))


class TestTotals:
    @settings(max_examples=60, deadline=None)
    @given(records=RECORDS, data=st.data())
    def test_order_and_chunks_do_not_matter(self, records, data):
        shuffled = data.draw(st.permutations(records))
        cuts = data.draw(st.lists(st.integers(0, len(records)), max_size=4))
        assert rows_of(shuffled, cuts) == rows_of(records)

    @settings(max_examples=60, deadline=None)
    @given(records=RECORDS, data=st.data())
    def test_without_a_person_there_is_one_row_less_and_no_other_change(self, records, data):
        whose = data.draw(st.sampled_from([name for name, _ in records]))
        left = [record for record in records if record[0] != whose]
        before, after = rows_of(records), rows_of(left)
        if whose is None:
            assert after == before
        else:
            own = rows_of([record for record in records if record[0] == whose])
            assert len(own) == 1
            assert sorted([*after, *own]) == before

    def test_shuffled_decimals_keep_their_sums(self):
        numbers = np.random.default_rng(1).normal(size=20_000).round(2)
        records = [("ab"[i % 2], x) for i, x in enumerate(numbers)]
        assert rows_of(records[::-1]) == rows_of(records)

    def test_more_persons_come_with_later_chunks(self):
        records = [(str(i % 50), 1.0 + i) for i in range(400)]
        assert rows_of(records, range(0, 400, 7)) == rows_of(records)


class TestLittleMemory:
    """With hardly any memory records wait in files, and the totals are the same."""

    @settings(max_examples=25, deadline=None)
    @given(records=RECORDS, data=st.data())
    def test_the_totals_are_those_of_one_pass(self, records, data):
        shuffled = data.draw(st.permutations(records))
        cuts = data.draw(st.lists(st.integers(0, len(records)), min_size=1, max_size=4))
        assert rows_of(shuffled, cuts, limit=0) == rows_of(records)

    @pytest.mark.parametrize("ids", ["text", "whole", "both"])
    def test_files_are_divided_again(self, ids, monkeypatch, tmp_path):
        monkeypatch.setattr(spill, "_FILES", 2)
        monkeypatch.setattr(spill, "_ROWS", 500)
        who = np.random.default_rng(2).integers(0, 3_000, 20_000)
        text = pa.array([f"Müller {i}" for i in (who // 50 if ids == "both" else who)])
        columns = {"text": text, "whole": pa.array(who * 2**40), "site": pa.array(who % 50)}
        person = ["text", "site"] if ids == "both" else [ids]
        x = np.random.default_rng(3).normal(size=len(who)).round(2)
        pq.write_table(pa.table({**columns, "x": x}), tmp_path / "a.parquet", row_group_size=500)
        monkeypatch.setattr(ParquetSource, "_rows_at_once", lambda *_: 500)
        expected = rows_in(engine(tmp_path / "a.parquet", person, where="x < 1"))
        # A batch of 500 goes beyond this, so that every file waits again, several times.
        monkeypatch.setenv("TAMETAIL_MEMORY", "50 KB")
        monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
        (tmp_path / "scratch").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", None)
        found = engine(tmp_path / "a.parquet", person, where="x < 1")
        assert rows_in(found) == expected
        assert found.size == len(set(who))
        assert isinstance(found.backend._shared.totals.sums.base, np.memmap)
        assert not list((tmp_path / "scratch").iterdir())

    def test_a_size_is_said_in_words(self, monkeypatch):
        monkeypatch.setenv("TAMETAIL_MEMORY", "2gb")
        assert spill.memory_limit() == 2 * 10**9
        monkeypatch.setenv("TAMETAIL_MEMORY", "much")
        with pytest.raises(ParameterError, match="500MB"):
            spill.memory_limit()

    def test_a_full_folder_is_said_without_a_word_of_the_records(self, monkeypatch):
        def full():
            raise OSError("no space for Müller")

        monkeypatch.setattr(spill, "scratch", full)
        with pytest.raises(DataError, match="TMPDIR") as caught:
            rows_of([(str(i), 1.0) for i in range(40)], [20], limit=0)
        assert "Müller" not in str(caught.value)
        assert caught.value.__context__ is None


def rows_in(engine):
    """Return T(D) of an engine, sorted."""
    columns = [engine.numbers(view) for view in (PersonResidual(0.0), PersonRows())]
    return sorted(zip(*(np.nan_to_num(each, nan=-1e9).tolist() for each in columns), strict=True))


class TestExactSums:
    @settings(max_examples=150, deadline=None)
    @given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
    def test_the_double_is_next_to_the_exact_sum(self, numbers):
        sums = ExactSums()
        sums.add(np.zeros(len(numbers), dtype=np.int64), np.array(numbers), 1)
        exact = sum(map(Fraction, numbers), Fraction(0))
        (found,) = sums.read()
        if abs(exact) >= Fraction(LARGEST):
            assert found == (LARGEST if exact > 0 else -LARGEST)
        else:
            assert abs(Fraction(found) - exact) <= Fraction(math.ulp(float(exact)))

    @settings(max_examples=100, deadline=None)
    @given(number=st.floats(allow_nan=False, allow_infinity=False))
    def test_one_number_is_itself(self, number):
        sums = ExactSums()
        sums.add(np.zeros(1, dtype=np.int64), np.array([number]), 1)
        assert sums.read().tolist() == [number]

    def test_large_values_that_differ_little_keep_their_differences(self):
        numbers = 1e12 + np.arange(1000) % 7
        who = np.arange(1000) % 10
        frame = pa.table({"who": who, "x": numbers})
        residuals = engine(frame).numbers(PersonResidual(1e12))
        wanted = np.bincount(who, (np.arange(1000) % 7).astype(float))
        assert np.allclose(residuals, wanted, atol=0.02)


class TestIds:
    def people(self, column, **more):
        count = len(column)
        return engine(pa.table({"who": column, "x": pa.array([1.0] * count), **more})).size

    def test_large_whole_numbers_are_no_floats(self):
        assert self.people(pa.array([2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2])) == 4
        many = np.arange(5_000) << 40  # of which tables of slots see the lowest bits alike
        assert self.people(pa.array([*many.tolist(), None, *many.tolist()])) == 5_000

    def test_text_is_its_bytes(self):
        many = [f"{number:x}" * 3 for number in range(5_000)]
        assert self.people(pa.array([*many, None, *many])) == 5_000
        assert self.people(pa.array(["Müller", "Möller", "müller", "M\u0075\u0308ller"])) == 4

    def test_ids_that_are_numbered_by_numpy_alone(self, monkeypatch):
        monkeypatch.setattr(native, "library", lambda: None)
        self.test_large_whole_numbers_are_no_floats()
        self.test_text_is_its_bytes()
        self.test_missing_ids_are_nobody()
        self.test_more_chunks_tell_ids_apart()
        self.test_columns_are_a_tuple()
        self.test_zero_has_one_sign(pa.float64())

    def test_missing_ids_are_nobody(self):
        assert self.people(pa.array(["a", None, "a", None])) == 1
        assert self.people(pa.array([1.5, None, math.nan, 1.5])) == 1
        assert self.people(pa.array([7, None, 7, None])) == 1

    @pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
    def test_zero_has_one_sign(self, kind):
        """Arrow tells -0.0 from 0.0, and Python does not: two in one chunk, and codes too few."""
        persons = Ids()
        first, later = ([0.0, -0.0, 5.0], [9.0, -0.0, 5.0])
        assert persons.codes([pa.array(np.array(first), kind)]).tolist() == [0, 0, 1]
        assert persons.codes([pa.array(np.array(later), kind)]).tolist() == [2, 0, 1]

    def test_more_chunks_tell_ids_apart(self):
        totals = TotalsByPerson(1)
        for start in (0, 5):
            names = pa.array([str(number) for number in range(start, start + 10)])
            totals.add(np.ones((10, 1)), [names])
        assert totals.read().counts[:, 0].tolist() == [1] * 5 + [2] * 5 + [1] * 5

    @settings(max_examples=60, deadline=None)
    @given(
        cells=st.lists(st.none() | st.sampled_from([b"", b"\0", b"a"]) | st.binary(max_size=20)),
        cuts=st.lists(st.integers(0, 60), max_size=4).map(sorted),
        most=st.integers(0, 5),
    )
    def test_texts_are_numbered_as_python_numbers_them(self, cells, cuts, most):
        persons, known = Ids(), {}
        column = pa.array(cells, pa.large_binary())
        for place, (start, end) in enumerate(pairwise([0, *cuts, max(len(cells), 60)])):
            more, expected = place < most, []
            for cell in cells[start:end]:
                fresh = known.setdefault(cell, len(known)) if more and cell is not None else None
                expected.append(-1 if cell is None else known.get(cell, -2) if not more else fresh)
            piece = column[start:end]  # a slice begins somewhere in its buffers
            assert persons.codes([piece], more=more).tolist() == expected
        assert len(persons) == len(known)

    def test_columns_are_a_tuple(self):
        frame = pa.table({"a": ["x", "xy", None, "x"], "b": ["yz", "z", "z", None], "x": [1.0] * 4})
        assert engine(frame, ["a", "b"]).size == 2
        # Four persons, of whom two are the same parts the other way round.
        frame = pa.table({"a": ["x", "xy", "x", "xy"], "b": ["yz", "z", "z", "yz"], "x": [1.0] * 4})
        assert engine(frame, ["a", "b"]).size == 4

    def test_times_dictionaries_and_decimals(self):
        days = pa.array([1, 2, 2, None], pa.date32())
        assert self.people(days) == 2
        assert self.people(pa.array([2**62, -(2**62)], pa.timestamp("ns"))) == 2
        assert self.people(pa.array(["a", "b", "a"]).dictionary_encode()) == 2
        assert self.people(pa.array([1, 2]).cast(pa.decimal128(30, 2))) == 2

    def test_objects_are_told_apart_by_kind_and_value(self):
        cells = [1, "1", b"1", 1.0, None, math.nan, object(), 1, "1"]
        frame = pd.DataFrame({"who": pd.Series(cells, dtype=object), "x": 1.0})
        assert engine(frame).size == 3
        frame["site"] = pd.Series(["a", None] * 4 + ["a"], dtype=object)
        assert engine(frame, ["who", "site"]).size == 3  # 1, b"1" and "1"

    @pytest.mark.parametrize("cells", ONE_ID, ids=lambda cells: type(cells[-1]).__name__)
    def test_one_id_is_one_person_however_it_is_written(self, cells):
        """Two persons instead of one would each have what is promised to both together."""
        frame = pd.DataFrame({"who": pd.Series(cells, dtype=object), "x": 1.0})
        assert engine(frame).size == 1

    @pytest.mark.parametrize("cell", NO_ID, ids=lambda cell: type(cell).__name__)
    def test_a_cell_of_code_that_nobody_knows_names_nobody(self, cell):
        frame = pd.DataFrame({"who": pd.Series(["a", cell], dtype=object), "x": 1.0})
        assert engine(frame).size == 1

    def test_moments_at_the_ends_of_the_calendar_are_ids(self):
        zones = [timezone(timedelta(hours=hours)) for hours in (-14, 0, 14)]
        ends = [end.replace(tzinfo=zone) for end in (datetime.min, datetime.max) for zone in zones]
        frame = pd.DataFrame({"who": pd.Series(ends, dtype=object), "x": 1.0})
        assert engine(frame).size == 6

    def test_a_type_that_names_nobody_is_refused(self):
        with pytest.raises(ColumnError, match="cannot be a person ID"):
            self.people(pa.array([[1], [2]]))
        lazy = pl.LazyFrame({"who": [[1], [2]], "x": [1.0, 2.0]})
        with pytest.raises(ColumnError, match="cannot be a person ID"):
            _ = engine(lazy).size


class TestSources:
    RECORDS = pa.table(
        {
            "who": ["Müller", "Möller", None, "Möller", "x, y"],
            "x": [1.5, 2.0, 100.0, None, -3.0],
            "age": [70.0, 20.0, 70.0, 80.0, 66.0],
        }
    )

    def frames(self, tmp_path):
        pq.write_table(self.RECORDS, tmp_path / "a.parquet")
        text = "who,x,age\nMüller,1.5,70\nMöller,2,20\n,100,70\nMöller,n/ä,80\n"
        (tmp_path / "a.csv").write_text(text + '"x, y",-3,66\n', encoding="utf-8")
        frame = self.RECORDS.to_pandas()
        return [
            self.RECORDS, frame, frame.astype({"who": object}), pl.from_arrow(self.RECORDS),
            pl.from_arrow(self.RECORDS).lazy(), tmp_path / "a.parquet", str(tmp_path / "a.csv"),
        ]  # fmt: skip

    def test_all_give_the_same_persons(self, tmp_path):
        for data in self.frames(tmp_path):
            one = engine(data)
            found = zip(one.numbers(PersonMean()), one.numbers(PersonRows()), strict=True)
            assert sorted(found) == [(-3.0, 1.0), (1.5, 1.0), (2.0, 1.0)]

    def test_all_filter_and_compute_alike(self, tmp_path):
        for data in self.frames(tmp_path):
            one = engine(data, column="x * 2 + age", where="age >= 65 and who != 'x, y'")
            assert np.sort(one.numbers(PersonMean())).tolist()[0] == 73.0
            assert np.isnan(one.numbers(PersonMean())).sum() == 2
            assert one.size == 3  # a filtered record is missing: its person stays

    def test_data_without_names_are_refused(self):
        with pytest.raises(ParameterError, match="no named columns"):
            engine(np.ones(3))

    def test_bytes_beyond_ascii_in_a_csv_file_keep_persons_apart(self, tmp_path):
        path = tmp_path / "odd.csv"
        path.write_bytes(b"who,x\n\xff,1\n\xfe,2\nM\xc3\xbc,3\nM\xc3\xb6,4\n")
        assert engine(path).size == 4
