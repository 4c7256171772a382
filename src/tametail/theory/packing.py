"""Lower bounds on the number of records: locating a mean, one dimension, many dimensions."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from tametail.errors import ParameterError
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, parse_budget
from tametail.theory._checks import as_replace_one, moment_order, positive, probability, whole
from tametail.theory.moments import two_point_atom


def location_lower_bound(
    R: float,
    alpha: float,
    beta: float,
    epsilon: float | None = None,
    *,
    delta: float | None = None,
    rho: float | None = None,
    unit: str = "replace-one",
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
    budget = as_replace_one(parse_budget(epsilon=epsilon, delta=delta, rho=rho), unit)
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
    rho: float | None = None,
    unit: str = "replace-one",
    scale: float = 1.0,
) -> int:
    """Return a number of records below which no error is under alpha with probability 1 - beta.

    For a mean within ``scale`` of 0 and a k-th central moment of at most ``scale^k``. Take D+ and
    D- with means +-alpha: mass p on +-tau with moment exactly 1, ``p tau = alpha``. An estimate
    with an error under alpha tells them apart, with probability ``1 - beta`` for either.

    * Pure: by ``shift_cost``, ``n p c >= ln((1 - beta)/beta)``: of the order ``ln(1/beta)/(eps
      alpha^(k/(k-1)))``, as Theorem ``one-d-pdp`` has it.
    * zCDP: the divergence of the two outputs is at most ``rho E H^2``, H ~ Bin(n, p), as it is
      jointly convex, that is ``rho (n p (1-p) + n^2 p^2)``, and at least ``kl(1 - beta, beta) =
      (1 - 2 beta) ln((1 - beta)/beta)``.

    >>> accuracy_lower_bound(0.1, 0.05, k=2, epsilon=1.0)
    283
    >>> accuracy_lower_bound(0.1, 0.05, k=2, rho=0.5)
    188
    """
    from scipy.optimize import brentq

    positive(alpha=alpha, scale=scale)
    probability(beta=beta)
    moment_order(k)
    budget = as_replace_one(parse_budget(epsilon=epsilon, rho=rho), unit)
    target = alpha / scale
    if target >= 1 or beta >= 0.5:
        return 0

    def excess(log_p: float) -> float:
        p = math.exp(log_p)
        return p * two_point_atom(p, k) - target

    # p tau rises from 0 to 1 at p = 1/2; a little more than p is on the safe side.
    p = math.exp(float(brentq(excess, -700.0, math.log(0.5)))) * (1 + 1e-9)
    return math.ceil(_two_point_records(p, beta, budget))


def _two_point_records(p: float, beta: float, budget: Budget) -> float:
    odds = math.log1p(-beta) - math.log(beta)
    if isinstance(budget, Pure):
        return odds / (p * shift_cost(budget.epsilon, beta))
    if not isinstance(budget, Zcdp):
        raise ParameterError("This bound is for epsilon=... alone or rho=....")
    needed = (1 - 2 * beta) * odds / budget.rho
    return (math.sqrt((1 - p) ** 2 + 4 * needed) - (1 - p)) / (2 * p)


def packing_lower_bound(
    d: int,
    alpha: float,
    k: float,
    epsilon: float,
    beta: float,
    *,
    scale: float = 1.0,
    unit: str = "replace-one",
) -> int:
    """Return the least n at which pure DP can be within alpha in d dimensions.

    ``n >= ((1 - 1/k) d + ln(1 - beta)) / (p c)`` while ``p = e (2 alpha)^(k/(k-1)) <= 1``, where c
    is the smaller of ``e^eps - 1`` and ``eps/(1 - beta)``; otherwise 0, as it says nothing.
    Theorem ``high-d-lb``, for every k >= 2 and with constants. Proof. For c in the ball of radius
    ``p^(1-1/k)`` let X be c/p with probability p and 0 otherwise: mean c, and k-th moments at most
    1. The ball holds ``(p^(1-1/k)/(2 alpha))^d = e^((1-1/k) d)`` points at mutual distance 2 alpha.
    The data for c differ from all zeros in H ~ Bin(n, p) records, so the output on zeros is within
    alpha of c with probability at least ``(1 - beta) e^(-n p c)`` (``shift_cost``); these disjoint
    events add up to at most 1.

    >>> packing_lower_bound(32, 0.05, k=2, epsilon=1.0, beta=0.1)
    527
    """
    whole(d=d)
    positive(alpha=alpha, scale=scale)
    probability(beta=beta)
    moment_order(k, at_least=2)
    mass = float(math.e * (2 * alpha / scale) ** (k / (k - 1)))
    nats = (1 - 1 / k) * d + math.log1p(-beta)
    if mass > 1 or nats <= 0:
        return 0
    strength = as_replace_one(Pure(epsilon), unit).strength
    return math.ceil(nats / (mass * shift_cost(strength, beta)))


def packing_rmse(n: int, k: float, epsilon: float, d: int) -> float:
    """Return the largest ``sqrt(beta) alpha`` at which n is below :func:`packing_lower_bound`.

    An error of less than that in root mean square would be below alpha with probability 1 - beta.
    """
    best = 0.0
    for beta in np.linspace(0.01, 0.99, 99).tolist():
        nats = max((1 - 1 / k) * d + math.log1p(-beta), 0.0)
        mass = min(nats / (n * shift_cost(epsilon, beta)), 1.0)
        best = max(best, math.sqrt(beta) * (mass / math.e) ** (1 - 1 / k) / 2)
    return best


def shift_cost(epsilon: float, beta: float) -> float:
    """Return ``min(e^eps - 1, eps/(1 - beta))``: what a changed record of n p is worth in nats.

    Let data D differ from D0 in H ~ Bin(n, p) records, and let an event A have a probability of at
    least 1 - beta on average over D. Then ``P0(A) >= (1 - beta) e^(-n p c)`` for both c. Proof. For
    each D, ``P0(A) >= e^(-eps H) P_D(A)``. Hence ``1 - beta <= P0(A) E e^(eps H)``, where
    ``E e^(eps H) <= e^(n p (e^eps - 1))``. Or, with ``m = E P_D(A)``, average: ``P0(A) >= m E'
    e^(-eps H)`` under the law that weighs D by ``P_D(A)/m``, by Jensen at least ``m e^(-eps E'
    H)``, and ``E' H <= n p/m``; this rises in m.

    >>> round(shift_cost(1.0, 0.1), 3), round(shift_cost(0.1, 0.1), 3)
    (1.111, 0.105)
    """
    return min(math.expm1(min(epsilon, 700.0)), epsilon / (1 - beta))
