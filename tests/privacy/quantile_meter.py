"""What the choices of several quantiles give away: the range of log-ratios of each, in turn.

The mechanism itself is run on both neighbors, with its own rates and its own parts. Records that
both have get the same coins, which do not depend on who else is there; and on the neighbor all
choices are forced to be those of the first, coins included, so that both are divided at the same
candidates. Given all earlier choices, a choice then has the same base measure on both sides, and
the most that any outcome tells follows from the scores. Averages over coins tell no more.

Choices are weighed along one path, which is drawn as the mechanism draws it: as for all questions,
what is not reached in a run is not weighed in it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from tametail.mechanisms import quantiles as module
from tametail.randomness import random_bytes

COINS = 1 << 32


class Choice(NamedTuple):
    """A choice as the mechanism makes it: its part of the records and its public numbers."""

    part: Any
    target: int
    whole: int
    rate: Fraction

    @property
    def public(self) -> tuple[Any, ...]:
        """All that may not depend on records, given the choices before."""
        part = self.part
        told = (part.first, part.last, part.levels, part.between)
        return (*told, self.target, self.whole, self.rate)


def quantile_spans(both: list[Any], mechanism: Callable[[Any], Any]) -> list[float]:
    """Return the range of the log-ratios of every choice; their losses add up.

    Parts are disjoint, so that most of these are 0: a record is in one part of every depth.
    """
    rng = np.random.default_rng(int.from_bytes(random_bytes(8)))  # as the test is seeded
    candidates: list[tuple[int, int]] = []

    def draw(choice: Choice) -> tuple[int, int]:
        rank, key = choose(*choice)
        candidates.append((key, _coin(choice.part, rank, key, rng)))
        return rank, key

    def force(choice: Choice) -> tuple[int, int]:
        key, coin = waiting.pop(0)
        return _rank(choice.part, key, coin), key

    choose, coins = module._choose, _coins(both, rng)
    first = _choices(mechanism, both[0], coins[0], draw)
    waiting = list(candidates)
    second = _choices(mechanism, both[1], coins[1], force)
    return [_span(one, other) for one, other in zip(first, second, strict=True)]


def _choices(
    mechanism: Callable[[Any], Any], exact: Any, coins: Any, outcome: Callable[[Choice], Any]
) -> list[Choice]:
    """Run the mechanism with these coins and outcomes; return the choices that it made."""
    made: list[Choice] = []

    def choose(part: Any, target: int, whole: int, rate: Fraction) -> Any:
        made.append(Choice(part, target, whole, rate))
        return outcome(made[-1])

    given = np.asarray(coins, dtype="<u4").tobytes()
    bits = mock.Mock(side_effect=[given])  # coins are drawn once, all together
    with (
        mock.patch.object(module, "random_bytes", bits),
        mock.patch.object(module, "_choose", choose),
    ):
        mechanism(exact)
    bits.assert_called_once_with(len(given))
    return made


def _coins(both: list[Any], rng: np.random.Generator) -> list[list[int]]:
    """Return the coins of all records of both neighbors, in the order of their keys."""
    drawn: defaultdict[int, list[int]] = defaultdict(list)
    found = []
    for keys, counts in both:
        own: list[int] = []
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            more = max(count - len(drawn[key]), 0)
            drawn[key] += rng.integers(0, COINS, more).tolist()
            own += drawn[key][:count]
        found.append(own)
    return found


def _coin(part: Any, rank: int, key: int, rng: np.random.Generator) -> int:
    """Draw the coin of a candidate, of which the mechanism keeps but the rank and the key."""
    below = rank > 0 and part.keys[rank - 1] == key
    above = rank < len(part.keys) and part.keys[rank] == key
    low = int(part.coins[rank - 1]) + 1 if below else 0
    coin = int(rng.integers(low, int(part.coins[rank]) + 1 if above else COINS))
    assert _rank(part, key, coin) == rank
    return coin


def _rank(part: Any, key: int, coin: int) -> int:
    """Return how many records are below a candidate."""
    start, stop = np.searchsorted(part.keys, [key, key + 1]).tolist()
    return start + int(np.searchsorted(part.coins[start:stop], coin, side="left"))


def _span(one: Choice, other: Choice) -> float:
    """Return the range of the log-ratios, up to a constant, over all candidates."""
    if one.public != other.public:
        return math.inf
    ends = [one.part.first, one.part.last]
    keys = np.unique(np.concatenate([one.part.keys, other.part.keys, ends]))

    def codes(key: Any, coin: Any) -> Any:
        return np.searchsorted(keys, key) * COINS + coin

    pairs = [codes(choice.part.keys, choice.part.coins) for choice in (one, other)]
    low, high = codes(ends, np.array([0, COINS - 1])).tolist()
    # Ranks change behind a record only: there, at it, and at the first candidate all are seen.
    points = np.unique(np.concatenate([[low], *pairs, *(each + 1 for each in pairs)]))
    points = points[(low <= points) & (points <= high)]
    first, second = (
        -abs(one.whole * np.searchsorted(each, points) - one.target * len(each)) for each in pairs
    )
    gains = first - second
    return float(one.rate) * float(gains.max() - gains.min())
