"""Records that weigh: each is read as w y and w, and is one number by a view, as a person is.

A weight below 0 counts as 0. Both numbers are missing where the value or the weight is, and both
are finite (docs/proofs/persons.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tametail.data.cells import Floats, are_left_out
from tametail.data.persons.totals import PersonTotals
from tametail.data.sources import CONVERTED, Rows, Tell
from tametail.doubles import LARGEST
from tametail.expressions import Expression
from tametail.expressions.tree import Arithmetic, Call, Negate, Node, Number, Value
from tametail.queries.persons import View

_ZERO, _MOST = Number(0.0), Number(LARGEST)


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


class WeighedRows:
    """A number for each record by a view, made of w y and w as it would be of its person."""

    in_place = False

    def __init__(self, pairs: Rows, view: View) -> None:
        self._pairs, self._view = pairs, view

    def size(self) -> int:
        """Return the number of records."""
        return self._pairs.size()

    def chunks(self, most: int, tell: Tell) -> Iterator[Floats]:
        """Yield the numbers of some records at a time."""
        for pairs in self._pairs.chunks(min(most, CONVERTED), tell):
            kept = (~are_left_out(pairs[:, 0])).astype(np.float64)
            alone = PersonTotals(pairs, (~np.isnan(pairs)).astype(np.float64), kept).weighed()
            yield alone.numbers(self._view)[:, np.newaxis]
