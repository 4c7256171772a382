"""Folders, JSON, Excel, dicts and readers: one record changes how it is read itself, and no other.

``tests/backends`` compares their integers with those of memory.
"""

import io
import json
import math
import os
import random
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import tametail as tt
from tametail.cli import main
from tametail.data.open import open_source
from tametail.data.sources import CONVERTED, slices
from tametail.data.sources import json as json_source
from tametail.errors import ColumnError, DataError, MissingExtraError, ParameterError
from tametail.queries.column import Count
from tametail.schema import schema_of

from ..opened import open_table  # noqa: TID252

SECRET = "Mallory184000"


def numbers(data, column="x", parse=None):
    """Return the cells of a column as numbers, as they are read."""
    blocks = open_source(data, parse).blocks([(column, "number")], lambda part: None)
    return np.concatenate([np.empty(0), *(block[column, "number"] for block in blocks)]).tolist()


def same(found, wanted):
    assert np.array_equal(np.array(found, float), np.array(wanted, float), equal_nan=True), found


def text_of(error):
    """Return all that an error says, with whatever caused it."""
    return "".join(f"{one}" for one in (error, error.__cause__, error.__context__) if one)


# --- JSON


@pytest.fixture
def in_small_pieces(monkeypatch):
    monkeypatch.setattr(json_source, "_CHUNK", 3)


def written(folder, text):
    path = folder / "t.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet_bytes(columns):
    from pyarrow import parquet

    target = io.BytesIO()
    parquet.write_table(pa.table(columns), target)
    return target.getvalue()


HOSTILE = [
    {"x": 1}, {"x": 2.5, "y": "]},[{"}, {"x": '"', "z": "\\"}, {"z": "\\\\\""}, [1, 2, {"x": 9}],
    "x", None, 7, True, {"x": None}, {"x": {"x": 3}}, {"x": [4]}, {"y\"": 1, "x": -0.5}, {}, [],
    {"x": "5"},
    {"x": math.inf}, {"x": "\u2028\U0001f600"}, {"x": 10**400}, {"x": 1e-320}, {"a,b": "[", "x": 6},
]  # fmt: skip


def expected(records):
    def number(record):
        cell = record.get("x") if isinstance(record, dict) else None
        if not isinstance(cell, int | float):
            return math.nan
        return math.inf if cell > 1e308 else float(cell)

    return [number(record) for record in records]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_records_of_an_array_are_told_apart(indent, ascii_only, tmp_path, in_small_pieces):
    rng = random.Random(7)
    for size in (0, 1, 2, 40):
        records = [rng.choice(HOSTILE) for _ in range(size)]
        text = json.dumps(records, indent=indent, ensure_ascii=ascii_only)
        same(numbers(written(tmp_path, f"\n {text} \n")), expected(records))


def test_a_mark_at_the_beginning_is_left_out(tmp_path):
    same(numbers(written(tmp_path, b'\xef\xbb\xbf [{"x": 1}]')), [1])


@pytest.mark.parametrize("odd", [
    '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"x": ' + "9" * 5000 + "}",
    '{"x": 5, "long": "' + "a" * 3000 + '"}', b'{"x": "\xff"}',
])  # fmt: skip
def test_a_record_that_cannot_be_read_is_a_missing_one(odd, tmp_path, monkeypatch):
    monkeypatch.setattr(
        json_source, "_LONGEST", 2000 if b"long" in bytes(str(odd), "utf-8") else 1 << 24
    )
    odd = odd if isinstance(odd, bytes) else odd.encode()
    same(numbers(written(tmp_path, b'[{"x": 1}, ' + odd + b', {"x": 2}]')), [1, math.nan, 2])


@pytest.mark.parametrize("text", [
    '[{"x": 1}', '[{"x": 1},]', '[{"x": 1}] {"x": 2}', '[{"x": SECRET}]', '[{"x": "SECRET}]',
    '[{"x": 1]}', "[", "[{]", '[{"x": 1} {"x": 2}]', "[1,,2]", '["a\\', "[tru]",
])  # fmt: skip
def test_what_is_no_json_is_refused_without_a_word_of_it(text, tmp_path, in_small_pieces):
    path = written(tmp_path, text.replace("SECRET", SECRET))
    with pytest.raises(DataError, match="cannot be read as JSON") as caught:
        numbers(path)
    assert SECRET not in text_of(caught.value)


@pytest.mark.parametrize("text", ['{"x": 1}\n{"x": 2}\n', '{"data": [1]}', "", " ", "x\n1\n"])
def test_what_is_no_array_is_refused_before_it_is_charged(text, tmp_path):
    with pytest.raises(DataError, match=r"Parse\(format='jsonl'\)"):
        open_source(written(tmp_path, text))


# --- folders


def lay(top, files):
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def test_a_folder_of_one_kind_of_files(tmp_path):
    lay(
        tmp_path,
        {
            "a.csv": "x\n1\n",
            "b/c.csv": "x\n2\n",
            "_log.csv": "y\n",
            ".d/e.csv": "y\n",
            "read.me": "",
        },
    )
    same(numbers(tmp_path), [1, 2])
    (tmp_path / "t.json").write_text("[]")
    with pytest.raises(DataError, match="The files are CSV and JSON files"):
        open_source(tmp_path)


def test_a_folder_without_data_says_what_is_read(tmp_path):
    with pytest.raises(DataError, match=r"No data file in folder.*\.parquet.*\.csv"):
        open_source(tmp_path)


def test_the_names_of_folders_are_cells_that_are_read_one_by_one(tmp_path):
    files = {
        "year=2024/state=New%20York/a.csv": "x\n1\n2\n",
        "year=oops/state=N%2FA/a.csv": "x\n3\n",
        "year=__HIVE_DEFAULT_PARTITION__/state=/a.csv": "x\n4\n",
        "_year=1": "",
    }
    source = open_source(lay(tmp_path, files))
    wanted = [("year", "number"), ("year", "id"), ("state", "text"), ("x", "number")]
    found = {one: [] for one in wanted}
    for block in source.blocks(wanted, lambda part: None):
        for one in wanted:
            cells = block[one]
            found[one] += cells.to_pylist() if isinstance(cells, pa.Array) else cells.tolist()
    same(found["x", "number"], [1, 2, 4, 3])
    same(found["year", "number"], [2024, 2024, math.nan, math.nan])
    assert found["year", "id"] == [b"2024", b"2024", None, b"oops"]
    assert found["state", "text"] == [b"New York", b"New York", None, b"N/A"]
    # One more folder changes nothing but its own records.
    lay(tmp_path, {"year=2025/state=CA/b.csv": "x\n9\n"})
    same(numbers(tmp_path, "year"), [2024, 2024, 2025, math.nan, math.nan])


def test_a_column_of_folders_alone_can_be_asked_about(tmp_path):
    lay(tmp_path, {"year=2024/a.csv": "x\n1\n2\n", "year=2025/a.csv": "x\n3\n"})
    same(numbers(tmp_path, "year"), [2024, 2024, 2025])
    assert open_table(tmp_path, "year").answer(Count())[0] == 3
    same(numbers(tmp_path, "year", tt.Parse(header=False)), [2024] * 3 + [2025] * 2)


def test_a_file_below_no_such_folder_has_a_missing_cell(tmp_path):
    files = {"a.csv": "x\n1\n", "month=5/c.csv": "x\n3\n", "year=2024/b.csv": "x\n2\n"}
    lay(tmp_path, files)
    same(numbers(tmp_path), [1, 3, 2])
    same(numbers(tmp_path, "year"), [math.nan, math.nan, 2024])
    same(numbers(tmp_path, "month"), [math.nan, 5, math.nan])


def test_a_name_both_in_files_and_folders_is_refused(tmp_path):
    with pytest.raises(DataError, match="in the files and in the names of their folders"):
        open_source(lay(tmp_path, {"x=1/a.csv": "x\n1\n"}))


def test_a_first_row_that_may_be_a_record_stays_unshown(tmp_path):
    lay(tmp_path, {"year=1/a.csv": f"{SECRET},184000\n1,2\n"})
    with pytest.raises(ColumnError) as caught:
        open_table(tmp_path, "amount")
    assert SECRET not in text_of(caught.value)
    assert schema_of(tmp_path).hidden


def test_the_schema_names_the_columns_of_folders(tmp_path):
    pd.DataFrame({"x": [1.0], "year": ["a"]}).to_parquet(tmp_path / "t", partition_cols=["year"])
    assert schema_of(tmp_path / "t").columns == (
        ("x", "double"), ("year", "text, from the names of folders"),
    )  # fmt: skip


def test_no_message_names_the_cell_of_a_folder(tmp_path):
    for name in ("a", SECRET):
        (tmp_path / f"name={name}").mkdir()
        (tmp_path / f"name={name}" / "x.parquet").write_bytes(b"no Parquet")
    (tmp_path / "name=a" / "x.parquet").write_bytes(parquet_bytes({"x": [1.0] * 2000}))
    with pytest.raises(DataError, match=r"name=\.\.\./x.parquet' cannot be read") as caught:
        tt.mean(tmp_path, "x", epsilon=1)
    assert SECRET not in text_of(caught.value)


def test_files_in_folders_must_agree(tmp_path):
    for year, cells in ((1, [1.0]), (2, ["a"])):
        (tmp_path / f"year={year}").mkdir()
        pd.DataFrame({"x": cells}).to_parquet(tmp_path / f"year={year}" / "a.parquet")
    with pytest.raises(DataError, match="Use files with the same schema"):
        open_table(tmp_path, "x")


# --- Excel


def book(path, rows, sheets=1):
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    for place, row in enumerate(rows, 1):
        for column, cell in enumerate(row, 1):
            made.active.cell(place, column, cell)
    for _ in range(sheets - 1):
        made.create_sheet()
    made.save(path)
    return path


def test_cells_of_a_sheet_are_read_one_by_one(tmp_path):
    import datetime as dt

    rows = [
        ("x", "who"), (1, "a"), (2.5, "b"), ("3", "c"), (None, "d"), (True, "e"), (), ("n/a", None),
        (dt.datetime(2025, 1, 1), "f"), ("#DIV/0!", "g"), ("=1/0", "h"),
        (7, "i", "beyond"), (-1e300, 1),
    ]  # fmt: skip
    path = book(tmp_path / "t.xlsx", rows)
    nan = math.nan
    same(numbers(path), [1, 2.5, nan, nan, 1, nan, nan, nan, nan, 7, -1e300])
    same(numbers(path, parse=tt.Parse())[:3], [1, 2.5, 3])


def test_a_far_row_adds_one_record(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = book(tmp_path / "t.xlsx", [("x",), (1,), (2,)])
    made = openpyxl.load_workbook(path)
    made.active.cell(5000, 1, 3)
    made.active.cell(2, 900, "aside")
    made.save(path)
    same(numbers(path), [1, 2, 3])


def test_a_neighbor_of_a_sheet_is_read_alike(tmp_path):
    rng = random.Random(3)
    cells = [1, 2.5, "a", "1", None, True, 1e300, "=A1", " ", "\u2028", 0, -7, "#N/A"]
    records = [(rng.choice(cells), rng.choice(cells)) for _ in range(60)]
    whole = numbers(book(tmp_path / "a.xlsx", [("x", "y"), *records]))
    # A formula that nobody has computed has no value.
    kept = [record for record in records if not {*record} <= {None, "=A1"}]
    for place in range(0, len(kept), 7):
        fewer = kept[:place] + kept[place + 1 :]
        found = numbers(book(tmp_path / "b.xlsx", [("x", "y"), *fewer]))
        same(found, whole[:place] + whole[place + 1 :])


def test_a_date_beyond_the_calendar_gives_no_warning(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = book(tmp_path / "t.xlsx", [("x",), (1,), (99999999999,)])
    made = openpyxl.load_workbook(path)
    made.active.cell(3, 1).number_format = "yyyy-mm-dd"
    made.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(numbers(path), [1, math.nan])


def test_workbooks_that_cannot_be_meant_are_refused(tmp_path):
    with pytest.raises(DataError, match="has several sheets"):
        open_source(book(tmp_path / "t.xlsx", [("x",), (1,)], sheets=2))
    with pytest.raises(DataError, match="is empty"):
        open_source(book(tmp_path / "t.xlsx", []))
    (tmp_path / "t.xlsx").write_bytes(SECRET.encode())
    with pytest.raises(DataError, match="cannot be read as an Excel workbook") as caught:
        open_source(tmp_path / "t.xlsx")
    assert SECRET not in text_of(caught.value)
    with pytest.raises(ColumnError) as caught:
        open_table(book(tmp_path / "t.xlsx", [(SECRET, 184000), (1, 2)]), "amount")
    assert SECRET not in text_of(caught.value)
    same(numbers(book(tmp_path / "t.xlsx", [(5, 1), (6, 2)]), "0", tt.Parse(header=False)), [5, 6])


def test_without_the_extra_the_message_has_the_line_that_installs_it(tmp_path, monkeypatch):
    import sys

    path = book(tmp_path / "t.xlsx", [("x",), (1,)])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match='needs the extra "excel"'):
        open_source(path)


# --- dicts and readers


def test_columns_of_a_dict_keep_their_types():
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    data = {
        "masked": masked, "big": np.array([1, 2, 3], ">i8"),
        "waits": np.array([1000, 2000, 3000], "m8[ms]"),
        "text": np.array(["1", "2,5", "x"]), "bytes": np.array([b"a", b"b", b"a"]),
        "frame": pd.Series([1.5, None, 2.5]), "arrow": pa.array([1, None, 3]),
        "list": [1, "2", None],
    }  # fmt: skip
    nan = math.nan
    same(numbers(data, "masked"), [1, nan, 3])
    same(numbers(data, "big"), [1, 2, 3])
    same(numbers(data, "waits"), [1, 2, 3])
    same(numbers(data, "frame"), [1.5, nan, 2.5])
    same(numbers(data, "arrow"), [1, nan, 3])
    same(numbers(data, "list"), [1, nan, nan])
    same(numbers(data, "text", tt.Parse(decimal=",")), [1, 2.5, nan])
    assert open_source(data).durations() == {"waits"}
    with pytest.raises(ColumnError, match="are text"):
        open_table(data, "text")
    for who in ("masked", "big", "text", "bytes", "frame", "arrow", "list"):
        assert open_table(data, "waits", person=who).size >= 1


def test_cells_of_lists_in_a_dict_never_make_it_fail():
    class Wilful(int):
        def __float__(self):
            raise RuntimeError(SECRET)

    cells = [
        1,
        Wilful(2),
        object(),
        "\ud800",
        b"\xff",
        [3],
        10**400,
        float("nan"),
        None,
        np.str_("4"),
    ]
    nan = math.nan
    same(numbers({"x": cells}), [1, 2, nan, nan, nan, nan, math.inf, nan, nan, nan])
    assert open_table({"x": cells, "y": [1.0] * 10}, "y", person="x").size >= 1


@pytest.mark.parametrize("data", [
    {}, {"x": 3}, {"x": "abc"}, {"x": [1], "y": [1, 2]}, {"x": np.zeros((2, 2))}, {"x": None},
    {1: [1.0], "1": [2.0]}, {"x": pd.DataFrame({"a": [1]})},
])  # fmt: skip
def test_dicts_that_cannot_be_meant_are_refused(data):
    with pytest.raises(ParameterError, match=r"mean\(\{'charge'"):
        open_source(data)


def test_a_reader_is_read_after_a_ledger_was_charged(tmp_path):
    seen = []

    def batches():
        for number in range(3):
            seen.append(number)
            yield pa.record_batch({"x": [float(number)] * 1000})

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.float64()}), batches())
    with pytest.raises(ColumnError, match=r"No column 'y'. Columns: x"):
        tt.mean(reader, "y", epsilon=1)
    assert seen == []
    ledger = tt.Ledger(tmp_path / "office.ledger")
    ledger.create("a", tt.pure(1))
    with pytest.raises(tt.errors.BudgetError):
        tt.mean(reader, "x", epsilon=2, ledger=ledger, dataset="a")
    assert seen == []
    assert abs(tt.mean(reader, "x", epsilon=1).value - 1) < 0.2
    assert seen == [0, 1, 2]


def test_a_reader_that_fails_says_nothing_of_the_records():
    def batches():
        yield pa.record_batch({"x": [1.0]})
        raise RuntimeError(SECRET)

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.float64()}), batches())
    with pytest.raises(DataError, match="can be read once") as caught:
        tt.mean(reader, "x", epsilon=1)
    assert SECRET not in text_of(caught.value)


# --- dictionaries, and no records


def categories(*numbers):
    """Return batches whose columns have dictionaries of their own, with so many cells each."""
    first, batches = 0, []
    for number in numbers:
        places = pa.array(np.arange(number, dtype=np.int8))
        texts = [f"k{first + place}" for place in range(number)]
        batches.append(pa.record_batch({
            "x": np.ones(number),
            "text": pa.DictionaryArray.from_arrays(places, texts),
            "size": pa.DictionaryArray.from_arrays(places, np.arange(number) + float(first)),
        }))  # fmt: skip
        first += number
    return batches


@pytest.mark.parametrize("number", [27, 28, 29, 60])  # 128 fit into the numbers of a dictionary
@pytest.mark.parametrize("kind", ["table", "pandas", "reader"])
def test_one_more_value_in_a_dictionary_fails_nowhere(kind, number):
    table = pa.Table.from_batches(categories(100, number))
    asked = [
        {"by": "text", "keys": ["k1", "k101"]}, {"person": "text"}, {"where": "text != 'k1'"},
        {"where": "size > 4"}, {"column": "size"}, {"column": "text", "parse": tt.Parse()},
        {"by": "text", "delta": 1e-9}, {"person": "size"},
    ]  # fmt: skip
    for one in asked:
        if kind == "pandas":
            data = table.to_pandas(types_mapper=pd.ArrowDtype)
        else:
            data = table.to_reader() if kind == "reader" else table
        assert tt.mean(data, **{"column": "x", "epsilon": 50} | one).has_warnings in (True, False)
    data = table.to_reader() if kind == "reader" else table
    numbers = open_table(data, "size", where="text == 'k3' or text == 'k120'")
    assert numbers.answer(Count()) == (2, 0, 98 + number)


def test_text_in_a_dictionary_need_not_be_text():
    """No reader checks that what is declared as text is UTF-8."""
    words = pa.Array.from_buffers(
        pa.large_string(), 2, [None, pa.py_buffer(np.array([0, 1, 2]).tobytes()),
                               pa.py_buffer(b"a\xff")])  # fmt: skip
    text = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1], pa.int8()), words)
    table = pa.table({"x": [1.0] * 4, "text": text})
    for data in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        for one in ({"by": "text", "keys": ["a"]}, {"person": "text"}, {"where": "text == 'a'"},
                    {"by": "text", "delta": 1e-9}):  # fmt: skip
            tt.mean(data, "x", epsilon=1, **one)
        assert open_table(data, "x", where="text == 'a'").answer(Count()) == (2, 0, 2)


STREAMS = {
    "csv": lambda table: ("x,g,p\n" + "".join(
        ",".join(map(str, row.values())) + "\n" for row in table.to_pylist())).encode(),
    "jsonl": lambda table: "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode(),
    "json": lambda table: json.dumps(table.to_pylist()).encode(),
    "parquet": lambda table: _written(table, pq.write_table),
    "arrow": lambda table: _written(table, pa.feather.write_feather),
}  # fmt: skip


def _written(table, write):
    file = io.BytesIO()
    write(table, file)
    return file.getvalue()


@pytest.mark.parametrize("form", STREAMS)
def test_a_stream_without_records_is_one_like_any_other(form):
    """Of a stream types are known only once it is read, and then even if there is no record."""
    for more in (
        {}, {"person": "p"}, {"by": "g", "keys": ["a"]}, {"by": "g", "delta": 1e-9},
        {"by": "g", "keys": ["a"], "person": "p", "groups_per_person": 1},
        {"by": "g", "keys": ["a", "b"], "other": "rest", "pooling": None},
    ):  # fmt: skip
        found = []
        one = pa.table({"x": [1.5], "g": ["a"], "p": ["u"]})
        for table in (one.slice(0, 0), one):
            stream = io.BytesIO(STREAMS[form](table))
            found.append(tt.mean(stream, "x", epsilon=1, parse=tt.Parse(format=form), **more))
        none, one = found
        assert (none.plan, none.columns) == (one.plan, one.columns)


# --- the command line, encodings, addresses


def test_standard_input_is_csv_unless_said_otherwise(tmp_path, monkeypatch, capsys):
    class Given:
        def __init__(self, content):
            self.buffer = io.BytesIO(content)

    records = "".join(f"{x}\n" for x in range(2000))
    monkeypatch.setattr("sys.stdin", Given(f"x\n{records}".encode()))
    assert main(["mean", "-", "-c", "x", "-e", "5", "-q"]) == 0
    assert abs(float(capsys.readouterr().out) - 1000) < 100
    monkeypatch.setattr("sys.stdin", Given(f"x;y\n{records}".replace("\n", ";1\n").encode()))
    assert main(["mean", "-", "-c", "x", "-e", "5", "-q", "--delimiter", ";"]) == 0
    lines = "".join(json.dumps({"x": x}) + "\n" for x in range(2000))
    monkeypatch.setattr("sys.stdin", Given(lines.encode()))
    assert main(["mean", "-", "-c", "x", "-e", "5", "-q", "--format", "jsonl"]) == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read_if_said_and_recognized_if_not(encoding, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,ü\n1,ä\n2,\U0001f600\n", encoding=encoding)
    same(numbers(path, parse=tt.Parse(encoding=encoding)), [1, 2])
    if encoding == "utf-16":
        with pytest.raises(DataError, match="encoding='utf-16'"):
            open_source(path)
    # A record that looks like the mark is a record.
    path.write_bytes(b"\xff\xfe1,2\n3,4\n")
    same(numbers(path, "0", tt.Parse(header=False)), [math.nan, 3])


def test_utf_32_is_not_taken_for_utf_16(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("x\n1\n".encode("utf-32"))
    with pytest.raises(DataError, match="encoding='utf-32'"):
        open_source(path)
    same(numbers(path, parse=tt.Parse(encoding="utf-32")), [1])


@pytest.mark.parametrize("scheme", ["https", "s3", "gs", "abfs"])
def test_addresses_are_refused_without_their_words(scheme):
    with pytest.raises(
        DataError, match=f"{scheme}:// cannot be read directly.*copy the file"
    ) as caught:
        tt.mean(f"{scheme}://user:{SECRET}@host/bucket/x.csv", "x", epsilon=1)
    assert SECRET not in text_of(caught.value)
    assert "No budget was spent" in str(caught.value)


@pytest.mark.parametrize("table", [None, "t"])
@pytest.mark.parametrize(
    ("scheme", "advice"),
    [
        *((name, "export a Parquet file") for name in ("bigquery", "snowflake", "trino", "mysql")),
        ("file", "Pass the path alone"),
    ],
)
def test_addresses_that_are_no_files_say_what_works(scheme, advice, table):
    with pytest.raises(DataError, match=f"{scheme}://.*{advice}") as caught:
        tt.mean(f"{scheme}://user:{SECRET}@host/x", "x", epsilon=1, table=table)
    assert SECRET not in text_of(caught.value)
    assert "No budget was spent" in str(caught.value)


def test_paths_with_colons_are_paths(tmp_path):
    path = tmp_path / "a:b" / "c.csv"
    path.parent.mkdir()
    path.write_text("x\n1\n")
    same(numbers(path), [1])
    os.chdir(tmp_path)
    same(numbers("a:b//c.csv"), [1])


# --- blocks of rows in memory


@pytest.mark.parametrize("columns", [1, 8, 9, 500])
def test_blocks_of_rows_in_memory_are_neither_long_nor_many(columns):
    """Of 500 columns blocks of 262 rows took ten times as long as the arithmetic."""
    wanted = [(f"c{column}", "number") for column in range(columns)]
    told = []
    ends = list(slices(300_000, wanted, told.append))
    assert [first for first, _ in ends] == [0, *(last for _, last in ends[:-1])]
    assert (ends[-1][1], told[-1]) == (300_000, 1.0)
    assert {last - first for first, last in ends[:-1]} == {max(CONVERTED // columns, 1 << 14)}
    assert list(slices(0, wanted, told.append)) == [(0, 0)]  # one at least, for its types
