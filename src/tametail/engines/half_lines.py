"""Records clipped to half lines before anything is asked of them.

What a record becomes is a function of that record and of public numbers, so data sets that differ
in one record, or in those of one person, still do (docs/proofs/half-lines.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tametail.engines.cells import Floats
from tametail.engines.tables import CONVERTED, Table, Tell

#: Both ends for each column, one of them infinite; a single pair is for all columns.
HalfLines = Sequence[tuple[float, float]]


def half_line(lines: HalfLines, index: int) -> tuple[float, float]:
    """Return the half line of a column; a list that does not fit is refused before records are."""
    return lines[min(index, len(lines) - 1)]


def clipped(numbers: Floats, lines: HalfLines | None) -> Floats:
    """Return rows whose numbers lie on their half lines; what is missing stays as it is.

    >>> clipped(np.array([[-1.0, 5.0], [np.nan, -2.0]]), [(0.0, np.inf)]).tolist()
    [[0.0, 5.0], [nan, 0.0]]
    """
    if lines is None:
        return numbers
    low, high = np.array([half_line(lines, index) for index in range(numbers.shape[1])]).T
    above: Floats = np.where(numbers < low, low, numbers)
    return np.where(above > high, high, above)


class ClippedTable:
    """A table whose numbers are clipped as they are read."""

    def __init__(self, table: Table, lines: HalfLines) -> None:
        self._table, self._lines = table, lines
        self.columns = table.columns
        self.in_place = False

    def rows(self) -> int:
        """Return the number of rows."""
        return self._table.rows()

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield the rows, clipped."""
        for chunk in self._table.chunks(min(most, CONVERTED), start, stop, tell):
            yield clipped(chunk, self._lines)

    def column(self, index: int) -> ClippedTable:
        """Return the table of one of its columns."""
        return ClippedTable(self._table.column(index), [half_line(self._lines, index)])
