"""Quantiles of noise whose law is public: of one, and of sums of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tametail.privacy.budget import Noise

Array = npt.NDArray[np.float64]

#: Up to here the law of a sum of Laplace noises is worth its exact form.
MOST_EXACT_TERMS = 40

#: Halves of the coefficients of Hastings' polynomial, from the highest power to the first, and the
#: factor of its argument. NumPy takes arrays without dimensions faster than Python's numbers.
_COEFFICIENTS = tuple(
    np.array(coefficient / 2)
    for coefficient in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
)
_FACTOR, _ONE, _MINUS_HALF = (np.array(x) for x in (0.3275911 / math.sqrt(2), 1.0, -0.5))

#: Halvings of the interval in which a quantile is looked for.
_HALVINGS = 24

#: Steps towards the quantile of a mixture, the part of it that is small enough for the last (what
#: is then left is about its square), and how much more risk is taken so that a tail that is flat at
#: the risk is left behind: next to it the answer would hang on the last bit of a processor's exp.
_STEPS, _SMALL, _FLAT = 60, 2.0**-24, 2.0**-10

#: Mixtures that are looked at together: their numbers stay in a processor's cache.
_AT_ONCE = 256


def continuous_quantile(noise: Noise, risk: float) -> float:
    """Return what the absolute value of the continuous noise exceeds with this probability.

    >>> round(continuous_quantile(Noise("laplace", 2.0), 0.01), 2)  # 2 ln(100)
    9.21
    """
    if noise.kind == "laplace":
        return noise.scale * math.log(1 / risk)
    return -noise.scale * NormalDist().inv_cdf(risk / 2)


def normal_tail(points: Array, bell: Array | None = None) -> Array:
    """Return the probabilities that a standard normal variable exceeds these points, to 1e-7.

    Hastings' rational approximation of the error function; ``bell`` is exp(-points^2/2), if known.

    >>> np.round(normal_tail(np.array([-1.0, 0.0, 1.959964])), 6).tolist()
    [0.841345, 0.5, 0.025]
    """
    t = np.abs(points)
    t *= _FACTOR
    t += _ONE
    np.reciprocal(t, out=t)
    upper = _COEFFICIENTS[0] * t
    for coefficient in _COEFFICIENTS[1:]:
        upper += coefficient
        upper *= t
    upper *= _bell(points) if bell is None else bell
    np.subtract(_ONE, upper, out=upper, where=points < 0)
    return upper


def _bell(points: Array) -> Array:
    found = points * points
    found *= _MINUS_HALF
    np.exp(found, out=found)
    return found


def mixture_quantile(
    risk: float, centres: Array, widths: Array, weights: Array, most: float
) -> float:
    """Return what a mixture of normal laws exceeds with this probability, between 0 and ``most``.

    All ``centres`` are equally likely, and so are ``widths`` with their ``weights``. Newton's
    steps are taken on the logarithm of the tail, which is nearly straight; a step that leaves the
    range where the answer is known to be becomes a halving. Where no law has mass the tail is flat;
    then the least answer is taken.

    >>> one = np.ones(1)
    >>> round(mixture_quantile(0.025, np.zeros(1), one, one, 10.0), 2)
    1.96
    """
    return mixture_quantiles(risk, centres, widths[None, :], weights, [most])[0]


def mixture_quantiles(
    risk: float, centres: Array, widths: Array, weights: Array, most: Sequence[float]
) -> list[float]:
    """Return the same for many mixtures, of which each has a row of widths and its own ``most``.

    What one mixture gives does not depend on the others beside it, to the last bit.

    >>> one, widths = np.ones(1), np.array([[1.0], [3.0]])
    >>> [round(x, 2) for x in mixture_quantiles(0.025, np.zeros(1), widths, one, [9.0, 9.0])]
    [1.96, 5.88]
    """
    found: list[float] = []
    for first in range(0, len(most), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        found += _quantiles(risk * (1 + _FLAT), centres, widths[some], weights, most[some])
    return found


def _quantiles(
    risk: float, centres: Array, widths: Array, weights: Array, most: Sequence[float]
) -> list[float]:
    lows, highs = [0.0] * len(most), list(most)
    shares, wanted = weights / len(centres), math.log(risk)
    # Of a stack of products every one is added up by itself, however many mixtures there are.
    densities = (shares / (widths * math.sqrt(2 * math.pi)))[:, :, None]
    widths, centres = widths[:, None, :], centres[:, None]
    squares = (widths * widths) @ weights + np.add.reduce(centres * centres) / len(centres)
    away = -NormalDist().inv_cdf(min(risk, 0.4))
    points = [
        min(away * typical, high)
        for (typical,), high in zip(np.sqrt(squares).tolist(), most, strict=True)
    ]
    left = list(range(len(points)))
    for _ in range(_STEPS):
        here = np.array([points[i] for i in left])[:, None, None]
        tails, slopes = _tails((here - centres) / widths, shares, densities)
        going = []
        for row, (i, tail, slope) in enumerate(zip(left, tails, slopes, strict=True)):
            point = before = points[i]
            if tail > risk:
                lows[i] = point
            else:
                highs[i] = point
            point += (math.log(tail) - wanted) * tail / slope if tail > 0 < slope else math.inf
            if not lows[i] <= point <= highs[i]:
                point = (lows[i] + highs[i]) / 2
            points[i] = point
            if abs(point - before) > _SMALL * point:
                going.append(row)
        if not going:
            break
        if len(going) < len(left):
            left = [left[row] for row in going]
            widths, densities = widths[going], densities[going]
    return points


def _tails(away: Array, shares: Array, densities: Array) -> tuple[list[float], list[float]]:
    """Return how much of each mixture lies farther out, and its density here."""
    bell = _bell(away)
    tails, slopes = normal_tail(away, bell) @ shares, (bell @ densities)[:, :, 0]
    if away.shape[1] == 1:  # one centre, as most often: there is nothing to add up
        return tails[:, 0].tolist(), slopes[:, 0].tolist()
    return np.add.reduce(tails, 1).tolist(), np.add.reduce(slopes, 1).tolist()


@lru_cache(maxsize=1024)
def sum_quantile(noise: Noise, risk: float, terms: int) -> float:
    """Return a bound that the sum of some independent noises exceeds with probability <= risk.

    A discrete Laplace noise is the difference of two exponential variables, each rounded down, so
    it exceeds a continuous one by less than 1. The sum of m continuous ones of scale 1 exceeds x
    with probability sum over i < m, l <= i of  e^-x x^(i-l)/(i-l)! C(m-1+l, l) 2^-(m+l).
    For Gaussian noise, and for many terms, Chernoff's bound is as good.

    >>> round(sum_quantile(Noise("laplace", 1e6), 0.01, 1) / 1e6, 2)  # ln(50)
    3.91
    """
    chernoff = noise.sum_quantile(risk, terms)
    if noise.kind == "gaussian" or terms > MOST_EXACT_TERMS:
        return chernoff
    chances = [math.comb(terms - 1 + k, k) / 2.0 ** (terms + k) for k in range(terms)]
    low, high = 0.0, chernoff / noise.scale
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        power = below = math.exp(-middle)
        tail = below * chances[terms - 1]
        for i in range(1, terms):
            power *= middle / i
            below += power
            tail += below * chances[terms - 1 - i]
        low, high = (middle, high) if tail > risk else (low, middle)
    return min(high * noise.scale + terms, chernoff)
