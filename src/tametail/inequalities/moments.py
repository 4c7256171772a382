"""Moments of the laws that prove lower bounds: two points, one coordinate of many, normal."""

from __future__ import annotations

import math

from tametail.inequalities.checks import probability


def two_point_moment(p: float, tau: float, k: float) -> float:
    """Return ``E|X - p tau|^k`` when X is tau with probability p and 0 otherwise.

    ``p (1-p) tau^k ((1-p)^(k-1) + p^(k-1))``; the paper prints ``p^k`` in the bracket.

    >>> two_point_moment(0.5, 2.0, k=2)
    1.0
    """
    probability(p=p)
    return float(p * (1 - p) * abs(tau) ** k * ((1 - p) ** (k - 1) + p ** (k - 1)))


def two_point_atom(p: float, k: float) -> float:
    """Return the tau at which :func:`two_point_moment` is exactly 1.

    >>> two_point_atom(0.5, k=2)
    2.0
    """
    return float(two_point_moment(p, 1.0, k) ** (-1 / k))


def one_hot_atom(p: float, k: float, d: int) -> float:
    """Return ``1/(p^(1/k) + p sqrt(d))``, at which a one-hot record has k-th moments at most 1.

    The record is tau on coordinate j, up to sign, with probability p for each j, and 0 otherwise.
    By Minkowski, ``E|<X - mu, v>|^k`` to the power 1/k is at most ``tau (p sum |v_j|^k)^(1/k)``
    and the mean's ``tau p sum |v_j|``: for unit v and k >= 2 at most the reciprocal.

    >>> one_hot_atom(0.25, k=2, d=4)
    1.0
    """
    probability(p=p)
    return float(1 / (p ** (1 / k) + p * math.sqrt(d)))


def normal_moment(k: float) -> float:
    """Return ``E|Z|^k = 2^(k/2) Gamma((k+1)/2) / sqrt(pi)`` of a standard normal Z.

    >>> round(normal_moment(4), 12)
    3.0
    """
    log_moment = k / 2 * math.log(2) + math.lgamma((k + 1) / 2) - math.log(math.pi) / 2
    return math.exp(log_moment)
