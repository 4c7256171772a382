"""What octave counts of the lengths of persons' vectors say: where to scale down, and what is lost.

A vector is scaled down to a limit. That takes from all groups together what vectors are longer than
it. From one group it takes its share of that, and more if a person with one of the longest vectors
is there: with few of these, groups differ by whole persons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tametail.methods.groups import constants as tuned
from tametail.methods.persons.estimate import OF_TOTALS
from tametail.methods.winsorized.approximate_interval import HiddenExcess, thinned
from tametail.methods.winsorized.column import ColumnPlan, deviation
from tametail.methods.winsorized.tail_histogram import TailHistogram, window_sums

Array = npt.NDArray[np.float64]

#: Lengths at which the longest vector of a group is looked for, in parts of an octave and in all.
_PARTS, _OCTAVES = 4, 10


@dataclass(frozen=True, slots=True)
class ScaledDown:
    """What scaling vectors down to a limit takes away.

    ``total`` is how much longer all vectors are together, but for ``LOST_RISK``; ``distances`` lie
    beyond the limit, ``numbers`` are those of the vectors that reach each by every curve that
    lengths may follow, and ``weights`` those of the curves.
    """

    total: float
    distances: Array
    numbers: Array
    weights: Array

    @classmethod
    def read(cls, plan: ColumnPlan, tails: TailHistogram, limit: float) -> ScaledDown:
        """Read it off the counts.

        From two octaves below the last that stands out by the curves that persons' totals may have;
        nearer to 0 by the noisy octave counts.
        """
        last_bin = tails.highest_detected(tails.above)
        if last_bin is None:
            return cls(0.0, np.zeros(1), np.zeros((1, 1)), np.ones(1))
        adjacency = float(tails.distances[last_bin])
        start = max(limit, adjacency / 4)
        fit = tails.fit(tails.above, last_bin, deviation(plan.budget))
        ends = start * 2.0 ** (np.arange(_PARTS * _OCTAVES + 1) / _PARTS)
        found = [fit.beyond(end / adjacency, OF_TOTALS)[:2] for end in ends.tolist()]
        excess, weights = np.array([each for each, _ in found]), found[0][1]
        # The average from one end to the next: no fewer reach the farther one.
        numbers = adjacency * (excess[:-1] - excess[1:]) / np.diff(ends)[:, None]
        far = adjacency * HiddenExcess(thinned(excess[0], weights)).quantile(tuned.LOST_RISK)
        top = last_bin + tuned.WINDOW
        nearer = np.maximum(np.minimum(tails.distances[:top], start) - limit, 0.0)
        total = far + max(float(tails.above[:top] @ nearer), 0.0)
        return cls(total, ends[1:] - limit, numbers, weights)

    def of_group(self, share: float) -> float:
        """Return what a group with this share of the records may have lost: its part, and a vector.

        A longer one is there with a probability of ``LONGEST_RISK``, if persons are anywhere.
        """
        chances = (1 - np.exp(-share * self.numbers)) @ self.weights
        place = min(int((chances > tuned.LONGEST_RISK).sum()), len(self.distances) - 1)
        longest = float(self.distances[place]) if place else 0.0
        return share * self.total + longest


def anchor_of_counts(tails: TailHistogram) -> int | None:
    """Return the highest octave of numbers of records that stands out; they are 1 or more.

    So few octaves are possible that less has to stand out than for lengths of any size.
    """
    first = max(-tails.first, 0)
    counts = window_sums(tails.above)[first : first + tuned.OCTAVES_OF_ROWS]
    found = np.flatnonzero(counts >= tuned.SEEN_ROWS * tails.scale)
    return first + int(found[-1]) if len(found) else None


def best_limit(tails: TailHistogram, last_bin: int, noise: float, bias: float) -> float:
    """Return the limit T for which (noise T)^2 + (bias * all that is longer than T)^2 is least."""
    top = min(last_bin + tuned.WINDOW, len(tails.above))
    beyond = np.cumsum(tails.above[:top][::-1])[::-1]
    noise_beyond = tails.scale * np.sqrt(np.arange(top, 0, -1))
    noise_beyond[: last_bin + 1] = 0.0  # what stands out is believed
    beyond = np.where(beyond > tuned.SEEN_BEYOND * noise_beyond, np.maximum(beyond, 0.0), 0.0)
    beyond = np.maximum.accumulate(beyond[::-1])[::-1]  # as survivors are
    nodes = tails.distances[:top]
    grid = (nodes[:, None] * 2.0 ** (np.arange(4) / 4)).ravel()
    alive = np.repeat(beyond, 4) * np.repeat(2.0 ** -(np.arange(4) / 4)[None, :], top, 0).ravel()
    steps = np.diff(grid, append=2 * nodes[-1])
    excess = np.cumsum((alive * steps)[::-1])[::-1]
    costs = (noise * grid) ** 2 + (bias * excess) ** 2
    return float(grid[int(np.argmin(costs))])
