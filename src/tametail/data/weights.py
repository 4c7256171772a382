"""Records that weigh: each is read as w y and w, and is one number by a view, as a person is.

A weight below 0 counts as 0. Both numbers are missing where the value or the weight is, and both
are finite (docs/proofs/persons.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tametail.data.cells import Floats, are_left_out
from tametail.data.persons.totals import PersonTotals
from tametail.data.sources import CONVERTED, NumberRows, Tell
from tametail.queries.persons import View


class WeighedRows:
    """A number for each record by a view, made of w y and w as it would be of its person."""

    in_place = False

    def __init__(self, pairs: NumberRows, view: View) -> None:
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
