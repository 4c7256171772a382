"""The Laplace mechanism on a mean of bounded records (Dwork, McSherry, Nissim and Smith, 2006).

In floats and with an ordinary generator: a baseline for benchmarks, not for releases.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def bounded_laplace_mean(
    records: Floats, epsilon: float, radius: float, rng: np.random.Generator
) -> float:
    """Return the epsilon-DP mean of the records clipped to [-radius, radius] (replace-one).

    ``mean(clip(x)) + Lap(2 radius/(n epsilon))``; n is public.
    """
    clipped = np.clip(records, -radius, radius)
    return float(clipped.mean() + rng.laplace(scale=2 * radius / (len(records) * epsilon)))
