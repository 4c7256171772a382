"""Error against n on the hard instances, with fitted slopes beside -(k-1)/k.

A minimax rate is about the worst law at each n. Two such families are run. On D+- with the mass p
of the lower bound, about two records over epsilon carry the mean: nobody can see them. On D2 with
``n p epsilon = 250`` they can be seen, so the estimator has to find how far out they lie and pay
for the noise of a clip point there. Both have ``p ~ 1/(n epsilon)``, atoms at ``p^(-1/k)``, and
hence an error of ``p^(-1/k)/(n epsilon) ~ (n epsilon)^(-(k-1)/k)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tametail.reproduce.checks import Power, has_powers, other_exponents
from tametail.reproduce.measured import Measured, fit_slope, root_mean_square
from tametail.reproduce.releases import moment_releases
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Rng
from tametail.theory import hard_instance, lower_bound

if TYPE_CHECKING:
    from tametail.theory.hard_instances import HardInstance

MOMENTS = (2, 3, 4, 8)
EPSILON = 0.02

#: Expected records at the atom, times epsilon, in the family where they can be seen.
VISIBLE = 250.0

#: Name of the chart, and what the law is.
FAMILIES = {
    "D±": ("slopes", "the instances of the lower bound"),
    "D2": ("visible", "instances with visible atoms"),
}

#: Logarithms of n epsilon, and how many samples are drawn at the ends and between them.
_SIZES: dict[Effort, tuple[tuple[float, ...], int, int]] = {
    "tiny": ((3.5, 3.75), 2, 2),
    "quick": ((3.75, 4.5, 5.25), 24, 6),
    "full": ((3.75, 4.25, 4.75, 5.25), 600, 60),
}

#: Releases from the same records: their noise is independent, and it dominates.
_RELEASES = 4


def experiment(effort: Effort) -> Experiment[tuple[str, int, int]]:
    """Return the cells (family, k, n)."""
    exponents, ends, between = _SIZES[effort]
    cells = {}
    for k in MOMENTS:
        for place, exponent in enumerate(exponents):
            n = round(10**exponent / EPSILON)
            repeats = ends if place in (0, len(exponents) - 1) else between
            cells["D2", k, n] = Cell(partial(_visible, k=k, n=n), repeats)
            cells["D±", k, n] = Cell(partial(_invisible, k=k, n=n), repeats)
    return Experiment("Error against n", cells, conclude)


def _visible(rng: Rng, *, k: float, n: int) -> Sequence[float]:
    alpha = (VISIBLE / (n * EPSILON)) ** ((k - 1) / k)
    # Octaves are powers of two: a random unit of measurement keeps them from playing a part.
    scale = 2 ** rng.random()
    law = hard_instance("D2", alpha=alpha * scale, k=k, scale=scale)
    return _errors(law, law.sample(n, rng), k, scale)


def _invisible(rng: Rng, *, k: float, n: int) -> Sequence[float]:
    sign = int(rng.choice([-1, 1]))
    law = hard_instance("two-point", n=n, k=k, epsilon=EPSILON, sign=sign)
    return _errors(law, law.sample(n, rng), k, 1.0)


def _errors(law: HardInstance, records: Floats, k: float, scale: float) -> list[float]:
    values = moment_releases(records, _RELEASES, k=k, scale=scale, epsilon=EPSILON)
    return [(value - float(law.mean)) / scale for value in values]


def conclude(errors: Mapping[tuple[str, int, int], Floats]) -> Section:
    """Fit the slopes, and compare them with the theory."""
    measured = {key: root_mean_square(rows) for key, rows in errors.items()}
    sizes = sorted({n for _, _, n in measured})
    curves = {
        (family, k): [measured[family, k, n] for n in sizes] for family in FAMILIES for k in MOMENTS
    }
    slopes = {key: fit_slope(sizes, points) for key, points in curves.items()}
    rivals = {k: other_exponents(k, MOMENTS, -1.0) for k in MOMENTS}
    checks = [
        has_powers(
            f"tametail.mean with a moment on {which}: the error falls as n^(-(k-1)/k)",
            [Power(f"k = {k}", slopes[family, k], -(k - 1) / k, rivals[k]) for k in MOMENTS],
        )
        for family, (_, which) in FAMILIES.items()
    ]
    fits = [
        [k, f"{-(k - 1) / k:.3f}", *(slopes[family, k].fixed(3) for family in FAMILIES)]
        for k in MOMENTS
    ]
    return Section(
        "Error against n: the slope of the privacy term",
        [
            f"Root mean squared error of tametail.mean with Moment(k, scale) and within, epsilon = "
            f"{EPSILON}, replace-one, on the hard instances for each n. D± is the instance of the "
            "lower bound: too few records carry the mean to be seen, and records are clipped where "
            f"the moment says. On D2 with n p epsilon = {VISIBLE:g} the atoms are seen, "
            "and what is measured is the noise that a clip point out there costs; sampling makes "
            "up about a third of the squared error."
        ],
        checks,
        [
            Table(["k", "theory", *(f"slope on {family}" for family in FAMILIES)], fits),
            Table(
                ["family", "k", *(f"n = {n:,}" for n in sizes)],
                [[family, k, *points] for (family, k), points in curves.items()],
            ),
        ],
        [
            Chart(
                name,
                f"Error on {which}, epsilon = {EPSILON}; lines have slope -(k-1)/k",
                "number of records n",
                "root mean squared error",
                _lines(family, sizes, curves),
            )
            for family, (name, which) in FAMILIES.items()
        ],
    )


def _lines(
    family: str, sizes: Sequence[int], curves: Mapping[tuple[str, int], Sequence[Measured]]
) -> list[Line]:
    lines = []
    for color, k in enumerate(MOMENTS):
        theory = -(k - 1) / k
        values = curves[family, k]
        logs = np.log([float(value) for value in values])
        middle = math.exp(np.mean(logs) - theory * np.mean(np.log(sizes)))
        lines += [
            Line(f"k = {k}", sizes, values, "o", color),
            Line("", sizes, [middle * n**theory for n in sizes], "-", color),
        ]
        if family == "D±":  # the bound is about this law, and says nothing about the other
            bound = [lower_bound(n, k=k, epsilon=EPSILON) for n in sizes]
            lines.append(Line(f"k = {k}, lower bound", sizes, bound, ":", color))
    return lines
