"""Methods, sources, backends and commands, found by the program, are described and tested."""

import ast
import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, feather, parquet

import tametail as tt
from tametail.cli.shell import COMMANDS
from tametail.planning.table import METHODS, choose
from tametail.purposes import PURPOSES
from tametail.queries.column import ClippedSum, ClippingGrid, Count, LogHistogram
from tametail.statistic import REGRESSION, STATISTICS

from .backends.test_conformance import PLACES
from .opened import open_table
from .registry import backend_types, file_sources, session_types

ROOT = Path(__file__).parents[1]

# --- methods

EACH = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)

#: Data and arguments for which a method is chosen.
RECORDS = np.random.default_rng(1).lognormal(size=4000)
ROWS = np.column_stack([RECORDS, RECORDS**2, -RECORDS])
FRAME = pa.table({"paid": RECORDS, "who": np.arange(4000) // 4, "state": np.arange(4000) % 3})
CHOSEN = {
    "winsorized mean": (RECORDS, {"epsilon": 1}),
    "mean with joint clipping": (ROWS, {"rho": 0.5}),
    "mean with joint clipping, one scale": (ROWS, {"rho": 0.5, "same_scale": True}),
    "winsorized means, column by column": (ROWS, {"epsilon": 3}),
    "winsorized means, joint sum": (np.column_stack([ROWS] * 3), {"epsilon": 9}),
    "mean of the records of persons": (FRAME, {"column": "paid", "epsilon": 1, "person": "who"}),
    "bounded mean": (RECORDS, {"epsilon": 0.01, "tail": tt.Bounded(0, 50), "n": 4000}),
    "clipped mean around the densest bin": (
        RECORDS,
        {"epsilon": 0.01, "tail": tt.Moment(2, 5.0), "n": 4000, "within": 1000},
    ),
    "sum": (RECORDS, {"epsilon": 1}),
    "count": (RECORDS, {"epsilon": 1}),
    "quantiles": (RECORDS, {"epsilon": 1}),
    "description": (RECORDS, {"epsilon": 1}),
    "linear regression": (FRAME, {"y": "paid", "x": ["state == 1"], "rho": 0.5}),
    "weighted mean": (FRAME, {"column": "paid", "epsilon": 1, "weights": "1 + state"}),
    "share": (FRAME, {"column": "paid > 2", "epsilon": 1}),
    "means by group": (FRAME, {"column": "paid", "epsilon": 1, "by": "state", "keys": [0, 1, 2]}),
    "means by group, of persons": (
        FRAME,
        {"column": "paid", "epsilon": 3, "by": "state", "keys": [0, 1, 2], "person": "who"},
    ),
    "means by group, of persons in one group each": (
        FRAME,
        {
            "column": "paid",
            "epsilon": 3,
            "by": "state",
            "keys": [0, 1, 2],
            "person": "who",
            "groups_per_person": 1,
        },
    ),
}


def table_of_methods():
    """Return the rows of the table in the documentation: links by the name of the method."""
    page = (ROOT / "docs" / "explanation" / "method.md").read_text(encoding="utf-8")
    text = page.split("### All methods")[1].split("###")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return {cells[0].strip(): re.findall(r"\(([^)]+)\)", "|".join(cells[2:])) for cells in rows}


def test_the_documentation_lists_the_methods_that_there_are():
    assert set(table_of_methods()) == {method.name for method in METHODS} == set(PURPOSES)


def test_every_statistic_has_methods_of_its_own():
    assert {method.statistic for method in METHODS} == set(STATISTICS)
    for statistic in STATISTICS:
        columns = 2 if statistic == REGRESSION else 1
        request = tt.plan(n=1000, rho=1, n_columns=columns).request
        request = replace(request, statistic=statistic)
        assert choose(request, 1000, request.budget).statistic == statistic


@EACH
def test_every_method_has_pages_that_exist_and_a_proof(method):
    folder = ROOT / "docs" / "explanation"
    pages = [(folder / link).resolve() for link in table_of_methods()[method.name]]
    assert pages
    assert all(page.is_file() for page in pages)
    asks = f"{method.estimate.__module__}.{method.estimate.__qualname__}"
    assert f"\nproves: {asks} @" in "\n" + pages[-1].read_text(encoding="utf-8"), asks


@EACH
def test_every_method_is_chosen_and_replays(method):
    data, asked = CHOSEN[method.name]
    ask = {"sum": tt.sum, "count": tt.count, "quantiles": tt.median, "description": tt.describe,
           "linear regression": tt.regression}  # fmt: skip
    release = ask.get(method.name, tt.mean)(data, **asked)
    assert release.method == method.name
    assert tt.replay(release.plan, release.answers) == release
    assert all(str(step.name) in PURPOSES[method.name] for step in release.plan.steps)
    assert all(one.confidence >= 0.95 for row in release for one in row.intervals)


# --- sources and backends

COLUMNS = {"a": [1.0, None, 2.5, -7.0, 1e300, 0.1] * 50, "b": [3.0, 4.0, None, 0.5, -1.0, 2.0] * 50}


def matrix():
    return np.array([COLUMNS["a"], COLUMNS["b"]], dtype=float).T


def written(folder, name):
    """Write the columns to a file, and return its path."""
    path, table = folder / name, pa.table(COLUMNS)
    path.parent.mkdir(exist_ok=True)
    if name.endswith(".csv"):
        csv.write_csv(table, path)
    elif name.endswith(".parquet"):
        parquet.write_table(table, path)
    elif name.endswith(".feather"):
        feather.write_feather(table, path)
    elif name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
        table.to_pandas().to_excel(path, index=False)
    elif name.endswith(".json"):
        path.write_text(json.dumps(table.to_pylist()))
    else:
        path.write_text("\n".join(map(json.dumps, table.to_pylist())) + "\n")
    return path


#: By the name of a source, data that it reads; those of an iterator are one column.
DATA = {
    "ArraySource": lambda folder: matrix(),
    "ArrowSource": lambda folder: written(folder, "t.feather"),
    "ColumnsSource": lambda folder: {name: list(cells) for name, cells in COLUMNS.items()},
    "CsvSource": lambda folder: written(folder, "t.csv"),
    "DatasetSource": lambda folder: dataset.dataset(written(folder, "t.parquet")),
    "ExcelSource": lambda folder: written(folder, "t.xlsx"),
    "FolderSource": lambda folder: written(folder, "year=2025/t.csv").parents[1],
    "FrameSource": lambda folder: pa.table(COLUMNS),
    "JsonArraySource": lambda folder: written(folder, "t.json"),
    "JsonSource": lambda folder: written(folder, "t.jsonl"),
    "LaterSource": lambda folder: iter(COLUMNS["a"]),
    "ParquetSource": lambda folder: written(folder, "t.parquet"),
    "ReaderSource": lambda folder: pa.table(COLUMNS).to_reader(),
    "StreamSource": lambda folder: written(folder, "t.csv").open("rb"),
}
NAMELESS = ("ArraySource", "LaterSource")

ASKED = [Count(), ClippedSum(ClippingGrid(0, -100, 0, 100)), LogHistogram(0.0, -3, 5)]


@pytest.mark.parametrize("kind", file_sources(), ids=lambda kind: kind.__name__)
def test_every_kind_of_source_gives_the_same_integers(kind, tmp_path):
    parse = tt.Parse(format="csv") if kind.__name__ == "StreamSource" else None
    data = DATA[kind.__name__](tmp_path)
    opened = open_table(data, None if kind.__name__ in NAMELESS else ["a", "b"], parse=parse)
    assert type(opened.backend._shared.reader.source) is kind
    expected = open_table(matrix())
    for index in range(len(opened.columns)):
        for query in ASKED:
            assert opened.column(index).answer(query) == expected.column(index).answer(query)
    getattr(data, "close", lambda: None)()


def test_every_backend_and_every_database_is_asked_the_table_of_questions():
    """Places are named after the dialects; a session of another one has no place yet."""
    assert [kind.__name__ for kind in backend_types()] == ["Local", "SparkSql", "Sql"]
    dialects = {kind.dialect.name for kind in session_types()}
    assert dialects == {"ClickHouse", "DuckDB", "PostgreSQL", "SQLite", "Spark"}
    assert all(any(place.startswith(name) for place in PLACES) for name in dialects)
    assert {"pandas", "Polars, lazy", "Parquet", "CSV"} <= set(PLACES)


# --- commands


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_a_test(command):
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert re.search(rf"^\$ tametail {command}\b", page, re.MULTILINE)
    tests = (ROOT / "tests").rglob("test_*.py")
    assert any(f'"{command}"' in path.read_text(encoding="utf-8") for path in tests)


# --- benchmarks


def test_benchmarks_import_what_there_is():
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tametail"):
                module = importlib.import_module(node.module)
                names = {alias.name for alias in node.names}
                missing = {name for name in names if not hasattr(module, name)}
                for name in missing:
                    importlib.import_module(f"{node.module}.{name}")
