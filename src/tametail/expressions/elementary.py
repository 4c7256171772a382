"""Logarithm and exponential, the same double on every machine and in every engine.

Libraries round these functions differently in the last bit, and so may one library on two
processors. Here each is a fixed sequence of single operations of IEEE 754, for one number in plain
Python and for many in NumPy, and within two units in the last place of the true value.

With x = m 2^e, 1/sqrt 2 <= m < sqrt 2, and s = (m - 1) / (m + 1), log x = e log 2 + 2 atanh s. With
x = k log 2 + r, |r| <= log(2) / 2, exp x = 2^k exp r. Both series end below 2^-58. log 2 is the sum
of two doubles, of which the first has so few bits that its products with e and k are exact.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LOG2_HIGH = math.ldexp(2977044471, -32)
_LOG2_LOW = 1.9082149292705877e-10
_PER_LOG2 = 1.4426950408889634
_ROOT = math.sqrt(0.5)

#: Coefficients of s^2, s^4, ... in atanh(s) / s - 1, and of 1, r, r^2, ... in exp(r); last first.
_ATANH = tuple(1 / (2 * j + 1) for j in range(12, 0, -1))
_EXP = tuple(1 / math.factorial(j) for j in range(14, -1, -1))

#: Beyond these ends exp is 0, or an infinity.
_FAR = 800.0


def log_of(x: float) -> float:
    """Return the logarithm of x > 0.

    >>> log_of(1.0), abs(log_of(10.0) - math.log(10.0)) < 1e-15, log_of(math.inf)
    (0.0, True, inf)
    """
    if x == math.inf:
        return x
    mantissa, exponent = math.frexp(x)
    if mantissa < _ROOT:
        mantissa, exponent = 2 * mantissa, exponent - 1
    s = (mantissa - 1) / (mantissa + 1)
    square = s * s
    rest = reduce(lambda total, c: total * square + c, _ATANH, 0.0) * square
    twice = 2 * s
    return exponent * _LOG2_HIGH + (twice + (twice * rest + exponent * _LOG2_LOW))


def exp_of(x: float) -> float:
    """Return the exponential of x.

    >>> exp_of(0.0), exp_of(-math.inf), exp_of(1000.0)
    (1.0, 0.0, inf)
    """
    x = min(max(x, -_FAR), _FAR)
    k = round(x * _PER_LOG2)
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    size = reduce(lambda total, c: total * r + c, _EXP, 0.0)
    try:
        return math.ldexp(size, k)
    except OverflowError:
        return math.inf


def log_all(x: Floats) -> Floats:
    """Return the logarithms, NaN for what is not above 0; operation by operation :func:`log_of`.

    >>> log_all(np.array([1.0, 0.0, -1.0, np.inf])).tolist()
    [0.0, nan, nan, inf]
    """
    usual = (x > 0) & (x < np.inf)
    mantissa, exponent = np.frexp(np.where(usual, x, 1.0))
    low = mantissa < _ROOT
    mantissa, whole = np.where(low, 2 * mantissa, mantissa), (exponent - low).astype(np.float64)
    s = (mantissa - 1) / (mantissa + 1)
    square = s * s
    rest = reduce(lambda total, c: total * square + c, _ATANH, np.zeros_like(s)) * square
    twice = 2 * s
    found = whole * _LOG2_HIGH + (twice + (twice * rest + whole * _LOG2_LOW))
    return np.where(usual, found, np.where(x == np.inf, np.inf, np.nan))


def exp_all(x: Floats) -> Floats:
    """Return the exponentials, NaN for NaN; operation by operation :func:`exp_of`.

    >>> exp_all(np.array([0.0, -np.inf, 1000.0, np.nan])).tolist()
    [1.0, 0.0, inf, nan]
    """
    near = np.clip(np.where(np.isnan(x), 0.0, x), -_FAR, _FAR)
    k = np.rint(near * _PER_LOG2)
    r = (near - k * _LOG2_HIGH) - k * _LOG2_LOW
    size = reduce(lambda total, c: total * r + c, _EXP, np.zeros_like(r))
    with np.errstate(over="ignore", under="ignore"):
        return np.where(np.isnan(x), np.nan, np.ldexp(size, k.astype(np.int32)))
