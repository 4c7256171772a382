"""Estimators of other papers on the same frame: queries, costs, exact noise, replayable answers.

They assume more than the paper does, normal records or nearly so, and are here to be compared with.
Neighbors differ in one record and n is public. Two others cannot be exact here and stay baselines
in ``benchmarks/baselines``: the trimmed mean of Bun and Steinke (2019), whose noise is scaled by a
smooth sensitivity, a float that depends on the records; and the local model of Duchi, Jordan and
Wainwright, in which nobody holds the records that a query could ask for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tametail._shown import shown
from tametail._validate import positive, probability
from tametail.charged_calls import payment_of
from tametail.errors import ParameterError
from tametail.paper._arguments import check_strength, parse_bound
from tametail.paper._opened import Opened
from tametail.paper.range import range_estimator
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, parse_budget
from tametail.queries.column import ClippedSum, ClippingGrid

if TYPE_CHECKING:
    from tametail.ledger import Ledger

__all__ = ["coinpress", "karwa_vadhan"]

#: CoinPress spends this much on its last step; the steps before it share the rest.
LAST_STEP = 0.75

#: A record is beyond the reach of a step of CoinPress with this probability.
BEYOND = 0.01


def karwa_vadhan(
    x: object,
    budget: Budget,
    *,
    R: float,
    deviation: float,
    beta: float = 0.05,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
) -> float:
    """Estimate the mean of normal records of known deviation (Karwa and Vadhan 2018).

    Half of the budget finds the fullest of the bins of width ``deviation``; the records are clipped
    within ``T = 4 deviation sqrt(ln(n/beta))`` of its middle, and their mean gets noise for 2T/n
    with the other half. Both steps read all records.

    Parameters
    ----------
    x
        The records: a sequence or a one-dimensional array. A missing one counts as the middle.
    budget
        ``pure``, ``zcdp`` or ``approx``; all of it is spent.
    R, deviation
        Bound on abs(mean) (infinite for ``approx`` only), and the standard deviation.
    beta
        Probability with which some record may be clipped.
    ledger, dataset, release_id
        As in :func:`tametail.mean`: charged before any record is read.

    Returns
    -------
    float
        **Formal guarantee**: ``budget`` under replace-one; see docs/proofs/paper.md.

    Examples
    --------
    >>> import tametail as tt
    >>> x = [4.0, 6.0] * 2_000
    >>> abs(karwa_vadhan(x, tt.pure(1.0), R=1e6, deviation=1.0) - 5.0) < 0.3
    True
    """
    payment = payment_of(ledger, dataset, release_id)
    budget = parse_budget(budget)
    bound, deviation = parse_bound(R, budget, "in [-R, R]"), positive(deviation=deviation)
    beta = probability(beta=beta)
    opened = _open(x, budget)

    def release() -> float:
        locating, averaging = opened.budget.split(0.5, 0.5)
        if isinstance(opened.budget, Approx):  # the histogram alone needs a delta
            locating = Approx(locating.strength, opened.budget.delta)
            averaging = Pure(averaging.strength)
        # A bucket of half-width s/2; the margin plays no part, as T is the reach.
        middle = range_estimator(opened.ask, locating, radius=deviation / 2, R=bound).center
        reach = 4 * deviation * math.sqrt(math.log(max(opened.size, 2) / beta))
        return _clipped_mean(opened, averaging, middle, reach)

    call = opened.call("karwa_vadhan", R=bound, deviation=deviation, beta=beta)
    return call.run_charged(payment, release)


def coinpress(
    x: object,
    budget: Budget,
    *,
    R: float,
    deviation: float,
    steps: int = 4,
    beta: float = 0.01,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
) -> float:
    """Estimate the mean of nearly normal records step by step (Biswas, Dong, Kamath, Ullman 2020).

    A step knows that the mean is within r of c. It clips the records to where nearly all normal
    ones would lie, releases their mean with Gaussian noise, and thereby knows a smaller r. The last
    step spends 3/4 of rho, the others share the rest. All steps read all records.

    Parameters
    ----------
    x
        The records: a sequence or a one-dimensional array. A missing one counts as the center.
    budget
        ``zcdp``; all of it is spent.
    R, deviation
        Bound on abs(mean), and on the standard deviation.
    steps, beta
        Number of steps, and the probability with which a step may lose the mean.
    ledger, dataset, release_id
        As in :func:`tametail.mean`: charged before any record is read.

    Returns
    -------
    float
        **Formal guarantee**: ``budget`` under replace-one; see docs/proofs/paper.md.

    Examples
    --------
    >>> import tametail as tt
    >>> x = [4.0, 6.0] * 2_000
    >>> abs(coinpress(x, tt.zcdp(0.5), R=100.0, deviation=1.0) - 5.0) < 0.3
    True
    """
    payment = payment_of(ledger, dataset, release_id)
    budget = parse_budget(budget)
    if not isinstance(budget, Zcdp):
        raise ParameterError(f"{budget} has no Gaussian noise that adds up: write zcdp(rho).")
    radius, deviation = parse_bound(R, budget, "in [-R, R]"), positive(deviation=deviation)
    beta = probability(beta=beta)
    if not (isinstance(steps, int) and 1 <= steps <= 100):
        raise ParameterError(
            f"steps={shown(steps)} is not a whole number from 1 to 100: write steps=4."
        )
    opened = _open(x, budget)
    call = opened.call("coinpress", R=radius, deviation=deviation, steps=steps, beta=beta)
    return call.run_charged(payment, lambda: _in_steps(opened, radius, deviation, steps, beta))


def _in_steps(opened: Opened, radius: float, deviation: float, steps: int, beta: float) -> float:
    """Return the last of the centers that the steps of CoinPress find."""
    early = [(1 - LAST_STEP) / (steps - 1)] * (steps - 1) if steps > 1 else []
    center, usual = 0.0, deviation * _normal_bound(BEYOND)
    size = max(opened.size, 1)
    for cost in opened.budget.split(*early, LAST_STEP if early else 1.0):
        # A normal record is usually within r + usual of the center, and within the second number
        # but for three deviations along the mean: CoinPress takes the smaller.
        reach = min(radius + usual, math.sqrt(radius**2 + 6 * radius * deviation + usual**2))
        center = _clipped_mean(opened, cost, center, reach)
        noise = 2 * reach / (size * cost.strength)
        spread = math.hypot(deviation / math.sqrt(size), noise)
        radius = min(radius, _normal_bound(beta / steps) * spread)
    return center


def _clipped_mean(opened: Opened, cost: Budget, center: float, reach: float) -> float:
    """Return the noisy mean of all records, clipped within ``reach`` of ``center``."""
    size = opened.size
    lattice = ClippingGrid.below_noise(center, reach, reach, strength=cost.strength, records=size)
    (total,) = opened.ask(ClippedSum(lattice), cost)
    return lattice.value(lattice.center + total / max(size, 1))


def _normal_bound(failure: float) -> float:
    """Bound a standard normal variable, but for this probability, as the paper does."""
    level = math.log(1 / failure)
    return math.sqrt(1 + 2 * math.sqrt(level) + 2 * level)


def _open(x: object, budget: Budget) -> Opened:
    check_strength([budget.share(0.01)], budget)
    return Opened.of(x, budget)
