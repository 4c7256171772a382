"""The way through a tree, once for all engines: what is text, what is a number, what is missing.

An engine says how it does one operation. Types are those that the schema declares, so everything
decided here is decided before any record is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeVar

from tametail.expressions import tree

Kind = Literal["number", "text"]

V = TypeVar("V")
C = TypeVar("C")


class Operations(Protocol[V, C]):
    """One operation each, on values V and conditions C of an engine."""

    def kind(self, name: str) -> Kind:
        """Return what the column is declared to hold."""

    def column(self, name: str) -> V:
        """Return a column: doubles or text."""

    def number(self, number: float) -> V:
        """Return a constant number."""

    def text(self, text: str) -> V:
        """Return a constant text."""

    def nothing(self) -> V:
        """Return a number that is missing."""

    def negate(self, operand: V) -> V:
        """Return the number with the other sign."""

    def compute(self, sign: tree.ArithmeticSign, left: V, right: V) -> V:
        """Return the result of one double operation; x / 0 is missing."""

    def call(self, function: tree.Function, operands: Sequence[V]) -> V:
        """Return a function of numbers; what it is not defined for is missing."""

    def compare(self, sign: tree.ComparisonSign, kind: Kind, left: V, right: V) -> C:
        """Compare two values of the same kind; missing if one of them is."""

    def as_number(self, condition: C) -> V:
        """Return 1 where the condition is true, 0 where it is false, else nothing."""

    def unknown(self) -> C:
        """Return a condition that is neither true nor false."""

    def value_is_missing(self, kind: Kind, operand: V) -> C:
        """Return whether the value is missing."""

    def is_unknown(self, operand: C) -> C:
        """Return whether the condition is neither true nor false."""

    def invert(self, operand: C) -> C:
        """Return not."""

    def both(self, left: C, right: C) -> C:
        """Return Kleene's and."""

    def either(self, left: C, right: C) -> C:
        """Return Kleene's or."""


def fold_value(node: tree.Value, do: Operations[V, C]) -> tuple[Kind, V]:  # noqa: PLR0911 - by case
    """Return the value of a tree, and whether it is text."""
    match node:
        case tree.Name(name):
            return do.kind(name), do.column(name)
        case tree.Number(number):
            return "number", do.number(number)
        case tree.Text(text):
            return "text", do.text(text)
        case tree.Negate(operand):
            kind, value = fold_value(operand, do)
            return "number", do.negate(value) if kind == "number" else do.nothing()
        case tree.Arithmetic(sign, left, right):
            (kind, value), (other_kind, other) = fold_value(left, do), fold_value(right, do)
            if "text" in (kind, other_kind):
                return "number", do.nothing()
            return "number", do.compute(sign, value, other)
        case tree.Call(function, arguments):
            return "number", do.call(function, [fold_number(each, do) for each in arguments])


def fold_number(node: tree.Node, do: Operations[V, C]) -> V:
    """Return the number that a tree gives to a record; text is no number."""
    if not isinstance(node, tree.VALUES):
        return do.as_number(fold_condition(node, do))
    kind, value = fold_value(node, do)
    return value if kind == "number" else do.nothing()


def fold_condition(node: tree.Condition, do: Operations[V, C]) -> C:
    """Return the truth of a tree."""
    match node:
        case tree.Comparison(sign, left, right):
            (kind, value), (other_kind, other) = fold_value(left, do), fold_value(right, do)
            is_same = kind == other_kind
            return do.compare(sign, kind, value, other) if is_same else do.unknown()
        case tree.Missing(operand):
            return _fold_missing(operand, do)
        case tree.Not(operand):
            return do.invert(fold_condition(operand, do))
        case tree.And(operands):
            return _halved(operands, do, do.both)
        case tree.Or(operands):
            return _halved(operands, do, do.either)


def _fold_missing(operand: tree.Value | tree.Condition, do: Operations[V, C]) -> C:
    if isinstance(operand, tree.VALUES):
        return do.value_is_missing(*fold_value(operand, do))
    return do.is_unknown(fold_condition(operand, do))


def _halved(nodes: Sequence[tree.Condition], do: Operations[V, C], join: Callable[[C, C], C]) -> C:
    """Join by halves: a long list would otherwise be nested as deep as it is long."""
    if len(nodes) == 1:
        return fold_condition(nodes[0], do)
    middle = len(nodes) // 2
    return join(_halved(nodes[:middle], do, join), _halved(nodes[middle:], do, join))
