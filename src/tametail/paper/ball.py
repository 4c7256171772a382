"""CDPHDME and its twins for other budgets: the mean of the records in a small ball.

Algorithm ``cdphdme`` and Theorems ``high-d-cdp``, ``high-d-adp`` of the paper, read with
``docs/explanation/corrections``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tametail.paper.univariate import mean_estimator
from tametail.privacy.budget import Budget
from tametail.queries.paper import BallMean
from tametail.theory.multivariate import gaussian_strength

if TYPE_CHECKING:
    from tametail.ask import Ask


class Coordinates(NamedTuple):
    """The public numbers of the one-dimensional estimators, one of them for each column."""

    costs: list[Budget]
    blocks: int
    radius: float
    R: float
    margin: float | None = None


def ball_estimator(
    ask: Ask, budget: Budget, *, size: int, radius: float, coarse: Coordinates
) -> list[float]:
    """Return the noisy mean of the records within ``radius`` of a coarse center."""
    # "Y <- (X_1..X_n), Z <- (X_n+1..X_2n)": disjoint, so each may use the full budget (P3).
    half = size // 2
    ask_y, ask_z = ask.disjoint(
        [ask.relation.between(0, half), ask.relation.between(half, 2 * half)]
    )

    # "c_i <- CDPODME_{rho/d, 1, 0.1/d, R}(Y^i)"
    center = coordinate_means(ask_y, size=half, coordinates=coarse)

    # "Z'' <- Z in B(c, r); Z' <- Z'' - c; l <- max(|Z'|, 3n/4)": a query of its own (P9).
    query = BallMean.around(center, radius, size=half, strength=gaussian_strength(budget))

    # "mu <- sum(Z') / l + N(0, 32 r^2 / (9 rho n^2))": 8r/(3n) in L2, by P13 for approximate DP.
    # For pure DP (ours, not the paper's) noise whose density falls with its length.
    noisy = ask_z(query, budget)
    # "return mu + c"
    return query.value(noisy)


def coordinate_means(ask: Ask, *, size: int, coordinates: Coordinates) -> list[float]:
    """Run PDPODME, CDPODME or ADPODME on every column: the costs add up."""
    return [
        mean_estimator(
            ask.on(ask.relation.column(index), cost),
            cost,
            size=size,
            blocks=coordinates.blocks,
            radius=coordinates.radius,
            R=coordinates.R,
            margin=coordinates.margin,
        )
        for index, cost in enumerate(coordinates.costs)
    ]
