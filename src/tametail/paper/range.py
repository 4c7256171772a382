"""PDPRE, CDPRE and ADPRE: find an interval that holds the mean and most of the records.

Algorithm ``pdpre`` and Theorems ``one-d-range-pdp``, ``one-d-range-adp-cdp`` of the paper, read
with ``docs/explanation/corrections``.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from tametail.privacy.budget import Budget
from tametail.queries.column import Buckets
from tametail.theory.univariate import range_side

if TYPE_CHECKING:
    from tametail.ask import Ask

#: Beyond every bucket that a double can fall into: "R = infinity" for approximate DP.
_ALL_KEYS = 1 << 3000


@dataclass(frozen=True, slots=True)
class Range:
    """The interval [center - side, center + side]; its width is public."""

    center: float
    side: float

    @property
    def ends(self) -> tuple[float, float]:
        """The interval's two ends."""
        return self.center - self.side, self.center + self.side


def range_estimator(
    ask: Ask, cost: Budget, *, radius: float, R: float, margin: float | None = None
) -> Range:
    """Run PDPRE, CDPRE or ADPRE, whichever ``cost`` calls for.

    ``radius`` is half of a bucket, in the units of the records, ``margin`` what the range leaves
    on both sides of the mean; the paper's r is both of them. The mean lies in [-R, R].
    """
    # A2: the bucket need not be as wide as the margin.
    side = range_side(R, radius, radius if margin is None else margin)
    # If R <= 2r there is nothing to locate: [-side, side] leaves the margin (A5).
    if 2 * radius >= R:
        return Range(0.0, side)

    # "Divide [-R-2r, R+2r] into buckets": j = -B-1..B with edges 2rj (A5).
    width = 2 * radius
    last = _ALL_KEYS if math.isinf(R) else math.ceil(Fraction(R) / Fraction(width))
    buckets = Buckets(inverse_width=1.0 / width, low=-last - 1, high=last)

    # "Run the histogram; let [a, b] be the bucket with the maximum number of points" (P6, P7, P8).
    key = ask(buckets, cost)
    if key is None:  # nothing above the stability threshold: a fixed answer, no second try (P8)
        return Range(0.0, side)

    # "Let I = [a - 2r, b + 2r]": kept as a center and a public width (P5).
    center = Fraction(width) * (2 * key + 1) / 2
    limit = Fraction(min(R, sys.float_info.max))
    return Range(float(max(-limit, min(limit, center))), side)
