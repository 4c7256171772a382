"""How many records the range step needs as R grows: log R, sqrt(log R), and none.

Theorems ``one-d-range-pdp`` and ``one-d-range-adp-cdp``. The mean lies on the border of two
buckets, which is the worst place, and away from 0, where the answer is if nothing is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tametail.paper import range_estimate
from tametail.privacy.budget import Budget, approx, pure, zcdp
from tametail.reproduce.checks import Power, at_most, has_powers
from tametail.reproduce.measured import Measured, bisected, fit_slope, least
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Numbers, Rng
from tametail.theory import bucket_radius, clip_radius, distribution, range_sample_size

EPSILON, DELTA, ALPHA, K = 0.1, 1e-6, 0.1, 2

#: The powers of log R that the three privacy definitions have.
POWERS = (0.0, 0.5, 1.0)

#: Notion: budget, its numbers, the power of log R that theory has, and its name.
NOTIONS: dict[str, tuple[Budget, Numbers, float, str]] = {
    "pure": (pure(EPSILON), {"epsilon": EPSILON}, 1.0, "log R"),
    "zCDP": (zcdp(EPSILON**2 / 2), {"rho": EPSILON**2 / 2}, 0.5, "sqrt(log R)"),
    "approximate": (approx(EPSILON, DELTA), {"epsilon": EPSILON, "delta": DELTA}, 0.0, "no R"),
}

#: The mean is this many buckets from 0; the factor at which bisection ends.
_BORDER, _CLOSE = 10, 1.03

#: Logarithms of R, repetitions, and trials at each n that is tried.
_SIZES: dict[Effort, tuple[tuple[int, ...], int, int]] = {
    "tiny": ((10, 300), 2, 4),
    "quick": ((3, 30, 100, 300), 3, 20),
    "full": ((3, 10, 30, 100, 200, 300), 8, 100),
}


def experiment(effort: Effort) -> Experiment[tuple[str, int]]:
    """Return the cells (definition, logarithm of R)."""
    exponents, repeats, trials = _SIZES[effort]
    cells = {
        (definition, exponent): Cell(
            partial(_least_records, definition=definition, R=10.0**exponent, trials=trials), repeats
        )
        for definition in NOTIONS
        for exponent in exponents
    }
    return Experiment("Dependence on R", cells, conclude)


def _least_records(rng: Rng, *, definition: str, R: float, trials: int) -> Sequence[float]:
    """Bisect for the n at which one of ten trials fails."""
    budget, numbers, _, _ = NOTIONS[definition]
    margin = clip_radius(ALPHA, K)
    center = _BORDER * 2 * bucket_radius(ALPHA, K)
    records = distribution("t", nu=3, k=K, mean=center)

    def fails(n: int) -> bool:
        a, b = range_estimate(records.sample(n, rng), budget, alpha=ALPHA, k=K, R=R)
        return not (a <= center - margin and b >= center + margin)

    enough = range_sample_size(ALPHA, K, R, **numbers)
    return [least(fails, enough / 16, 2.0 * enough, runs=trials, share=0.1, close=_CLOSE)]


def conclude(errors: Mapping[tuple[str, int], Floats]) -> Section:
    """Fit the power of log R."""
    measured = bisected(errors, _CLOSE)
    exponents = sorted({exponent for _, exponent in measured})
    rows, fits, lines, powers, parts = [], [], [], [], []
    for color, (definition, (_, numbers, theory, name)) in enumerate(NOTIONS.items()):
        found = [measured[definition, exponent] for exponent in exponents]
        proved = [range_sample_size(ALPHA, K, 10.0**exponent, **numbers) for exponent in exponents]
        # The largest R tell: constants weigh against a small logarithm.
        power = fit_slope(exponents[-2:], found[-2:])
        predicted = fit_slope(exponents[-2:], [Measured(n, 0.0) for n in proved[-2:]])
        fits.append([definition, name, f"{theory:g}", f"{predicted.value:.2f}", str(power)])
        rows += [
            [definition, f"1e{exponent}", f"{point.value:.0f} ± {point.deviation:.0f}", f"{n:,}"]
            for exponent, point, n in zip(exponents, found, proved, strict=True)
        ]
        lines += [
            Line(f"{definition}, measured", exponents, found, "o-", color),
            Line(f"{definition}, enough by the theorem", exponents, proved, ":", color),
        ]
        rivals = [other for other in POWERS if other != theory]
        powers.append(Power(definition, power, theory, rivals))
        parts += [point / n for point, n in zip(found, proved, strict=True)]
    checks = [
        has_powers(
            "records that find the mean grow as log R, sqrt(log R) and not at all (Theorems "
            "one-d-range-pdp, one-d-range-adp-cdp): power of log R",
            powers,
        ),
        at_most(
            "the range theorem's n is enough for every R: the largest share of it that is needed",
            max(parts, key=lambda part: part.value),
            1.0,
        ),
    ]
    return Section(
        "Dependence on R for the three privacy definitions",
        [
            "Records that paper.range_estimate needs to find the mean in [-R, R] with probability "
            f"0.9, epsilon = {EPSILON} (rho = epsilon^2/2, delta = {DELTA:g}), beside the number "
            "that the theorem asks for. Pure DP pays log R, zCDP its square root, approximate DP "
            "nothing. Powers are fitted to the two largest R."
        ],
        checks,
        [
            Table(["budget", "theory", "power of log R", "theorem's fit", "measured fit"], fits),
            Table(["budget", "R", "records needed", "enough by the theorem"], rows),
        ],
        [
            Chart(
                "ranges",
                f"Records for locating a mean in [-R, R], epsilon = {EPSILON}",
                "log10 R",
                "records",
                lines,
            )
        ],
    )
