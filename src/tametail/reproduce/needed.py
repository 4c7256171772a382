"""How many records an accuracy takes: n against alpha, and against log(1/beta).

Theorems ``one-d-pdp`` and ``one-d-adp-cdp`` from the other side: the least n at which a share of
at most beta of the errors exceeds alpha, found by bisection on fresh records. The law is D2, of
either sign, with a mean a little above alpha, so that answering 0 is never enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tametail.paper import mean_1d
from tametail.reproduce.checks import has_power, not_below
from tametail.reproduce.estimators import DELTA, MOMENTS, algorithms
from tametail.reproduce.releases import moment_releases
from tametail.reproduce.report import Chart, Check, Line, Section, Table
from tametail.reproduce.slopes import fit_slope
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Measured, mean_absolute
from tametail.theory import TwoPoint, accuracy_lower_bound, mean_sample_size
from tametail.theory._checks import Constants

if TYPE_CHECKING:
    from numpy.random import Generator

EPSILON = 0.1
ALGORITHMS = algorithms(EPSILON)

#: The default mean, under pure privacy.
OURS = "tametail.mean"
WHO = (*ALGORITHMS, OURS)

#: The mean is this many times alpha, and is known to be within R of 0.
BEYOND, R = 1.05, 0.06

#: One probability for all alpha (one block); one k and one alpha for all probabilities.
BETA, K, ALPHA = 0.3, 2, 0.05

#: The first n is between the theorem's and this part of it; bisection ends at this factor.
_PART, _CLOSE = 32, 1.06

#: Alphas and betas, failures that are expected at the n that is looked for, and repetitions of
#: both: the time is that of the small betas.
_SIZES: dict[Effort, tuple[tuple[float, ...], tuple[float, ...], int, int, int]] = {
    "tiny": ((0.05, 0.025), (0.3, 0.1), 1, 1, 1),
    "quick": ((0.05, 0.0125), (0.3, 0.1, 0.03), 6, 4, 2),
    "full": ((0.05, 0.025, 0.0125, 0.00625), (0.3, 0.1, 0.05, 0.02), 8, 8, 4),
}

#: Who, k, alpha and beta.
Key = tuple[str, int, float, float]


def experiment(effort: Effort) -> Experiment[Key]:
    """Return the cells (who, k, alpha, beta)."""
    alphas, betas, failures, often, seldom = _SIZES[effort]
    repeats = {(who, K, ALPHA, beta): seldom for who in WHO for beta in betas}
    repeats |= {(who, k, alpha, BETA): often for who in WHO for k in MOMENTS for alpha in alphas}
    cells = {
        key: Cell(partial(_least, key=key, runs=math.ceil(failures / key[-1])), count)
        for key, count in repeats.items()
    }
    return Experiment("Records for an accuracy", cells, conclude)


def _least(rng: Generator, *, key: Key, runs: int) -> Sequence[float]:
    """Bisect, in logarithms, for the n at which a share beta of the errors exceeds alpha."""
    _, _, alpha, beta = key
    high = float(theorem(key))
    low = high / _PART
    while high / low > _CLOSE:
        n = round(math.sqrt(low * high))
        failures = sum(_error(rng, n, key) > alpha for _ in range(runs))
        low, high = (low, n) if failures <= beta * runs else (n, high)
    return [math.sqrt(low * high)]


def _error(rng: Generator, n: int, key: Key) -> float:
    """Return the error of one release from n fresh records."""
    who, k, alpha, beta = key
    target = BEYOND * alpha
    tau = target ** (-1 / (k - 1)) * int(rng.choice([-1, 1]))
    source = TwoPoint(target ** (k / (k - 1)), tau)  # D2
    records = source.sample(n, rng)
    if who == OURS:
        (value,) = moment_releases(records, 1, k=k, within=R, epsilon=EPSILON)
    else:
        value = mean_1d(records, ALGORITHMS[who][0], alpha=alpha, beta=beta, k=k, R=R)
    return abs(value - source.mean)


def theorem(key: Key, constants: Constants = "tight") -> int:
    """Return the records that the theorem asks for; for the default mean, that of PDPODME."""
    who, k, alpha, beta = key
    _, numbers = ALGORITHMS.get(who, ALGORITHMS["PDPODME"])
    return mean_sample_size(alpha, beta, k, R, constants=constants, **numbers)


def floor(key: Key) -> float:
    """Return the records that the law of this cell needs whatever is done; 0 for approximate DP.

    >>> floor(("PDPODME", 2, 0.05, 0.3)), floor(("ADPODME", 2, 0.05, 0.3))
    (2932.0, 0.0)
    """
    who, k, alpha, beta = key
    if who == "ADPODME":
        return 0.0
    mean = BEYOND * alpha
    if who == "CDPODME":
        return float(accuracy_lower_bound(mean, beta, k=k, rho=EPSILON**2 / 2))
    return float(accuracy_lower_bound(mean, beta, k=k, epsilon=EPSILON))


def conclude(errors: Mapping[Key, Floats]) -> Section:
    """Fit the powers of alpha, and compare n with the theorem's for every beta."""
    found = {key: mean_absolute(rows) for key, rows in errors.items()}
    bounded = [key for key in found if floor(key)]
    checks = [
        not_below("no n", [found[key] for key in bounded], [floor(key) for key in bounded]),
        Check(
            "the theorem's n is enough everywhere",
            all(point.value <= theorem(key) for key, point in found.items()),
        ),
    ]
    powers, by_alpha = _against_alpha(found)
    growth, by_beta = _against_beta(found)
    head = ["estimator", "k", "alpha", "beta", "needed", "lower bound", "tight", "paper"]
    rows = [
        [*key, f"{point.value:,.0f} ± {point.deviation:,.0f}",
         f"{floor(key):,.0f}" if floor(key) else "",
         f"{theorem(key):,}", f"{theorem(key, 'paper'):,}"]
        for key, point in sorted(found.items())
    ]  # fmt: skip
    return Section(
        "Records for an accuracy: n against alpha and log(1/beta)",
        [_WORDS],
        [*checks, *powers, *growth],
        [Table(head, rows)],
        [by_alpha, by_beta],
    )


def _against_alpha(found: Mapping[Key, Measured]) -> tuple[list[Check], Chart]:
    """Fit ``n ~ alpha^(-k/(k-1))`` for each k."""
    checks, lines = [], []
    for k in MOMENTS:
        alphas, panel = sorted({a for _, order, a, beta in found if order == k}), f"k = {k}"
        for colour, who in enumerate(WHO):
            points = [found[who, k, alpha, BETA] for alpha in alphas]
            lines.append(_line(who, alphas, points, colour, panel))
            if who != OURS:
                what = f"{who}, k = {k}: the power of alpha"
                checks.append(has_power(what, fit_slope(alphas, points), -k / (k - 1)))
        keys = [("PDPODME", k, alpha, BETA) for alpha in alphas]
        lines += _theory(keys, alphas, panel)
    title = f"Records for an error within alpha with probability {1 - BETA:g}, epsilon = {EPSILON}"
    return checks, Chart("needed-alpha", title, "alpha", "records", lines)


def _against_beta(found: Mapping[Key, Measured]) -> tuple[list[Check], Chart]:
    """Compare the growth of n with that of the theorem's: the number of blocks, ~ log(1/beta)."""
    checks, lines = [], []
    betas = sorted({beta for _, k, alpha, beta in found if (k, alpha) == (K, ALPHA)}, reverse=True)
    odds = [1 / beta for beta in betas]
    for colour, who in enumerate(WHO):
        keys = [(who, K, ALPHA, beta) for beta in betas]
        points = [found[key] for key in keys]
        lines.append(_line(who, odds, points, colour, ""))
        if who != OURS:
            growth = fit_slope([theorem(key) for key in keys], points)
            what = f"{who}: n as a power of the theorem's n, which grows with log(1/beta),"
            checks.append(has_power(what, growth, 1.0, tolerance=0.1))
    lines += _theory([("PDPODME", K, ALPHA, beta) for beta in betas], odds, "")
    title = f"Records for an error within {ALPHA}, k = {K}, epsilon = {EPSILON}"
    return checks, Chart("needed-beta", title, "1/beta", "records", lines)


def _line(
    who: str, places: Sequence[float], points: Sequence[Measured], colour: int, panel: str
) -> Line:
    return Line(who, places, [point.value for point in points], "o-", colour, panel)


def _theory(keys: Sequence[Key], places: Sequence[float], panel: str) -> list[Line]:
    """Return the lines of the theory for PDPODME; the others are close to it."""
    return [
        Line("lower bound, pure", places, [floor(key) for key in keys], ":", 6, panel),
        Line("theorem, tight, pure", places, [theorem(key) for key in keys], "--", 0, panel),
        Line(
            "theorem, paper, pure", places, [theorem(key, "paper") for key in keys], "--", 4, panel
        ),
    ]


_WORDS = (
    "The least n at which a share of at most beta of the errors exceeds alpha, by bisection with "
    "fresh records, on D2 of either sign with mean 1.05 alpha (answering 0 is never enough); "
    f"epsilon = {EPSILON}, rho = epsilon^2/2, delta = {DELTA:g}, replace-one, mean within {R:g} of "
    f"0. Against alpha at beta = {BETA}, where theory has n ~ alpha^(-k/(k-1)); and against beta "
    f"at k = {K} and alpha = {ALPHA}, where it has log(1/beta), by the number of blocks. Beside "
    "it: what the theorem asks for with tight constants and with the paper's, and what the law "
    "itself asks of every private algorithm. tametail.mean (pure, with Moment and within) has no "
    "blocks: it is the same algorithm at every beta."
)
