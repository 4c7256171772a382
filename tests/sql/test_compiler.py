"""A relation as SQL: names of users hide none of ours, and columns of every type are read."""

from __future__ import annotations

import math
import os

import pytest

from tametail.data.relation import Relation
from tametail.data.sql.compiler import Compiler
from tametail.data.sql.opening import open_session
from tametail.errors import ColumnError
from tametail.expressions import Expression

from ..expressions.reference import row_value  # noqa: TID252
from ..spark import ON_SPARK, on_spark  # noqa: TID252


@pytest.fixture(params=["postgres", "duck", pytest.param("spark", marks=ON_SPARK)])
def computed(request):
    """Return how numbers are computed of the rows of a query."""
    found, view = request.getfixturevalue(request.param), f"compiled_{os.getpid()}"

    def compute(query, *columns, where=None):
        """Return a list of numbers for each row."""
        if request.param == "spark":
            from tametail.data.sql.spark.session import SparkSession

            session = SparkSession(found.sql(query))
        else:
            found.connection.execute(f"CREATE VIEW {view} AS {query}")
            data = found.address if request.param == "postgres" else found.connection
            session = open_session(data, view)
        relation = Relation(tuple(columns), where)
        try:
            text = Compiler(session, relation).records(relation, range(len(columns)))
            names = ["x"] if len(columns) == 1 else [f"x{place}" for place in range(len(columns))]
            return [list(row) for row in session.rows(f"SELECT {', '.join(names)} FROM {text}")]
        finally:
            session.close()
            if request.param != "spark":
                found.connection.execute(f"DROP VIEW {view}")

    compute.kind = request.param
    return compute


def test_columns_are_not_hidden_by_names_of_the_compiler(computed):
    names = ("l", "r", "operand0", "x", "f", "v0", "a", "ah", "t", "k0", "p0", "code", "c0")
    numbers = (2.0, 3.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0, 37.0, 41.0, 43.0)
    row = dict(zip(names, numbers, strict=True))
    double = "float8" if computed.kind == "postgres" else "double"
    given = ", ".join(f"CAST({value} AS {double}) AS {name}" for name, value in row.items())
    texts = [f"(l + r) * {name} - ({name} - 7) * (r + {name})" for name in names]
    expected = [row_value(Expression.parse(text), row) for text in texts]
    assert computed(f"SELECT {given}", *texts, where="x > l") == [expected]
    assert computed(f"SELECT {given}", *texts, where="x < l") == [[None] * len(names)]


def test_numbers_and_text_of_other_types(computed):
    query = (
        "SELECT true AS flag, CAST(9007199254740993 AS bigint) AS n, CAST(NULL AS integer) AS gap, "
        "CAST(0.5 AS real) AS small, CAST('A' AS {}) AS s"
    ).format("string" if computed.kind == "spark" else "varchar")
    assert computed(query, "flag + n", "n + 0", "gap + 1", "small * 3", "flag") == [
        [2.0**53, 2.0**53, None, 1.5, 1.0]
    ]
    for where, is_true in (("s == 'A'", True), ("s == 'a'", False), ("s < 'a'", True)):
        assert computed(query, "n", where=where) == [[2.0**53 if is_true else None]]


@on_spark
def test_spark_has_decimals_collations_and_bytes(spark):
    from tametail.data.sql.spark.session import SparkSession

    query = (
        "SELECT CAST(0.1 AS DECIMAL(5, 2)) AS d, 'A' COLLATE UTF8_LCASE AS s, "
        "CAST('a' AS binary) AS b"
    )
    for value, where, expected in (
        ("d + 1", None, 1.1), ("d", "s == 'a'", None), ("d", "s < b", 0.1), ("d", "b == 'a'", 0.1),
    ):  # fmt: skip
        session, relation = SparkSession(spark.sql(query)), Relation((value,), where)
        text = Compiler(session, relation).records(relation, [0])
        assert session.rows(f"SELECT x FROM {text}") == [(expected,)]
        session.close()


def test_what_is_neither_is_refused(computed):
    with pytest.raises(ColumnError, match="'day' is neither numeric nor text"):
        computed("SELECT CAST('2024-01-01' AS date) AS day", "day + 1")
    with pytest.raises(ColumnError, match="No column 'nowhere'"):
        computed("SELECT 1 AS x", "nowhere + 1")


def test_bounds_leave_what_is_missing(computed):
    double = "float8" if computed.kind == "postgres" else "double"
    cells = f"SELECT CAST('NaN' AS {double}) AS y UNION ALL SELECT CAST(NULL AS {double})"
    found = computed(cells, "y * 2")
    assert len(found) == 2
    assert all(x is None or math.isnan(x) for (x,) in found)
