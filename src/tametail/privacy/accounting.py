"""Numbers behind the budgets: rounding to the safe side, and conversions between definitions.

Everything here takes and returns plain numbers. A cost is rounded up and a noise scale is
rounded up, an allowance is rounded down, so that no float ever claims more privacy than the
real number it stands for. Proofs: ``docs/proofs/composition.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final, Literal

from tametail._shown import shown
from tametail._validate import finite_number, positive, probability
from tametail.errors import ParameterError

_ULP: Final = 2.0**-52


def round_up(exact: Fraction) -> float:
    """Return the smallest float that is at least ``exact``."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def round_down(exact: Fraction) -> float:
    """Return the largest float that is at most ``exact``."""
    return -round_up(-exact)


def square_root_up(exact: Fraction) -> float:
    """Return a float whose exact square is at least ``exact``, at most two ulps too large."""
    root = math.sqrt(round_up(exact))
    return root if Fraction(root) ** 2 >= exact else math.nextafter(root, math.inf)


def square_root_down(exact: Fraction) -> float:
    """Return a float whose exact square is at most ``exact``, at most two ulps too small."""
    root = math.sqrt(round_down(exact))
    return root if Fraction(root) ** 2 <= exact else math.nextafter(root, 0.0)


def zcdp_to_approx(rho: float, delta: float) -> float:
    r"""Return an epsilon such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    The conversion of Canonne, Kamath and Steinke (2020). For every order 1 + a, a > 0,

        epsilon(a) = (1 + a) rho + (ln(1/delta) - ln(1 + a)) / a - ln(1 + 1/a)

    is valid. a^2 times its derivative is rho a^2 + ln(1 + a) - ln(1/delta), which increases
    in a, so its one root is the best order. The root need not be exact for the answer to hold;
    the answer is rounded up by more than its rounding errors.

    >>> round(zcdp_to_approx(0.5, 1e-6), 4)  # rho + 2 sqrt(rho ln(1/delta)) would be 5.7565
    5.2215
    """
    from scipy.optimize import brentq

    rho = positive(rho=rho)
    log_inverse = -math.log(probability(delta=delta))

    def slope(log_a: float) -> float:
        return rho * math.exp(2 * log_a) + math.log1p(math.exp(log_a)) - log_inverse

    # At low both terms are at most half of ln(1/delta), at high the first one is all of it.
    high = math.sqrt(log_inverse / rho)
    low = min(high / math.sqrt(2), math.expm1(log_inverse / 2))
    a = math.exp(brentq(slope, math.log(low) - 0.1, math.log(high) + 0.1))
    order_term, log_a, log_order = (1 + a) * rho, math.log1p(1 / a), math.log1p(a)
    epsilon = order_term + (log_inverse - log_order) / a - log_a
    error = 8 * _ULP * (order_term + (log_inverse + log_order) / a + log_a)
    return max(epsilon + error, 0.0)


def approx_to_zcdp(epsilon: float, delta: float) -> float:
    """Return the largest rho for which ``zcdp_to_approx(rho, delta) <= epsilon``, rounded down.

    >>> rho = approx_to_zcdp(1.0, 1e-6)
    >>> zcdp_to_approx(rho, 1e-6) <= 1.0 < zcdp_to_approx(1.001 * rho, 1e-6)
    True
    """
    from scipy.optimize import brentq

    epsilon, delta = positive(epsilon=epsilon), probability(delta=delta)

    def excess(log_rho: float) -> float:
        return zcdp_to_approx(math.exp(log_rho), delta) / epsilon - 1

    # rho + 2 sqrt(rho ln(1/delta)) = epsilon is a weaker conversion: its rho is too small.
    log_inverse = -math.log(delta)
    low = 2 * math.log(epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse)))
    low, high = low - 0.1, low + 1
    while excess(high) < 0:
        high += 1
    rho = math.exp(brentq(excess, low, high, xtol=1e-13))
    while zcdp_to_approx(rho, delta) > epsilon:
        rho *= 1 - 1e-13
    return rho


def gaussian_delta(sigma_over_sensitivity: float, epsilon: float) -> float:
    r"""Return the exact delta of one Gaussian mechanism at ``epsilon``, rounded up.

    With s = sigma / sensitivity, A = 1/(2s) - epsilon s and B = -1/(2s) - epsilon s,

        delta = Phi(A) - e^epsilon Phi(B)

    (Balle and Wang 2018). Since e^epsilon phi(B) = phi(A), both terms are written with the
    scaled error function, which neither overflows nor cancels in the tails.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import erfcx, ndtr

    s, epsilon = (
        positive(sigma_over_sensitivity=sigma_over_sensitivity),
        finite_number(epsilon=epsilon),
    )
    if epsilon < 0:
        raise ParameterError(f"Invalid epsilon={shown(epsilon)}. It must be 0 or larger.")
    A, B = 0.5 / s - epsilon * s, -0.5 / s - epsilon * s
    density = 0.5 * math.exp(-A * A / 2)
    # erfcx grows without bound for negative arguments, where Phi(A) itself is not small.
    first = float(ndtr(A)) if A > 0 else density * float(erfcx(-A / math.sqrt(2)))
    second = density * float(erfcx(-B / math.sqrt(2)))
    # The error of A is amplified by A in the exponent, hence the square.
    error = (16 + 2 * B * B) * _ULP * (first + second)
    return min(first - second + error, 1.0)


def analytic_gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Return the least sigma of a Gaussian that is (epsilon, delta)-DP, rounded up.

    Formal guarantee: continuous N(0, sigma^2) noise on a query of this L2 sensitivity is
    (epsilon, delta)-DP. For one Gaussian alone; a composition goes through zCDP.

    >>> sigma = analytic_gaussian_sigma(2.0, 1.0, 1e-6)
    >>> round(sigma, 3), gaussian_delta(sigma / 2, 1.0) <= 1e-6
    (8.449, True)
    """
    from scipy.optimize import brentq

    sensitivity, epsilon = positive(sensitivity=sensitivity), positive(epsilon=epsilon)
    delta = probability(delta=delta)

    def excess(log_s: float) -> float:
        return gaussian_delta(math.exp(log_s), epsilon) / delta - 1

    low = high = -0.5 * math.log(epsilon + epsilon**2)
    while excess(low) < 0:
        low -= 1
    while excess(high) > 0:
        high += 1
    s = math.exp(brentq(excess, low, high, xtol=1e-13))
    while gaussian_delta(s, epsilon) > delta:
        s *= 1 + 1e-13
    return round_up(Fraction(s) * Fraction(sensitivity))


@dataclass(frozen=True, slots=True)
class Noise:
    """Discrete Laplace or discrete Gaussian noise on the integers, as its public description.

    Every figure is an upper bound: the variance and the tails of the discrete laws lie below
    the values given here.

    >>> noise = Noise("laplace", 10.0)
    >>> noise.variance, noise.quantile(0.05)
    (200.0, 30.0)
    """

    kind: Literal["laplace", "gaussian"]
    scale: float
    variance: float = field(init=False, repr=False, compare=False)
    """That of the continuous law of the same scale, which the discrete one is below."""

    def __post_init__(self) -> None:
        factor = 2 if self.kind == "laplace" else 1
        object.__setattr__(self, "variance", factor * self.scale * self.scale)

    def tail(self, bound: float) -> float:
        """Return a probability that is at least P(abs(noise) > bound).

        With m the least integer above the bound: for Laplace of scale b exactly
        2 e^(-m/b) / (1 + e^(-1/b)); for Gaussian the smaller of 2 P(N(0, scale^2) >= m - 1)
        and 2 e^(-m^2 / (2 scale^2)) (Canonne, Kamath and Steinke 2020).
        """
        if bound < 0:
            return 1.0
        above = math.floor(bound) + 1
        if self.kind == "laplace":
            return 2 * math.exp(-above / self.scale) / (1 + math.exp(-1 / self.scale))
        normal = math.erfc((above - 1) / (self.scale * math.sqrt(2)))
        return min(normal, 2 * math.exp(-0.5 * (above / self.scale) ** 2))

    def quantile(self, p: float) -> float:
        """Return the least bound that the absolute noise exceeds with probability at most p."""
        return _quantile(self, probability(p=p))

    def sum_quantile(self, p: float, terms: int) -> float:
        """Return a bound that the sum of ``terms`` independent noises exceeds with at most p.

        Chernoff's bound. The discrete Laplace law of scale b has a moment generating function
        of at most 1 / (1 - (b t)^2), since (cosh x - 1) / x^2 increases; the discrete Gaussian is
        sub-Gaussian with its own scale (Canonne, Kamath and Steinke 2020).

        >>> Noise("gaussian", 2.0).sum_quantile(0.05, 9) < 3 * Noise("gaussian", 2.0).scale * 2.5
        True
        """
        level = -math.log(probability(p=p))
        if self.kind == "gaussian":
            return self.scale * math.sqrt(2 * terms * level)
        exponents = (step / 64 for step in range(1, 64))
        return self.scale * min((level - terms * math.log1p(-(x**2))) / x for x in exponents)


@lru_cache(maxsize=1024)
def _quantile(noise: Noise, p: float) -> float:
    if noise.kind == "laplace":
        start = noise.scale * math.log(2 / (p * (1 + math.exp(-1 / noise.scale)))) - 1
    else:
        start = min(
            -noise.scale * NormalDist().inv_cdf(p / 2),
            noise.scale * math.sqrt(2 * math.log(2 / p)) - 1,
        )
    bound = float(max(math.ceil(start), 0))
    # The closed forms are rounded; tail() decides.
    while noise.tail(bound) > p:
        bound = max(bound + 1, math.nextafter(bound, math.inf))
    return bound
