"""A source of randomness that a text seeds: for made-up records, and for the project's own tests.

Its distributions are those of the operating system's source: what is exact there is drawn from
exact bits here as well, and noise is rounded from seeded uniform numbers, exactly enough that no
test could tell (``tests/test_randomness.py`` compares both).
"""

from __future__ import annotations

import hashlib
import math
import random
import threading
from typing import TypeVar

Item = TypeVar("Item")


class SeededSource:
    """Draws from Python's generator; one lock, since releases may run in threads."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(hashlib.sha256(seed.encode()).digest())  # noqa: S311 - no noise
        self._lock = threading.Lock()

    def bits(self, count: int) -> int:
        """Return an integer of so many fair bits."""
        with self._lock:
            return self._random.getrandbits(count) if count else 0

    def bytes(self, count: int) -> bytes:
        """Return so many uniform bytes."""
        with self._lock:
            return self._random.randbytes(count)

    def below(self, bound: int) -> int:
        """Return an integer of 0..bound-1, each equally likely."""
        with self._lock:
            return self._random.randrange(bound)

    def sample(self, items: list[Item], count: int) -> list[Item]:
        """Return ``count`` of the items; every set of that size is equally likely."""
        with self._lock:
            return self._random.sample(items, count)

    def laplace(self, scale: float, size: int) -> list[int]:
        """Return discrete Laplace numbers: the difference of two geometric ones."""
        with self._lock:
            return [self._geometric(scale) - self._geometric(scale) for _ in range(size)]

    def _geometric(self, scale: float) -> int:
        # floor(E * scale) of an exponential E has P(K >= k) = exp(-k / scale).
        return math.floor(self._random.expovariate(1.0) * scale)

    def gaussian(self, sigma: float, size: int) -> list[int]:
        """Return discrete Gaussian numbers, by rejection from discrete Laplace ones."""
        with self._lock:
            return [self._discrete_gaussian(sigma) for _ in range(size)]

    def _discrete_gaussian(self, sigma: float) -> int:
        scale = math.floor(sigma) + 1
        while True:
            number = self._geometric(scale) - self._geometric(scale)
            excess = abs(number) - sigma * sigma / scale
            if self._random.random() < math.exp(-excess * excess / (2 * sigma * sigma)):
                return number
