"""Inequalities that hold at every sample size: no limit theorem, no unknown constant.

``docs/explanation/interval-proofs.md`` proves each of them; the tests try to break them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tametail.privacy.budget import Noise

Floats = npt.NDArray[np.float64]

#: Hinges t that are tried: from so many standard deviations below the mean to so many above it,
#: in steps of one STEPS-th. All of them are valid, the best is taken.
_BELOW, _ABOVE, _STEPS = 4, 12, 8

#: If the two-point law is rare, hinges up to so many of its points matter too.
_RARE = 1.5

#: Noise is looked at up to here, in standard deviations of the mean of the records.
_NOISE_REACH = 16.0

#: Beyond this many records binomial masses are lost in rounding.
_MOST_RECORDS = 2.0**40

#: The part of the risk that noise of unusual size may have.
_UNUSUAL = 0.02


@np.errstate(under="ignore")
def mean_deviation(
    deviation: float, reach: float, n: float, risk: float, noise: Noise | None = None
) -> float:
    r"""Bound how far the mean of n independent records, plus noise, lies above its expectation.

    The records have at most this standard deviation and lie at most ``reach`` above their
    expectation. Among such laws the one on two points, r and -s^2/r, has the largest
    E(mean + noise - t)+^2 for every t (Bentkus 2004), and Markov's inequality for that square gives

        h = min over t of  t + sqrt(E(B + noise - t)+^2 / risk),

    where B is a binomial variable, centered and scaled. For many records without noise this is 2.56
    standard errors at risk = 0.0175; Bernstein's inequality has 2.84 and the normal law 2.11.
    Taking noise and sampling together costs less than a quantile of either.

    >>> round(mean_deviation(1.0, 10.0, 10_000, 0.025), 4)
    0.0252
    >>> round(mean_deviation(1.0, 10.0, 10_000, 0.025, Noise("laplace", 0.002)), 4)
    0.0262
    """
    n = max(math.floor(n), 1)
    usual = 0.0 if noise is None else _usual(noise, _UNUSUAL * risk)
    if noise is not None and usual <= 1e-9 * reach:  # too small for the grid: its bound is as good
        return mean_deviation(deviation, reach, n, (1 - _UNUSUAL) * risk) + usual
    # Larger figures are valid too, and keep the grid of the noise short and p within (0, 1).
    deviation = max(deviation, usual * math.sqrt(n) / _NOISE_REACH, 1e-9 * reach)
    reach = max(reach, 1e-3 * deviation)
    if deviation == 0:
        return 0.0
    if n > _MOST_RECORDS or math.isinf(deviation) or math.isinf(reach):
        level = math.log(1 / ((1 - _UNUSUAL) * risk))  # Bernstein's inequality
        return deviation * math.sqrt(2 * level / n) + reach * level / (3 * n) + usual
    ratio = deviation / reach
    p, unit = ratio**2 / (1 + ratio**2), (1 + ratio**2) / n  # in units of reach
    step = math.sqrt(n * p * (1 - p)) / _STEPS
    cells = math.ceil(usual / reach / (unit * step))
    above = max(_ABOVE * _STEPS, math.ceil(_RARE / step) if n * p > risk else 0)
    t = step * np.arange(-_BELOW * _STEPS - cells, above + cells + 1, dtype=np.float64)
    hinge = _binomial_hinge(n, p, t)
    if noise is not None and cells:
        risk *= 1 - _UNUSUAL
        hinge = np.convolve(
            hinge, _hats(noise.kind, noise.scale / reach, unit * step, cells), "valid"
        )
        t = t[cells:-cells]
    bound = float(np.min(t + np.sqrt(hinge / risk))) * unit
    return min(bound * reach, reach + usual)  # no mean exceeds all of its records


def _binomial_hinge(n: int, p: float, t: Floats) -> Floats:
    """Return E(B - np - t)+^2 for B binomial.

    With k the least whole number from np + t on, and m the probability of B = k:
    E[B - np; B >= k] = k q m, E[(B - np)^2; B >= k] = q (np P(B > k) + m ((n-k) p + k (k - np))).
    """
    from scipy.special import betainc

    q, mean = 1 - p, n * p
    k = np.clip(np.ceil(mean + t), 0, n)
    tail = np.where(k > 0, betainc(np.maximum(k, 1), n - k + 1, p), 1.0)
    next_tail = np.where(k < n, betainc(k + 1, np.maximum(n - k, 1), p), 0.0)
    mass = np.maximum(tail - next_tail, 0.0)
    second = q * (mean * next_tail + mass * ((n - k) * p + k * (k - mean)))
    hinge = second - 2 * t * k * q * mass + t**2 * tail
    return np.where(mean + t >= n, 0.0, np.maximum(hinge, 0.0))


def _usual(noise: Noise, risk: float) -> float:
    """Return a bound that the absolute value of the continuous noise exceeds with risk at most."""
    if noise.kind == "laplace":
        return noise.scale * math.log(1 / risk)
    return noise.scale * math.sqrt(2 * math.log(2 / risk))


def _hats(kind: str, scale: float, step: float, cells: int) -> Floats:
    """Spread the noise over multiples of ``step``, so that means of convex functions only grow.

    The weight at x is the second difference of E(noise - x)+ over the step.
    """
    x = step * np.arange(-cells - 1, cells + 2) / scale
    if kind == "laplace":
        above = np.maximum(-x, 0.0) + np.exp(-np.abs(x)) / 2
    else:
        from scipy.special import ndtr

        above = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) - x * ndtr(-x)
    weights: Floats = np.diff(above, 2) * scale / step
    return np.maximum(weights, 0.0)


def second_moment_bound(
    mean_square: float, reach: float, n: float, risk: float, fourth: float = math.inf
) -> float:
    """Bound E Z from the mean of n independent records Z in [0, reach^2] with E Z^2 <= fourth.

    Such a mean falls short of E Z by t with probability at most exp(-n t^2 / (2 E Z^2)), and
    E Z^2 <= reach^2 E Z. So with l = ln(1/risk) both of these hold:
    E Z <= mean + sqrt(2 fourth l/n), sqrt(E Z) <= sqrt(mean + reach^2 l/(2n)) + reach sqrt(l/(2n)).

    >>> round(second_moment_bound(1.0, 10.0, 10_000, 0.05), 3)
    1.277
    >>> round(second_moment_bound(1.0, 10.0, 10_000, 0.05, fourth=3.0), 3)
    1.042
    """
    level, mean_square = math.log(1 / risk), max(mean_square, 0.0)
    slack = reach * reach * level / (2 * n)
    root = math.sqrt(mean_square + slack) + math.sqrt(slack)
    return min(root * root, mean_square + math.sqrt(2 * fourth * level / n))


def count_bound(expected: float, risk: float) -> float:
    """Bound the number of rare independent events of which at most ``expected`` are expected.

    Bernstein's inequality: expected + l/3 + sqrt(l^2/9 + 2 expected l) with l = ln(1/risk).

    >>> round(count_bound(1.0, 0.001), 1)
    7.7
    """
    level = math.log(1 / risk)
    return expected + level / 3 + math.sqrt(level**2 / 9 + 2 * expected * level)
