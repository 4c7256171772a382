"""What users of Google's library would write for a mean; runs in an environment with python-dp.

Neighbors: one record more or less (one person, one contribution); n is protected. Without bounds
the library finds them from logarithmic histograms with half of the budget, and refuses if it finds
none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydp.algorithms.laplacian import BoundedMean  # type: ignore[import-not-found]

DISTRIBUTION = "python-dp"


def bounded_mean(records: Any, epsilon: float, low: float, high: float) -> float:
    """Clamp to the bounds; noisy sum over noisy count."""
    mechanism = BoundedMean(epsilon=epsilon, lower_bound=low, upper_bound=high, dtype="float")
    return float(mechanism.quick_result(records.tolist()))


def automatic_bounds(records: Any, epsilon: float, low: float, high: float) -> float:  # noqa: ARG001
    """Let the library find the bounds: nothing is told."""
    return float(BoundedMean(epsilon=epsilon, dtype="float").quick_result(records.tolist()))


METHODS: dict[str, Callable[[Any, float, float, float], float]] = {
    "bounded mean": bounded_mean,
    "automatic bounds": automatic_bounds,
}
