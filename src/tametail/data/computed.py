"""Rows that are computed from rows that any engine reads: of products, and of records that weigh.

Each number is made by single IEEE operations on cells of its own row, in a fixed order, so that it
is the same double in every place (docs/proofs/regression.md, docs/proofs/persons.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tametail.data.cells import LEFT_OUT, Floats, are_left_out
from tametail.data.persons.totals import PersonTotals
from tametail.data.sources import CONVERTED, NumberRows, Tell
from tametail.queries.persons import View
from tametail.queries.products import Products

#: Standardized numbers are at most so large, so that their products are finite.
_LARGEST = 2.0**500


class ComputedRows:
    """What a function makes of rows, some at a time."""

    in_place = False

    def __init__(self, rows: NumberRows, compute: Callable[[Floats], Floats]) -> None:
        self._rows, self._compute = rows, compute

    def size(self) -> int:
        """Return the number of rows."""
        return self._rows.size()

    def chunks(self, most: int, tell: Tell) -> Iterator[Floats]:
        """Yield what is made of some rows at a time."""
        return map(self._compute, self._rows.chunks(min(most, CONVERTED), tell))


def weighed_numbers(pairs: Floats, view: View) -> Floats:
    """Return a number for each record, by a view: made of w y and w as it would be of its person.

    A weight below 0 counts as 0. Both numbers are missing where the value or the weight is, and
    both are finite.
    """
    kept = (~are_left_out(pairs[:, 0])).astype(np.float64)
    alone = PersonTotals(pairs, (~np.isnan(pairs)).astype(np.float64), kept).weighed()
    return alone.numbers(view)[:, np.newaxis]


@np.errstate(all="ignore")
def products_of(rows: Floats, products: Products) -> Floats:
    """Return the products of every row.

    >>> asked = Products((1.0, 0.0), (1.0, 2.0))
    >>> products_of(np.array([[4.0, 6.0], [np.nan, 6.0]]), asked).tolist()
    [[3.0, 9.0, 3.0, 9.0], [nan, nan, nan, nan]]
    """
    cells = (rows - np.array(products.centers)) / np.array(products.scales)
    cells = np.clip(cells, -_LARGEST, _LARGEST)
    y = cells[:, 0].copy()
    cells[:, 0] = 1.0
    found = np.empty((len(rows), products.width))
    if products.coefficients is None:
        pairs = products.pairs
        for place, (i, j) in enumerate(pairs):
            np.multiply(cells[:, i], cells[:, j], out=found[:, place])
        np.multiply(cells, y[:, np.newaxis], out=found[:, len(pairs) :])
    else:
        for place, coefficient in enumerate(products.coefficients):
            y -= coefficient * cells[:, place]
        np.multiply(cells, y[:, np.newaxis], out=found)
    # Each cell is in some product, so that one of them is missing if a cell is.
    found[np.isnan(found).any(axis=1)] = np.nan
    found[are_left_out(rows[:, 0])] = LEFT_OUT
    return found
