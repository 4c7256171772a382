"""Quantiles of noise whose law is public: of one, and of sums of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.privacy.budget import Noise

Array = npt.NDArray[np.float64]

#: Up to here the law of a sum of Laplace noises is worth its exact form.
MOST_EXACT_TERMS = 40

#: Of :func:`scaled_tail`: a polynomial in 1/(1 + z/4), from the highest power to the first, fitted
#: at Chebyshev's points. NumPy takes arrays without dimensions faster than Python's numbers.
_COEFFICIENTS = tuple(
    np.array(coefficient)
    for coefficient in (
        0.0201370329152, -0.0823398045104, 0.0980847410376, -0.0339754939881, 0.0648789399372,
        0.0586182716821, 0.0816626946786, 0.0934614767221, 0.0997365813951, 0.099735565991,
    )
)  # fmt: skip
_QUARTER, _HALF, _ONE = (np.array(x) for x in (0.25, 0.5, 1.0))

#: Of two errors the smaller counts as this part of the larger one at least, where the tail of their
#: sum would divide by it: that changes nothing that can be seen.
_LEAST_PART = 2.0**-30

#: Halvings of the interval in which a quantile is looked for.
_HALVINGS = 24

#: Steps towards the quantile of such a sum, the part of it that is small enough for the last (what
#: is then left is about its square), and how much more risk is taken so that a tail that is flat at
#: the risk is left behind: next to it the answer would hang on the last bit of a processor's exp.
_STEPS, _SMALL, _FLAT = 60, 2.0**-24, 2.0**-10

#: A normal variable is hardly ever so many deviations away, and Laplace noise as many squared.
_FAR = 8.0

#: Laws that are looked at together: their numbers stay in a processor's cache.
_AT_ONCE = 256


def continuous_quantile(noise: Noise, risk: float) -> float:
    """Return what the absolute value of the continuous noise exceeds with this probability.

    >>> round(continuous_quantile(Noise("laplace", 2.0), 0.01), 2)  # 2 ln(100)
    9.21
    """
    if noise.kind == "laplace":
        return noise.scale * math.log(1 / risk)
    return noise.scale * deviations(risk / 2)


def deviations(risk: float) -> float:
    """Return how many standard deviations a normal variable exceeds with this probability.

    Below 1e-16 a risk counts as that: a confidence that differs from 1 by less is 1 in doubles.

    >>> round(deviations(0.025), 4)
    1.96
    """
    return -NormalDist().inv_cdf(max(risk, 1e-16))


def normal_tail(points: Array) -> Array:
    """Return the probabilities that a standard normal variable exceeds these points, to 1e-7.

    >>> np.round(normal_tail(np.array([-1.0, 0.0, 1.959964])), 6).tolist()
    [0.841345, 0.5, 0.025]
    """
    distances = np.abs(points)
    upper = scaled_tail(distances)
    upper *= _bell(distances)
    np.subtract(_ONE, upper, out=upper, where=points < 0)
    return upper


def scaled_tail(points: Array) -> Array:
    """Return R(z) = P(N > z) exp(z^2 / 2) of a standard normal N, for z >= 0, to a part of 5e-8.

    >>> np.round(scaled_tail(np.array([0.0, 3.0, 1e6])) * np.sqrt(2 * np.pi), 6).tolist()
    [1.253314, 0.30459, 1e-06]
    """
    t = points * _QUARTER
    t += _ONE
    np.reciprocal(t, out=t)
    found: Array = _COEFFICIENTS[0] * t
    for coefficient in _COEFFICIENTS[1:]:
        found += coefficient
        found *= t
    return found


def _bell(points: Array) -> Array:
    found = points * points
    found *= -_HALF
    np.exp(found, out=found)
    return found


class Shifts(NamedTuple):
    """A law on some points, in ascending order; their weights add up to 1."""

    points: Array
    weights: Array

    def spread_to(self, number: int) -> Shifts:
        """Return so many points that mean the same, if there is one of them."""
        if len(self.points) == number:
            return self
        return Shifts(np.repeat(self.points, number), np.full(number, 1 / number))


#: No shift at all.
NOWHERE = Shifts(np.zeros(1), np.ones(1))
NOWHERE.points.flags.writeable = NOWHERE.weights.flags.writeable = False


class Spread(NamedTuple):
    """The law of a sum: a shift, a normal error, and noise."""

    deviation: float
    noise: Noise
    shifts: Shifts = NOWHERE

    @property
    def most(self) -> float:
        """What the sum hardly ever exceeds."""
        times = _FAR**2 if self.noise.kind == "laplace" else _FAR
        return float(self.shifts.points[-1]) + _FAR * self.deviation + times * self.noise.scale


def spread_quantiles(distributions: Sequence[Spread], risk: float) -> list[float]:
    """Return what each of these sums exceeds with this probability, or 0 if that is below 0.

    All noises are of one kind, and a law has one shift or as many as the others. Newton's
    steps are taken on the logarithm of the tail, which is nearly straight; a step that leaves the
    range where the answer is known to be becomes a halving. Where no shift is near, the tail is
    flat; then the least answer is taken. What a law gives does not depend on others that have as
    many shifts, to the last bit.

    >>> distributions = [Spread(deviation, Noise("laplace", 1.0)) for deviation in (0.0, 3.0)]
    >>> [round(quantile, 3) for quantile in spread_quantiles(distributions, 0.05)]
    [2.302, 5.444]
    """
    found = [max(distribution.most, 0.0) for distribution in distributions]
    known = [place for place, most in enumerate(found) if 0 < most < math.inf]
    for first in range(0, len(known), _AT_ONCE):
        some = known[first : first + _AT_ONCE]
        highs = [found[place] for place in some]
        quantiles = _quantiles([distributions[place] for place in some], risk * (1 + _FLAT), highs)
        for place, quantile in zip(some, quantiles, strict=True):
            found[place] = quantile
    return found


def _quantiles(distributions: Sequence[Spread], risk: float, highs: list[float]) -> list[float]:
    stack, lows, wanted = _Stack.of(distributions), [0.0] * len(distributions), math.log(risk)
    away = deviations(min(risk, 0.4))
    points: list[float] = np.minimum(away * stack.typical(), highs).tolist()
    left = list(range(len(points)))
    for _ in range(_STEPS):
        tails, slopes = stack.tails(np.array([points[i] for i in left]))
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
            left, stack = [left[row] for row in going], stack.some(going)
    return points


class _Stack(NamedTuple):
    """Sums with noise of one kind, a row each; Gaussian noise is part of the normal error."""

    shifts: Array
    weights: Array
    deviations: Array
    scales: Array | None

    @classmethod
    def of(cls, distributions: Sequence[Spread]) -> _Stack:
        most = max(len(distribution.shifts.points) for distribution in distributions)
        spread = [distribution.shifts.spread_to(most) for distribution in distributions]
        shifts = np.array([one.points for one in spread])
        weights = np.array([one.weights for one in spread])
        deviations = np.array([[distribution.deviation] for distribution in distributions])
        scales = np.array([[distribution.noise.scale] for distribution in distributions])
        if distributions[0].noise.kind != "laplace":
            return cls(shifts, weights, np.hypot(deviations, scales), None)
        return cls(
            shifts,
            weights,
            np.maximum(deviations, _LEAST_PART * scales),
            np.maximum(scales, _LEAST_PART * deviations),
        )

    def some(self, rows: list[int]) -> _Stack:
        scales = None if self.scales is None else self.scales[rows]
        return _Stack(self.shifts[rows], self.weights[rows], self.deviations[rows], scales)

    def typical(self) -> Array:
        """Return the roots of the mean squares."""
        found: Array = np.hypot.reduce(self.shifts * np.sqrt(self.weights), 1)
        found = np.hypot(found, self.deviations[:, 0])
        return found if self.scales is None else np.hypot(found, math.sqrt(2) * self.scales[:, 0])

    def tails(self, points: Array) -> tuple[list[float], list[float]]:
        """Return the probabilities that each sum exceeds its point, and the densities there."""
        away = points[:, None] - self.shifts
        distances = np.abs(away)
        distances /= self.deviations
        bell = _bell(distances)
        if self.scales is None:
            tails = scaled_tail(distances)
            tails *= bell
            densities = bell / (self.deviations * math.sqrt(2 * math.pi))
        else:
            tails, densities = _with_laplace(distances, bell, self.deviations, self.scales)
        np.subtract(_ONE, tails, out=tails, where=away < 0)
        if len(away[0]) == 1:  # most often: there is nothing to add up
            return tails[:, 0].tolist(), densities[:, 0].tolist()
        return (
            np.add.reduce(tails * self.weights, 1).tolist(),
            np.add.reduce(densities * self.weights, 1).tolist(),
        )


def _with_laplace(u: Array, bell: Array, deviations: Array, scales: Array) -> tuple[Array, Array]:
    """Return tails and densities of a normal error and Laplace noise, u >= 0 deviations away.

    With v = deviation / scale, Q the normal tail and A, B = exp(v^2/2 -+ u v) Q(v -+ u), the tail
    is Q(u) + (A - B)/2 and the density (A + B)/(2 scale). A product exp(...) Q(z) with z >= 0 is
    exp(-u^2/2) R(z), which neither overflows nor loses digits; for z < 0, Q(z) = 1 - Q(-z).
    """
    v = deviations / scales
    nearer = u - v
    q, b, a = products = scaled_tail(np.array((u, u + v, np.abs(nearer))))
    products *= bell
    exponents = v * (v * _HALF - u)
    np.subtract(np.exp(np.minimum(exponents, 0.0)), a, out=a, where=nearer > 0)
    return q + _HALF * (a - b), (a + b) / (2 * scales)


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
