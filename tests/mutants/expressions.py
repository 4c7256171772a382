"""Expressions that look at other records, fail because of one, or mean another thing."""

from __future__ import annotations

from .mutant import Mutant

CONFORMANCE = "tests/expressions/test_conformance.py"
SPARK = "tests/expressions/test_spark.py"

EXPRESSIONS: tuple[Mutant, ...] = (
    Mutant(
        name="expression-looks-at-other-records",
        why="A value must be a function of its own record, or one record moves all terms of a sum.",
        file="engines/evaluation.py",
        old="np.where(np.equal(right, 0), np.nan, right)",
        new="np.where(np.equal(right, 0), np.max(right), right)",
        tests=(f"{CONFORMANCE}::test_a_record_gets_the_same_whatever_the_others_are",),
    ),
    Mutant(
        name="expression-nan-differs-from-everything",
        why="In NumPy NaN != 1 is true: missing records would be kept.",
        file="engines/evaluation.py",
        old="_NUMBERS[sign](left, right) & known",
        new="_NUMBERS[sign](left, right)",
        tests=(f"{CONFORMANCE}::TestChunks::test_every_operation_at_every_border",),
    ),
    Mutant(
        name="expression-not-missing-is-true",
        why="What is not known to be true is not thereby false: engines would keep other records.",
        file="engines/evaluation.py",
        old="return _Known(operand.false, operand.true)",
        new="return _Known(~operand.true, operand.true)",
        tests=(f"{CONFORMANCE}::TestChunks::test_every_operation_at_every_border",),
    ),
    Mutant(
        name="expression-division-raises-on-spark",
        why="In ANSI mode a job would fail because of one record.",
        file="expressions/spark.py",
        old='"/": fn.try_divide',
        new='"/": operator.truediv',
        tests=(f"{SPARK}::test_equals_the_reference_at_every_border",),
    ),
    Mutant(
        name="expression-text-without-case",
        why="Text is compared by its bytes: 'a' and 'A' are two.",
        file="expressions/sql.py",
        old="""collation = '"binary"'""",
        new="""collation = '"nocase"'""",
        tests=(f"{CONFORMANCE}::TestDuckDB::test_every_operation_at_every_border",),
    ),
    Mutant(
        name="expression-product-overflows-in-postgresql",
        why="PostgreSQL raises at a product beyond the doubles: an error because of one record.",
        file="expressions/sql.py",
        old="(abs({0}) * {down}) * (abs({1}) * {down}) >= {one}",
        new="(abs({0}) * {down}) * (abs({1}) * {down}) > {one}",
        tests=(f"{CONFORMANCE}::TestPostgreSQL::test_every_operation_at_every_border",),
    ),
    Mutant(
        name="expression-quotient-underflows-in-postgresql",
        why="PostgreSQL raises at a quotient that is rounded to 0: an error because of one record.",
        file="expressions/sql.py",
        old="abs({0}) * {raise} <= abs({1}) * {lower}",
        new="abs({0}) * {raise} < abs({1}) * {lower}",
        tests=(f"{CONFORMANCE}::TestPostgreSQL::test_every_operation_at_every_border",),
    ),
)
