"""Methods, tables, engines and commands, found by the program, are described and tested."""

import re
from pathlib import Path

import numpy as np
import polars
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import tametail as tt
from tametail.cli.shell import COMMANDS
from tametail.engines.open import open_table
from tametail.methods import REGISTRY
from tametail.queries.column import ClippedSum, Count, Lattice, TailNodes

from .registry import engine_types, local_tables, table_types

ROOT = Path(__file__).parents[1]

# --- methods

METHODS = pytest.mark.parametrize("method", list(REGISTRY), ids=lambda method: method.name)

#: Data and arguments for which a method is chosen.
RECORDS = np.random.default_rng(1).lognormal(size=4000)
ROWS = np.column_stack([RECORDS, RECORDS**2, -RECORDS])
FRAME = pa.table({"paid": RECORDS, "who": np.arange(4000) // 4, "state": np.arange(4000) % 3})
CHOSEN = {
    "winsorised mean": (RECORDS, {"epsilon": 1}),
    "mean in a weighted ball": (ROWS, {"rho": 0.5}),
    "mean in a ball, one scale for all columns": (ROWS, {"rho": 0.5, "common": True}),
    "winsorised means, columns apart": (ROWS, {"epsilon": 3}),
    "winsorised means, one sum": (np.column_stack([ROWS] * 3), {"epsilon": 9}),
    "mean of the records of persons": (FRAME, {"column": "paid", "epsilon": 1, "person": "who"}),
    "clamped mean": (RECORDS, {"epsilon": 0.01, "tail": tt.Bounded(0, 50), "n": 4000}),
    "clamped mean around a crowd": (
        RECORDS,
        {"epsilon": 0.01, "tail": tt.Moment(2, 5.0), "n": 4000, "within": 1000},
    ),
    "means by group": (FRAME, {"column": "paid", "epsilon": 1, "by": "state", "keys": [0, 1, 2]}),
    "means by group, of persons": (
        FRAME,
        {"column": "paid", "epsilon": 3, "by": "state", "keys": [0, 1, 2], "person": "who"},
    ),
}


def table_of_methods():
    """Return the rows of the table in the documentation: links by the name of the method."""
    page = (ROOT / "docs" / "mathematics" / "index.md").read_text(encoding="utf-8")
    text = page.split("### All methods")[1].split("###")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return {cells[0].strip(): re.findall(r"\(([^)]+)\)", "|".join(cells[2:])) for cells in rows}


def test_the_documentation_lists_the_methods_that_there_are():
    assert set(table_of_methods()) == {method.name for method in REGISTRY}


@METHODS
def test_every_method_has_pages_that_exist_and_a_proof(method):
    folder = ROOT / "docs" / "mathematics"
    pages = [(folder / link).resolve() for link in table_of_methods()[method.name]]
    assert pages
    assert all(page.is_file() for page in pages)
    asks = f"{method.estimate.__module__}.{method.estimate.__qualname__}"
    assert f"\nproves: {asks} @" in "\n" + pages[-1].read_text(encoding="utf-8"), asks


@METHODS
def test_every_method_is_chosen_and_replays(method):
    data, asked = CHOSEN[method.name]
    release = tt.mean(data, **asked)
    assert release.method == method.name
    assert tt.replay(release.plan, release.answers) == release
    assert all(str(step.name) in method.purposes for step in release.plan.steps)


# --- tables and engines

#: By its name, a table or an engine of these columns.
COLUMNS = {"a": [1.0, None, 2.5, -7.0, 1e300, 0.1] * 50, "b": [3.0, 4.0, None, 0.5, -1.0, 2.0] * 50}


def matrix():
    return np.array([COLUMNS["a"], COLUMNS["b"]], dtype=float).T


def whole_table(folder):
    table = pa.table(COLUMNS)
    parquet.write_table(table, folder / "t.parquet")
    csv.write_csv(table, folder / "t.csv")
    return table


TABLES = {
    "MatrixTable": lambda folder: matrix(),
    "ColumnsTable": whole_table,
    "LaterTable": lambda folder: polars.LazyFrame(COLUMNS),
    "ParquetTable": lambda folder: (whole_table(folder), folder / "t.parquet")[1],
    "CsvTable": lambda folder: (whole_table(folder), folder / "t.csv")[1],
    "ComputedTable": whole_table,
}

ASKED = [Count(), ClippedSum(Lattice(0, -100, 0, 100)), TailNodes(0.0, -3, 5)]


@pytest.mark.parametrize("kind", local_tables(), ids=lambda kind: kind.__name__)
def test_every_kind_of_table_gives_the_same_integers(kind, tmp_path):
    data = TABLES[kind.__name__](tmp_path)
    names = None if kind.__name__ == "MatrixTable" else ["a", "b"]
    where = "b > -9 or b is missing" if kind.__name__ == "ComputedTable" else None
    engine = open_table(data, names, where=where)
    assert type(engine._table) is kind
    expected = open_table(matrix())
    for index in range(2):
        for query in ASKED:
            assert engine.column(index).answer(query) == expected.column(index).answer(query)


#: The suite that compares an engine, integer by integer, and how it makes one.
SUITES = {
    "LocalEngine": ("net/adapters.py", "open_table"),
    "ClippedTable": ("test_one_sided.py", "lines=[(0.0, math.inf)]"),
    "GroupedTable": ("engines/test_keyed.py", "open_groups"),
    "KeyedEngine": ("engines/test_keyed.py", ".grouped("),
    "PersonsEngine": ("persons/test_aggregation.py", "PersonsEngine("),
    "SparkEngine": ("engines/test_spark.py", "SparkEngine("),
    "SparkTableEngine": ("engines/test_spark_table.py", "open_table(frame"),
    "SparkPersons": ("engines/test_spark_persons.py", "open_table(frame"),
    "SparkGroups": ("engines/test_spark_persons.py", "open_groups(frame"),
    "SparkKeyed": ("engines/test_spark_persons.py", ".grouped("),
    "SparkPersonGroups": ("engines/test_spark_persons.py", 'person="who"'),
    "ViewsTable": ("persons/test_aggregation.py", ".numbers(PersonMean())"),
    "PersonGroups": ("persons/test_groups.py", "PersonGroups("),
    "SqlColumn": ("sql/test_column.py", "SqlColumn"),
    "SqlTable": ("sql/test_rows.py", 'open_table(columns=["x", "y"], **'),
    "StreamedPersons": ("sql/test_rows.py", 'open_table(columns="x", person='),
    "StreamedGroups": ("sql/test_rows.py", 'open_groups(columns="x", by='),
    "SqlPersons": ("sql/test_rows.py", 'open_table(columns="x", person='),
    "SqlGroups": ("sql/test_rows.py", 'open_groups(columns="x", by='),
    "SqlKeyed": ("sql/test_rows.py", ".grouped(keys, other=other)"),
    "NumbersTable": ("sql/test_column.py", 'open_table(columns="x", **'),
    "StreamTable": ("sql/test_column.py", "open_table(columns=column, where="),
}


@pytest.mark.parametrize(
    "kind",
    [*engine_types(), *(kind for kind in table_types() if kind not in local_tables())],
    ids=lambda kind: kind.__name__,
)
def test_every_kind_of_engine_has_a_suite_of_its_own(kind):
    suite, made = SUITES[kind.__name__]
    assert made in (ROOT / "tests" / suite).read_text(encoding="utf-8")


# --- commands


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_a_test(command):
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert re.search(rf"^\$ tametail {command}\b", page, re.MULTILINE)
    tests = (ROOT / "tests").rglob("test_*.py")
    assert any(f'"{command}"' in path.read_text(encoding="utf-8") for path in tests)
