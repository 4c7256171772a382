"""A secret sample: every record is looked at with probability 2**-halvings, independently.

Instead of one coin per record, the gaps between sampled records are drawn. A gap is geometric,
and the binary digits of a geometric variable are independent coins, so it costs a few words of
randomness, whatever its size. Every coin is exact: a 16-bit word decides, and if the word alone
cannot decide, more bits are appended to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tametail.randomness import random_bits, random_bytes

#: Gaps that are drawn at a time: so many at most, so many at least, and more than are expected.
_BATCH, _FEWEST, _SPARE = 2048, 224, 32

Words = npt.NDArray[np.uint16]

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
            last = int(self._ends[-1]) if self._ends.size else 0
            # About as many as are needed; how many are drawn at a time changes no gap's law.
            batch = min(max(size - last >> self.halvings, _FEWEST) + _SPARE, self._batch)
            fresh = 1 + geometric(self.halvings, batch)
            self._ends = np.concatenate([self._ends, last + np.cumsum(fresh)])
        used = int(np.searchsorted(self._ends, size, side="right"))
        picked = self._ends[:used] - 1
        self._ends = self._ends[used:] - size
        return picked


def geometric(halvings: int, size: int) -> npt.NDArray[np.int64]:
    """Draw ``size`` numbers of failures before the first success, success = 2**-halvings.

    With b = 1 - 2**-halvings and J = halvings + 3: K >= 2**J has probability b**(2**J), and then
    K - 2**J has the law of K; below 2**J the binary digits of K are independent, digit j being
    one with probability b**(2**j) / (1 + b**(2**j)).
    """
    coins = _coins(halvings)
    digits = len(coins) - 1
    tossed = bernoulli(coins, size)
    result: npt.NDArray[np.int64] = (tossed[:digits] << np.arange(digits)[:, np.newaxis]).sum(
        axis=0
    )
    beyond = np.flatnonzero(tossed[digits])
    while beyond.size:
        result[beyond] += 1 << digits
        (again,) = bernoulli(coins[digits:], beyond.size)
        beyond = beyond[again]
    return result


def bernoulli(coins: tuple[Bounds, ...], size: int) -> npt.NDArray[np.bool_]:
    """Toss exact coins whose chances of True are known through ever tighter bounds.

    Return a row of so many for each of them.
    """
    drawn = random_bytes(2 * len(coins) * size)
    words = np.frombuffer(drawn, dtype="<u2").reshape(len(coins), size)
    low, high = _sixteen_bits(coins)
    true: npt.NDArray[np.bool_] = words < low
    for undecided in np.flatnonzero((low <= words) & (words <= high)).tolist():
        coin, place = divmod(undecided, size)
        true[coin, place] = _decide(coins[coin], int(words[coin, place]), 16, random_bits)
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


@lru_cache(maxsize=64)
def _sixteen_bits(coins: tuple[Bounds, ...]) -> tuple[Words, Words]:
    """Return bounds of all coins, below 2**16: one that is certain is never tossed here."""
    low, high = np.array([bounds(16) for bounds in coins], dtype=np.uint16).T[:, :, np.newaxis]
    return low, high


@lru_cache(maxsize=64)
def _coins(halvings: int) -> tuple[Bounds, ...]:
    """Return the coins of the binary digits, the lowest first, and that of an overflow."""
    digits = halvings + 3  # an overflow is rare: its chance is about e^-8
    found = [_digit_bounds(halvings, digit) for digit in range(digits)]
    return *found, _power_bounds(halvings, digits)


def _power_bounds(halvings: int, squarings: int) -> Bounds:
    @lru_cache(maxsize=2)
    def bounds(bits: int) -> tuple[int, int]:
        # Each squaring can double the relative error of an ulp, hence the guard bits.
        precision = bits + halvings + squarings + 8
        low = high = (1 << precision) - (1 << (precision - halvings))
        for _ in range(squarings):
            low, high = (low * low) >> precision, ((high * high) >> precision) + 1
        return low >> (precision - bits), (high >> (precision - bits)) + 1

    return bounds


def _digit_bounds(halvings: int, digit: int) -> Bounds:
    @lru_cache(maxsize=2)
    def bounds(bits: int) -> tuple[int, int]:
        low, high = _power_bounds(halvings, digit)(bits + 2)
        one = 1 << (bits + 2)
        return (low << bits) // (one + low), -((-high << bits) // (one + high))

    return bounds
