"""The local-model mean of Duchi, Jordan and Wainwright (2013; 2018, section on k moments).

Every person adds noise to their own record; nobody else sees it. In floats and with an ordinary
generator: a baseline for benchmarks, not for releases.
Nobody holds the records here, so the package's
queries have nothing to ask: it stays a baseline.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def local_mean(
    records: Floats, epsilon: float, k: float, scale: float, rng: np.random.Generator
) -> float:
    """Return the mean of locally epsilon-DP reports, if ``E|X|^k <= scale^k`` (about 0).

    Report ``clip(x, -T, T) + Lap(2T/epsilon)`` with ``T = scale (n epsilon^2)^(1/(2k))``. The
    squared error is of order ``scale^2 (n epsilon^2)^(-(k-1)/k)``, the best in the local model for
    epsilon up to 1; the trusted curator's is ``max(1/n, (n epsilon)^(-2(k-1)/k))``.
    """
    reach = clip_point(len(records), epsilon, k, scale)
    reports = np.clip(records, -reach, reach) + rng.laplace(
        scale=2 * reach / epsilon, size=len(records)
    )
    return float(reports.mean())


def clip_point(n: int, epsilon: float, k: float, scale: float) -> float:
    """Return ``T = scale (n epsilon^2)^(1/(2k))``, but at least ``scale``."""
    return float(scale * max(1.0, n * epsilon**2) ** (1 / (2 * k)))
