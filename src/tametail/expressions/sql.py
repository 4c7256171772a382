"""Expressions as SQL for databases and Spark, in which no record makes a statement fail.

PostgreSQL raises where a double operation overflows, underflows to 0, or divides by 0. Each would
be an error that depends on one record, so a CASE looks before the operation is done
(docs/proofs/expressions.md has the thresholds). A CASE names its operands several times; operands
that are computed themselves are given names by a subquery, so that the text does not double with
every level, and OFFSET 0 keeps the planner from putting them back.

Columns come as SQL text of a known type, under names that the caller has given them: no name of a
user's column stands in an expression, so that none can be taken for a name that is made up here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from tametail.errors import InternalError
from tametail.expressions import Expression
from tametail.expressions.folding import Kind, fold_condition, fold_number
from tametail.expressions.tree import OWN_FUNCTIONS, ArithmeticSign, ComparisonSign, Function

Dialect = Literal["duckdb", "postgresql", "spark", "clickhouse"]

#: Whether a double of DuckDB is neither NULL nor NaN, by its bits: without the sign, a number is at
#: most infinity. DuckDB simplifies comparisons, and ``isnan`` as well, by the minimum and maximum
#: that a Parquet file states of a row group, and most writers leave NaN out of these. It then takes
#: the test for one that is always true, and NaN for a number. It knows nothing of bits.
DUCKDB_IS_NUMBER = (
    "((CAST(CAST({x} AS BIT) AS BIGINT) & 9223372036854775807) <= 9218868437227405312)"
)

#: The same for ClickHouse; what is NULL is no number.
CLICKHOUSE_IS_NUMBER = (
    "ifNull(bitAnd(reinterpretAsInt64({x}), 9223372036854775807) <= 9218868437227405312, false)"
)


class TypedColumn(NamedTuple):
    """A column as SQL: a double, or text that is compared by its bytes."""

    text: str
    kind: Kind


def sql_value(expression: Expression, columns: Mapping[str, TypedColumn], dialect: Dialect) -> str:
    """Return SQL for a double; NULL and NaN are missing.

    >>> columns = {"charge": TypedColumn("n0", "number"), "nights": TypedColumn("n1", "number")}
    >>> print(sql_value(Expression.parse("charge / nights"), columns, "duckdb"))
    (n0 / nullif(n1, 0))
    """
    return fold_number(expression.tree, _OPERATIONS[dialect](columns))


def sql_condition(
    expression: Expression, columns: Mapping[str, TypedColumn], dialect: Dialect
) -> str:
    """Return SQL for a boolean; NULL is missing.

    >>> columns = {"name": TypedColumn("t0", "text")}
    >>> print(sql_condition(Expression.parse("name < 'it''s'"), columns, "postgresql"))
    (t0 < CAST(E'it''s' AS text) COLLATE "C")
    """
    return fold_condition(expression.condition, _OPERATIONS[dialect](columns))


class _Sure(NamedTuple):
    """What is known of a text: under which tests it is a number, and what it then is."""

    tests: tuple[str, ...]
    number: str


class _DuckDB:
    """DuckDB's doubles follow IEEE 754, but x / 0 depends on a setting. NaN equals NaN there.

    A test of what is tested already is left out: otherwise a text doubles with every min and max.
    """

    double = "DOUBLE"
    rounded = "round_even({x}, 0)"
    """To the nearest whole number, and half way to the even one."""

    def __init__(self, columns: Mapping[str, TypedColumn]) -> None:
        self._columns = columns
        self._sure: dict[str, _Sure] = {}

    def kind(self, name: str) -> Kind:
        return self._columns[name].kind

    def column(self, name: str) -> str:
        return self._columns[name].text

    def number(self, number: float) -> str:
        return self._known((), self.literal(number))

    def literal(self, number: float) -> str:
        return f"CAST('{number!r}' AS {self.double})"

    def text(self, text: str) -> str:
        return "CAST('{}' AS text) COLLATE \"binary\"".format(text.replace("'", "''"))

    def nothing(self) -> str:
        return f"CAST(NULL AS {self.double})"

    def negate(self, operand: str) -> str:
        sure = self._sure.get(operand)
        if sure is not None:
            return self._known(sure.tests, f"(- {sure.number})")
        return f"(- {operand})"  # two signs without a blank begin a comment

    def compute(self, sign: ArithmeticSign, left: str, right: str) -> str:
        return f"({left} / nullif({right}, 0))" if sign == "/" else f"({left} {sign} {right})"

    def call(self, function: Function, operands: Sequence[str]) -> str:
        if function in OWN_FUNCTIONS:
            raise InternalError(f"{function} is computed by no database: rows are streamed.")
        if function in ("min", "max"):  # they would leave out what is missing
            sure = [self._sure_of(operand) for operand in operands]
            tests = tuple(dict.fromkeys(test for each in sure for test in each.tests))
            word = "least" if function == "min" else "greatest"
            return self._known(tests, f"{word}({', '.join(each.number for each in sure)})")
        if function == "coalesce":
            return f"coalesce({', '.join(map(self._no_nan, operands))})"
        (operand,) = operands
        if function == "sqrt":  # of a negative number it would raise
            return f"sqrt(CASE WHEN {operand} >= 0 THEN {operand} END)"
        return f"abs({operand})" if function == "abs" else self.rounded.format(x=operand)

    def as_number(self, condition: str) -> str:
        one, zero = self.number(1.0), self.number(0.0)
        return f"CASE {condition} WHEN true THEN {one} WHEN false THEN {zero} END"

    def compare(self, sign: ComparisonSign, kind: Kind, left: str, right: str) -> str:
        words = {"==": "=", "!=": "<>"}
        if kind == "number":
            left, right = self._no_nan(left), self._no_nan(right)
        return f"({left} {words.get(sign, sign)} {right})"

    def unknown(self) -> str:
        return "CAST(NULL AS boolean)"

    def value_is_missing(self, kind: Kind, operand: str) -> str:
        return f"({operand if kind == 'text' else self._no_nan(operand)} IS NULL)"

    def is_unknown(self, operand: str) -> str:
        return f"({operand} IS NULL)"

    def invert(self, operand: str) -> str:
        return f"(NOT {operand})"

    def both(self, left: str, right: str) -> str:
        return f"({left} AND {right})"

    def either(self, left: str, right: str) -> str:
        return f"({left} OR {right})"

    def _known(self, tests: tuple[str, ...], number: str) -> str:
        """Write a number that is NULL where a test fails, and keep in mind what it is."""
        written = f"CASE WHEN {' AND '.join(tests)} THEN {number} END" if tests else number
        self._sure[written] = _Sure(tests, number)
        return written

    def _sure_of(self, operand: str) -> _Sure:
        return self._sure.get(operand) or _Sure((self._is_number(operand),), operand)

    def _is_number(self, operand: str) -> str:
        """Write a test that is true of no missing number, with the operand in it once."""
        return DUCKDB_IS_NUMBER.format(x=operand)

    def _no_nan(self, operand: str) -> str:
        if operand in self._sure:
            return operand
        return f"CASE WHEN {self._is_number(operand)} THEN {operand} END"


class _Spark(_DuckDB):
    """Spark: in ANSI mode x / 0 raises. Text is compared as binary, whatever its collation."""

    rounded = "rint({x})"

    def text(self, text: str) -> str:
        return f"X'{text.encode().hex()}'"  # a literal of text may hold escapes, by a setting

    def compute(self, sign: ArithmeticSign, left: str, right: str) -> str:
        return f"try_divide({left}, {right})" if sign == "/" else f"({left} {sign} {right})"

    def call(self, function: Function, operands: Sequence[str]) -> str:
        if function in OWN_FUNCTIONS:  # by the executors' own Python
            return f"tametail_{function}({', '.join(operands)})"
        return super().call(function, operands)

    def _is_number(self, operand: str) -> str:
        return f"{self._no_nan(operand)} IS NOT NULL"

    def _no_nan(self, operand: str) -> str:
        return f"nanvl({operand}, {self.nothing()})"


class _ClickHouse(_DuckDB):
    """ClickHouse: doubles by their bits, as it may read decimals inexactly; text is bytes."""

    double = "Float64"
    rounded = "round({x})"

    def literal(self, number: float) -> str:
        return f"reinterpretAsFloat64(toUInt64({int(np.float64(number).view(np.uint64))}))"

    def text(self, text: str) -> str:
        return f"x'{text.encode().hex()}'"  # a backslash is an escape

    def _is_number(self, operand: str) -> str:
        return CLICKHOUSE_IS_NUMBER.format(x=operand)


class _PostgreSQL(_DuckDB):
    """PostgreSQL: the same, with a look before every operation."""

    double = "float8"
    rounded = "round({x})"

    def text(self, text: str) -> str:
        # In E'' a backslash is an escape whatever the server's settings say.
        escaped = text.replace("\\", "\\\\").replace("'", "''")
        return f"CAST(E'{escaped}' AS text) COLLATE \"C\""

    def _is_number(self, operand: str) -> str:
        return f"{self._no_nan(operand)} IS NOT NULL"

    def _no_nan(self, operand: str) -> str:
        return f"nullif({operand}, CAST('NaN' AS {self.double}))"

    def compute(self, sign: ArithmeticSign, left: str, right: str) -> str:
        return self._named(
            [left, right], lambda sides: _GUARDS[sign].format(*sides, sign=sign, **_CONSTANTS)
        )

    def call(self, function: Function, operands: Sequence[str]) -> str:
        write = super().call
        return self._named(operands, lambda named: write(function, named))

    def _named(self, operands: Sequence[str], write: Callable[[Sequence[str]], str]) -> str:
        """Write an operation in which computed operands have names."""
        names = {f"o{place}": each for place, each in enumerate(operands)}
        computed = {name: each for name, each in names.items() if not self._is_plain(each)}
        guarded = write([f"t.{n}" if n in computed else each for n, each in names.items()])
        if not computed:
            return guarded
        named = ", ".join(f"{each} AS {name}" for name, each in computed.items())
        return f"(SELECT {guarded} FROM (SELECT {named} OFFSET 0) AS t)"  # noqa: S608 - all ours

    def _is_plain(self, operand: str) -> bool:
        """Say whether the text is a column or a constant, which may well be named several times."""
        return operand.startswith("CAST(") or any(
            operand == column.text for column in self._columns.values()
        )


_OPERATIONS: dict[Dialect, type[_DuckDB]] = {
    "duckdb": _DuckDB,
    "postgresql": _PostgreSQL,
    "spark": _Spark,
    "clickhouse": _ClickHouse,
}


def _power(exponent: int) -> str:
    return f"CAST('{2.0**exponent!r}' AS float8)"


_CONSTANTS = {
    "infinity": "CAST('Infinity' AS float8)",
    "one": "CAST('1' AS float8)",
    "zero": "CAST('0' AS float8)",
    "half": "CAST('0.5' AS float8)",
    "huge": _power(1022),
    "half_limit": _power(1023),
    "down": _power(-512),
    "up": _power(512),
    "tiny": _power(-538),
    "lift": _power(600),
    "lifted_least": _power(-475),
    "raise": _power(540),
    "lower": _power(-535),
    "small": _power(-50),
    "least": _power(-1074),
    "split": "CAST('134217729' AS float8)",
}

#: For PostgreSQL NaN is the largest number, so >= infinity is true of it.
_SUM = (
    "(CASE WHEN abs({0}) < {huge} AND abs({1}) < {huge} THEN {0} {sign} {1}"
    " WHEN abs({0}) >= {infinity} OR abs({1}) >= {infinity} THEN {0} {sign} {1}"
    " WHEN abs((CASE WHEN abs({0}) < {one} THEN {zero} ELSE {0} * {half} END) {sign}"
    " (CASE WHEN abs({1}) < {one} THEN {zero} ELSE {1} * {half} END)) >= {half_limit}"
    " THEN sign({0}) * {infinity} ELSE {0} {sign} {1} END)"
)
#: Operands below 1, the smaller one lifted; their product, rounded; and what rounding took away,
#: exactly, by splitting both in halves of 26 bits (Dekker).
_LIFTED = "(least(abs({0}), abs({1})) * {lift} * greatest(abs({0}), abs({1})))"
_REMAINDER = (
    "(SELECT ((ah * bh - ab) + ah * bl + al * bh) + al * bl FROM (SELECT ab, ah, bh, a - ah AS al,"
    " b - bh AS bl FROM (SELECT a, b, a * b AS ab, a * {split} - (a * {split} - a) AS ah,"
    " b * {split} - (b * {split} - b) AS bh FROM (SELECT least(abs({0}), abs({1})) * {lift} AS a,"
    " greatest(abs({0}), abs({1})) AS b OFFSET 0) AS u OFFSET 0) AS v OFFSET 0) AS w)"
)
_PRODUCT = (
    "(CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL"
    " WHEN {0} = {zero} OR {1} = {zero} OR abs({0}) >= {infinity} OR abs({1}) >= {infinity}"
    " THEN {0} * {1}"
    " WHEN abs({0}) >= {one} AND abs({1}) >= {one} THEN"
    " CASE WHEN (abs({0}) * {down}) * (abs({1}) * {down}) >= {one}"
    " THEN sign({0}) * sign({1}) * {infinity} ELSE {0} * {1} END"
    " WHEN abs({0}) >= {one} OR abs({1}) >= {one} THEN {0} * {1}"
    " WHEN greatest(abs({0}), abs({1})) < {tiny} THEN {zero}"
    " WHEN {lifted} > {lifted_least} THEN {0} * {1}"
    " WHEN {lifted} = {lifted_least} AND {remainder} > {zero}"
    " THEN sign({0}) * sign({1}) * {least} ELSE {zero} END)"
)
_QUOTIENT = (
    "(CASE WHEN {1} = {zero} THEN NULL"
    " WHEN {0} = {zero} OR abs({0}) >= {infinity} OR abs({1}) > {infinity} THEN {0} / {1}"
    " WHEN abs({1}) = {infinity} THEN {0} * {zero}"
    " WHEN abs({1}) >= {one} AND abs({0}) < {small} THEN"
    " CASE WHEN abs({0}) * {raise} <= abs({1}) * {lower} THEN {zero} ELSE {0} / {1} END"
    " WHEN abs({1}) < {one} AND abs({0}) >= {small} THEN"
    " CASE WHEN abs({0}) * {down} >= abs({1}) * {up}"
    " THEN sign({0}) * sign({1}) * {infinity} ELSE {0} / {1} END"
    " ELSE {0} / {1} END)"
)
_GUARDS: dict[ArithmeticSign, str] = {
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT.replace("{lifted}", _LIFTED).replace("{remainder}", _REMAINDER),
    "/": _QUOTIENT,
}
