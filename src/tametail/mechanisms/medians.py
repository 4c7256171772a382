"""Private medians of many columns, with the law of :mod:`tametail.mechanisms.median` and quicker.

Most of the time of an exact choice goes into big integers that do not decide it. Here the first
64 bits of the draw are compared with weights in floating point, whose relative error is below
2^-30. If they lie clearly inside of a level, more exact weights and more bits could not change the
answer; if they do not (about once in 10^7 draws), exact weights decide, with more bits appended
*to the same draw*. So the law is exactly that of ``choose_median``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tametail.doubles import from_key, to_key
from tametail.mechanisms.median import (
    _COMPONENTS,
    _base_cumulative,
    _Lattice,
    _median_runs,
)
from tametail.mechanisms.select import _draw_level, uniform_integer
from tametail.unit import Unit

Keys = NDArray[np.int64]
Floats = NDArray[np.float64]

#: How close to the end of a level a draw must not be, as a part of all weights: far above what
#: floating point can err, which is a few 10^-12.
DOUBT = 2.0**-30

#: Edges of runs that are worked on at a time.
_MOST_EDGES = 1 << 18

_LATTICES = [part for part in _COMPONENTS if isinstance(part, _Lattice)]
_FLOAT_WEIGHTS = [np.array(part.weights.tolist(), dtype=np.float64) for part in _LATTICES]


class _Column(NamedTuple):
    edges: Keys
    scores: Keys


def choose_many_medians(
    columns: Sequence[tuple[Keys, Keys]],
    ranges: Sequence[tuple[float, float]],
    rate: Fraction,
    unit: Unit,
) -> Iterator[float]:
    """Yield a median for every column, as :func:`choose_median` would choose it.

    Parameters
    ----------
    columns
        The distinct keys of each column, ascending, and their counts.
    ranges
        Public bounds of each answer.
    rate
        Weight of one unit of score.
    unit
        The unit of protection; it decides the score.

    Notes
    -----
    **Formal guarantee**: each answer is (2 rate)-DP and (rate^2 / 2)-zCDP. See
    ``docs/proofs/vectors.md``.

    Examples
    --------
    >>> column = to_key([18.5, 19.99, 24.0]), np.array([200, 9000, 800])
    >>> list(choose_many_medians([column], [(0, 100)], Fraction(1, 2), Unit.REPLACE_ONE))
    [19.99]
    """
    waiting: list[_Column] = []
    size = 0
    for (keys, counts), limits in zip(columns, ranges, strict=True):
        first, last = to_key(limits).tolist()
        waiting.append(_Column(*_median_runs(keys, counts, unit, first, last)))
        size += len(waiting[-1].edges)
        if size > _MOST_EDGES:
            yield from _choose(waiting, rate)
            waiting, size = [], 0
    yield from _choose(waiting, rate)


def _choose(columns: list[_Column], rate: Fraction) -> Iterator[float]:
    if not columns:
        return
    masses = _approximate_masses(np.concatenate([column.edges for column in columns]))
    start = 0
    for edges, scores in columns:
        score = _choose_score(edges, scores, masses[start : start + len(scores)], rate)
        yield from_key(_draw_key(edges, np.flatnonzero(scores == score)))
        start += len(edges)


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
    for lattice, weights in zip(_LATTICES, _FLOAT_WEIGHTS, strict=True):
        points = lattice.count_to(magnitudes)
        block = np.searchsorted(lattice.starts, points, side="right") - 1
        across |= block[1:] != block[:-1]
        masses += weights[block[1:]] * np.abs(np.diff(points)).astype(np.float64)
    crossing = np.flatnonzero(across)
    ends, begins = _base_cumulative(edges[crossing + 1]), _base_cumulative(edges[crossing])
    masses[crossing] = [float(end - begin) for end, begin in zip(ends, begins, strict=True)]
    return masses


def _choose_score(edges: Keys, scores: Keys, masses: Floats, rate: Fraction) -> int:
    """Choose a level, that is a score, with probability proportional to its weight."""
    present = np.flatnonzero(masses)  # a gap between neighbouring doubles is empty
    best_first = present[np.argsort(-scores[present], kind="stable")]
    ordered = scores[best_first]
    weights = masses[best_first] * np.exp(-float(rate) * (ordered[0] - ordered))
    last_of_level = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    draw = secrets.randbits(64)
    level = _clear_level(np.cumsum(weights)[last_of_level], draw)
    if level is None:
        return _exact_score(edges, scores, rate, draw)
    return int(ordered[last_of_level[level]])


def _draw_key(edges: Keys, runs: Keys) -> int:
    """Draw a key from the runs of one level in proportion to the base measure, exactly."""
    ends = np.concatenate([edges[runs], edges[runs + 1]])
    spans = []
    for component in _COMPONENTS:
        sums = component.cumulative(ends).tolist()
        starts, stops = sums[: len(runs)], sums[len(runs) :]
        spans += [(component, start, stop) for start, stop in zip(starts, stops, strict=True)]
    position = uniform_integer(0, sum(stop - start for _, start, stop in spans) - 1)
    for component, start, stop in spans:
        if position < stop - start:
            return component.key_at(start + position)
        position -= stop - start
    raise AssertionError("the masses of a level do not add up")


def _clear_level(sums: Floats, draw: int) -> int | None:
    """Return the level in which the draw lies for certain; None if it is near an end."""
    place = draw / 2.0**64 * sums[-1]
    doubt = DOUBT * sums[-1]
    level = int(np.searchsorted(sums, place, side="right"))
    before = sums[level - 1] if level else -np.inf
    # u < 1, so that the last level has no end to be near to.
    after = sums[level] if level < len(sums) - 1 else np.inf
    return level if before + doubt <= place <= after - doubt else None


def _exact_score(edges: Keys, scores: Keys, rate: Fraction, draw: int) -> int:
    """Decide between levels in integers, for a draw that begins with these 64 bits."""
    masses: dict[int, int] = {}
    for score, mass in zip(scores.tolist(), np.diff(_base_cumulative(edges)), strict=True):
        if mass:
            masses[score] = masses.get(score, 0) + int(mass)
    best_first = sorted(masses, reverse=True)
    levels = [(best_first[0] - score, masses[score]) for score in best_first]
    known: Any = [draw]

    def randbits(bits: int) -> int:
        fresh = secrets.randbits(bits)
        if known:  # the first bits of the draw are given
            rest = bits - 64
            return int(known.pop()) << rest | fresh & (1 << rest) - 1
        return fresh

    return best_first[_draw_level(levels, rate, randbits)]
