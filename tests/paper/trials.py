"""Simulations for the theorems of Section 3, shared by the tests and by benchmarks/theorems.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tametail.ask import Ask, Data
from tametail.paper import mean_1d, range_estimate
from tametail.paper.univariate import mean_estimator
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp
from tametail.theory import Distribution, bucket_radius, clip_radius, distribution, hard_instance
from tametail.theory._constants import Constants, MeanConstants

from ..opened import open_table  # noqa: TID252

MOMENTS = (2, 3, 4)
R = 1e4
MEAN = 123.4


def budgets(epsilon: float) -> tuple[Budget, Budget, Budget]:
    """Return the three notions at comparable strengths: sqrt(2 rho) = epsilon."""
    return Pure(epsilon), Zcdp(epsilon**2 / 2), Approx(epsilon, 1e-6)


def numbers(budget: Budget) -> dict[str, float]:
    """Return a budget as the arguments of the functions of ``theory``."""
    return {name: value for name, value in budget.to_dict().items() if name != "kind"}


def laws(alpha: float, k: int) -> dict[str, Distribution]:
    """Return the laws of the check; the k-th absolute central moment of each is at most 1."""
    d2: Any = hard_instance("D2", alpha=alpha, k=k)
    return {
        "D2": d2,
        f"t({k + 1})": distribution("t", nu=k + 1, k=k, mean=MEAN),
        f"Pareto({k + 1})": distribution("pareto", a=k + 1, k=k, mean=MEAN),
        "lognormal": distribution("lognormal", s=1.0, k=k, mean=-MEAN),
    }


def mean_errors(
    source: Distribution,
    budget: Budget,
    n: int,
    rng: np.random.Generator,
    *,
    alpha: float,
    beta: float,
    k: int,
    constants: MeanConstants,
    blocks: int | None = None,
    bound: float = R,
) -> Iterator[float]:
    """Yield errors of ``mean_1d`` on fresh samples, without end.

    With ``blocks`` the number of the paper's blocks is that instead of what the paper says, so that
    they can be tried at full size without its 600 of them.
    """
    radius = bucket_radius(alpha, k, constants="paper")
    margin = clip_radius(alpha, k, constants="paper")
    while True:
        x = source.sample(n, rng)
        if blocks is None:
            estimate = mean_1d(x, budget, alpha=alpha, beta=beta, k=k, R=bound, constants=constants)
        else:
            ask = Ask(Data(open_table(x).backend), budget, Adjacency.REPLACE_ONE)
            estimate = mean_estimator(
                ask, budget, size=n, blocks=blocks, radius=radius, R=bound, margin=margin
            )
        yield abs(estimate - source.mean)


def range_misses(
    source: Distribution,
    budget: Budget,
    n: int,
    rng: np.random.Generator,
    *,
    alpha: float,
    k: int,
    constants: Constants,
) -> Iterator[bool]:
    """Yield whether ``range_estimate`` missed: an end of the interval is within r of the mean.

    At the paper's constants also if more than a fraction alpha of the records lies outside.
    """
    radius = clip_radius(alpha, k, constants=constants)
    while True:
        x = source.sample(n, rng)
        low, high = range_estimate(x, budget, alpha=alpha, k=k, R=R, constants=constants)
        too_close = min(source.mean - low, high - source.mean) < radius * (1 - 1e-9)
        outside = int(np.count_nonzero((x < low) | (x > high)))
        yield bool(too_close) or (constants == "paper" and outside > alpha * n)
