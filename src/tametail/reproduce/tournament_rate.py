"""How many records the tournament takes: n against alpha, at d = 1 and 2 (``high-d-pdp``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tametail.paper import mean_tournament
from tametail.privacy.budget import pure
from tametail.reproduce.checks import Power, has_powers
from tametail.reproduce.measured import bisected, fit_slope, least, too_many
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Rng
from tametail.theory import TwoPoint, tournament_sample_size

EPSILON, BETA, R = 0.1, 0.3, 0.5
MOMENTS = (2, 4)

#: The mean is this many times alpha, so that answering 0 is never enough.
BEYOND = 1.05

#: The first n that is tried, and the factor at which bisection ends.
_FIRST, _CLOSE = 64, 1.1

#: For each number of columns its alphas and repetitions; and runs at each n.
_SIZES: dict[Effort, tuple[dict[int, tuple[tuple[float, ...], int]], int]] = {
    "tiny": ({1: ((0.4, 0.2), 1)}, 3),
    "quick": ({1: ((0.2, 0.05), 2)}, 10),
    "full": ({1: ((0.2, 0.05, 0.0125), 6), 2: ((0.4, 0.1), 3)}, 24),
}

#: Columns, k and alpha.
Key = tuple[int, int, float]


def experiment(effort: Effort) -> Experiment[Key]:
    """Return the cells (d, k, alpha)."""
    sizes, runs = _SIZES[effort]
    cells = {
        (d, k, alpha): Cell(partial(_least, d=d, k=k, alpha=alpha, runs=runs), repeats)
        for d, (alphas, repeats) in sizes.items()
        for k in MOMENTS
        for alpha in alphas
    }
    return Experiment("The tournament's rate", cells, conclude)


def _least(rng: Rng, *, d: int, k: int, alpha: float, runs: int) -> Sequence[float]:
    """Double, then bisect, for the n at which a share beta of the errors exceeds alpha."""

    def fails(n: int) -> bool:
        return _error(rng, n, d, k, alpha) > alpha

    high = _FIRST
    while too_many(fails, high, runs, BETA):
        high *= 2
    # One step more at the lower end: the last doubling was drawn as well.
    return [least(fails, high / 4, high, runs=runs, share=BETA, close=_CLOSE)]


def _error(rng: Rng, n: int, d: int, k: int, alpha: float) -> float:
    """Return the error of one release from n fresh rows: D2 on the first axis, zeros elsewhere."""
    target = BEYOND * alpha
    tau = target ** (-1 / (k - 1)) * int(rng.choice([-1, 1]))
    source = TwoPoint(target ** (k / (k - 1)), tau)
    rows, center = np.zeros((n, d)), np.zeros(d)
    rows[:, 0], center[0] = source.sample(n, rng), source.mean
    found = mean_tournament(rows, pure(EPSILON), alpha=alpha, beta=BETA, k=k, R=R)
    return float(np.linalg.norm(found - center))


def conclude(errors: Mapping[Key, Floats]) -> Section:
    """Fit the power of alpha."""
    measured = bisected(errors, _CLOSE)
    rows, lines, powers = [], [], []
    for color, (d, k) in enumerate(sorted({key[:2] for key in measured})):
        alphas = sorted(alpha for *key, alpha in measured if key == [d, k])
        points = [measured[d, k, alpha] for alpha in alphas]
        asked = [tournament_sample_size(a, BETA, k, R, d, epsilon=EPSILON) for a in alphas]
        rivals = [-j / (j - 1) for j in MOMENTS if j != k]
        name = f"d = {d}, k = {k}"
        powers.append(Power(name, fit_slope(alphas, points), -k / (k - 1), rivals))
        lines.append(Line(name, alphas, points, "o-", color))
        lines.append(Line(f"theorem, {name}", alphas, asked, ":", color))
        rows += [
            [d, k, alpha, f"{point.value:,.0f} ± {point.deviation:,.0f}", f"{n:,}"]
            for alpha, point, n in zip(alphas, points, asked, strict=True)
        ]
    return Section(
        "The tournament against alpha",
        [
            "The least n at which paper.mean_tournament errs by more than alpha in a share of at "
            f"most {BETA:g} of the runs, by bisection with fresh records, on D2 with mean "
            f"{BEYOND:g} alpha along the first axis; epsilon = {EPSILON:g}, mean within {R:g} of "
            "0. Privacy dominates, so that theory has n ~ alpha^(-k/(k-1)). The theorem's n is "
            "far beyond: it is for every distribution, and its grid, blocks and scores pay for "
            "all of their constants. The wrong power is that of the other k."
        ],
        [
            has_powers(
                "the tournament: records grow as alpha^(-k/(k-1)) (Theorem high-d-pdp)", powers
            )
        ],
        [Table(["d", "k", "alpha", "needed", "theorem's n"], rows)],
        [
            Chart(
                "tournament-alpha",
                f"Records for an error within alpha with probability {1 - BETA:g}, tournament",
                "alpha",
                "records",
                lines,
            )
        ],
    )
