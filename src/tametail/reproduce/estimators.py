"""The paper's own estimators against n: PDPODME, CDPODME and ADPODME between their bounds.

Each is told what its theorem assumes and asked for the accuracy that the theorem promises at n
records. The law is D+- with the mass of the lower bound, so that every n has its worst law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from tametail.paper import mean_1d
from tametail.privacy.budget import Budget, approx, pure, zcdp
from tametail.reproduce.report import Chart, Check, Line, Section, Table
from tametail.reproduce.slopes import fit_slope
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Numbers, root_mean_square
from tametail.theory import TwoPoint, hardest_mass, lower_bound, upper_bound
from tametail.theory.moments import two_point_atom

if TYPE_CHECKING:
    from numpy.random import Generator

MOMENTS, EPSILON, DELTA = (2, 3, 4), 0.02, 1e-6
TOLERANCE = 0.05

#: The mean is known to be within so many scales of 0; every D+- here has a smaller one.
R = 0.1

#: One block: the median of means is for high confidence, not for a mean squared error.
BETA = 0.3

#: Algorithm: its budget, and the same as arguments of the theory; rho = epsilon^2/2.
ALGORITHMS: dict[str, tuple[Budget, Numbers]] = {
    "PDPODME": (pure(EPSILON), {"epsilon": EPSILON}),
    "CDPODME": (zcdp(EPSILON**2 / 2), {"rho": EPSILON**2 / 2}),
    "ADPODME": (approx(EPSILON, DELTA), {"epsilon": EPSILON, "delta": DELTA}),
}

#: Logarithms of n epsilon, and repetitions.
_SIZES: dict[Effort, tuple[tuple[float, ...], int]] = {
    "tiny": ((3.5, 3.75), 2),
    "quick": ((3.5, 4.0, 4.5), 30),
    "full": ((3.5, 4.0, 4.5, 5.0), 300),
}


def experiment(effort: Effort) -> Experiment[tuple[str, int, int]]:
    """Return the cells (algorithm, k, n)."""
    exponents, repeats = _SIZES[effort]
    cells = {
        (name, k, n): Cell(partial(_errors, name=name, k=k, n=n), repeats)
        for name in ALGORITHMS
        for k in MOMENTS
        for n in (round(10**exponent / EPSILON) for exponent in exponents)
    }
    return Experiment("The paper's estimators", cells, conclude)


def _errors(rng: Generator, *, name: str, k: float, n: int) -> Sequence[float]:
    hardest, alpha = _setting(name, k, n)
    source = TwoPoint(hardest.p, hardest.tau * int(rng.choice([-1, 1])))
    budget, _ = ALGORITHMS[name]
    estimate = mean_1d(source.sample(n, rng), budget, alpha=alpha, beta=BETA, k=k, R=R)
    return [estimate - source.mean]


@cache
def _setting(name: str, k: float, n: int) -> tuple[TwoPoint, float]:
    """Return the law and the accuracy that is promised: both take long to find."""
    _, numbers = ALGORITHMS[name]
    p = hardest_mass(n, k=k, **numbers)
    return TwoPoint(p, two_point_atom(p, k)), upper_bound(n, k=k, R=R, beta=BETA, **numbers)


def conclude(errors: Mapping[tuple[str, int, int], Floats]) -> Section:
    """Fit the slopes, and look for errors outside of the bounds."""
    measured = {key: root_mean_square(rows) for key, rows in errors.items()}
    sizes = sorted({n for *_, n in measured})
    checks, rows, charts = [], [], []
    for name, (_, numbers) in ALGORITHMS.items():
        lines = []
        for colour, k in enumerate(MOMENTS):
            points = [measured[name, k, n] for n in sizes]
            floor = [lower_bound(n, k=k, **numbers) for n in sizes]
            promised = [upper_bound(n, k=k, R=R, beta=BETA, **numbers) for n in sizes]
            slope, theory = fit_slope(sizes, points), -(k - 1) / k
            rows.append([name, k, f"{theory:.3f}", slope, *points])
            checks += [
                Check(
                    f"{name}, k = {k}: slope {slope}, theory {theory:.3f} (within {TOLERANCE}, "
                    "give or take two standard errors)",
                    abs(slope.value - theory) <= TOLERANCE + 2 * slope.deviation,
                ),
                Check(
                    f"{name}, k = {k}: no error is below the lower bound",
                    all(map(type(slope).may_be_at_least, points, floor)),
                ),
            ]
            values = [point.value for point in points]
            lines += [
                Line(f"k = {k}", sizes, values, "o-", colour),
                Line(f"k = {k}, promised", sizes, promised, "--", colour),
                Line(f"k = {k}, lower bound", sizes, floor, ":", colour),
            ]
        charts.append(
            Chart(
                name.lower(),
                f"{name} between what it promises and what nobody beats, epsilon = {EPSILON}",
                "number of records n",
                "root mean squared error",
                lines,
            )
        )
    head = ["algorithm", "k", "theory", "slope", *(f"n = {n:,}" for n in sizes)]
    return Section(
        "The paper's estimators against n",
        [
            "Root mean squared error of paper.mean_1d (tight constants, one block, mean within "
            f"{R:g} of 0) on D±, epsilon = {EPSILON}, rho = epsilon^2/2, delta = {DELTA:g}, "
            "replace-one; asked for the accuracy that its theorem promises at n records with "
            f"probability {1 - BETA:g}, which is drawn as well.",
        ],
        checks,
        [Table(head, rows)],
        charts,
    )
