"""Every query about hostile data has the integers of memory, wherever the data lie.

Memory itself is compared with the slow reference, in ``tests/data``.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from ..spark import ON_SPARK  # noqa: TID252
from .cases import CASES, Case, dataset, one_of_each_query, some_of_each_kind
from .places import (
    Postgres,
    arrow,
    clickhouse,
    csv_file,
    csv_in_folders,
    dict_of_arrays,
    duckdb_in_sql,
    duckdb_relation,
    json_array,
    pandas,
    parquet,
    parquet_in_folders,
    polars_lazy,
    spark_kept,
    sqlite,
)
from .questions import canonical

DATA = ("hostile", "missing", "none")

#: The long form, which ``make audit`` has.
EVERY_ASK = "TAMETAIL_NEIGHBOR_CASES" in os.environ

#: Each question to Spark is a job: cases that say there what no other case does, with a question of
#: each kind (of one column, two), and those of them that are also asked about no numbers.
SPARK_CASES = {
    "one column", "x / y where None", "x * y + flag where flag == 1", "products",
    "x - year where state is missing or state == 'CA' or year < 3",
    "x where state < 'Z\u00fc' and x / y > 1", "three columns", "two columns within bounds",
    "x > y or flag == 1 where abs(y) > 2", "max(abs(x), y) where round(y / 4) == 1",
    "exp(y) - log(abs(x)) where exp(min(x, 1)) < 2",
    "persons by at", "persons by who and at", "persons within bounds", "persons with two columns",
    "groups by flag", "groups by state and year and all others", "groups with two columns",
    "keys of state and year", "keys of persons", "persons in groups",
    "weighed x", "weighed persons", "weighed groups", "weighed persons in one group",
}  # fmt: skip
SPARK_WITHOUT_NUMBERS = {
    "one column", "three columns", "persons by at", "groups by flag", "persons in groups",
}  # fmt: skip

#: Places by name; None for the server, which is a fixture.
PLACES = {
    "pandas": pandas,
    "Polars, lazy": polars_lazy,
    "Parquet": parquet("pyarrow"),
    "Parquet in folders": parquet_in_folders,
    "CSV": csv_file,
    "CSV in folders": csv_in_folders,
    "JSON": json_array,
    "dict of arrays": dict_of_arrays,
    "SQLite": sqlite,
    "DuckDB": duckdb_relation("polars"),
    "DuckDB in SQL": duckdb_in_sql,
    "ClickHouse": clickhouse,
    "PostgreSQL": None,
    "Spark": spark_kept,
}


@cache
def expected(case: Case, name: str, *, has_empty_text: bool) -> tuple[object, ...]:
    """Return size and answers in memory."""
    data = dataset(name, has_empty_text=has_empty_text)
    return answers(case, {"data": arrow(data, None)["data"]}, case.asks)


def answers(case, place, asks):
    """Return size and answers, and see that what is opened can be closed."""
    opened, asked = case.open(place)
    try:
        assert opened.columns == case.columns
        size = None if case.by and not case.keys else asked.size
        return (size, *(canonical(ask.of(asked)) for ask in asks))
    finally:
        opened.close()


def is_asked(place, case):
    if place == "Spark":
        return case.name in SPARK_CASES
    return not (case.has_truths and place.startswith(("CSV", "SQLite")))


PAIRS = [
    pytest.param(place, case, marks=ON_SPARK if place == "Spark" else (), id=f"{place}-{case.name}")
    for place in PLACES
    for case in CASES
    if is_asked(place, case)
]


@pytest.fixture(scope="module")
def place(request, tmp_path_factory):
    """Return the name of a place, and a function that returns where a data set lies there."""
    name, folder = request.param, tmp_path_factory.mktemp("places")
    maker = PLACES[name]
    server = None
    if maker is None:
        server = Postgres(request.getfixturevalue("server"))
        maker = server.table

    @cache
    def make(data):
        return maker(dataset(data, has_empty_text=not name.startswith("CSV")), folder)

    yield name, make
    if server is not None:
        server.connection.close()


def some_asks(place, case, data):
    """Return what is asked in the fast version: where there are no numbers, each kind once."""
    if data == "hostile":
        most = 2 if case.name == "one column" else 1
        return some_of_each_kind(case.asks, most) if place == "Spark" else case.asks
    if place == "Spark":  # each query where all is missing, or where there are no records
        found = one_of_each_query(case.asks)[DATA.index(data) - 1 :: 2]
        return found if case.name in SPARK_WITHOUT_NUMBERS else ()
    return some_of_each_kind(case.asks)


@pytest.mark.parametrize(("place", "case"), PAIRS, indirect=["place"])
def test_every_answer_is_that_of_memory(place, case):
    name, make = place
    for data in DATA:
        asks = case.asks if EVERY_ASK else some_asks(name, case, data)
        if not asks:
            continue
        size, *found = answers(case, make(data), asks)
        size_here, *here = expected(case, data, has_empty_text=not name.startswith("CSV"))
        assert size == size_here
        wanted = dict(zip(case.asks, here, strict=True))
        for ask, answer in zip(asks, found, strict=True):
            assert answer == wanted[ask], (data, ask)


def test_spark_is_asked_what_the_table_has():
    assert SPARK_WITHOUT_NUMBERS < SPARK_CASES <= {case.name for case in CASES}
