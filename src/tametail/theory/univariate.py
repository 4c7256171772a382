"""The range step and the median of means of one column, with every constant written out.

Lengths are in units of ``scale``. ``constants="paper"`` follows the paper's proofs, which are for
``k >= 2``; ``"tight"`` has the corrected ones. ``theory.means`` puts the steps together.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from tametail._shown import shown
from tametail.errors import ParameterError
from tametail.inequalities.checks import positive, probability
from tametail.inequalities.concentration import count_bound
from tametail.privacy.budget import Approx, Budget, Noise, Zcdp, parse_budget
from tametail.theory._constants import Constants, known_constants
from tametail.theory.moments import radius_for_bias

# Failure probability of the range step: half for the sample, half for the mechanism.
RANGE_FAILURE: dict[Constants, float] = {"paper": 0.1, "tight": 0.05}
_LARGEST = 2**62


def clip_radius(
    alpha: float, k: float, *, scale: float = 1.0, constants: Constants = "tight"
) -> float:
    """Return how far the mean is from both ends of the range that records are winsorized to.

    Paper: ``r = 10 / alpha^(1/(k-1))``, never below 10. Tight: the least T whose bias is alpha/3,
    ``T = (3 C_k / alpha)^(1/(k-1))``.

    >>> clip_radius(0.1, k=2, constants="paper"), clip_radius(0.1, k=2)
    (100.0, 7.5)
    """
    positive(alpha=alpha, scale=scale)
    known_constants(constants, k)
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
    known_constants(constants, k)
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
    return range_records(
        alpha / scale,
        k,
        R / scale,
        radius=radius,
        budget=budget,
        constants=constants,
        failure=RANGE_FAILURE[constants],
    )


def range_records(
    alpha: float,
    k: float,
    R: float,
    *,
    radius: float,
    budget: Budget,
    constants: Constants,
    failure: float,
) -> int:
    """Return the records with which the range step fails with probability ``failure`` at most."""
    unbounded = math.isinf(R) and R > 0
    if unbounded and not isinstance(budget, Approx):
        raise ParameterError("R=inf needs delta=...: pure DP and zCDP must know a finite R.")
    # The stability histogram does not care how many buckets are empty.
    buckets = 3 if unbounded else bucket_count(R, radius)
    if buckets == 1:
        return 0
    outside, half = radius**-k, failure / 2

    def works(records: int) -> bool:
        if constants == "paper":
            enough = records >= 18 * math.log(2 / half) / min(alpha, 1 / 16)
            return enough and _histogram_error(records, buckets, budget, half) <= records / 16
        return _finds_mean(records, outside, buckets, budget, half)

    return bisect_left(range(1, _LARGEST), True, key=works) + 1


def _finds_mean(records: int, outside: float, buckets: int, budget: Budget, failure: float) -> bool:
    """Say whether the mechanism picks a bucket near the mean, with the tight constants.

    ``failure`` is the probability for which the sample may be to blame, and as much the mechanism.
    """
    level = math.log(1 / failure)
    far = count_bound(outside * records, failure)
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


def _histogram_error(records: int, buckets: int, budget: Budget, failure: float) -> float:
    """Return the largest error of a noisy count, up to this probability (Lemma priv-hist)."""
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
