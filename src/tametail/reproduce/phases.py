"""The phase change: privacy dominates for small n, sampling for large n.

``c (n eps)^(-(k-1)/k)`` meets ``s n^(-1/2)`` at an n proportional to ``eps^(-2(k-1)/(k-2))``: for
k = 4, a third of the budget needs 27 times the records until privacy is free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tametail.reproduce.releases import moment_releases
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
from tametail.theory import Law, law

if TYPE_CHECKING:
    from numpy.random import Generator

K = 4

#: For each epsilon the logarithms of n, around the change.
_SIZES: dict[Effort, tuple[dict[float, tuple[float, ...]], int]] = {
    "tiny": ({0.3: (3.25, 4.0)}, 2),
    "quick": ({0.3: (3.25, 3.75, 4.25, 5.0), 0.1: (4.25, 4.75, 5.25, 6.0)}, 25),
    "full": ({0.3: (3.25, 3.5, 3.75, 4.0, 4.5, 5.0), 0.1: (4.25, 4.75, 5.0, 5.25, 5.5, 6.0)}, 100),
}
_RELEASES = 4


def experiment(effort: Effort) -> Experiment[tuple[float, int]]:
    """Return the cells (epsilon, n)."""
    sizes, repeats = _SIZES[effort]
    cells = {
        (epsilon, round(10**exponent)): Cell(
            partial(_errors, epsilon=epsilon, n=round(10**exponent)), repeats
        )
        for epsilon, exponents in sizes.items()
        for exponent in exponents
    }
    return Experiment("Phase change", cells, conclude)


def _errors(rng: Generator, *, epsilon: float, n: int) -> Sequence[float]:
    """Return the errors of some releases from one sample; the last is that of the plain mean."""
    source = pareto()
    records = source.sample(n, rng)
    values = moment_releases(records, _RELEASES, k=K, epsilon=epsilon)
    return [value - source.mean for value in (*values, float(records.mean()))]


def pareto() -> Law:
    """Return a Pareto law with fourth moment 1, which is just finite, and mean 0.3."""
    return law("pareto", a=1.02 * K, k=K, mean=0.3)


def conclude(errors: Mapping[tuple[float, int], Floats]) -> Section:
    """Split the error in that of the plain mean, and what privacy adds to it."""
    deviation = math.sqrt(pareto().kth_moment(2))
    rows, lines, fits, checks = [], [], [], []
    for colour, epsilon in enumerate(sorted({epsilon for epsilon, _ in errors}, reverse=True)):
        sizes = sorted(n for found, n in errors if found == epsilon)
        sampling = [deviation / math.sqrt(n) for n in sizes]
        total, added = [], []
        for n in sizes:
            released, plain = errors[epsilon, n][:, :-1], errors[epsilon, n][:, -1:]
            total.append(root_mean_square(released))
            added.append(root_mean_square(released - plain))
        ratios = [part / plain for part, plain in zip(added, sampling, strict=True)]
        change = crossing(sizes, ratios)
        fits.append(
            [epsilon, fit_slope(sizes, added), "none seen" if change is None else f"{change:,.0f}"]
        )
        rows += [
            [epsilon, f"{n:,}", *shown]
            for n, *shown in zip(
                sizes, total, (f"{plain:.3g}" for plain in sampling), added, ratios, strict=True
            )
        ]
        lines += [
            Line(f"epsilon = {epsilon}", sizes, [point.value for point in total], "o-", colour),
            Line(
                f"added by privacy, epsilon = {epsilon}",
                sizes,
                [point.value for point in added],
                ":",
                colour,
            ),
        ]
        checks.append(
            Check(
                f"epsilon = {epsilon}: what privacy adds falls from {ratios[0]} to {ratios[-1]} "
                "times the sampling error",
                ratios[0].may_be_at_least(1.0) and ratios[-1].value < 1,
            )
        )
    span = sorted({n for _, n in errors})
    floor = [deviation / math.sqrt(n) for n in span]
    lines.append(Line("plain mean, slope -1/2", span, floor, "--", 6))
    return _section(rows, fits, lines, checks)


def _section(
    rows: list[list[object]], fits: list[list[object]], lines: list[Line], checks: list[Check]
) -> Section:
    exponent = -2 * (K - 1) / (K - 2)
    return Section(
        "The phase change between privacy and sampling",
        [
            f"Root mean squared error of tametail.mean with Moment({K}, 1) on a Pareto law whose "
            f"moment of order {K} is just finite; of the plain mean; and of the difference of "
            f"both, which is what privacy adds. It falls with slope {-(K - 1) / K:g}, sampling "
            f"with -1/2. Theory moves the n at which both are equal by epsilon^{exponent:g}: 27 "
            "times for a third of the budget.",
        ],
        checks,
        [
            Table(["epsilon", "slope of what privacy adds", "n at which both are equal"], fits),
            Table(["epsilon", "n", "error", "plain mean", "added by privacy", "ratio"], rows),
        ],
        [
            Chart(
                "phases",
                f"From the slope -(k-1)/k of privacy to the slope -1/2 of sampling, k = {K}",
                "number of records n",
                "root mean squared error",
                lines,
            )
        ],
    )


def crossing(sizes: Sequence[int], ratios: Sequence[Measured]) -> float | None:
    """Return the n at which a falling ratio passes 1, interpolated in logarithms.

    >>> falling = [Measured(2.0, 0.0), Measured(0.5, 0.0)]
    >>> round(crossing([100, 10_000], falling))
    1000
    """
    logs = np.log([ratio.value for ratio in ratios])
    for place in range(len(logs) - 1):
        if logs[place] > 0 >= logs[place + 1]:
            part = logs[place] / (logs[place] - logs[place + 1])
            return float(sizes[place] * (sizes[place + 1] / sizes[place]) ** part)
    return None
