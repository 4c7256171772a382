"""The ball against d: noise grows with d, sampling with sqrt(d) (Theorem ``high-d-cdp``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tametail import theory
from tametail.api import mean
from tametail.paper import mean_ball
from tametail.privacy.budget import zcdp
from tametail.reproduce.report import Chart, Check, Line, Section, Table
from tametail.reproduce.slopes import fit_slope
from tametail.reproduce.trials import (
    Cell,
    Effort,
    Experiment,
    Floats,
    Measured,
    root_mean_square,
)

if TYPE_CHECKING:
    from numpy.random import Generator

RECORDS, ALPHA, K, R = 20_000, 0.5, 2, 8.0
TOLERANCE = 0.1

#: Privacy dominates, and sampling does.
STRICT, LOOSE = 0.01, 20.0
HARD = "one-hot"
SETTINGS = (("t(3)", STRICT), ("t(3)", LOOSE), (HARD, STRICT))

_SIZES: dict[Effort, tuple[tuple[int, ...], int]] = {
    "tiny": ((21, 22), 1),
    "quick": ((24, 48, 96), 3),
    "full": ((24, 48, 96, 192), 12),
}


def experiment(effort: Effort) -> Experiment[tuple[str, str, float, int]]:
    """Return the cells (estimator, rho, d)."""
    dimensions, repeats = _SIZES[effort]
    cells = {
        (name, law, rho, d): Cell(partial(_error, name=name, law=law, rho=rho, d=d), repeats)
        for law, rho in SETTINGS
        for name in ("paper.mean_ball", "tametail.mean")
        for d in dimensions
    }
    return Experiment("Dimensions", cells, conclude)


def _error(rng: Generator, *, name: str, law: str, rho: float, d: int) -> Sequence[float]:
    if law == "t(3)":
        # Independent coordinates of variance 1: the mean is 0, every direction has variance 1.
        rows = theory.law("t", nu=3, k=K).sample(RECORDS * d, rng).reshape(RECORDS, d)
        centre = np.zeros(d)
    else:
        signs = tuple(rng.choice([-1, 1], d).tolist())
        source = theory.hard_instance("one-hot", n=RECORDS, k=K, rho=rho, signs=signs)
        rows, centre = source.sample(RECORDS, rng), np.asarray(source.mean)
    if name == "paper.mean_ball":
        estimate = mean_ball(rows, zcdp(rho), alpha=ALPHA, k=K, R=R)
    else:
        release = mean(rows, rho=rho, unit="replace-one", confidence=None)
        estimate = np.asarray(release.value)
    return [float(np.linalg.norm(estimate - centre))]


def ball_noise(d: int, rho: float) -> float:
    """Return ``8 r sqrt(d)/(3 (n/2) sqrt(2 rho))``: the size of the noise on half of the rows.

    >>> round(ball_noise(96, 0.01) / ball_noise(24, 0.01), 6)
    4.0
    """
    radius = theory.ball_radius(ALPHA, d, K)
    return 8 * radius * math.sqrt(d) / (3 * (RECORDS / 2) * math.sqrt(2 * rho))


def conclude(errors: Mapping[tuple[str, str, float, int], Floats]) -> Section:
    """Fit the power of d, and compare with the bound on its own instance."""
    measured = {key: root_mean_square(rows) for key, rows in errors.items()}
    dimensions = sorted({d for *_, d in measured})
    lines, checks, rows = [], [], []
    for colour, (name, law, rho) in enumerate(dict.fromkeys(key[:3] for key in measured)):
        points = [measured[name, law, rho, d] for d in dimensions]
        power = fit_slope(dimensions, points)
        rows.append([name, law, f"{rho:g}", *points, f"{power.value:.2f} ± {power.deviation:.2f}"])
        label, values = f"{name}, {law}, rho = {rho:g}", [point.value for point in points]
        lines.append(Line(label, dimensions, values, "o-", colour))
        if law == HARD:
            bounds = [theory.lower_bound(RECORDS, k=K, rho=rho, d=d) for d in dimensions]
            holds = all(map(Measured.may_be_at_least, points, bounds))
            checks.append(Check(f"{name} is not below the bound on its own instance", holds))
        elif name == "paper.mean_ball":
            expected, which = (1.0, "privacy") if rho == STRICT else (0.5, "sampling")
            checks.append(
                Check(
                    f"the ball where {which} dominates: power of d {power.value:.2f}, theory "
                    f"{expected:g} (within {TOLERANCE}, give or take two standard errors)",
                    abs(power.value - expected) <= TOLERANCE + 2 * power.deviation,
                )
            )
    bound = [theory.lower_bound(RECORDS, k=K, rho=STRICT, d=d) for d in dimensions]
    noise = [ball_noise(d, STRICT) for d in dimensions]
    rows.append(["lower bound", HARD, f"{STRICT:g}", *(f"{value:.3g}" for value in bound), ""])
    lines += [
        Line(f"the ball's noise, rho = {STRICT:g}", dimensions, noise, "--", 4),
        Line(f"lower bound, rho = {STRICT:g}", dimensions, bound, ":", 6),
    ]
    return Section(
        "Error against d for the ball",
        [
            f"Euclidean error on {RECORDS:,} rows with independent t(3) coordinates of variance 1, "
            "and on the hard instance of the lower bound, whose records lie on the axes. The "
            "radius of paper.mean_ball is a public multiple of sqrt(d), so its noise grows with d; "
            "with plenty of budget the sampling error is left, which grows with sqrt(d). "
            "tametail.mean, told nothing, chooses its own radius; on t(3) it may be below the "
            "bound, which is about the worst law.",
        ],
        checks,
        [Table(["estimator", "law", "rho", *(f"d = {d}" for d in dimensions), "power of d"], rows)],
        [
            Chart(
                "dimensions",
                f"The ball estimator against d, n = {RECORDS:,}",
                "number of columns d",
                "root mean squared Euclidean error",
                lines,
            )
        ],
    )
