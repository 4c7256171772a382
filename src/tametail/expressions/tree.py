"""The tree of an expression: frozen, hashable, and written back as text that parses to itself.

Conditions and values are two kinds of node, so that what a tree means never depends on records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ArithmeticSign = Literal["+", "-", "*", "/"]
ComparisonSign = Literal["==", "!=", "<", "<=", ">", ">="]

Function = Literal["abs", "min", "max", "round", "log", "exp", "sqrt", "coalesce"]

#: How many arguments a function takes, at least and at most.
FUNCTIONS: dict[Function, tuple[int, int]] = {
    "abs": (1, 1), "round": (1, 1), "log": (1, 1), "exp": (1, 1), "sqrt": (1, 1),
    "min": (2, 16), "max": (2, 16), "coalesce": (2, 16),
}  # fmt: skip

#: Functions that libraries round differently: no database computes them, this package does.
OWN_FUNCTIONS: frozenset[Function] = frozenset({"log", "exp"})

#: A name that needs no backticks, unless it is one of the words below.
PLAIN_NAME = re.compile(r"[^\W\d]\w*")
KEYWORDS = frozenset({"and", "or", "not", "is", "missing", "in"})


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str

    def __str__(self) -> str:
        if PLAIN_NAME.fullmatch(self.name) and self.name not in KEYWORDS:
            return self.name
        return "`{}`".format(self.name.replace("`", "``"))


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number without a sign."""

    value: float

    def __str__(self) -> str:
        is_short = self.value.is_integer() and self.value < 1e15
        return f"{self.value:.0f}" if is_short else repr(self.value)


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    value: str

    def __str__(self) -> str:
        return "'{}'".format(self.value.replace("'", "''"))


@dataclass(frozen=True, slots=True)
class Negate:
    """A number with the other sign."""

    operand: Value

    def __str__(self) -> str:
        return f"-{_inner(self.operand)}"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One double operation."""

    sign: ArithmeticSign
    left: Value
    right: Value

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.sign} {_inner(self.right)}"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of numbers."""

    function: Function
    arguments: tuple[Value | Condition, ...]
    """Numbers; nobody can write a condition here, but what is computed of one may hold it."""

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values, compared."""

    sign: ComparisonSign
    left: Value
    right: Value

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


@dataclass(frozen=True, slots=True)
class Missing:
    """Whether a value is missing, or a condition neither true nor false."""

    operand: Value | Condition

    def __str__(self) -> str:
        return f"{_inner(self.operand)} is missing"


@dataclass(frozen=True, slots=True)
class Not:
    """True where the operand is false."""

    operand: Condition

    def __str__(self) -> str:
        if isinstance(self.operand, Missing):
            return f"{_inner(self.operand.operand)} is not missing"
        return f"not {_inner(self.operand)}"


@dataclass(frozen=True, slots=True)
class And:
    """True where all operands are, false where one is."""

    operands: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(map(_part, self.operands))


@dataclass(frozen=True, slots=True)
class Or:
    """True where one operand is, false where all are."""

    operands: tuple[Condition, ...]

    def __str__(self) -> str:
        return " or ".join(map(_part, self.operands))


Value = Name | Number | Text | Negate | Arithmetic | Call
Condition = Comparison | Missing | Not | And | Or
Node = Value | Condition

VALUES = (Name, Number, Text, Negate, Arithmetic, Call)


def parts(node: Node) -> tuple[Node, ...]:
    """Return what the node is made of, from left to right."""
    match node:
        case Arithmetic() | Comparison():
            return node.left, node.right
        case Negate() | Not() | Missing():
            return (node.operand,)
        case And() | Or():
            return node.operands
        case Call():
            return node.arguments
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all that it is made of, from left to right."""
    yield node
    for part in parts(node):
        yield from walk(part)


def _inner(node: Node) -> str:
    """Return the text of a part of arithmetic, in parentheses where it has parts itself."""
    return str(node) if isinstance(node, Name | Number | Text | Call) else f"({node})"


def _part(node: Condition) -> str:
    """Return the text of a part of and/or; a comparison needs no parentheses there."""
    return str(node) if isinstance(node, Comparison | Missing | Not) else f"({node})"
