"""Told bounds: the error of ``tametail.mean`` over that of the textbook.

The textbook clamps, adds up and adds noise once. Under replace-one it divides by the public n:
noise (high - low)/(n epsilon). Under add-remove it spends half of the budget on a sum of distances
from the middle of the bounds and half on the count, as other libraries do. With zCDP the noise is
Gaussian. Its error is computed, with the sampling error of the same samples.

    python benchmarks/textbook.py --whole    # every table below, about ten minutes
    python benchmarks/textbook.py --others   # more laws
    python benchmarks/textbook.py --runs 40 --cells 1000:0.1 --neighbors replace-one --notion pure
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from statistics import NormalDist

import click
import numpy as np
import numpy.typing as npt

import tametail as tt

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
SCORES, CHANCES = np.arange(1.0, 6.0), (0.1, 0.1, 0.2, 0.3, 0.3)

Law = tuple[Draw, tuple[float, float], float]

#: Records, their bounds and their mean.
LAWS: dict[str, Law] = {
    "uniform": (lambda rng, n: rng.random(n), (0, 1), 0.5),
    "Bernoulli .3": (lambda rng, n: (rng.random(n) < 0.3) * 1.0, (0, 1), 0.3),
    "Bernoulli .01": (lambda rng, n: (rng.random(n) < 0.01) * 1.0, (0, 1), 0.01),
    "Beta(.1, .1)": (lambda rng, n: rng.beta(0.1, 0.1, n), (0, 1), 0.5),
    "scores": (lambda rng, n: rng.choice(SCORES, n, p=CHANCES), (1, 5), 3.6),
    "ages": (lambda rng, n: 100 * rng.beta(2, 3, n), (0, 120), 40.0),
    "in a thousandth": (lambda rng, n: 0.3 + rng.random(n) / 1000, (0, 1), 0.3005),
}


def _clipped_lognormal_mean(end: float) -> float:
    """Return E min(X, end) of the standard lognormal law."""
    below = NormalDist().cdf
    log = math.log(end)
    return math.sqrt(math.e) * below(log - 1) + end * (1 - below(log))


#: The same. Bernoulli .03 and .1 and uniform on (0, .001) were looked at while constants were set
#: (decision 0139), the others were not.
OTHERS: dict[str, Law] = {
    "Bernoulli .003": (lambda rng, n: (rng.random(n) < 0.003) * 1.0, (0, 1), 0.003),
    "Bernoulli .03": (lambda rng, n: (rng.random(n) < 0.03) * 1.0, (0, 1), 0.03),
    "Bernoulli .1": (lambda rng, n: (rng.random(n) < 0.1) * 1.0, (0, 1), 0.1),
    "Beta(.2, .6)": (lambda rng, n: rng.beta(0.2, 0.6, n), (0, 1), 0.25),
    "0, 1, 2 of 10": (lambda rng, n: rng.integers(0, 3, n) * 1.0, (0, 10), 1.0),
    "lognormal up to 20": (
        lambda rng, n: np.minimum(rng.lognormal(size=n), 20.0),
        (0, 20),
        _clipped_lognormal_mean(20.0),
    ),
    "uniform on (0, .001)": (lambda rng, n: rng.random(n) / 1000, (0, 1), 0.0005),
}

#: Cells for the other laws.
CELLS_OF_OTHERS = (
    ("replace-one", "pure", 1, True, "20000:0.05,20000:0.1,20000:0.5,2000:0.1,2000:0.01"),
    ("replace-one", "pure", 1, False, "20000:0.05,20000:0.1,20000:0.5,100000:1"),
    ("add-remove", "pure", 1, True, "20000:0.025,20000:0.05,20000:0.1,20000:0.5"),
    ("add-remove", "pure", 1, False, "20000:0.025,20000:0.05"),
    ("replace-one", "zcdp", 3, True, "20000:0.1"),
    ("replace-one", "zcdp", 20, True, "20000:0.1"),
    ("replace-one", "pure", 3, True, "20000:0.15"),
)


#: The whole table: unit, notion, columns, with an interval or not, and cells of n epsilon from 20
#: to 1e5. With few records the plan chooses the textbook itself.
WHOLE = (
    ("replace-one", "pure", 1, True, "1000:0.02,1000:0.1,5000:0.1,100000:0.01,20000:0.1,100000:1"),
    ("replace-one", "pure", 1, False, "1000:0.1,100000:0.01,20000:0.1,100000:1"),
    ("add-remove", "pure", 1, True, "1000:0.1,5000:0.1,100000:0.01,10000:0.1,100000:1"),
    ("add-remove", "pure", 1, False, "1000:0.1,5000:0.1,100000:0.01"),
    ("replace-one", "zcdp", 1, True, "1000:0.1,100000:0.01,10000:1"),
    ("replace-one", "pure", 3, True, "200:1,2000:1,20000:1"),
    ("replace-one", "zcdp", 3, True, "200:1,500:1,2000:1,20000:0.1,20000:1"),
    ("add-remove", "zcdp", 3, True, "2000:1,20000:0.1"),
    ("replace-one", "pure", 20, True, "2000:1,20000:1"),
    ("replace-one", "zcdp", 20, True, "200:1,2000:1,20000:0.1"),
)


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


@dataclass(frozen=True)
class Setting:
    """What the cells of a table have in common."""

    unit: str
    notion: str
    columns: int
    interval: bool
    runs: int
    seed: int


def ratio(law: str, n: int, strength: float, setting: Setting) -> tuple[float, float, str]:
    """Return the ratio of the root mean squared errors, its standard error, and the method."""
    unit, notion, columns = setting.unit, setting.notion, setting.columns
    draw, bounds, mean = (LAWS | OTHERS)[law]
    rng = np.random.default_rng(setting.seed)
    budget = {
        "pure": tt.pure(strength),
        "zcdp": tt.zcdp(strength**2 / 2),
        "approx": tt.approx(strength, 1e-6),
    }[notion]
    ours: list[Floats] = []
    theirs: list[Floats] = []
    for _ in range(setting.runs):
        data = draw(rng, n * columns).reshape(n, columns)
        release = tt.mean(
            data if columns > 1 else data[:, 0],
            budget=budget,
            tail=tt.Bounded(*bounds),
            neighbors=unit,
            confidence=0.95 if setting.interval else None,
        )
        ours.append(np.atleast_1d(release.value) - mean)
        theirs.append(data.mean(axis=0) - mean)
    each = strength / (math.sqrt(columns) if notion == "zcdp" else columns)
    noise = textbook_variance(n, each, bounds, mean, unit, notion)
    best = math.sqrt(float(np.mean(np.square(theirs))) + noise)
    squares = np.square(ours) / best**2  # columns are drawn independently of each other
    value = math.sqrt(float(squares.mean()))
    error = float(squares.std()) / math.sqrt(squares.size) / (2 * value)
    return value, error, release.method


def print_table(setting: Setting, cells: str, laws: list[str]) -> None:
    """Print ratios and their standard errors: rows are cells, columns are laws."""
    title = f"{setting.unit}, {setting.notion}, d = {setting.columns}"
    title += "" if setting.interval else ", no interval"
    print(f"| {title} | method | " + " | ".join(laws) + " |")
    print("|---|---|" + "--:|" * len(laws))
    for cell in cells.split(","):
        n, strength = cell.split(":")
        found = [ratio(law, int(float(n)), float(strength), setting) for law in laws]
        figures = " | ".join(f"{one:.2f} ({error:.2f})" for one, error, _ in found)
        print(f"| ({n}, {strength}) | {found[0][2]} | {figures} |", flush=True)
    print()


@click.command()
@click.option("--whole", is_flag=True, help="All tables, whatever else is said but runs and seed.")
@click.option("--others", is_flag=True, help="All tables of more laws.")
@click.option("--runs", default=40, show_default=True)
@click.option("--cells", default="1000:0.1", show_default=True, help="n:epsilon, with commas.")
@click.option("--neighbors", default="replace-one", show_default=True)
@click.option("--notion", default="pure", show_default=True, help="pure, zcdp or approx.")
@click.option("--columns", default=1, show_default=True)
@click.option("--interval/--no-interval", default=True, show_default=True)
@click.option(
    "--law", "laws", multiple=True, type=click.Choice(list(LAWS | OTHERS)), help="Only these."
)
@click.option("--seed", default=1, show_default=True)
def main(
    whole: bool,
    others: bool,
    runs: int,
    cells: str,
    unit: str,
    notion: str,
    columns: int,
    interval: bool,
    laws: tuple[str, ...],
    seed: int,
) -> None:
    """Print a table of ratios, or the whole set of them."""
    chosen = list(laws or (OTHERS if others else LAWS))
    if not (whole or others):
        print_table(Setting(unit, notion, columns, interval, runs, seed), cells, chosen)
        return
    print(f"version {tt.__version__}, {date.today().isoformat()}, {runs} runs\n")
    for *setting, some in CELLS_OF_OTHERS if others else WHOLE:
        fewer = max(runs // setting[2], 10)  # every column is a run
        print_table(Setting(*setting, fewer, seed), some, chosen)


if __name__ == "__main__":
    main()
