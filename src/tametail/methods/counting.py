"""Counts and shares as methods: noisy counts of cells, and what follows from their noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tametail.inequalities.quantiles import deviations, sum_quantile
from tametail.inequalities.ranks import rank_deviation
from tametail.means import Estimate, Interval
from tametail.methods.cells import count_noise, read_cells
from tametail.methods.groups.each import in_each_group
from tametail.notes import SAYS_NOTHING
from tametail.plans import WORST, Prediction, PricedRequest, Step, Steps
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import Count
from tametail.queries.groups import Cells
from tametail.queries.persons import PersonRows
from tametail.request import Request
from tametail.statistic import COUNT, SHARE

if TYPE_CHECKING:
    from tametail.ask import Ask

CELLS = "cells"

#: False is 0 and true is 1.
_TRUE_OR_FALSE = Cells((0.5,))

#: The confidence at which a share says something, if none was asked for.
_USUAL = 0.95

#: The part of the risk that goes to a bound on the number of records.
_FOR_SIZE = 0.02

#: A limit is found to this part of its distance from the share.
_CLOSE, _HALVINGS = 2.0**-8, 30


def is_share(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say whether the mean of one condition is asked for, of records, and nothing is assumed."""
    column = request.columns[0]
    alone = request.n_columns == 1 and request.adjacency.person is None and column.said is None
    return alone and column.is_condition


def names(request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG001
    """Return the name of the one step."""
    return ((CELLS, 1),)


def steps(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001
    """Return the one step, however many records there are."""
    return (Step(CELLS, budget),)


def counts(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask for the numbers of cells, in every group."""
    cost, persons = plan.cost(CELLS), plan.adjacency.person is not None

    def estimate(about: Ask, confidence: float | None) -> tuple[Estimate, ...]:
        asked = about.on(about.relation.per_person(PersonRows())) if persons else about
        answer = asked(Count(), cost)
        value = float(max(answer[0], 0))
        intervals: tuple[Interval, ...] = ()
        if confidence is not None:
            intervals = (count_interval(value, answer[0], cost, plan.adjacency, confidence),)
        cells = None if persons else read_cells(answer, cost, plan.adjacency)
        known = value if persons else None
        return (
            Estimate(value, intervals, count=value, cells=cells, statistic=COUNT, persons=known),
        )

    return in_each_group(plan, ask, estimate)


def count_interval(
    value: float, answer: int, cost: Budget, adjacency: Adjacency, confidence: float
) -> Interval:
    """Return the interval of a count: the law of the noise is public."""
    off = count_noise(cost, adjacency).quantile(1 - confidence)
    low, high = max(answer - off, 0.0), max(answer + off, 0.0)
    parts: dict[str, float | None] = {"privacy": off}
    return Interval(min(low, value), max(high, value), COUNT, "none", True, parts, confidence)


def shares(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask for the numbers of true and of false, in every group."""
    cost = plan.cost(CELLS)
    one = _TRUE_OR_FALSE.sensitivity(plan.adjacency)
    noise, sampled = noise_for(cost, one.l1, one.l2_squared), plan.target == "population"

    def estimate(about: Ask, confidence: float | None) -> tuple[Estimate, ...]:
        false, true = about(_TRUE_OR_FALSE, cost)
        total = max(false + true, 1)
        value = min(max(true / total, 0.0), 1.0)
        low, high = share_interval(true, false, noise, confidence or _USUAL, sampled=sampled)
        ends = min(low, value), max(high, value)
        intervals: tuple[Interval, ...] = ()
        if confidence is not None:
            intervals = (Interval(*ends, SHARE, "none", False, {}, confidence),)
        notes = (SAYS_NOTHING,) if ends == (0.0, 1.0) else ()
        return (Estimate(value, intervals, notes=notes, count=float(total), statistic=SHARE),)

    return in_each_group(plan, ask, estimate)


def share_interval(
    true: int, false: int, noise: Noise, confidence: float, *, sampled: bool
) -> tuple[float, float]:
    """Return all shares that a test does not reject: Wilson's test, with the noise in it.

    >>> low, high = share_interval(100, 900, Noise("laplace", 1.0), 0.95, sampled=True)
    >>> round(low, 3), round(high, 3)
    (0.081, 0.121)
    """
    risk = (1 - confidence) * (1 - _FOR_SIZE) / 2
    most = None
    if sampled:
        most = max(true + false + sum_quantile(noise, (1 - confidence) * _FOR_SIZE, 2), 1.0)
    low = _least_share(true, false, noise, risk, most)
    return low, 1 - _least_share(false, true, noise, risk, most)


def _least_share(true: int, false: int, noise: Noise, risk: float, most: float | None) -> float:
    """Return the least share for which so many more true ones are not too many.

    The search begins around Wilson's own limit, with the variance of the noise in it.
    """

    def is_too_many(share: float) -> bool:
        more = (1 - share) * true - share * false
        return more > rank_deviation(noise, 1 - share, (1, 1), risk, most)

    total = max(true + false, 1)
    value = min(max(true / total, 0.0), 1.0)
    low, high = 0.0, value
    z = deviations(risk)
    sampled = value * (1 - value) / total * (most is not None)
    width = z * math.sqrt(sampled + noise.variance / total**2 + (z / total) ** 2)
    for times in (1.25, 0.75, 2.0, 4.0):
        guess = value - times * width
        if low < guess < high:
            low, high = (guess, high) if is_too_many(guess) else (low, guess)
    for _ in range(_HALVINGS):
        if high - low <= _CLOSE * width:
            break
        share = (low + high) / 2
        low, high = (share, high) if is_too_many(share) else (low, share)
    return low


class PredictedCount(Prediction):
    """What is promised of a count."""

    scale = "records"

    @property
    def rmse(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(count_noise(self.plan.cost(CELLS), self.plan.adjacency).variance)

    def half_width(self, confidence: float, distribution: str = WORST) -> float:  # noqa: ARG002
        """Return the half-width of the interval."""
        return count_noise(self.plan.cost(CELLS), self.plan.adjacency).quantile(1 - confidence)


class PredictedShare(Prediction):
    """What is promised of a share, in the worst case: that of a half."""

    scale = "(at a share of 0.5)"

    @property
    def rmse(self) -> float | None:
        """The error if every other record is true."""
        if self.plan.n is None:
            return None
        one = _TRUE_OR_FALSE.sensitivity(self.plan.adjacency)
        noise = noise_for(self.plan.cost(CELLS), one.l1, one.l2_squared)
        n = max(self.plan.n, 1)
        return math.sqrt(0.25 / n + noise.variance / (2 * n * n))

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:  # noqa: ARG002
        """Return the half-width of the interval if every other record is true."""
        if self.plan.n is None:
            return None
        one = _TRUE_OR_FALSE.sensitivity(self.plan.adjacency)
        noise = noise_for(self.plan.cost(CELLS), one.l1, one.l2_squared)
        half = max(self.plan.n // 2, 1)
        sampled = self.plan.target == "population"
        low, high = share_interval(half, half, noise, confidence, sampled=sampled)
        return (high - low) / 2
