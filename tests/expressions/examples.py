"""Expressions of any shape, and records at every border of the doubles."""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tametail.expressions import Expression
from tametail.expressions.tree import (
    OWN_FUNCTIONS,
    And,
    Arithmetic,
    Call,
    Comparison,
    Missing,
    Name,
    Negate,
    Not,
    Number,
    Or,
    Text,
    walk,
)

from .reference import row_truth, row_value

LARGEST = math.nextafter(math.inf, 0)

#: Sizes at which an operation may overflow, underflow, lose bits or take another branch.
SIZES = [
    0.0, 5e-324, 2.0**-1073, 2.0**-1022, 2.0**-538, 3 * 2.0**-538, 2.0**-537, 2.0**-512,
    2.0**-51, 2.0**-50, 0.1, 0.5, math.nextafter(1, 0), 1.0, 2.0, 3.0, 2.0**53 + 2, 2.0**511,
    2.0**512, 2.0**970, 2.0**971, 2.0**1022, 2.0**1023, LARGEST, math.inf,
]  # fmt: skip
NUMBERS = [*SIZES, *(-size for size in SIZES), math.nan, None]

#: "\uff5e" comes before "\U0001f600" by bytes, and after it by UTF-16.
TEXTS = ["", "a", "B", "b", "aa", "ä", "a\u0308", "\uff5e", "\U0001f600", "it's", "a\\", None]

COLUMNS = {"x": "number", "y": "number", 'a b`"c': "number", "s": "text", "t": "text"}


def records():
    """Return columns of records: all pairs of numbers, with texts in turn."""
    left, right = zip(*itertools.product(NUMBERS, NUMBERS), strict=True)
    pairs = itertools.cycle(itertools.product(TEXTS, TEXTS))
    first, second = zip(*itertools.islice(pairs, len(left)), strict=True)
    third = [NUMBERS[(7 * i) % len(NUMBERS)] for i in range(len(left))]
    return dict(zip(COLUMNS, (left, right, third, first, second), strict=True))


RECORDS = records()
TABLE = pa.table(
    {
        name: pa.array(cells, pa.float64() if COLUMNS[name] == "number" else pa.string())
        for name, cells in RECORDS.items()
    }
)
ROWS = [dict(zip(RECORDS, cells, strict=True)) for cells in zip(*RECORDS.values(), strict=True)]

SIGNS = ["==", "!=", "<", "<=", ">", ">="]

#: Every operation, for all pairs of records' cells.
EVERY_VALUE = [
    "x + y", "x - y", "x * y", "x / y", "-x / (y - y)", "x / 0", "s + x", "-s", "s", "x",
    "abs(x)", "abs(x - y)", "min(x, y)", "max(x, y, 1)", "min(x / y, s)", "round(x)",
    "round(x * 0.5)", "sqrt(x)", "sqrt(x - y)", "coalesce(x, y)", "coalesce(x / y, s, 7)",
    "max(abs(min(x, y)), sqrt(x))", "log(x)", "exp(x)", "log(x / y) - exp(min(x, 3))",
]  # fmt: skip
EVERY_CONDITION = [
    *(f"{left} {sign} {right}" for sign in SIGNS for left, right in ("xy", "st", "xs", "sy")),
    *("x is missing", "x - x is not missing", "s is missing", "(x < y) is missing"),
    *("x < y and s < t", "x < y or s < t", "not x < y", f"x in ({'1, ' * 20} 3)"),
]
EVERY = list(map(Expression.parse, [*EVERY_VALUE, *EVERY_CONDITION]))

names = st.sampled_from(list(COLUMNS)).map(Name)
bit_patterns = st.integers(0, 2**63 - 1).map(
    lambda bits: struct.unpack("d", bits.to_bytes(8, "little"))[0]
)
literals = st.one_of(st.sampled_from(SIZES), bit_patterns).filter(math.isfinite).map(Number)
texts = st.sampled_from([text for text in TEXTS if text is not None]).map(Text)

numbers = st.recursive(
    names | literals,
    lambda inner: st.one_of(
        inner.map(Negate),
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(Call, st.sampled_from(["abs", "round", "log", "exp", "sqrt"]), st.tuples(inner)),
        st.builds(
            Call,
            st.sampled_from(["min", "max", "coalesce"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
    ),
    max_leaves=5,
)


def in_sql(expression):
    """Return the same with functions that databases compute."""
    text = str(expression)
    for function in OWN_FUNCTIONS:
        text = text.replace(f"{function}(", "sqrt(")
    return Expression.parse(text)


def names_a_column(node):
    return any(isinstance(part, Name) for part in walk(node))


values = numbers.filter(names_a_column).map(Expression)
comparisons = st.builds(
    Comparison,
    st.sampled_from(SIGNS),
    numbers | texts,
    numbers | texts,
).filter(names_a_column)
tests_of_missing = (numbers | comparisons).filter(names_a_column).map(Missing)


def joined(inner):
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return st.one_of(inner.map(Not), inner.map(Missing), several.map(And), several.map(Or))


conditions = st.recursive(comparisons | tests_of_missing, joined, max_leaves=4).map(Expression)


def expected_values(expression, rows=ROWS):
    """Return what the reference says, NaN for missing."""
    found = [row_value(expression, row) for row in rows]
    return np.array([math.nan if value is None else value for value in found])


def as_value(expression, found):
    """Compare a condition as a column, 0 and 1, with what the reference says."""
    numbers = np.array([math.nan if cell is None else cell for cell in found])
    np.testing.assert_array_equal(numbers, expected_values(expression), str(expression))


def expected_truths(expression, rows=ROWS):
    return [row_truth(expression, row) for row in rows]


def assert_equals_reference(expression, found, rows=ROWS):
    """Compare cells of an engine, None or NaN for missing, with what the reference says."""
    if expression.is_condition:
        assert list(found) == expected_truths(expression, rows), str(expression)
        return
    numbers = np.array([math.nan if cell is None else cell for cell in found])
    np.testing.assert_array_equal(numbers, expected_values(expression, rows), str(expression))
