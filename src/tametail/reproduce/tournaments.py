"""The tournament at d = 1, 2, 3 (Theorem ``high-d-pdp``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tametail.paper import mean_tournament
from tametail.privacy.budget import pure
from tametail.reproduce.report import Chart, Check, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, root_mean_square
from tametail.theory import law, tournament, tournament_sample_size

if TYPE_CHECKING:
    from numpy.random import Generator

ALPHA, BETA, EPSILON, K, R = 0.5, 0.1, 1.0, 2, 8.0
DIMENSIONS = (1, 2, 3)

_SIZES: dict[Effort, tuple[tuple[int, ...], int]] = {
    "tiny": ((20_000,), 1),
    "quick": ((20_000,), 4),
    "full": ((20_000, 80_000), 15),
}


def experiment(effort: Effort) -> Experiment[tuple[int, int]]:
    """Return the cells (d, n)."""
    sizes, repeats = _SIZES[effort]
    cells = {(d, n): Cell(partial(_error, d=d, n=n), repeats) for d in DIMENSIONS for n in sizes}
    return Experiment("Tournament", cells, conclude)


def _error(rng: Generator, *, d: int, n: int) -> Sequence[float]:
    rows = law("t", nu=3, k=K).sample(n * d, rng).reshape(n, d)
    estimate = mean_tournament(rows, pure(EPSILON), alpha=ALPHA, beta=BETA, k=K, R=R)
    return [float(np.linalg.norm(estimate))]


def conclude(errors: Mapping[tuple[int, int], Floats]) -> Section:
    """Compare with the accuracy that the theorem promises, for more records."""
    measured = {key: root_mean_square(rows) for key, rows in errors.items()}
    sizes = sorted({n for _, n in measured})
    rows = []
    for d in DIMENSIONS:
        game = tournament(ALPHA, BETA, K, d)
        needed = tournament_sample_size(ALPHA, BETA, K, R, d, epsilon=EPSILON)
        points = [str(measured[d, n]) for n in sizes]
        rows.append(
            [d, f"{np.exp(game.log_points):,.0f}", f"{game.step:.3g}", *points, f"{needed:,}"]
        )
    checks = [
        Check(
            f"every answer is within alpha = {ALPHA}, with fewer records than the theorem asks for",
            all(float(found.max()) <= ALPHA for found in errors.values()),
        ),
    ]
    lines = [
        Line(f"n = {n:,}", DIMENSIONS, [measured[d, n].value for d in DIMENSIONS], "o-", colour)
        for colour, n in enumerate(sizes)
    ]
    lines.append(Line("alpha", DIMENSIONS, [ALPHA] * len(DIMENSIONS), ":", 6))
    return Section(
        "The tournament at d = 1, 2, 3",
        [
            f"Euclidean error of paper.mean_tournament, alpha = {ALPHA}, beta = {BETA}, epsilon = "
            f"{EPSILON:g}, on t(3) coordinates of variance 1. The answer is a point of a grid; its "
            "number of points, and its step, are shown. The theorem's constants are for every law, "
            "so far fewer records are enough here.",
        ],
        checks,
        [Table(["d", "points", "step", *(f"n = {n:,}" for n in sizes), "theorem's n"], rows)],
        [
            Chart(
                "tournament",
                f"The tournament under pure DP, epsilon = {EPSILON:g}",
                "number of columns d",
                "root mean squared Euclidean error",
                lines,
                log_x=False,
            )
        ],
    )
