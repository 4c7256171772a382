"""Spark gives every record what the reference gives it; many expressions in one job."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.engines.spark_session import local_session, needs_java

from tametail.errors import ColumnError
from tametail.expressions import Expression

from .examples import EVERY, ROWS, assert_equals_reference, conditions, values

pytestmark = [
    needs_java,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

parse = Expression.parse

#: Shrinking would start a job for every step.
few_jobs = settings(
    max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def session():
    pytest.importorskip("pyspark")
    session = local_session()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def records(session):
    cells = [(index, *row.values()) for index, row in enumerate(ROWS)]
    schema = 'row int, x double, y double, `a b``"c` double, s string, t string'
    return session.createDataFrame(cells, schema).coalesce(1).cache()


def run(frame, columns):
    found = frame.select("row", *(column.alias(f"c{i}") for i, column in enumerate(columns)))
    return list(zip(*(row[1:] for row in sorted(found.collect())), strict=True))


def compare(records, expressions):
    from tametail.expressions.spark import spark_condition, spark_value

    columns = [
        (spark_condition if expression.is_condition else spark_value)(expression, records)
        for expression in expressions
    ]
    for expression, found in zip(expressions, run(records, columns), strict=True):
        assert_equals_reference(expression, found)


@few_jobs
@given(st.lists(values, min_size=8, max_size=12), st.lists(conditions, min_size=8, max_size=12))
def test_equals_the_reference(records, computed, asked):
    compare(records, [*computed, *asked])


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_equals_the_reference_at_every_border(session, records, ansi):
    """Also in ANSI mode, where Spark's own division raises at a zero."""
    session.conf.set("spark.sql.ansi.enabled", ansi)
    deep = ["+".join(["x"] * 40) + " > y", "x / (y / (x / (y / (x + 1))))"]
    compare(records, [*EVERY, *map(parse, deep)])
    session.conf.unset("spark.sql.ansi.enabled")


def test_numbers_and_text_of_other_types(session):
    from tametail.expressions.spark import spark_condition, spark_value

    frame = session.sql(
        "SELECT 1 AS row, 9007199254740993 AS n, true AS flag, CAST(0.1 AS DECIMAL(5, 2)) AS d, "
        "'A' COLLATE UTF8_LCASE AS s, CAST('a' AS binary) AS b, CAST(NULL AS int) AS gap"
    )
    columns = [spark_value(parse(text), frame) for text in ("n + 0", "flag + d", "gap + 1")]
    columns += [spark_condition(parse(text), frame) for text in ("s == 'a'", "s < b", "b == 'a'")]
    assert run(frame, columns) == [(2.0**53,), (1.1,), (None,), (False,), (True,), (True,)]


def test_what_is_neither_is_refused(session):
    from tametail.expressions.spark import spark_value

    frame = session.sql("SELECT current_date() AS day, 1 AS x, 2 AS x")
    with pytest.raises(ColumnError, match="column 'day' has type date"):
        spark_value(parse("day + 1"), frame)
    for name in ("x", "nowhere"):
        with pytest.raises(ColumnError, match=f"no column '{name}', or several"):
            spark_value(parse(f"{name} + 1"), frame)
