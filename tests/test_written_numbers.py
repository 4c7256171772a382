"""Numbers as people write them: how they are written is said by the caller, and never guessed."""

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tametail as tt
from tametail.cli import main
from tametail.data.open import open_source
from tametail.errors import ColumnError, ParameterError
from tametail.planning import Plan
from tametail.queries.column import Count
from tametail.request import Request

from .opened import open_table

#: How a cell is written, what says so in Python and on the command line, and what it means.
DIRTY = {
    "1,200": ({"thousands": ","}, ["--thousands", ","], 1200),
    "(123.45)": ({"accounting": True}, ["--accounting"], -123.45),
    "$1,200.50": ({"thousands": ",", "currency": "$"}, ["--thousands=,", "--currency=$"], 1200.5),
    "12,50": ({"decimal": ","}, ["--decimal", ","], 12.5),
    "12%": ({"percent": True}, ["--percent"], 0.12),
    "EUR 12.50": (
        {"currency": ("USD", "EUR")},
        ["--currency=USD", "--currency=EUR"],
        12.5,
    ),
    "USD 1'000": ({"thousands": "'", "currency": "USD"}, ["--thousands='", "--currency=USD"], 1e3),
}
N = 4_000


def frames(cells):
    table = pa.table({"v": pa.array(cells), "who": [str(i) for i in range(len(cells))]})
    return {
        "pandas": pd.DataFrame({"v": pd.Series(cells, dtype="string"), "who": range(len(cells))}),
        "objects": pd.DataFrame({"v": pd.Series(cells, dtype=object), "who": range(len(cells))}),
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),
        "arrow": table,
        "dictionary": table.set_column(0, "v", table["v"].dictionary_encode()),
        "duckdb": duckdb.from_arrow(table),
    }


def file_of(path, cells, delimiter=","):
    lines = [f'x{delimiter}"{cell}"' for cell in cells]
    path.write_text("\n".join([f"name{delimiter}v", *lines, ""]))
    return str(path)


@pytest.mark.parametrize(("cell", "said"), DIRTY.items(), ids=list(DIRTY))
def test_every_way_to_write_a_number(tmp_path, capsys, cell, said):
    written, options, value = said
    parse, path = tt.Parse(**written), file_of(tmp_path / "x.csv", [cell] * N)
    release = tt.mean(path, "v", epsilon=5, parse=parse)
    assert float(release) == pytest.approx(value, rel=1e-3)
    assert main(["mean", path, "--column=v", "--epsilon=5", "--json", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["value"] == pytest.approx(value, rel=1e-3)
    assert Plan.from_dict(told["plan"]).request == release.plan.request
    # Without a word about it such cells are missing, all of them.
    assert open_table(path, "v").answer(Count())[0] == 0


@pytest.mark.parametrize("kind", frames([""]))
def test_text_columns_of_frames(kind):
    frame = frames(["$1,200.50", "($3.00)", "n/a", None] * (N // 4))[kind]
    parse = tt.Parse(thousands=",", currency="$", accounting=True)
    release = tt.mean(frame, "v", epsilon=5, parse=parse, tail=tt.Bounded(-10, 2000))
    assert float(release) == pytest.approx(598.75, abs=20)
    for more in ({"person": "who"}, {"where": "v > 0"}):
        release = tt.mean(frame, "v", epsilon=5, parse=parse, **more)
        assert float(release) == pytest.approx(598.75 if "person" in more else 1200.5, abs=60)
    if kind == "objects":
        assert open_table(frame, "v").answer(Count())[0] == 0
        return
    with pytest.raises(ColumnError, match=r"text .* parse=Parse\(thousands=','\)"):
        tt.mean(frame, "v", epsilon=1)


def test_text_columns_of_parquet_files(tmp_path):
    cells = ["1.200,50", "n/a", "3,00", "x"] * 1000
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"v": cells, "g": ["a", "b"] * 2000}), path)
    parse = tt.Parse(decimal=",", thousands=".")
    assert float(tt.mean(path, "v", epsilon=5, parse=parse)) == pytest.approx(601.75, abs=20)
    assert float(tt.mean(path, "v * 2", epsilon=5, parse=parse)) == pytest.approx(1203.5, abs=40)
    grouped = tt.mean(path, "v", epsilon=5, parse=parse, by="g", keys=["a", "b"])
    assert grouped["a"].value == pytest.approx(601.75, abs=30)
    with pytest.raises(ColumnError, match="is text"):
        tt.mean(path, "v", epsilon=1)
    with pytest.raises(ColumnError, match="text"):
        tt.mean(path, "v", epsilon=1, where="v > 0")


def test_persons_filters_and_groups_of_csv_files(tmp_path):
    path = tmp_path / "x.csv"
    rows = "".join(f'{i};"1.200,50 €";{"ab"[i % 2]}\n' for i in range(N))
    path.write_text("who;v;g\n" + rows, encoding="cp1252")
    parse = tt.Parse(delimiter=";", decimal=",", thousands=".", currency="€", encoding="cp1252")
    for more in ({"person": "who"}, {"where": "g == 'a'"}, {"by": "g", "keys": ["a", "b"]}):
        release = tt.mean(path, "v", epsilon=5, parse=parse, **more)
        assert np.ravel(release.value)[0] == pytest.approx(1200.5, rel=0.01)


@pytest.mark.parametrize(
    "data",
    [["$5", 5, None, "x"], np.array(["$5", "5"]), np.array(["$5", 5, None], dtype=object)],
    ids=["list", "text", "objects"],
)
def test_text_in_lists_and_arrays(data):
    assert open_table(data, parse=tt.Parse(currency="$")).answer(Count())[0] == 2
    assert open_table(iter(list(data)), parse=tt.Parse(currency="$")).answer(Count())[0] == 2


def test_text_that_is_no_text():
    """Arrow does not check the bytes of text that it is handed."""
    offsets, data = np.array([0, 1, 3, 4], dtype=np.int32), b"1\xff22"
    cells = pa.StringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(data))
    for parse in (tt.Parse(), tt.Parse(currency="€", accounting=True, percent=True)):
        assert open_table(pa.table({"v": cells}), "v", parse=parse).answer(Count())[0] == 2


def test_a_list_of_paths_and_a_list_of_cells(tmp_path):
    paths = [file_of(tmp_path / f"{name}.csv", ["7"] * N) for name in "ab"]
    assert float(tt.mean(paths, "v", epsilon=5)) == pytest.approx(7, rel=1e-3)
    release = tt.mean(paths, epsilon=1)  # cells that are no numbers
    assert release.has_warnings
    assert (release.low, release.high) == (-np.inf, np.inf)


#: Amounts as they stand in a file, and what says so; the sign or scale that the mean gets by it.
FILES = {
    "thousands": ('"{:,.0f}"', {"thousands": ","}, 1),
    "accounting": ("({:.2f})", {"accounting": True}, -1),
    "dollars": ('"${:,.2f}"', {"thousands": ",", "currency": "$"}, 1),
    "comma": ('"{:.2f}"', {"decimal": ","}, 1),
    "percent": ("{:.2f}%", {"percent": True}, 0.01),
    "semicolons": ("{:.2f}", {"decimal": ",", "delimiter": ";"}, 1),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_written_otherwise_never_misleads(tmp_path, name):
    """Unless it is said how numbers are written, a release warns, or there is none."""
    form, written, factor = FILES[name]
    amounts = np.random.default_rng(3).lognormal(6.5, 1.2, 10_000)
    sign, path = written.get("delimiter", ","), tmp_path / "x.csv"
    cells = [form.format(x).replace(".", written.get("decimal", ".")) for x in amounts]
    rows = (f"{place}{sign}{cell}\n" for place, cell in enumerate(cells))
    path.write_text(f"id{sign}amount\n" + "".join(rows))
    if name == "semicolons":
        with pytest.raises(ColumnError, match=r"parse=Parse\(delimiter=';'\)") as caught:
            tt.mean(path, "amount", epsilon=1)
        assert "id;amount" not in str(caught.value)
    else:
        release = tt.mean(path, "amount", epsilon=1)
        assert release.has_warnings
        assert "many-unparsed-cells" in [note.code for note in release.notes]
    read = tt.mean(path, "amount", epsilon=1, parse=tt.Parse(**written))
    assert float(read) == pytest.approx(factor * amounts.mean(), rel=0.15)
    assert "many-unparsed-cells" not in [note.code for note in read.notes]


TEXT = [f"{x:,}" for x in range(900, 1900)]


@pytest.mark.parametrize(
    "data",
    [pd.Series(TEXT, dtype="string"), pl.Series(TEXT), pa.array(TEXT), np.array(TEXT)],
    ids=["pandas", "polars", "arrow", "numpy"],
)
def test_a_column_alone_that_is_declared_as_text(data):
    with pytest.raises(ColumnError, match=r"text .* parse=Parse\(thousands=','\)") as e:
        tt.mean(data, epsilon=1)
    assert "'None'" not in str(e.value)
    read = tt.mean(data, epsilon=5, parse=tt.Parse(thousands=","))
    assert float(read) == pytest.approx(1399.5, rel=0.05)


def test_lists_with_and_without_a_column():
    with pytest.raises(ParameterError, match="must contain paths"):
        tt.mean([1.0, 2.0], "x", epsilon=1)
    with pytest.raises(ParameterError, match="must contain paths"):
        tt.mean([{"x": 1.0}] * 9, "x", epsilon=1)
    text = tt.mean(TEXT, epsilon=5)  # cells that are no numbers, unless it is said how to read them
    assert text.has_warnings
    assert (text.low, text.high) == (-np.inf, np.inf)
    read = tt.mean(TEXT, epsilon=5, parse=tt.Parse(thousands=","))
    assert float(read) == pytest.approx(1399.5, rel=0.05)


def test_a_request_knows_how_numbers_are_written():
    parse = tt.Parse(decimal=",", currency=["$", "USD"])
    request = Request.parse(epsilon=1, parse=parse).with_names(["v"])
    assert Request.from_json(request.to_json()) == request
    assert request.written == tt.Parse(decimal=",", currency=("$", "USD"))
    plain = Request.parse(epsilon=1).with_names(["v"])
    assert request.hash() != plain.hash()
    assert "parse" not in plain.said()
    later = tt.plan(n=1000, epsilon=1).about(None, None, parse)
    assert Plan.from_json(later.to_json()).request.written == parse


@pytest.mark.parametrize("wrong", ["$", {"decimal": ","}, True])
def test_what_does_not_say_how_numbers_are_written(wrong):
    with pytest.raises(ParameterError, match="Use parse=Parse"):
        tt.mean([1.0], epsilon=1, parse=wrong)
    record = Request.parse(epsilon=1).with_names(["v"]).to_dict() | {"parse": {"comma": ","}}
    with pytest.raises(ParameterError, match="number format"):
        Request.from_dict(record)


# --- a first row that may be a record


@pytest.mark.parametrize(
    "first", ["Smith,184000", "Smith;184000", "Smith|3", "Smith\t1", "Smith,", "184001"]
)
@pytest.mark.parametrize("more", [{}, {"person": "id"}, {"where": "age > 3"}, {"by": "state"}])
def test_a_first_row_that_may_be_a_record_is_never_shown(tmp_path, first, more):
    path = tmp_path / "x.csv"
    path.write_text(f"{first}\nJones,2\n")
    more = more | ({"keys": ["a"]} if "by" in more else {})
    for column in ("Smit", "Smit / 2", None):
        if column is None and more:
            continue
        with pytest.raises((ColumnError, ParameterError)) as caught:
            tt.mean(path, column, epsilon=1, **more)
        for word in ("Smith", "184", "Jones"):
            assert word not in str(caught.value)
        assert "parse=Parse(header=False)" in str(caught.value)
        assert "parse=Parse(delimiter=';')" in str(caught.value)


def test_a_lone_number_is_no_name(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("184000\n" + "7\n" * 100)
    with pytest.raises(ColumnError, match="does not look like column names"):
        tt.mean(path, epsilon=1)
    assert open_table(path, "0", parse=tt.Parse(header=False)).answer(Count())[0] == 101


def test_names_of_several_columns_still_help(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,salary\n1,2\n")
    with pytest.raises(ColumnError, match="Did you mean 'salary'"):
        tt.mean(path, "salry", epsilon=1, person="id")
    assert list(open_source(path).names) == ["id", "salary"]
