"""Means drawn towards that of all groups: post-processing, for ``pooling="mean"``.

The groups' means are taken to be normal around a common one with variance tau^2, which is found as
Paule and Mandel do: such that the weighted squares add up to one less than the groups. A group of
error variance v keeps tau^2 / (v + tau^2) of its distance from the common mean.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tametail.inequalities.quantiles import deviations
from tametail.means import Estimate, Shrunk

Array = npt.NDArray[np.float64]

_STEPS = 200


def shrunk(estimates: list[Estimate]) -> list[Estimate]:
    """Return the same estimates with the shrunk means beside them."""
    values = np.array([one.value for one in estimates])
    errors = np.array([_error(one) for one in estimates])
    if len(values) < 3 or not np.isfinite(errors).all():
        return [replace(one, shrunk=_alone(one)) for one in estimates]
    between = between_groups(values, errors)
    weights = 1 / (errors + between)
    common = float(weights @ values / weights.sum())
    return [
        replace(one, shrunk=_drawn(one, error, between, common, float(1 / weights.sum())))
        for one, error in zip(estimates, errors.tolist(), strict=True)
    ]


def between_groups(values: Array, errors: Array) -> float:
    """Return tau^2, by bisection: the weighted squares fall as it grows.

    >>> round(between_groups(np.array([-3.0, 0.0, 3.0]), np.array([0.1, 0.1, 0.1])), 3)
    8.9
    """

    def excess(between: float) -> float:
        weights = 1 / (errors + between)
        common = weights @ values / weights.sum()
        return float(weights @ (values - common) ** 2) - (len(values) - 1)

    low, high = 0.0, float(np.var(values)) * len(values) + 1e-300
    if excess(low) <= 0:
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _error(estimate: Estimate) -> float:
    """The error variance: told, or from the interval as if it were normal."""
    if estimate.variance is not None:
        return estimate.variance
    interval = estimate.interval
    if interval is None:
        return math.inf
    level = deviations((1 - interval.confidence) / 2)
    deviation = (interval.high - interval.low) / (2 * level)
    return max(deviation * deviation, 1e-300)  # infinite where a power would raise


def _drawn(
    one: Estimate, error: float, between: float, common: float, common_error: float
) -> Shrunk:
    drawn = error / (error + between)
    value = one.value + drawn * (common - one.value)
    if one.interval is None:
        return Shrunk(value, None, None)
    deviation = math.sqrt((1 - drawn) * error + drawn**2 * common_error)
    half = deviations((1 - one.interval.confidence) / 2) * deviation
    return Shrunk(value, value - half, value + half)


def _alone(one: Estimate) -> Shrunk:
    ends = (None, None) if one.interval is None else (one.interval.low, one.interval.high)
    return Shrunk(one.value, *ends)
