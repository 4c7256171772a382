"""How many cells were numbers: what answers to ``Count`` say, with noise, about that."""

from __future__ import annotations

from tametail.means import CellCounts
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import Count

#: Noise on one cell exceeds the margin that seldom.
UNUSUAL = 0.001


def read_cells(answer: tuple[int, ...], cost: Budget, adjacency: Adjacency) -> CellCounts | None:
    """Read the noisy counts of cells; None from a transcript that has only the first of them.

    >>> from tametail.privacy.budget import pure
    >>> read_cells((90, 12, 7), pure(1000), Adjacency.ADD_REMOVE).used > 0.88
    True
    """
    if len(answer) < 2:
        return None
    return CellCounts(float(answer[0]), float(answer[1]), count_margin(cost, adjacency))


def count_margin(cost: Budget, adjacency: Adjacency) -> float:
    """Return what noise on a cell of ``Count``, or of ``Rows``, hardly ever exceeds."""
    return count_noise(cost, adjacency).quantile(UNUSUAL)


def count_noise(cost: Budget, adjacency: Adjacency) -> Noise:
    """Return the noise on a cell of ``Count``."""
    sensitivity = Count().sensitivity(adjacency)
    return noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
