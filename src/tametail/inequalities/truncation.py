"""What winsorizing does to a mean, at worst."""

from __future__ import annotations

import math


def bias_constant(k: float) -> float:
    """Return ``C_k = (k-1)^(k-1) / k^k``, the best constant of the truncation bias.

    For every x >= 0, ``(x - T)+ <= C_k T^-(k-1) x^k``: the ratio ``(x - T)/x^k`` is largest at
    ``x = kT/(k-1)``. So clip points at least T from the mean bias a law with
    ``E|X - mu|^k <= scale^k`` by at most ``C_k scale^k T^-(k-1)``.

    >>> bias_constant(2)
    0.25
    """
    return math.exp((k - 1) * math.log(k - 1) - k * math.log(k))


def best_reach(k: float, n: float, noise: float) -> float:
    """Return the clip distance from the mean, in scales, with the least worst squared error.

    At T the worst squared bias is ``(C_k T^-(k-1))^2``. Noise of standard deviation ``noise`` on
    a sum of sensitivity 1 becomes ``(c T noise / n)^2``, with c between 1 (add-remove) and 2
    (replace-one), taken as sqrt(2). Together they are least where
    ``T^k = sqrt((k-1)/2) C_k n / noise``.

    >>> round(best_reach(2, 1000, 14.1), 2)
    3.54
    """
    return float((math.sqrt((k - 1) / 2) * bias_constant(k) * n / noise) ** (1 / k))


def worst_excess(k: float, distance: float) -> float:
    """Bound ``E(Y - distance)+`` for laws with ``E Y = 0`` and ``E|Y|^k <= 1``.

    Let ``h(d) = d + E(Y - d)+ = E max(Y, d)``, which does not fall with d. For d > 0 it is at most
    ``d + C_k d^-(k-1)``, and at most ``d + E|Y|/2 <= d + 1/2``. The first is least at (k-1)/k,
    where it is 1, so up to there h is at most 1. Since ``(y + d)+ = y + d + (-y - d)+``, the
    bound for -d is d more than that for d. It never falls faster than d rises.

    >>> worst_excess(2, 1.0), worst_excess(2, 0.0), worst_excess(2, -1.0), worst_excess(4, 0.7)
    (0.25, 0.5, 1.25, 0.30000000000000004)
    """
    if distance < 0:
        return -distance + worst_excess(k, -distance)
    if k >= 2 and distance <= (k - 1) / k:
        return min(0.5, 1 - distance)
    # A power of a tiny distance would overflow.
    if k < 2 and distance <= (2 * bias_constant(k)) ** (1 / (k - 1)):
        return 0.5
    return float(bias_constant(k) * distance ** (1 - k))
