"""Private quantiles of several levels over all finite doubles: one choice divides the next ones.

The middle level is chosen by the exponential mechanism. The records below and above the choice are
then two disjoint parts, in which the levels below and above it are chosen likewise (Kaplan, Schnapp
and Stemmer, 2022): m levels cost ceil(log2(m + 1)) choices and not m.

Records may be tied, so each record draws a secret coin u, and records are ordered by (key, u). A
candidate is a pair (key, v) with the base measure of :mod:`tametail.mechanisms.candidates` times
the uniform one; only its key is released. As for medians, the first 64 bits of a draw are compared
with weights in floating point, and where these do not decide for certain, integers do.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tametail.doubles import from_key, to_key
from tametail.errors import InternalError
from tametail.mechanisms.candidates import _base_cumulative
from tametail.mechanisms.medians import (
    _approximate_masses,
    _draw_keys,
    clear_choices,
    exact_level,
)
from tametail.mechanisms.select import uniform_integer
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, exponential_rate, on_sample
from tametail.privacy.choices import one_of_many
from tametail.queries.column import LEVEL_ONE
from tametail.randomness import random_bytes

if TYPE_CHECKING:
    from tametail.queries.column import Quantiles

Keys = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Values of a coin.
_COINS = 1 << 32


class _Part(NamedTuple):
    """Records in order, the keys that may be chosen, and which levels are to be."""

    keys: Keys
    coins: Keys
    first: int
    last: int
    levels: tuple[int, int]
    between: tuple[int, int]


def choose_quantiles(
    keys: Keys, counts: Keys, query: Quantiles, cost: Budget, adjacency: Adjacency
) -> tuple[float, ...]:
    """Choose a double for every level, ascending.

    **Formal guarantee**: all choices together cost at most ``cost`` under ``adjacency``. See
    ``docs/proofs/quantiles.md``.

    >>> from tametail.privacy.budget import pure
    >>> from tametail.queries.column import Quantiles
    >>> query = Quantiles(0, 0.0, 100.0, (250_000, 500_000, 900_000))
    >>> keys, counts = to_key([18.5, 19.99, 24.0]), np.array([200, 600, 200])
    >>> choose_quantiles(keys, counts, query, pure(20.0), Adjacency.ADD_REMOVE)
    (19.99, 19.99, 24.0)
    """
    each = one_of_many(on_sample(cost, query.halvings), query.depth)
    rate = exponential_rate(each)
    every = np.repeat(keys, counts)
    drawn = random_bytes(4 * len(every))
    coins = np.frombuffer(drawn, dtype="<u4").astype(np.int64)
    coins = coins[np.lexsort((coins, every))]  # the keys are in order already
    first, last = to_key([query.low, query.high]).tolist()
    whole = _Part(every, coins, first, last, (0, len(query.levels)), (0, LEVEL_ONE))
    found = dict(_descend(whole, query, rate, adjacency, 0))
    return tuple(from_key(found[place]) for place in range(len(query.levels)))


def _descend(
    part: _Part, query: Quantiles, rate: Fraction, adjacency: Adjacency, depth: int
) -> Iterator[tuple[int, int]]:
    """Yield the place of each level and the key that was chosen for it."""
    (start, stop), (low, high) = part.levels, part.between
    if start == stop:
        return
    middle = (start + stop) // 2
    level = query.levels[middle]
    target, whole = level - low, high - low
    sensitivity = query.score_sensitivity(adjacency, target, whole, depth)
    rank, key = _choose(part, target, whole, rate / sensitivity)
    yield middle, key
    keys, coins = part.keys, part.coins
    below = _Part(keys[:rank], coins[:rank], part.first, key, (start, middle), (low, level))
    above = _Part(keys[rank:], coins[rank:], key, part.last, (middle + 1, stop), (level, high))
    yield from _descend(below, query, rate, adjacency, depth + 1)
    yield from _descend(above, query, rate, adjacency, depth + 1)


def _choose(part: _Part, target: int, whole: int, rate: Fraction) -> tuple[int, int]:
    """Choose a rank and a key: P proportional to base * exp(-rate |whole rank - target size|)."""
    runs = _Runs.of(part)
    ranks = runs.offset + np.arange(len(runs.keys) + 1)
    distances = np.abs(whole * ranks - target * len(part.keys))
    masses = runs.masses()
    present = np.flatnonzero(masses)
    order = present[np.argsort(distances[present], kind="stable")]
    sorted_distances = distances[order]
    starts = np.flatnonzero(np.diff(sorted_distances, prepend=-1))
    levels = sorted_distances[starts] - sorted_distances[0]
    weights = np.add.reduceat(masses[order], starts) * np.exp(-float(rate) * levels)
    ((place, draw),) = clear_choices(weights, np.zeros(1, dtype=np.int64))
    ends = [*starts.tolist(), len(order)]
    if place is None:
        exact = [
            sum(runs.mass(int(run)) for run in order[ends[i] : ends[i + 1]])
            for i in range(len(starts))
        ]
        place = exact_level(list(zip(levels.tolist(), exact, strict=True)), rate, draw)
    run, key = runs.draw(order[ends[place] : ends[place + 1]].tolist())
    return int(ranks[run]), key


class _Runs(NamedTuple):
    """The candidates between neighboring records; run r is those above r records of the range.

    A record (k, u) lies below the candidates (k, v) with v > u.
    """

    keys: Keys
    coins: Keys
    offset: int
    first: int
    last: int

    @classmethod
    def of(cls, part: _Part) -> _Runs:
        start, stop = np.searchsorted(part.keys, [part.first, part.last + 1]).tolist()
        return cls(part.keys[start:stop], part.coins[start:stop], start, part.first, part.last)

    def masses(self) -> Floats:
        """Return the masses of all runs, to a few ulps."""
        is_new = np.diff(self.keys, prepend=self.first - 1) != 0
        distinct = self.keys[is_new]
        around = np.stack([distinct - 1, distinct], axis=1).ravel()
        edges = np.concatenate([[self.first - 1], around, [self.last]])
        gaps_and_atoms = _approximate_masses(edges)
        gaps, atoms = gaps_and_atoms[0::2], gaps_and_atoms[1::2]
        own = atoms[np.cumsum(is_new) - 1]
        before = np.where(is_new, -1, np.concatenate([[-1], self.coins[:-1]]))
        found = np.append(own * ((self.coins - before) / _COINS), 0.0)
        # Where a key is new, the rest of the atom before it and the gap between them come first.
        new = np.append(np.flatnonzero(is_new), len(self.keys))
        found[new] += gaps
        found[new[1:]] += atoms * ((_COINS - 1 - self.coins[new[1:] - 1]) / _COINS)
        return found

    def pieces(self, run: int) -> list[tuple[int, int, int]]:
        """Return what a run is made of: keys in (before, to], and coins of each, exactly."""
        left, right = self._at(run - 1), self._at(run)
        if left is not None and right is not None and left[0] == right[0]:
            return [(left[0] - 1, left[0], right[1] - left[1])]
        found = [] if left is None else [(left[0] - 1, left[0], _COINS - 1 - left[1])]
        before = self.first - 1 if left is None else left[0]
        found.append((before, self.last if right is None else right[0] - 1, _COINS))
        return found if right is None else [*found, (right[0] - 1, right[0], right[1] + 1)]

    def _at(self, place: int) -> tuple[int, int] | None:
        if not 0 <= place < len(self.keys):
            return None
        return int(self.keys[place]), int(self.coins[place])

    def mass(self, run: int) -> int:
        """Return the mass of a run."""
        return sum(mass for _, mass in self._with_masses([run]))

    def _with_masses(self, runs: list[int]) -> list[tuple[tuple[int, int, int], int]]:
        pieces = [(run, *piece) for run in runs for piece in self.pieces(run)]
        edges = np.array([[before, to] for _, before, to, _ in pieces], dtype=np.int64)
        sizes = _base_cumulative(edges[:, 1]) - _base_cumulative(edges[:, 0])
        return [
            ((run, before, to), int(size) * coins)
            for (run, before, to, coins), size in zip(pieces, sizes, strict=True)
        ]

    def draw(self, runs: list[int]) -> tuple[int, int]:
        """Draw a key from some runs in proportion to the base measure, exactly."""
        pieces = self._with_masses(runs)
        position = uniform_integer(0, sum(mass for _, mass in pieces) - 1)
        for (run, before, to), mass in pieces:
            if position < mass:
                (key,) = _draw_keys([(np.array([before]), np.array([to]))])
                return run, key
            position -= mass
        raise InternalError("The masses of a run do not add up.")
