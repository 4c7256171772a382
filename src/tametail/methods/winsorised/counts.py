"""The noisy octave counts on both sides of the centre, and what can be read off them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.errors import InternalError
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.privacy.unit import Unit
from tametail.queries.column import SOFT_ONE, TailNodes
from tametail.tail import Bounded, Tail

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.planning import Plan

Array = npt.NDArray[np.float64]

#: Octaves of distances that are told apart; what lies beyond counts at the end nodes. If the caller
#: says how far records are spread, one in four billion at most lies beyond so many more octaves.
FIRST_OCTAVE, LAST_OCTAVE = -128, 127
OCTAVES_BEYOND = 32

#: Nodes that are looked at together, and the noise scales at which they stand out: with
#: THRESHOLD + (octaves from 2**5) / 12 the chance of a false alarm in all octaves is 3e-6.
WINDOW = 4
THRESHOLD = 22.0
GAUSSIAN_THRESHOLD = 16.0

#: Nodes below the anchor that show whether both sides are alike.
BODY = 8

#: If this part of the records lies at the same distance, on one side, the centre is misplaced.
NEARLY_ALL = 0.9

#: Noise scales that a window seldom exceeds where there are no records, among hundreds of nodes.
USUAL_NOISE = 14.0

#: Up to here the law of a sum of Laplace noises is worth its exact form.
MOST_EXACT_TERMS = 40


@dataclass(frozen=True, slots=True)
class Tails:
    """Noisy counts, in records, at the octave nodes ``first, first + 1, ...`` of either side."""

    below: Array
    above: Array
    first: int
    noise: Noise
    count: float | None = None

    @classmethod
    def ask(cls, ask: Ask, plan: Plan, centre: float, cost: Budget) -> Tails:
        """Ask for the counts around ``centre``."""
        query = _nodes(plan, centre)
        answer = np.array(ask(query, cost), dtype=np.float64) / SOFT_ONE
        nodes = query.last - query.first + 1
        if len(answer) != 2 * nodes + query.counted:
            raise InternalError("the transcript comes from another version: it has other nodes.")
        below, above = answer[: 2 * nodes].reshape(2, -1)
        count = float(answer[-1]) if query.counted else None
        return cls(below, above, query.first, noise_of_counts(plan, cost), count)

    def averaged_with(self, other: Tails) -> Tails:
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
        # The mean of two Laplace noises of this variance has lighter tails than a Laplace noise.
        scale = self.noise.scale * math.sqrt(share)
        return Tails(below, above, self.first, Noise(self.noise.kind, scale), count)

    @property
    def scale(self) -> float:
        """The scale of the noise, in records; of Gaussian noise, what has the same variance."""
        return math.sqrt(self.noise.variance / 2) / SOFT_ONE

    @property
    def sides(self) -> tuple[Array, Array]:
        """The counts below and above the centre."""
        return self.below, self.above

    @property
    def distances(self) -> Array:
        """The distances from the centre at which the nodes lie."""
        return 2.0 ** np.arange(self.first, self.first + len(self.above), dtype=np.float64)

    def anchor(self, counts: Array, limit: float = math.inf, lower: float = 0.0) -> int | None:
        """Return the highest node whose window stands out, up to the distance ``limit``.

        ``lower`` noise scales are taken off the threshold.
        """
        octaves = np.arange(self.first, self.first + len(counts))
        threshold = THRESHOLD if self.noise.kind == "laplace" else GAUSSIAN_THRESHOLD
        needed = threshold - lower + np.abs(octaves - 5) / 12
        found = np.flatnonzero((windows(counts) / self.scale >= needed) & (self.distances <= limit))
        return int(found[-1]) if len(found) else None

    def misplaced(self, size: float) -> tuple[float, float] | None:
        """Return between which distances nearly all records lie, if all on one side.

        Those below the centre are negative. Around a median there would be half of the records on
        either side, whatever the law.
        """
        most = NEARLY_ALL * (size if self.count is None else self.count)
        for sign, counts, others in ((-1.0, self.below, self.above), (1.0, self.above, self.below)):
            pairs = windows(counts, 2)
            node = int(np.argmax(pairs))
            # The size may be a guess that is too small: then there are as many on the other side.
            noise = USUAL_NOISE * self.scale
            few_others = windows(others).max() <= max((1 - NEARLY_ALL) * pairs[node], noise)
            # What lies beyond the end nodes counts there, wherever it is.
            seen = self.anchor(counts) is not None and 0 < node < len(counts) - 2
            if seen and few_others and pairs[node] >= most:
                # The weight of a record in this octave is on its two nodes, so as to keep the sum
                # of the distances to within a 32nd.
                middle = self.distances[node] * (1 + counts[node + 1] / pairs[node])
                near, far = sign * (middle + self.distances[node] * np.array([-0.125, 0.125]))
                return float(min(near, far)), float(max(near, far))
        return None

    def difference(self, anchor: int) -> float:
        """Bound, but for noise of unusual size, by which part the counts of both sides differ.

        The nodes up to the anchor are compared. Two noises differ by 1.5 scales on average, give or
        take 1.4.
        """
        nodes = slice(max(anchor + 1 - BODY, 0), anchor + 1)
        below, above = self.below[nodes], self.above[nodes]
        seen = float(np.abs(above - below).sum()) - 1.5 * self.scale * len(above)
        spread = 1.4 * self.scale * math.sqrt(len(above))
        return (max(seen, 0.0) + spread) / max(float((below + above).sum()), self.scale)

    def offset(self, anchors: list[int | None], clips: list[float]) -> tuple[float, float]:
        """Estimate the sum of the clipped distances from the centre, and its standard error."""
        total = variance = 0.0
        for sign, counts, anchor, clip in zip((-1, 1), self.sides, anchors, clips, strict=True):
            if anchor is not None:
                weights = np.minimum(self.distances[: anchor + 2], clip)
                total += sign * float(counts[: anchor + 2] @ weights)
                variance += 2 * self.scale**2 * float(weights @ weights)
        return total, math.sqrt(variance)

    def beyond(
        self, counts: Array, distance: float, risk: float, *, farthest: float = math.inf
    ) -> float:
        """Bound the number of records of one side between two distances from the centre.

        All of their weight is on the nodes from floor(log2(distance)) to
        floor(log2(farthest)) + 1, with the noise of as many nodes.
        """
        start = self._index(distance) if distance > 0 else 0
        stop = self._index(farthest) + 2 if farthest < math.inf else len(counts)
        nodes = counts[start : max(stop, start + 1)]
        noise = sum_quantile(self.noise, risk, len(nodes)) / SOFT_ONE
        return max(float(nodes.sum()) + noise, 0.0)

    def _index(self, distance: float) -> int:
        """The node at or below a distance; what lies beyond the end nodes counts there."""
        octave = math.frexp(distance)[1] - 1
        return min(max(octave - self.first, 0), len(self.above) - 1)

    def contradicts(self, tail: Tail, centre: float, mean: float, n: float) -> bool | None:
        """Say whether the counts show records that the tail assumption all but excludes.

        A record counts at the next node above its distance too, hence the factors of 2.
        """
        if tail is None:
            return None
        if isinstance(tail, Bounded):
            reach = (centre - tail.low, tail.high - centre)
            return any(
                bool(np.any(windows(counts)[self.distances > 2 * far] >= self._alarm))
                for counts, far in zip((self.below, self.above), reach, strict=True)
            )
        far = np.maximum(self.distances / 2 - abs(mean - centre), tail.scale)
        share = (tail.scale / far) ** tail.k
        allowed = n * share + 5 * np.sqrt(n * share)
        seen = windows(self.below) + windows(self.above)
        return bool(np.any(seen >= allowed + 2 * self._alarm))

    @property
    def _alarm(self) -> float:
        return self.scale * (THRESHOLD + 128 / 12)


def noise_of_counts(plan: Plan, cost: Budget) -> Noise:
    """Return the noise on every soft count if the tail step may spend ``cost``."""
    sensitivity = _nodes(plan, 0.0).sensitivity(plan.unit)
    return noise_for(cost, sensitivity.l1, sensitivity.l2_squared)


def _nodes(plan: Plan, centre: float) -> TailNodes:
    """Return the query. Under replace-one the number of records comes for free."""
    first, last = _octaves(plan.tail)
    return TailNodes(centre, first, last, counted=plan.unit is Unit.REPLACE_ONE)


def _octaves(tail: Tail) -> tuple[int, int]:
    """Return the first and the last octave that is worth a node."""
    if tail is None:
        return FIRST_OCTAVE, LAST_OCTAVE
    spread = tail.high - tail.low if isinstance(tail, Bounded) else tail.scale
    last = min(max(math.frexp(spread)[1], FIRST_OCTAVE) + OCTAVES_BEYOND, LAST_OCTAVE)
    return FIRST_OCTAVE, last


@lru_cache(maxsize=1024)
def sum_quantile(noise: Noise, risk: float, terms: int) -> float:
    """Return a bound that the sum of some independent noises exceeds with probability <= risk.

    A discrete Laplace noise is the difference of two exponential variables, each rounded down, so
    it exceeds a continuous one by less than 1. The sum of m continuous ones of scale 1 exceeds x
    with probability sum over i < m, l <= i of  e^-x x^(i-l)/(i-l)! C(m-1+l, l) 2^-(m+l).
    For Gaussian noise, and for many terms, Chernoff's bound is as good.

    >>> round(sum_quantile(Noise("laplace", 1e6), 0.01, 1) / 1e6, 2)  # ln(50)
    3.91
    """
    chernoff = noise.sum_quantile(risk, terms)
    if noise.kind == "gaussian" or terms > MOST_EXACT_TERMS:
        return chernoff
    chances = [math.comb(terms - 1 + k, k) / 2.0 ** (terms + k) for k in range(terms)]
    low, high = 0.0, chernoff / noise.scale
    for _ in range(24):
        middle = (low + high) / 2
        power = below = math.exp(-middle)
        tail = below * chances[terms - 1]
        for i in range(1, terms):
            power *= middle / i
            below += power
            tail += below * chances[terms - 1 - i]
        low, high = (middle, high) if tail > risk else (low, middle)
    return min(high * noise.scale + terms, chernoff)


def windows(counts: Array, width: int = WINDOW) -> Array:
    """Sum of each node and the width - 1 nodes above it."""
    sums: Array = np.concatenate([[0.0], np.cumsum(np.concatenate([counts, np.zeros(width)]))])
    return sums[width : width + len(counts)] - sums[: len(counts)]
