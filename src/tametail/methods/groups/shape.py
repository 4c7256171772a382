"""The pooled shape: how all records together lie around their center, read off octave counts.

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
from tametail.methods.winsorized.approximate_interval import HiddenExcess, thinned
from tametail.methods.winsorized.constants import ENDLESS
from tametail.methods.winsorized.tail_histogram import TailHistogram
from tametail.methods.winsorized.tail_models import TailFit

Array = npt.NDArray[np.float64]

#: Where the parts of a node's count lie, as multiples of its distance whose mean is 1.
_PARTS = 2.0 ** ((np.arange(tuned.PARTS) + 0.5) / tuned.PARTS - 0.5)
PARTS: Array = _PARTS / _PARTS.mean()


@dataclass(frozen=True, slots=True)
class Shape:
    """Points around the pooled center, from the lowest up, and the share of records at each.

    ``cuts`` are distances from the center that part them into cells.
    """

    center: float
    distances: Array
    shares: Array
    cuts: Array
    seen: bool
    """Whether any record is detectable above the noise."""
    tails: tuple[PoolTail | None, PoolTail | None]
    """How records may lie farther out, below and above."""

    @classmethod
    def read(cls, center: float, tails: TailHistogram, total: float, noise: float) -> Shape:
        """Return the shape of noisy octave counts around a private center.

        ``noise`` is the deviation of that on a sum, in clip distances.
        """
        to_zero = (center, math.inf) if center > 0 else (math.inf, -center)
        below, above = (
            _side(tails, counts, total, zero)
            for counts, zero in zip(tails.sides, to_zero, strict=True)
        )
        distances = np.concatenate([-below.distances[::-1], [0.0], above.distances])
        shares = np.concatenate([below.shares[::-1], [0.0], above.shares])
        shares[len(below.shares)] = max(1.0 - shares.sum(), 0.0)
        cuts = np.unique(np.concatenate([-below.cuts, above.cuts]))
        farther = tuple(
            PoolTail.read(tails, counts, total, zero, noise)
            for counts, zero in zip(tails.sides, to_zero, strict=True)
        )
        found = distances, shares / shares.sum(), cuts, len(distances) > 1
        return cls(center, *found, (farther[0], farther[1]))

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


@dataclass(frozen=True, slots=True)
class PoolTail:
    """What all records may have beyond a distance, by every curve that suits the noisy counts."""

    start: float
    unit: float
    fit: TailFit
    total: float

    @classmethod
    def read(
        cls, tails: TailHistogram, counts: Array, total: float, zero: float, noise: float
    ) -> PoolTail | None:
        """Read it off the counts of a side, of which 0 is at a distance ``zero``."""
        top = tails.highest_detected(counts)
        if top is None or _ends_at(zero, float(tails.distances[top])):
            return None
        unit = float(tails.distances[top])
        return cls(unit / 2, unit, tails.fit(counts, top, noise), total)

    def beyond(self, distance: float) -> HiddenExcess:
        """Return the mean excess of a record beyond a distance: the law that it may have."""
        excess, weights, endless = self.fit.beyond(distance / self.unit)
        law = thinned(excess * self.unit / self.total, weights)
        return HiddenExcess(law, unbounded=endless > ENDLESS)


class _Side(NamedTuple):
    distances: Array
    shares: Array
    cuts: Array


def _side(tails: TailHistogram, counts: Array, total: float, zero: float) -> _Side:
    """Return one side, with 0 at a distance ``zero``; no points if nothing stands out."""
    top = tails.highest_detected(counts)
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
    distances = _not_beyond(zero, nodes[top - first], distances, shares)
    order = np.argsort(distances, kind="stable")
    distances, shares = distances[order], shares[order]
    outer = np.cumsum(shares[::-1])[::-1] - shares / 2
    return _Side(distances, shares, np.interp(tuned.CUTS, outer[::-1], distances[::-1]))


def _not_beyond(zero: float, top: float, distances: Array, shares: Array) -> Array:
    """Spread the points next to 0, at a distance ``zero``, evenly if nobody is seen beyond it.

    Records that are never negative crowd there, in an octave that counts around the center do not
    take apart; without this half of them would seem to be negative.
    """
    if not _ends_at(zero, top):
        return distances
    far = distances > zero / 2
    nearer = np.cumsum(shares[far][::-1])[::-1] - shares[far] / 2  # to 0
    spread = distances.copy()
    spread[far] = zero * (1 - nearer / max(2 * float(shares[far].sum()), 1e-300))
    return spread


def _ends_at(zero: float, top: float) -> bool:
    """Say whether a side seems to end at 0, if its highest octave that is seen is at ``top``."""
    return zero / 4 < top <= 2 * zero
