"""The price of privacy against k: what a lighter tail is worth.

For every k the worst of three laws is measured: D+-, where the lower bound is proved; two values
+-c with a random mean ("coins"), where the floor without privacy is proved that is the higher one
for large k; and the normal law. All have a k-th moment of at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tametail.inequalities.lower_bounds import hardest_coins
from tametail.reproduce import hard
from tametail.reproduce.checks import at_most, not_below
from tametail.reproduce.measured import Measured, root_mean_square
from tametail.reproduce.releases import moment_releases
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Rng
from tametail.theory import distribution, local_rate, lower_bound, winsorized_rmse

EPSILON, RECORDS = 0.1, 30_000

#: Those with a bound of their own come first.
LAWS = ("D±", "coins", "normal")

_RELEASES = 4
_SIZES: dict[Effort, tuple[tuple[float, ...], int]] = {
    "tiny": ((2, 4), 2),
    "quick": ((2, 3, 4, 8, 16), 15),
    "full": ((2, 2.5, 3, 4, 6, 8, 12, 16), 120),
}


def experiment(effort: Effort) -> Experiment[tuple[str, float]]:
    """Return the cells (law, k)."""
    moments, repeats = _SIZES[effort]
    cells = {}
    for k in moments:
        setting = hard.Setting("tametail.mean", k, EPSILON, RECORDS)
        cells["normal", k] = Cell(partial(_normal, k=k), repeats)
        cells["coins", k] = Cell(partial(_coins, k=k), _RELEASES * repeats)
        cells["D±", k] = Cell(partial(hard.draw, setting=setting), repeats)
    return Experiment("Price of privacy", cells, conclude)


def _normal(rng: Rng, *, k: float) -> Sequence[float]:
    # Not at 0, which the default estimator holds for more likely than other numbers.
    records = distribution("normal", k=k, mean=0.3)
    values = moment_releases(records.sample(RECORDS, rng), _RELEASES, k=k, epsilon=EPSILON)
    return [value - records.mean for value in values]


def _coins(rng: Rng, *, k: float) -> Sequence[float]:
    """Return errors on records +-c, with a mean from the prior of the bound of van Trees."""
    _, width, value = hardest_coins(RECORDS, k)
    # The density cos^2(pi m/(2 w))/w is that of m = w (2 u - 1) kept with chance cos^2.
    while True:
        place = 2 * rng.random() - 1
        if rng.random() < math.cos(math.pi * place / 2) ** 2:
            break
    heads = rng.random(RECORDS) < (1 + width * place) / 2
    # Sampling dominates: one release of each sample, and more samples.
    (released,) = moment_releases(np.where(heads, value, -value), 1, k=k, epsilon=EPSILON)
    return [released - width * place * value]


def conclude(errors: Mapping[tuple[str, float], Floats]) -> Section:
    """Divide every error by what nobody beats without privacy."""
    moments = sorted({k for _, k in errors})
    rows, highest, least, fixed, local = [], [], [], [], []
    measured, proved = [], []
    for k in moments:
        floor = lower_bound(RECORDS, k=k)
        prices = [root_mean_square(errors[name, k]) / floor for name in LAWS]
        known = (lower_bound(RECORDS, k=k, epsilon=EPSILON), hardest_coins(RECORDS, k)[0])
        proved += [bound / floor for bound in known]
        measured += prices[: len(known)]
        highest.append(max(prices, key=lambda price: price.value))
        least.append(max(lower_bound(RECORDS, k=k, epsilon=EPSILON) / floor, 1.0))
        fixed.append(winsorized_rmse(RECORDS, k=k, epsilon=EPSILON) / floor)
        local.append(local_rate(RECORDS, k=k, epsilon=EPSILON) / floor)
        rows.append([f"{k:g}", *prices, *(f"{line[-1]:.2f}" for line in (least, fixed, local))])
    first, last = highest[0], highest[-1]
    checks = [
        at_most(
            f"a lighter tail makes privacy cheaper: the price at k = {moments[-1]:g} over that at "
            f"k = {moments[0]:g}, {last} over {first}",
            _quotient(last, first),
            1.0,
        ),
        not_below("tametail.mean on D± and on coins: no error", measured, proved),
    ]
    return Section(
        "The price of privacy against k",
        [
            f"Root mean squared error over the floor without privacy, n = {RECORDS:,}, epsilon = "
            f"{EPSILON}, all laws with k-th moments of at most 1. Measured: tametail.mean with "
            "Moment(k, 1) on D±, where the lower bound is proved, on coins (two values, random "
            "mean), where the floor is proved for large k, and on normal records. Theory: the "
            "lower bound, and the best fixed clip on its worst law. In the local model of Duchi, "
            "Jordan and Wainwright every record is randomized before it is collected."
        ],
        checks,
        [Table(["k", *LAWS, "lower bound", "best fixed clip", "local model (rate)"], rows)],
        [
            Chart(
                "price",
                f"The price of privacy, n = {RECORDS:,}, epsilon = {EPSILON}",
                "k, the order of the moment",
                "error over that without privacy",
                [
                    Line("tametail.mean, worst of three laws", moments, highest, "o-", 0),
                    Line("best fixed clip, worst law", moments, fixed, "-", 1),
                    Line("lower bound", moments, least, ":", 6),
                    Line("local model (rate)", moments, local, "--", 2),
                ],
            )
        ],
    )


def _quotient(over: Measured, under: Measured) -> Measured:
    """Return a quotient of independent measurements."""
    value = over.value / under.value
    parts = over.deviation / over.value, under.deviation / under.value
    return Measured(value, value * math.hypot(*parts))
