"""What diffprivlib users would write for a mean; runs in an environment with diffprivlib.

Neighbors: one record is changed, n is public. Without bounds diffprivlib takes them from the data
and warns that this is not private, so bounds are always given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diffprivlib import tools  # type: ignore[import-not-found]  # lives elsewhere

DISTRIBUTION = "diffprivlib"


def bounded_mean(records: Any, epsilon: float, low: float, high: float) -> float:
    """Clip to the bounds, take the mean, add truncated Laplace noise."""
    return float(tools.mean(records, epsilon=epsilon, bounds=(low, high)))


def quantile_bounds(records: Any, epsilon: float, low: float, high: float) -> float:
    """Find the bounds by two private quantiles, each with a quarter of the budget.

    The rank is 200/epsilon from either end: of 20, 50, 100, 200 and 400 the best in a trial on
    laws of the benchmark. Nearer to the ends the choice runs away to ``low`` and ``high``.
    """
    level = min(0.25, 200 / (len(records) * epsilon))
    lower, upper = sorted(
        float(tools.quantile(records, quant, epsilon=epsilon / 4, bounds=(low, high)))
        for quant in (level, 1 - level)
    )
    return lower if lower == upper else bounded_mean(records, epsilon / 2, lower, upper)


METHODS: dict[str, Callable[[Any, float, float, float], float]] = {
    "bounded mean": bounded_mean,
    "quantiles as bounds": quantile_bounds,
}
