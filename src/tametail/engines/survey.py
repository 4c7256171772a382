"""One pass for two questions: how many records there are, and a sample of them for the centre.

The size of the sample is asked for only when the count is known, so a larger one is held ready.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.engines.cells import are_left_out
from tametail.engines.kernels import native
from tametail.engines.kernels.accumulator import LONG_CHUNK
from tametail.engines.sampling import Sampler

Floats = npt.NDArray[np.float64]

#: Of 2**12 rows or more, 2**11 to 2**12 are held.
_HELD_BITS = 12


def held_halvings(rows: int) -> int:
    """Return how often the sample that is held of so many rows has been halved.

    It depends on the number of rows alone, never on coins: so does, then, whether it is used.

    >>> held_halvings(4095), held_halvings(4096), held_halvings(1 << 20)
    (0, 1, 9)
    """
    return max(rows.bit_length() - _HELD_BITS, 0)


class Held(NamedTuple):
    """The numbers among the records of a secret sample; each was in with ``2**-halvings``."""

    halvings: int
    numbers: Floats

    def take(self, halvings: int) -> Floats | None:
        """Return the sample that is halved ``halvings`` times in all; None if it was before.

        To be used once: the next question needs coins of its own.

        >>> Held(3, np.arange(5.0)).take(2) is None
        True
        """
        if halvings < self.halvings:
            return None
        return self.numbers[Sampler(halvings - self.halvings).pick(self.numbers.size)]


class Survey:
    """Counts the records that are not missing, and holds a sample.

    >>> survey = Survey()
    >>> survey.add(np.array([1.0, np.nan, 3.0]))
    >>> survey.present, survey.held.halvings, survey.held.numbers.tolist()
    (2, 0, [1.0, 3.0])
    """

    longest = LONG_CHUNK

    def __init__(self, *, filtered: bool = False) -> None:
        self.rows = self.present = self.left_out = 0
        self._filtered = filtered
        self._halvings = 0
        self._sampler = Sampler(0)
        self._sample = [np.empty(0)]

    @property
    def cells(self) -> tuple[int, int, int]:
        """The answer to ``Count``."""
        return self.present, self.rows - self.present - self.left_out, self.left_out

    @property
    def held(self) -> Held:
        """The sample so far."""
        return Held(self._halvings, np.concatenate(self._sample))

    def add(self, chunk: Floats) -> None:
        """Take in the next rows."""
        self.rows += chunk.size
        halvings = held_halvings(self.rows)
        if halvings > self._halvings:
            # The earlier records toss the coins that they have not tossed yet.
            numbers = self.held.numbers
            kept = Sampler(halvings - self._halvings).pick(numbers.size)
            self._sample, self._halvings = [numbers[kept]], halvings
            self._sampler = Sampler(halvings)
        self.present += native.loops().count_present(chunk)
        if self._filtered:
            self.left_out += int(np.count_nonzero(are_left_out(chunk)))
        sampled = chunk[self._sampler.pick(chunk.size)]
        self._sample.append(sampled[~np.isnan(sampled)])
