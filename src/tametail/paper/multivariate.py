"""The public functions for several columns: they check their arguments and call the estimators."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tametail._shown import shown
from tametail._validate import number, one_of, positive, probability
from tametail.ask import Ask
from tametail.charged_calls import ChargeableCall, payment_of
from tametail.errors import ParameterError
from tametail.paper._arguments import check_strength, length_that_fits, parse_bound
from tametail.paper._opened import Opened
from tametail.paper.ball import (
    Coordinates,
    ball_estimator,
    coordinate_means,
)
from tametail.paper.tournament import grid_for, tournament_estimator
from tametail.privacy.budget import Budget, Pure, parse_budget
from tametail.privacy.choices import coordinate_costs
from tametail.theory import bucket_radius, clip_radius, median_of_means_blocks
from tametail.theory._constants import Constants
from tametail.theory.means import BLOCK_FAILURE
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
    beta = probability(beta=beta)
    given = _given(X, budget, alpha, k, R, scale, constants)
    if constants == "paper":
        paper_has_ball(given.opened.asked_for, beta)
    call = given.call("mean_ball", beta=beta)
    if constants == "paper" and given.n_columns < LEAST_DIMENSION:  # A10
        each = given.coordinates(given.alpha / math.sqrt(given.n_columns), beta / given.n_columns)
        return call.run_charged(
            payment,
            lambda: np.array(coordinate_means(given.ask, size=given.size, coordinates=each)),
            write=np.ndarray.tolist,
            read=np.array,
        )
    radius = given.length(
        lambda: ball_radius(
            given.alpha, given.n_columns, given.k, scale=given.scale, constants=constants
        )
    )
    coarse = given.coordinates(given.scale, beta / (3 * given.n_columns))
    return call.run_charged(
        payment,
        lambda: np.array(
            ball_estimator(given.ask, given.budget, size=given.size, radius=radius, coarse=coarse)
        ),
        write=np.ndarray.tolist,
        read=np.array,
    )


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
    beta = probability(beta=beta)
    given = _given(X, budget, alpha, k, R, scale, constants)
    if not isinstance(given.budget, Pure):
        raise ParameterError(
            f"{given.opened.asked_for} buys more than a tournament needs: write pure(epsilon), or "
            "mean_ball(X, budget, ...), which is for zcdp(rho) and approx(epsilon, delta)."
        )
    numbers = partial(
        tournament,
        given.alpha,
        beta,
        given.k,
        given.n_columns,
        scale=given.scale,
        constants=constants,
    )
    given.length(lambda: numbers().xi)
    game = numbers()
    if given.n_columns > MOST_COLUMNS:
        digits = game.log_points / math.log(10)
        raise ParameterError(
            f"the data have {given.n_columns} columns: a tournament would have 10^{digits:.1f} points "
            f"and 10^{2 * digits:.1f} pairs. Pass at most {MOST_COLUMNS} columns, or use "
            "mean_ball(X, pure(epsilon), ...), which takes any number."
        )
    coarse = given.coordinates(game.half_width, beta / (3 * given.n_columns))

    def play() -> Vector:
        half = given.size // 2
        # "If for all q ... p cannot lose, Score = n alpha"
        never = int(min(half * given.alpha / given.scale, half))
        grid = grid_for(
            game, n_columns=given.n_columns, size=half, scale=given.scale, default=never
        )
        estimate = tournament_estimator(
            given.ask, given.budget, size=given.size, coarse=coarse, grid=grid
        )
        return np.array(estimate)

    call = given.call("mean_tournament", beta=beta)
    return call.run_charged(payment, play, write=np.ndarray.tolist, read=np.array)


class _Given(NamedTuple):
    """The arguments, checked."""

    opened: Opened
    alpha: float
    k: float
    R: float
    scale: float
    constants: Constants

    @property
    def ask(self) -> Ask:
        """What may be asked."""
        return self.opened.ask

    @property
    def budget(self) -> Budget:
        """What may be spent."""
        return self.opened.budget

    @property
    def size(self) -> int:
        """The number of rows; to know it is to read the data."""
        return self.opened.size

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.opened.backend.relation.names)

    def call(self, function: str, **more: float) -> ChargeableCall:
        """Return what a ledger is told of a call."""
        numbers = {"alpha": self.alpha, "k": self.k, "R": self.R, "scale": self.scale}
        return self.opened.call(function, **numbers, **more, constants=self.constants)

    def coordinates(self, alpha: float, beta: float) -> Coordinates:
        """Return the numbers of one-dimensional estimates within alpha, each up to beta."""
        costs = coordinate_costs(self.budget, self.n_columns)
        check_strength(costs, self.budget)
        radius, margin = (
            self.length(
                partial(function, alpha, self.k, scale=self.scale, constants=self.constants)
            )
            for function in (bucket_radius, clip_radius)
        )
        blocks = median_of_means_blocks(beta, BLOCK_FAILURE[self.constants], self.constants)
        return Coordinates(costs, blocks, radius, self.R, margin)

    def length(self, compute: Callable[[], float]) -> float:
        """Return a length that doubles can hold with room for the noise, or refuse."""
        return length_that_fits(compute, alpha=self.alpha, k=self.k, scale=self.scale)


def _given(
    X: object, budget: object, alpha: float, k: float, R: float, scale: float, constants: str
) -> _Given:
    budget = parse_budget(budget)
    bound, order = parse_bound(R, budget, "of norm at most R"), number(k=k)
    if not 2 <= order < math.inf:
        raise ParameterError(
            f"k={shown(k)} is not known in many dimensions: write a finite k >= 2."
        )
    return _Given(
        opened=Opened.of(X, budget, several=True),
        alpha=positive(alpha=alpha),
        k=order,
        R=bound,
        scale=positive(scale=scale),
        constants=one_of(("tight", "paper"), constants=constants),
    )
