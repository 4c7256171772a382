"""The pooled shape: how far all records together lie from their centre, read off octave counts.

For each side of the pooled centre it keeps the share of records beyond each octave node, and the
mean excess E(T) = mean (|x - c| - T)+ beyond it. Beyond the last node that is seen both continue
as a power law. Everything is a function of noisy answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tametail.methods.groups import constants as tuned
from tametail.methods.winsorised.counts import Tails

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the pool: nodes, shares of records beyond them, and mean excesses there."""

    nodes: Array
    beyond: Array
    excess: Array
    index: float

    @classmethod
    def read(cls, tails: Tails, counts: Array, total: float) -> Side | None:
        """Return one side of noisy octave counts; None if nothing stands out of the noise."""
        top = tails.anchor(counts)
        if top is None:
            return None
        first = max(top - tuned.OCTAVES_KEPT, 0)
        kept = np.maximum(np.cumsum(counts[first : top + 3][::-1])[::-1], tails.scale)
        nodes, numbers = tails.distances[first : top + 1], np.minimum.accumulate(kept)
        last, index = top - first, tuned.USUAL_INDEX
        if last >= 2:
            slope = math.log2(numbers[last - 2] / numbers[last]) / 2
            index = min(max(slope, tuned.LEAST_INDEX), tuned.MOST_INDEX)
        numbers = numbers[: last + 1]
        # Soft counts keep sums of distances: between nodes the excess falls by what lies beyond.
        steps = numbers[1:] * np.diff(nodes)
        beyond_last = numbers[last] * nodes[last] / max(index - 0.6, 0.8)
        excess = np.append(np.cumsum(steps[::-1])[::-1], 0.0) + beyond_last
        return cls(nodes, numbers / total, excess / total, index)

    def excess_at(self, distances: Array) -> Array:
        """Return the mean excess beyond some distances: straight in logarithms between nodes."""
        first, last = self.nodes[0], self.nodes[-1]
        within = np.clip(distances, first, last)
        found = np.exp(np.interp(np.log(within), np.log(self.nodes), np.log(self.excess)))
        found *= (np.maximum(distances, last) / last) ** (1 - self.index)
        closer: Array = found + self.beyond[0] * np.maximum(first - distances, 0.0)
        return closer

    def quantile(self, share: float) -> float:
        """Return the distance beyond which this share of the records lies."""
        falling = np.log(self.beyond[::-1])
        return float(np.exp(np.interp(math.log(share), falling, np.log(self.nodes[::-1]))))

    def square_within(self, distance: float) -> float:
        """Return the mean of squared distances, each clipped, of the records of this side."""
        weights = self.beyond - np.append(self.beyond[1:], 0.0)
        return float(weights @ np.minimum(self.nodes, distance) ** 2)


@dataclass(frozen=True, slots=True)
class Shape:
    """The pooled centre and the two sides around it."""

    centre: float
    sides: tuple[Side | None, Side | None]

    @classmethod
    def read(cls, centre: float, tails: Tails, total: float) -> Shape:
        """Return the shape of noisy octave counts around a private centre."""
        below, above = (Side.read(tails, counts, total) for counts in tails.sides)
        return cls(centre, (below, above))

    @property
    def seen(self) -> tuple[Side, ...]:
        """The sides where anything stands out of the noise."""
        return tuple(side for side in self.sides if side is not None)

    @property
    def cuts(self) -> tuple[float, float]:
        """Distances from the centre beyond which an eighth of the pool lies, on either side."""
        share = tuned.OUTER * (2 if len(self.seen) == 1 else 1)
        below, above = (math.inf if s is None else s.quantile(share) for s in self.sides)
        return below, above

    def grid(self) -> Array:
        """Return distances at which to clip: edges of sixteenths of octaves.

        On these few significant bits the sensitivities of all groups are 16 numbers at most, so
        that groups share their draws of noise.
        """
        first = min(math.frexp(side.nodes[0])[1] - 1 for side in self.seen)
        last = max(math.frexp(side.nodes[-1])[1] - 1 for side in self.seen) + tuned.OCTAVES_BEYOND
        octaves = 2.0 ** np.arange(first, last + 1)
        edges: Array = (octaves[:, None] * (1 + np.arange(16) / 16)).ravel()
        return edges

    def excess_at(self, distances: Array) -> Array:
        """Return the mean excess beyond some distances, on both sides together."""
        total = np.zeros_like(distances)
        for side in self.seen:
            total += side.excess_at(distances)
        return total

    def square_within(self, distance: float) -> float:
        """Return the mean of the squared, clipped distances from the centre."""
        return sum(side.square_within(distance) for side in self.seen)
