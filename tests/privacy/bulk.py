"""Makes the mechanisms quick enough for a million runs, without changing what they draw.

Two things take nearly all the time of a run on three records: the overhead of a call to OpenDP,
and functions of public numbers that every run computes anew. Inside :func:`in_bulk`

* noise comes from the same source, some thousand at a time, and each is used once;
* functions without randomness (masses, envelopes, weights) remember what they returned.

So every draw has the law that it has outside, and draws are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from typing import Any
from unittest.mock import patch

import numpy as np

from tametail import randomness
from tametail.mechanisms import candidates as median
from tametail.mechanisms import medians, select, sparse

_BULK = 4096
_REMEMBERED = 1 << 12


@contextmanager
def in_bulk() -> Iterator[None]:
    """Draw noise in bulk, and remember what follows from public numbers, until the end."""
    with ExitStack() as stack:
        for owner, name, quick in _QUICKER:
            stack.enter_context(patch.object(owner, name, quick(getattr(owner, name))))
        yield


class _Noises:
    """Noises of one scale, of which ever more are drawn at a time."""

    def __init__(self, draw: Callable[[int], list[int]]) -> None:
        self._draw = draw
        self._waiting: list[int] = []
        self._next = 0  # a scale that is never seen again costs no more than it must

    def take(self, size: int) -> list[int]:
        if size > len(self._waiting):
            self._waiting += self._draw(self._next + size)
            self._next = min(2 * (self._next + size), _BULK)
        drawn = self._waiting[len(self._waiting) - size :]
        del self._waiting[len(self._waiting) - size :]
        return drawn


class _Source:
    """The source of randomness, asked for many noises at a time."""

    def __init__(self, source: Any) -> None:
        self._source = source
        noises = lru_cache(maxsize=None)(
            lambda law, scale: _Noises(partial(getattr(source, law), scale))
        )
        self.laplace = lambda scale, size: noises("laplace", scale).take(size)
        self.gaussian = lambda sigma, size: noises("gaussian", sigma).take(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def _remember(function: Callable[..., Any]) -> Callable[..., Any]:
    return lru_cache(maxsize=_REMEMBERED)(function)


def _remember_levels(function: Callable[..., Any]) -> Callable[..., Any]:
    cached = lru_cache(maxsize=_REMEMBERED)(function)
    return lambda levels, rate, bits: cached(tuple(levels), rate, bits)


def _remember_logarithms(function: Callable[..., Any]) -> Callable[..., Any]:
    rounding: dict[int, Any] = {}  # equal numbers of digits mean equal rounding
    cached = lru_cache(maxsize=_REMEMBERED)(
        lambda chance, digits: function(chance, rounding[digits])
    )

    def remembered(chance: Any, rounded: Any) -> Any:
        return cached(chance, rounding.setdefault(rounded.down.prec, rounded).down.prec)

    return remembered


def _remember_runs(function: Callable[..., Any]) -> Callable[..., Any]:
    @lru_cache(maxsize=_REMEMBERED)
    def cached(keys: bytes, counts: bytes, *public: Any) -> Any:
        return function(*(np.frombuffer(part, dtype=np.int64) for part in (keys, counts)), *public)

    return lambda keys, counts, *public: cached(keys.tobytes(), counts.tobytes(), *public)


def _remember_keys(method: Callable[..., Any]) -> Callable[..., Any]:
    """Remember a method of an array of keys; the components of the base measure never change."""
    known: dict[tuple[object, ...], Any] = {}

    def remembered(self: object, keys: Any) -> Any:
        place = id(self), keys.shape, keys.tobytes()
        if place not in known:
            if len(known) > _REMEMBERED:
                known.clear()
            known[place] = method(self, keys)
        return np.copy(known[place])

    return remembered


_QUICKER: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (randomness, "_source", _Source),
    (select, "_cumulative_bounds", _remember_levels),
    (median._Points, "cumulative", _remember_keys),
    (median._Atom, "cumulative", _remember_keys),
    (median, "_median_runs", _remember_runs),
    (medians, "_median_runs", _remember_runs),
    (sparse, "_minus_log_failure", _remember_logarithms),
    (sparse.DiscreteLaplace, "envelope", _remember),
    (sparse.DiscreteGaussian, "envelope", _remember),
)
