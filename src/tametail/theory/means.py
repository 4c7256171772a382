"""How many records the mean of one column takes: in blocks, as in the paper, or in one block.

Lengths are in units of ``scale``. With ``constants="paper"`` a block of b records succeeds with
probability 0.7: the range step, the sampling error and the noise fail with probability at most 0.1
each, and each of bias, sampling and noise is at most alpha/3. With ``"tight"`` a block succeeds
with probability 0.8: the range step fails with 0.05, and sampling and noise, bounded together by
2 alpha/3, with 0.15. The median of m blocks succeeds with probability ``1 - beta``.

``"one-block"`` has no median: Bernstein's inequality makes the mean of one block as certain as
asked for, and the range step reads no more records than it needs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from tametail.inequalities.checks import moment_order, positive, probability
from tametail.inequalities.quantiles import continuous_quantile
from tametail.inequalities.truncation import bias_constant
from tametail.privacy.budget import Budget, Noise, Zcdp, parse_budget
from tametail.theory._constants import Constants, MeanConstants
from tametail.theory.univariate import (
    RANGE_FAILURE,
    bucket_radius,
    clip_radius,
    median_of_means_blocks,
    range_records,
    range_side,
)

# Failure probability of a block: the fewest records in all are needed near 0.2.
BLOCK_FAILURE: dict[Constants, float] = {"paper": 0.3, "tight": 0.2}
# Failure probability of sampling and noise together, and the part of alpha that they may have.
_ESTIMATE_FAILURE, _ESTIMATE_PART = 0.15, 2 / 3

# What is tried for one block, each of it valid: the range step's part of beta, the bias's part of
# alpha, and Chernoff's exponent as a part of the largest one.
_RANGE_PARTS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_BIAS_PARTS = np.geomspace(0.01, 0.8, 60)[:, None]
_EXPONENTS = np.linspace(0.005, 0.995, 199)
# A range is a whole number of ticks: at most so much wider, from four records over epsilon on.
_WHOLE_TICKS = 1 + 2.0**-9


def block_records(
    alpha: float, k: float, R: float, *, budget: Budget, constants: Constants
) -> float:
    """Return the b at which the noisy mean of a block is within alpha, given its range.

    The noise is ``Lap(w/(eps b))`` or ``N(0, (w/b)^2/(2 rho))``, w the width of the range, and the
    records have a variance of at most V: 1 for ``k >= 2``; below it they are clipped within
    ``D = w - T`` of mu, so ``V <= D^(2-k)``.

    Paper: the noise is at most alpha/3 up to 0.1, and so is the sampling error, by Chebyshev
    (Lemma ``one-d-emp-mean-close``): ``b >= 90 V/alpha^2``. Tight: Chebyshev for both together,
    ``V/b + s (w/(strength b))^2 <= 0.15 (2 alpha/3)^2`` with s = 2 for Laplace and 1 for Gaussian
    noise.
    """
    margin = clip_radius(alpha, k, constants=constants)
    width = 2 * range_side(R, bucket_radius(alpha, k, constants=constants), margin)
    variance = float((width - margin) ** max(2 - k, 0.0))
    kind: Literal["laplace", "gaussian"] = "gaussian" if isinstance(budget, Zcdp) else "laplace"
    noise = Noise(kind, width / budget.strength)
    if constants == "paper":
        return max(90 / alpha**2 * variance, 3 * continuous_quantile(noise, 0.1) / alpha)
    allowed = _ESTIMATE_FAILURE * (_ESTIMATE_PART * alpha) ** 2
    root = math.sqrt(variance**2 + 4 * allowed * noise.variance)
    return (variance + root) / (2 * allowed)


def _in_blocks(
    alpha: float, beta: float, k: float, R: float, *, budget: Budget, constants: Constants
) -> tuple[int, int]:
    """Return the records for estimating, falling in alpha, and those for locating, rising."""
    radius = bucket_radius(alpha, k, constants=constants)
    records = block_records(alpha, k, R, budget=budget, constants=constants)
    pairs = 2 * median_of_means_blocks(beta, BLOCK_FAILURE[constants], constants)
    locating = range_records(
        alpha,
        k,
        R,
        radius=radius,
        budget=budget,
        constants=constants,
        failure=RANGE_FAILURE[constants],
    )
    return pairs * math.ceil(records), pairs * locating


class OneBlock(NamedTuple):
    """The records that find a range, those that are averaged, and the range's margin, in scales."""

    locating: int
    averaging: int
    margin: float

    @property
    def records(self) -> int:
        """All records."""
        return self.locating + self.averaging

    def locating_of(self, size: int) -> int:
        """Return how many of ``size`` records find the range; with too few, the same share."""
        return self.locating if size >= self.records else self.locating * size // self.records


@lru_cache(maxsize=4096)
def one_block(alpha: float, beta: float, k: float, R: float, budget: Budget) -> OneBlock:
    """Return the records with which one block is within alpha with probability 1 - beta.

    The range step fails with probability q beta. Then records are winsorized at least T from mu:
    with ``w`` the width of the range, V of ``block_records`` and ``M = w - T + bias``, a record is
    at most M away from its expectation. For every x with ``x M < 3`` (and ``x w < eps``) Chernoff's
    bound for the sum of sampling and noise asks for

        ``n = (ln(2/((1-q) beta)) + N(x)) / (x (alpha - bias) - x^2 V/(2 - 2 x M/3))``

    records, where ``N(x) = -ln(1 - (x w/eps)^2)`` for Laplace noise, ``x^2 w^2/(4 rho)`` for
    Gaussian. T, x and q are the best ones. docs/explanation/bounds.md has the proof.

    >>> from tametail.privacy.budget import pure
    >>> plan = one_block(0.1, 0.05, 2, 1000.0, pure(1.0))
    >>> plan.locating, plan.averaging, round(plan.margin, 2)
    (84, 3480, 9.52)
    """
    positive(alpha=alpha)
    probability(beta=beta)
    moment_order(k)
    if math.inf != R:
        positive(R=R)
    radius = bucket_radius(alpha, k)
    if 2 * radius >= R:  # nothing to locate
        return OneBlock(0, *_averaging(alpha, beta, k, R, budget))
    plans = []
    for part in _RANGE_PARTS:
        locating = range_records(
            alpha, k, R, radius=radius, budget=budget, constants="tight", failure=part * beta
        )
        averaging = _averaging(alpha, (1 - part) * beta, k, 2 * radius, budget)
        plans.append(OneBlock(locating, *averaging))
    return min(plans, key=lambda plan: plan.records)


@np.errstate(all="ignore")  # what overflows asks for too many records to be the best
def _averaging(
    alpha: float, beta: float, k: float, center: float, budget: Budget
) -> tuple[int, float]:
    """Return the records to be averaged if mu is within ``center`` of the middle, and the margin.

    Records and the ends of the range become whole ticks, which moves a mean by two ticks at most;
    a tick is at most a 256th of the noise's scale (``ClippingGrid.below_noise``).
    """
    bias = alpha * _BIAS_PARTS
    margin = (bias_constant(k) / bias) ** (1 / (k - 1))
    width = 2 * (center + margin) * _WHOLE_TICKS
    reach, left = width - margin + bias, alpha - bias
    variance = (width - margin) ** max(2 - k, 0.0)
    strength, largest = budget.strength, np.minimum(3 / reach, 2 * left / variance)
    if not isinstance(budget, Zcdp):
        largest = np.minimum(largest, strength / width)
    x = _EXPONENTS * largest
    scaled = x * width / strength
    noise = scaled**2 / 2 if isinstance(budget, Zcdp) else -np.log1p(-(scaled**2))
    gain = x * left - x**2 * variance / (2 - 2 * x * reach / 3)
    needed = math.log(2 / beta) + noise + scaled / 128
    records = np.divide(needed, gain, out=np.full_like(gain, np.inf), where=gain > 0)
    best = int(np.argmin(records)) // len(_EXPONENTS)
    least = max(float(records[best].min()), 4 / strength)
    return math.ceil(least), float(margin[best, 0])


def mean_sample_size(
    alpha: float,
    beta: float,
    k: float,
    R: float,
    *,
    scale: float = 1.0,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    constants: MeanConstants = "tight",
) -> int:
    """Return the records with which ``|estimate - mu| <= alpha`` has probability 1 - beta.

    Theorems ``one-d-pdp`` and ``one-d-adp-cdp``: ``2 m b``, both halves of the data in m blocks
    of b records, where m is :func:`median_of_means_blocks` and b is the larger of what the range
    step asks for (:func:`range_sample_size`) and what the mean of a block does (``block_records``:
    for large n epsilon ``15 V/alpha^2``, the paper's proof has ``90 V/alpha^2``). With
    ``constants="one-block"`` it is what ``one_block`` asks for, ten times less and better.

    Both steps use the full budget, since they read disjoint records.

    >>> mean_sample_size(0.1, 0.05, k=2, R=1000, epsilon=1.0)
    36498
    >>> mean_sample_size(0.1, 0.05, k=2, R=1000, epsilon=1.0, constants="one-block")
    3564
    """
    probability(beta=beta)
    positive(scale=scale)
    budget = parse_budget(epsilon=epsilon, delta=delta, rho=rho)
    return max(mean_records(alpha / scale, beta, k, R / scale, budget=budget, constants=constants))


def mean_records(
    alpha: float, beta: float, k: float, R: float, *, budget: Budget, constants: MeanConstants
) -> tuple[int, int]:
    """Return the records for estimating, falling in alpha, and those for locating, rising.

    One block has records for both, so all of them are for estimating.
    """
    if constants == "one-block":
        return one_block(alpha, beta, k, R, budget).records, 0
    return _in_blocks(alpha, beta, k, R, budget=budget, constants=constants)
