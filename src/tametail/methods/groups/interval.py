"""The interval of a small group: for its winsorised mean, from its own noisy answers alone.

With noises z on the sum S and w on the count n, and v = (S + z)/(n + w): v - S/n = (z - v w)/n.
The mean of n clipped records strays from its expectation by what their second moment about the
pooled centre allows. That is bounded by the cells: a record between the cuts is at most a cut
away, any other at most the clip distance. Nothing is taken from the pool but where to clip.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tametail.inequalities.concentration import mean_deviation, second_moment_bound
from tametail.inequalities.risk import Risk, split_risk
from tametail.means import MEAN, WINSORISED, Interval
from tametail.methods.groups.plan import GroupPlan
from tametail.privacy.budget import Noise, noise_for
from tametail.queries.column import Lattice

Array = npt.NDArray[np.float64]


def fewest_records(part: GroupPlan, cells: Array) -> float:
    """Bound the number of records of a group from below; less than 1: it may be noise alone."""
    risk = split_risk(1 - (part.confidence or 0.95))
    missed = noise_for(part.costs["cells"], 1, 1).sum_quantile(risk.noise / 4, 3)
    return float(cells.sum()) - missed


def pooled_interval(
    part: GroupPlan,
    value: float,
    centre: float,
    cuts: tuple[float, float],
    cells: Array | None,
    lattice: Lattice | None,
    total: int,
) -> Interval:
    """Return the interval of a small group; without a spread, or a record, nothing is known."""
    confidence = part.confidence or 0.0
    if cells is None or lattice is None or fewest_records(part, cells) < 1:
        nothing = dict.fromkeys(("privacy", "sampling", "truncation", "rounding"))
        return Interval(*part.possible, MEAN, True, nothing, confidence)
    reach, risk = lattice.value(lattice.side), split_risk(1 - confidence)
    cell_noise = noise_for(part.costs["cells"], 1, 1)
    fewest = fewest_records(part, cells)
    noise = sum(_noises(part, lattice, cells, total, risk.noise / 2)) / fewest
    sampling = 0.0
    if part.plan.target == "population":
        square = _second_moment(cells, cell_noise, fewest, reach, max(cuts), risk)
        sampling = mean_deviation(math.sqrt(square), 2 * reach, fewest, risk.sampling / 2)
    rounding = lattice.tick + 2 * math.ulp(abs(centre) + reach)
    half = noise + sampling + rounding
    low, high = part.possible
    privacy = math.hypot(*_noises(part, lattice, cells, total, 1 - confidence)) / fewest
    parts = {"privacy": privacy, "sampling": sampling, "truncation": None, "rounding": rounding}
    return Interval(
        low=max(min(max(value - half, centre - reach), value), low),
        high=min(max(min(value + half, centre + reach), value), high),
        describes=WINSORISED,
        proved=False,
        parts=parts,
        confidence=confidence,
    )


def _noises(
    part: GroupPlan, lattice: Lattice, cells: Array, total: int, risk: float
) -> tuple[float, float]:
    """Bound what the noise on the sum, and that on the count, change in the sum, at this risk."""
    own = noise_for(part.costs["groups"], lattice.side, lattice.side**2).quantile(risk)
    missed = noise_for(part.costs["cells"], 1, 1).sum_quantile(risk / 2, 3)
    mean = min(abs(total) / max(float(cells.sum()), 1.0), float(lattice.side))
    return lattice.value(own), lattice.value(mean * missed)


def _second_moment(
    cells: Array, noise: Noise, fewest: float, reach: float, cut: float, risk: Risk
) -> float:
    """Bound the expected square of a clipped record's distance from the pooled centre."""
    outer = float(cells[0] + cells[2]) + noise.sum_quantile(risk.spread / 2, 2)
    share = min(max(outer, 0.0) / fewest, 1.0)
    square = share * reach**2 + (1 - share) * min(cut, reach) ** 2
    return min(second_moment_bound(square, reach, fewest, risk.spread / 2), reach**2)
