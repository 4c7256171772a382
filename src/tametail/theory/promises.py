"""What the algorithms of the package promise at n records, and which of them promises most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Literal, NamedTuple

from tametail.errors import ParameterError
from tametail.inequalities.checks import moment_order, positive, probability, whole
from tametail.privacy.budget import Budget, Pure, parse_budget
from tametail.theory._constants import Constants, MeanConstants
from tametail.theory.means import mean_records
from tametail.theory.multivariate import (
    BALL_FAILURE,
    MOST_COLUMNS,
    ball_records,
    tournament_records,
)

Algorithm = Literal["mean_1d", "mean_ball", "mean_tournament"]
#: The records for estimating, falling in alpha, and those for locating.
Records = Callable[[float], tuple[int, int]]

# Bracket for ln(alpha): far beyond any accuracy that doubles can express.
_BRACKET = (-40.0, 40.0)
_TOLERANCE = 1e-11


class Promise(NamedTuple):
    """An error of at most ``alpha``, and the function of ``tametail.paper`` that keeps to it.

    ``mean_1d`` on several columns is a call for each, with ``beta/d``, ``alpha/sqrt(d)`` and a
    d-th of every number of the budget.
    """

    alpha: float
    algorithm: Algorithm | None
    """None if n is too small for any promise: alpha is then infinite."""
    constants: MeanConstants | None


def upper_bound(
    n: int,
    *,
    k: float,
    R: float,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    scale: float = 1.0,
    d: int = 1,
    beta: float = 0.05,
    algorithm: Algorithm | None = None,
    constants: MeanConstants | None = None,
) -> Promise:
    """Return the least alpha that a function of the package guarantees with n records.

    The error is at most alpha with probability 1 - beta: the inverse of the sample sizes
    ``mean_sample_size``, ``ball_sample_size`` and, for pure DP and at most three columns (more than
    that no function plays), ``tournament_sample_size``. Without ``algorithm`` or ``constants`` it
    is the best of all, which the answer names. Infinite if n is too small for any guarantee.

    Up to constants, with ``L = log(1/beta)``, in one dimension and pure DP, the largest of
    ``sqrt(L/n)`` and ``(L/(n eps))^((k-1)/k)``, once ``n >= L log(R)/eps``.

    >>> promise = upper_bound(36_498, k=2, R=1000, epsilon=1.0)
    >>> round(promise.alpha, 4), promise.algorithm, promise.constants
    (0.0265, 'mean_1d', 'one-block')
    >>> promise = upper_bound(10**6, k=2, R=10, epsilon=1.0, d=50, beta=0.3)
    >>> round(promise.alpha, 4), promise.algorithm, promise.constants
    (0.1595, 'mean_ball', 'tight')
    >>> upper_bound(10, k=2, R=1000, epsilon=1.0)
    Promise(alpha=inf, algorithm=None, constants=None)
    """
    whole(n=n, d=d)
    positive(scale=scale)
    probability(beta=beta)
    moment_order(k, at_least=1 if d == 1 else 2)
    budget = parse_budget(epsilon=epsilon, delta=delta, rho=rho)
    promises = [
        Promise(scale * _least_accuracy(records, n), who, which)
        for who, which, records in _candidates(k, R / scale, d, budget, beta)
        if algorithm in (None, who) and constants in (None, which)
    ]
    if not promises:
        raise ParameterError(
            f"no function promises that for {budget}, d={d} and k={k:g} with "
            f"algorithm={algorithm!r} and constants={constants!r}: leave them out."
        )
    best = min(promises, key=lambda promise: promise.alpha)
    return best if best.alpha < math.inf else Promise(math.inf, None, None)


def _candidates(
    k: float, R: float, d: int, budget: Budget, beta: float
) -> Iterator[tuple[Algorithm, MeanConstants, Records]]:
    """Yield every algorithm that can be called, and the records that it asks for."""
    choices: tuple[MeanConstants, ...] = ("one-block", "tight", "paper")
    for constants in choices if k >= 2 else choices[:2]:
        yield "mean_1d", constants, partial(_by_column, k, R, d, budget, beta, constants)
    if d == 1:
        return
    yield (
        "mean_ball",
        "tight",
        partial(ball_records, k=k, R=R, d=d, budget=budget, beta=beta, constants="tight"),
    )
    if isinstance(budget, Pure):
        if d <= MOST_COLUMNS:
            printed: tuple[Constants, ...] = ("tight", "paper")
            for which in printed:
                yield (
                    "mean_tournament",
                    which,
                    partial(
                        tournament_records, beta=beta, k=k, R=R, d=d, budget=budget, constants=which
                    ),
                )
    elif beta == BALL_FAILURE:
        yield (
            "mean_ball",
            "paper",
            partial(ball_records, k=k, R=R, d=d, budget=budget, beta=beta, constants="paper"),
        )


def _by_column(
    k: float, R: float, d: int, budget: Budget, beta: float, constants: MeanConstants, alpha: float
) -> tuple[int, int]:
    """Return the records for ``mean_1d`` on each column: what the calls cost adds up."""
    part = budget if d == 1 else budget.split(*[1 / d] * d)[0]
    return mean_records(alpha / math.sqrt(d), beta / d, k, R, budget=part, constants=constants)


def _least_accuracy(records: Records, n: int) -> float:
    """Return the least alpha with ``records(alpha) <= n``, for a falling step function."""

    def enough(log_alpha: float) -> bool:
        with suppress(OverflowError):  # more records than doubles can count
            return records(math.exp(log_alpha))[0] <= n
        return False

    low, high = _BRACKET
    if not enough(high):
        return math.inf
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    alpha = math.exp(high)
    # The records for locating the mean do not fall with alpha, so no larger alpha would help.
    return alpha if records(alpha)[1] <= n else math.inf
