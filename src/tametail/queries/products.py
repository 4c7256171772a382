"""What a regression averages: numbers made of one row alone, with public constants.

The constants are public numbers or earlier private answers. Any query about columns may be asked
about these numbers, with the sensitivity that it has there: one row stays one row
(docs/proofs/regression.md).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Products:
    """Products of the columns of a row, y first, once ``centers`` and ``scales`` are taken off.

    With d = (1, x1, x2, ...) these are all d_i d_j but the constant one, and then all y d_i. With
    ``coefficients`` b they are (y - b d) d_i, for every i. All are missing if a column is.

    >>> Products((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)).width, Products((0.0,), (1.0,), (2.0,)).width
    (8, 1)
    """

    centers: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[float, ...] | None = None

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The places i <= j in d whose products are averaged."""
        size = len(self.centers)
        return tuple((i, j) for i in range(size) for j in range(i, size) if j)

    @property
    def width(self) -> int:
        """How many numbers are made of a row."""
        size = len(self.centers)
        return size if self.coefficients is not None else len(self.pairs) + size
