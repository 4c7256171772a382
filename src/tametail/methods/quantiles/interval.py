"""Distribution-free intervals for quantiles, from noisy numbers of records between points.

Let xi be the quantile of level q. At least a binomial number (n, q) of records is at most xi, and
at most such a number is below xi. If a cut t is above xi, then the number of records below t is at
least the former; so t is a lower limit once the noisy number of records below it is too small for
that. The noise of the counts is independent of the records and of how they chose t
(docs/proofs/quantiles.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tametail.doubles import LARGEST
from tametail.inequalities.quantiles import sum_quantile
from tametail.inequalities.ranks import rank_deviation
from tametail.privacy.budget import Noise

#: The part of the risk that goes to a bound on the number of records, and of what is left the part
#: that goes to the innermost limit, if there are others.
_FOR_SIZE, _FOR_FIRST = 0.02, 0.8


def cut_above(point: float) -> float:
    """Return the cut that has all records up to ``point`` below it.

    >>> cut_above(1.0) > 1.0, cut_above(LARGEST) == LARGEST
    (True, True)
    """
    return min(math.nextafter(point, math.inf), LARGEST)


class NoisyCells(NamedTuple):
    """Noisy numbers of records between ascending cuts, and their noise."""

    cuts: tuple[float, ...]
    counts: tuple[int, ...]
    noise: Noise

    def size_at_most(self, risk: float) -> float:
        """Return what the number of records exceeds with this probability at most."""
        total = sum(self.counts)
        return max(total + sum_quantile(self.noise, risk, len(self.counts)), 1.0)

    def rank(self, cut: float, level: float) -> tuple[float, tuple[int, int]]:
        """Return the noisy rank of a cut, less that of the level; and the noises on each side."""
        place = self.cuts.index(cut) + 1
        left, right = sum(self.counts[:place]), sum(self.counts[place:])
        return (1 - level) * left - level * right, (place, len(self.counts) - place)


def interval(
    cells: NoisyCells,
    level: float,
    lows: Sequence[float],
    highs: Sequence[float],
    confidence: float,
    *,
    sampled: bool,
) -> tuple[float, float]:
    """Return the limits of a level: of ``lows`` and ``highs``, from within, the first that passes.

    An end is infinite if none does. The risks of all that are looked at add up to 1 - confidence.
    """
    risk = (1 - confidence) * (1 - _FOR_SIZE) / 2
    most = cells.size_at_most((1 - confidence) * _FOR_SIZE) if sampled else None
    low, high = -math.inf, math.inf
    for point, part in zip(lows, _parts(len(lows), risk), strict=True):
        rank, sides = cells.rank(point, level)
        if rank < -rank_deviation(cells.noise, level, sides, part, most):
            low = point
            break
    for point, part in zip(highs, _parts(len(highs), risk), strict=True):
        rank, (left, right) = cells.rank(cut_above(point), level)
        if rank > rank_deviation(cells.noise, 1 - level, (right, left), part, most):
            high = point
            break
    return low, high


def _parts(tries: int, risk: float) -> list[float]:
    """Divide a risk between what is looked at: most of it goes to the first."""
    if tries <= 1:
        return [risk] * tries
    rest = (1 - _FOR_FIRST) * risk / (tries - 1)
    return [_FOR_FIRST * risk, *np.full(tries - 1, rest).tolist()]
