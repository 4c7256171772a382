"""The pooled shape: how all records together lie around their centre, read off octave counts.

It is a law on some points: a noisy octave count is spread evenly, on a log scale, around its node,
so that sums of distances are kept; beyond the last node that is seen it goes on as a power law.
Everything is a function of noisy answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.methods.groups import constants as tuned
from tametail.methods.winsorised.counts import Tails

Array = npt.NDArray[np.float64]

#: Where the parts of a node's count lie, as multiples of its distance whose mean is 1.
_PARTS = 2.0 ** ((np.arange(tuned.PARTS) + 0.5) / tuned.PARTS - 0.5)
PARTS: Array = _PARTS / _PARTS.mean()


@dataclass(frozen=True, slots=True)
class Shape:
    """Points around the pooled centre, from the lowest up, and the share of records at each.

    ``cuts`` are distances from the centre that part them into cells.
    """

    centre: float
    distances: Array
    shares: Array
    cuts: Array
    seen: bool
    """Whether anything stands out of the noise."""

    @classmethod
    def read(cls, centre: float, tails: Tails, total: float) -> Shape:
        """Return the shape of noisy octave counts around a private centre."""
        below, above = (_side(tails, counts, total) for counts in tails.sides)
        distances = np.concatenate([-below.distances[::-1], [0.0], above.distances])
        shares = np.concatenate([below.shares[::-1], [0.0], above.shares])
        shares[len(below.shares)] = max(1.0 - shares.sum(), 0.0)
        cuts = np.unique(np.concatenate([-below.cuts, above.cuts]))
        return cls(centre, distances, shares / shares.sum(), cuts, len(distances) > 1)

    def grid(self) -> Array:
        """Return distances at which to clip: edges of sixteenths of octaves, every other one.

        On these few significant bits the sensitivities of all groups are few numbers, so that
        groups share their draws of noise.
        """
        sizes = np.abs(self.distances[self.distances != 0.0])
        last = math.frexp(float(sizes.max()))[1] + 1
        first = max(math.frexp(float(sizes.min()))[1] - 1, last - tuned.OCTAVES_KEPT)
        octaves = 2.0 ** np.arange(first, last + 1)
        edges: Array = (octaves[:, None] * (1 + np.arange(0, 16, 2) / 16)).ravel()
        return edges


class _Side(NamedTuple):
    distances: Array
    shares: Array
    cuts: Array


def _side(tails: Tails, counts: Array, total: float) -> _Side:
    """Return one side; it has no points if nothing stands out of the noise."""
    top = tails.anchor(counts)
    if top is None:
        return _Side(np.empty(0), np.empty(0), np.empty(0))
    first = max(top - tuned.OCTAVES_KEPT, 0)
    kept = np.maximum(np.cumsum(counts[first : top + 3][::-1])[::-1], tails.scale)
    beyond = np.minimum.accumulate(kept)[: top - first + 1]
    index = tuned.USUAL_INDEX
    if len(beyond) > 2:
        slope = math.log2(beyond[-3] / beyond[-1]) / 2
        index = min(max(slope, tuned.LEAST_INDEX), tuned.MOST_INDEX)
    more = np.arange(1, tuned.OCTAVES_BEYOND + 1)
    beyond = np.concatenate([beyond, beyond[-1] * 2.0 ** (-index * more), [0.0]])
    nodes = tails.distances[first] * 2.0 ** np.arange(len(beyond) - 1)
    distances = (nodes[:, None] * PARTS).ravel()
    shares = np.repeat(-np.diff(beyond) / (total * len(PARTS)), len(PARTS))
    order = np.argsort(distances, kind="stable")
    distances, shares = distances[order], shares[order]
    outer = np.cumsum(shares[::-1])[::-1] - shares / 2
    return _Side(distances, shares, np.interp(tuned.CUTS, outer[::-1], distances[::-1]))
