"""The ball against d: noise grows with d, sampling with sqrt(d) (Theorem ``high-d-cdp``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tametail import theory
from tametail.api.means import mean
from tametail.paper import mean_ball
from tametail.privacy.budget import zcdp
from tametail.reproduce.balls import MOMENTS, NOTIONS, WHO, budget_of
from tametail.reproduce.checks import Power, has_powers, not_below
from tametail.reproduce.measured import Measured, fit_slope, root_mean_square
from tametail.reproduce.report import Chart, Check, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Rng

RECORDS, ALPHA, R = 20_000, 0.5, 8.0

#: Privacy dominates, and sampling does, on t(3) coordinates.
STRICT, LOOSE = 0.01, 20.0

#: The budget on the hard instances.
EPSILON = math.sqrt(2 * STRICT)

#: On the hard instances, on t(3), and repetitions of each.
_SIZES: dict[Effort, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "tiny": ((20, 40), (21, 22), 1),
    "quick": ((1, 5, 50), (24, 48, 96), 3),
    "full": ((1, 2, 5, 20, 50, 200), (24, 48, 96, 192), 12),
}

Key = tuple[str, int, int]


def experiment(effort: Effort) -> Experiment[Key]:
    """Return the cells (definition, k, d) of hard instances, and (rho, 2, d) of t(3)."""
    hard, ordinary, repeats = _SIZES[effort]
    cells: dict[Key, Cell] = {
        (definition, k, d): Cell(
            partial(_hard, definition=definition, k=k, d=d), repeats * max(40 // d, 1)
        )
        for definition in NOTIONS
        for k in MOMENTS
        for d in hard
    }
    for rho in (STRICT, LOOSE):
        for d in ordinary:
            cells[f"rho = {rho:g}", 2, d] = Cell(partial(_ordinary, rho=rho, d=d), repeats)
    return Experiment("Dimensions", cells, conclude)


def _hard(rng: Rng, *, definition: str, k: float, d: int) -> Sequence[float]:
    budget, numbers = budget_of(definition, EPSILON)
    signs = tuple(rng.choice([-1, 1], d).tolist())
    if d == 1:
        one = theory.hard_instance("two-point", n=RECORDS, k=k, sign=signs[0], **numbers)
        rows, center = one.sample(RECORDS, rng)[:, None], np.array([one.mean])
    else:
        many = theory.hard_instance("one-hot", n=RECORDS, k=k, signs=signs, **numbers)
        rows, center = many.sample(RECORDS, rng), np.asarray(many.mean)
    release = mean(rows, neighbors="replace-one", confidence=None, **numbers)
    estimates = mean_ball(rows, budget, alpha=ALPHA, k=k, R=R), np.asarray(release.value)
    return [float(np.linalg.norm(estimate - center)) for estimate in estimates]


def _ordinary(rng: Rng, *, rho: float, d: int) -> Sequence[float]:
    # Independent coordinates of variance 1: the mean is 0, every direction has variance 1.
    rows = theory.distribution("t", nu=3, k=2).sample(RECORDS * d, rng).reshape(RECORDS, d)
    release = mean(rows, rho=rho, neighbors="replace-one", confidence=None)
    estimates = mean_ball(rows, zcdp(rho), alpha=ALPHA, k=2, R=R), np.asarray(release.value)
    return [float(np.linalg.norm(estimate)) for estimate in estimates]


def ball_noise(d: int, k: float, rho: float) -> float:
    """Return ``8 r sqrt(d)/(3 (n/2) sqrt(2 rho))``: the size of the noise on half of the rows.

    >>> round(ball_noise(96, 2, 0.01) / ball_noise(24, 2, 0.01), 6)
    4.0
    """
    radius = theory.ball_radius(ALPHA, d, k)
    return 8 * radius * math.sqrt(d) / (3 * (RECORDS / 2) * math.sqrt(2 * rho))


def conclude(errors: Mapping[Key, Floats]) -> Section:
    """Fit the power of d, and compare with the bound on its own instance."""
    rows: list[list[object]] = []
    charts, checks = [], []
    for definition in NOTIONS:
        lines, points, floors = [], [], []
        _, numbers = budget_of(definition, EPSILON)
        for k in MOMENTS:
            dimensions = _dimensions(errors, definition, k)
            floor = [theory.lower_bound(RECORDS, k=k, d=d, **numbers) for d in dimensions]
            for column, who in enumerate(WHO):
                found = [
                    root_mean_square(errors[definition, k, d][:, column, None]) for d in dimensions
                ]
                points += found
                floors += floor
                lines += _drawn(who, dimensions, found, column, k, definition)
                rows += [
                    [
                        *(
                            definition,
                            k,
                            who,
                            d,
                            point,
                            f"{bound:.3g}",
                            f"{point.value / bound:.1f}",
                        ),
                        f"{asked(definition, k, d):,}" if column == 0 else "",
                    ]
                    for d, point, bound in zip(dimensions, found, floor, strict=True)
                ]
            lines.append(Line("lower bound", dimensions, floor, ":", 6, f"k = {k}"))
            if definition == "zCDP":
                noise = [ball_noise(d, k, STRICT) for d in dimensions]
                lines.append(Line("the ball's noise", dimensions, noise, "--", 0, f"k = {k}"))
        checks.append(not_below(f"{definition}, against d: no estimator", points, floors))
        charts.append(
            Chart(
                f"dimensions-{definition.lower()}",
                f"Error on the hard instances against d, n = {RECORDS:,}, {definition}, epsilon = "
                f"{EPSILON:.3g}",
                "number of columns d",
                "root mean squared Euclidean error",
                lines,
            )
        )
    power, table, chart = _powers(errors)
    head = [
        "definition", "k", "estimator", "d", "error", "lower bound", "error over bound",
        "theorem's n",
    ]  # fmt: skip
    return Section(
        "Error against d for the ball",
        [
            f"Euclidean error on {RECORDS:,} rows: on the hard instance of the lower bound in d "
            "columns, whose records lie on the axes, and on rows with independent t(3) coordinates "
            "of variance 1. The radius of paper.mean_ball is a public multiple of sqrt(d), so its "
            "noise grows with d; with plenty of budget the sampling error is left, which grows "
            "with sqrt(d). tametail.mean, with no assumption, chooses its own radius.",
            _few_rows(errors),
        ],
        [power, *checks],
        [table, Table(head, rows)],
        [*charts, chart],
    )


def _dimensions(errors: Mapping[Key, Floats], name: str, k: int) -> list[int]:
    return sorted(d for found, moment, d in errors if (found, moment) == (name, k))


def asked(definition: str, k: int, d: int) -> int:
    """Return the rows that the theorem asks for; in one column the ball is one, too."""
    _, numbers = budget_of(definition, EPSILON)
    return theory.ball_sample_size(ALPHA, k, R, d, **numbers)


def _drawn(
    who: str,
    dimensions: Sequence[int],
    values: Sequence[Measured],
    column: int,
    k: int,
    definition: str,
) -> list[Line]:
    """Return the line of an estimator; the ball where it has too few rows is a line of its own."""
    panel = f"k = {k}"
    if column:
        return [Line(who, dimensions, values, "o-", column, panel)]
    enough = [asked(definition, k, d) <= RECORDS for d in dimensions]
    lines = []
    for label, style, wanted in ((who, "o-", True), (f"{who}, too few rows", "x", False)):
        chosen = [
            place
            for place, fits in zip(zip(dimensions, values, strict=True), enough, strict=True)
            if fits is wanted
        ]
        if chosen:
            places, points = zip(*chosen, strict=True)
            lines.append(Line(label, places, points, style, column, panel))
    return lines


def _few_rows(errors: Mapping[Key, Floats]) -> str:
    """Say where the ball has fewer rows than its theorem asks for, and what that does."""
    few = {
        definition: [
            d
            for k in MOMENTS
            for d in _dimensions(errors, definition, k)
            if asked(definition, k, d) > RECORDS
        ]
        for definition in NOTIONS
    }
    where = " and ".join(
        f"from d = {min(ds)} on ({definition})" for definition, ds in few.items() if ds
    )
    if not where:
        return f"The theorem asks for at most {RECORDS:,} rows everywhere here."
    return (
        f"The theorem asks for more than {RECORDS:,} rows {where}: there nothing is promised, and "
        "the pictures have crosses. The noise in the ball is as the formula says all the same, "
        "until the center is lost. The coarse step divides the budget by d, and a quarter of the "
        "rows into blocks. If its center is off by more than the radius, no row is in the ball and "
        "the error is the center's own: that is the jump at d = 200 under (epsilon, delta)."
    )


def _powers(errors: Mapping[Key, Floats]) -> tuple[Check, Table, Chart]:
    """Fit the power of d on t(3) coordinates."""
    powers, rows, lines = [], [], []
    for place, (rho, expected, which) in enumerate(
        ((STRICT, 1.0, "privacy"), (LOOSE, 0.5, "sampling"))
    ):
        name = f"rho = {rho:g}"
        dimensions = _dimensions(errors, name, 2)
        for column, who in enumerate(WHO):
            points = [root_mean_square(errors[name, 2, d][:, column, None]) for d in dimensions]
            power = fit_slope(dimensions, points)
            rows.append([who, f"{rho:g}", *points, power])
            label = f"{who}, {name}"
            lines.append(Line(label, dimensions, points, "o-", 2 * place + column))
            if column == 0:
                powers.append(Power(f"{which} dominates", power, expected, (1.5 - expected,)))
    noise = [ball_noise(d, 2, STRICT) for d in dimensions]
    lines.append(Line(f"the ball's noise, rho = {STRICT:g}", dimensions, noise, "--", 6))
    chart = Chart(
        "dimensions",
        f"Error on t(3) coordinates against d, n = {RECORDS:,}",
        "number of columns d",
        "root mean squared Euclidean error",
        lines,
    )
    head = ["estimator, t(3)", "rho", *(f"d = {d}" for d in dimensions), "power of d"]
    check = has_powers(
        "the ball's error grows as d, or as sqrt(d) without privacy (Theorem high-d-cdp)", powers
    )
    return check, Table(head, rows), chart
