"""What a bounded k-th moment says about truncation, and the moments of known laws.

Throughout, a law with mean mu has its k-th moment bounded by ``scale`` when
``E|X - mu|^k <= scale^k``.
"""

from __future__ import annotations

import math

from tametail.inequalities import truncation
from tametail.inequalities.checks import moment_order, positive


def bias_constant(k: float) -> float:
    """Return ``C_k = (k-1)^(k-1) / k^k``, the best constant of the truncation bias, for k > 1.

    >>> [round(bias_constant(k), 6) for k in (2, 3, 4)]
    [0.25, 0.148148, 0.105469]
    """
    moment_order(k)
    return truncation.bias_constant(k)


def truncation_bias(T: float, k: float, scale: float = 1.0) -> float:
    """Return ``C_k scale^k T^-(k-1)``: the bias of winsorizing at least T away from the mean.

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
    atom just beyond T attains it. Winsorizing is ``1/C_k`` times better: 4 for k = 2, 9.5 for
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
