"""What a relation reads: its values, condition, ids and keys, over the columns that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tametail.data.relation import Relation
from tametail.data.sources.names import is_computed, pick_column
from tametail.data.weights import weighed
from tametail.errors import ColumnError
from tametail.expressions import Expression
from tametail.expressions.tree import Name, Number
from tametail.statistic import RECORDS


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
                pick_column(names, name)
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
