"""One record changes exact answers by no more than is stated, and all places give the same ones.

Every case draws a data set with hostile names, numbers and text, a neighbor of it and a question,
and asks it everywhere: in memory, in files of several writers, in databases and in Spark. A fast
version runs here; ``TAMETAIL_NEIGHBOR_CASES`` says how many cases a long one has (``make audit``).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tametail.queries.column import ClippedSum, ClippingGrid, Count
from tametail.queries.groups import Cells

from ..spark import ON_SPARK, on_spark  # noqa: TID252
from .datasets import Dataset, some_dataset, some_neighbor, without_person
from .places import ALL_WRITERS, ANY_TEXT, PLACES, SPARK_PLACES, WRITERS, Postgres
from .questions import Question, ask, moves_too_far, one_group_question, some_question

CASES = int(os.environ.get("TAMETAIL_NEIGHBOR_CASES", "0"))
FIRST = int(os.environ.get("TAMETAIL_NEIGHBOR_FIRST", "0"))


#: Cases that one test tries.
BATCH = 40


def cases(fast: int, slowness: int = 1) -> range:
    """Return the numbers of the cases: few, or as many as were asked for."""
    return range(FIRST, FIRST + (CASES // slowness or fast))


def drawn_in_one_group(number: int) -> tuple[Dataset, Dataset, Question, str]:
    """Return the same where each person is kept to one group."""
    rng = np.random.default_rng([20261119, number])
    data = some_dataset(rng)
    question = one_group_question(rng, data)
    return data, without_person(rng, data), question, "add-remove"


def drawn(number: int, *, odd: bool) -> tuple[Dataset, Dataset, Question, str]:
    """Return the data, a neighbor, a question and the relation between the two."""
    rng = np.random.default_rng([20261118, number])
    data = some_dataset(rng, odd=odd)
    question = some_question(rng, data)
    if question.person is not None:
        return data, without_person(rng, data), question, "add-remove"
    relation = "add-remove" if question.by or rng.random() < 0.5 else "replace-one"
    return data, some_neighbor(rng, data, relation), question, relation


def check(makers, number: int, folder: Path, *, odd: bool = False) -> int:
    """Ask about both data sets in all of these places; return how many pairs were compared."""
    return compare(makers, number, folder, drawn(number, odd=odd))


def compare(makers, number: int, folder: Path, case) -> int:
    data, neighbor, question, relation = case
    portable = data.is_portable and neighbor.is_portable
    expected = None
    pairs = 0
    for name, make in makers.items():
        if not portable and name not in ANY_TEXT:
            continue
        found = [ask(make(each, folder), question) for each in (data, neighbor)]
        expected = expected or found
        pairs += 1
        assert found == expected, f"case {number}: {name} answers {question} otherwise"
        assert not moves_too_far(question, relation, *found), f"case {number}: {name}, {question}"
    return pairs


def some_places(number: int):
    """Return memory and, in the fast version, five places that other cases do not have."""
    others = [name for name in PLACES if name != "Arrow"]
    chosen = others if CASES else [others[(5 * number + step) % len(others)] for step in range(5)]
    return {name: PLACES[name] for name in ("Arrow", *chosen)}


def some_spark_places(number: int):
    """Return memory and Spark; in the fast version one table of it, and now and then its files."""
    tables = [name for name in SPARK_PLACES if name.startswith("Spark")]
    files = [name for name in SPARK_PLACES if name not in tables]
    chosen = [tables[number % len(tables)], *files[number % 4 : number % 4 + 1]]
    found = SPARK_PLACES if CASES else {name: SPARK_PLACES[name] for name in chosen}
    return {"Arrow": PLACES["Arrow"]} | found


@pytest.mark.parametrize("batch", range(0, len(cases(160)), BATCH))
def test_neighbors_wherever_the_data_are(batch, tmp_path):
    for number in cases(160)[batch : batch + BATCH]:
        assert check(some_places(number), number, tmp_path) >= 6


def test_neighbors_whose_text_not_every_place_can_hold(tmp_path):
    pairs = [check(some_places(number), number, tmp_path, odd=True) for number in cases(60, 4)]
    assert sum(pairs) > 4 * len(pairs)


def test_a_person_is_in_one_group_wherever_the_data_are(tmp_path):
    for number in cases(60, 4):
        assert compare(some_places(number), number, tmp_path, drawn_in_one_group(number)) >= 6


@pytest.fixture(scope="module")
def postgres(server):
    found = Postgres(server)
    yield found
    found.connection.close()


def test_neighbors_in_postgresql(postgres, tmp_path):
    places = {
        "Arrow": PLACES["Arrow"],
        "PostgreSQL": postgres.table,
        "PostgreSQL, partitions": postgres.partitioned,
        "PostgreSQL view": postgres.view,
    }
    for number in cases(60, 4):
        check(places, number, tmp_path)
        compare(places, number, tmp_path, drawn_in_one_group(number))


@on_spark
def test_neighbors_in_spark(tmp_path):
    for number in cases(6, 100):
        check(some_spark_places(number), number, tmp_path)
    for number in cases(4, 100):
        compare(some_spark_places(number), number, tmp_path, drawn_in_one_group(number))


@pytest.mark.parametrize("writer", [*WRITERS, pytest.param("spark", marks=ON_SPARK)])
def test_nan_is_missing_whatever_a_parquet_file_states(writer, tmp_path):
    """DuckDB takes tests of numbers for what the statistics of a row group state."""
    import duckdb

    nan, inf = float("nan"), float("inf")
    names = dict(zip(("value", "second", "whole", "text", "person"), "vwits", strict=True))
    connection = duckdb.connect()
    sets = [[1.0, 2.0, nan, 3.0] * 8, [5.0, nan] * 16, [1.0, inf, -inf, nan] * 8, [nan] * 16]
    for numbers in sets:
        size = len(numbers)
        columns = {"value": numbers, "second": [2.0] * size, "whole": [1] * size}
        data = Dataset(names, columns | {"text": ["a"] * size, "person": ["p"] * size})
        path = ALL_WRITERS[writer](data, tmp_path)
        for where in (None, "v > 0", "v != 2", "not v > 100", "v is missing", "v * w > 1"):
            for query in (
                Count(),
                Cells((0.5, 2.5)),
                ClippedSum(ClippingGrid.around(0.3, 5.0, 9.0), 3),
            ):
                question = Question(("v",), where, query)
                here = ask({"data": data.table}, question)
                there = ask({"data": connection.read_parquet(str(path))}, question)
                assert here == there, (writer, numbers[:4], where, query)
