"""CDPHDME and its (epsilon, delta) twin: the mean of the records in a small ball.

Algorithm ``cdphdme`` and Theorems ``high-d-cdp``, ``high-d-adp`` of the paper, read with
``docs/corrections``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from tametail.paper.univariate import mean_estimator
from tametail.privacy.accounting import square_root_down
from tametail.privacy.budget import Approx, Budget, analytic_gaussian_sigma, approx_to_zcdp
from tametail.queries.paper import BallMean

if TYPE_CHECKING:
    from tametail.ask import Ask

#: Below this dimension the chi-square step of the proof fails (A10): coordinate by coordinate.
LEAST_DIMENSION = 21


class Coordinates(NamedTuple):
    """The public numbers of the one-dimensional estimators, one of them for each column."""

    costs: list[Budget]
    blocks: int
    radius: float
    R: float


def ball_estimator(
    ask: Ask, budget: Budget, *, size: int, radius: float, coarse: Coordinates
) -> list[float]:
    """Return the noisy mean of the records within ``radius`` of a coarse centre."""
    # "Y <- (X_1..X_n), Z <- (X_n+1..X_2n)": disjoint, so each may use the full budget (P3).
    half = size // 2
    ask_y, ask_z = ask.parts([(0, half), (half, 2 * half)])

    # "c_i <- CDPODME_{rho/d, 1, 0.1/d, R}(Y^i)"
    centre = coordinate_means(ask_y, size=half, coordinates=coarse)

    # "Z'' <- Z in B(c, r); Z' <- Z'' - c; l <- max(|Z'|, 3n/4)": a query of its own (P9).
    query = BallMean.around(centre, radius, size=half, strength=_strength(budget))

    # "mu <- sum(Z') / l + N(0, 32 r^2 / (9 rho n^2))": 8r/(3n) in L2, by P13 for approximate DP.
    noisy = ask_z(query, budget)
    # "return mu + c"
    return query.value(noisy)


def coordinate_means(ask: Ask, *, size: int, coordinates: Coordinates) -> list[float]:
    """Run PDPODME, CDPODME or ADPODME on every column: the costs add up."""
    return [
        mean_estimator(
            ask.column(index, cost),
            cost,
            size=size,
            blocks=coordinates.blocks,
            radius=coordinates.radius,
            R=coordinates.R,
        )
        for index, cost in enumerate(coordinates.costs)
    ]


def coordinate_costs(budget: Budget, dim: int) -> list[Budget]:
    """Return what each of ``dim`` calls on the same records may cost.

    Pure and zCDP costs are shared out. For approximate DP (P13) a call is (eps0, delta0)-DP with
    ``delta0 = delta/(2d)``, hence delta0-approximate eps0^2/2-zCDP, and all of them together are
    converted at the other half of delta; or both numbers are shared out, if that gives more.

    >>> from tametail.privacy.budget import zcdp
    >>> coordinate_costs(zcdp(0.5), 2)
    [Zcdp(rho=0.25), Zcdp(rho=0.25)]
    """
    equal: list[Budget] = list(budget.split(*[1 / dim] * dim))
    if not isinstance(budget, Approx):
        return equal
    rho = approx_to_zcdp(budget.epsilon, budget.delta / 2)
    # A little less, since the account converts at a delta that is rounded otherwise.
    epsilon = square_root_down(2 * Fraction(rho) / dim) * (1 - 1e-12)
    concentrated = Approx(epsilon, budget.delta / (2 * dim) * (1 - 1e-12))
    return equal if budget.epsilon / dim >= epsilon else [concentrated] * dim


def _strength(budget: Budget) -> float:
    """Return the sensitivity over the standard deviation of the noise that the budget buys."""
    if isinstance(budget, Approx):
        return 1 / analytic_gaussian_sigma(1.0, budget.epsilon, budget.delta)
    return budget.strength
