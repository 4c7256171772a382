"""Means of several columns at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tametail.ask import Ask, Data, Replay
from tametail.errors import DataError, InternalError, ParameterError
from tametail.methods.ball.estimate import vector_mean as estimate_mean
from tametail.planning import Plan
from tametail.privacy.budget import Budget, Guarantee, fits, parse_budget
from tametail.tail import Tail
from tametail.vector_planning import VectorPlan
from tametail.vector_release import VectorRelease

Within = float | tuple[float, float] | None


def vector_mean(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    tail: Tail | list[Tail] = None,
    within: Within | list[Within] = None,
    unit: str = "add-remove",
    missing: str = "skip",
    n: int | None = None,
    confidence: float | None = 0.95,
    target: str = "population",
    common: bool = False,
    plan: Plan | VectorPlan | None = None,
    progress: Callable[[float], None] | None = None,
) -> VectorRelease:
    """Release the means of several columns together, under differential privacy.

    Rows are centred, weighed and pulled into a private ball, and noise is added once to their sum:
    Gaussian for zCDP and approximate budgets, Laplace for pure ones. ``docs/vectors.md`` explains.

    Parameters
    ----------
    data, columns
        A matrix (all of its columns), or a frame or a Parquet or CSV file and a list of columns.
    tail, within
        As for :func:`tametail.mean`: one for all columns, or a list with one for each.
    missing
        "skip": a missing cell is left out of the mean of its column, and the rest of its row
        counts; how many are missing is private. "none": your promise that there are none; a
        missing cell would count as the centre of its column.
    common
        The columns share a unit (pixels, embeddings, returns): use one centre and one scale.
    epsilon, delta, rho, budget, unit, n, confidence, target, plan
        As for :func:`tametail.mean`. Intervals hold for all columns at once.
    progress
        Called with the part of a file that a pass has read, never with rows.

    Returns
    -------
    VectorRelease
        ``release.value`` has one mean per column; ``release.guarantee`` says what was spent.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.tile([[1.0, 20.0], [2.0, 30.0], [3.0, 40.0]], (3_000, 1))
    >>> release = vector_mean(rows, rho=0.5)
    >>> np.abs(release.value - [2.0, 30.0]).max() < 1
    np.True_
    >>> release.columns
    ('0', '1')
    """
    # Imported here because it brings in pyarrow and narwhals, which planning does not need.
    from tametail.engines.open import open_table

    try:
        engine = open_table(data, columns, progress)
    except DataError as error:
        raise type(error)(f"{error} Nothing was spent.") from None
    dim = len(engine.columns)
    if plan is None:
        plan = VectorPlan.parse(
            budget=parse_budget(budget, epsilon=epsilon, delta=delta, rho=rho),
            dim=dim, n=n, unit=unit, tail=tail, within=within, missing=missing,
            confidence=confidence, target=target, common=common,
        )  # fmt: skip
    elif not isinstance(plan, VectorPlan):
        raise ParameterError(f"plan={plan!r} is not a plan for several columns: leave it out.")
    elif plan.dim != dim:
        raise ParameterError(f"the plan is for {plan.dim} columns, and the data have {dim}.")
    plan = plan.with_columns(engine.columns)
    if plan.unit.size_is_public:
        plan = plan.with_size(engine.size)
    return _conclude(plan, engine.columns, Ask(Data(engine), plan.budget, plan.unit))


def replay_vector(
    plan: VectorPlan, columns: Sequence[str], answers: Iterable[Any]
) -> VectorRelease:
    """Return the release that follows from a plan and its noisy answers, bit for bit."""
    return _conclude(plan, tuple(columns), Ask(Replay(answers), plan.budget, plan.unit))


@np.errstate(all="ignore")  # noisy answers may be anything
def _conclude(plan: VectorPlan, columns: tuple[str, ...], ask: Ask) -> VectorRelease:
    estimate = estimate_mean(plan, ask)
    # Which questions were asked depends on answers; what is stated must hold for every way.
    if ask.spent is None or not fits(ask.spent, plan.budget):
        raise InternalError(f"the questions cost {ask.spent}, the budget is {plan.budget}.")
    guarantee = Guarantee.from_budget(plan.budget, plan.unit)
    return VectorRelease.of(estimate, columns, guarantee, plan, ask.answers)
