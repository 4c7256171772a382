"""The tournament at d = 1, 2, 3 (Theorem ``high-d-pdp``), beside the ball under pure privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tametail.api.means import mean
from tametail.paper import mean_ball, mean_tournament
from tametail.privacy.budget import pure
from tametail.reproduce.checks import at_most
from tametail.reproduce.measured import Measured, root_mean_square
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Rng
from tametail.theory import (
    ball_sample_size,
    distribution,
    lower_bound,
    tournament,
    tournament_sample_size,
)

ALPHA, BETA, EPSILON, K, R = 0.5, 0.1, 1.0, 2, 8.0
DIMENSIONS = (1, 2, 3)
WHO = ("paper.mean_tournament", "paper.mean_ball", "tametail.mean")

_SIZES: dict[Effort, tuple[tuple[int, ...], int]] = {
    "tiny": ((5_000,), 1),
    "quick": ((5_000, 20_000), 3),
    "full": ((5_000, 20_000, 80_000), 20),
}


def experiment(effort: Effort) -> Experiment[tuple[int, int]]:
    """Return the cells (d, n)."""
    sizes, repeats = _SIZES[effort]
    cells = {(d, n): Cell(partial(_errors, d=d, n=n), repeats) for d in DIMENSIONS for n in sizes}
    return Experiment("Tournament", cells, conclude)


def _errors(rng: Rng, *, d: int, n: int) -> Sequence[float]:
    rows = distribution("t", nu=3, k=K).sample(n * d, rng).reshape(n, d)
    estimates = (
        mean_tournament(rows, pure(EPSILON), alpha=ALPHA, beta=BETA, k=K, R=R),
        mean_ball(rows, pure(EPSILON), alpha=ALPHA, k=K, R=R),
        mean(rows, epsilon=EPSILON, neighbors="replace-one", confidence=None).value,
    )
    return [float(np.linalg.norm(estimate)) for estimate in estimates]


def conclude(errors: Mapping[tuple[int, int], Floats]) -> Section:
    """Compare with the accuracy that the theorem promises, for more records."""
    sizes = sorted({n for _, n in errors})
    rows, lines = [], []
    for d in DIMENSIONS:
        game, panel = tournament(ALPHA, BETA, K, d), f"d = {d}"
        needed = (
            tournament_sample_size(ALPHA, BETA, K, R, d, epsilon=EPSILON),
            ball_sample_size(ALPHA, K, R, d, epsilon=EPSILON),
        )
        for column, who in enumerate(WHO):
            points = [root_mean_square(errors[d, n][:, column, None]) for n in sizes]
            asked = f"{needed[column]:,}" if column < len(needed) else ""
            rows.append([d, who, *points, asked])
            lines.append(Line(who, sizes, points, "o-", column, panel))
        floor = [lower_bound(n, k=K, d=d, epsilon=EPSILON) for n in sizes]
        lines.append(Line("lower bound, for the worst law", sizes, floor, ":", 6, panel))
        lines += [
            Line(f"promised by {who}, at its n", [n], [ALPHA], "x", column, panel)
            for column, (who, n) in enumerate(zip(WHO, needed, strict=False))
        ]
        rows.append(
            [
                d,
                f"grid: {np.exp(game.log_points):,.0f} points, {game.step:.3g} apart",
                *[""] * (len(sizes) + 1),
            ]
        )
    largest = max(float(found[:, 0].max()) for found in errors.values())
    checks = [
        at_most(
            f"the tournament is within alpha = {ALPHA} in every run, with fewer records than its "
            "theorem asks for (Theorem high-d-pdp): the largest error over alpha",
            Measured(largest / ALPHA, 0.0),
            1.0,
        )
    ]
    return Section(
        "The tournament at d = 1, 2, 3",
        [
            f"Euclidean error of paper.mean_tournament, alpha = {ALPHA}, beta = {BETA}, epsilon = "
            f"{EPSILON:g}, on t(3) coordinates of variance 1; of paper.mean_ball with the same "
            "budget and alpha; and of tametail.mean, with no assumption. The tournament's answer "
            "is a point of a grid, so its error is at least about the step whatever n is. The "
            "theorems' constants are for every distribution, so fewer records are enough here; "
            "the lower bound is about the worst distribution and not this one."
        ],
        checks,
        [Table(["d", "estimator", *(f"n = {n:,}" for n in sizes), "theorem's n"], rows)],
        [
            Chart(
                "tournament",
                f"The tournament under pure DP, epsilon = {EPSILON:g}, alpha = {ALPHA}",
                "number of rows",
                "root mean squared Euclidean error",
                lines,
            )
        ],
    )
