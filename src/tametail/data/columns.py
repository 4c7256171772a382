"""What a relation reads: its values, condition, ids and keys, over the columns that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tametail.data.relation import Relation
from tametail.data.sources.names import is_computed, pick_column
from tametail.doubles import LARGEST
from tametail.errors import ColumnError
from tametail.expressions import Expression
from tametail.expressions.tree import Arithmetic, Call, Name, Negate, Node, Number, Value
from tametail.statistic import RECORDS

_ZERO, _MOST = Number(0.0), Number(LARGEST)


class Columns:
    """The expressions and the columns of a relation; a name that is not there is refused."""

    def __init__(self, relation: Relation, names: Sequence[str]) -> None:
        self._names = names
        self._once = {name for name, times in Counter(names).items() if times == 1}
        self.values = [self._value(text) for text in relation.values]
        #: What is read of every row: w y and w where records weigh; and what the caller named.
        self.read, self.given = self.values, self.values
        if relation.weights is not None:
            weight = self._value(relation.weights, "weights")
            self.read, self.given = weighed(self.values[0], weight), [*self.values, weight]
        where = relation.where
        self.where = None if where is None else Expression.parse_condition(where)
        for expression in self.expressions:
            for name in (name for name in expression.columns if name not in self._once):
                pick_column(names, name, computed=True)
        self.ids = [pick_column(names, name) for name in relation.person]
        self.keys = [pick_column(names, name) for name in relation.by]

    def _value(self, text: str, argument: str = "column") -> Expression:
        """Return the column of this name, if there is one, or else what the text computes.

        Of :data:`RECORDS` that is 1, whatever a record holds.
        """
        if text == RECORDS and text in self._names:
            raise ColumnError("A column is called '*', which means all records. Rename it.")
        if text == RECORDS:
            return Expression(Number(1.0))
        if text not in self._once and is_computed(self._names, text):
            return Expression.parse(text, argument)
        return Expression(Name(text if text in self._once else pick_column(self._names, text)))

    @property
    def expressions(self) -> list[Expression]:
        """All that is computed of a record."""
        return [*self.given, *([] if self.where is None else [self.where])]

    @property
    def conditions(self) -> tuple[bool, ...]:
        """Which of the values are conditions, so that they are 0 or 1 wherever they are known."""
        return tuple(value.is_condition for value in self.values)


def weighed(value: Expression, weight: Expression) -> list[Expression]:
    """Return w y and w, as expressions that are missing together.

    >>> pair = weighed(Expression.parse("y"), Expression.parse("w"))
    >>> print(pair[1])
    min(max(max(w, 0), min(max(w, 0) * y, 0)), 1.7976931348623157e+308)
    """
    own = _at_least(weight.tree, _ZERO)
    number = _at_least(value.tree, _ZERO) if value.is_condition else value.tree
    product = Arithmetic("*", own, number)  # type: ignore[arg-type] # a condition is a number now
    finite = Call("min", (_at_least(product, Negate(_MOST)), _MOST))
    present = Call("min", (_at_least(own, Call("min", (product, _ZERO))), _MOST))
    return [Expression(finite), Expression(present)]


def _at_least(node: Node, least: Value) -> Call:
    return Call("max", (node, least))
