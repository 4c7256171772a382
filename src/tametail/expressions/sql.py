"""Expressions as SQL text for DuckDB and PostgreSQL, in which no record makes a statement fail.

PostgreSQL raises where a double operation overflows, underflows to 0, or divides by 0. Each would
be an error that depends on one record, so a CASE looks before the operation is done
(docs/proofs/expressions.md has the thresholds). A CASE names its operands several times; operands
that are computed themselves are given names by a subquery, so that the text does not double with
every level, and OFFSET 0 keeps the planner from putting them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tametail.expressions import Expression
from tametail.expressions.folding import Kind, fold_condition, fold_number
from tametail.expressions.tree import ArithmeticSign, ComparisonSign

#: What a column is declared as: a floating or integer type, a boolean, a type of text. A NUMERIC
#: of PostgreSQL may hold what no double can, and its cast raises: it must be refused before.
Declared = Literal["number", "boolean", "text"]
Dialect = Literal["duckdb", "postgresql"]


def sql_value(expression: Expression, declared: Mapping[str, Declared], dialect: Dialect) -> str:
    """Return SQL for a double; NULL and NaN are missing.

    >>> kinds = {"charge": "number", "nights": "number"}
    >>> print(sql_value(Expression.parse("charge / nights"), kinds, "duckdb"))
    (CAST("charge" AS DOUBLE) / nullif(CAST("nights" AS DOUBLE), 0))
    """
    return fold_number(expression.value, _OPERATIONS[dialect](declared))


def sql_condition(
    expression: Expression, declared: Mapping[str, Declared], dialect: Dialect
) -> str:
    """Return SQL for a boolean; NULL is missing.

    >>> print(sql_condition(Expression.parse("name < 'it''s'"), {"name": "text"}, "postgresql"))
    (CAST("name" AS text) COLLATE "C" < CAST(E'it''s' AS text) COLLATE "C")
    """
    return fold_condition(expression.condition, _OPERATIONS[dialect](declared))


class _DuckDB:
    """DuckDB's doubles follow IEEE 754, but x / 0 depends on a setting. NaN equals NaN there."""

    double = "DOUBLE"
    collation = '"binary"'

    def __init__(self, declared: Mapping[str, Declared]) -> None:
        self._declared = declared

    def kind(self, name: str) -> Kind:
        return "text" if self._declared[name] == "text" else "number"

    def column(self, name: str) -> str:
        quoted = '"{}"'.format(name.replace('"', '""'))
        match self._declared[name]:
            case "text":
                return self._text(quoted)
            case "boolean":
                return f"CAST(CAST({quoted} AS integer) AS {self.double})"
            case "number":
                return f"CAST({quoted} AS {self.double})"

    def number(self, number: float) -> str:
        return f"CAST('{number!r}' AS {self.double})"

    def text(self, text: str) -> str:
        return self._text("'{}'".format(text.replace("'", "''")))

    def nothing(self) -> str:
        return f"CAST(NULL AS {self.double})"

    def negate(self, operand: str) -> str:
        return f"(- {operand})"  # two signs without a blank begin a comment

    def compute(self, sign: ArithmeticSign, left: str, right: str) -> str:
        return f"({left} / nullif({right}, 0))" if sign == "/" else f"({left} {sign} {right})"

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

    def _text(self, operand: str) -> str:
        return f"CAST({operand} AS text) COLLATE {self.collation}"

    def _no_nan(self, operand: str) -> str:
        return f"nullif({operand}, CAST('NaN' AS {self.double}))"


class _PostgreSQL(_DuckDB):
    """PostgreSQL: the same, with a look before every operation."""

    double = "float8"
    collation = '"C"'

    def text(self, text: str) -> str:
        # In E'' a backslash is an escape whatever the server's settings say.
        escaped = text.replace("\\", "\\\\").replace("'", "''")
        return self._text(f"E'{escaped}'")

    def compute(self, sign: ArithmeticSign, left: str, right: str) -> str:
        names = [side if _is_plain(side) else name for name, side in _named(left, right)]
        guarded = _GUARDS[sign].format(*names, sign=sign, **_CONSTANTS)
        computed = [f"{side} AS {name[2:]}" for name, side in _named(left, right) if name in names]
        if not computed:
            return guarded
        named = ", ".join(computed)
        return f"(SELECT {guarded} FROM (SELECT {named} OFFSET 0) AS t)"  # noqa: S608 - all quoted


_OPERATIONS: dict[Dialect, type[_DuckDB]] = {"duckdb": _DuckDB, "postgresql": _PostgreSQL}


def _named(left: str, right: str) -> list[tuple[str, str]]:
    return [("t.l", left), ("t.r", right)]


def _is_plain(operand: str) -> bool:
    """Say whether the text is a column or a constant, which may well be named several times."""
    return operand.startswith("CAST(")


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
}

#: For PostgreSQL NaN is the largest number, so >= infinity is true of it.
_SUM = (
    "(CASE WHEN abs({0}) < {huge} AND abs({1}) < {huge} THEN {0} {sign} {1}"
    " WHEN abs({0}) >= {infinity} OR abs({1}) >= {infinity} THEN {0} {sign} {1}"
    " WHEN abs((CASE WHEN abs({0}) < {one} THEN {zero} ELSE {0} * {half} END) {sign}"
    " (CASE WHEN abs({1}) < {one} THEN {zero} ELSE {1} * {half} END)) >= {half_limit}"
    " THEN sign({0}) * {infinity} ELSE {0} {sign} {1} END)"
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
    " WHEN least(abs({0}), abs({1})) * {lift} * greatest(abs({0}), abs({1})) <= {lifted_least}"
    " THEN {zero} ELSE {0} * {1} END)"
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
_GUARDS: dict[ArithmeticSign, str] = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _QUOTIENT}
