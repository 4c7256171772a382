"""One pass for two questions: how many records there are, and a sample of them for the center.

The size of the sample is asked for only when the count is known, so a larger one is held ready.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.data.cells import are_left_out
from tametail.data.kernels import native
from tametail.data.kernels.accumulator import LONG_CHUNK
from tametail.data.sampling import Sampler

Floats = npt.NDArray[np.float64]

#: Of 2**12 rows or more, 2**11 to 2**12 are held.
_SAMPLE_BITS = 12


def sample_halvings(rows: int) -> int:
    """Return how often the sample that is held of so many rows has been halved.

    It depends on the number of rows alone, never on coins: so does, then, whether it is used.

    >>> sample_halvings(4095), sample_halvings(4096), sample_halvings(1 << 20)
    (0, 1, 9)
    """
    return max(rows.bit_length() - _SAMPLE_BITS, 0)


class PreparedSample(NamedTuple):
    """The numbers among the records of a secret sample; each was in with ``2**-halvings``."""

    halvings: int
    numbers: Floats

    def take(self, halvings: int) -> Floats | None:
        """Return the sample that is halved ``halvings`` times in all; None if it was before.

        To be used once: the next question needs coins of its own.

        >>> PreparedSample(3, np.arange(5.0)).take(2) is None
        True
        """
        if halvings < self.halvings:
            return None
        return self.numbers[Sampler(halvings - self.halvings).pick(self.numbers.size)]


class CountAndSample:
    """Counts the records that are not missing, and holds a sample.

    >>> counted = CountAndSample()
    >>> counted.add(np.array([1.0, np.nan, 3.0]))
    >>> counted.present, counted.sample.halvings, counted.sample.numbers.tolist()
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
    def sample(self) -> PreparedSample:
        """The sample so far."""
        return PreparedSample(self._halvings, np.concatenate(self._sample))

    def add(self, chunk: Floats) -> None:
        """Take in the next rows."""
        self.rows += chunk.size
        halvings = sample_halvings(self.rows)
        if halvings > self._halvings:
            # The earlier records toss the coins that they have not tossed yet.
            numbers = self.sample.numbers
            kept = Sampler(halvings - self._halvings).pick(numbers.size)
            self._sample, self._halvings = [numbers[kept]], halvings
            self._sampler = Sampler(halvings)
        self.present += native.loops().count_present(chunk)
        if self._filtered:
            self.left_out += int(np.count_nonzero(are_left_out(chunk)))
        sampled = chunk[self._sampler.pick(chunk.size)]
        self._sample.append(sampled[~np.isnan(sampled)])
