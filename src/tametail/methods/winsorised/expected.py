"""Releases of a law that is known: what a plan predicts of its interval.

The estimator itself is run, on the answers that are expected of n records of the law. Where the
interval follows from the shape of the tail, noise on the octave counts widens it, so usual noise is
added to them: quantiles of its law in a fixed order, in a few turns, of which the median counts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from tametail.errors import InternalError
from tametail.inequalities.lognormal import REFERENCE_SD
from tametail.inequalities.quantiles import normal_tail
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.estimate import winsorised_mean
from tametail.methods.winsorised.reference import Reference
from tametail.plans import REFERENCE, WORST
from tametail.privacy.budget import noise_for
from tametail.queries.column import (
    SOFT_ONE,
    ClippedSum,
    Count,
    DistanceSum,
    Median,
    Squares,
    TailNodes,
)
from tametail.queries.crowd import Crowd
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.methods.winsorised.column import ColumnPlan as Plan
    from tametail.privacy.budget import Budget
    from tametail.privacy.unit import Unit
    from tametail.queries.query import Query

Array = npt.NDArray[np.float64]

#: Points of a law: normal ones reach so many standard deviations, in steps of one part of one.
_REACH, _STEPS = 8, 48

#: Multiples of this, less whole numbers, are spread evenly; where each turn begins.
_GOLDEN, _TURNS = (math.sqrt(5) - 1) / 2, (0.1, 0.3, 0.5, 0.7, 0.9)


class Law(NamedTuple):
    """Points in order, and their probabilities."""

    points: Array
    masses: Array

    def moved(self, factor: float, shift: float = 0.0) -> Law:
        """Return the law of ``factor * X + shift``, for a positive factor."""
        return Law(self.points * factor + shift, self.masses)

    def moment(self, k: float) -> float:
        """Return (E|X - mean|^k)^(1/k)."""
        mean = float(self.points @ self.masses)
        return math.pow(float(np.abs(self.points - mean) ** k @ self.masses), 1 / k)


@lru_cache(maxsize=1)
def normal() -> Law:
    """Return the standard normal law."""
    edges = np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1) / _STEPS
    above = normal_tail(edges)
    # Far out the smaller tail has more digits.
    masses = np.where(edges[1:] <= 0, above[:0:-1] - above[-2::-1], above[:-1] - above[1:])
    masses = np.abs(masses)
    return Law((edges[1:] + edges[:-1]) / 2, masses / masses.sum())


@lru_cache(maxsize=1)
def lognormal() -> Law:
    """Return the lognormal law with sigma = 1, in its standard deviations."""
    law = normal()
    return Law(np.exp(law.points) / REFERENCE_SD, law.masses)


def uniform(low: float, high: float) -> Law:
    """Return the uniform law on [low, high]."""
    parts = (np.arange(512) + 0.5) / 512
    return Law(low + (high - low) * parts, np.full(512, 1 / 512))


def at_the_ends(low: float, high: float) -> Law:
    """Return the law with the largest variance on [low, high]: half of the records at each end."""
    return Law(np.array([low, high]), np.array([0.5, 0.5]))


def half_width(plan: Plan, confidence: float, law: str = WORST) -> float | None:
    """Predict the half-width of the first interval, the one that ``low`` and ``high`` show.

    Without a tail that is for lognormal records, in their standard deviations; with a ``Moment``
    for the worse of normal and lognormal records with that moment; with bounds for the worst law
    within them, half of the records at each end, or with ``law="reference"`` for uniform ones.
    Infinite if nothing would stand out of the noise.
    """
    if plan.half is not None:  # it is in the units of the records, which nobody told
        plan = replace(plan, half=None, possible=plan.within)
    if plan.n is None:
        return None
    tail = plan.tail
    if tail is None:
        width = _usual_width(plan, confidence, lognormal())
        # Where few records stand out, by chance, an interval is narrow for what is not seen.
        enough = math.ceil(tuned.FEASIBLE / plan.budget.strength)
        if plan.n >= enough or math.isinf(width):
            return width
        return max(width, _usual_width(replace(plan, n=enough), confidence, lognormal()))
    if isinstance(tail, Bounded):
        make = uniform if law == REFERENCE else at_the_ends
        return _width(plan, confidence, make(tail.low, tail.high))
    if Reference.of(plan, (0.0, 0.0)).noise > 0:  # clip points do not follow from the records
        return _width(plan, confidence, normal().moved(tail.scale / normal().moment(tail.k)))
    scaled = (one.moved(tail.scale / one.moment(tail.k)) for one in (normal(), lognormal()))
    return max(_usual_width(plan, confidence, one) for one in scaled)


def _usual_width(plan: Plan, confidence: float, law: Law) -> float:
    """Return the median of the half-widths with usual noise."""
    return sorted(_width(plan, confidence, law, turn) for turn in _TURNS)[len(_TURNS) // 2]


def _width(plan: Plan, confidence: float, law: Law, turn: float | None = None) -> float:
    """Return the half-width of the first interval of a release of n records of the law.

    Without a ``turn`` there is no noise.
    """
    answers = _Expected(law, max(plan.n or 1, 1), plan.unit, turn)
    found = winsorised_mean(replace(plan, confidence=confidence), cast("Ask", answers))
    interval = found.intervals[0]
    if not math.isfinite(interval.high - interval.low):
        return math.inf
    return interval.high / 2 - interval.low / 2


class _Expected:
    """Answers with what is expected of n records, with noise on the octave counts if any."""

    def __init__(self, law: Law, n: int, unit: Unit, turn: float | None) -> None:
        self._law, self._n, self._unit, self._turn = law, n, unit, turn

    def __call__(self, query: Query[object], cost: Budget) -> object:
        """Return the expected answer."""
        if isinstance(query, Count):
            return (self._n,)
        if isinstance(query, Median | Crowd):
            return self._median(query) if isinstance(query, Median) else self._bucket(query)
        if isinstance(query, TailNodes):
            return tuple(map(round, self._nodes(query) + self._noise(query, cost)))
        if isinstance(query, Squares):
            return self._squares(query)
        if isinstance(query, DistanceSum | ClippedSum):
            return self._sum(query, query.centre if isinstance(query, DistanceSum) else 0.0)
        raise InternalError("nothing is expected of this query.")

    def _add(self, parts: Array) -> int:
        return round(self._n * float(parts @ self._law.masses))

    def _median(self, query: Median) -> float:
        middle = int(np.searchsorted(np.cumsum(self._law.masses), 0.5 - 1e-9))
        return min(max(float(self._law.points[middle]), query.low), query.high)

    def _bucket(self, query: Crowd) -> int | None:
        keys = np.floor(self._law.points * query.inverse_width)
        inside = (keys >= query.low) & (keys <= query.high)
        found, places = np.unique(keys[inside], return_inverse=True)
        if not len(found):
            return None
        masses = np.bincount(places, weights=self._law.masses[inside])
        return int(found[np.argmax(masses)])

    def _sum(self, query: DistanceSum | ClippedSum, centre: float) -> tuple[int, ...]:
        lattice, weight = query.lattice, query.count_weight
        ticks = np.ldexp(self._law.points - centre, -lattice.exponent)
        total = self._add(np.clip(ticks, lattice.low, lattice.high) - lattice.centre)
        return (total, weight * self._n) if weight else (total,)

    def _squares(self, query: Squares) -> tuple[int]:
        cap = (16 + query.cap) * math.ldexp(1.0, query.octave - 4)
        distances = np.minimum(np.abs(self._law.points - query.centre), cap)
        return (self._add(distances**2 / query.unit),)

    def _noise(self, query: TailNodes, cost: Budget) -> Array:
        size = 2 * len(query.nodes) + query.counted
        if self._turn is None:
            return np.zeros(size)
        sensitivity = query.sensitivity(self._unit)
        noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
        parts = (np.arange(size) * _GOLDEN + self._turn) % 1.0
        parts = np.clip(parts, 0.5 / size, 1 - 0.5 / size)
        if noise.kind == "laplace":
            far = np.where(parts < 0.5, parts, 1 - parts)
            units = -np.sign(parts - 0.5) * np.log(2 * far)
        else:
            units = np.array([NormalDist().inv_cdf(part) for part in parts.tolist()])
        found: Array = noise.scale * units
        return found

    def _nodes(self, query: TailNodes) -> Array:
        nodes = np.array(query.nodes)
        distances = self._law.points - query.centre
        counts = np.zeros((2, len(nodes)))
        far = np.abs(distances) >= 2.0**-1022
        fractions, exponents = np.frexp(np.abs(distances[far]))
        octaves, sides = exponents - 1, (distances[far] > 0).astype(np.intp)
        upper = np.floor(32 * fractions - 16) * 2 + 1  # of 32, at the next octave
        masses = self._law.masses[far] * self._n
        lows, highs = (np.searchsorted(nodes, octaves + step) for step in (0, 1))
        apart = (nodes[np.minimum(lows, len(nodes) - 1)] == octaves) & (
            nodes[np.minimum(highs, len(nodes) - 1)] == octaves + 1
        )
        upper = np.where(apart, upper, SOFT_ONE)
        lows, highs = (np.minimum(places, len(nodes) - 1) for places in (lows, highs))
        np.add.at(counts, (sides, highs), masses * upper)
        np.add.at(counts, (sides, lows), masses * (SOFT_ONE - upper))
        return np.append(counts.ravel(), [SOFT_ONE * self._n] * query.counted)
