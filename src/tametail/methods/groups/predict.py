"""What means of persons by group are expected to err by, before any record is read.

Persons are those of the reference law: one record each, or many that are alike, lognormal with
sigma = 1; all groups are of one size and alike, and a person is in one of them. Records of a person
are usually alike, so that more of them hardly help. How unlike groups are, in how many of them
people are, and how unequal their numbers of records, public numbers do not tell.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tametail.methods.groups import constants as tuned
from tametail.privacy.budget import Budget, noise_for

Array = npt.NDArray[np.float64]

_POINTS = 4096


@lru_cache(maxsize=1)
def _reference() -> Array:
    """Return equally likely distances from the mean, in standard deviations."""
    normal = NormalDist()
    levels = (np.arange(_POINTS) + 0.5) / _POINTS
    records = np.exp([normal.inv_cdf(level) for level in levels.tolist()])
    centered: Array = (records - records.mean()) / records.std()
    return centered


def persons_rmse(persons: float, groups: int, cost: Budget) -> float:
    """Predict the error in a group, in standard deviations of the reference law.

    So many ``groups`` have so many ``persons`` together, and their sums may cost ``cost``. Vectors
    are scaled down to the length that the method would take.

    >>> from tametail.privacy.budget import pure
    >>> round(persons_rmse(10_000, 51, pure(0.42)), 2)
    0.1
    """
    numbers = _reference()
    lengths = np.sort(np.abs(numbers))
    beyond = np.cumsum(lengths[::-1])[::-1] / _POINTS
    excess = beyond - lengths * np.arange(_POINTS, 0, -1) / _POINTS
    deviation = math.sqrt(noise_for(cost, 1, 1).variance)
    costs = (deviation * groups * lengths) ** 2
    costs += (tuned.BIAS_OF_PERSONS * persons * excess) ** 2
    limit = float(lengths[int(np.argmin(costs))])
    clipped = np.clip(numbers, -limit, limit)
    own = persons / groups
    noise = deviation * limit / own
    sampling = float(clipped.std()) / math.sqrt(own)
    return math.hypot(noise, sampling, float(clipped.mean()))
