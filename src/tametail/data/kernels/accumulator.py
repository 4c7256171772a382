"""What every kernel is: chunks go in, parts are merged, and what was found is read.

So chunks of an array, batches of a file, partitions of a cluster and groups of records share one
kernel. A chunk never shows in what is read: not where it ends, not in which order chunks came.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

Found_co = TypeVar("Found_co", covariant=True)

#: Values per chunk: small enough for the cache and for exact float64 sums. A chunk may be longer
#: where the compiled loops do the work, which add up integers, or only a sample is looked at.
CHUNK, LONG_CHUNK = 1 << 16, 1 << 20


class Accumulator(Protocol[Found_co]):
    """Takes in chunks of float64, in which NaN is the one mark of what is missing."""

    @property
    def longest(self) -> int:
        """How many values, or rows, a chunk may have at most."""

    def add(self, chunk: Floats, /) -> None:
        """Take in one chunk; it is not modified."""

    def merge(self, other: Self, /) -> None:
        """Take in what another one of the same kind has taken in."""

    def read(self) -> Found_co:
        """Return what was found in all that was taken in, exactly."""
