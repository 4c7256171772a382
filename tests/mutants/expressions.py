"""Expressions that look at other records, fail because of one, or mean another thing."""

from __future__ import annotations

from .mutant import Mutant

CHUNKS = "tests/expressions/test_chunks.py"
BORDERS = "tests/expressions/test_sql.py::test_every_operation_at_every_border_whatever_is_set"
NAN = "tests/backends/test_neighbors.py::test_nan_is_missing_whatever_a_parquet_file_states"

EXPRESSIONS: tuple[Mutant, ...] = (
    Mutant(
        name="expression-nan-by-comparison-in-duckdb",
        why="DuckDB answers comparisons by statistics of a file, which leave NaN out.",
        file="expressions/sql.py",
        old="        return DUCKDB_IS_NUMBER.format(x=operand)",
        new="        return f\"nullif({operand}, CAST('NaN' AS {self.double})) IS NOT NULL\"",
        tests=(NAN,),
    ),
    Mutant(
        name="expression-operand-hides-a-column",
        why="A column with the name of an operand would be computed with that operand instead.",
        file="data/sql/compiler.py",
        old='return {name: (f"v{place}", self._cast(name)) for place, name in enumerate(names)}',
        new="return {name: (name, self._cast(name)) for name in names}",
        tests=("tests/backends/test_neighbors.py::test_neighbors_in_postgresql",),
    ),
    Mutant(
        name="expression-tiny-products-are-zero",
        why="PostgreSQL would give other numbers than every other engine.",
        file="expressions/sql.py",
        old='" WHEN {lifted} = {lifted_least} AND {remainder} > {zero}"',
        new='" WHEN {lifted} = {lifted_least} AND {remainder} < {zero}"',
        tests=(
            "tests/expressions/test_sql.py::TestPostgreSQL::test_products_next_to_half_of_the_least_number",
        ),
    ),
    Mutant(
        name="expression-looks-at-other-records",
        why="A value must be a function of its own record, or one record moves all terms of a sum.",
        file="data/evaluation.py",
        old="np.where(np.equal(right, 0), np.nan, right)",
        new="np.where(np.equal(right, 0), np.max(right), right)",
        tests=(f"{CHUNKS}::test_a_record_gets_the_same_whatever_the_others_are",),
    ),
    Mutant(
        name="expression-nan-differs-from-everything",
        why="In NumPy NaN != 1 is true: missing records would be kept.",
        file="data/evaluation.py",
        old="_NUMBERS[sign](left, right) & known",
        new="_NUMBERS[sign](left, right)",
        tests=(f"{CHUNKS}::TestChunks::test_every_operation_at_every_border",),
    ),
    Mutant(
        name="expression-not-missing-is-true",
        why="What is not known to be true is not thereby false: engines would keep other records.",
        file="data/evaluation.py",
        old="return _Known(operand.false, operand.true)",
        new="return _Known(~operand.true, operand.true)",
        tests=(f"{CHUNKS}::TestChunks::test_every_operation_at_every_border",),
    ),
    Mutant(
        name="expression-division-raises-on-spark",
        why="In ANSI mode a job would fail because of one record.",
        file="expressions/sql.py",
        old='f"try_divide({left}, {right})"',
        new='f"({left} / {right})"',
        tests=(BORDERS,),
    ),
    Mutant(
        name="expression-logarithm-of-the-library",
        why="Libraries round it differently: another engine would give other integers.",
        file="expressions/elementary.py",
        old="    found = whole * _LOG2_HIGH + (twice + (twice * rest + whole * _LOG2_LOW))",
        new="    found = np.log(np.where(usual, x, 1.0))",
        tests=(f"{CHUNKS}::test_elementary_functions_are_the_same_for_one_and_for_many",),
    ),
    Mutant(
        name="expression-square-root-raises",
        why="DuckDB and PostgreSQL raise at a negative number: an error because of one record.",
        file="expressions/sql.py",
        old='return f"sqrt(CASE WHEN {operand} >= 0 THEN {operand} END)"',
        new='return f"sqrt({operand})"',
        tests=(BORDERS,),
    ),
    Mutant(
        name="expression-least-of-what-is-missing",
        why="DuckDB and Spark leave NULL out of the least: another number, where one is missing.",
        file="expressions/sql.py",
        old="_Sure((self._is_number(operand),), operand)",
        new='_Sure(("true",), operand)',
        tests=(BORDERS,),
    ),
    Mutant(
        name="expression-text-without-case",
        why="Text is compared by its bytes: 'a' and 'A' are two.",
        file="data/sql/dialects.py",
        old="binary='CAST(({x}) AS VARCHAR) COLLATE \"binary\"'",
        new="binary='CAST(({x}) AS VARCHAR) COLLATE \"nocase\"'",
        tests=(BORDERS,),
    ),
    Mutant(
        name="expression-product-overflows-in-postgresql",
        why="PostgreSQL raises at a product beyond the doubles: an error because of one record.",
        file="expressions/sql.py",
        old="(abs({0}) * {down}) * (abs({1}) * {down}) >= {one}",
        new="(abs({0}) * {down}) * (abs({1}) * {down}) > {one}",
        tests=(BORDERS,),
    ),
    Mutant(
        name="expression-quotient-underflows-in-postgresql",
        why="PostgreSQL raises at a quotient that is rounded to 0: an error because of one record.",
        file="expressions/sql.py",
        old="abs({0}) * {raise} <= abs({1}) * {lower}",
        new="abs({0}) * {raise} < abs({1}) * {lower}",
        tests=(BORDERS,),
    ),
)
