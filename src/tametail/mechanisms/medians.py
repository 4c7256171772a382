"""Private medians over all finite doubles, of one column or of many, by the exponential mechanism.

Most of the time of an exact choice would go into big integers that do not decide it. Here the first
64 bits of the draw are compared with weights in floating point, whose error is below 2^-21 of
their sum. If they lie clearly inside of a level, more exact weights and more bits could not change
the answer; if they do not (about once in 10^4 draws), exact weights decide, with more bits
appended *to the same draw*. So the law is exactly that of :mod:`tametail.mechanisms.select`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tametail.doubles import from_key, to_key
from tametail.errors import InternalError
from tametail.mechanisms.candidates import (
    _Atom,
    _base_cumulative,
    _median_runs,
    _Points,
    components,
)
from tametail.mechanisms.select import _draw_level, uniform_integer
from tametail.privacy.adjacency import Adjacency
from tametail.randomness import random_bits, random_bytes

Keys = NDArray[np.int64]
Floats = NDArray[np.float64]

#: How close to the end of a level a draw must not be, as a part of all weights: above what floating
#: point can err, which is below 2^-21.
DOUBT = 2.0**-20

#: Edges of runs, and columns, that are worked on at a time.
_MOST_EDGES, MOST_COLUMNS = 1 << 15, 1 << 8

#: Sums of more weights may err by more; then exact weights decide.
_MOST_WEIGHTS = 1 << 22


class _Column(NamedTuple):
    edges: Keys
    scores: Keys


def choose_median(
    keys: Keys,
    counts: Keys,
    rate: Fraction | float,
    *,
    adjacency: Adjacency,
    low: float = -math.inf,
    high: float = math.inf,
) -> float:
    """Choose a median among all finite doubles in [low, high] by the exponential mechanism.

    A double t has weight base(t) exp(rate score(t)), where, with the numbers of records below and
    above t, score(t) = -max(below, above) under replace-one and -abs(below - above) under
    add-remove. Records outside [low, high] count as below or above. ``keys`` are the distinct ones
    of the records, ascending; without records the answer is a draw from the base measure.

    **Formal guarantee**: (2 rate)-DP and (rate^2 / 2)-zCDP under ``adjacency``, since both scores
    have sensitivity 1. See ``docs/proofs/selection.md``.

    >>> keys = to_key([18.5, 19.99, 24.0])
    >>> choose_median(keys, np.array([200, 9000, 800]), rate=0.5, adjacency=Adjacency.REPLACE_ONE)
    19.99
    """
    (value,) = choose_many_medians([(keys, counts)], [(low, high)], Fraction(rate), adjacency)
    return value


def choose_many_medians(
    columns: Sequence[tuple[Keys, Keys]],
    ranges: Sequence[tuple[float, float]],
    rate: Fraction,
    adjacency: Adjacency,
) -> Iterator[float]:
    """Yield a median for every column, as :func:`choose_median` would choose it.

    **Formal guarantee**: each answer is (2 rate)-DP and (rate^2 / 2)-zCDP. See
    ``docs/proofs/vectors.md``.

    >>> column = to_key([18.5, 19.99, 24.0]), np.array([200, 9000, 800])
    >>> list(choose_many_medians([column], [(0, 100)], Fraction(1, 2), Adjacency.REPLACE_ONE))
    [19.99]
    """
    if not rate >= 0:
        raise InternalError("The rate of a median must be at least 0.")
    if not all(low <= high for low, high in ranges):
        raise InternalError("A median needs low <= high.")
    waiting: list[_Column] = []
    size = 0
    limits = to_key(np.array(ranges, dtype=np.float64).ravel()).reshape(-1, 2).tolist()
    for (keys, counts), (first, last) in zip(columns, limits, strict=True):
        waiting.append(_Column(*_median_runs(keys, counts, adjacency, first, last)))
        size += len(waiting[-1].edges)
        if size > _MOST_EDGES or len(waiting) == MOST_COLUMNS:
            yield from _choose(waiting, rate)
            waiting, size = [], 0
    yield from _choose(waiting, rate)


def _choose(columns: list[_Column], rate: Fraction) -> Iterator[float]:
    if not columns:
        return
    levels = []
    for (edges, scores), score in zip(columns, _choose_scores(columns, rate), strict=True):
        runs = np.flatnonzero(scores == score)
        levels.append((edges[runs], edges[runs + 1]))
    yield from map(from_key, _draw_keys(levels))


def _approximate_masses(edges: Keys) -> Floats:
    """Return the base mass of (edge, next edge] for all edges but the last, to a few ulps.

    Inside of an octave it is a number of points times their weight. A run that reaches across the
    end of an octave is computed in integers: there a difference of large numbers may be small.
    """
    masses = np.zeros(len(edges) - 1)
    across = np.zeros(len(edges) - 1, dtype=np.bool_)
    negative = edges < 0
    across |= negative[1:] != negative[:-1]
    magnitudes = np.where(negative, ~edges, edges)
    for lattice, weights in _lattices():
        points = lattice.count_to(magnitudes)
        block = np.searchsorted(lattice.starts, points, side="right") - 1
        across |= block[1:] != block[:-1]
        masses += weights[block[1:]] * np.abs(np.diff(points)).astype(np.float64)
    crossing = np.flatnonzero(across)
    begins, ends = _base_cumulative(edges[np.array([crossing, crossing + 1])])
    masses[crossing] = (ends - begins).astype(np.float64)
    return masses


@lru_cache(maxsize=1)
def _lattices() -> list[tuple[_Points, Floats]]:
    """Return the components with many points, and their weights in floating point."""
    parts = [part for part in components() if isinstance(part, _Points)]
    return [(part, np.array(part.weights.tolist(), dtype=np.float64)) for part in parts]


def _choose_scores(columns: list[_Column], rate: Fraction) -> list[int]:
    """Choose a level, that is a score, of every column with probability proportional to its weight.

    All columns are worked on together: one array holds their levels, best first, in turn.
    """
    sizes = [len(column.edges) for column in columns]
    masses = _approximate_masses(np.concatenate([column.edges for column in columns]))
    masses = np.delete(masses, np.cumsum(sizes)[:-1] - 1)  # between two columns there is no run
    owners = np.repeat(np.arange(len(columns)), np.array(sizes) - 1)
    scores = np.concatenate([column.scores for column in columns])
    present = np.flatnonzero(masses)  # a gap between neighboring doubles is empty
    order = present[np.lexsort((-scores[present], owners[present]))]
    owners, scores, masses = owners[order], scores[order], masses[order]
    best = scores[np.searchsorted(owners, np.arange(len(columns)))]
    weights = masses * np.exp(-float(rate) * (best[owners] - scores))
    is_new = (owners[1:] != owners[:-1]) | (scores[1:] != scores[:-1])
    levels = np.flatnonzero(np.append(True, is_new))
    starts = np.searchsorted(owners[levels], np.arange(len(columns)))
    chosen = []
    for column, (level, draw) in enumerate(clear_choices(np.add.reduceat(weights, levels), starts)):
        known = None if level is None else int(scores[levels[level]])
        chosen.append(_exact_score(*columns[column], rate, draw) if known is None else known)
    return chosen


def clear_choices(weights: Floats, starts: Keys) -> Iterator[tuple[int | None, int]]:
    """Draw 64 bits for every group of weights, and say which weight they choose for certain.

    The groups begin at ``starts``. Yields the place of the weight, or None if the draw is too near
    to its ends, and the draw.
    """
    draws = np.frombuffer(random_bytes(8 * len(starts)), dtype="<u8")
    return zip(clear_places(weights, starts, draws), draws.tolist(), strict=True)


def clear_places(weights: Floats, starts: Keys, draws: NDArray[np.uint64]) -> list[int | None]:
    """Return the weight of each group in which its draw lies for certain; None near an end."""
    if len(weights) > _MOST_WEIGHTS:
        return [None] * len(starts)
    last = np.append(starts[1:], len(weights)) - 1
    shares = weights / np.repeat(np.add.reduceat(weights, starts), last - starts + 1)
    ends = np.cumsum(shares)  # group g is between g and g + 1
    targets = np.arange(len(starts)) + draws / 2.0**64
    found = np.clip(np.searchsorted(ends, targets, side="right"), starts, last)
    before = np.where(found == starts, -np.inf, ends[found - 1])
    # u < 1, so that the last weight has no end to be near to.
    after = np.where(found == last, np.inf, ends[found])
    clear = (before + DOUBT <= targets) & (targets <= after - DOUBT)
    return [int(place) if sure else None for place, sure in zip(found, clear, strict=True)]


def _draw_keys(levels: list[tuple[Keys, Keys]]) -> Iterator[int]:
    """Draw a key from the runs of each level in proportion to the base measure, exactly.

    A level is given by the edges before its runs and at their ends.
    """
    edges = np.concatenate([np.array(level) for level in levels], axis=1)
    masses = [component.cumulative(edges).tolist() for component in components()]
    first = 0
    for before, _ in levels:
        last = first + len(before)
        spans = [
            (component, starts[run], stops[run])
            for component, (starts, stops) in zip(components(), masses, strict=True)
            for run in range(first, last)
        ]
        yield _draw_key(spans)
        first = last


def _draw_key(spans: list[tuple[_Atom | _Points, int, int]]) -> int:
    """Draw a key from parts of components, each from one cumulative mass to another."""
    position = uniform_integer(0, sum(stop - start for _, start, stop in spans) - 1)
    for component, start, stop in spans:
        if position < stop - start:
            return component.key_at(start + position)
        position -= stop - start
    raise InternalError("The masses of a level do not add up.")


def _exact_score(edges: Keys, scores: Keys, rate: Fraction, draw: int) -> int:
    """Decide between levels in integers, for a draw that begins with these 64 bits."""
    masses: dict[int, int] = {}
    for score, mass in zip(scores.tolist(), np.diff(_base_cumulative(edges)), strict=True):
        if mass:
            masses[score] = masses.get(score, 0) + int(mass)
    best_first = sorted(masses, reverse=True)
    levels = [(best_first[0] - score, masses[score]) for score in best_first]
    return best_first[exact_level(levels, rate, draw)]


def exact_level(levels: list[tuple[int, int]], rate: Fraction, draw: int) -> int:
    """Decide as the exact exponential mechanism does, for a draw that begins with these 64 bits.

    The levels (t, mass) ascend in t from t = 0.
    """
    known = [draw]

    def randbits(bits: int) -> int:
        fresh = random_bits(bits)
        if known:  # the first bits of the draw are given
            rest = bits - 64
            return known.pop() << rest | fresh & (1 << rest) - 1
        return fresh

    return _draw_level(levels, rate, randbits)
