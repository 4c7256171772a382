"""What the plan of a vector mean predicts before any record is read.

The prediction is for a reference: independent columns, all lognormal with sigma = 1, in units of
their standard deviation. It follows the steps of the method: where the scale of a column will lie,
 how long a row is, what noise and clipping then cost. It is no bound.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.inequalities.lognormal import REFERENCE_SD
from tametail.inequalities.quantiles import continuous_quantile
from tametail.methods.joint import settings
from tametail.methods.joint.budget_split import SPREAD_SHARE, choice_halvings, scale_rank
from tametail.methods.joint.interval import RISKS
from tametail.methods.joint.weigh import CLIP, few_rows
from tametail.privacy.budget import Noise, Zcdp, noise_for
from tametail.privacy.choices import choice_rate

if TYPE_CHECKING:
    from tametail.plans import PricedRequest

Floats = npt.NDArray[np.float64]

#: Points of the reference law.
_POINTS = 4001


class Expectation(NamedTuple):
    """What is expected of a column, in standard deviations of the reference law."""

    noise: Noise
    bias: float
    largest: float
    """What a row can be at most in this column, on a ball."""


def reference_rmse(plan: PricedRequest) -> float:
    """Predict the root mean squared error of a column, in standard deviations."""
    expected = _expect(plan, settings.size(plan))
    return math.sqrt(1 / settings.size(plan) + expected.noise.variance + expected.bias**2)


def half_width(plan: PricedRequest, confidence: float) -> float:
    """Predict the half-width of the intervals, in standard deviations."""
    n, expected = settings.size(plan), _expect(plan, settings.size(plan))
    if n < settings.least_cells(plan):
        return math.inf
    risk = {name: part * (1 - confidence) for name, part in RISKS.items()}
    width = continuous_quantile(expected.noise, risk["noise"] / (2 * plan.n_columns + 1))
    if plan.target == "population":
        level, far = math.log(2 * plan.n_columns / risk["moments"]), expected.largest
        slack = far**2 * level / (2 * n)
        # A row moves sums of squares by up to sqrt(2) far^2, and the number of rows cut by more.
        own = plan.cost("spread", settings.rounds(plan)) if plan.has("spread") else None
        cost = plan.budget.share(SPREAD_SHARE) if own is None else own
        noise = Noise(expected.noise.kind, 1.5 * far**2 / (n * cost.strength))
        square = 1 + continuous_quantile(noise, risk["spread"] / (plan.n_columns + 1))
        deviation = min(math.sqrt(square + slack) + math.sqrt(slack), far)
        level = math.log(2 * plan.n_columns / risk["sampling"])
        width += deviation * math.sqrt(2 * level / n) + 2 * far * level / (3 * n)
    return width + expected.bias


def _expect(plan: PricedRequest, n: int) -> Expectation:
    final = plan.cost("sum", settings.rounds(plan))
    distances, n_columns = _distances(), plan.n_columns
    scale, clip = 1.0, math.inf
    if plan.has("center") and plan.has("scale"):
        cost = plan.cost("scale")
        times = choice_halvings(cost, n, n_columns)
        beyond = 2**times * scale_rank(n_columns) / float(choice_rate(cost, n_columns, times))
        # Half octaves are rounded up.
        scale, clip = 2**0.25 * _beyond(beyond / n), CLIP
    clipped = np.minimum(distances / scale, clip)
    order = 2 if isinstance(final, Zcdp) else 1
    # The power of the norm of a row is a mean over columns; few rows are beyond the radius.
    share = min(few_rows(final, n_columns) / n, 0.25)
    power = clipped**order
    spread = -NormalDist().inv_cdf(share) * float(power.std()) / math.sqrt(n_columns)
    radius = min(float(power.mean()) + spread, float(power.max())) ** (1 / order)
    each = scale * (math.sqrt(n_columns) if order == 2 else n_columns)
    moves = float(plan.adjacency.changes)
    noise = Noise(noise_for(final, 1, 1).kind, each * radius * moves / (n * final.strength))
    bias = float(np.maximum(distances - clip * scale, 0.0).mean()) if clip < math.inf else 0.0
    return Expectation(noise, bias, each * radius)


@lru_cache(maxsize=1)
def _distances() -> Floats:
    """Return distances from the median, 1, that all have one chance, in standard deviations."""
    normal = NormalDist()
    distribution = [math.exp(normal.inv_cdf((i + 0.5) / _POINTS)) for i in range(_POINTS)]
    distances: Floats = np.abs(np.array(distribution) - 1) / REFERENCE_SD
    return distances


def _beyond(share: float) -> float:
    """Return the distance that this part of the records exceeds."""
    if share >= 0.25:
        return float(np.quantile(_distances(), 1 - min(share, 0.9)))
    return (math.exp(-NormalDist().inv_cdf(share)) - 1) / REFERENCE_SD
