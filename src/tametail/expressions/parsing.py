"""From text to a tree.

Words, numbers and texts are cut out first, and numbered placeholders stand for them. So Python's
parser sees operators, parentheses and placeholders only: no name is normalized, no literal can
warn, and there is nothing that could be executed. Of its tree, the nodes named here are taken.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, Never

from tametail.errors import ParameterError
from tametail.expressions import tree

#: Characters of a text, nodes and levels of a tree, and divisors or arguments within one another:
#: each occurs twice in the SQL that guards an operation, so 16 times at that depth.
MOST_CHARACTERS = 20_000
MOST_NODES = 4_000
MOST_LEVELS = 64
MOST_DIVISORS = 4

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
      | (?P<word>[^\W\d]\w*)
      | `(?P<quoted>(?:[^`]|``)+)`
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<also_text>(?:[^"]|"")*)"
      | (?P<sign>==|!=|<=|>=|[-+*/<>(),])
    )""",
    re.VERBOSE,
)

_ARITHMETIC: dict[type[ast.operator], tree.ArithmeticSign] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_COMPARISONS: dict[type[ast.cmpop], tree.ComparisonSign] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}

_HELP = (
    "Allowed are column names (`in backticks` if they contain spaces), numbers, 'text', + - * /, "
    "== != < <= > >=, is missing, in ('a', 'b'), and, or, not, parentheses, and abs min max round "
    "log exp sqrt coalesce"
)


class _Called(NamedTuple):
    """The name of a function, before its arguments."""

    function: tree.Function


_Item = tree.Name | tree.Number | tree.Text | _Called | None


def parse(text: str, argument: str) -> tree.Node:
    """Return the tree of ``text``, the value of the public argument that is called so."""
    return _Parser(text, argument).parsed()


class _Parser:
    """One text on its way to a tree; the placeholder ``_3`` stands for item 3."""

    def __init__(self, text: str, argument: str) -> None:
        self._argument = argument
        self._text = text
        self._items: list[_Item] = []

    def parsed(self) -> tree.Node:
        """Return the tree, or refuse the text."""
        if not isinstance(self._text, str) or not self._text.strip():
            self._refuse("is not an expression")
        if len(self._text) > MOST_CHARACTERS:
            self._refuse(f"has more than {MOST_CHARACTERS} characters")
        try:
            self._text.encode()
        except UnicodeEncodeError:
            self._refuse("is not valid Unicode")
        if "\0" in self._text:
            self._refuse("contains a NUL character")
        try:
            found = self._node(ast.parse(" ".join(self._tokens()), mode="eval").body)
            self._check_size(found)
        except SyntaxError:
            found = None
        except (RecursionError, MemoryError):
            self._refuse("is nested too deeply")
        if found is None:
            self._refuse("has a syntax error (text stands in quotes: state == 'CA')")
        if not _names_a_column(found):
            self._refuse("names no column")
        return found

    def _tokens(self) -> list[str]:
        """Return the text as Python's parser shall see it."""
        seen, place = [], 0
        end = len(self._text.rstrip())
        while place < end:
            token = _TOKEN.match(self._text, place, end)
            if token is None:
                rest = self._text[place:].strip()
                to_compare = " (use == to compare)" if rest[:1] == "=" else ""
                self._refuse(f"has a syntax error at {rest[:20]!r}{to_compare}")
            place = token.end()
            seen.append(self._seen(token))
        if any(sign == "in" and after != "(" for sign, after in pairwise(seen)):
            self._refuse('has "in" without a list in parentheses')
        return seen

    def _seen(self, token: re.Match[str]) -> str:  # noqa: PLR0911 - by case
        kind, text = token.lastgroup, token[token.lastgroup or 0]
        match kind:
            case "sign":
                return text
            case "word" if text in tree.KEYWORDS - {"missing"}:
                return text
            case "word" if text in tree.FUNCTIONS and self._text[token.end() :].lstrip()[:1] == "(":
                return self._placeholder(
                    _Called(next(name for name in tree.FUNCTIONS if name == text))
                )
            case "word":
                return self._placeholder(None if text == "missing" else tree.Name(text))
            case "quoted":
                return self._placeholder(tree.Name(text.replace("``", "`")))
            case "number":
                number = float(text)
                if math.isinf(number):
                    self._refuse(f"contains the number {text[:20]}, which is too large")
                return self._placeholder(tree.Number(number))
            case _:
                quote = "'" if kind == "text" else '"'
                return self._placeholder(tree.Text(text.replace(2 * quote, quote)))

    def _placeholder(self, item: _Item) -> str:
        self._items.append(item)
        return f"_{len(self._items) - 1}"

    def _node(self, found: ast.expr) -> tree.Node:
        match found:
            case ast.Name(id=placeholder):
                item = self._items[int(placeholder[1:])]
                if item is None or isinstance(item, _Called):
                    self._refuse('has "missing" without "is"')
                return item
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return tree.Negate(self._number(operand))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
                return tree.Arithmetic(
                    _ARITHMETIC[type(sign)], self._number(left), self._number(right)
                )
            case ast.Compare():
                return self._compare(found)
            case ast.Call(func=ast.Name(id=placeholder), args=arguments, keywords=[]):
                return self._call(self._items[int(placeholder[1:])], arguments)
            case _:
                return self._logic(found)

    def _call(self, item: _Item, arguments: list[ast.expr]) -> tree.Call:
        if not isinstance(item, _Called):
            self._refuse("contains unsupported syntax")
        least, most = tree.FUNCTIONS[item.function]
        if not least <= len(arguments) <= most:
            wanted = "one" if most == 1 else f"{least} to {most}"
            self._refuse(f"calls {item.function} with {len(arguments)} arguments, not {wanted}")
        return tree.Call(item.function, tuple(map(self._number, arguments)))

    def _logic(self, found: ast.expr) -> tree.Condition:
        match found:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return tree.Not(self._condition(operand))
            case ast.BoolOp(op=ast.And(), values=values):
                return tree.And(tuple(map(self._condition, values)))
            case ast.BoolOp(op=ast.Or(), values=values):
                return tree.Or(tuple(map(self._condition, values)))
            case ast.Tuple():
                return self._refuse("contains unsupported syntax, a comma (write 10,000 as 10000)")
            case _:
                return self._refuse("contains unsupported syntax")

    def _number(self, found: ast.expr) -> tree.Value:
        value = self._value(found)
        if isinstance(value, tree.Text):
            self._refuse(f"uses the text {value.value[:20]!r} in arithmetic")
        return value

    def _value(self, found: ast.expr) -> tree.Value:
        node = self._node(found)
        if not isinstance(node, tree.VALUES):
            self._refuse("uses a condition as a value")
        return node

    def _condition(self, found: ast.expr) -> tree.Condition:
        node = self._node(found)
        if isinstance(node, tree.VALUES):
            self._refuse("uses a value as a condition (use x == 1 for a Boolean column)")
        return node

    def _compare(self, found: ast.Compare) -> tree.Condition:
        """Return a comparison; a chain a < b < c is a < b and b < c."""
        match found.ops:
            case [*_, ast.Is() | ast.IsNot()]:
                return self._is_missing(found)
            case [ast.In() | ast.NotIn()]:
                return self._is_in(found)
        if any(type(sign) not in _COMPARISONS for sign in found.ops):
            self._refuse('chains "is" or "in" with other comparisons; use parentheses and "and"')
        values = [self._value(value) for value in (found.left, *found.comparators)]
        links = tuple(
            self._comparison(_COMPARISONS[type(sign)], left, right)
            for sign, (left, right) in zip(found.ops, pairwise(values), strict=True)
        )
        return links[0] if len(links) == 1 else tree.And(links)

    def _comparison(
        self, sign: tree.ComparisonSign, left: tree.Value, right: tree.Value
    ) -> tree.Comparison:
        comparison = tree.Comparison(sign, left, right)
        if not _names_a_column(comparison):
            self._refuse("compares two constants")
        return comparison

    def _is_missing(self, found: ast.Compare) -> tree.Condition:
        match found.comparators:
            case [ast.Name(id=placeholder)] if self._items[int(placeholder[1:])] is None:
                condition = tree.Missing(self._node(found.left))
            case _:
                self._refuse("uses \"is\" other than in 'is missing' or 'is not missing'")
        if not _names_a_column(condition):
            self._refuse("tests whether a constant is missing")
        return condition if isinstance(found.ops[0], ast.Is) else tree.Not(condition)

    def _is_in(self, found: ast.Compare) -> tree.Condition:
        """Return x in (a, b) as x == a or x == b."""
        (listed,) = found.comparators
        items = listed.elts if isinstance(listed, ast.Tuple) else [listed]
        value = self._value(found.left)
        self._check_nodes(len(items) * sum(1 for _ in tree.walk(value)))
        choices = tuple(
            self._comparison("==", value, self._constant(self._value(item))) for item in items
        )
        if not choices:
            self._refuse("has an empty list")
        condition = choices[0] if len(choices) == 1 else tree.Or(choices)
        return condition if isinstance(found.ops[0], ast.In) else tree.Not(condition)

    def _constant(self, value: tree.Value) -> tree.Value:
        if _names_a_column(value):
            self._refuse("has a column in a list; use x == a or x == b")
        return value

    def _check_size(self, node: tree.Node) -> None:
        self._check_nodes(sum(1 for _ in tree.walk(node)))
        if _levels(node) > MOST_LEVELS:
            self._refuse(f"is nested too deeply (at most {MOST_LEVELS} levels)")
        if _divisors(node) > MOST_DIVISORS:
            self._refuse(f"nests too many divisions or functions (at most {MOST_DIVISORS})")

    def _check_nodes(self, nodes: int) -> None:
        if nodes > MOST_NODES:
            self._refuse(f"is too long (more than {MOST_NODES} parts)")

    def _refuse(self, what: str) -> Never:
        if isinstance(self._text, str) and len(self._text.splitlines()) > 1:  # a file, perhaps
            raise ParameterError(
                f"{self._argument}= is text of several lines, not an expression. {_HELP}."
            ) from None
        shown = repr(self._text)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise ParameterError(f"{self._argument}={shown} {what}. {_HELP}.") from None


def _names_a_column(node: tree.Node) -> bool:
    return any(isinstance(part, tree.Name) for part in tree.walk(node))


def _levels(node: tree.Node) -> int:
    return 1 + _most(map(_levels, tree.parts(node)))


def _divisors(node: tree.Node) -> int:
    """Return how many divisors and arguments lie within one another, if they are computed."""
    if isinstance(node, tree.Call):
        return _most(_divisors(part) + bool(tree.parts(part)) for part in node.arguments)
    if isinstance(node, tree.Arithmetic) and node.sign == "/" and tree.parts(node.right):
        return max(_divisors(node.left), 1 + _divisors(node.right))
    return _most(map(_divisors, tree.parts(node)))


def _most(numbers: Iterable[int]) -> int:
    return max(numbers, default=0)
