"""Inequalities that hold at every sample size: no limit theorem, no unknown constant.

``docs/interval.md`` proves each of them; the tests try to break them.
"""

from __future__ import annotations

import math

import numpy as np

#: Points at which the quadratic hinge is tried, in standard deviations above the mean; all of
#: them are valid, the best is taken.
_HINGES = np.linspace(-4.0, 12.0, 129)

#: Beyond this many records binomial masses are lost in rounding.
_MOST_RECORDS = 2.0**40


def mean_deviation(deviation: float, reach: float, n: float, risk: float) -> float:
    r"""Bound how far the mean of n independent records lies above their expectation.

    The records have at most this standard deviation and lie at most ``reach`` above their
    expectation. Among such laws the one on two points, r and -s^2/r, has the largest
    E(mean - t)+^2 for every t (Bentkus 2004), and Markov's inequality for that square gives

        h = min over t of  t + sqrt(E(B - t)+^2 / risk),

    where B is a binomial variable, centred and scaled. For many records this is 2.57 standard
    errors at risk = 0.0175; Bernstein's inequality has 2.84 and the normal law 2.11.

    >>> round(mean_deviation(1.0, 10.0, 10_000, 0.025), 5)
    0.02517
    """
    from scipy.special import betainc

    n = max(math.floor(n), 1)
    if deviation <= 0 or reach <= 0:
        return 0.0
    if n > _MOST_RECORDS or not math.isfinite(deviation / reach):
        level = math.log(1 / risk)  # Bernstein's inequality
        return deviation * math.sqrt(2 * level / n) + reach * level / (3 * n)
    ratio = deviation / reach
    p = ratio**2 / (1 + ratio**2)
    q, centre = 1 - p, n * p
    # centred: E(B - t)+^2 = E[(B-np)^2; B >= k] - 2 (t-np) E[B-np; B >= k] + (t-np)^2 P(B >= k)
    t = math.sqrt(centre * q) * _HINGES
    k = np.clip(np.ceil(centre + t), 0, n)
    tail = np.where(k > 0, betainc(np.maximum(k, 1), n - k + 1, p), 1.0)
    next_tail = np.where(k < n, betainc(k + 1, np.maximum(n - k, 1), p), 0.0)
    mass = np.maximum(tail - next_tail, 0.0)
    first = k * q * mass
    second = q * (centre * next_tail + mass * ((n - k) * p + k * (k - centre)))
    hinge = np.maximum(second - 2 * t * first + t**2 * tail, 0.0)
    best = float(np.min((t + np.sqrt(hinge / risk))[k >= centre + t]))
    return best * (reach + deviation * ratio) / n


def second_moment_bound(mean_square: float, reach: float, n: float, risk: float) -> float:
    """Bound E Z from the mean of n independent records Z in [0, reach^2].

    Such a mean falls short of E Z by t with probability at most exp(-n t^2 / (2 reach^2 E Z)), so
    with l = ln(1/risk): sqrt(E Z) <= sqrt(mean + reach^2 l/(2n)) + reach sqrt(l/(2n)).

    >>> round(second_moment_bound(1.0, 10.0, 10_000, 0.05), 3)
    1.277
    """
    slack = reach**2 * math.log(1 / risk) / (2 * n)
    return (math.sqrt(max(mean_square, 0.0) + slack) + math.sqrt(slack)) ** 2


def count_bound(expected: float, risk: float) -> float:
    """Bound the number of rare independent events of which at most ``expected`` are expected.

    Bernstein's inequality: expected + l/3 + sqrt(l^2/9 + 2 expected l) with l = ln(1/risk).

    >>> round(count_bound(1.0, 0.001), 1)
    7.7
    """
    level = math.log(1 / risk)
    return expected + level / 3 + math.sqrt(level**2 / 9 + 2 * expected * level)
