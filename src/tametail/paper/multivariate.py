"""The public functions for several columns: they check their arguments and call the estimators."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail._validate import one_of, probability
from tametail.charged_calls import payment_of
from tametail.errors import ParameterError
from tametail.paper._arguments import Given
from tametail.paper.ball import ball_estimator, coordinate_means
from tametail.paper.tournament import grid_for, tournament_estimator
from tametail.privacy.budget import Budget, Pure
from tametail.theory._constants import Constants
from tametail.theory.multivariate import (
    BALL_FAILURE,
    LEAST_DIMENSION,
    MOST_COLUMNS,
    ball_radius,
    paper_has_ball,
    tournament,
)

if TYPE_CHECKING:
    from tametail.ledger import Ledger

Vector = npt.NDArray[np.float64]


def mean_ball(
    X: object,
    budget: Budget,
    *,
    alpha: float,
    k: float,
    R: float,
    scale: float = 1.0,
    beta: float = BALL_FAILURE,
    constants: Constants = "tight",
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
) -> Vector:
    """Estimate a mean vector within alpha: CDPHDME, or its twins for approximate and pure DP.

    One half of the rows finds a coarse center c, column by column. Of the other half, n rows, those
    in the ball of radius r around c are summed, divided by ``max(their number, 3n/4)``, and get
    Gaussian noise of standard deviation ``8r / (3n sqrt(2 rho))``. With
    ``E|<X - mu, v>|^k <= scale^k`` for every unit vector v, ``||mu|| <= R`` and
    ``theory.ball_sample_size`` rows, the Euclidean error is at most alpha with probability
    1 - beta (Theorems high-d-cdp, high-d-adp, for beta = 0.3). With ``constants="paper"`` and fewer
    than 21 columns every column is estimated on its own within ``alpha / sqrt(d)``, as the paper
    does with few columns.

    For pure DP, which the paper leaves to :func:`mean_tournament`, the noise has a density
    proportional to ``exp(-3n eps ||z|| / (8r))``. That asks for more records than a tournament by
    the order of ``sqrt(d)``, but runs in time linear in n and d.

    Parameters
    ----------
    X
        The records: a two-dimensional array, a frame with numeric columns or a list of rows. A row
        with a missing or infinite cell is outside of every ball.
    budget
        ``zcdp``, ``approx`` or ``pure``; all of it is spent.
    alpha, k, R, scale
        Accuracy, moment (at least 2), bound on the norm of the mean (infinite for ``approx`` only)
        and the scale of the moment.
    beta
        Failure probability; a smaller one has more blocks in the coarse step. The paper has 0.3.
    constants
        "paper" (``r = 4 sqrt(d) / alpha^(1/(k-1))``) or "tight" (``theory.ball_radius``).
    ledger, dataset, release_id
        As in :func:`tametail.mean`: charged before any record is read.

    Returns
    -------
    numpy.ndarray
        **Formal guarantee**: ``budget`` under replace-one; see docs/proofs/ball.md.

    Examples
    --------
    >>> import tametail as tt
    >>> X = np.tile([[4.0] * 30, [6.0] * 30], (20_000, 1))
    >>> estimate = tt.paper.mean_ball(X, tt.zcdp(0.5), alpha=1.0, k=2, R=100.0)
    >>> bool(np.linalg.norm(estimate - 5.0) < 1.0)
    True
    """
    payment = payment_of(ledger, dataset, release_id)
    beta, words = probability(beta=beta), _known(constants)
    given = Given.parse(X, budget, alpha, k, R, scale, words, several=True)
    opened, n_columns = given.opened, given.n_columns
    if words == "paper":
        paper_has_ball(opened.asked_for, beta)
    call = given.call("mean_ball", beta=beta)
    if words == "paper" and n_columns < LEAST_DIMENSION:  # A10
        each = given.coordinates(given.alpha / math.sqrt(n_columns), beta / n_columns)

        def estimate() -> list[float]:
            return coordinate_means(opened.ask, size=opened.size, coordinates=each)

        return np.array(call.run_charged(payment, estimate))
    radius = given.length(
        lambda: ball_radius(given.alpha, n_columns, given.k, scale=given.scale, constants=words)
    )
    coarse = given.coordinates(given.scale, beta / (3 * n_columns))

    def estimate_in_ball() -> list[float]:
        return ball_estimator(
            opened.ask, opened.budget, size=opened.size, radius=radius, coarse=coarse
        )

    return np.array(call.run_charged(payment, estimate_in_ball))


def mean_tournament(
    X: object,
    budget: Budget,
    *,
    alpha: float,
    beta: float,
    k: float,
    R: float,
    scale: float = 1.0,
    constants: Constants = "tight",
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
) -> Vector:
    """Estimate a mean vector of up to three columns within alpha, under pure DP: PDPHDME.

    One half of the rows finds a box around the mean, column by column. The points of a grid in the
    box play matches on the other half, two by two: p loses to q if the rows, projected on the line
    through both, clamped to within xi of p and averaged (median of means), lie closer to q. The
    score of p is the number of rows that must be changed for p to lose a match, and a point is
    chosen by the exponential mechanism. With ``E|<X - mu, v>|^k <= scale^k`` for every unit vector
    v, ``||mu|| <= R`` and ``theory.tournament_sample_size`` rows, the Euclidean error is at most
    alpha with probability 1 - beta (Theorem high-d-pdp).

    Parameters
    ----------
    X
        The records: a two-dimensional array, a frame with numeric columns or a list of rows. A
        missing cell counts as the center of the box.
    budget
        ``pure``; all of it is spent. For other budgets see :func:`mean_ball`.
    alpha, beta, k, R, scale
        Accuracy, failure probability, moment (at least 2), bound on the norm of the mean and the
        scale of the moment.
    constants
        "tight" separates the box from the fine accuracy, and points tie up to 5 times the latter.
        "paper" is the algorithm as printed: in up to 100 columns all of its points tie, so the
        answer is a random point of a small grid around the coarse center.
    ledger, dataset, release_id
        As in :func:`tametail.mean`: charged before any record is read.

    Returns
    -------
    numpy.ndarray
        **Formal guarantee**: ``budget`` under replace-one; see docs/proofs/tournament.md.

    Examples
    --------
    >>> import tametail as tt
    >>> X = [[4.0, -1.0], [6.0, 1.0]] * 10_000
    >>> estimate = tt.paper.mean_tournament(X, tt.pure(1.0), alpha=1.5, beta=0.1, k=2, R=100.0)
    >>> bool(np.linalg.norm(estimate - [5.0, 0.0]) < 1.5)
    True
    """
    payment = payment_of(ledger, dataset, release_id)
    beta, words = probability(beta=beta), _known(constants)
    given = Given.parse(X, budget, alpha, k, R, scale, words, several=True)
    opened, n_columns = given.opened, given.n_columns
    if not isinstance(opened.budget, Pure):
        raise ParameterError(
            f"{opened.asked_for} buys more than a tournament needs: write pure(epsilon), or "
            "mean_ball(X, budget, ...), which is for zcdp(rho) and approx(epsilon, delta)."
        )
    numbers = partial(
        tournament, given.alpha, beta, given.k, n_columns, scale=given.scale, constants=words
    )
    given.length(lambda: numbers().xi)
    game = numbers()
    if n_columns > MOST_COLUMNS:
        digits = game.log_points / math.log(10)
        raise ParameterError(
            f"the data have {n_columns} columns: a tournament would have 10^{digits:.1f} points "
            f"and 10^{2 * digits:.1f} pairs. Pass at most {MOST_COLUMNS} columns, or use "
            "mean_ball(X, pure(epsilon), ...), which takes any number."
        )
    coarse = given.coordinates(game.half_width, beta / (3 * n_columns))

    def play() -> list[float]:
        half = opened.size // 2
        # "If for all q ... p cannot lose, Score = n alpha"
        never = int(min(half * given.alpha / given.scale, half))
        grid = grid_for(game, n_columns=n_columns, size=half, scale=given.scale, default=never)
        return tournament_estimator(
            opened.ask, opened.budget, size=opened.size, coarse=coarse, grid=grid
        )

    return np.array(given.call("mean_tournament", beta=beta).run_charged(payment, play))


def _known(constants: Constants) -> Constants:
    return one_of(("tight", "paper"), constants=constants)
