"""How well two data sets that differ in H records can be told apart, at most.

A sign S = +-1 is drawn, the output M has the density f or h. What is left of the variance of S
once M is known is ``1 - g`` with ``g = (1/2) int (f - h)^2/(f + h)``, the triangular
discrimination. :func:`confusion` bounds ``1 - g`` from below, for all private algorithms, as a
function of H; :func:`mistakes` bounds how often a guess of S is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tametail.privacy.budget import Approx, Budget, Zcdp

Floats = NDArray[np.float64]
Confusion = Callable[[Floats], Floats]

# 1 - g is below 1e-17 once epsilon H, or rho H^2, exceeds this.
_NEGLIGIBLE = 42.0
# Iterated trade-off functions are tabulated up to so many differing records.
_LONGEST = 2**20


def confusion(budget: Budget | None, n: int) -> tuple[Confusion, float]:
    """Return ``1 - g`` as a function of H <= n, and the H beyond which it is negligible."""
    if budget is None:
        return lambda differing: (differing == 0).astype(np.float64), 0.0
    if isinstance(budget, Zcdp):
        rho = budget.rho
        return lambda differing: concentrated(rho * differing**2), math.sqrt(_NEGLIGIBLE / rho)
    reach = _NEGLIGIBLE / budget.strength
    if isinstance(budget, Approx):
        epsilon, delta = budget.epsilon, budget.delta
        return lambda differing: approximate(differing, epsilon, delta), reach
    longest = min(n, math.ceil(2 * reach))  # it falls as e^(-eps H/2)
    if longest > _LONGEST:
        epsilon = budget.strength
        return lambda differing: approximate(differing, epsilon, 0.0), reach
    table = pure_table(budget.strength, longest)
    return lambda differing: table[differing.astype(np.int64)], float(longest)


def concentrated(divergence: Floats) -> Floats:
    """Return ``1/cosh^2(x)`` with ``2 x tanh(x) = rho H^2``, for rho-zCDP.

    Proof. With ``w = (f + h)/2`` and ``t = (f - h)/(f + h) = +-tanh(x)``, ``g = E_w t^2`` and
    ``KL(f, h) + KL(h, f) = E_w 4 t artanh(t) = E_w 4 x tanh(x)``, which is at most ``2 rho H^2``.
    ``tanh^2(x)`` is a concave function of ``2 x tanh(x)``: its derivative ``1/(cosh^2(x) +
    x coth(x))`` falls in x. So by Jensen g is at most its value at ``rho H^2``.

    >>> concentrated(np.array([0.0, 0.01])).round(6)
    array([1.      , 0.995008])
    """
    decay = np.exp(-2 * _half_odds(divergence))
    return np.asarray(4 * decay / (1 + decay) ** 2)


def _half_odds(divergence: Floats) -> Floats:
    """Return x with ``2 x tanh(x)`` equal to the divergence."""
    # x tanh x = y has the root sqrt(y) for small y and y for large; Newton's method from above.
    half = divergence / 2
    x = half + np.sqrt(half)
    for _ in range(12):  # the function is convex: 6 are enough
        decay = np.exp(-2 * x)
        tanh = (1 - decay) / (1 + decay)
        slope = tanh + x * 4 * decay / (1 + decay) ** 2
        x = x - np.divide(x * tanh - half, slope, out=np.zeros_like(x), where=slope > 0)
    return np.asarray(x)


def approximate(differing: Floats, epsilon: float, delta: float) -> Floats:
    """Return ``(1 - delta_H)/cosh^2(eps H/2)``, for (epsilon, delta)-DP.

    ``delta_H = min(1, delta (e^(H eps) - 1)/(e^eps - 1))`` is group privacy's; outside an event of
    that probability ``|f - h|/(f + h) <= tanh(eps H/2)`` pointwise.

    >>> approximate(np.array([0.0, 1.0]), 1.0, 0.0).round(4)
    array([1.    , 0.7864])
    """
    decay = np.exp(-epsilon * differing)
    # (e^(H eps) - 1)/(e^eps - 1), written so that neither exponential overflows.
    steps = np.exp(epsilon * (differing - 1)) * (1 - decay) / -math.expm1(-epsilon)
    hidden = 1 - np.minimum(1.0, delta * steps)
    return np.asarray(hidden * 4 * decay / (1 + decay) ** 2)  # 1 - tanh^2 = 1/cosh^2


@lru_cache(maxsize=64)
def pure_table(epsilon: float, most: int) -> Floats:
    """Return ``1 - g`` for H = 0, ..., ``most`` under epsilon-DP.

    Proof. The power of a test between neighbors is at most ``b(t) = min(e^eps t, 1 - e^-eps (1 -
    t))`` at level t, so between data sets at distance H at most b iterated H times (Dong, Roth and
    Su 2022). g is an f-divergence, so it is largest for the pair with just this power: level t has
    the ratio ``q = e^((2j - H) eps)``, where j iterates of t are below ``a = 1/(1 + e^eps)``. The
    levels with j = 0, 0 < j < H and j = H have lengths ``1 - a``, ``a e^(-(j-1) eps) (1 - e^-eps)``
    and ``a e^(-(H-1) eps)``, and ``1 - g`` is the mean of ``2 q/(1 + q)``. The middle part A(H) of
    the sum obeys ``A(H+2) = w(-H) + e^-eps (A(H) + e^(-(H-1) eps) w(H))`` with
    ``w(m) = 2/(1 + e^(-m eps))``.

    >>> pure_table(1.0, 2).round(4)  # randomized response has 1/cosh^2(1/2) at H = 1
    array([1.    , 0.7864, 0.5186])
    """
    from scipy.special import expit

    atom, ratio = float(expit(-epsilon)), math.exp(-epsilon)
    distance = np.arange(most + 1, dtype=np.float64)
    up, down = 2 * expit(epsilon * distance), 2 * expit(-epsilon * distance)
    powers = np.exp(-epsilon * np.maximum(distance - 1, 0))
    middle = np.zeros(most + 1)
    added = down + ratio * powers * up
    for start in (1, 2):  # A(1) = 0 and A(2) = w(0) = 1
        value = float(start - 1)
        for place in range(start, most + 1, 2):
            middle[place] = value
            value = added[place] + ratio * value
    table = (1 - atom) * down + atom * (1 - ratio) * middle + atom * powers * up
    table[0] = 1.0
    table.flags.writeable = False  # shared by all callers
    return np.asarray(table)


def mistakes(budget: Budget, differing: Floats) -> Floats:
    """Return the least share of wrong guesses between two data sets that differ in H records.

    Both data sets are as likely. For (epsilon, delta), j = H // 2 and u = 1/2 if H is even,
    otherwise ``(1 - delta)/(1 + e^eps)``: at least

        ``u e^(-j eps) - delta (1 - e^(-j eps))/(e^eps - 1)``, and 0.

    zCDP: ``1/(1 + e^(2x))`` with ``2 x tanh(x) = rho H^2``. docs/explanation/bounds.md has the
    proofs; the first is attained.

    >>> from tametail.privacy.budget import pure
    >>> mistakes(pure(1.0), np.arange(4.0)).round(4)
    array([0.5   , 0.2689, 0.1839, 0.0989])
    """
    if isinstance(budget, Zcdp):
        from scipy.special import expit

        return np.asarray(expit(-2 * _half_odds(budget.rho * differing**2)))
    epsilon, delta = budget.strength, budget.delta if isinstance(budget, Approx) else 0.0
    even = differing % 2 == 0
    start = np.where(even, 0.5, (1 - delta) / (1 + math.exp(min(epsilon, 700.0))))
    kept = np.exp(-epsilon * (differing // 2))
    lost = delta * (1 - kept) / math.expm1(min(epsilon, 700.0))
    return np.asarray(np.maximum(start * kept - lost, 0.0))
