"""Tables: text as the caller says, rows that stay, and nothing that one cell shows."""

from __future__ import annotations

import gc
import gzip
import json
import math
import sys
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from tametail.data import local
from tametail.data.cells import cell_to_float
from tametail.data.sources import blocks
from tametail.data.sources import csv as csv_tables
from tametail.data.text import text_to_floats, text_to_number
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.parse import Parse
from tametail.queries.column import Count, LogHistogram
from tametail.queries.rows import ColumnMedians, Rows

from ..opened import open_table  # noqa: TID252
from .number_reference import number_in


def numbers(data, column=None, **options):
    """Return the numbers of one column as the engine reads them."""
    engine = open_table(data, column, **options)
    return np.concatenate([np.empty(0), *(chunk[:, 0] for chunk in engine.chunks(1000))]).tolist()


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


# --- how text writes its numbers

OPTIONS = [
    Parse(),
    Parse(decimal=","),
    Parse(decimal=",", thousands="."),
    Parse(thousands=",", currency="$€", accounting=True, percent=True),
    Parse(thousands="'", currency=("CHF", "Fr.", "EUR")),
    Parse(decimal=",", thousands="\u202f", percent=True),
    Parse(accounting=True),
]

CELLS = st.one_of(
    st.text(alphabet="0123456789+-.,eE()$€% 'infatyCHFrUR\u202f\n\t", max_size=14),
    st.floats().map(repr),
    st.integers(-(10**9), 10**9).map("{:,}".format),
    st.floats(0, 1e9).map("(${:,.2f})".format),
    st.floats(0, 100).map("{:.1f} %".format),
)


@settings(max_examples=600)
@given(cells=st.lists(st.one_of(CELLS, st.none()), max_size=5), parse=st.sampled_from(OPTIONS))
def test_text_is_read_as_the_specification_says(cells, parse):
    found = text_to_floats(pa.array(cells, pa.string()), parse)
    one_by_one = [math.nan if cell is None else text_to_number(cell, parse) for cell in cells]
    np.testing.assert_array_equal(found, one_by_one)
    np.testing.assert_array_equal(found, [number_in(cell, parse) for cell in cells])


AMOUNTS = st.decimals(-(10**9), 10**9, places=3)


@settings(max_examples=300)
@given(amount=AMOUNTS, places=st.integers(0, 3), others=st.lists(CELLS, max_size=3))
def test_no_cell_is_read_in_two_ways(amount, places, others):
    """Whatever stands in other cells, and wherever the file is from."""
    english, truth = f"{amount:,.{places}f}", float(f"{amount:.{places}f}")
    european = english.translate(str.maketrans(",.", ".,"))
    for cell, said, other in (
        (english, Parse(thousands=","), Parse(decimal=",")),
        (european, Parse(decimal=",", thousands="."), Parse()),
    ):
        assert text_to_number(cell, said) == truth
        unsaid = Parse(decimal=said.decimal)
        (found, *_) = text_to_floats(pa.array([cell, *others], pa.string()), unsaid)
        is_grouped = cell.count(said.thousands) > 0
        assert found == truth or (math.isnan(found) and is_grouped and not places)
        # By the other sign it is missing. Nothing can tell 1,234 from 1.234 if one says that the
        # comma is a decimal sign: that is what it is for.
        if is_grouped and (places or cell.count(said.thousands) > 1):
            assert math.isnan(text_to_number(cell, other))


@pytest.mark.parametrize(
    ("parse", "text", "number"),
    [
        (Parse(thousands=","), "1,200.50", 1200.5),
        (Parse(thousands=","), "1,00,000", 100_000.0),
        (Parse(thousands=","), "1,2", math.nan),
        (Parse(thousands=","), ",200", math.nan),
        # If nobody says what groups digits, only what can mean one number is one.
        (Parse(), "1,200.50", 1200.5),
        (Parse(), "-12,345,678.9", -12_345_678.9),
        (Parse(), "1,00,000.00", 100_000.0),
        (Parse(), "1,234.567", 1234.567),
        (Parse(), "1,234.5e3", 1_234_500.0),
        (Parse(currency="$"), "$1,200.50", 1200.5),
        (Parse(accounting=True), "(1,200.50)", -1200.5),
        (Parse(percent=True), "1,200.50%", 12.005),
        (Parse(), "1,234", math.nan),
        (Parse(), "1,234.", math.nan),
        (Parse(), "1,234,567", math.nan),
        (Parse(), "1.234,50", math.nan),
        (Parse(), "1.234.567", math.nan),
        (Parse(), "1,23.45", math.nan),
        (Parse(), "1234,567.89", math.nan),
        (Parse(), "0,123.45", math.nan),
        (Parse(), "1,234.50,60", math.nan),
        (Parse(), "12,5", math.nan),
        (Parse(), "1 200.50", math.nan),
        (Parse(decimal=","), "1.234,50", 1234.5),
        (Parse(decimal=","), "1.234", math.nan),
        (Parse(decimal=","), "1,234.50", math.nan),
        (Parse(thousands=" "), "1,200.50", math.nan),
        (Parse(decimal=","), "12,50", 12.5),
        (Parse(decimal=","), "12.50", math.nan),
        (Parse(accounting=True), "(123.45)", -123.45),
        (Parse(accounting=True), "(-1)", math.nan),
        (Parse(accounting=True), "(1", math.nan),
        (Parse(currency="$"), "-$5", -5.0),
        (Parse(currency="$"), "$ -5", -5.0),
        (Parse(currency="$"), "5 $", 5.0),
        (Parse(currency=("USD",)), "USD 5e3", 5000.0),
        (Parse(currency="$", accounting=True, thousands=","), "($1,200.50)", -1200.5),
        (Parse(currency="€", accounting=True, decimal=","), "(99,50) €", -99.5),
        (Parse(currency="$", accounting=True), "$ (5)", -5.0),
        (Parse(currency="USD"), "5 USD", 5.0),
        (Parse(currency=("USD", "EUR")), "EUR 12.50", 12.5),
        (Parse(currency="EUR"), "1E5", 1e5),
        (Parse(currency="EUR"), "1e5EUR", 1e5),
        (Parse(currency="EUR"), "5E", math.nan),
        (Parse(currency="EUR"), "EUR", math.nan),
        (Parse(currency="Rs.", thousands=","), "Rs. 1,00,000", 1e5),
        (Parse(currency="US$"), "US$5", 5.0),
        (Parse(percent=True), "12%", 0.12),
        (Parse(percent=True), "12", 12.0),
        (Parse(percent=True), "12%%", math.nan),
        (Parse(percent=True), "inf", math.inf),
    ],
)
def test_numbers_as_people_write_them(parse, text, number):
    np.testing.assert_array_equal(text_to_floats([text], parse), [number])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"delimiter": "ab"}, "Invalid delimiter='ab'"),
        ({"delimiter": '"'}, "delimiter="),
        ({"decimal": "x"}, "decimal='x'"),
        ({"decimal": None}, "decimal=None"),
        ({"thousands": "0"}, "thousands='0'"),
        ({"decimal": ",", "thousands": ","}, "both ','"),
        ({"currency": "5"}, "Invalid currency"),
        ({"currency": 5}, "Invalid currency"),
        ({"percent": 1}, "Invalid percent"),
        ({"header": "no"}, "Invalid header"),
        ({"encoding": "klingon"}, "encoding='klingon'"),
        ({"encoding": 8}, "encoding=8"),
    ],
)
def test_options_that_cannot_be_meant(wrong, message):
    with pytest.raises(ParameterError, match=message):
        Parse(**wrong)


GROUPED = ["1,200.50", "1,200", "300", "1.200,50"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", [True, False])
def test_files_read_numbers_alike(tmp_path, delimiter, header):
    expected, parse = [1200.5, math.nan, 300.0, math.nan], Parse(delimiter=delimiter, header=header)
    lines = ["v,w".replace(",", delimiter)] * header + [f'"{cell}"{delimiter}1' for cell in GROUPED]
    path, name = write(tmp_path / "x.csv", "\n".join(lines)), "v" if header else "0"
    for column in (name, f"`{name}` * 1"):
        np.testing.assert_array_equal(numbers(path, column, parse=parse), expected)
    kept = numbers(path, name, where=f"`{name}` > 1000", parse=parse)
    assert [x for x in kept if not math.isnan(x)] == [1200.5]
    rows = "\n".join(json.dumps({"v": cell}) for cell in GROUPED)
    path = write(tmp_path / "x.jsonl", rows)
    np.testing.assert_array_equal(numbers(path, "v", parse=Parse()), expected)
    assert np.isnan(numbers(path, "v")).all()


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"v": pd.Series(GROUPED, dtype="string")}),
        pd.DataFrame({"v": pd.Series(GROUPED, dtype=object)}),
        pl.DataFrame({"v": GROUPED}),
        pl.LazyFrame({"v": GROUPED}),
        pa.table({"v": pa.array(GROUPED).dictionary_encode()}),
        duckdb.from_arrow(pa.table({"v": GROUPED})),
        GROUPED,
        np.array(GROUPED),
    ],
    ids=lambda data: type(data).__name__,
)
def test_text_in_memory_is_read_like_a_file(data):
    column = None if isinstance(data, list | np.ndarray) else "v"
    found = numbers(data, column, parse=Parse())
    np.testing.assert_array_equal(found, [1200.5, math.nan, 300.0, math.nan])


TEXT = ["1,200.50", "(3)", None, "n/a", "12"]
READ = Parse(thousands=",", accounting=True)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"v": pd.Series(TEXT, dtype="string")}),
        pd.DataFrame({"v": pd.Series(TEXT, dtype="string[pyarrow]")}),
        pl.DataFrame({"v": TEXT}),
        pl.LazyFrame({"v": TEXT}),
        pa.table({"v": TEXT}),
        pa.table({"v": pa.array(TEXT).dictionary_encode()}),
        duckdb.from_arrow(pa.table({"v": TEXT})),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_declared_text_is_refused_unless_the_caller_says_how_it_is_written(frame):
    with pytest.raises(ColumnError, match=r"text .* parse=Parse"):
        open_table(frame, "v")
    np.testing.assert_array_equal(
        numbers(frame, "v", parse=READ), [1200.5, -3.0, math.nan, math.nan, 12.0]
    )


def test_objects_are_read_as_text_if_the_caller_says_so(tmp_path):
    frame = pd.DataFrame({"v": pd.Series([1, "1,200.50", None, []], dtype=object)})
    np.testing.assert_array_equal(numbers(frame, "v"), [1.0] + [math.nan] * 3)
    found = numbers(frame, "v", parse=READ)
    np.testing.assert_array_equal(found, [1.0, 1200.5, math.nan, math.nan])
    pq.write_table(pa.table({"v": TEXT}), tmp_path / "x.parquet")
    assert numbers(tmp_path / "x.parquet", "v", parse=READ)[:2] == [1200.5, -3.0]
    with pytest.raises(ColumnError, match="parse=Parse"):
        open_table(tmp_path / "x.parquet", "v")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("block", [7, 1 << 22])
def test_delimiters_and_encodings(tmp_path, monkeypatch, encoding, block):
    text = 'Größe;wert\nä;"1.200,50 €"\nö;(3 €)\nü;12\n'
    path = write(tmp_path / "x.csv", text, encoding)
    monkeypatch.setattr(blocks, "_CSV_BLOCK", block)
    parse = Parse(
        delimiter=";", decimal=",", thousands=".", currency="€", accounting=True, encoding=encoding
    )
    assert numbers(path, "wert", parse=parse) == [1200.5, -3.0, 12.0]
    assert open_table(path, ["Größe", "wert"], parse=parse).columns == ("Größe", "wert")


# --- a first row that may be a record


@pytest.mark.parametrize(
    "first", ["Smith,184000", "Smith,", "Smith,Smith", 'Smith,"$184,000"', "Smith,12%", "Smith,1e3"]
)
def test_a_first_row_that_does_not_look_like_names_is_never_shown(tmp_path, first):
    path = write(tmp_path / "x.csv", f"{first}\nJones,2\n")
    for column in ("salary", "Smit", None):
        with pytest.raises(ColumnError, match=r"header=False.*header=True") as caught:
            open_table(path, column)
        assert "Smith" not in str(caught.value)
        assert "184" not in str(caught.value)
    with pytest.raises(ColumnError, match="Smith"):  # the caller insists
        open_table(path, "salary", parse=Parse(header=True))


def test_a_file_without_names(tmp_path):
    path = write(tmp_path / "x.csv", "1,10\n2\n3,30\n\n4,40,400\n")
    found = numbers(path, "1", parse=Parse(header=False))
    np.testing.assert_array_equal(found, [10.0, math.nan, 30.0, math.nan, 40.0])
    found = numbers(path, "2", parse=Parse(header=False))
    np.testing.assert_array_equal(found, [math.nan] * 4 + [400.0])


@pytest.mark.parametrize("cell", ["9" * 200_000, '"' + "a,\n" * 60_000 + '"'])
def test_a_long_cell_of_a_file_without_names_is_one_missing_cell(tmp_path, cell):
    """The first rows are looked at to read most of them fast, and are records."""
    path = write(tmp_path / "x.csv", f'1,10\n2,"20"\n{cell},30\n')
    (count,) = open_table(path, "1", parse=Parse(header=False)).answer(Count())[:1]
    assert count == 3
    path = write(tmp_path / "y.csv", '"1"\n\n"2"\n')
    assert numbers(path, "0", parse=Parse(header=False))[0] == 1


def test_names_that_look_like_names_are_shown(tmp_path):
    path = write(tmp_path / "x.csv", "name,salary\nSmith,184000\n")
    with pytest.raises(ColumnError, match="Did you mean 'salary'"):
        open_table(path, "salry")


# --- files


def test_a_list_beside_a_column_is_a_list_of_paths(tmp_path):
    first = write(tmp_path / "a.csv", "v,w\n1,2\n")
    second = write(tmp_path / "b.csv", "v,w\n3,4\n")
    assert numbers([second, str(first)], "w") == [4.0, 2.0]
    with pytest.raises(ParameterError, match="must contain paths"):
        open_table([first, 1.0], "w")
    with pytest.raises(ParameterError, match="empty"):
        open_table([], "w")
    # Without a column items are cells, whatever they look like.
    assert open_table([str(first), str(second)]).answer(Count())[0] == 0


@pytest.mark.parametrize("kept", [0, 1 << 23])
def test_a_block_is_parsed_once_for_all_columns(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(csv_tables, "_KEPT_CELLS", kept)
    path = write(tmp_path / "x.csv", "a,b,c\n" + "1,2,3\n" * 50)
    parsed, read = [], csv_tables._read

    def counted(*block):
        parsed.append(block)
        return read(*block)

    monkeypatch.setattr(csv_tables, "_read", counted)
    engine = open_table(path, ["c", "a"])
    for _ in range(3):
        assert np.concatenate(list(engine.chunks(7))).tolist() == [[3.0, 1.0]] * 50
    assert len(parsed) == (1 if kept else 3)
    assert engine.column(0).answer(Count())[0] == 50
    assert engine.size == 50
    assert len(parsed) == (1 if kept else 4)  # the size is known from a pass


def test_a_file_that_does_not_fit_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_tables, "_KEPT_CELLS", 60)
    monkeypatch.setattr(blocks, "_CSV_BLOCK", 64)
    path = write(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 50)
    engine = open_table(path, ["a", "b"])
    for _ in range(2):
        assert sum(map(len, engine.chunks(100))) == 50
    assert engine.backend._shared.reader.source._kept.find([0]) is None
    assert open_table(path, "a").answer(Count())[0] == 50


@pytest.mark.parametrize("tail", ['"\n5,6\n', '"', "\n5,6\n"])
@pytest.mark.parametrize("block", [10, 64])
@pytest.mark.parametrize("packed", [False, True])
def test_a_row_too_long_is_one_missing_record(tmp_path, monkeypatch, tail, block, packed):
    monkeypatch.setattr(blocks, "_LONGEST_ROW", 300)
    monkeypatch.setattr(blocks, "_CSV_BLOCK", block)
    long = 'a""\n,9\n' * 200
    text = f'v,w\n1,2\n3,"{long}{tail}'
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = numbers(path, "v")
    assert found[0] == 1.0
    assert found[2:] == ([5.0] if tail.startswith('"\n') else [])
    assert math.isnan(found[1])
    assert len(found) == open_table(path, "v").size


def test_every_byte_of_a_long_row_is_looked_at_once(monkeypatch):
    looked, without_stray_quotes = [], blocks._without_stray_quotes

    def counted(text, delimiter):
        looked.append(len(text))
        return without_stray_quotes(text, delimiter)

    monkeypatch.setattr(blocks, "_without_stray_quotes", counted)
    pieces = [b'1,"' + b"x" * 997, *[b"x" * 1000] * 200]
    assert len(list(blocks._rows(iter(pieces), b","))) == 1
    assert sum(looked) <= 201 * 1003


# --- data that change


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("column", ["v", ["v", "w"]])
def test_another_number_of_rows_in_a_later_pass(tmp_path, monkeypatch, kind, column):
    monkeypatch.setattr(csv_tables, "_KEPT_CELLS", 0)
    path = tmp_path / f"x.{kind}"
    first, second = Count(), LogHistogram(0.0, 0, 1)
    if column != "v":
        first, second = Rows(), ColumnMedians(0, ((0, 9),) * 2)

    def fill(rows):
        frame = pl.DataFrame({"v": [1.0] * rows, "w": [2.0] * rows})
        frame.write_csv(path) if kind == "csv" else frame.write_parquet(path)

    fill(9)
    engine = open_table(path, column)
    assert engine.answer(first)[0] == 9
    fill(8)
    with pytest.raises(DataError, match="change between reads"):
        engine.answer(second)
    engine = open_table(path, column)
    assert engine.size == 8
    fill(9)
    with pytest.raises(DataError, match="change between reads"):
        engine.answer(first)


def test_checksums_of_pages_are_verified(tmp_path):
    path = tmp_path / "x.parquet"
    table = pa.table({"v": np.arange(1000.0)})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    whole = bytearray(path.read_bytes())
    place = whole.index(np.float64(700.0).tobytes())
    whole[place + 6] ^= 1
    path.write_bytes(whole)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        open_table(path, "v").answer(Count())


# --- progress


@pytest.mark.parametrize("kind", ["csv", "parquet", "array", "list"])
def test_progress_says_nothing_of_the_size(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(local, "_SECONDS", 0.0)
    monkeypatch.setattr(blocks, "_CSV_BLOCK", 1 << 16)
    values = np.arange(100_003.0)
    data, column = tmp_path / f"x.{kind}", "v"
    if kind == "csv":
        pl.DataFrame({"v": values}).write_csv(data)
    elif kind == "parquet":
        pl.DataFrame({"v": values}).write_parquet(data)
    else:
        data, column = values.tolist() if kind == "list" else values, None
    told = []
    open_table(data, column, told.append).answer(Rows())
    assert told[-1] == 1.0
    assert len(told) > 1
    assert all((20 * fraction).is_integer() for fraction in told)


def test_progress_goes_by_the_clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(local.time, "monotonic", lambda: now[0])
    told = []
    reporter = local.ProgressReporter(told.append)
    for step in range(1000):
        now[0] = step / 1000  # a second in all: told ten times at most
        reporter.tell(step / 1000)
    reporter.end()
    assert len(told) <= 11
    assert told[-1] == 1.0


# --- cells and columns with a will of their own


def _fail(*_):
    raise SystemExit("SECRET")


@pytest.mark.parametrize("base", [float, int, str, Fraction, object])
def test_no_code_of_a_cell_runs(base):
    body = dict.fromkeys(
        ("__float__", "__gt__", "__lt__", "__eq__", "__index__", "__str__", "__bool__"), _fail
    )
    kind = type("Unruly", (base,), {**body, "__class__": property(_fail), "__hash__": None})
    cell = object.__new__(kind) if base is object else kind(10**400 if base is int else 3)
    expected = {float: 3.0, int: math.inf, str: math.nan, Fraction: 3.0, object: math.nan}[base]
    np.testing.assert_array_equal(cell_to_float(cell), expected)
    np.testing.assert_array_equal(numbers([cell, 1.0]), [expected, 1.0])
    np.testing.assert_array_equal(numbers(np.array([cell, 1.0], dtype=object)), [expected, 1.0])


class _StrangeType(ExtensionDtype):
    name, type, na_value = "strange", float, math.nan

    @classmethod
    def construct_array_type(cls):
        return _Strange


class _Strange(ExtensionArray):
    """A class of columns that no library but its own knows."""

    def __init__(self, values):
        self._values = np.asarray(values)

    dtype = _StrangeType()

    def __len__(self):
        return len(self._values)

    def __getitem__(self, item):
        found = self._values[item]
        return found if np.isscalar(found) else _Strange(found)

    def isna(self):
        return np.isnan(self._values)

    def copy(self):
        return _Strange(self._values.copy())

    @classmethod
    def _from_sequence(cls, scalars, *, dtype=None, copy=False):
        return cls(scalars)


def test_a_type_of_columns_that_nobody_knows_is_refused():
    frame = pd.DataFrame({"v": pd.Series(_Strange([1.0, 2.0]))})
    with pytest.raises(ColumnError, match=r"strange.*Convert it to float64"):
        open_table(frame, "v")


def _calls(work):
    """Return the names of all functions that are called meanwhile."""
    called = []

    def note(frame, event, argument):
        if event == "call":
            called.append(frame.f_code.co_qualname)
        elif event == "c_call":
            called.append(argument.__qualname__)

    gc.disable()  # what it cleans up is called, too
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return called


@pytest.mark.parametrize("parse", OPTIONS)
@pytest.mark.parametrize("odd", ["unknown", "", "1,5", "9" * 400, "(", "%"])
def test_one_odd_cell_takes_no_other_way(parse, odd):
    plain = pa.array(["1.5"] * 1000)
    with_odd = pa.array(["1.5"] * 500 + [odd] + ["1.5"] * 499)
    text_to_floats(plain, parse)  # what is imported when first used
    assert _calls(lambda: text_to_floats(with_odd, parse)) == _calls(
        lambda: text_to_floats(plain, parse)
    )
