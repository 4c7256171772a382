"""The table of expressions: numbers and texts as SQL writes them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tametail.data.sql.clickhouse import CLICKHOUSE
from tametail.data.sql.dialects import DUCKDB, POSTGRESQL, SPARK

from ..spark import ON_SPARK  # noqa: TID252


@pytest.fixture(params=["postgres", "duck", pytest.param("spark", marks=ON_SPARK)])
def run(request):
    """Return a dialect, and how its server runs a text."""
    found = request.getfixturevalue(request.param)
    if request.param == "spark":
        return SPARK, lambda text: [tuple(row) for row in found.sql(text).collect()]
    dialect = {"postgres": POSTGRESQL, "duck": DUCKDB}[request.param]
    return dialect, lambda text: found.connection.execute(text).fetchall()


def test_a_number_is_read_as_it_was_written(run):
    dialect, query = run
    size = 200 if dialect is SPARK else 2000  # it takes long to read the text
    bits = np.random.default_rng(4).integers(0, 1 << 64, size, dtype=np.uint64)
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
    found = [x for (x,) in query(text)]
    assert list(map(repr, found)) == list(map(repr, numbers))  # signs of zero, too
    whole = [0, 7, -7, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63) + 1, -(2**63)]
    rows = ", ".join(f"({place}, {dialect.integer(x)})" for place, x in enumerate(whole))
    text = f"SELECT x FROM (VALUES {rows}) AS v(place, x) ORDER BY place"
    assert [x for (x,) in query(text)] == whole


def test_a_text_is_read_as_it_was_written(run):
    dialect, query = run
    texts = [
        "",
        "it's",
        "a\\b",
        "a\\'",
        "\u00e4\U0001f600",
        'a"b',
        "${a}",
        "{x}",
        "%s",
        ":x",
        "--",
        "x\ny",
    ]
    texts += ["a\0b", "\0"] if dialect.has_nul else []
    ((*found,),) = query(f"SELECT {', '.join(map(dialect.text, texts))}")
    cells = [cell.encode() if isinstance(cell, str) else bytes(cell) for cell in found]
    assert cells == [text.encode() for text in texts]


@pytest.mark.parametrize("dialect", [POSTGRESQL, DUCKDB])
def test_names_and_texts_close_what_they_open(dialect):
    assert dialect.identifier('a"; DROP', "b") == '"a""; DROP"."b"'
    assert dialect.text("it's").replace("''", "").count("'") == 2
    assert "Infinity" in dialect.number(-math.inf)


@pytest.mark.parametrize("dialect", [SPARK, CLICKHOUSE])
def test_words_of_ticks_do_not_overflow(dialect):
    """Of 2^35 rows with ticks below 2^53 in size, where sums have 64 bits (databases.md)."""
    above = 53
    for _, shift in sorted(dialect.words, key=lambda word: -word[1]):
        assert 2 ** (above - shift) * 2**35 < 2**63
        above = shift
    assert above == 0
