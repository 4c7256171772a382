"""The reference law: lognormal, a usual shape of charges and claims."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def lognormal_excess(sigma: float, z: float) -> float:
    """Return E(X - t)+ for X lognormal with median 1 and t = e^(sigma z).

    It is e^(sigma^2/2) Phi(sigma - z) - t Phi(-z).

    >>> round(lognormal_excess(1.0, 0.0), 3)
    0.887
    """
    mean, clip = math.exp(sigma**2 / 2), math.exp(sigma * z)
    return mean * _NORMAL.cdf(sigma - z) - clip * _NORMAL.cdf(-z)
