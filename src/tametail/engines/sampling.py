"""A secret sample: every record is looked at with probability 2**-halvings, independently.

Instead of one coin per record, the gaps between sampled records are drawn. A gap is geometric,
and the binary digits of a geometric variable are independent coins, so it costs a few words of
randomness, whatever its size. Every coin is exact: a 16-bit word decides, and if the word alone
cannot decide, more bits are appended to it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

#: Gaps that are drawn at a time, unless said otherwise.
_BATCH = 512

#: Lower and upper bounds of a probability, as integers in units of 2**-bits.
Bounds = Callable[[int], tuple[int, int]]


class Sampler:
    """Says which of the next records are in the sample.

    >>> Sampler(0).pick(3).tolist()
    [0, 1, 2]
    """

    def __init__(self, halvings: int, batch: int = _BATCH) -> None:
        self.halvings = halvings
        self._batch = batch  # gaps that are drawn at a time
        self._ends = np.empty(0, dtype=np.int64)  # positions after the sampled ones, from here on

    def pick(self, size: int) -> npt.NDArray[np.int64]:
        """Return the sampled positions among the next ``size`` records."""
        if self.halvings == 0:
            return np.arange(size)
        while self._ends.size == 0 or self._ends[-1] < size:
            last = self._ends[-1] if self._ends.size else 0
            fresh = 1 + geometric(self.halvings, self._batch)
            self._ends = np.concatenate([self._ends, last + np.cumsum(fresh)])
        used = int(np.searchsorted(self._ends, size, side="right"))
        picked = self._ends[:used] - 1
        self._ends = self._ends[used:] - size
        return picked


def geometric(halvings: int, size: int) -> npt.NDArray[np.int64]:
    """Draw ``size`` numbers of failures before the first success, success = 2**-halvings.

    With b = 1 - 2**-halvings and J = halvings + 1: K >= 2**J has probability b**(2**J), and then
    K - 2**J has the law of K; below 2**J the binary digits of K are independent, digit j being
    one with probability b**(2**j) / (1 + b**(2**j)).
    """
    digits = halvings + 1
    result = np.zeros(size, dtype=np.int64)
    beyond = np.arange(size)
    while beyond.size:
        beyond = beyond[bernoulli(_power_bounds(halvings, digits), beyond.size)]
        result[beyond] += 1 << digits
    for digit in range(digits):
        result += bernoulli(_digit_bounds(halvings, digit), size).astype(np.int64) << digit
    return result


def bernoulli(bounds: Bounds, size: int) -> npt.NDArray[np.bool_]:
    """Draw exact coins whose probability of True is known through ever tighter bounds."""
    words = np.frombuffer(secrets.token_bytes(2 * size), dtype="<u2")
    low, high = bounds(16)
    # low and high are below 2**16: a coin that is certain is never tossed here.
    true = words < np.uint16(low)
    for index in np.flatnonzero(~true & (words <= np.uint16(high))):
        true[index] = _decide(bounds, int(words[index]), 16, secrets.randbits)
    return true


def _decide(bounds: Bounds, word: int, bits: int, randbits: Callable[[int], int]) -> bool:
    """Compare the real number that starts with ``word`` with the probability, exactly."""
    while True:
        low, high = bounds(bits)
        if word + 1 <= low:
            return True
        if word >= high:
            return False
        word = (word << bits) | randbits(bits)
        bits *= 2


def _power_bounds(halvings: int, squarings: int) -> Bounds:
    def bounds(bits: int) -> tuple[int, int]:
        # Each squaring can double the relative error of an ulp, hence the guard bits.
        precision = bits + halvings + squarings + 8
        low = high = (1 << precision) - (1 << (precision - halvings))
        for _ in range(squarings):
            low, high = (low * low) >> precision, ((high * high) >> precision) + 1
        return low >> (precision - bits), (high >> (precision - bits)) + 1

    return bounds


def _digit_bounds(halvings: int, digit: int) -> Bounds:
    def bounds(bits: int) -> tuple[int, int]:
        low, high = _power_bounds(halvings, digit)(bits + 2)
        one = 1 << (bits + 2)
        return (low << bits) // (one + low), -((-high << bits) // (one + high))

    return bounds
