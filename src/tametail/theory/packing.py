"""Lower bounds on the number of records: locating a mean, one dimension, many dimensions."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

import numpy as np

from tametail.inequalities.binomials import Floats, expect_binomial
from tametail.inequalities.checks import as_replace_one, moment_order, positive, probability, whole
from tametail.inequalities.confusion import mistakes
from tametail.inequalities.moments import two_point_atom
from tametail.privacy.budget import Approx, Pure, Zcdp, parse_budget

#: Masses that are tried, over the best one without fluctuations; each gives a valid bound.
_MASSES = np.geomspace(0.5, 2.0, 9)


def location_lower_bound(
    R: float,
    alpha: float,
    beta: float,
    epsilon: float | None = None,
    *,
    delta: float | None = None,
    rho: float | None = None,
    neighbors: str = "replace-one",
) -> int:
    """Return a number of records below which no mean in [-R, R] can be found within alpha.

    [-R, R] holds ``N = floor(R/alpha)`` disjoint intervals of length 2 alpha; let all n records
    equal the middle of one. The output is in the right interval with probability 1 - beta.

    * Pure: it is in each of the other N - 1 with probability at least ``e^(-n eps)(1 - beta)``, and
      all of these add up to at most beta: ``n >= ln((N-1)(1-beta)/beta)/eps``.
    * Approximate: the same with ``e^(-n eps)(1 - beta - delta_n)``, ``delta_n = delta (e^(n eps) -
      1)/(e^eps - 1)``; more than about ``ln(1/delta)/eps`` records it never asks for.
    * zCDP: if the interval is drawn at random, the output has at most ``rho n^2`` nats about it,
      and by Fano's inequality it needs ``kl(1 - beta, 1/N)``, the divergence of two coins.

    >>> location_lower_bound(1e6, 0.1, 0.05, 1.0), location_lower_bound(1e6, 0.1, 0.05, rho=0.5)
    (20, 6)
    >>> location_lower_bound(1e6, 0.1, 0.05, 1.0, delta=1e-6)
    15
    """
    positive(R=R, alpha=alpha)
    probability(beta=beta)
    budget = as_replace_one(parse_budget(epsilon=epsilon, delta=delta, rho=rho), neighbors)
    others = math.floor(R / alpha) - 1
    if others < 1 or beta >= others / (others + 1):  # guessing is good enough
        return 0
    if isinstance(budget, Zcdp):
        return math.ceil(math.sqrt(_two_coins(1 - beta, 1 / (others + 1)) / budget.rho))
    nats = math.log(others) + math.log1p(-beta) - math.log(beta)
    most = max(0, math.ceil(nats / budget.strength))
    if isinstance(budget, Approx):
        return _least_located(budget, others, beta, most)
    return most


def _two_coins(p: float, q: float) -> float:
    """Return the divergence of a coin of chance p from one of chance q."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def _least_located(budget: Approx, others: int, beta: float, most: int) -> int:
    """Return the least n with ``(N - 1) e^(-n eps)(1 - beta - delta_n) <= beta``; it falls in n."""
    growth = budget.delta / math.expm1(min(budget.epsilon, 700.0))

    def possible(n: int) -> bool:
        kept = math.exp(-budget.epsilon * n)
        return others * (kept * (1 - beta + growth) - growth) <= beta

    return bisect_left(range(most), True, key=possible)


def accuracy_lower_bound(
    alpha: float,
    beta: float,
    *,
    k: float,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    neighbors: str = "replace-one",
    scale: float = 1.0,
) -> int:
    """Return a number of records below which no error is under alpha with probability 1 - beta.

    For a mean within ``scale`` of 0 and a k-th central moment of at most ``scale^k``. Take D+ and
    D- with means +-alpha: mass p on +-tau with moment exactly 1, ``p tau = alpha``. An estimate
    with an error under alpha tells them apart, with probability ``1 - beta`` for either. Given
    which records are not 0, the two data sets differ in H ~ Bin(n, p) records, so beta is at least
    the average of ``inequalities.confusion.mistakes`` over H: the least such n is returned. It is
    of the order ``ln(1/beta)/(eps alpha^(k/(k-1)))``, as Theorem ``one-d-pdp`` has it; a delta
    caps the logarithm at about ``ln(1/delta)``. docs/explanation/bounds.md has the proof.

    >>> accuracy_lower_bound(0.1, 0.05, k=2, epsilon=1.0)
    575
    >>> accuracy_lower_bound(0.1, 0.05, k=2, epsilon=1.0, delta=0.01)
    551
    >>> accuracy_lower_bound(0.1, 0.05, k=2, rho=0.5)
    380
    """
    from scipy.optimize import brentq

    positive(alpha=alpha, scale=scale)
    probability(beta=beta)
    moment_order(k)
    budget = as_replace_one(parse_budget(epsilon=epsilon, delta=delta, rho=rho), neighbors)
    target = alpha / scale
    if target >= 1 or beta >= 0.5:
        return 0

    def excess(log_p: float) -> float:
        p = math.exp(log_p)
        return p * two_point_atom(p, k) - target

    # p tau rises from 0 to 1 at p = 1/2; a little more than p is on the safe side.
    p = math.exp(float(brentq(excess, -700.0, math.log(0.5)))) * (1 + 1e-9)

    def possible(n: int) -> bool:
        wrong = expect_binomial(lambda differing: mistakes(budget, differing), n, p, math.inf)
        return wrong <= beta

    return _least(possible)


def _least(possible: Callable[[int], bool]) -> int:
    """Return the least n >= 1 that is possible, if all larger ones are."""
    most = 1
    while not possible(most):
        most *= 2
    return bisect_left(range(most // 2 + 1, most), True, key=possible) + most // 2 + 1


def packing_lower_bound(
    d: int,
    alpha: float,
    k: float,
    epsilon: float,
    beta: float,
    *,
    scale: float = 1.0,
    neighbors: str = "replace-one",
) -> int:
    """Return the least n at which pure DP can be within alpha in d dimensions.

    Theorem ``high-d-lb``, for every k >= 2 and with constants. For c in the ball of radius
    ``s = p^(1-1/k)`` let X be c/p with probability p and 0 otherwise: mean c, and k-th moments at
    most 1. If c is drawn uniformly, the output is within alpha of it with probability at most
    ``E min(1, e^(eps H) (alpha/s)^d)``, H ~ Bin(n, p), which must reach ``1 - beta``: of the order
    ``n >= (1 - 1/k) d/(e eps alpha^(k/(k-1)))``. No packing is needed, as the paper has it, so no
    factor of 2 is lost in alpha. docs/explanation/bounds.md has the proof.

    >>> packing_lower_bound(32, 0.05, k=2, epsilon=1.0, beta=0.1)
    3090
    """
    whole(d=d)
    positive(alpha=alpha, scale=scale)
    probability(beta=beta)
    moment_order(k, at_least=2)
    target = alpha / scale
    strength = as_replace_one(Pure(epsilon), neighbors).strength
    if target >= 1:
        return 0
    best = math.e * target ** (k / (k - 1))
    masses = {min(float(factor * best), 1.0) for factor in _MASSES}
    return max(_found_records(p, d, target, k, strength, beta) for p in masses)


def _found_records(p: float, d: int, alpha: float, k: float, epsilon: float, beta: float) -> int:
    """Return the least n with ``E min(1, e^(eps H) (alpha/p^(1-1/k))^d) >= 1 - beta``."""
    log_guess = d * (math.log(alpha) - (1 - 1 / k) * math.log(p))
    if log_guess >= math.log1p(-beta):
        return 0
    if p == 1.0:  # every record differs
        return math.ceil((math.log1p(-beta) - log_guess) / epsilon)

    def found(differing: Floats) -> Floats:
        return np.exp(np.minimum(epsilon * differing + log_guess, 0.0))

    return _least(lambda n: expect_binomial(found, n, p, math.inf) >= 1 - beta)
