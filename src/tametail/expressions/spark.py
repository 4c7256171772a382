"""Expressions as columns of Spark: no row enters Python, and no record makes a job fail.

In ANSI mode Spark's ``/`` raises at a zero, so ``try_divide`` is used. Spark takes NaN for the
largest number and equal to itself, so it is looked for before any comparison. Text is compared as
binary: the collation of a column does not matter.
"""

from __future__ import annotations

import operator

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as fn

from tametail.errors import ColumnError
from tametail.expressions import Expression
from tametail.expressions.folding import Kind, fold_condition, fold_number
from tametail.expressions.tree import ArithmeticSign, ComparisonSign

_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": fn.try_divide}


def spark_value(expression: Expression, frame: DataFrame) -> Column:
    """Return a column of doubles; NULL and NaN are missing."""
    return fold_number(expression.value, _Columns(expression, frame))


def spark_condition(expression: Expression, frame: DataFrame) -> Column:
    """Return a column of booleans; NULL is missing."""
    return fold_condition(expression.condition, _Columns(expression, frame))


class _Columns:
    """The operations on the columns of a frame."""

    def __init__(self, expression: Expression, frame: DataFrame) -> None:
        # Each once: a call to the JVM takes a millisecond, and a list may name a column often.
        self._kinds = {name: _kind(frame, name) for name in expression.columns}
        self._columns = {name: self._cast(name) for name in expression.columns}
        self._nothing = fn.lit(None).cast("double")

    def kind(self, name: str) -> Kind:
        return self._kinds[name]

    def column(self, name: str) -> Column:
        return self._columns[name]

    def number(self, number: float) -> Column:
        return fn.lit(number)

    def text(self, text: str) -> Column:
        return fn.lit(text.encode())

    def nothing(self) -> Column:
        return self._nothing

    def negate(self, operand: Column) -> Column:
        return -operand

    def compute(self, sign: ArithmeticSign, left: Column, right: Column) -> Column:
        return _COMPUTE[sign](left, right)

    def compare(self, sign: ComparisonSign, kind: Kind, left: Column, right: Column) -> Column:
        if kind == "number":
            left, right = self._no_nan(left), self._no_nan(right)
        return _COMPARE[sign](left, right)

    def unknown(self) -> Column:
        return fn.lit(None).cast("boolean")

    def value_is_missing(self, kind: Kind, operand: Column) -> Column:
        return (operand if kind == "text" else self._no_nan(operand)).isNull()

    def is_unknown(self, operand: Column) -> Column:
        return operand.isNull()

    def invert(self, operand: Column) -> Column:
        return ~operand

    def both(self, left: Column, right: Column) -> Column:
        return left & right

    def either(self, left: Column, right: Column) -> Column:
        return left | right

    def _cast(self, name: str) -> Column:
        return _quoted(name).cast("double" if self._kinds[name] == "number" else "binary")

    def _no_nan(self, operand: Column) -> Column:
        return fn.nanvl(operand, self._nothing)


def _quoted(name: str) -> Column:
    return fn.col("`{}`".format(name.replace("`", "``")))


def _kind(frame: DataFrame, name: str) -> Kind:
    """Return what the column is declared to hold; refuse what is neither numbers nor text."""
    try:
        declared = frame.select(_quoted(name).alias("x")).schema["x"].dataType
    except AnalysisException:
        declared = None
    if declared is None:
        raise ColumnError(f"there is no column {name!r}, or several: rename all but one.")
    if isinstance(declared, types.StringType | types.BinaryType):
        return "text"
    if isinstance(declared, types.NumericType | types.BooleanType | types.NullType):
        return "number"
    raise ColumnError(
        f"column {name!r} has type {declared.simpleString()}, which is neither numeric nor text: "
        "convert it before."
    )
