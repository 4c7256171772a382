"""Rows of products, made chunk by chunk of the rows that any engine reads.

Each number is made by single IEEE operations on cells of its own row, in a fixed order, so that it
is the same double in every place (docs/proofs/regression.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from tametail.data.cells import LEFT_OUT, Floats, are_left_out
from tametail.data.sources import CONVERTED, Tell
from tametail.queries.products import Products

#: Standardized numbers are at most so large, so that their products are finite.
_LARGEST = 2.0**500


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


class RawRows(Protocol):
    """Rows of y and x."""

    def size(self) -> int:
        """Return the number of rows."""

    def chunks(self, most: int, tell: Tell) -> Iterator[Floats]:
        """Yield the rows."""


class ProductRows:
    """The products of rows as rows."""

    in_place = False

    def __init__(self, rows: RawRows, products: Products) -> None:
        self._rows, self._products = rows, products

    def size(self) -> int:
        """Return the number of rows."""
        return self._rows.size()

    def chunks(self, most: int, tell: Tell) -> Iterator[Floats]:
        """Yield the products of some rows at a time."""
        for rows in self._rows.chunks(min(most, CONVERTED), tell):
            yield products_of(rows, self._products)
