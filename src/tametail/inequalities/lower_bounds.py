"""What no private algorithm can beat, with explicit constants.

The two-point family
    D+ and D- put mass p on +tau and -tau, and the rest on 0, with k-th central moment exactly 1;
    their means are +s and -s, ``s = p tau``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tametail.inequalities.binomials import expect_binomial
from tametail.inequalities.checks import as_replace_one, moment_order, positive, whole
from tametail.inequalities.confusion import confusion
from tametail.inequalities.moments import normal_moment, one_hot_atom, two_point_atom
from tametail.privacy.budget import Budget, Pure, parse_budget

_GRID = 96


def lower_bound(
    n: int,
    *,
    k: float,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    neighbors: str = "replace-one",
    scale: float = 1.0,
    d: int = 1,
) -> float:
    """Return a root mean squared error that every private algorithm reaches for some law.

    The laws have ``E|<X - mu, v>|^k <= scale^k`` for unit v, and means of norm at most
    ``scale``. Theorem ``one-d-pdp-lb`` with explicit constants: the largest over
    ``p <= 1/2`` of ``s sqrt(1 - E g(H))`` with H ~ Bin(n, p) and

    * pure: g of group privacy's trade-off function (``inequalities.confusion.pure_table``), which
      is ``tanh^2(eps/2)`` at H = 1 and below ``tanh^2(eps H/2)`` beyond;
    * approximate: ``g = delta_H + (1 - delta_H) tanh^2(eps H/2)``, where
      ``delta_H = min(1, delta (e^(H eps) - 1)/(e^eps - 1))``;
    * zCDP: ``g = tanh^2(x)`` with ``2 x tanh(x) = rho H^2``.

    Proof. Draw a sign S = +-1 and records ``X_i = tau S B_i`` with B_i ~ Bernoulli(p). The mean is
    sS, so the squared error averages at least ``s^2 (1 - E E[S|M]^2)`` given the output M, and
    ``E E[S|M]^2 = (1/2) int (f - h)^2/(f + h)`` for the densities f, h of M given S. This
    divergence is jointly convex, hence at most its average over B; given B, the two data sets
    differ in ``H = sum B_i`` records, and ``inequalities.confusion`` bounds it for each notion.
    The worst of S is no better than the average.

    Under ``neighbors="add-remove"`` a replaced record is two steps: epsilon doubles, rho is
    multiplied by 4 and delta by ``1 + e^eps``. With neither epsilon nor rho it is the floor without
    privacy: a normal mean that may be anywhere cannot be known better than ``sigma/sqrt(n)``,
    g is 1 for H > 0, and in one dimension there is ``coin_floor``. The private bound does not
    contain this floor; both hold.

    In d dimensions a record falls on coordinate j with probability p, on at most one, with sign
    S_j: ``sqrt(d)`` times the bound, with ``tau = 1/(p^(1/k) + p sqrt(d))``, ``k >= 2``. For pure
    DP ``packing_rmse`` joins in, whose mean may be anywhere in a ball.

    >>> [f"{lower_bound(n, k=k, epsilon=e):.3g}" for n, e, k in ((1000, 1, 2), (10_000, 1, 4))]
    ['0.0349', '0.00151']
    """
    whole(n=n, d=d)
    positive(scale=scale)
    moment_order(k, at_least=1 if d == 1 else 2)
    budget = _budget(epsilon, delta, rho, neighbors)
    _, best = _hardest(n, k, budget, d)
    if budget is None:
        floor = coin_floor(n, k) if d == 1 else 0.0
        best = max(best, math.sqrt(d / n) * normal_moment(k) ** (-1 / k), floor)
    elif d > 1 and isinstance(budget, Pure):
        best = max(best, packing_rmse(n, k, budget.epsilon, d))
    return scale * best


def hardest_mass(
    n: int,
    *,
    k: float,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    neighbors: str = "replace-one",
    d: int = 1,
) -> float:
    """Return the mass p, of each coordinate, at which the family gives :func:`lower_bound`.

    >>> round(hardest_mass(10_000, k=2, epsilon=1.0) * 10_000, 1)
    2.9
    """
    whole(n=n, d=d)
    moment_order(k, at_least=1 if d == 1 else 2)
    return _hardest(n, k, _budget(epsilon, delta, rho, neighbors), d)[0]


def _budget(
    epsilon: float | None, delta: float | None, rho: float | None, neighbors: str
) -> Budget | None:
    if epsilon is None and delta is None and rho is None:
        return None
    return as_replace_one(parse_budget(epsilon=epsilon, delta=delta, rho=rho), neighbors)


@lru_cache(maxsize=512)
def _hardest(n: int, k: float, budget: Budget | None, d: int) -> tuple[float, float]:
    """Return the best p and its bound; every p gives a valid bound, so the search is safe."""
    from scipy.optimize import minimize_scalar

    confused, reach = confusion(budget, n)

    def bound(log_p: float) -> float:
        p = math.exp(log_p)
        tau = two_point_atom(p, k) if d == 1 else one_hot_atom(p, k, d)
        return p * tau * math.sqrt(d * expect_binomial(confused, n, p, reach))

    # Beyond 1/2 the means leave [-1, 1]: that is the location problem, with a bound of its own.
    grid = np.linspace(math.log(1e-3 / n), math.log(0.5 / d), _GRID)
    values = [bound(float(point)) for point in grid]
    best = int(np.argmax(values))
    bracket = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _GRID - 1)]))
    found = minimize_scalar(lambda x: -bound(x), bounds=bracket, method="bounded")
    if -found.fun > values[best]:
        return math.exp(float(found.x)), float(-found.fun)
    return math.exp(float(grid[best])), values[best]


def packing_rmse(n: int, k: float, epsilon: float, d: int) -> float:
    """Return a root mean squared error that pure DP has for some mean in a ball, ``k >= 2``.

    The largest over p of ``p^(1-1/k) sqrt(d/(d+2)) (1 - p (1 - e^(-2 eps/d)))^(n/2)``: the mean c
    is drawn from the ball of radius ``p^(1-1/k)``, and a record is c/p with probability p and 0
    otherwise. docs/explanation/bounds.md has the proof. With ``g = 1 - e^(-2 eps/d)`` and
    ``q = 1 - 1/k`` the best p is ``q/(g (q + n/2))``.

    >>> round(packing_rmse(20_000, 4, 0.1, 200), 3)
    0.067
    """
    power, seen = 1 - 1 / k, -math.expm1(-2 * epsilon / d)
    p = min(power / (seen * (power + n / 2)), 1.0)
    log_hidden = n / 2 * math.log1p(-p * seen) if p * seen < 1 else -math.inf
    return math.sqrt(d / (d + 2)) * math.exp(power * math.log(p) + log_hidden)


def coin_floor(n: int, k: float) -> float:
    """Return a root mean squared error that no estimator beats on records of two values +-c.

    ``max over w of c/sqrt(n/(1 - w^2) + pi^2/w^2)``, with c such that no mean within w c of 0 gives
    a k-th central moment above 1. Proof. Records +-c with mean ``theta = m c`` have the variance
    ``c^2 (1 - m^2)``, so n of them have the Fisher information ``n/(c^2 (1 - m^2))``, at most
    ``n/(c^2 (1 - w^2))`` for ``|m| <= w``. The prior ``cos^2(pi m/(2w))/w`` on ``[-w, w]`` has the
    information ``pi^2/(w c)^2``; the inequality of van Trees adds both up. The moment is
    ``c^k (1 - m^2) ((1 + m)^(k-1) + (1 - m)^(k-1))/2``. For ``k < 2`` it says nothing new: 0.

    >>> [round(coin_floor(10_000, k) * 100 * normal_moment(k) ** (1 / k), 2) for k in (4, 8, 16)]
    [1.26, 1.67, 2.24]
    """
    return hardest_coins(n, k)[0] if k >= 2 else 0.0


def hardest_coins(n: int, k: float) -> tuple[float, float, float]:
    """Return :func:`coin_floor`, and the w and c that give it, for ``k >= 2``.

    >>> [round(value, 4) for value in hardest_coins(10_000, 4)]
    [0.0096, 0.1491, 0.9895]
    """
    width = np.geomspace(1e-3, 0.9, 4000)
    moments = (1 - width**2) * ((1 + width) ** (k - 1) + (1 - width) ** (k - 1)) / 2
    # The largest over |m| <= w: the moment rises in m and then falls.
    largest = np.maximum(np.maximum.accumulate(moments), 1.0)
    # Between two points of the grid the peak may be higher, by the square of a step.
    slack = math.exp((k * math.log(width[1] / width[0])) ** 2)
    information = n / (1 - width**2) + (math.pi / width) ** 2
    values = (slack * largest) ** (-1 / k)
    floors = values / np.sqrt(information)
    best = int(np.argmax(floors))
    return float(floors[best]), float(width[best]), float(values[best])
