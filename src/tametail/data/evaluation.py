"""Expressions over chunks of records in memory: NumPy for numbers, Arrow for text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tametail.data.cells import arrow_to_floats, is_bytes, is_number
from tametail.errors import ColumnError
from tametail.expressions import Expression
from tametail.expressions.elementary import exp_all, log_all
from tametail.expressions.folding import Kind, fold_condition, fold_number
from tametail.expressions.tree import ArithmeticSign, ComparisonSign, Function

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

#: A column of a chunk: float64 of NumPy, or an Arrow array; of text or bytes, it is text.
Column: TypeAlias = "Floats | pa.Array"

_NUMBERS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_TEXTS = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
#: NaN in, NaN out; and NaN for what is not defined.
_ONE: dict[Function, Callable[[Column], Column]] = {
    "abs": np.abs, "round": np.rint, "sqrt": np.sqrt, "log": log_all, "exp": exp_all,
}  # fmt: skip
_PAIRS: dict[Function, Callable[[Column, Column], Column]] = {
    "min": np.minimum, "max": np.maximum,
    "coalesce": lambda one, other: np.where(np.isnan(one), other, one),
}  # fmt: skip


def chunk_values(expression: Expression, chunk: Mapping[str, Column]) -> Floats:
    """Return the numbers that the expression gives to the records, NaN for missing.

    Of a plain name, that is the column itself and no copy.

    >>> chunk = {"charge": np.array([300.0, 80.0, 5.0]), "nights": pa.array([2, None, 0])}
    >>> chunk_values(Expression.parse("charge / nights"), chunk).tolist()
    [150.0, nan, nan]
    """
    with np.errstate(all="ignore"):
        numbers: Floats = fold_number(expression.tree, _Columns(expression, chunk))
    return numbers


def chunk_mask(expression: Expression, chunk: Mapping[str, Column]) -> Truths:
    """Return for which records the condition is true.

    >>> chunk = {"age": np.array([70.0, 30.0]), "region": pa.array(["north", None])}
    >>> chunk_mask(Expression.parse("not (age < 65 and region == 'south')"), chunk).tolist()
    [True, False]
    """
    with np.errstate(all="ignore"):
        return fold_condition(expression.condition, _Columns(expression, chunk)).true


class _Known(NamedTuple):
    """A condition: where it is true and where it is false; elsewhere it is missing."""

    true: Truths
    false: Truths


class _Columns:
    """The operations on the columns of one chunk, each converted once."""

    def __init__(self, expression: Expression, chunk: Mapping[str, Column]) -> None:
        columns = {name: _to_column(name, chunk[name]) for name in expression.columns}
        self._columns = columns
        self.length = len(next(iter(columns.values())))

    def kind(self, name: str) -> Kind:
        return "number" if isinstance(self._columns[name], np.ndarray) else "text"

    def column(self, name: str) -> Column:
        return self._columns[name]

    def number(self, number: float) -> Column:
        return np.array(number)

    def text(self, text: str) -> Column:
        return pa.scalar(text.encode(), pa.large_binary())

    def nothing(self) -> Column:
        return np.full(self.length, np.nan)

    def negate(self, operand: Column) -> Column:
        return np.negative(operand)

    def compute(self, sign: ArithmeticSign, left: Column, right: Column) -> Column:
        match sign:
            case "+":
                return np.add(left, right)
            case "-":
                return np.subtract(left, right)
            case "*":
                return np.multiply(left, right)
            case "/":
                return np.divide(left, np.where(np.equal(right, 0), np.nan, right))

    def call(self, function: Function, operands: Sequence[Column]) -> Column:
        return (
            reduce(_PAIRS[function], operands) if len(operands) > 1 else _ONE[function](*operands)
        )

    def as_number(self, condition: _Known) -> Column:
        return np.where(condition.true, 1.0, np.where(condition.false, 0.0, np.nan))

    def compare(self, sign: ComparisonSign, kind: Kind, left: Column, right: Column) -> _Known:
        if kind == "text":
            truths = _TEXTS[sign](left, right)
            return _Known(_where_true(truths), _where_true(pc.invert(truths)))
        known = ~(np.isnan(left) | np.isnan(right))
        true = _NUMBERS[sign](left, right) & known  # != is true of NaN
        return _Known(true, known & ~true)

    def unknown(self) -> _Known:
        nowhere = np.zeros(self.length, dtype=np.bool_)
        return _Known(nowhere, nowhere)

    def value_is_missing(self, kind: Kind, operand: Column) -> _Known:
        missing = np.isnan(operand) if kind == "number" else _where_true(pc.is_null(operand))
        return _Known(missing, ~missing)

    def is_unknown(self, operand: _Known) -> _Known:
        known = operand.true | operand.false
        return _Known(~known, known)

    def invert(self, operand: _Known) -> _Known:
        return _Known(operand.false, operand.true)

    def both(self, left: _Known, right: _Known) -> _Known:
        return _Known(left.true & right.true, left.false | right.false)

    def either(self, left: _Known, right: _Known) -> _Known:
        return _Known(left.true | right.true, left.false & right.false)


def _to_column(name: str, column: Column) -> Column:
    """Return doubles, or text as its bytes; refuse a type that declares neither."""
    if isinstance(column, np.ndarray):
        if column.dtype != np.float64:
            raise ColumnError(f"Column {name!r} has type {column.dtype}. Pass float64 or Arrow.")
        return column
    if isinstance(column, pa.ChunkedArray):
        chunks = column.chunks or [pa.nulls(0, column.type)]
        found = [_to_column(name, chunk) for chunk in chunks]
        is_numeric = isinstance(found[0], np.ndarray)
        return np.concatenate(found) if is_numeric else pa.concat_arrays(found)
    is_dictionary = pa.types.is_dictionary(column.type)
    declared = column.type.value_type if is_dictionary else column.type
    if is_bytes(declared):
        # First wide, then decoded: offsets of 32 bits could overflow, an error due to cells.
        wide = (column.dictionary if is_dictionary else column).cast(pa.large_binary())
        return wide.take(column.indices) if is_dictionary else wide
    if not is_number(declared):
        raise ColumnError(
            f"Column {name!r} has type {column.type}, which is neither numeric nor text. Convert "
            "it first."
        )
    return arrow_to_floats(column)


def _where_true(truths: pa.BooleanArray) -> Truths:
    found: Truths = truths.fill_null(False).to_numpy(zero_copy_only=False)
    return found
