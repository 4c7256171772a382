"""The exponential mechanism in exact integers.

A *run* is a set of candidates that share one score. Run i has an integer score s_i and an integer
base mass w_i, and is chosen with probability

    w_i exp(rate s_i) / sum_j w_j exp(rate s_j),

exactly. The weights exp(-rate t) are irrational, so they are enclosed between two integers over
2^bits. One point of the distribution function is drawn from secret bits. If the enclosures leave
two answers open, more bits are appended *to the same draw* and the enclosures are computed anew
at a higher precision. A fresh draw instead would change the distribution; a longer one does not.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tametail.errors import InternalError
from tametail.randomness import random_below, random_bits

Integers = Sequence[int] | NDArray[np.int64 | np.object_]
"""Python integers of any size, or an array of integers."""

Enclosure = tuple[int, int]
"""A pair (low, error): the real number lies in [low, low + error] / 2^bits."""

GUARD_BITS = 128
"""Bits beyond what the masses need: a first draw stays open about once in 2^100 draws."""

SMALL_ARGUMENT_BITS = 16
"""The series for exp(-x) is used for x < 2^-16, where each term gives at least 16 bits."""


def select(scores: Integers, weights: Integers, rate: Fraction | float) -> int:
    """Choose the index i of a run with probability proportional to w_i exp(rate s_i).

    The masses must not depend on the data, other than through the way in which runs of equal score
    are cut. The candidate inside the run is drawn by the caller.

    **Formal guarantee**: if one record moves every candidate's score by at most 1, the choice is
    (2 rate)-DP and (rate^2 / 2)-zCDP; if all scores move the same way, rate-DP and
    (rate^2 / 8)-zCDP. See ``docs/proofs/selection.md``.

    >>> select([0, 5, 3], [10**300, 0, 0], rate=0.5)
    0
    >>> select([0, 1000], [1, 1], rate=1)
    1
    """
    if not 0 <= rate < math.inf:
        raise InternalError("The rate of a selection must be finite and at least 0.")
    score_list, weight_list = _python_integers(scores), _python_integers(weights)
    if len(score_list) != len(weight_list):
        raise InternalError("A selection needs one weight for each score.")
    mass_of_score: dict[int, int] = {}
    for score, weight in zip(score_list, weight_list, strict=True):
        if weight > 0:
            mass_of_score[score] = mass_of_score.get(score, 0) + weight
        elif weight < 0:
            raise InternalError("The weights of a selection must be at least 0.")
    if not mass_of_score:
        raise InternalError("A selection needs a run of positive weight.")

    best_first = sorted(mass_of_score, reverse=True)
    levels = [(best_first[0] - score, mass_of_score[score]) for score in best_first]
    chosen = best_first[_draw_level(levels, Fraction(rate), random_bits)]

    offset = uniform_integer(0, mass_of_score[chosen] - 1)
    for index, (score, weight) in enumerate(zip(score_list, weight_list, strict=True)):
        if score == chosen:
            if offset < weight:
                return index
            offset -= weight
    raise InternalError("The masses of a level do not add up.")


def uniform_integer(low: int, high: int) -> int:
    """Draw an integer from low, low + 1, ..., high, each with the same probability.

    >>> uniform_integer(7, 7)
    7
    """
    if low > high:
        raise InternalError("A uniform draw needs low <= high.")
    return low + random_below(high - low + 1)


def _python_integers(values: Integers) -> list[int]:
    """Copy into Python integers, which never overflow; refuse floats."""
    items = values.tolist() if isinstance(values, np.ndarray) else values
    return list(map(operator.index, items))


def _draw_level(
    levels: Sequence[tuple[int, int]], rate: Fraction, randbits: Callable[[int], int]
) -> int:
    """Draw the index of a level (t, mass) with probability proportional to mass exp(-rate t).

    The levels ascend in t from t = 0. With C_i the sum of the first i + 1 weights and C the sum of
    all, the answer is the i with C_{i-1} <= u C < C_i for u uniform on [0, 1). The first ``bits``
    binary digits of u say that draw / 2^bits <= u < (draw + 1) / 2^bits.
    """
    # C is at least the mass of the best level, so this many bits make all errors small against C.
    mass_ratio = sum(mass for _, mass in levels) // levels[0][1]
    bits = GUARD_BITS + mass_ratio.bit_length() + len(levels).bit_length()
    draw = randbits(bits)
    while True:
        lower, upper = _cumulative_bounds(levels, rate, bits)
        # The first level that u C is certain to lie below; certain if it is not below the level.
        index = bisect_left(lower, -(-(draw + 1) * upper[-1] >> bits))
        if index < len(levels) and (index == 0 or draw * lower[-1] >= upper[index - 1] << bits):
            return index
        draw = draw << bits | randbits(bits)
        bits *= 2


def _cumulative_bounds(
    levels: Sequence[tuple[int, int]], rate: Fraction, bits: int
) -> tuple[list[int], list[int]]:
    """Bound the sums C_0 < C_1 < ... of mass exp(-rate t) from below and above, times 2^bits."""
    weights = list(_level_weights([distance for distance, _ in levels], rate, bits))
    masses = [mass for _, mass in levels]
    lower = accumulate(mass * low for mass, (low, _) in zip(masses, weights, strict=True))
    slack = accumulate(mass * error for mass, (_, error) in zip(masses, weights, strict=True))
    lower_sums = list(lower)
    return lower_sums, list(map(operator.add, lower_sums, slack))


def _level_weights(distances: Sequence[int], rate: Fraction, bits: int) -> Iterator[Enclosure]:
    """Enclose exp(-rate t) for ascending t, mostly by one multiplication for each level."""
    squares = [_exp_negative(rate, bits)]  # squares[k] encloses exp(-rate 2^k)
    weight: Enclosure = (1 << bits, 0)
    previous = 0
    for distance in distances:
        step, power = distance - previous, 0
        # A weight known to be between 0 and a few units bounds all later weights, too.
        while step and weight[0]:
            if power == len(squares):
                squares.append(_times(squares[-1], squares[-1], bits))
            if step & 1:
                weight = _times(weight, squares[power], bits)
            step >>= 1
            power += 1
        previous = distance
        yield weight


def _times(first: Enclosure, second: Enclosure, bits: int) -> Enclosure:
    """Enclose the product of two numbers whose lower bounds are at most 1."""
    (a, a_error), (b, b_error) = first, second
    # (a + a_error)(b + b_error) - ab over 2^bits, with a, b <= 2^bits; 2 for the two roundings.
    return a * b >> bits, a_error + b_error + (a_error * b_error >> bits) + 2


def _exp_negative(rate: Fraction, bits: int) -> Enclosure:
    """Enclose exp(-rate) for rate >= 0.

    With x = rate / 2^h < 2^-16, exp(-x) = sum (-x)^n / n! and exp(-rate) is its 2^h-th power. Each
    term, rounded down, is at most 4 units too small, and so is what follows the last term.
    """
    if rate >= bits:  # exp(-rate) < 2^-bits
        return 0, 1
    halvings = int(rate * 2**SMALL_ARGUMENT_BITS).bit_length()
    spare = halvings + 16  # squaring h times loses h bits, and the series a few more
    working = bits + spare
    x = (rate.numerator << working) // (rate.denominator << halvings)
    term, total, order = 1 << working, 0, 0
    while term:
        total += -term if order % 2 else term
        order += 1
        term = (term * x >> working) // order
    result: Enclosure = (total - 4 * (order + 1), 8 * (order + 1))
    for _ in range(halvings):
        result = _times(result, result, working)
    low, error = result
    return low >> spare, (error >> spare) + 2
