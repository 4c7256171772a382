"""PDPODME, CDPODME and ADPODME: the one-dimensional mean estimators.

Algorithm ``pdpodme`` and Theorems ``one-d-pdp``, ``one-d-adp-cdp`` of the paper, read with
``docs/corrections``.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from tametail.paper.range import Range, range_estimator
from tametail.privacy.budget import Approx, Budget, Pure
from tametail.queries.column import ClippedSum, Lattice

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
) -> float:
    """Return the median over blocks of noisy means, each winsorised to a private range.

    ``size`` is the public number of records, ``blocks`` the odd number m of blocks; ``radius`` and
    ``margin`` are those of :func:`range_estimator`.
    """
    # "Z <- (X_1..X_n), W <- (X_n+1..X_2n)"; blocks of n // m records, the rest unused (P1).
    half = size // 2
    blocks = min(blocks, max(half - (half + 1) % 2, 1))  # odd, and none is empty
    per_block = half // blocks
    locating, averaging = (
        [_rows(start, half, block, per_block) for block in range(blocks)] for start in (0, half)
    )

    # All 2m parts are disjoint, so each may use the full budget (P3).
    parts = ask.parts(locating + averaging)
    means = []
    for ask_z, ask_w in zip(parts[:blocks], parts[blocks:], strict=True):
        # "I_i <- PDPRE(Z_i)"
        interval = range_estimator(ask_z, budget, radius=radius, R=R, margin=margin)
        # "Set x to be the nearest end-point of I_i; mu_i <- mean + Lap(|I_i| / (eps b))" (P2, P5)
        means.append(_noisy_mean(ask_w, budget, interval, per_block))
    # "Median": of the noisy means (P4).
    return median(means)


def _rows(start: int, half: int, block: int, per_block: int) -> tuple[int, int]:
    first, stop = (min(edge * per_block, half) for edge in (block, block + 1))
    return start + first, start + stop


def _noisy_mean(ask: Ask, budget: Budget, interval: Range, per_block: int) -> float:
    # ADPODME keeps the Laplace mechanism; its delta is spent on the other half of the data.
    cost = Pure(budget.epsilon) if isinstance(budget, Approx) else budget
    side = interval.side
    lattice = Lattice.below_noise(
        interval.centre, side, side, strength=cost.strength, records=per_block
    )
    # A missing record counts as the centre, so the mean divides by the public block size.
    (total,) = ask(ClippedSum(lattice), cost)
    return lattice.value(lattice.centre + total / max(per_block, 1))
