"""A small language for conditions and computed columns, the same in every engine.

``where="age >= 65 and region != 'north'"`` keeps records, ``column="charge / nights"`` computes a
number from each. What an expression means for a record is a function of that record alone
(docs/proofs/expressions.md), and nothing that a record holds makes it fail:

- a number is a double, and + - * / are one IEEE 754 operation each, so that too large a result is
  an infinity; x / 0 is missing, and so is NaN; the sign of a zero is not part of its value;
- text is compared by its bytes in UTF-8; a column is a number or text by its declared type;
- arithmetic with something missing, or with text, is missing;
- a comparison with something missing, or of text with a number, is neither true nor false;
- and, or, not follow Kleene: ``missing and false`` is false, ``missing or true`` is true;
- ``x is missing`` is true or false; a record is kept if the condition is true.

- abs, min, max, round (half to even), log, exp, sqrt and coalesce are missing where they are not
  defined, and all but coalesce where an argument is missing;
- a condition as a column is 1 where it is true, 0 where it is false, and else missing.

``a < b < c`` stands for ``a < b and b < c``, ``x in (1, 2)`` for ``x == 1 or x == 2``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tametail.errors import ParameterError
from tametail.expressions.parsing import parse
from tametail.expressions.tree import (
    OWN_FUNCTIONS,
    VALUES,
    Call,
    Comparison,
    Condition,
    Name,
    Node,
    Text,
    walk,
)

__all__ = ["Expression", "says_condition"]


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition or a value, computed from the columns of a record.

    ``str`` gives a text that parses to an equal expression; as JSON, an expression is that text.

    >>> where = Expression.parse("18 <= age < 65 and `home region` in ('north', 'east')")
    >>> print(where)
    (18 <= age and age < 65) and (`home region` == 'north' or `home region` == 'east')
    >>> Expression.parse(str(where)) == where
    True
    >>> where.columns, where.text_columns, where.is_condition
    (('age', 'home region'), ('home region',), True)
    """

    tree: Node

    @classmethod
    def parse(cls, text: str, argument: str = "expression") -> Expression:
        """Return the expression that ``text`` says; messages call it ``argument``."""
        return cls(parse(text, argument))

    @classmethod
    def parse_condition(cls, text: str, argument: str = "where") -> Expression:
        """Return a condition, which says of a record whether it is kept."""
        expression = cls.parse(text, argument)
        if not expression.is_condition:
            raise ParameterError(
                f"{argument}={str(expression)[:60]!r} is a value, not a condition. Use a "
                f"comparison, such as {argument}='age >= 65'."
            )
        return expression

    def __str__(self) -> str:
        return str(self.tree)

    @property
    def is_condition(self) -> bool:
        """Whether the expression is true, false or missing, and not a number."""
        return not isinstance(self.tree, VALUES)

    @property
    def is_name(self) -> bool:
        """Whether the expression is a column and nothing else."""
        return isinstance(self.tree, Name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, each once, in the order in which they are first named."""
        return tuple(dict.fromkeys(n.name for n in walk(self.tree) if isinstance(n, Name)))

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that are compared with a constant text.

        In a CSV file, which declares no types, these are text, and all others are numbers.
        """
        return tuple(
            dict.fromkeys(
                name
                for node in walk(self.tree)
                if isinstance(node, Comparison)
                for name in _compared_with_text(node)
            )
        )

    @property
    def condition(self) -> Condition:
        """The tree of a condition; of a value there is none."""
        if isinstance(self.tree, VALUES):
            raise ParameterError(
                f"{str(self)[:60]!r} is a value, not a condition. Use a comparison."
            )
        return self.tree

    @property
    def is_own(self) -> bool:
        """Whether it calls a function that no database computes."""
        return any(isinstance(n, Call) and n.function in OWN_FUNCTIONS for n in walk(self.tree))


def says_condition(text: str) -> bool:
    """Return whether a text is a condition, where no columns are known; a name may be none.

    >>> says_condition("charge > 1000"), says_condition("charge"), says_condition("charge (USD)")
    (True, False, False)
    """
    try:
        return Expression.parse(text).is_condition
    except ParameterError:
        return False


def _compared_with_text(node: Comparison) -> list[str]:
    sides = (node.left, node.right)
    has_text = any(isinstance(side, Text) for side in sides)
    return [side.name for side in sides if has_text and isinstance(side, Name)]
