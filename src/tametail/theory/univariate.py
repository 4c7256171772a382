"""The one-dimensional theorems with every constant written out.

Lengths are in units of ``scale``. ``constants="paper"`` follows the paper's proofs: a block of b
records succeeds with probability 0.7, as the range step, the sampling error and the noise fail with
probability at most 0.1 each, and each of bias, sampling and noise is at most alpha/3. ``"tight"``
has the corrected ones: a block succeeds with probability 0.8, as the range step fails with 0.05 and
sampling and noise, bounded together by 2 alpha/3, with 0.15. The median of m blocks succeeds with
probability ``1 - beta``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Literal

from tametail._shown import shown
from tametail.errors import ParameterError
from tametail.inequalities.concentration import count_bound
from tametail.inequalities.quantiles import continuous_quantile
from tametail.privacy.budget import Approx, Budget, Noise, Zcdp, parse_budget
from tametail.theory._checks import (
    Constants,
    known_constants,
    moment_order,
    positive,
    probability,
)
from tametail.theory.moments import radius_for_bias

# Failure probability of the range step: so much for the sample, and as much for the mechanism.
_HALF_FAILURE: dict[Constants, float] = {"paper": 0.05, "tight": 0.025}
# Failure probability of a block: the fewest records in all are needed near 0.2.
BLOCK_FAILURE: dict[Constants, float] = {"paper": 0.3, "tight": 0.2}
# Failure probability of sampling and noise together, and the part of alpha that they may have.
_ESTIMATE_FAILURE, _ESTIMATE_PART = 0.15, 2 / 3
_LARGEST = 2**62


def clip_radius(
    alpha: float, k: float, *, scale: float = 1.0, constants: Constants = "tight"
) -> float:
    """Return how far the mean is from both ends of the range that records are winsorised to.

    Paper: ``r = 10 / alpha^(1/(k-1))``, never below 10. Tight: the least T whose bias is alpha/3,
    ``T = (3 C_k / alpha)^(1/(k-1))``.

    >>> clip_radius(0.1, k=2, constants="paper"), clip_radius(0.1, k=2)
    (100.0, 7.5)
    """
    positive(alpha=alpha, scale=scale)
    moment_order(k)
    known_constants(constants)
    if constants == "paper":
        return float(scale * 10 / min(alpha / scale, 1.0) ** (1 / (k - 1)))
    return scale * radius_for_bias(alpha / scale / 3, k)


def bucket_radius(
    alpha: float, k: float, *, scale: float = 1.0, constants: Constants = "tight"
) -> float:
    """Return the half-width of a bucket of the range step.

    Paper: :func:`clip_radius`. Tight: ``16^(1/k)``, so that by Markov's inequality at most a
    sixteenth of the records is further than that from the mean; alpha plays no part.

    >>> bucket_radius(0.1, k=2), bucket_radius(0.1, k=4), bucket_radius(0.1, k=2, constants="paper")
    (4.0, 2.0, 100.0)
    """
    if constants == "paper":
        return clip_radius(alpha, k, scale=scale, constants=constants)
    positive(alpha=alpha, scale=scale)
    moment_order(k)
    known_constants(constants)
    return float(scale * 16 ** (1 / k))


def range_side(R: float, bucket: float, margin: float) -> float:
    """Return half the width of the range: ``2 bucket + margin``, or R + margin if that is less.

    The chosen bucket meets ``[mu - bucket, mu + bucket]``, so mu is within ``2 bucket`` of its
    middle. If ``R <= 2 bucket`` nothing is chosen, and mu is within R of 0.

    >>> range_side(1000.0, 4.0, 7.5), range_side(1.0, 4.0, 7.5)
    (15.5, 8.5)
    """
    return min(R, 2 * bucket) + margin


def bucket_count(R: float, radius: float) -> int:
    """Return ``N = 2B + 2`` buckets of width 2r, ``B = ceil(R / 2r)``; 1 if ``R <= 2r``.

    The buckets ``j = -B-1..B`` with edges 2rj cover [-R - r, R + r]. If ``R <= 2r``, there is
    nothing to locate (``range_side``).

    >>> bucket_count(1000, 5.0), bucket_count(10, 5.0)
    (202, 1)
    """
    positive(R=R, radius=radius)
    return 1 if 2 * radius >= R else 2 * math.ceil(R / (2 * radius)) + 2


def stability_threshold(epsilon: float, delta: float) -> float:
    """Return the least noisy count that the (epsilon, delta) histogram shows.

    ``t = 1 + m``, m the least with ``P(Z >= m) <= delta``, Z discrete Laplace of scale 2/epsilon.

    >>> stability_threshold(1.0, 1e-6)
    28.0
    """
    both_sides = min(2 * delta, math.nextafter(1.0, 0.0))
    return 2 + Noise("laplace", 2 / epsilon).quantile(both_sides)


def range_sample_size(
    alpha: float,
    k: float,
    R: float,
    *,
    scale: float = 1.0,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    constants: Constants = "tight",
) -> int:
    """Return the records with which the range step succeeds: probability 0.95, or 0.9 for "paper".

    Theorems ``one-d-range-pdp`` and ``one-d-range-adp-cdp``. Success: the chosen bucket meets
    [mu - r, mu + r], r its half-width, so that both ends of the interval are at least
    :func:`clip_radius` from mu.

    Tight. With probability 0.975 at most ``h = qb + L/3 + sqrt(L^2/9 + 2qbL)`` of b records are
    further than r from mu (Bernstein; ``q = r^-k = 1/16``, ``L = ln 40``), and the others fill at
    most two buckets. The mechanism then errs with probability 0.025 if

    * pure, exponential mechanism: ``N - 3 + e^(eps h/2) <= 0.025 * 2 e^(eps (b-h)/4)``;
    * zCDP, Gaussian counts: ``(N - 3) e^(-rho g^2/4) + e^(-rho (g-h)^2/4) <= 0.025`` where
      ``g = (b-h)/2``;
    * approximate, stability: ``g >= max(t, h + l) + l`` with ``l = (2/eps) ln(40 (h+1))`` and t
      of ``stability_threshold``.

    The last two use tails that hold for continuous and for discrete noise alike.

    Paper. ``b >= 18 ln(40) / min(alpha, 1/16)``, so that at most a fraction alpha is outside,
    and no noisy count errs by more than ``b/16``.

    >>> range_sample_size(0.1, k=2, R=1000, epsilon=1.0)
    44
    >>> range_sample_size(0.1, k=2, R=1e300, epsilon=1.0)
    2996
    """
    budget = parse_budget(epsilon=epsilon, delta=delta, rho=rho)
    radius = bucket_radius(alpha, k, scale=scale, constants=constants) / scale
    return _range_records(
        alpha / scale, k, R / scale, radius=radius, budget=budget, constants=constants
    )


def _range_records(
    alpha: float, k: float, R: float, *, radius: float, budget: Budget, constants: Constants
) -> int:
    unbounded = math.isinf(R) and R > 0
    if unbounded and not isinstance(budget, Approx):
        raise ParameterError("R=inf needs delta=...: pure DP and zCDP must know a finite R.")
    # The stability histogram does not care how many buckets are empty.
    buckets = 3 if unbounded else bucket_count(R, radius)
    if buckets == 1:
        return 0
    outside = radius**-k

    def works(records: int) -> bool:
        if constants == "paper":
            enough = records >= 18 * math.log(2 / _HALF_FAILURE["paper"]) / min(alpha, 1 / 16)
            return enough and _histogram_error(records, buckets, budget) <= records / 16
        return _finds_mean(records, outside, buckets, budget)

    return bisect_left(range(1, _LARGEST), True, key=works) + 1


def _finds_mean(records: int, outside: float, buckets: int, budget: Budget) -> bool:
    """Say whether the mechanism picks a bucket near the mean, with the tight constants."""
    level = math.log(1 / _HALF_FAILURE["tight"])
    far = count_bound(outside * records, _HALF_FAILURE["tight"])
    best = (records - far) / 2
    if best <= far:
        return False
    if isinstance(budget, Zcdp):
        empty = math.log(buckets - 3) - budget.rho * best**2 / 4 if buckets > 3 else -math.inf
        full = -budget.rho * (best - far) ** 2 / 4
        return _log_add(empty, full) <= -level
    epsilon = budget.strength
    if isinstance(budget, Approx):
        noise = 2 / epsilon * (level + math.log(far + 1))
        return best >= max(stability_threshold(epsilon, budget.delta), far + noise) + noise
    bad = _log_add(math.log(buckets - 3), epsilon * far / 2)
    return bad <= math.log(2) + epsilon * best / 2 - level


def _histogram_error(records: int, buckets: int, budget: Budget) -> float:
    """Return the largest error of a noisy count, up to probability 0.05 (Lemma priv-hist)."""
    failure = _HALF_FAILURE["paper"]
    if isinstance(budget, Zcdp):
        return math.sqrt(2 * (math.log(buckets) + math.log(2 / failure)) / budget.rho)
    if isinstance(budget, Approx):
        noise = 2 / budget.epsilon * math.log((records + 1) / failure)
        return stability_threshold(budget.epsilon, budget.delta) + noise
    return 2 / budget.strength * (math.log(buckets) - math.log(failure))


def _log_add(first: float, second: float) -> float:
    high, low = max(first, second), min(first, second)
    return high + math.log1p(math.exp(low - high))


def median_of_means_blocks(
    beta: float, failure: float = 0.3, constants: Constants = "tight"
) -> int:
    """Return the odd number of blocks whose median fails with probability at most beta.

    Lemma ``moms``. Tight: the least odd m with ``P(Bin(m, failure) >= (m+1)/2) <= beta``. Paper:
    ``200 ln(2/beta)``, rounded up to an odd number, so that the median is one of the means.

    >>> median_of_means_blocks(0.05), median_of_means_blocks(0.01)
    (17, 31)
    >>> median_of_means_blocks(0.05, constants="paper")
    739
    """
    probability(beta=beta, failure=failure)
    known_constants(constants)
    if constants == "paper":
        return math.ceil(200 * (math.log(2) - math.log(beta))) | 1
    if failure >= 0.5:
        raise ParameterError(
            f"Expected failure={shown(failure)} to be below 0.5, or no median helps."
        )
    if failure <= beta:
        return 1
    from scipy.special import bdtrc

    def works(half: int) -> bool:
        return bool(bdtrc(half, 2 * half + 1, failure) <= beta)

    # The tail at m = 2 half + 1 is at most (4 failure (1 - failure))^half: a public ceiling.
    ceiling = math.ceil(math.log(beta) / math.log(4 * failure * (1 - failure))) + 1
    return 2 * bisect_left(range(ceiling), True, key=works) + 1


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
    constants: Constants = "tight",
) -> int:
    """Return the records with which ``|estimate - mu| <= alpha`` has probability 1 - beta.

    Theorems ``one-d-pdp`` and ``one-d-adp-cdp``: ``2 m b``, both halves of the data in m blocks
    of b records, where m is :func:`median_of_means_blocks` and b is the larger of what the range
    step asks for (:func:`range_sample_size`) and what the mean of a block does (``block_records``:
    for large n epsilon ``15 V/alpha^2``, the paper's proof has ``90 V/alpha^2``).

    Both steps use the full budget, since they read disjoint records.

    >>> mean_sample_size(0.1, 0.05, k=2, R=1000, epsilon=1.0)
    36498
    """
    probability(beta=beta)
    positive(scale=scale)
    budget = parse_budget(epsilon=epsilon, delta=delta, rho=rho)
    estimating, locating = mean_records(
        alpha / scale, beta, k, R / scale, budget=budget, constants=constants
    )
    return max(estimating, locating)


def mean_records(
    alpha: float, beta: float, k: float, R: float, *, budget: Budget, constants: Constants
) -> tuple[int, int]:
    """Return the records for estimating, falling in alpha, and those for locating, rising."""
    radius = bucket_radius(alpha, k, constants=constants)
    records = block_records(alpha, k, R, budget=budget, constants=constants)
    pairs = 2 * median_of_means_blocks(beta, BLOCK_FAILURE[constants], constants)
    locating = _range_records(alpha, k, R, radius=radius, budget=budget, constants=constants)
    return pairs * math.ceil(records), pairs * locating
