"""How many records an accuracy takes: n against alpha, and against log(1/beta).

Theorems ``one-d-pdp`` and ``one-d-adp-cdp`` from the other side: the least n at which a share of
at most beta of the errors exceeds alpha, found by bisection on fresh records. The law is D2, of
either sign, with a mean a little above alpha, so that answering 0 is never enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np

from tametail.paper import mean_1d
from tametail.reproduce.checks import Power, at_most, has_powers, not_below
from tametail.reproduce.estimators import DELTA, MOMENTS, THEOREMS, algorithms
from tametail.reproduce.measured import Measured, bisected, fit_slope, least
from tametail.reproduce.releases import moment_releases
from tametail.reproduce.report import Chart, Check, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Rng
from tametail.theory import TwoPoint, accuracy_lower_bound, mean_sample_size
from tametail.theory._constants import MeanConstants

EPSILON = 0.1
ALGORITHMS = algorithms(EPSILON)

#: The default mean, under pure privacy.
OURS = "tametail.mean"
WHO = (*ALGORITHMS, OURS)

#: The mean is this many times alpha, and is known to be within R of 0.
BEYOND, R = 1.05, 0.06

#: What the theorem asks for, by constants.
CONSTANTS: tuple[MeanConstants, ...] = ("one-block", "tight", "paper")

#: One probability for all alpha (one block); one k and one alpha for all probabilities.
BETA, K, ALPHA = 0.3, 2, 0.05

#: The first n is between the theorem's and this part of it; bisection ends at this factor.
_PART, _CLOSE = 1024, 1.06

#: For each k the least alpha: n is about as large for all of them.
_LEAST: dict[int, float] = {2: ALPHA / 8, 3: ALPHA / 24, 4: ALPHA / 48}

#: How many alphas, and the betas; for both of them the failures that are expected at the n that is
#: looked for, and repetitions. Few failures would end a bisection too low where they hardly fall
#: with n; the time is that of the small betas.
_SIZES: dict[Effort, tuple[int, tuple[float, ...], tuple[int, int], tuple[int, int]]] = {
    "tiny": (2, (0.3, 0.1), (1, 1), (1, 1)),
    "quick": (2, (0.3, 0.1, 0.03), (6, 2), (4, 2)),
    "full": (4, (0.3, 0.1, 0.05, 0.02), (24, 6), (8, 5)),
}

#: Who, k, alpha and beta.
Key = tuple[str, int, float, float]


def experiment(effort: Effort) -> Experiment[Key]:
    """Return the cells (who, k, alpha, beta)."""
    count, betas, by_alpha, by_beta = _SIZES[effort]
    sizes = {(who, K, ALPHA, beta): by_beta for who in WHO for beta in betas}
    for who, k in product(WHO, MOMENTS):
        for alpha in np.geomspace(ALPHA, _LEAST[k], count).round(9).tolist():
            sizes[who, k, alpha, BETA] = by_alpha
    cells = {
        key: Cell(partial(_least, key=key, runs=math.ceil(failures / key[-1])), repeats)
        for key, (failures, repeats) in sizes.items()
    }
    return Experiment("Records for an accuracy", cells, conclude)


def _least(rng: Rng, *, key: Key, runs: int) -> Sequence[float]:
    """Bisect for the n at which a share beta of the errors exceeds alpha."""
    _, _, alpha, beta = key
    enough = float(theorem(key))

    def fails(n: int) -> bool:
        return _error(rng, n, key) > alpha

    return [least(fails, enough / _PART, enough, runs=runs, share=beta, close=_CLOSE)]


def _error(rng: Rng, n: int, key: Key) -> float:
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


def theorem(key: Key, constants: MeanConstants = "tight") -> int:
    """Return the records that the theorem asks for; for the default mean, that of PDPODME."""
    who, k, alpha, beta = key
    _, numbers = ALGORITHMS.get(who, ALGORITHMS["PDPODME"])
    return mean_sample_size(alpha, beta, k, R, constants=constants, **numbers)


def floor(key: Key) -> float:
    """Return the records that the distribution of this cell needs whatever is done.

    >>> floor(("PDPODME", 2, 0.05, 0.3)), floor(("ADPODME", 2, 0.05, 0.3))
    (3806.0, 3806.0)
    """
    who, k, alpha, beta = key
    _, numbers = ALGORITHMS.get(who, ALGORITHMS["PDPODME"])
    return float(accuracy_lower_bound(BEYOND * alpha, beta, k=k, **numbers))


def conclude(errors: Mapping[Key, Floats]) -> Section:
    """Fit the powers of alpha, and compare n with the theorem's for every beta."""
    found = bisected(errors, _CLOSE)
    parts = [point / theorem(key) for key, point in found.items()]
    checks = [
        not_below("records for an accuracy: no n", found.values(), map(floor, found)),
        at_most(
            "the theorem's n is enough everywhere: the largest share of it that is needed",
            max(parts, key=lambda part: part.value),
            1.0,
        ),
    ]
    powers, by_alpha = _against_alpha(found)
    growth, by_beta = _against_beta(found)
    head = ["estimator", "k", "alpha", "beta", "needed", "lower bound", *CONSTANTS]
    rows = [
        [
            *(f"{value:.4g}" if isinstance(value, float) else value for value in key),
            f"{point.value:,.0f} ± {point.deviation:,.0f}",
            f"{floor(key):,.0f}",
            *(f"{theorem(key, constants):,}" for constants in CONSTANTS),
        ]
        for key, point in sorted(found.items())
    ]
    return Section(
        "Records for an accuracy: n against alpha and log(1/beta)",
        [_WORDS],
        [*powers, growth, *checks],
        [Table(head, rows)],
        [by_alpha, by_beta],
    )


def _against_alpha(found: Mapping[Key, Measured]) -> tuple[list[Check], Chart]:
    """Fit ``n ~ alpha^(-k/(k-1))`` for each k."""
    fits: dict[str, list[Power]] = {who: [] for who in WHO}
    lines: list[Line] = []
    for k in MOMENTS:
        alphas, panel = sorted({a for _, order, a, beta in found if order == k}), f"k = {k}"
        rivals = [*(-j / (j - 1) for j in MOMENTS if j != k), -1.0]
        for color, who in enumerate(WHO):
            points = [found[who, k, alpha, BETA] for alpha in alphas]
            lines.append(Line(who, alphas, points, "o-", color, panel))
            fits[who].append(Power(panel, fit_slope(alphas, points), -k / (k - 1), rivals))
        keys = [("PDPODME", k, alpha, BETA) for alpha in alphas]
        lines += _theory(keys, alphas, panel)
    checks = [
        has_powers(f"{who}: records grow as alpha^(-k/(k-1)) (Theorem {THEOREMS[who]})", fits[who])
        for who in ALGORITHMS
    ]
    title = f"Records for an error within alpha with probability {1 - BETA:g}, epsilon = {EPSILON}"
    return checks, Chart("needed-alpha", title, "alpha", "records", lines)


def _against_beta(found: Mapping[Key, Measured]) -> tuple[Check, Chart]:
    """Compare the growth of n with that of the theorem's: the number of blocks, ~ log(1/beta)."""
    powers, lines = [], []
    betas = sorted({beta for _, k, alpha, beta in found if (k, alpha) == (K, ALPHA)}, reverse=True)
    odds = [1 / beta for beta in betas]
    for color, who in enumerate(WHO):
        keys = [(who, K, ALPHA, beta) for beta in betas]
        points = [found[key] for key in keys]
        lines.append(Line(who, odds, points, "o-", color))
        if who != OURS:
            growth = fit_slope([theorem(key) for key in keys], points)
            powers.append(Power(who, growth, 1.0, (0.5, 2.0)))
    lines += _theory([("PDPODME", K, ALPHA, beta) for beta in betas], odds, "")
    check = has_powers(
        "records grow with log(1/beta), as the number of blocks does: power of the theorem's n",
        powers,
    )
    title = f"Records for an error within {ALPHA}, k = {K}, epsilon = {EPSILON}"
    return check, Chart("needed-beta", title, "1/beta", "records", lines)


def _theory(keys: Sequence[Key], places: Sequence[float], panel: str) -> list[Line]:
    """Return the lines of the theory for PDPODME; the others are close to it."""
    tight, paper = ([theorem(key, which) for key in keys] for which in CONSTANTS[1:])
    return [
        Line("lower bound, pure", places, [floor(key) for key in keys], ":", 6, panel),
        Line("theorem, tight, pure", places, tight, "--", 0, panel),
        Line("theorem, paper, pure", places, paper, "--", 4, panel),
    ]


_WORDS = (
    "The least n at which a share of at most beta of the errors exceeds alpha, by bisection with "
    "fresh records, on D2 of either sign with mean 1.05 alpha (answering 0 is never enough); "
    f"epsilon = {EPSILON}, rho = epsilon^2/2, delta = {DELTA:g}, replace-one, mean within {R:g} of "
    f"0. Against alpha at beta = {BETA}, where theory has n ~ alpha^(-k/(k-1)); and against beta "
    f"at k = {K} and alpha = {ALPHA}, where it has log(1/beta), by the number of blocks. Beside "
    "it: what the theorem asks for with tight constants, which the algorithm has here, with the "
    "paper's and in one block, and what the distribution itself asks of every private algorithm. "
    "tametail.mean (pure, with Moment and within) has no blocks: it is the same algorithm at every "
    "beta. The wrong powers of alpha are those of the other k and -1; those of the theorem's n are "
    "1/2 and 2."
)
