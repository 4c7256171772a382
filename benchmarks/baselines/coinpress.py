"""CoinPress, the multivariate mean of Biswas, Dong, Kamath and Ullman (2020), as a baseline.

Written from the paper's description, in floats and with an ordinary generator: it is for
comparison only, and private in no strict sense. It is told a ball that holds the mean and that
the covariance is at most the identity; it shrinks the ball step by step.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def coinpress_mean(
    rows: Floats,
    rho: float,
    radius: float,
    rng: np.random.Generator,
    *,
    steps: int = 2,
    failure: float = 0.01,
) -> Floats:
    """Return the rho-zCDP mean of rows whose mean is within ``radius`` of 0 (replace-one).

    The last step spends 3/4 of rho, the steps before it share the rest.
    """
    center = np.zeros(rows.shape[1])
    shares = [1.0] if steps == 1 else [0.25 / (steps - 1)] * (steps - 1) + [0.75]
    for share in shares:
        center, radius = _step(rows, center, radius, share * rho, failure * share, rng)
    return center


def coinpress_mean_1d(
    records: Floats,
    rho: float,
    radius: float,
    deviation: float,
    rng: np.random.Generator,
    *,
    steps: int = 4,
) -> float:
    """Return the rho-zCDP mean of numbers with a standard deviation of at most ``deviation``."""
    rows = (records / deviation)[:, np.newaxis]
    return float(deviation * coinpress_mean(rows, rho, radius / deviation, rng, steps=steps)[0])


def _step(
    rows: Floats,
    center: Floats,
    radius: float,
    rho: float,
    failure: float,
    rng: np.random.Generator,
) -> tuple[Floats, float]:
    """Clip to the ball in which nearly all rows should lie, add noise, return a smaller ball.

    A row is its mean and a normal vector; these are nearly orthogonal, so their squares add up, but
    for 3 standard deviations. This is tighter than radius + bound, and CoinPress's best.
    """
    n, dim = rows.shape
    bound = _norm_bound(dim, 0.01)
    reach = min(radius + bound, math.sqrt(radius**2 + 6 * radius + bound**2))
    offsets = rows - center
    norms = np.linalg.norm(offsets, axis=1)
    offsets *= np.minimum(1.0, reach / np.maximum(norms, 1e-300))[:, np.newaxis]
    deviation = 2 * reach / n / math.sqrt(2 * rho)
    found = center + offsets.mean(axis=0) + deviation * rng.normal(size=dim)
    return found, _norm_bound(dim, failure) * math.sqrt(1 / n + deviation**2)


def _norm_bound(dim: int, failure: float) -> float:
    """Bound the norm of a standard normal vector, but for this probability."""
    level = math.log(1 / failure)
    return math.sqrt(dim + 2 * math.sqrt(dim * level) + 2 * level)
