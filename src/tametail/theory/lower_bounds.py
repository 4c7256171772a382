"""What no private algorithm can beat, with explicit constants.

The two-point family
    D+ and D- put mass p on +tau and -tau, and the rest on 0, with k-th central moment exactly 1;
    their means are +s and -s, ``s = p tau``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, parse_budget
from tametail.theory._checks import as_replace_one, moment_order, positive, probability, whole
from tametail.theory.moments import normal_moment, one_hot_atom, two_point_atom

Floats = NDArray[np.float64]

# 1 - g is below 1e-17 once epsilon H, or rho H^2, exceeds this.
_NEGLIGIBLE = 42.0
_GRID = 96


def lower_bound(
    n: int,
    *,
    k: float,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    unit: str = "replace-one",
    scale: float = 1.0,
    d: int = 1,
) -> float:
    """Return a root mean squared error that every private algorithm reaches for some law.

    The laws have ``E|<X - mu, v>|^k <= scale^k`` for unit v, and means of norm at most
    ``scale``. Theorem ``one-d-pdp-lb`` with explicit constants: the largest over
    ``p <= 1/2`` of ``s sqrt(1 - E g(H))`` with H ~ Bin(n, p) and

    * pure: ``g = tanh^2(eps H/2)``;
    * approximate: ``g = delta_H + (1 - delta_H) tanh^2(eps H/2)``, where
      ``delta_H = min(1, delta (e^(H eps) - 1)/(e^eps - 1))``;
    * zCDP: ``g = 1 - e^(-rho H^2)``.

    Proof. Draw a sign S = +-1 and records ``X_i = tau S B_i`` with B_i ~ Bernoulli(p). The mean is
    sS, so the squared error averages at least ``s^2 (1 - E E[S|M]^2)`` given the output M, and
    ``E E[S|M]^2 = (1/2) int (f - h)^2/(f + h)`` for the densities f, h of M given S. This
    divergence is jointly convex, hence at most its average over B; given B, the two data sets
    differ in ``H = sum B_i`` records. There ``|f - h|/(f + h) <= tanh(eps H/2)`` pointwise
    (pure; with group privacy's delta_H, outside an event of that probability). Under zCDP write
    ``1 - g = 2 int f h/(f + h)``; by Cauchy-Schwarz this is at least ``(int sqrt(f h))^2``, by
    Jensen at least ``e^(-KL(f, h))``, and KL is at most ``rho H^2``. The worst of S is no better
    than the average.

    Under ``unit="add-remove"`` a replaced record is two steps: epsilon doubles, rho is multiplied
    by 4 and delta by ``1 + e^eps``. With neither epsilon nor rho it is the floor without
    privacy: a normal mean that may be anywhere cannot be known better than ``sigma/sqrt(n)``,
    and g is 1 for H > 0. The private bound does not contain this floor; both hold.

    In d dimensions a record falls on coordinate j with probability p, on at most one, with sign
    S_j: ``sqrt(d)`` times the bound, with ``tau = 1/(p^(1/k) + p sqrt(d))``, ``k >= 2``. For pure
    DP the packing of :func:`packing_lower_bound` joins in, by Markov's inequality.

    >>> [f"{lower_bound(n, k=k, epsilon=e):.3g}" for n, e, k in ((1000, 1, 2), (10_000, 1, 4))]
    ['0.0318', '0.00128']
    """
    whole(n=n, d=d)
    positive(scale=scale)
    moment_order(k, at_least=1 if d == 1 else 2)
    budget = _budget(epsilon, delta, rho, unit)
    _, best = _hardest(n, k, budget, d)
    if budget is None:
        best = max(best, math.sqrt(d / n) * normal_moment(k) ** (-1 / k))
    elif d > 1 and isinstance(budget, Pure):
        best = max(best, _packing_rmse(n, k, budget.epsilon, d))
    return scale * best


def hardest_mass(
    n: int,
    *,
    k: float,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    unit: str = "replace-one",
    d: int = 1,
) -> float:
    """Return the mass p, of each coordinate, at which the family gives :func:`lower_bound`.

    >>> round(hardest_mass(10_000, k=2, epsilon=1.0) * 10_000, 1)
    2.2
    """
    whole(n=n, d=d)
    moment_order(k, at_least=1 if d == 1 else 2)
    return _hardest(n, k, _budget(epsilon, delta, rho, unit), d)[0]


def _budget(
    epsilon: float | None, delta: float | None, rho: float | None, unit: str
) -> Budget | None:
    if epsilon is None and delta is None and rho is None:
        return None
    return as_replace_one(parse_budget(epsilon=epsilon, delta=delta, rho=rho), unit)


def _hardest(n: int, k: float, budget: Budget | None, d: int) -> tuple[float, float]:
    """Return the best p and its bound; every p gives a valid bound, so the search is safe."""
    from scipy.optimize import minimize_scalar

    confusion, reach = _confusion(budget)

    def bound(log_p: float) -> float:
        p = math.exp(log_p)
        tau = two_point_atom(p, k) if d == 1 else one_hot_atom(p, k, d)
        return p * tau * math.sqrt(d * _expect_binomial(confusion, n, p, reach))

    # Beyond 1/2 the means leave [-1, 1]: that is the location problem, with a bound of its own.
    grid = np.linspace(math.log(1e-3 / n), math.log(0.5 / d), _GRID)
    values = [bound(float(point)) for point in grid]
    best = int(np.argmax(values))
    bracket = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _GRID - 1)]))
    found = minimize_scalar(lambda x: -bound(x), bounds=bracket, method="bounded")
    if -found.fun > values[best]:
        return math.exp(float(found.x)), float(-found.fun)
    return math.exp(float(grid[best])), values[best]


def _confusion(budget: Budget | None) -> tuple[Callable[[Floats], Floats], float]:
    """Return ``1 - g`` as a function of H, and the H beyond which it is negligible."""
    if budget is None:
        return lambda differing: (differing == 0).astype(np.float64), 0.0
    if isinstance(budget, Zcdp):
        rho = budget.rho

        return lambda differing: np.exp(-rho * differing**2), math.sqrt(_NEGLIGIBLE / rho)
    epsilon, delta = budget.strength, budget.delta if isinstance(budget, Approx) else 0.0

    def approximate(differing: Floats) -> Floats:
        decay = np.exp(-epsilon * differing)
        # (e^(H eps) - 1)/(e^eps - 1), written so that neither exponential overflows.
        steps = np.exp(epsilon * (differing - 1)) * (1 - decay) / -math.expm1(-epsilon)
        hidden = 1 - np.minimum(1.0, delta * steps)
        return np.asarray(hidden * 4 * decay / (1 + decay) ** 2)  # 1 - tanh^2 = 1/cosh^2

    return approximate, _NEGLIGIBLE / epsilon


def _expect_binomial(function: Callable[[Floats], Floats], n: int, p: float, reach: float) -> float:
    """Return ``E f(H)``, H ~ Bin(n, p), for f >= 0 that is negligible beyond ``reach``.

    The mass is built from the ratios ``(n-h)p/((h+1)(1-p))`` over 12 standard deviations and
    scaled to total 1: what lies outside is below 1e-25, and no factorial of n appears.
    """
    mean, deviation = n * p, math.sqrt(n * p * (1 - p))
    low = max(0, math.floor(mean - 12 * deviation))
    if low > reach:
        return 0.0
    high = min(n, math.ceil(mean + 12 * deviation + 40))
    h = np.arange(low, high + 1, dtype=np.float64)
    log_ratio = np.log((n - h[:-1]) / (h[:-1] + 1)) + math.log(p / (1 - p))
    log_mass = np.concatenate([[0.0], np.cumsum(log_ratio)])
    mass = np.exp(log_mass - log_mass.max())
    seen = int(np.searchsorted(h, reach, side="right"))
    return float(mass[:seen] @ function(h[:seen]) / mass.sum())


def location_lower_bound(
    R: float, alpha: float, beta: float, epsilon: float, *, unit: str = "replace-one"
) -> int:
    """Return the least n at which pure DP can find a mean in [-R, R] within alpha.

    ``n >= ln((N-1)(1-beta)/beta)/eps`` with ``N = floor(R/alpha)``. Proof. [-R, R] holds N
    disjoint intervals of length 2 alpha; let all n records equal the middle of one. The output
    is in its own interval with probability 1 - beta, hence in each of the other N - 1 with
    probability at least ``e^(-n eps)(1 - beta)``, and all of these add up to at most beta.

    >>> location_lower_bound(1e6, 0.1, 0.05, 1.0)
    20
    """
    positive(R=R, alpha=alpha)
    probability(beta=beta)
    strength = as_replace_one(Pure(epsilon), unit).strength
    others = math.floor(R / alpha) - 1
    if others < 1:
        return 0
    nats = math.log(others) + math.log1p(-beta) - math.log(beta)
    return max(0, math.ceil(nats / strength))


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

    ``n >= ((1 - 1/k) d + ln(1 - beta)) / (e (e^eps - 1)(2 alpha)^(k/(k-1)))`` while
    ``p = e (2 alpha)^(k/(k-1)) <= 1``; otherwise 0, as it says nothing. Theorem ``high-d-lb``, for
    every k >= 2 and with constants. Proof. For c in the ball of radius ``p^(1-1/k)`` let X be c/p
    with probability p and 0 otherwise: mean c, and k-th moments at most 1. The ball holds
    ``(p^(1-1/k)/(2 alpha))^d = e^((1-1/k) d)`` points at mutual distance 2 alpha. The data for c
    differ from all zeros in H ~ Bin(n, p) records, so the output on zeros is within alpha of c with
    probability at least ``(1 - beta)/E e^(eps H) >= (1 - beta) e^(-n p (e^eps - 1))``; these
    disjoint events add up to at most 1.

    >>> packing_lower_bound(32, 0.05, k=2, epsilon=1.0, beta=0.1)
    341
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
    return math.ceil(nats / (mass * _expm1(strength)))


def _packing_rmse(n: int, k: float, epsilon: float, d: int) -> float:
    """Return the largest ``sqrt(beta) alpha`` at which n is below :func:`packing_lower_bound`.

    An error of less than that in root mean square would be below alpha with probability 1 - beta.
    """
    beta = np.linspace(0.01, 0.99, 99)
    nats = np.maximum((1 - 1 / k) * d + np.log1p(-beta), 0.0)
    mass = np.minimum(nats / (n * _expm1(epsilon)), 1.0)
    alpha = (mass / math.e) ** (1 - 1 / k) / 2
    return float(np.max(np.sqrt(beta) * alpha))


def _expm1(value: float) -> float:
    """Return ``e^value - 1``, large instead of infinite."""
    return math.expm1(min(value, 700.0))
