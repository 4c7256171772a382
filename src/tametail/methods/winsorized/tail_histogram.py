"""The tail histogram: noisy counts of the distances from the center, on a log scale, by side.

What is read off it: the highest detected bins, a misplaced center, and bounds of how many records
lie beyond a distance. No data here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from tametail.errors import InternalError
from tametail.inequalities.quantiles import sum_quantile
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.tail_models import TailFit
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import APART, SOFT_ONE, LogHistogram
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.methods.winsorized.column import ColumnPlan as Plan


Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

#: The records of an octave count at so many nodes: its own, and the next above.
NODES_OF_OCTAVE = 2

#: Half an ulp of a double is its octave's lower end over two to this power.
_ULP_BITS = 53

Pair = tuple[float, float]
"""One number for the side below the center and one for that above."""

DetectedBins = list[int | None]
"""The highest node of either side where records are seen; None if there is none."""


@dataclass(frozen=True, slots=True)
class TailHistogram:
    """Noisy counts, in records, at the octaves ``first, first + 1, ...`` of either side.

    Far octaves share ``nodes``, which are places in these arrays: there the next node above has the
    counts of all, and the others have none, nor noise. None: every octave has a node.
    """

    below: Array
    above: Array
    first: int
    noise: Noise
    count: float | None = None
    nodes: Places | None = None

    @classmethod
    def read(
        cls, plan: Plan, query: LogHistogram, answer: tuple[int, ...], cost: Budget
    ) -> TailHistogram:
        """Read the noisy answer to :func:`histogram_query`, which had this cost."""
        places = np.array(query.nodes) - query.first
        if len(answer) != 2 * len(places) + query.counted:
            raise InternalError("the transcript comes from another version: it has other nodes.")
        counts = np.array(answer, dtype=np.float64) / SOFT_ONE
        sides = np.zeros((2, query.last - query.first + 1))
        sides[:, places] = counts[: 2 * len(places)].reshape(2, -1)
        count = float(counts[-1]) if query.counted else None
        below, above = sides
        return cls(below, above, query.first, histogram_noise(plan, cost), count, places)

    def averaged_with(self, other: TailHistogram) -> TailHistogram:
        """Join two answers to the same question, each in proportion to its precision."""
        precisions = 1 / self.noise.variance, 1 / other.noise.variance
        share = precisions[0] / sum(precisions)
        below, above = (
            share * mine + (1 - share) * theirs
            for mine, theirs in zip(self.sides, other.sides, strict=True)
        )
        count = None
        if self.count is not None and other.count is not None:
            count = share * self.count + (1 - share) * other.count
        # The mean of two Laplace noises has lighter tails than one of the same variance.
        noise = Noise(self.noise.kind, self.noise.scale * math.sqrt(share))
        return TailHistogram(below, above, self.first, noise, count, self.nodes)

    @property
    def scale(self) -> float:
        """The scale of the noise, in records."""
        return noise_scale(self.noise)

    @property
    def sides(self) -> tuple[Array, Array]:
        """The counts below and above the center."""
        return self.below, self.above

    @property
    def places(self) -> Places:
        """The places of the nodes in these arrays."""
        return np.arange(len(self.above)) if self.nodes is None else self.nodes

    @property
    def distances(self) -> Array:
        """The distances from the center at which the nodes lie."""
        return _distances(self.first, len(self.above))

    @property
    def detection_threshold(self) -> float:
        """The noise scales at which the window of a node stands out."""
        return detection_threshold(self.noise.kind)

    def highest_detected(
        self, counts: Array, limit: float = math.inf, clearly: float = 1.0
    ) -> int | None:
        """Return the highest node whose window stands out, up to the distance ``limit``.

        ``clearly`` is the part of the usual threshold that will do.
        """
        return self._highest(counts, clearly * self.detection_threshold, limit)

    def _highest(
        self, counts: Array, scales: float, limit: float, first: int = 0, last: int | None = None
    ) -> int | None:
        """Return the highest node whose window holds so many noise scales, among some nodes."""
        seen = (window_sums(counts) / self.scale >= scales) & (self.distances <= limit)
        found = np.flatnonzero(seen[first : len(seen) if last is None else last + 1])
        return first + int(found[-1]) if len(found) else None

    def detected(self, limits: Pair) -> DetectedBins:
        """Return up to where records are seen on either side.

        Next to what stands out, that is the other side, or both together, less will do. About half
        of the records lie on either side of a median: to clip one half at the center, since the
        other half alone is clear of the noise, costs far more than a false alarm.
        """
        pairs = list(zip(self.sides, limits, strict=True))
        last_bins: DetectedBins = [self.highest_detected(*pair) for pair in pairs]
        seen = [last_bin for last_bin in last_bins if last_bin is not None]
        if len(seen) == 2:
            return last_bins
        needed = detection_threshold(self.noise.kind, sides=2)
        both = self.below + self.above
        place = seen[0] if seen else self._highest(both, needed, min(limits))
        if place is None:
            return last_bins
        first = max(place - tuned.NEARBY, 0)
        return [
            self._highest(counts, tuned.WEAK_THRESHOLD, limit, first, place)
            if last_bin is None
            else last_bin
            for (counts, limit), last_bin in zip(pairs, last_bins, strict=True)
        ]

    def squares(self, last_bins: DetectedBins) -> float:
        """Estimate the sum of the squared distances from the center."""
        return sum(
            float((counts[: last_bin + 2] * self.distances[: last_bin + 2] ** 2).sum())
            for counts, last_bin in zip(self.sides, last_bins, strict=True)
            if last_bin is not None
        )

    def location_error(self, size: float, *, perhaps: bool = False) -> Pair | None:
        """Return between which distances nearly all records lie, if all on one side.

        Those below the center are negative. Around a median there would be half of the records on
        either side, whatever the law. ``perhaps`` asks whether noise may hide that it is so.
        """
        most = tuned.NEARLY_ALL * (size if self.count is None else self.count)
        hidden = self.noise.quantile(tuned.RARE) / SOFT_ONE if perhaps else 0.0
        noise = self.detection_threshold * self.scale
        for sign, counts, others in ((-1.0, self.below, self.above), (1.0, self.above, self.below)):
            pairs = window_sums(counts, NODES_OF_OCTAVE)
            node = int(np.argmax(pairs))
            # What lies beyond the end nodes counts there, wherever it is.
            if pairs[node] < most - hidden or not 0 < node < len(counts) - 2:
                continue
            # The size may be a guess that is too small: then there are as many on the other side.
            few = (1 - tuned.NEARLY_ALL) * pairs[node]
            few = few + noise + hidden if perhaps else max(few, noise)
            seen = self.highest_detected(counts, clearly=1 - hidden / noise) is not None
            if seen and window_sums(others).max() <= few:
                near, far = self._around(counts, node)
                return (near, far) if sign > 0 else (-far, -near)
        return None

    def _around(self, counts: Array, node: int) -> Pair:
        """Return between which distances the records at this node and the next one lie.

        The weight of a record in this octave is on its two nodes, so as to keep the sum of the
        distances to within a 32nd.
        """
        start, both = float(self.distances[node]), counts[node] + counts[node + 1]
        middle = start * (1 + float(counts[node + 1] / both))
        near, far = (middle + sign * tuned.ELSEWHERE * start for sign in (-1, 1))
        if self._shared[node] or self._shared[node + 1]:
            near = min(near, start * 2.0**-APART)
        return near, far

    def offset(self, last_bins: DetectedBins, clips: Pair) -> Pair:
        """Estimate the sum of the clipped distances from the center, and its standard error."""
        total = variance = 0.0
        for sign, counts, last_bin, clip in zip((-1, 1), self.sides, last_bins, clips, strict=True):
            if last_bin is not None:
                weights = np.minimum(self.distances[: last_bin + 2], clip)
                total += sign * float(counts[: last_bin + 2] @ weights)
                variance += 2 * self.scale**2 * float(weights @ weights)
        return total, math.sqrt(variance)

    def fit(self, counts: Array, last_bin: int, deviation: float) -> TailFit:
        """Compare the counts of one side around its anchor with all curves.

        ``deviation`` is that of noise of the whole budget; there is nothing beyond the last node.
        """
        around = np.zeros(tuned.NODES_BELOW + 1 + tuned.NEARBY)
        first = last_bin - tuned.NODES_BELOW
        inside = counts[max(first, 0) : first + len(around)]
        start = max(-first, 0)
        around[start : start + len(inside)] = inside
        return TailFit.of(around, self.scale, deviation)

    def beyond(
        self, counts: Array, distance: float, risk: float, *, farthest: float = math.inf
    ) -> float:
        """Bound the number of records of one side between two distances from the center.

        All of their weight is on the nodes from floor(log2(distance)) to
        floor(log2(farthest)) + 1, or the next node above, with the noise of as many nodes.
        """
        places = self.places
        start = self._index(distance) if distance > 0 else 0
        stop = self._index(farthest) + 1 if farthest < math.inf else len(counts)
        first, last = np.searchsorted(places, [start, stop]).tolist()
        first = min(first, len(places) - 1)
        found = places[first : max(last, first) + 1]  # at least one, if nothing lies between
        noise = sum_quantile(self.noise, risk, len(found)) / SOFT_ONE
        return max(float(counts[found].sum()) + noise, 0.0)

    def coarsest(self, side: float) -> float:
        """Return by how much a distance up to ``side`` may be overrated at a shared node."""
        return float(self.distances[self._shared & (self.distances <= side)].max(initial=0.0))

    @property
    def _shared(self) -> npt.NDArray[np.bool_]:
        """Whether a node has the counts of other octaves besides its own."""
        shared = np.zeros(len(self.above), dtype=np.bool_)
        if self.nodes is not None:
            shared[self.nodes[1:]] = np.diff(self.nodes) > 1
        return shared

    def _index(self, distance: float) -> int:
        """The node at or below a distance; what lies beyond the end nodes counts there."""
        octave = math.frexp(distance)[1] - 1
        return min(max(octave - self.first, 0), len(self.above) - 1)


@lru_cache(maxsize=16)
def _distances(first: int, size: int) -> Array:
    """Return the lower ends of so many octaves, for all who read them and none who writes."""
    found: Array = 2.0 ** np.arange(first, first + size, dtype=np.float64)
    found.flags.writeable = False
    return found


def histogram_noise(plan: Plan, cost: Budget) -> Noise:
    """Return the noise on every soft count if the tail step may spend ``cost``."""
    sensitivity = histogram_query(plan, 0.0).sensitivity(plan.adjacency)
    return noise_for(cost, sensitivity.l1, sensitivity.l2_squared)


def noise_scale(noise: Noise) -> float:
    """Return the scale of noise on a soft count in records; of Gaussian, of one as variable."""
    return math.sqrt(noise.variance / 2) / SOFT_ONE


#: So many times as wide noise has no grain that matters.
_FINE_GRAINED = 1e9


@lru_cache(maxsize=4)
def detection_threshold(kind: Literal["laplace", "gaussian"], sides: int = 1) -> float:
    """Return the noise scales that noise on the windows of some sides exceeds all but never.

    >>> round(detection_threshold("laplace"), 1), round(detection_threshold("gaussian"), 1)
    (24.5, 16.2)
    """
    noise, nodes = Noise(kind, _FINE_GRAINED), sides * tuned.WINDOW
    if kind == "laplace":
        return sum_quantile(noise, tuned.FALSE_ALARM, nodes) / noise.scale
    both_ways = noise.quantile(2 * tuned.FALSE_ALARM) * math.sqrt(nodes)
    return both_ways / math.sqrt(noise.variance / 2)


def min_detected(plan: Plan, cost: Budget, *, together: bool = False) -> float:
    """Return how many records stand out, on one side or on both sides ``together``."""
    noise = histogram_noise(plan, cost)
    return detection_threshold(noise.kind, sides=2 if together else 1) * noise_scale(noise)


def expects_no_signal(plan: Plan, cost: Budget, *, together: bool) -> bool:
    """Say whether usual records would not be detectable above the noise of counts of this cost.

    Around a median nearly all of them lie in a window, half on either side. Both sides count
    ``together`` where the method looks at them so.
    """
    part = tuned.NEARLY_ALL * (1.0 if together else 0.5)
    return part * plan.size < min_detected(plan, cost, together=together)


def histogram_query(plan: Plan, center: float) -> LogHistogram:
    """Return the query. Under replace-one the number of records comes for free.

    The distance of a double from another one, the center, is 0 or at least half an ulp of that.
    Octaves far from the center's, and from what the caller says, share their nodes.
    """
    octave = math.frexp(center)[1] - 1 if center else 0
    first, last = -tuned.OCTAVES, tuned.OCTAVES - 1
    low, high = min(octave, 0), max(octave, 0) + tuned.FINE_ABOVE
    if center:
        first = min(max(first, octave - _ULP_BITS), last)
    if plan.tail is not None:
        given = _bins_from_assumption(plan.tail, center)
        last = min(max(given[0], first) + tuned.OCTAVES_BEYOND, last)
        low, high = min(low, *given), last
    fine = (low - tuned.FINE_BELOW, high)
    return LogHistogram(center, first, last, counted=plan.adjacency.size_is_public, fine=fine)


def _bins_from_assumption(tail: Moment | Bounded, center: float) -> list[int]:
    """Return the octaves of the told scale, or of the width and the distances of the bounds."""
    if isinstance(tail, Moment):
        return [math.frexp(tail.scale)[1]]
    distances = (tail.high - tail.low, center - tail.low, tail.high - center)
    return [math.frexp(distance)[1] for distance in distances if distance > 0]


def window_sums(counts: Array, width: int = tuned.WINDOW) -> Array:
    """Sum of each node and the width - 1 nodes above it."""
    size = len(counts)
    sums: Array = np.zeros(size + width)
    counts.cumsum(out=sums[1 : size + 1])
    sums[size + 1 :] = sums[size]  # there is nothing above the last node
    return sums[width:] - sums[:size]
