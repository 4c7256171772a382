"""PDPHDME: a tournament between the points of a small grid.

Algorithm ``pdphdme`` and Theorem ``high-d-pdp`` of the paper, read with
``docs/explanation/corrections``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.errors import ParameterError
from tametail.paper.ball import Coordinates, coordinate_means
from tametail.privacy.budget import Budget
from tametail.queries.paper import Scores
from tametail.theory.multivariate import Tournament

if TYPE_CHECKING:
    from tametail.ask import Ask

#: A step of the grid is cut into this many bits, if the sums then fit in 64.
_STEP_BITS = 10


def tournament_estimator(
    ask: Ask, budget: Budget, *, size: int, coarse: Coordinates, grid: Scores
) -> list[float]:
    """Return the private winner among the points of ``grid``, moved to a coarse center."""
    # "Y <- (X_1..X_n), Z <- (X_n+1..X_2n)": disjoint, so each may use the full budget (P3).
    half = size // 2
    ask_y, ask_z = ask.disjoint(
        [ask.relation.between(0, half), ask.relation.between(half, 2 * half)]
    )

    # "c_i <- PDPODME_{eps/d, tau, R}(Y^i)", tau the half-width of the box (A11)
    center = coordinate_means(ask_y, size=half, coordinates=coarse)

    # "J_i <- {c_i - tau, ..., c_i + tau}; S <- J_1 x ... x J_d; compute Score w.r.t. Z"
    return play(ask_z, budget, center, grid)


def play(ask: Ask, budget: Budget, center: Sequence[float], grid: Scores) -> list[float]:
    """Run the exponential mechanism on the scores, computed on the records of ``ask`` alone."""
    query = replace(grid, center=tuple(center))
    # "Run Exponential Mechanism w.r.t. Score (sensitivity 1, privacy budget eps)"
    return query.value(ask(query, budget))


def grid_for(
    game: Tournament, *, n_columns: int, size: int, scale: float, default: int = 0
) -> Scores:
    """Return the grid, the ties and the blocks of ``game`` in integers, around the origin.

    With fewer records than the theorem asks for, there are fewer blocks: each is long enough for
    its mean to be accurate, by Chebyshev's inequality (A6).
    """
    precision = scale / game.block_accuracy
    blocks = int(max(min(game.blocks, size // max(10 * precision * precision, 1.0)), 1))
    # Sums of 64 bits hold no more than this, whatever the tick.
    finest = _STEP_BITS if game.xi / game.step < 2.0**60 else -1
    for bits in range(finest, -1, -1):
        exponent = math.frexp(game.step)[1] - 1 - bits
        grid = Scores(
            center=(0.0,) * n_columns,
            exponent=exponent,
            step=round(math.ldexp(game.step, -exponent)),
            reach=math.ceil(game.half_width / game.step - 1e-9),
            tie=math.floor((game.tie / game.step) ** 2 + 1e-9),
            xi=math.ceil(math.ldexp(game.xi, -exponent)),
            blocks=blocks - (blocks + 1) % 2,
            size=size,
            default=min(default, size),
        )
        if grid.fits():
            return grid
    raise ParameterError(
        f"the truncation xi={game.xi:.3g} is too wide for the step {game.step:.3g} of the grid: "
        "write a larger alpha."
    )
