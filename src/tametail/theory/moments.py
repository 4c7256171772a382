"""What a bounded k-th moment says about truncation, and the moments of known laws.

Throughout, a law with mean mu has its k-th moment bounded by ``scale`` when
``E|X - mu|^k <= scale^k``.
"""

from __future__ import annotations

import math

from tametail.inequalities import truncation
from tametail.theory._checks import moment_order, positive, probability


def bias_constant(k: float) -> float:
    """Return ``C_k = (k-1)^(k-1) / k^k``, the best constant of the truncation bias, for k > 1.

    >>> [round(bias_constant(k), 6) for k in (2, 3, 4)]
    [0.25, 0.148148, 0.105469]
    """
    moment_order(k)
    return truncation.bias_constant(k)


def truncation_bias(T: float, k: float, scale: float = 1.0) -> float:
    """Return ``C_k scale^k T^-(k-1)``: the bias of winsorising at least T away from the mean.

    Lemma ``one-d-trunc-mean``, with the best constant. It is attained by an atom at
    ``kT/(k-1)`` from the mean.

    >>> truncation_bias(5.0, k=2)
    0.05
    """
    positive(T=T, scale=scale)
    return float(bias_constant(k) * scale * (scale / T) ** (k - 1))


def discarding_bias(T: float, k: float, scale: float = 1.0) -> float:
    """Return ``scale^k T^-(k-1)``: the bias of setting records beyond T from the mean to it.

    Lemma ``one-d-trunc-mean`` as the paper proves it, by ``|x| 1(|x| > T) <= T^-(k-1) |x|^k``; an
    atom just beyond T attains it. Winsorising is ``1/C_k`` times better: 4 for k = 2, 9.5 for
    k = 4.

    >>> discarding_bias(5.0, k=2) / truncation_bias(5.0, k=2)
    4.0
    """
    positive(T=T, scale=scale)
    moment_order(k)
    return float(scale * (scale / T) ** (k - 1))


def radius_for_bias(bias: float, k: float, scale: float = 1.0) -> float:
    """Return the least T for which :func:`truncation_bias` is at most ``bias``.

    ``T = scale (C_k scale / bias)^(1/(k-1))``.

    >>> radius_for_bias(0.05, k=2)
    5.0
    """
    positive(bias=bias, scale=scale)
    return float(scale * (bias_constant(k) * scale / bias) ** (1 / (k - 1)))


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


def student_moment(nu: float, k: float) -> float:
    """Return ``E|X|^k`` of Student's t with nu degrees of freedom, infinite for ``k >= nu``.

    ``nu^(k/2) Gamma((k+1)/2) Gamma((nu-k)/2) / (sqrt(pi) Gamma(nu/2))``.

    >>> round(student_moment(3, 2), 12)
    3.0
    """
    if k >= nu:
        return math.inf
    log_gammas = math.lgamma((k + 1) / 2) + math.lgamma((nu - k) / 2) - math.lgamma(nu / 2)
    return math.exp(k / 2 * math.log(nu) + log_gammas - math.log(math.pi) / 2)


def pareto_moment(a: float, k: float) -> float:
    """Return ``E|X - mu|^k`` of the Pareto law ``P(X > x) = x^-a``, infinite for ``k >= a``.

    With ``mu = a/(a-1)``, the part above mu is ``a mu^(k-a) B(k+1, a-k)``; the part below is
    integrated numerically.

    >>> round(pareto_moment(3, 2), 12)
    0.75
    """
    from scipy.integrate import quad
    from scipy.special import beta

    if k >= a:
        return math.inf
    mu = a / (a - 1)
    above = a * mu ** (k - a) * beta(k + 1, a - k)
    below, _ = quad(lambda x: (mu - x) ** k * a * x ** (-a - 1), 1.0, mu, epsrel=1e-12)
    return float(above + below)


def lognormal_moment(s: float, k: float) -> float:
    """Return ``E|X - mu|^k`` of ``X = exp(s Z)``, where Z is standard normal.

    ``mu = exp(s^2/2)`` is reached at ``Z = s/2``; both sides of it are integrated over Z.

    >>> round(lognormal_moment(1, 2) / (math.e * (math.e - 1)), 12)
    1.0
    """
    from scipy.integrate import quad

    split, peak = s / 2, s * k
    norm = math.sqrt(2 * math.pi)

    def integrand(z: float) -> float:
        # X - mu = mu expm1(s (z - s/2)); the weight joins in the exponent, so nothing overflows.
        gap = s * (z - split)
        if gap > 0:
            log_distance = gap + math.log(-math.expm1(-gap)) + s * split
        elif gap < 0:
            log_distance = math.log(-math.expm1(gap)) + s * split
        else:
            return 0.0
        return math.exp(k * log_distance - z * z / 2) / norm

    below, _ = quad(integrand, split - 40, split, epsrel=1e-11, limit=400)
    above, _ = quad(
        integrand, split, peak + 40, points=sorted({split, peak}), epsrel=1e-11, limit=400
    )
    return float(below + above)
