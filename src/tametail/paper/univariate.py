"""PDPODME, CDPODME and ADPODME: the one-dimensional mean estimators.

Algorithm ``pdpodme`` and Theorems ``one-d-pdp``, ``one-d-adp-cdp`` of the paper, read with
``docs/explanation/corrections``.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from tametail.paper.range import Range, range_estimator
from tametail.privacy.budget import Approx, Budget, Pure
from tametail.queries.column import ClippedSum, ClippingGrid

if TYPE_CHECKING:
    from tametail.ask import Ask


def mean_estimator(
    ask: Ask,
    budget: Budget,
    *,
    size: int,
    blocks: int,
    radius: float,
    R: float,
    margin: float | None = None,
    locating: int | None = None,
) -> float:
    """Return the median over blocks of noisy means, each winsorized to a private range.

    ``size`` is the public number of records, ``blocks`` the odd number m of blocks; ``radius`` and
    ``margin`` are those of :func:`range_estimator`. ``locating`` records find the ranges, half of
    all in the paper, and the others are averaged.
    """
    # "Z <- (X_1..X_n), W <- (X_n+1..X_2n)"; blocks of n // m records, the rest unused (P1).
    half = size // 2
    blocks = min(blocks, max(half - (half + 1) % 2, 1))  # odd, and none is empty
    first = half if locating is None else locating
    second = half if locating is None else size - first
    spans = [
        _rows(start, length // blocks, block)
        for start, length in ((0, first), (first, second))
        for block in range(blocks)
    ]

    # All 2m parts are disjoint, so each may use the full budget (P3).
    parts = ask.disjoint([ask.relation.between(*span) for span in spans])
    means = []
    for ask_z, ask_w in zip(parts[:blocks], parts[blocks:], strict=True):
        # "I_i <- PDPRE(Z_i)"
        interval = range_estimator(ask_z, budget, radius=radius, R=R, margin=margin)
        # "Set x to be the nearest end-point of I_i; mu_i <- mean + Lap(|I_i| / (eps b))" (P2, P5)
        means.append(_noisy_mean(ask_w, budget, interval, second // blocks))
    # "Median": of the noisy means (P4).
    return median(means)


def _rows(start: int, per_block: int, block: int) -> tuple[int, int]:
    first, stop = (start + edge * per_block for edge in (block, block + 1))
    return first, stop


def _noisy_mean(ask: Ask, budget: Budget, interval: Range, per_block: int) -> float:
    # ADPODME keeps the Laplace mechanism; its delta is spent on the other half of the data.
    cost = Pure(budget.epsilon) if isinstance(budget, Approx) else budget
    side = interval.side
    lattice = ClippingGrid.below_noise(
        interval.center, side, side, strength=cost.strength, records=per_block
    )
    # A missing record counts as the center, so the mean divides by the public block size.
    (total,) = ask(ClippedSum(lattice), cost)
    return lattice.value(lattice.center + total / max(per_block, 1))
