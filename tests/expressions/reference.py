"""The reference: what an expression means for one record, in plain Python.

Written from the query specification, and slow; it shares no code with the engines, which are
compared with it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tametail.expressions import Expression
from tametail.expressions.elementary import exp_of, log_of
from tametail.expressions.tree import (
    VALUES,
    And,
    Arithmetic,
    Call,
    Comparison,
    Condition,
    Missing,
    Name,
    Negate,
    Node,
    Not,
    Number,
    Or,
    Text,
    Value,
)

#: A number, a text, or missing; text as a str stands for its bytes in UTF-8.
Cell = float | str | bytes | None

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def row_value(expression: Expression, row: Mapping[str, Cell]) -> float | None:
    """Return the number that the expression gives to a record, None if it is missing.

    >>> charge = Expression.parse("charge / nights")
    >>> row_value(charge, {"charge": 300.0, "nights": 2.0})
    150.0
    >>> row_value(charge, {"charge": 300.0, "nights": 0.0})
    """
    found = _operand(expression.tree, row)
    return found if isinstance(found, float) else None


def row_truth(expression: Expression, row: Mapping[str, Cell]) -> bool | None:
    """Return whether the condition holds for a record, None if it is missing.

    >>> where = Expression.parse("age >= 65 or region == 'north'")
    >>> [row_truth(where, {"age": None, "region": region}) for region in ("north", "south")]
    [True, None]
    """
    return _truth(expression.condition, row)


def _value(node: Value, row: Mapping[str, Cell]) -> float | bytes | None:
    match node:
        case Name(name):
            return _cell(row[name])
        case Number(number):
            return number
        case Text(text):
            return text.encode()
        case Negate(operand):
            value = _value(operand, row)
            return -value if isinstance(value, float) else None
        case Arithmetic(sign, left, right):
            return _compute(sign, _value(left, row), _value(right, row))
        case Call(function, arguments):
            return _call(function, [_operand(each, row) for each in arguments])


def _operand(node: Node, row: Mapping[str, Cell]) -> float | bytes | None:
    if isinstance(node, VALUES):
        return _value(node, row)
    truth = _truth(node, row)
    return None if truth is None else float(truth)


def _call(  # noqa: PLR0911 - by case
    function: str, arguments: list[float | bytes | None]
) -> float | None:
    numbers = [each for each in arguments if isinstance(each, float)]
    if function == "coalesce":
        return numbers[0] if numbers else None
    if len(numbers) < len(arguments):
        return None
    first = numbers[0]
    match function:
        case "abs":
            return abs(first)
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
        case "round":
            return float(round(first)) if math.isfinite(first) else first
        case "sqrt":
            return math.sqrt(first) if first >= 0 else None
        case "log":
            return log_of(first) if first > 0 else None
        case _:
            return exp_of(first)


def _cell(cell: Cell) -> float | bytes | None:
    if isinstance(cell, str):
        return cell.encode()
    if cell is None or isinstance(cell, bytes):
        return cell
    return None if math.isnan(cell) else float(cell)


def _compute(sign: str, left: float | bytes | None, right: float | bytes | None) -> float | None:
    if not isinstance(left, float) or not isinstance(right, float):
        return None
    match sign:
        case "+":
            result = left + right
        case "-":
            result = left - right
        case "*":
            result = left * right
        case _:
            result = left / right if right != 0 else math.nan
    return None if math.isnan(result) else result


def _truth(node: Condition, row: Mapping[str, Cell]) -> bool | None:
    match node:
        case Comparison(sign, left, right):
            values = _value(left, row), _value(right, row)
            if isinstance(values[0], float) != isinstance(values[1], float) or None in values:
                return None
            return _COMPARE[sign](*values)
        case Missing(operand):
            found = _value(operand, row) if isinstance(operand, VALUES) else _truth(operand, row)
            return found is None
        case Not(operand):
            truth = _truth(operand, row)
            return None if truth is None else not truth
        case And(operands):
            return _decided_by(False, operands, row)
        case Or(operands):
            return _decided_by(True, operands, row)


def _decided_by(
    decisive: bool, nodes: tuple[Condition, ...], row: Mapping[str, Cell]
) -> bool | None:
    """Return ``decisive`` if one truth is that, missing if one is missing, else the opposite."""
    truths = {_truth(node, row) for node in nodes}
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive
