"""Told bounds: the error of ``tametail.mean`` over that of the textbook.

The textbook clamps, adds up and adds noise once. Under replace-one it divides by the public n:
noise (high - low)/(n epsilon). Under add-remove it spends half of the budget on a sum of distances
from the middle of the bounds and half on the count, as other libraries do. With zCDP the noise is
Gaussian. Its error is computed, with the sampling error of the same samples.

    python benchmarks/textbook.py --runs 40 --cells 1000:0.1 --unit replace-one --notion pure
"""

from __future__ import annotations

import math
from collections.abc import Callable

import click
import numpy as np
import numpy.typing as npt

import tametail as tt

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
SCORES, CHANCES = np.arange(1.0, 6.0), (0.1, 0.1, 0.2, 0.3, 0.3)

#: Records, their bounds and their mean.
LAWS: dict[str, tuple[Draw, tuple[float, float], float]] = {
    "uniform": (lambda rng, n: rng.random(n), (0, 1), 0.5),
    "Bernoulli .3": (lambda rng, n: (rng.random(n) < 0.3) * 1.0, (0, 1), 0.3),
    "Bernoulli .01": (lambda rng, n: (rng.random(n) < 0.01) * 1.0, (0, 1), 0.01),
    "Beta(.1, .1)": (lambda rng, n: rng.beta(0.1, 0.1, n), (0, 1), 0.5),
    "scores": (lambda rng, n: rng.choice(SCORES, n, p=CHANCES), (1, 5), 3.6),
    "ages": (lambda rng, n: 100 * rng.beta(2, 3, n), (0, 120), 40.0),
    "in a thousandth": (lambda rng, n: 0.3 + rng.random(n) / 1000, (0, 1), 0.3005),
}


def textbook_variance(
    n: int, strength: float, bounds: tuple[float, float], mean: float, unit: str, notion: str
) -> float:
    """Return the variance of the textbook's noise on the mean."""
    width = bounds[1] - bounds[0]
    off = (mean - sum(bounds) / 2) / (width / 2)
    laplace = notion != "zcdp"
    noise = (2 if laplace else 1) * (width / (n * strength)) ** 2
    if unit == "replace-one":
        return noise
    # Half of the width is the sensitivity, and half of the budget is left for it.
    return noise * (1 + off**2) * (1 if laplace else 0.5)


def ratio(
    law: str, n: int, strength: float, unit: str, notion: str, columns: int, runs: int, seed: int
) -> tuple[float, str]:
    """Return the ratio of the root mean squared errors, and the method of the last release."""
    draw, bounds, mean = LAWS[law]
    rng = np.random.default_rng(seed)
    budget = {
        "pure": tt.pure(strength),
        "zcdp": tt.zcdp(strength**2 / 2),
        "approx": tt.approx(strength, 1e-6),
    }[notion]
    ours: list[Floats] = []
    theirs: list[Floats] = []
    for _ in range(runs):
        data = draw(rng, n * columns).reshape(n, columns)
        release = tt.mean(
            data if columns > 1 else data[:, 0], budget=budget, tail=tt.Bounded(*bounds), unit=unit
        )
        ours.append(np.atleast_1d(release.value) - mean)
        theirs.append(data.mean(axis=0) - mean)
    each = strength / (math.sqrt(columns) if notion == "zcdp" else columns)
    noise = textbook_variance(n, each, bounds, mean, unit, notion)
    best = math.sqrt(float(np.mean(np.square(theirs))) + noise)
    return math.sqrt(float(np.mean(np.square(ours)))) / best, release.method


@click.command()
@click.option("--runs", default=40, show_default=True)
@click.option("--cells", default="1000:0.1", show_default=True, help="n:epsilon, with commas.")
@click.option("--unit", default="replace-one", show_default=True)
@click.option("--notion", default="pure", show_default=True, help="pure, zcdp or approx.")
@click.option("--columns", default=1, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(runs: int, cells: str, unit: str, notion: str, columns: int, seed: int) -> None:
    """Print a table of ratios: rows are cells, columns are laws."""
    print(f"| {unit}, {notion}, d = {columns} | method | " + " | ".join(LAWS) + " |")
    print("|---|---|" + "--:|" * len(LAWS))
    for cell in cells.split(","):
        n, strength = cell.split(":")
        found = [
            ratio(law, int(float(n)), float(strength), unit, notion, columns, runs, seed)
            for law in LAWS
        ]
        figures = " | ".join(f"{one:.2f}" for one, _ in found)
        print(f"| ({n}, {strength}) | {found[0][1]} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
