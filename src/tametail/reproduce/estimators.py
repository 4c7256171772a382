"""The paper's own estimators against n: PDPODME, CDPODME and ADPODME between their bounds.

Each is told what its theorem assumes and asked for the accuracy that the theorem promises at n
records. The law is D+- with the mass of the lower bound, so that every n has its worst law. The
default mean and the estimators of other papers release the mean of the same records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, partial

from tametail.inequalities.moments import two_point_atom
from tametail.paper import mean_1d, related
from tametail.privacy.budget import Budget, Zcdp, approx, pure, zcdp
from tametail.reproduce.checks import Power, has_powers, not_below, other_exponents
from tametail.reproduce.measured import Measured, fit_slope, root_mean_square
from tametail.reproduce.releases import moment_releases
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Numbers, Rng
from tametail.theory import TwoPoint, clip_radius, hardest_mass, lower_bound, upper_bound

MOMENTS, EPSILON, DELTA = (2, 3, 4), 0.01, 1e-6

#: The mean is known to be within so many scales of 0; every D+- here has a smaller one.
R = 0.1

#: One block: the median of means is for high confidence, not for a mean squared error.
BETA = 0.3


def algorithms(epsilon: float) -> dict[str, tuple[Budget, Numbers]]:
    """Return the budget of each, and the same as arguments of the theory; rho = epsilon^2/2."""
    return {
        "PDPODME": (pure(epsilon), {"epsilon": epsilon}),
        "CDPODME": (zcdp(epsilon**2 / 2), {"rho": epsilon**2 / 2}),
        "ADPODME": (approx(epsilon, DELTA), {"epsilon": epsilon, "delta": DELTA}),
    }


ALGORITHMS = algorithms(EPSILON)

#: What the paper calls the theorem of each.
THEOREMS = {"PDPODME": "one-d-pdp", "CDPODME": "one-d-adp-cdp", "ADPODME": "one-d-adp-cdp"}

#: In the order of the errors of a cell, after those of the algorithm of the paper.
_OTHERS = ("tametail.mean", "Karwa-Vadhan", "CoinPress")

#: Releases of the paper's algorithm from the same records: its noise dominates.
_RELEASES = 4

#: Logarithms of n epsilon, and repetitions.
_SIZES: dict[Effort, tuple[tuple[float, ...], int]] = {
    "tiny": ((3.0, 3.25), 2),
    "quick": ((3.0, 3.75, 4.5), 24),
    "full": ((3.0, 3.5, 4.0, 4.5), 500),
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


def _errors(rng: Rng, *, name: str, k: float, n: int) -> Sequence[float]:
    """Return the errors of all estimators on the same records."""
    hardest, alpha = _setting(name, k, n)
    source = TwoPoint(hardest.p, hardest.tau * int(rng.choice([-1, 1])))
    records = source.sample(n, rng)
    budget, numbers = ALGORITHMS[name]
    deviation = abs(source.tau) * math.sqrt(source.p * (1 - source.p))
    estimates = [
        *(mean_1d(records, budget, alpha=alpha, beta=BETA, k=k, R=R) for _ in range(_RELEASES)),
        *moment_releases(records, 1, k=k, within=R, **numbers),
        related.karwa_vadhan(records, budget, R=R, deviation=deviation),
    ]
    if isinstance(budget, Zcdp):
        estimates.append(related.coinpress(records, budget, R=R, deviation=deviation))
    return [estimate - source.mean for estimate in estimates]


@cache
def _setting(name: str, k: float, n: int) -> tuple[TwoPoint, float]:
    """Return the law and the accuracy that is promised: both take long to find."""
    _, numbers = ALGORITHMS[name]
    p = hardest_mass(n, k=k, **numbers)
    return TwoPoint(p, two_point_atom(p, k)), promised(n, k, numbers)


def promised(n: int, k: float, numbers: Numbers) -> float:
    """Return the accuracy that the theorem promises at n records, with tight constants."""
    return upper_bound(n, k=k, R=R, beta=BETA, constants="tight", **numbers).alpha


def exact_error(name: str, k: float, n: int) -> float:
    """Return the root mean squared error of the paper's algorithm in a cell, without any draw.

    One block, and nothing to locate as ``R <= 2r``: half of the records, clipped at ``R + T``
    around 0, have a bias, a sampling error and Laplace or Gaussian noise for ``2 (R + T)``.

    >>> round(exact_error("PDPODME", 2, 100_000), 4)
    0.0475
    """
    hardest, alpha = _setting(name, k, n)
    side = R + clip_radius(alpha, k)
    seen, half = min(hardest.tau, side), n // 2
    sampling = seen * math.sqrt(hardest.p * (1 - hardest.p) / half)
    noise = 2 * side / (half * EPSILON) * (1 if name == "CDPODME" else math.sqrt(2))
    return math.hypot(hardest.p * (hardest.tau - seen), sampling, noise)


def exact_slope(name: str, k: float, sizes: Sequence[int]) -> float:
    """Return the slope of :func:`exact_error`: what more and more releases would show."""
    return fit_slope(sizes, [Measured(exact_error(name, k, n), 0.0) for n in sizes]).value


def _parts(name: str, found: Floats) -> list[tuple[str, slice]]:
    """Return whose errors stand in which columns."""
    others = _OTHERS[: found.shape[1] - _RELEASES]
    places = [slice(_RELEASES + place, _RELEASES + place + 1) for place in range(len(others))]
    return list(zip((name, *others), (slice(_RELEASES), *places), strict=True))


def conclude(errors: Mapping[tuple[str, int, int], Floats]) -> Section:
    """Fit the slopes, and look for errors outside of the bounds."""
    sizes = sorted({n for *_, n in errors})
    checks, rows, charts, exact = [], [], [], []
    for name, (_, numbers) in ALGORITHMS.items():
        lines, everything, floors, fitted = [], [], [], []
        for k in MOMENTS:
            panel, theory = f"k = {k}", -(k - 1) / k
            floor = [lower_bound(n, k=k, **numbers) for n in sizes]
            alphas = [promised(n, k, numbers) for n in sizes]
            for color, (who, part) in enumerate(_parts(name, errors[name, k, sizes[0]])):
                points = [root_mean_square(errors[name, k, n][:, part]) for n in sizes]
                slope = fit_slope(sizes, points)
                rows.append([name, k, who, f"{theory:.3f}", slope, *points])
                everything += points
                floors += floor
                if color == 0:
                    rivals = other_exponents(k, MOMENTS, -1.0)
                    known = Measured(exact_slope(name, k, sizes), 0.0)
                    fitted.append(Power(panel, slope, theory, rivals))
                    exact.append(Power(f"{name}, {panel}", known, theory, rivals))
                lines.append(Line(who, sizes, points, "o-", color, panel))
            lines += [
                Line(f"promised by {name}", sizes, alphas, "--", 0, panel),
                Line("lower bound", sizes, floor, ":", 6, panel),
            ]
        claim = f"{name}: the error falls as n^(-(k-1)/k) (Theorem {THEOREMS[name]})"
        checks += [
            has_powers(claim, fitted),
            not_below(f"{name}: no estimator on D±", everything, floors),
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
    checks.append(has_powers("the same, computed without a draw", exact))
    head = ["algorithm", "k", "estimator", "theory", "slope", *(f"n = {n:,}" for n in sizes)]
    return Section(
        "The paper's estimators against n",
        [
            "Root mean squared error of paper.mean_1d (tight constants, one block, mean within "
            f"{R:g} of 0) on D±, epsilon = {EPSILON}, rho = epsilon^2/2, delta = {DELTA:g}, "
            "replace-one; asked for the accuracy that its theorem promises at n records with "
            f"probability {1 - BETA:g}, which is drawn as well. Beside it, on the same records: "
            "tametail.mean with Moment(k, 1) and within, and the estimators of Karwa and Vadhan "
            "and (for zCDP) CoinPress, given the standard deviation. These are for normal records: "
            "they clip some deviations from the mean, wherever the records that matter are. Bun "
            "and Steinke's trimmed mean and the local model are not here, as neither can be exact "
            "(see paper.related); make peers has them. The wrong exponents are those of the other "
            "k and -1."
        ],
        checks,
        [Table(head, rows)],
        charts,
    )
