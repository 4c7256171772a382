"""What winsorising does to a mean, at worst."""

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
