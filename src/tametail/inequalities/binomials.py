"""Expectations over the number of records that differ."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def expect_binomial(function: Callable[[Floats], Floats], n: int, p: float, reach: float) -> float:
    """Return ``E f(H)``, H ~ Bin(n, p), for f >= 0 that is negligible beyond ``reach``.

    The mass is built from the ratios ``(n-h)p/((h+1)(1-p))`` over 12 standard deviations and
    scaled to total 1: what lies outside is below 1e-25, and no factorial of n appears.
    """
    mean, deviation = n * p, math.sqrt(n * p * (1 - p))
    low = max(0, math.floor(mean - 12 * deviation))
    if low > reach:
        return 0.0
    high = min(n, math.ceil(mean + 12 * deviation + 40))
    h = np.arange(low, high + 1, dtype=np.float64)
    log_ratio = np.log((n - h[:-1]) / (h[:-1] + 1)) + math.log(p / (1 - p))
    log_mass = np.concatenate([[0.0], np.cumsum(log_ratio)])
    mass = np.exp(log_mass - log_mass.max())
    seen = int(np.searchsorted(h, reach, side="right"))
    return float(mass[:seen] @ function(h[:seen]) / mass.sum())
