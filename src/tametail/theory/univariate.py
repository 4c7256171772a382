"""The one-dimensional theorems with every constant written out.

Lengths are in units of ``scale``. A block of b records succeeds with probability 0.7: the
range step, the sampling error and the noise fail with probability at most 0.1 each, and each of
bias, sampling and noise is at most alpha/3. The median of m blocks succeeds with probability
``1 - beta``. ``constants="paper"`` follows the paper's proofs, ``"tight"`` the corrected ones.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Literal

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

# Failure probability of the range step, half for the sample and half for the mechanism.
_HALF_FAILURE = 0.05
_LARGEST = 2**62


def clip_radius(
    alpha: float, k: float, *, scale: float = 1.0, constants: Constants = "tight"
) -> float:
    """Return r, the half-width of a bucket; records are winsorised to an interval of 6r.

    Paper: ``r = 10 / alpha^(1/(k-1))``, never below 10. Tight: the least r whose bias is
    alpha/3, ``(3 C_k / alpha)^(1/(k-1))``, but never so small that more than about a sixteenth
    of the records may lie further than r from the mean: ``r >= max(4, 10^(1/k))``.

    >>> clip_radius(0.1, k=2, constants="paper"), clip_radius(0.1, k=2)
    (100.0, 7.5)
    """
    positive(alpha=alpha, scale=scale)
    moment_order(k)
    known_constants(constants)
    if constants == "paper":
        return float(scale * 10 / min(alpha / scale, 1.0) ** (1 / (k - 1)))
    return scale * max(radius_for_bias(alpha / scale / 3, k), 4.0, 10 ** (1 / k))


def bucket_count(R: float, radius: float) -> int:
    """Return ``N = 2B + 2`` buckets of width 2r, ``B = ceil(R / 2r)``; 1 if ``R <= 2r``.

    The buckets ``j = -B-1..B`` with edges 2rj cover [-R - r, R + r]. If ``R <= 2r``, the interval
    [-3r, 3r] already leaves r on both sides of the mean, so there is nothing to locate.

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
    """Return the records with which the range step succeeds with probability 0.9.

    Theorems ``one-d-range-pdp`` and ``one-d-range-adp-cdp``. Success: the chosen bucket meets
    [mu - r, mu + r], so that both ends of the interval are at least r from mu.

    Tight. With probability 0.95 at most ``h = qb + L/3 + sqrt(L^2/9 + 2qbL)`` of b records are
    further than r from mu (Bernstein; ``q = r^-k``, ``L = ln 20``), and the others fill at most
    two buckets. The mechanism then errs with probability 0.05 if

    * pure, exponential mechanism: ``N - 3 + e^(eps h/2) <= 0.05 * 2 e^(eps (b-h)/4)``;
    * zCDP, Gaussian counts: ``(N - 3) e^(-rho g^2/4) + e^(-rho (g-h)^2/4) <= 0.05`` where
      ``g = (b-h)/2``;
    * approximate, stability: ``g >= max(t, h + l) + l`` with ``l = (2/eps) ln(20 (h+1))`` and t
      of ``stability_threshold``.

    The last two use tails that hold for continuous and for discrete noise alike.

    Paper. ``b >= 18 ln(40) / min(alpha, 1/16)``, so that at most a fraction alpha is outside,
    and no noisy count errs by more than ``b/16``.

    >>> range_sample_size(0.1, k=2, R=1000, epsilon=1.0)
    33
    >>> range_sample_size(0.1, k=2, R=1e300, epsilon=1.0)
    2834
    """
    budget = parse_budget(epsilon=epsilon, delta=delta, rho=rho)
    radius = clip_radius(alpha, k, scale=scale, constants=constants) / scale
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
            enough = records >= 18 * math.log(2 / _HALF_FAILURE) / min(alpha, 1 / 16)
            return enough and _histogram_error(records, buckets, budget) <= records / 16
        return _finds_mean(records, outside, buckets, budget)

    return bisect_left(range(1, _LARGEST), True, key=works) + 1


def _finds_mean(records: int, outside: float, buckets: int, budget: Budget) -> bool:
    """Say whether the mechanism picks a bucket near the mean, up to probability 0.05."""
    level = math.log(1 / _HALF_FAILURE)
    far = count_bound(outside * records, _HALF_FAILURE)
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
    if isinstance(budget, Zcdp):
        return math.sqrt(2 * (math.log(buckets) + math.log(2 / _HALF_FAILURE)) / budget.rho)
    if isinstance(budget, Approx):
        noise = 2 / budget.epsilon * math.log((records + 1) / _HALF_FAILURE)
        return stability_threshold(budget.epsilon, budget.delta) + noise
    return 2 / budget.strength * (math.log(buckets) - math.log(_HALF_FAILURE))


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
        return math.ceil(200 * math.log(2 / beta)) | 1
    if failure >= 0.5:
        raise ParameterError(f"Expected failure={failure!r} to be below 0.5, or no median helps.")
    if failure <= beta:
        return 1
    from scipy.special import bdtrc

    def works(half: int) -> bool:
        return bool(bdtrc(half, 2 * half + 1, failure) <= beta)

    # The tail at m = 2 half + 1 is at most (4 failure (1 - failure))^half: a public ceiling.
    ceiling = math.ceil(math.log(beta) / math.log(4 * failure * (1 - failure))) + 1
    return 2 * bisect_left(range(ceiling), True, key=works) + 1


def noise_records(alpha: float, radius: float, budget: Budget) -> float:
    """Return the b at which the noise on a block mean is at most alpha/3, up to 0.1.

    The width is 6r, so the noise is ``Lap(6r/(eps b))`` or ``N(0, (6r/b)^2/(2 rho))``.
    """
    kind: Literal["laplace", "gaussian"] = "gaussian" if isinstance(budget, Zcdp) else "laplace"
    quantile = continuous_quantile(Noise(kind, 1 / budget.strength), 0.1)
    return 18 * radius * quantile / alpha


def sampling_records(alpha: float, radius: float, k: float) -> float:
    """Return the b at which a block mean is within alpha/3 of its expectation, up to 0.1.

    Lemma ``one-d-emp-mean-close`` by Chebyshev: ``90 V/alpha^2``. ``V = 1`` for ``k >= 2``; below
    it the records are clipped within 5r of mu, so ``V <= (5r)^(2-k)``.
    """
    return float(90 / alpha**2 * (5 * radius) ** max(2 - k, 0.0))


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
    of b records, where m is :func:`median_of_means_blocks` and b the largest of

    * ``90/alpha^2`` for the sampling error,
    * ``18 r ln(10)/(eps alpha)``, or ``18 r z/(sqrt(2 rho) alpha)`` with ``z = 1.645``, for the
      noise,
    * :func:`range_sample_size` for the range step.

    Both steps use the full budget, since they read disjoint records.

    >>> mean_sample_size(0.1, 0.05, k=2, R=1000, epsilon=1.0)
    306000
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
    radius = clip_radius(alpha, k, constants=constants)
    records = max(sampling_records(alpha, radius, k), noise_records(alpha, radius, budget))
    pairs = 2 * median_of_means_blocks(beta, constants=constants)
    locating = _range_records(alpha, k, R, radius=radius, budget=budget, constants=constants)
    return pairs * math.ceil(records), pairs * locating
