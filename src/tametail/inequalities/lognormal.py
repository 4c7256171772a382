"""The reference law: lognormal, a usual shape of charges and claims."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()

#: Standard deviation of the lognormal law with sigma = 1, sqrt((e - 1) e): predictions are in it.
REFERENCE_SD = math.sqrt((math.e - 1.0) * math.e)


def lognormal_excess(sigma: float, clip: float) -> float:
    """Return E(X - clip)+ for X lognormal with median 1.

    With z = ln(clip)/sigma it is e^(sigma^2/2) Phi(sigma - z) - clip Phi(-z).

    >>> round(lognormal_excess(1.0, 1.0), 3)
    0.887
    """
    z = math.log(clip) / sigma
    return math.exp(sigma**2 / 2) * _NORMAL.cdf(sigma - z) - clip * _NORMAL.cdf(-z)
