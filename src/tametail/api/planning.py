"""What needs no data: a plan, how many records or how much budget it takes, and a replay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from tametail._shown import shown
from tametail._validate import count as whole_number
from tametail.api.arguments import (
    Within,
    checked_plan,
)
from tametail.errors import ParameterError, TametailError
from tametail.planning import Plan
from tametail.privacy.budget import Budget, Pure, parse_budget
from tametail.release import Release
from tametail.request import GREATEST_STRENGTH, LEAST_STRENGTH, Request
from tametail.run import prepare_replay, run
from tametail.searching import smallest_sufficient, target_half_width
from tametail.tail import Tail, parse_tail


def plan(
    n: int | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    tail: Tail | list[Tail] = None,
    within: Within | list[Within] = None,
    neighbors: str = "add-remove",
    missing: str = "skip",
    confidence: float | None = 0.95,
    target: str = "population",
    n_columns: int = 1,
    same_scale: bool = False,
    person: bool | str | Sequence[str] = False,
    each: str = "record",
    n_records: int | None = None,
    by: str | Sequence[str] | None = None,
    keys: Iterable[object] | None = None,
    other: str | None = None,
    pooling: str | None = "shape",
    simultaneous: bool | None = None,
    groups_per_person: Literal[1] | None = None,
    statistic: str = "mean",
    q: float | Iterable[float] | None = None,
    weights: str | None = None,
) -> Plan:
    """Plan a release from public numbers, before any data is read.

    The arguments are those of :func:`mean`. ``statistic`` is "mean", "sum", "count", "quantile"
    (with levels ``q``), "describe" or "regression". The plan predicts its error (``rmse`` with a
    tail assumption, ``relative_rmse`` without), prints its steps and says what would help.
    ``n_columns`` is the number of columns; for a regression, y is one of them. With
    ``person=True``, ``n`` counts persons; which column says who they are may be said later, beside
    ``plan=``, and is "person" if it is not.

    >>> import tametail as tt
    >>> plan = tt.plan(n=10_000, epsilon=1, tail=tt.Moment(2, 100.0))
    >>> plan.rmse < 10
    True
    >>> tt.plan(n=100, epsilon=0.1).advice != ()
    True
    >>> tt.plan(n=100, rho=0.5, n_columns=50).method  # too few records for a scale of every column
    'mean with joint clipping, one scale'
    """
    said = Request.parse(
        epsilon=epsilon, delta=delta, rho=rho, budget=budget, tail=tail, within=within,
        neighbors=neighbors, missing=missing, n=n, confidence=confidence, target=target,
        same_scale=same_scale,
        person="person" if person is True else None if person is False else person,
        each=each, n_records=n_records, by=by,
        keys=keys, other=other, pooling=pooling, simultaneous=simultaneous,
        groups_per_person=groups_per_person,
        statistic=statistic, levels=q, weights=weights,
    )  # fmt: skip
    if whole_number(n_columns=n_columns) < 1:
        raise ParameterError(f"Invalid n_columns={shown(n_columns)}. Use at least one column.")
    return Plan.of(said.with_names([str(number) for number in range(n_columns)]))


def sample_size(
    error: float | None = None,
    *,
    relative_error: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    tail: Tail = None,
    confidence: float = 0.95,
    neighbors: str = "add-remove",
) -> int:
    """Return the least n whose planned interval has a half-width of at most ``error``.

    ``error`` is in the units of the records, which requires a tail assumption; with ``Bounded`` it
    is that of the worst distribution within the bounds. Without a tail, ``relative_error`` is in
    standard deviations of lognormal data with sigma = 1. Where the method changes a larger n
    may promise less: the least n of either method counts.

    >>> import tametail as tt
    >>> n = tt.sample_size(error=0.1, epsilon=1.0, tail=tt.Moment(2, 1.0), confidence=0.95)
    >>> 1_000 < n < 20_000
    True
    >>> 100 < tt.sample_size(relative_error=0.1, epsilon=1) < 20_000
    True
    """
    whole = parse_budget(budget, epsilon=epsilon, delta=delta, rho=rho)
    most_error = target_half_width(error, relative_error, parse_tail(tail))

    def made(size: int) -> Plan:
        return plan(n=size, budget=whole, tail=tail, confidence=confidence, neighbors=neighbors)

    refusal = (
        f"error={most_error!r} is not reachable with up to 10^15 records. Allow a larger error."
    )
    return smallest_sufficient(made, confidence, most_error, 10**15, refusal)


def epsilon_for(
    error: float | None = None,
    *,
    relative_error: float | None = None,
    n: int,
    tail: Tail = None,
    confidence: float = 0.95,
    neighbors: str = "add-remove",
) -> float:
    """Return the least epsilon whose planned interval at n has a half-width of ``error``.

    ``error`` and ``relative_error`` are those of :func:`sample_size`.

    >>> import tametail as tt
    >>> epsilon = tt.epsilon_for(error=0.1, n=10_000, tail=tt.Moment(2, 1.0), confidence=0.95)
    >>> 0.05 < epsilon < 5
    True
    """
    most_error, size = target_half_width(error, relative_error, parse_tail(tail)), whole_number(n=n)
    steps_of_one = round(1 / LEAST_STRENGTH)

    def made(steps: int) -> Plan:
        whole = Pure(steps / steps_of_one)
        return plan(n=size, budget=whole, tail=tail, confidence=confidence, neighbors=neighbors)

    most = round(GREATEST_STRENGTH * steps_of_one)
    refusal = (
        f"error={most_error!r} is not reachable with n={size} records. Allow a larger error, or "
        "use more records."
    )
    return smallest_sufficient(made, confidence, most_error, most, refusal) / steps_of_one


def replay(plan: Plan, answers: Iterable[object]) -> Release:
    """Return the release that follows from a plan and its noisy answers.

    No data are read: a release is a function of public numbers and of what was answered. Plan and
    answers must come from this version of tametail. On one machine the release is the same bit
    for bit; on others numbers agree to 1e-12, since NumPy's exponentials, logarithms and products
    of matrices differ in their last bits between processors.

    >>> import tametail as tt
    >>> release = tt.mean([1.0, 2.0, 4.0] * 1000, epsilon=1)
    >>> tt.replay(release.plan, release.answers) == release
    True
    """
    checked = checked_plan(plan)
    try:
        return run(*prepare_replay(checked, answers))
    except TametailError:
        raise
    except (TypeError, ValueError, ArithmeticError, AttributeError, IndexError):
        pass  # raised below, without what these say
    raise ParameterError(
        "These answers do not belong to this plan. Use replay(release.plan, release.answers)."
    )
