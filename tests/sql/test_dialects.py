"""The table of expressions: texts as such, and the form without bit casts on PostgreSQL."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tametail.engines.kernels.profile import conclude
from tametail.engines.open import open_table
from tametail.engines.sql.column import profile_of
from tametail.engines.sql.dialects import DUCKDB, POSTGRESQL
from tametail.engines.sql.thresholds import (
    BIGQUERY_THRESHOLDS,
    POSTGRESQL_THRESHOLDS,
    SNOWFLAKE_THRESHOLDS,
)
from tametail.queries.column import DistanceSum, Lattice, Squares, TailNodes

from .conftest import hostile
from .test_column import in_memory


@pytest.mark.parametrize("centre", [0.0, 2981.0, -1e-300, 1e150, 2.0**968])
def test_thresholds_give_the_profile_on_postgres(postgres, centre):
    cells = hostile(2000)
    engine = open_table(columns="x", **postgres.make({"x": cells}, {"x": "double"}))
    records = engine._records
    found = profile_of(
        engine._session.rows(
            POSTGRESQL_THRESHOLDS.profile(records.relation, records.present, centre)
        )
    )
    expected = in_memory(cells)
    for query in (
        TailNodes(centre, -1022, 1023, counted=True),
        Squares(centre, 3, 5),
        DistanceSum(centre, Lattice(-8, -256, 0, 768), 3),
    ):
        assert conclude(query, found) == expected.answer(query), query
    engine.close()


@pytest.mark.parametrize("form", [BIGQUERY_THRESHOLDS, SNOWFLAKE_THRESHOLDS])
def test_texts_that_no_server_has_run(form):
    """As text only: all thresholds are there, exactly, and nothing is left to be filled in."""
    text = form.profile("records", "x IS NOT NULL", 1.5)
    assert not form.is_tested
    assert not re.search(r"\{\w*\}", text)
    assert text.count("(") == text.count(")")
    for exponent in (-1022, 0, 1023):
        assert f"'{math.ldexp(1.0, exponent)!r}'" in text
    assert "x - CAST('1.5'" in text
    assert ("RANGE_BUCKET" in text) == (form is BIGQUERY_THRESHOLDS)


@pytest.mark.parametrize("name", ["postgres", "duck"])
def test_a_number_is_read_as_it_was_written(request, name):
    connection = request.getfixturevalue(name).connection
    dialect = {"postgres": POSTGRESQL, "duck": DUCKDB}[name]
    bits = np.random.default_rng(4).integers(0, 1 << 64, 2000, dtype=np.uint64)
    drawn = bits.view(np.float64)
    ends = [0.0, -0.0, 5e-324, 2.0**-1022, 1e22, 1e23, 123456789.0, 0.1, 1.7976931348623157e308]
    numbers = [
        *ends,
        *(-end for end in ends),
        math.inf,
        -math.inf,
        *drawn[~np.isnan(drawn)].tolist(),
    ]
    rows = ", ".join(f"({place}, {dialect.number(x)})" for place, x in enumerate(numbers))
    text = f"SELECT x FROM (VALUES {rows}) AS v(place, x) ORDER BY place"
    found = [x for (x,) in connection.execute(text).fetchall()]
    assert list(map(repr, found)) == list(map(repr, numbers))  # signs of zero, too
    whole = [0, 7, -7, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63) + 1, -(2**63)]
    rows = ", ".join(f"({place}, {dialect.integer(x)})" for place, x in enumerate(whole))
    text = f"SELECT x FROM (VALUES {rows}) AS v(place, x) ORDER BY place"
    assert [x for (x,) in connection.execute(text).fetchall()] == whole


@pytest.mark.parametrize("dialect", [POSTGRESQL, DUCKDB])
def test_names_and_texts_close_what_they_open(dialect):
    assert dialect.identifier('a"; DROP', "b") == '"a""; DROP"."b"'
    assert dialect.text("it's").replace("''", "").count("'") == 2
    assert "Infinity" in dialect.number(-math.inf)
