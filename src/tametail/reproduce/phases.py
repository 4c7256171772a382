"""The phase change: privacy dominates for small n, sampling for large n.

``c (n eps)^(-(k-1)/k)`` meets ``s n^(-1/2)`` at an n proportional to ``eps^(-2(k-1)/(k-2))``: for
k = 4, a third of the budget needs 27 times the records until privacy is free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tametail.reproduce.checks import Power, has_powers, judge, worst
from tametail.reproduce.measured import SLACK, Measured, fit_slope, root_mean_square
from tametail.reproduce.releases import moment_releases
from tametail.reproduce.report import Chart, Check, Line, Section, Table, Verdict
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Rng
from tametail.theory import Distribution, distribution

K = 4

#: For each epsilon the logarithms of n, around the change.
_SIZES: dict[Effort, tuple[dict[float, tuple[float, ...]], int]] = {
    "tiny": ({0.3: (3.25, 4.0)}, 2),
    "quick": ({0.3: (3.5, 3.75, 4.25, 5.0), 0.1: (4.25, 5.0, 5.5, 6.0)}, 25),
    "full": ({0.3: (3.5, 3.75, 4.0, 4.25, 4.5, 5.0), 0.1: (4.25, 4.75, 5.0, 5.25, 5.5, 6.0)}, 400),
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


def _errors(rng: Rng, *, epsilon: float, n: int) -> Sequence[float]:
    """Return the errors of some releases from one sample; the last is that of the plain mean."""
    source = pareto()
    records = source.sample(n, rng)
    values = moment_releases(records, _RELEASES, k=K, epsilon=epsilon)
    return [value - source.mean for value in (*values, float(records.mean()))]


def pareto() -> Distribution:
    """Return a Pareto law with fourth moment 1, which is just finite, and mean 0.3."""
    return distribution("pareto", a=1.02 * K, k=K, mean=0.3)


def conclude(errors: Mapping[tuple[float, int], Floats]) -> Section:
    """Split the error in that of the plain mean, and what privacy adds to it."""
    deviation = math.sqrt(pareto().kth_moment(2))
    rows, lines, fits, slopes, changes = [], [], [], [], {}
    for color, epsilon in enumerate(sorted({epsilon for epsilon, _ in errors}, reverse=True)):
        sizes = sorted(n for found, n in errors if found == epsilon)
        sampling = [deviation / math.sqrt(n) for n in sizes]
        total, added = [], []
        for n in sizes:
            released, plain = errors[epsilon, n][:, :-1], errors[epsilon, n][:, -1:]
            total.append(root_mean_square(released))
            added.append(root_mean_square(released - plain))
        ratios = [part / plain for part, plain in zip(added, sampling, strict=True)]
        change, slope = crossing(sizes, ratios), fit_slope(sizes, added)
        slopes.append((epsilon, slope))
        if change is not None:
            changes[epsilon] = change
        fits.append([epsilon, slope, "none seen" if change is None else f"{change.value:,.0f}"])
        rows += [
            [epsilon, f"{n:,}", *shown]
            for n, *shown in zip(
                sizes, total, (f"{plain:.3g}" for plain in sampling), added, ratios, strict=True
            )
        ]
        lines += [
            Line(f"epsilon = {epsilon}", sizes, total, "o-", color),
            Line(f"added by privacy, epsilon = {epsilon}", sizes, added, ":", color),
        ]
    span = sorted({n for _, n in errors})
    floor = [deviation / math.sqrt(n) for n in span]
    lines.append(Line("plain mean, slope -1/2", span, floor, "--", 6))
    return _section(rows, fits, lines, [_fast_enough(slopes), _moved(changes)])


def _fast_enough(slopes: Sequence[tuple[float, Measured]]) -> Check:
    """Say whether what privacy adds falls at least as fast as the worst case; -1/2 would not."""
    worst_case, limit = -(K - 1) / K, -(K - 1) / K / 2 - 1 / 4
    return Check(
        f"k = {K}: what privacy adds falls at least as n^({worst_case:g})",
        f"at most {worst_case:g}",
        "; ".join(f"epsilon = {epsilon}: {slope.fixed(3)}" for epsilon, slope in slopes),
        f"at most {limit:g}, half of the way to the -1/2 of sampling",
        worst(judge(slope.value, slope.deviation, limit) for _, slope in slopes),
    )


def _moved(changes: Mapping[float, Measured]) -> Check:
    """Say whether the n from which privacy is free moves with epsilon^-3; -2 would be wrong."""
    claim = "the n from which privacy adds less than sampling moves with a power of epsilon"
    theory = -2 * (K - 1) / (K - 2)
    if len(changes) < 2:
        return Check(claim, f"{theory:.3f}", "not seen", "0.500", Verdict.UNDECIDED)
    (first, one), (second, other) = sorted(changes.items())[:: len(changes) - 1]
    apart = math.log(second / first)
    power = math.log(other.value / one.value) / apart
    spread = math.hypot(one.deviation / one.value, other.deviation / other.value) / apart
    fitted = Measured(power, spread)
    return has_powers(claim, [Power(f"{first} to {second}", fitted, theory, (theory + 1,))])


def _section(
    rows: list[list[object]], fits: list[list[object]], lines: list[Line], checks: list[Check]
) -> Section:
    exponent = -2 * (K - 1) / (K - 2)
    return Section(
        "The phase change between privacy and sampling",
        [
            f"Root mean squared error of tametail.mean with Moment({K}, 1) on a Pareto "
            f"distribution whose moment of order {K} is just finite; of the plain mean; and of the "
            "difference of both, which is what privacy adds. In the worst case for each n it falls "
            f"with slope {-(K - 1) / K:g}, and sampling with -1/2, so the n at which both are "
            f"equal moves by epsilon^{exponent:g}: 27 times for a third of the budget. This one "
            "distribution is the same for all n, so privacy's part may fall faster than in the "
            "worst case, and does where n is small; the first table has the slopes."
        ],
        checks,
        [
            Table(["epsilon", "slope of what privacy adds", "n at which both are equal"], fits),
            Table(["epsilon", "n", "error", "plain mean", "added by privacy", "ratio"], rows),
        ],
        [
            Chart(
                "phases",
                f"What privacy adds falls below the sampling error, k = {K}",
                "number of records n",
                "root mean squared error",
                lines,
            )
        ],
    )


def crossing(sizes: Sequence[int], ratios: Sequence[Measured]) -> Measured | None:
    """Return the n at which a falling ratio passes 1, by a line through logarithms.

    The line goes from the last ratio that is surely above 1 to the first that is surely below: two
    neighbors that happen to be on either side say little if the ratio falls slowly.

    >>> falling = [Measured(2.0, 0.02), Measured(0.5, 0.005)]
    >>> str(crossing([100, 10_000], falling))
    '1e+03 ± 2e+01'
    >>> crossing([100, 10_000], [Measured(2.0, 0.6), Measured(0.5, 0.005)]) is None
    True
    """
    spreads = [SLACK * ratio.deviation for ratio in ratios]
    surely = [
        (ratio.value - spread > 1) - (ratio.value + spread <= 1)
        for ratio, spread in zip(ratios, spreads, strict=True)
    ]
    if 1 not in surely or -1 not in surely[surely.index(1) :]:
        return None
    end = surely.index(-1, surely.index(1))
    start = max(place for place in range(end) if surely[place] == 1)
    x, points = np.log(sizes[start : end + 1]), ratios[start : end + 1]
    y = np.log([float(point) for point in points])
    relative = np.array([point.deviation / point.value for point in points])
    weights = relative**-2.0 if relative.all() else np.ones(len(x))
    slope = fit_slope(sizes[start : end + 1], points)
    height = float(np.average(y, weights=weights))
    n = math.exp(float(np.average(x, weights=weights)) - height / slope.value)
    known = float(weights.sum()) ** -0.5 if relative.all() else 0.0
    spread = math.hypot(known, height / slope.value * slope.deviation) / abs(slope.value)
    return Measured(n, n * spread)
