"""Databases and Spark give every record what the reference gives it."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tametail.expressions import Expression
from tametail.expressions.sql import TypedColumn, sql_value

from ..spark import ON_SPARK, local_session  # noqa: TID252
from .databases import ClickHouse, DuckDB, PostgreSQL, Spark
from .examples import (
    EVERY,
    as_value,
    assert_equals_reference,
    conditions,
    expected_values,
    in_sql,
    values,
)

parse = Expression.parse

#: Each example is a statement, or a job of Spark, and so would be each step of shrinking.
few_statements = settings(
    max_examples=4, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)

DEEP = [
    *("+".join(["x"] * 40) + " > y", "x / (y / (x / (y / (x + 1))))", "+".join(["x * y"] * 60)),
    "max(min(max(min(abs(x), y), x), y), x + 1)",
]


@pytest.fixture(scope="module")
def duckdb():
    pytest.importorskip("duckdb")
    found = DuckDB()
    yield found
    found.connection.close()


@pytest.fixture(scope="module")
def postgresql(server):
    found = PostgreSQL(server)
    yield found
    found.connection.close()


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory):
    pytest.importorskip("chdb")
    return ClickHouse(tmp_path_factory.mktemp("clickhouse"))


@pytest.fixture(scope="module")
def spark_database():
    return Spark(local_session())


DATABASES = [
    "duckdb",
    "postgresql",
    "clickhouse",
    pytest.param("spark_database", marks=ON_SPARK, id="spark"),
]


@pytest.fixture(params=DATABASES)
def database(request):
    return request.getfixturevalue(request.param)


def compare(database, expressions):
    """Compare values and conditions, as columns and as filters, with the reference."""
    if not database.dialect.has_own_functions:
        expressions = [in_sql(each) if each.is_own else each for each in expressions]
    found = database.columns(expressions)
    for expression, cells in zip(expressions, found, strict=True):
        assert_equals_reference(expression, cells)
    asked = [each for each in expressions if each.is_condition]
    # A filter goes other ways through a database than a column does.
    truths = [cells for each, cells in zip(expressions, found, strict=True) if each.is_condition]
    expected = [[place for place, truth in enumerate(cells) if truth] for cells in truths]
    assert database.kept(asked) == expected
    for expression, cells in zip(asked, database.columns(asked, numbers=True), strict=True):
        as_value(expression, cells)


@few_statements
@given(st.lists(values, min_size=12, max_size=16), st.lists(conditions, min_size=12, max_size=16))
def test_equals_the_reference(database, computed, asked):
    compare(database, [*computed, *asked])


#: What a user may have set, and how it is set back.
SETTINGS = {
    "duckdb": [
        ("SET default_collation = 'nocase'", "RESET default_collation"),
        ("SET ieee_floating_point_ops = false", "RESET ieee_floating_point_ops"),
    ],
    "postgresql": [("SET standard_conforming_strings = off", "RESET standard_conforming_strings")],
    "clickhouse": [
        ("SET precise_float_parsing = 0", "SET precise_float_parsing = 1"),
        ("SET cast_keep_nullable = 0", "SET cast_keep_nullable = 1"),
    ],
    "spark": [
        # In ANSI mode, which is the default, Spark's own division raises at a zero.
        ("SET spark.sql.ansi.enabled = false", "RESET spark.sql.ansi.enabled"),
        (
            "SET spark.sql.parser.escapedStringLiterals = true",
            "RESET spark.sql.parser.escapedStringLiterals",
        ),
    ],
}


def test_every_operation_at_every_border_whatever_is_set(database):
    expressions = [*EVERY, *map(parse, [*DEEP, "s == 'a\\'"])]
    if isinstance(database, Spark):
        run = database.session.sql
    else:
        connection = database.connection
        run = connection.query if isinstance(database, ClickHouse) else connection.execute
    compare(database, expressions)
    settings_ = SETTINGS[database.dialect.spoken]
    for setting, _ in settings_:  # all at once, as none of them undoes what another one does
        run(setting)
    try:
        compare(database, expressions)
    finally:
        for _, undo in settings_:
            run(undo)


def test_a_deep_tree_stays_small(database):
    assert all(len(database.sql(parse(text))) < 200_000 for text in DEEP)


def test_the_text_of_a_least_does_not_double_with_every_level(database):
    nested = ["x"]
    for function in ("max", "min", "max", "min"):
        nested.append(f"{function}({nested[-1]}, 0)")
    _, one, two, three, four = (len(database.sql(parse(text))) for text in nested)
    assert four - three < 2 * (two - one)


class TestPostgreSQL:
    """It raises where doubles overflow, underflow to 0, or are divided by 0."""

    PAIR: ClassVar = {name: TypedColumn(name, "number") for name in "xy"}

    def compute(self, database, text, pairs):
        lines = ", ".join(
            f"({place}, CAST('{x!r}' AS float8), CAST('{y!r}' AS float8))"
            for place, (x, y) in enumerate(pairs)
        )
        value = sql_value(parse(text), self.PAIR, "postgresql")
        found = database.query(f"SELECT {value} FROM (VALUES {lines}) AS r(n, x, y) ORDER BY n")
        return np.array([math.nan if cell is None else cell for (cell,) in found])

    @settings(max_examples=20, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32 - 1))
    def test_bits_of_any_kind_neither_raise_nor_differ(self, postgresql, seed):
        rng = np.random.default_rng(seed)
        pairs = rng.integers(0, 2**64, (500, 2), dtype=np.uint64).view(np.float64)
        # Half of them near a border: the second is chosen so that the exponents add up to it.
        border = rng.choice([1024, 1023, -1022, -1074, -1075, -1076], 250)
        with np.errstate(all="ignore"):
            exponents = border - np.frexp(pairs[:250, 0])[1] + rng.integers(-1, 3, 250)
            mantissas = np.frexp(pairs[:250, 1])[0]
            pairs[:250, 1] = np.ldexp(
                mantissas, np.where(rng.random(250) < 0.5, exponents, -exponents)
            )
        rows = [{"x": x, "y": y} for x, y in pairs.tolist()]
        for sign in "+-*/":
            found = self.compute(postgresql, f"x {sign} y", pairs.tolist())
            expected = expected_values(parse(f"x {sign} y"), rows)
            np.testing.assert_array_equal(found, expected)

    def test_products_next_to_half_of_the_least_number(self, postgresql):
        """PostgreSQL raises where a product becomes 0, and half of the least number is close."""
        pairs = [
            (sign * x, y)
            for bits in (2**52 + 1, 3 * 2**51 + 7, 2**53 - 1)
            for shift in (-590, -538, -500)
            for x in [math.ldexp(bits, shift - 52)]
            for nearest in [2.0**-537 / x * 2.0**-538]
            for y in (math.nextafter(nearest, 0), nearest, math.nextafter(nearest, 1))
            for sign in (1, -1)
        ]
        assert {abs(x * y) for x, y in pairs} == {0.0, 5e-324}
        assert self.compute(postgresql, "x * y", pairs).tolist() == [x * y for x, y in pairs]
