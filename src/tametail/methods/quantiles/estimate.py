"""Quantiles of some levels: place points, count the records between them, and conclude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tametail.methods.quantiles.interval import NoisyCells, cut_above, interval
from tametail.methods.quantiles.points import expected_offsets, plan_points
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, noise_for
from tametail.queries.column import MOST_HALVINGS, Quantiles
from tametail.queries.groups import Cells

if TYPE_CHECKING:
    from tametail.ask import Ask

#: Beyond this number of records a secret sample of about as many is looked at.
_SAMPLE_BITS = 21


class Asked(NamedTuple):
    """What is asked for, in public numbers; ``cells`` is None if no interval is wanted."""

    levels: tuple[float, ...]
    n: float
    adjacency: Adjacency
    place: Budget
    cells: Budget | None
    within: tuple[float, float]
    confidence: float
    sampled: bool


class Found(NamedTuple):
    """A quantile and its limits, and the noisy number of records, where they were counted."""

    value: float
    low: float | None
    high: float | None
    records: float | None


def estimate_quantiles(asked: Asked, ask: Ask) -> list[Found]:
    """Place points by one query, and count between them by another."""
    offsets = None
    if asked.cells is not None:
        risk = 1 - asked.confidence
        size = max(asked.n, 1.0)
        one = Cells(()).sensitivity(asked.adjacency)
        noise = noise_for(asked.cells, one.l1, one.l2_squared)
        offsets = expected_offsets(
            asked.levels, size, asked.place, noise, risk, sampled=asked.sampled
        )
    points = plan_points(asked.levels, offsets)
    halvings = min(max(int(asked.n).bit_length() - _SAMPLE_BITS, 0), MOST_HALVINGS)
    placed = ask(Quantiles(halvings, *asked.within, points.levels), asked.place)
    if asked.cells is None:
        return [Found(placed[place], None, None, None) for place in points.own]
    lows = [[placed[place] for place in some] for some in points.lows]
    highs = [[placed[place] for place in some] for some in points.highs]
    cuts = sorted({*_flat(lows), *(cut_above(point) for point in _flat(highs))})
    counts = ask(Cells(tuple(cuts)), asked.cells)
    cells = NoisyCells(tuple(cuts), counts, noise)
    found = []
    for place, level in enumerate(asked.levels):
        low, high = interval(
            cells, level, lows[place], highs[place], asked.confidence, sampled=asked.sampled
        )
        value = min(max(placed[points.own[place]], low), high)
        found.append(Found(value, low, high, float(sum(counts))))
    return found


def _flat(some: Sequence[Sequence[float]]) -> list[float]:
    return [each for own in some for each in own]
