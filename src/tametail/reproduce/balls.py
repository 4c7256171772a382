"""The ball against n: CDPHDME and its (epsilon, delta) twin between their bounds.

As for one column: the law is the hard instance for each n, whose records lie on the axes, and
each n is asked for the accuracy that the theorem promises there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import product

import numpy as np

from tametail.api.means import mean
from tametail.inequalities.moments import one_hot_atom
from tametail.paper import mean_ball
from tametail.privacy.budget import Budget, approx, zcdp
from tametail.reproduce.checks import Power, has_powers, not_below
from tametail.reproduce.measured import Measured, fit_slope, root_mean_square
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Numbers, Rng
from tametail.theory import OneHot, ball_radius, hardest_mass, lower_bound, upper_bound
from tametail.theory.multivariate import gaussian_strength

MOMENTS, DELTA = (2, 3, 4), 1e-6

EPSILON = 0.2

#: Columns, and how many more repetitions they have: noise in few columns differs more.
DIMENSIONS = {2: 8, 20: 1}

#: The mean is known to be within so many scales of 0; the hard instances have smaller ones.
R = 0.5

NOTIONS = ("zCDP", "approximate")
THEOREMS = {"zCDP": "high-d-cdp", "approximate": "high-d-adp"}
WHO = ("paper.mean_ball", "tametail.mean")

#: Logarithms of n epsilon, and repetitions.
_SIZES: dict[Effort, tuple[tuple[float, ...], int]] = {
    "tiny": ((3.75, 4.0), 1),
    "quick": ((4.0, 4.75), 5),
    "full": ((4.0, 4.5, 5.0), 60),
}


def budget_of(definition: str, epsilon: float) -> tuple[Budget, Numbers]:
    """Return a budget, and the same as arguments of the theory; rho = epsilon^2/2."""
    if definition == "zCDP":
        return zcdp(epsilon**2 / 2), {"rho": epsilon**2 / 2}
    return approx(epsilon, DELTA), {"epsilon": epsilon, "delta": DELTA}


def experiment(effort: Effort) -> Experiment[tuple[str, int, int, int]]:
    """Return the cells (definition, k, d, n)."""
    exponents, repeats = _SIZES[effort]
    cells = {
        (definition, k, d, n): Cell(
            partial(_errors, definition=definition, k=k, d=d, n=n), times * repeats
        )
        for definition in NOTIONS
        for k in MOMENTS
        for d, times in DIMENSIONS.items()
        for n in (round(10**exponent / EPSILON) for exponent in exponents)
    }
    return Experiment("The ball", cells, conclude)


def _errors(rng: Rng, *, definition: str, k: float, d: int, n: int) -> Sequence[float]:
    """Return the Euclidean errors of the ball and of the default mean on the same rows."""
    budget, numbers = budget_of(definition, EPSILON)
    p, alpha = _setting(definition, k, d, n)
    source = OneHot(p, one_hot_atom(p, k, d), tuple(rng.choice([-1, 1], d).tolist()))
    rows = source.sample(n, rng)
    release = mean(rows, neighbors="replace-one", missing="none", confidence=None, **numbers)
    estimates = mean_ball(rows, budget, alpha=alpha, k=k, R=R), release.value
    return [float(np.linalg.norm(estimate - source.mean)) for estimate in estimates]


@cache
def _setting(definition: str, k: float, d: int, n: int) -> tuple[float, float]:
    """Return the mass of the hard instance and the accuracy that is promised."""
    _, numbers = budget_of(definition, EPSILON)
    return hardest_mass(n, k=k, d=d, **numbers), promised(n, k=k, d=d, numbers=numbers)


def promised(n: int, *, k: float, d: int, numbers: Numbers) -> float:
    """Return what the theorem promises for the ball, or one scale if that is nothing."""
    promise = upper_bound(
        n, k=k, R=R, d=d, beta=0.3, algorithm="mean_ball", constants="tight", **numbers
    )
    return min(promise.alpha, 1.0)


def exact_error(definition: str, k: float, d: int, n: int) -> float:
    """Return the root mean squared error of the ball in a cell, if its center were 0.

    Of h = n/2 rows each has an atom at tau on one of d axes, or is 0: either all of them are in the
    ball, and their mean has a sampling error, or none is, and the mean is lost. The noise has the
    standard deviation ``8r/(3h)`` over the strength in every column.

    >>> round(exact_error("zCDP", 2, 20, 50_000), 3)
    0.101
    """
    budget, _ = budget_of(definition, EPSILON)
    p, alpha = _setting(definition, k, d, n)
    tau, radius, half = one_hot_atom(p, k, d), ball_radius(alpha, d, k), n // 2
    noise = 8 * radius / (3 * half * gaussian_strength(budget))
    each = tau * math.sqrt(p / half) if tau <= radius else p * tau
    return math.sqrt(d) * math.hypot(noise, each)


def conclude(errors: Mapping[tuple[str, int, int, int], Floats]) -> Section:
    """Fit the slopes, and look for errors outside of the bounds."""
    checks, rows, charts = [], [], []
    sizes = sorted({n for *_, n in errors})
    exact = {
        (definition, k, d): fit_slope(
            sizes, [Measured(exact_error(definition, k, d, n), 0.0) for n in sizes]
        ).value
        for definition, k, d in product(NOTIONS, MOMENTS, DIMENSIONS)
    }
    for definition in NOTIONS:
        lines: list[Line] = []
        everything, floors = [], []
        _, numbers = budget_of(definition, EPSILON)
        for place, d in enumerate(DIMENSIONS):
            powers = []
            for k in MOMENTS:
                panel = f"k = {k}"
                floor = [lower_bound(n, k=k, d=d, **numbers) for n in sizes]
                alphas = [promised(n, k=k, d=d, numbers=numbers) for n in sizes]
                for column, who in enumerate(WHO):
                    points = [
                        root_mean_square(errors[definition, k, d, n][:, column, None])
                        for n in sizes
                    ]
                    slope = fit_slope(sizes, points)
                    known = f"{exact[definition, k, d]:.3f}" if column == 0 else ""
                    rows.append(
                        [definition, k, d, who, f"{-(k - 1) / k:.3f}", known, slope, *points]
                    )
                    everything += points
                    floors += floor
                    color = 2 * place + column
                    lines.append(Line(f"{who}, d = {d}", sizes, points, "o-", color, panel))
                    if column == 0:
                        rivals = [exact[definition, j, d] for j in MOMENTS if j != k]
                        powers.append(Power(panel, slope, exact[definition, k, d], rivals))
                lines += [
                    Line(f"promised, d = {d}", sizes, alphas, "--", 2 * place, panel),
                    Line(f"lower bound, d = {d}", sizes, floor, ":", 2 * place, panel),
                ]
            claim = (
                f"the ball, {definition}, d = {d}: the error falls as its formula (Theorem {{}})"
            )
            checks.append(has_powers(claim.format(THEOREMS[definition]), powers))
        checks.append(not_below(f"{definition}, d columns: no estimator", everything, floors))
        charts.append(
            Chart(
                f"ball-{definition.lower()}",
                f"The ball between what it promises and what nobody beats, {definition}",
                "number of rows",
                "root mean squared Euclidean error",
                lines,
            )
        )
    head = ["definition", "k", "d", "estimator", "rate", "formula", "slope"]
    table = Table([*head, *(f"n = {n:,}" for n in sizes)], rows)
    return Section("The ball against n", [_WORDS], checks, [table], charts)


_WORDS = (
    "Root mean squared Euclidean error of paper.mean_ball, asked for the accuracy that its theorem "
    f"promises at n rows, for a mean within {R:g} of 0, and of tametail.mean, with no assumption, "
    "on the hard instance of the lower bound in d columns, whose records lie on the axes; "
    f"replace-one, epsilon = {EPSILON:g}, rho = epsilon^2/2, delta = {DELTA:g}. The radius of the "
    "ball is sqrt(d) (1 + (3/alpha)^(1/(k-1))), where the 1 is for a center that is off by a "
    "scale: so the noise falls faster than the rate (n epsilon)^(-(k-1)/k) until alpha is tiny, "
    "and the slope is compared with that of the exact formula for noise and sampling. The wrong "
    "exponents are those of the formula at the other k."
)
