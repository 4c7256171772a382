"""The d-dimensional theorems with every constant written out: the ball and the tournament.

The k-th moment is bounded in every direction: ``E|<X - mu, v>|^k <= scale^k`` for unit v, with
``k >= 2``. Both algorithms read a first half of the data for a coarse center, coordinate by
coordinate, and a second half for the estimate, each with the full budget.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from tametail._shown import shown
from tametail.errors import ParameterError
from tametail.inequalities.checks import moment_order, positive, probability, whole
from tametail.privacy.budget import Approx, Budget, Pure, analytic_gaussian_sigma, parse_budget
from tametail.privacy.choices import coordinate_costs
from tametail.theory._constants import Constants, known_constants
from tametail.theory.means import mean_records
from tametail.theory.moments import radius_for_bias

#: Below this dimension the paper's chi-square lemma fails, and it goes coordinate by coordinate.
LEAST_DIMENSION = 21
#: The paper's ball is within alpha with probability 0.7.
BALL_FAILURE = 0.3
#: Beyond three columns a tournament has too many pairs of points.
MOST_COLUMNS = 3


def ball_radius(
    alpha: float, d: int, k: float, *, scale: float = 1.0, constants: Constants = "tight"
) -> float:
    """Return the radius r of the ball outside which records are discarded.

    Lemma ``high-d-trunc-mean``: with the center within sqrt(d) of mu and ``T = r - sqrt(d)``, the
    bias is at most ``(sqrt(d)/T)^(k-1)``, here at most alpha/3, for alpha at most 1 (= scale).
    Paper: ``r = 4 sqrt(d) / alpha^(1/(k-1))``. Tight: ``T = sqrt(d) max((3/alpha)^(1/(k-1)), 2)``.

    >>> ball_radius(0.1, d=4, k=2, constants="paper"), round(ball_radius(0.1, d=4, k=2), 9)
    (80.0, 62.0)
    """
    positive(alpha=alpha, scale=scale)
    whole(d=d)
    moment_order(k, at_least=2)
    known_constants(constants, k)
    target = min(alpha / scale, 1.0)
    if constants == "paper":
        factor = 4 / target ** (1 / (k - 1))
    else:
        factor = 1 + max((3 / target) ** (1 / (k - 1)), 2.0)
    return float(scale * math.sqrt(d) * factor)


def ball_sample_size(
    alpha: float,
    k: float,
    R: float,
    d: int,
    *,
    scale: float = 1.0,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    beta: float = BALL_FAILURE,
    constants: Constants = "tight",
) -> int:
    """Return the records with which ``||estimate - mu|| <= alpha`` has probability 1 - beta.

    Theorems ``high-d-cdp`` and ``high-d-adp``, which have beta = 0.3: twice the larger of what the
    estimate and the coarse step ask for. The coarse step has d one-dimensional means within 1 of
    mu_j (never within alpha, as the radius does not need it), at rho/d and failure beta/(3d) each.
    In the estimate at least 3/4 of the records are kept up to beta/6, so the error is at most
    ``4/3 (bias + sampling) + noise`` with a bias of alpha/3 (:func:`ball_radius`); the noise has
    ``sigma = 8r/(3n sqrt(2 rho))`` in each of d coordinates.

    * Tight: ``16 d/(9 n s^2) <= beta/3`` for the sampling error s/(4/3), by Chebyshev, and
      ``sigma sqrt(Q) <= 5 alpha/9 - s``, Q the ``1 - beta/6`` quantile of chi-square with d degrees
      of freedom; s is the best one. It holds for every d.
    * Paper, beta = 0.3 only: ``720 d/alpha^2`` (sampling alpha/6 up to 0.05) and
      ``8 r sqrt(1.5 d/(2 rho))/alpha`` (noise alpha/3 up to 0.1: 1.5 d is above the 0.9 quantile
      for d >= 15, and the lemma's event, which has two sides, that likely for d >= 21). With fewer
      than 21 columns the paper estimates each on its own, within ``alpha/sqrt(d)``, up to 0.3/d.

    For (epsilon, delta) the noise is that of a lone Gaussian, which takes the place of
    ``1/sqrt(2 rho)``, and a coarse call costs what ``privacy.choices.coordinate_costs`` says. For
    epsilon alone, which the paper leaves to the tournament, the noise has a density proportional to
    ``exp(-3n eps |z|/(8r))``: the length is gamma of order d, and its quantile takes the place of
    ``sqrt(Q)``, of the order of d instead of ``sqrt(d)``.

    >>> ball_sample_size(0.5, k=2, R=100, d=10, rho=0.5)
    11544
    >>> ball_sample_size(0.5, k=2, R=100, d=10, epsilon=1.0)
    50284
    """
    budget = parse_budget(epsilon=epsilon, delta=delta, rho=rho)
    positive(scale=scale)
    return max(
        ball_records(alpha / scale, k, R / scale, d, budget=budget, beta=beta, constants=constants)
    )


def paper_has_ball(budget: Budget, beta: float) -> None:
    """Refuse what the paper's ball is not for."""
    if isinstance(budget, Pure):
        raise ParameterError(
            f"the paper has no ball for {budget}, so there are no such constants: write "
            "constants='tight'."
        )
    if beta != BALL_FAILURE:
        raise ParameterError(
            f"the paper's ball has beta={BALL_FAILURE} and not beta={shown(beta)}: write "
            "constants='tight'."
        )


def ball_records(
    alpha: float,
    k: float,
    R: float,
    d: int,
    *,
    budget: Budget,
    beta: float = BALL_FAILURE,
    constants: Constants,
) -> tuple[int, int]:
    """Return the records for the estimate, falling in alpha, and those for the coarse step."""
    probability(beta=beta)
    if constants == "paper":
        paper_has_ball(budget, beta)
    coarse, target = coordinate_costs(budget, d)[0], min(alpha, 1.0)
    if constants == "paper" and d < LEAST_DIMENSION:
        each = target / math.sqrt(d)
        return mean_records(each, 0.3 / d, k, R, budget=coarse, constants=constants)
    radius = ball_radius(alpha, d, k, constants=constants)
    unit = radius / (gaussian_strength(budget) * target)
    if constants == "paper":
        rows = max(720 * d / target**2, 8 * unit * math.sqrt(1.5 * d))
    else:
        # A third of beta is for the coarse step, one for sampling, a sixth for noise and rows.
        length, kept = _noise_length(budget, d, beta / 6), _rows_kept(k, beta / 6)
        rows = max(_ball_rows(3 * d / (beta * target**2), unit * length), kept)
    center = mean_records(1.0, beta / (3 * d), k, R, budget=coarse, constants=constants)
    return 2 * math.ceil(rows), 2 * max(center)


def _noise_length(budget: Budget, d: int, failure: float) -> float:
    """Return a quantile of the length of the noise: the root of chi-square's, or gamma's."""
    from scipy.special import chdtri, gammainccinv

    if isinstance(budget, Pure):
        return float(gammainccinv(d, failure))
    return math.sqrt(chdtri(d, failure))


def _ball_rows(sampling: float, noise: float) -> float:
    """Return the least n with ``16 sampling/(9 n s^2) <= 1`` and ``8 noise/(3n) <= 5/9 - s``.

    The first falls in s and the second rises, so the best s is where both are equal.
    """
    low, high = 0.0, 5 / 9
    for _ in range(60):
        part = (low + high) / 2
        if 16 * sampling / (9 * part**2) > 8 * noise / (3 * (5 / 9 - part)):
            low = part
        else:
            high = part
    return 16 * sampling / (9 * high**2)


def _rows_kept(k: float, failure: float) -> float:
    """Return the n at which 3/4 of the rows are in the ball, up to this probability.

    By Markov a row is outside with ``q = (sqrt(d)/T)^k``, largest at alpha = 1; by Chernoff more
    than n/4 are with probability ``e^(-n KL(1/4, q))`` at most.
    """
    outside = max(3 ** (1 / (k - 1)), 2.0) ** -k
    divergence = math.log(0.25 / outside) / 4 + 0.75 * math.log(0.75 / (1 - outside))
    return math.log(1 / failure) / divergence


def gaussian_strength(budget: Budget) -> float:
    """Return the sensitivity over the standard deviation of the Gaussian that the budget buys.

    ``sqrt(2 rho)``, or for (epsilon, delta) that of one Gaussian alone, by its exact calibration.
    For pure DP it is epsilon, the sensitivity over the scale of the noise.

    >>> from tametail.privacy.budget import zcdp
    >>> gaussian_strength(zcdp(0.5)), round(gaussian_strength(Approx(1.0, 1e-6)), 4)
    (1.0, 0.2367)
    """
    if isinstance(budget, Approx):
        return 1 / analytic_gaussian_sigma(1.0, budget.epsilon, budget.delta)
    return budget.strength


@dataclass(frozen=True)
class Tournament:
    """The public numbers of PDPHDME: a grid around the coarse center, and how points play.

    Attributes
    ----------
    half_width
        The box is ``[c_j - half_width, c_j + half_width]`` in every coordinate.
    step
        Distance of neighboring grid points along an axis.
    tie
        Two points closer than this do not play.
    xi
        Projections are winsorized to ``[-xi, xi]`` around the first point.
    blocks
        The odd number of blocks of the median of means.
    block_accuracy
        How close to its expectation a block mean must be, up to probability 0.1.
    margin
        How far a median must be moved before the point nearest to mu loses.
    log_points
        Logarithm of the number of grid points.
    """

    half_width: float
    step: float
    tie: float
    xi: float
    blocks: int
    block_accuracy: float
    margin: float
    log_points: float


def tournament(
    alpha: float,
    beta: float,
    k: float,
    d: int,
    *,
    scale: float = 1.0,
    constants: Constants = "tight",
) -> Tournament:
    """Return the numbers with which the tournament's winner is within alpha of mu.

    Let a be the fine accuracy; the point z of the grid that is nearest to mu is at most a/2 away,
    and every median is within bias + sampling of the projected mean.

    * Tight, ``a = 2 alpha/11``: bias and sampling a/2 each. A point further than the tie 5a
      from z loses to it, so the winner is within 5.5a = alpha. z wins against every q beyond
      the tie unless a median moves by ``5a/2 - a/2 - a = a``. The box has half-width alpha (any
      width beyond ``5a/sqrt(d)`` would do), and ``xi >= 4 alpha sqrt(d)`` keeps mu within xi/2
      of every grid point, so that the paper's second case never occurs. Blocks: the least odd
      m with ``P(Bin(m, 0.1) > m/5) <= beta/(6 points)``.
    * Paper, ``a = alpha/21``: ``xi = 60/a^(1/(k-1))``, tie 20a, box a, margin 3a, and
      ``m = 400 d ln(8 sqrt(d)/beta)``.

    >>> plan = tournament(0.55, 0.05, k=2, d=2)
    >>> round(plan.tie, 12), round(math.exp(plan.log_points)), plan.blocks
    (0.5, 289, 175)
    """
    positive(alpha=alpha, scale=scale)
    probability(beta=beta)
    whole(d=d)
    moment_order(k, at_least=2)
    known_constants(constants, k)
    root = math.sqrt(d)
    if constants == "paper":
        fine, half_width, accuracy, tie, margin = alpha / 21, alpha / 21, 1.0, 20.0, 3.0
        xi = 60 * scale * (scale / fine) ** (1 / (k - 1))
    else:
        fine, half_width, accuracy, tie, margin = alpha / 5.5, alpha, 0.5, 5.0, 1.0
        xi = max(2 * radius_for_bias(fine / 2, k, scale), 4 * alpha * root)
    log_points = d * math.log(2 * math.ceil(half_width * root / fine - 1e-9) + 1)
    if constants == "paper":
        blocks = math.ceil(400 * d * math.log(8 * root / beta)) | 1
    else:
        blocks = _four_fifths_blocks(math.log(beta / 6) - log_points)
    return Tournament(
        half_width, fine / root, tie * fine, xi, blocks, accuracy * fine, margin * fine, log_points
    )


def _four_fifths_blocks(log_failure: float) -> int:
    """Return the least odd multiple m of 5 with ``P(Bin(m, 0.1) > m/5) <= e^log_failure``."""
    from scipy.stats import binom

    def works(index: int) -> bool:
        bad = 2 * index + 1
        return bool(binom.logsf(bad, 5 * bad, 0.1) <= log_failure)

    # Chernoff: the tail is at most e^(-m KL(0.2 || 0.1)), and KL is 0.0444.
    ceiling = math.ceil(-log_failure / 0.44) + 1
    return 5 * (2 * bisect_left(range(ceiling), True, key=works) + 1)


def tournament_sample_size(
    alpha: float,
    beta: float,
    k: float,
    R: float,
    d: int,
    *,
    epsilon: float,
    scale: float = 1.0,
    constants: Constants = "tight",
) -> int:
    """Return the records with which the tournament is within alpha with probability 1 - beta.

    Theorem ``high-d-pdp``: twice the largest of

    * ``m * 10/accuracy^2`` for the block means (Chebyshev);
    * ``(xi / (0.15 margin)) (2/eps) ln(3 points/beta)``. A changed record moves a block mean by
      at most ``2 xi m/n`` and at least 0.3 m good blocks must move by the margin, so z scores
      at least ``0.15 n margin/xi`` (paper: 0.45 n a/xi), while every point beyond the tie scores
      0: the exponential mechanism then picks no such point, up to beta/3;
    * the coarse step: d one-dimensional means within the half-width at eps/d and failure
      beta/(3d) each.

    >>> tournament_sample_size(0.55, 0.05, k=2, R=100, d=2, epsilon=1.0)
    1400000
    """
    budget = Pure(epsilon)
    positive(scale=scale)
    return max(
        tournament_records(alpha / scale, beta, k, R / scale, d, budget=budget, constants=constants)
    )


def tournament_records(
    alpha: float, beta: float, k: float, R: float, d: int, *, budget: Pure, constants: Constants
) -> tuple[int, int]:
    """Return the records for estimating, falling in alpha, and those for locating."""
    game = tournament(alpha, beta, k, d, constants=constants)
    score = 2 / budget.epsilon * (game.log_points + math.log(3 / beta))
    selecting = game.xi * score / (0.15 * game.margin) / game.blocks
    block = math.ceil(max(10 / game.block_accuracy**2, selecting))
    estimating, locating = mean_records(
        game.half_width,
        beta / (3 * d),
        k,
        R,
        budget=coordinate_costs(budget, d)[0],
        constants=constants,
    )
    return 2 * max(game.blocks * block, estimating), 2 * locating
