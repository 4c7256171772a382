"""The one door through which all randomness of a release enters.

Noise, selections, spherical noise, the coins of secret samples and secret hash keys are drawn by
the functions below and by nothing else (a test reads the sources). Behind them stands one source:
the operating system's entropy, directly or through OpenDP's samplers. No argument, environment
variable or public function changes it: whoever could choose the noise could read the records. The
tests of this project put a seeded source in its place. Users who test programs of their own use
:mod:`tametail.testing`: for its synthetic records, and for one thread, a seeded source draws, and
:mod:`tametail.run` refuses to release anything meanwhile that is not marked as fake.

The door stands below both mechanisms and data, which do not know each other.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

import numpy as np

from tametail.privacy.opendp import gaussian_measurement, laplace_measurement

Item = TypeVar("Item")


class Source(Protocol):
    """What draws."""

    def bits(self, count: int) -> int:
        """Return an integer of so many independent fair bits."""

    def bytes(self, count: int) -> bytes:
        """Return so many independent uniform bytes."""

    def below(self, bound: int) -> int:
        """Return an integer of 0..bound-1, each equally likely."""

    def sample(self, items: list[Item], count: int) -> list[Item]:
        """Return ``count`` of the items; every set of that size is equally likely."""

    def laplace(self, scale: float, size: int) -> list[int]:
        """Return independent discrete Laplace noise of this scale."""

    def gaussian(self, sigma: float, size: int) -> list[int]:
        """Return independent discrete Gaussian noise of this sigma."""


class SystemSource:
    """The operating system's entropy; noise by OpenDP's samplers, which read the same."""

    def bits(self, count: int) -> int:
        """Return an integer of so many independent fair bits."""
        return secrets.randbits(count)

    def bytes(self, count: int) -> bytes:
        """Return so many independent uniform bytes."""
        return secrets.token_bytes(count)

    def below(self, bound: int) -> int:
        """Return an integer of 0..bound-1, each equally likely."""
        return secrets.randbelow(bound)

    def sample(self, items: list[Item], count: int) -> list[Item]:
        """Return ``count`` of the items; every set of that size is equally likely."""
        return random.SystemRandom().sample(items, count)

    def laplace(self, scale: float, size: int) -> list[int]:
        """Return independent discrete Laplace noise of this scale."""
        noise: list[int] = laplace_measurement(scale)(np.zeros(size, dtype=np.int64))
        return noise

    def gaussian(self, sigma: float, size: int) -> list[int]:
        """Return independent discrete Gaussian noise of this sigma."""
        noise: list[int] = gaussian_measurement(sigma)(np.zeros(size, dtype=np.int64))
        return noise


_source: Source = SystemSource()

#: What draws for synthetic records, in the thread that made them up.
_for_fakes: ContextVar[Source | None] = ContextVar("_for_fakes", default=None)


@contextmanager
def drawing_for_fakes(source: Source) -> Iterator[None]:
    """Draw from a seeded source in this thread; only what is marked as fake is released so."""
    token = _for_fakes.set(source)
    try:
        yield
    finally:
        _for_fakes.reset(token)


def draws_for_fakes() -> bool:
    """Say whether a seeded source draws in this thread."""
    return _for_fakes.get() is not None


def _drawn() -> Source:
    return _for_fakes.get() or _source


def random_bits(count: int) -> int:
    """Draw an integer of so many independent fair bits."""
    return _drawn().bits(count)


def random_bytes(count: int) -> bytes:
    """Draw so many independent uniform bytes."""
    return _drawn().bytes(count)


def random_below(bound: int) -> int:
    """Draw an integer of 0..bound-1, each equally likely."""
    return _drawn().below(bound)


def random_sample(items: list[Item], count: int) -> list[Item]:
    """Draw ``count`` of the items; every set of that size is equally likely."""
    return _drawn().sample(items, count)


def laplace_noise(scale: float, size: int) -> list[int]:
    """Draw independent discrete Laplace noise of this scale."""
    return _drawn().laplace(scale, size)


def gaussian_noise(sigma: float, size: int) -> list[int]:
    """Draw independent discrete Gaussian noise of this sigma."""
    return _drawn().gaussian(sigma, size)
