"""The private choice of a bucket that many records are near, by the exponential mechanism.

The candidates are all buckets of a public range, often far more than there are records. Those that
no record is near have the score 0 and are never listed: they are counted, octave by octave of their
keys, since all candidates of an octave weigh the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tametail.errors import InternalError
from tametail.mechanisms.medians import clear_choices, exact_level
from tametail.mechanisms.select import uniform_integer
from tametail.queries.densest_bin import LARGEST_KEY, DensestBin, octave_spans, weight_of

Keys = NDArray[np.int64]

#: Candidates are worked on about so many at a time.
_BLOCK = 1 << 18


class Level(NamedTuple):
    """All candidates with one score whose keys are in one octave."""

    score: int
    octave: int


def select_densest_bin(counts: Mapping[int, int], *, query: DensestBin, rate: Fraction) -> int:
    """Choose a key of low, ..., high that many records are near.

    With m buckets between a record and a candidate, the candidate's score is the sum of
    ``query.weights[m]`` over all records, and its chance is proportional to
    ``weight e^(rate score)``, exactly.

    **Formal guarantee**: (2 rate peak)-DP under replace-one and (rate peak)-DP under add-remove,
    where all scores move the same way; in zCDP half the square, and an eighth of it. See
    ``docs/proofs/selection.md``.

    >>> query = DensestBin(inverse_width=1.0, low=-100, high=100, reach=6, falling=False)
    >>> counts = {40: 500, 41: 600, -7: 900}
    >>> abs(select_densest_bin(counts, query=query, rate=Fraction(1, 2)) - 40) <= 3
    True
    """
    if max(-query.low, query.high) > LARGEST_KEY:
        raise InternalError("The keys of a densest bin are beyond 2^52.")
    near = _Near(counts, query)
    sizes = near.sizes()
    masses: dict[int, int] = {}
    for level, size in sizes.items():
        masses[level.score] = masses.get(level.score, 0) + size * weight_of(level.octave)
    score = _choose_score(masses, rate)
    position = uniform_integer(0, masses[score] - 1)
    for level in sorted(level for level in sizes if level.score == score):
        mass = sizes[level] * weight_of(level.octave)
        if position < mass:
            return near.find(level, position // weight_of(level.octave))
        position -= mass
    raise InternalError("The masses of a level do not add up.")


def _choose_score(masses: Mapping[int, int], rate: Fraction) -> int:
    """Draw a score with probability proportional to mass e^(rate score), exactly.

    As for a median: in floating point where that is certain to be enough, else in integers.
    """
    best_first = sorted(masses, reverse=True)
    levels = [(best_first[0] - score, masses[score]) for score in best_first]
    weights = [mass * math.exp(-min(float(rate) * away, 745.0)) for away, mass in levels]
    ((place, draw),) = clear_choices(np.array(weights), np.zeros(1, dtype=np.int64))
    return best_first[exact_level(levels, rate, draw) if place is None else place]


class _Near:
    """The candidates that some record is near, and the scores of these."""

    def __init__(self, counts: Mapping[int, int], query: DensestBin) -> None:
        self._query = query
        inside = [key for key in counts if query.low <= key <= query.high and counts[key] > 0]
        self._keys = np.array(sorted(inside), dtype=np.int64)
        self._counts = np.array([counts[int(key)] for key in self._keys], dtype=np.int64)

    def sizes(self) -> Counter[Level]:
        """Return how many candidates there are of each level."""
        found: Counter[Level] = Counter()
        listed: Counter[int] = Counter()
        for candidates, scores in self._blocks():
            octaves = self._octaves(candidates)
            # Both in one integer: scores are below 2^57.
            pairs, sizes = np.unique(scores * 64 + (octaves + 1), return_counts=True)
            for pair, size in zip(pairs.tolist(), sizes.tolist(), strict=True):
                level = Level(pair // 64, pair % 64 - 1)
                found[level] += size
                listed[level.octave] += size
        for octave, spans in octave_spans(self._query).items():
            if rest := sum(last - first + 1 for first, last in spans) - listed[octave]:
                found[Level(0, octave)] += rest
        return found

    def find(self, level: Level, index: int) -> int:
        """Return the candidate of this level that has this place among them."""
        if level.score == 0:
            return self._find_far(level.octave, index)
        for candidates, scores in self._blocks():
            mine = candidates[(scores == level.score) & (self._octaves(candidates) == level.octave)]
            if index < len(mine):
                return int(mine[index])
            index -= len(mine)
        raise InternalError("A level has fewer candidates than were counted.")

    def _find_far(self, octave: int, index: int) -> int:
        """Return a candidate that no record is near: the index-th in this octave."""
        starts, stops = self._stretches()
        for first, last in octave_spans(self._query)[octave]:
            before = np.clip(starts, first, last + 1), np.clip(stops, first, last + 1)
            taken = before[1] - before[0]
            free = last - first + 1 - int(taken.sum())
            if index < free:
                # So many free candidates lie before each stretch that is taken.
                ahead = before[0] - first - np.concatenate([[0], np.cumsum(taken)[:-1]])
                passed = int(np.searchsorted(ahead, index, side="right"))
                return first + index + int(taken[:passed].sum())
            index -= free
        raise InternalError("An octave has fewer candidates than were counted.")

    def _octaves(self, candidates: Keys) -> Keys:
        if not self._query.falling:
            return np.full(len(candidates), -1, dtype=np.int64)
        return np.frexp(np.abs(candidates).astype(np.float64))[1].astype(np.int64)

    def _stretches(self) -> tuple[Keys, Keys]:
        """Return where stretches of candidates begin and end that records are near."""
        keys, reach = self._keys, self._query.reach
        apart = np.flatnonzero(np.diff(keys) >= 2 * reach)
        starts = np.concatenate([keys[:1], keys[apart + 1]]) - (reach - 1)
        stops = np.concatenate([keys[apart], keys[-1:]]) + reach
        low, high = self._query.low, self._query.high
        return np.maximum(starts, low), np.minimum(stops, high + 1)

    def _blocks(self) -> Iterator[tuple[Keys, Keys]]:
        """Yield candidates that records are near, and their scores, all of a stretch together."""
        starts, stops = self._stretches()
        lengths = np.cumsum(stops - starts)
        first = 0
        while first < len(starts):
            done = lengths[first - 1] if first else 0
            last = max(int(np.searchsorted(lengths, done + _BLOCK)), first + 1)
            last = min(last, len(starts))
            yield self._block(starts[first:last], stops[first:last])
            first = last

    def _block(self, starts: Keys, stops: Keys) -> tuple[Keys, Keys]:
        """Score all candidates of some stretches."""
        sizes = stops - starts
        offsets = np.cumsum(sizes) - sizes
        candidates = np.arange(int(sizes.sum())) + np.repeat(starts - offsets, sizes)
        first, last = np.searchsorted(self._keys, [starts[0], stops[-1]])
        keys, counts = self._keys[first:last], self._counts[first:last]
        stretch = np.searchsorted(starts, keys, side="right") - 1
        places = keys - starts[stretch] + offsets[stretch]
        scores = np.zeros(len(candidates), dtype=np.int64)
        weights = self._query.weights
        for away in range(1 - self._query.reach, self._query.reach):
            # Keys are distinct, and so are the candidates that are this far from them.
            moved = keys + away
            inside = (moved >= starts[stretch]) & (moved < stops[stretch])
            scores[places[inside] + away] += counts[inside] * weights[abs(away)]
        return candidates, scores
