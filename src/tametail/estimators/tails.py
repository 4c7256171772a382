"""The noisy octave counts on both sides of the centre, and what can be read off them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tametail.budget import Noise
from tametail.queries import SOFT_ONE
from tametail.tail import Bounded, Tail

Array = npt.NDArray[np.float64]

#: Nodes that are looked at together, and the noise scales at which they stand out: with
#: THRESHOLD + (octaves from 2**5) / 12 the chance of a false alarm in all octaves is 1.4e-5.
WINDOW = 4
THRESHOLD = 20.0


@dataclass(frozen=True, slots=True)
class Tails:
    """Noisy counts, in records, at the octave nodes ``first, first + 1, ...`` of either side."""

    below: Array
    above: Array
    first: int
    noise: Noise

    @property
    def scale(self) -> float:
        """The scale of the noise, in records."""
        return self.noise.scale / SOFT_ONE

    @property
    def distances(self) -> Array:
        """The distances from the centre at which the nodes lie."""
        return 2.0 ** np.arange(self.first, self.first + len(self.above), dtype=np.float64)

    def offset(self, below: float, above: float) -> float:
        """Estimate the sum of the distances from the centre, clipped on either side."""
        distances = self.distances
        up = np.where(distances <= 2 * above, self.above * np.minimum(distances, above), 0.0)
        down = np.where(distances <= 2 * below, self.below * np.minimum(distances, below), 0.0)
        return float(up.sum() - down.sum())

    def beyond(self, counts: Array, distance: float, risk: float) -> float:
        """Bound the number of records of one side that are further than ``distance``.

        All of their weight is on the nodes from floor(log2(distance)) on, with the noise of as
        many nodes, whose sum has the tail of :meth:`Noise.sum_quantile`.
        """
        node = math.floor(math.log2(distance)) - self.first if distance > 0 else 0
        nodes = counts[max(node, 0) :]
        return max(float(nodes.sum()), 0.0) + self.noise.sum_quantile(risk, len(nodes)) / SOFT_ONE

    def contradicts(self, tail: Tail, centre: float, mean: float, n: float) -> bool | None:
        """Say whether the counts show records that the tail assumption all but excludes."""
        if tail is None:
            return None
        if isinstance(tail, Bounded):
            reach = (centre - tail.low, tail.high - centre)
            return any(
                bool(np.any(windows(counts)[self.distances >= 2 * far] >= self._alarm))
                for counts, far in zip((self.below, self.above), reach, strict=True)
            )
        far = np.maximum(self.distances - abs(mean - centre), tail.scale)
        share = (tail.scale / far) ** tail.k
        allowed = n * share + 5 * np.sqrt(n * share)
        seen = windows(self.below) + windows(self.above)
        return bool(np.any(seen >= allowed + 2 * self._alarm))

    @property
    def _alarm(self) -> float:
        return self.scale * (THRESHOLD + 128 / 12)


def windows(counts: Array) -> Array:
    """Sum of each node and the WINDOW - 1 nodes above it."""
    sums: Array = np.concatenate([[0.0], np.cumsum(np.concatenate([counts, np.zeros(WINDOW)]))])
    return sums[WINDOW : WINDOW + len(counts)] - sums[: len(counts)]
