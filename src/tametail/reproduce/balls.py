"""The ball against n: CDPHDME and its (epsilon, delta) twin between their bounds.

As for one column: the law is the hard instance for each n, whose records lie on the axes, and
each n is asked for the accuracy that the theorem promises there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from tametail.api import mean
from tametail.paper import mean_ball
from tametail.privacy.budget import Budget, approx, zcdp
from tametail.reproduce.checks import has_power, not_below
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.slopes import fit_slope
from tametail.reproduce.trials import (
    Cell,
    Effort,
    Experiment,
    Floats,
    Measured,
    Numbers,
    root_mean_square,
)
from tametail.theory import OneHot, ball_radius, hardest_mass, lower_bound, upper_bound
from tametail.theory.moments import one_hot_atom

if TYPE_CHECKING:
    from numpy.random import Generator

MOMENTS, DELTA = (2, 3, 4), 1e-6

#: Columns, and the epsilon at which so many of them fit into memory.
STRENGTHS = {2: 0.02, 20: 0.2}

#: The mean is known to be within so many scales of 0; the hard instances have smaller ones.
R = 0.5

NOTIONS = ("zCDP", "approximate")
WHO = ("paper.mean_ball", "tametail.mean")

#: Logarithms of n epsilon, and repetitions.
_SIZES: dict[Effort, tuple[tuple[float, ...], int]] = {
    "tiny": ((3.75, 4.0), 2),
    "quick": ((4.0, 4.5), 10),
    "full": ((4.0, 4.5, 5.0), 40),
}


def budget_of(notion: str, epsilon: float) -> tuple[Budget, Numbers]:
    """Return a budget, and the same as arguments of the theory; rho = epsilon^2/2."""
    if notion == "zCDP":
        return zcdp(epsilon**2 / 2), {"rho": epsilon**2 / 2}
    return approx(epsilon, DELTA), {"epsilon": epsilon, "delta": DELTA}


def experiment(effort: Effort) -> Experiment[tuple[str, int, int, int]]:
    """Return the cells (notion, k, d, n)."""
    exponents, repeats = _SIZES[effort]
    cells = {
        (notion, k, d, n): Cell(partial(_errors, notion=notion, k=k, d=d, n=n), repeats)
        for notion in NOTIONS
        for k in MOMENTS
        for d, epsilon in STRENGTHS.items()
        for n in (round(10**exponent / epsilon) for exponent in exponents)
    }
    return Experiment("The ball", cells, conclude)


def _errors(rng: Generator, *, notion: str, k: float, d: int, n: int) -> Sequence[float]:
    """Return the Euclidean errors of the ball and of the default mean on the same rows."""
    budget, numbers = budget_of(notion, STRENGTHS[d])
    p, alpha = _setting(notion, k, d, n)
    source = OneHot(p, one_hot_atom(p, k, d), tuple(rng.choice([-1, 1], d).tolist()))
    rows = source.sample(n, rng)
    release = mean(rows, unit="replace-one", missing="none", confidence=None, **numbers)
    estimates = mean_ball(rows, budget, alpha=alpha, k=k, R=R), release.value
    return [float(np.linalg.norm(estimate - source.mean)) for estimate in estimates]


@cache
def _setting(notion: str, k: float, d: int, n: int) -> tuple[float, float]:
    """Return the mass of the hard instance and the accuracy that is promised."""
    _, numbers = budget_of(notion, STRENGTHS[d])
    return hardest_mass(n, k=k, d=d, **numbers), promised(n, k=k, d=d, numbers=numbers)


def promised(n: int, *, k: float, d: int, numbers: Numbers) -> float:
    """Return what the theorem promises for the ball, or one scale if that is nothing."""
    return min(upper_bound(n, k=k, R=R, d=d, **numbers), 1.0)


def conclude(errors: Mapping[tuple[str, int, int, int], Floats]) -> Section:
    """Fit the slopes, and look for errors outside of the bounds."""
    checks, rows, charts = [], [], []
    for notion in NOTIONS:
        lines, everything, floors = [], [], []
        for k in MOMENTS:
            for place, (d, epsilon) in enumerate(STRENGTHS.items()):
                _, numbers = budget_of(notion, epsilon)
                sizes = sorted(n for *key, n in errors if key == [notion, k, d])
                scaled, panel = [n * epsilon for n in sizes], f"k = {k}"
                floor = [lower_bound(n, k=k, d=d, **numbers) for n in sizes]
                alphas = [promised(n, k=k, d=d, numbers=numbers) for n in sizes]
                # The noise is a multiple of radius/n: its slope, with the radius as it is.
                noise = [
                    Measured(ball_radius(a, d, k) / n, 0.0)
                    for a, n in zip(alphas, sizes, strict=True)
                ]
                for column, who in enumerate(WHO):
                    points = [
                        root_mean_square(errors[notion, k, d, n][:, column, None]) for n in sizes
                    ]
                    slope, expected = fit_slope(sizes, points), fit_slope(sizes, noise)
                    rows.append([notion, k, d, who, f"{-(k - 1) / k:.3f}", slope, *points])
                    everything += points
                    floors += floor
                    values, colour = [point.value for point in points], 2 * place + column
                    lines.append(Line(f"{who}, d = {d}", scaled, values, "o-", colour, panel))
                    if column == 0:
                        what = f"the ball, {notion}, k = {k}, d = {d}: the slope beside its noise's"
                        checks.append(has_power(what, slope, expected.value))
                lines += [
                    Line(f"promised, d = {d}", scaled, alphas, "--", 2 * place, panel),
                    Line(f"lower bound, d = {d}", scaled, floor, ":", 2 * place, panel),
                ]
        checks.append(not_below(f"{notion}: no estimator", everything, floors))
        charts.append(
            Chart(
                f"ball-{notion.lower()}",
                f"The ball between what it promises and what nobody beats, {notion}",
                "number of rows times epsilon",
                "root mean squared Euclidean error",
                lines,
            )
        )
    count = len({n for _, _, d, n in errors if d == min(STRENGTHS)})
    head = ["notion", "k", "d", "estimator", "rate", "slope", *(f"n {i + 1}" for i in range(count))]
    return Section("The ball against n", [_WORDS], checks, [Table(head, rows)], charts)


_WORDS = (
    "Root mean squared Euclidean error of paper.mean_ball, asked for the accuracy that its theorem "
    f"promises at n rows, told that the mean is within {R:g} of 0, and of tametail.mean, told "
    "nothing, on the hard instance of the lower bound in d columns, whose records lie on the axes; "
    "replace-one, rho = epsilon^2/2, delta = 1e-6, epsilon = 0.02 for 2 columns and 0.2 for 20. "
    "The radius of the ball is sqrt(d) (1 + (3/alpha)^(1/(k-1))), where the 1 is for a centre that "
    "is off by a scale: so the noise falls faster than the rate (n epsilon)^(-(k-1)/k) until alpha "
    "is tiny, and the slope is compared with that of radius/n."
)
