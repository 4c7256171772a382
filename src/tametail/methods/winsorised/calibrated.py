r"""An interval for the winsorised mean, calibrated: it covers about as often as it says.

The noisy winsorised mean v differs from the winsorised mean of the law by sampling and by noise:

* sampling is close to normal with the variance of the clipped records over n, read off the octave
  counts. Where they are skewed, the side of the long tail is longer: by Cornish and Fisher's first
  correction the end z standard errors away moves by skewness (2 z^2 + 1)/6 of them;
* the law of the noise is public, and so is that of its sum with a normal error.

Nothing is proved: the clip points come out of the same records, and the normal law is a limit.
``benchmarks/coverage.py`` measures how often it covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tametail.inequalities.quantiles import (
    NOWHERE,
    Shifts,
    Spread,
    deviations,
    spread_quantiles,
)
from tametail.means import WINSORISED, Interval
from tametail.methods.winsorised import constants as tuned
from tametail.privacy.budget import Noise

if TYPE_CHECKING:
    from tametail.methods.winsorised.column import ColumnPlan as Plan
    from tametail.methods.winsorised.sums import Clip, Sum
    from tametail.methods.winsorised.tail_histogram import Tails


@dataclass(frozen=True, slots=True)
class Error:
    """The law of the distance between v and the winsorised mean of the law, as estimated.

    ``deviation`` and ``skewness`` are those of the mean of the clipped records, ``noise`` is the
    noise on v from the sum, ``miscounted`` the standard deviation of that from the count.
    """

    deviation: float
    skewness: float
    noise: Noise
    miscounted: float
    rounding: float

    @classmethod
    def of(cls, plan: Plan, clip: Clip, tails: Tails, total: Sum) -> Error:
        """Read the law off the counts and the noisy sum."""
        n = total.count
        noise = Noise(total.noise.kind, total.lattice.value(total.noise.scale) / n)
        count_noise = total.count_noise or total.noise
        weight = max(total.count_weight, 1)
        counted = math.sqrt(count_noise.variance) / weight * bool(total.count_weight)
        miscounted = total.lattice.value(abs(total.total / n) * counted / n)
        if plan.target == "data":
            return cls(0.0, 0.0, noise, miscounted, total.rounding)
        variance, third = moments(clip, tails, n, total.mean - clip.centre)
        skewness = 0.0
        if variance > 0:
            skewness = third / (variance * math.sqrt(variance) * math.sqrt(n))
        skewness = min(max(skewness, -tuned.MOST_SKEWNESS), tuned.MOST_SKEWNESS)
        return cls(math.sqrt(variance / n), skewness, noise, miscounted, total.rounding)

    def changed(self, shifts: Shifts = NOWHERE) -> Spread:
        """Return the law of what noise changes, and clipping by these shifts."""
        return Spread(self.miscounted, self.noise, shifts)

    def side(self, risk: float, sign: int, shifts: Shifts = NOWHERE) -> Spread:
        """Return the law of how far above v (below, if ``sign`` is -1) the target is.

        ``shifts`` is the law of the distance by which it may be farther still.
        """
        longer = 1 + sign * self.skewness * _longer(risk)
        sampling = self.deviation * max(longer, tuned.LEAST_SIDE)
        return Spread(math.hypot(sampling, self.miscounted), self.noise, shifts)

    def reach(self, risk: float, sign: int) -> float:
        """Return how far above v (below, if ``sign`` is -1) the target may be, but for a risk."""
        return reaches([self], risk, sign, [NOWHERE])[0]

    def privacy(self, risk: float) -> float:
        """Return what noise alone changes at most, but for this risk."""
        return spread_quantiles([self.changed()], risk / 2)[0]

    def ends(self, risk: float) -> tuple[float, float]:
        """Return :meth:`reach` below and above."""
        below, above = spread_quantiles([self.side(risk, sign) for sign in (-1, 1)], risk)
        return below + self.rounding, above + self.rounding


@lru_cache(maxsize=64)
def _longer(risk: float) -> float:
    """Return Cornish and Fisher's first correction of an end, per skewness, as a part of it."""
    z = deviations(risk)
    return (2 * z * z + 1) / (6 * z)


def reaches(
    errors: Sequence[Error], risk: float, sign: int, shifts: Sequence[Shifts]
) -> list[float]:
    """Return how far each target may be, as :meth:`Error.side` says, but for a risk.

    All noises are of one kind.
    """
    laws = [error.side(risk, sign, one) for error, one in zip(errors, shifts, strict=True)]
    found = spread_quantiles(laws, risk)
    return [reach + error.rounding for reach, error in zip(found, errors, strict=True)]


def calibrated(plan: Plan, total: Sum, error: Error) -> Interval:
    """Return the interval for the winsorised mean."""
    risk = 1 - (plan.confidence or 0.0)
    below, above = error.ends(risk / 2)
    low, high = total.mean - below, total.mean + above
    found = parts(error, risk, truncation=None, privacy=total.privacy(risk))
    return Interval(low, high, WINSORISED, proved=False, parts=found)


def parts(
    error: Error, risk: float, *, truncation: float | None, privacy: float
) -> dict[str, float | None]:
    """Return what an interval is made of."""
    return {
        "privacy": privacy,
        "sampling": deviations(risk / 2) * error.deviation,
        "truncation": truncation,
        "rounding": error.rounding,
    }


def moments(clip: Clip, tails: Tails, n: float, offset: float) -> tuple[float, float]:
    """Estimate the variance and the third central moment of the clipped records.

    A soft count spreads a record on two nodes, which raises squares and cubes: by as much, on
    average, if distances are spread evenly on a log scale.
    """
    second = third = noise = 0.0
    ends = (clip.below, clip.above)
    for sign, counts, end, anchor in zip((-1, 1), tails.sides, ends, clip.anchors, strict=True):
        if anchor is None:
            continue
        top = min(anchor + tuned.WINDOW, len(counts))
        distances = np.minimum(tails.distances[:top], end)
        second += tuned.SOFT_SQUARE * float(counts[:top] @ distances**2)
        third += sign * tuned.SOFT_CUBE * float(counts[:top] @ distances**3)
        noise += 2 * tails.scale**2 * float((distances**4).sum())
    raised = max(second + tuned.SQUARES_RAISED * math.sqrt(noise), 0.0) / n
    second = max(second, 0.0) / n
    variance = max(raised - offset * offset, tuned.LEAST_VARIANCE * raised)
    return variance, third / n - 3 * offset * second + 2 * offset**3
