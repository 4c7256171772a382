"""How accurate other statistics than the mean are, and how often their intervals cover.

    python benchmarks/other_statistics.py FOLDER [TRIALS] [STATISTIC ...]

FOLDER has Parquet files of one column each; records are drawn from a column with replacement, so
that the column is the population. Laws are added. Prints the tables of docs/how-to/statistics.md
and docs/how-to/survey-weights.md; STATISTIC is a name of ``MEASURES``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import parquet
from scipy import stats

import tametail as tt

Floats = npt.NDArray[np.float64]

SIZES = ((1_000, 1.0), (10_000, 1.0), (100_000, 0.1))
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
RNG = np.random.default_rng(20261118)

#: So many records stand for a law.
POPULATION = 1_000_000


def populations(folder: Path) -> dict[str, Floats]:
    """Return the laws and the columns, sorted."""
    found = {
        "lognormal 1.5": RNG.lognormal(0, 1.5, POPULATION),
        "Pareto 2.5": (1 - RNG.random(POPULATION)) ** -0.4,
        "t3": RNG.standard_t(3, POPULATION),
        "half zeros, counts": np.where(
            RNG.random(POPULATION) < 0.5, 0.0, RNG.poisson(3, POPULATION)
        ),
    }
    for path in sorted(folder.glob("*.parquet")):
        table = parquet.read_table(path)
        if table.num_columns == 1:
            found[path.stem] = table.column(0).to_numpy().astype(float)
    return {name: np.sort(each[~np.isnan(each)]) for name, each in found.items()}


def rank_error(population: Floats, value: float, level: float) -> float:
    """Return how far the ranks of a value are from a level: 0 inside of an atom."""
    low, high = (np.searchsorted(population, value, side) / len(population) for side in SIDES)
    return float(max(low - level, level - high, 0.0))


SIDES = ("left", "right")


def inverse(population: Floats, level: float) -> float:
    """Return the quantile of a population."""
    return float(population[max(math.ceil(level * len(population)) - 1, 0)])


def of_sum(x: Floats, population: Floats, epsilon: float) -> list[float]:
    release = tt.sum(x, epsilon=epsilon)
    scale = math.sqrt(len(x) * float((population**2).mean()))
    both = float(release.low), float(release.high)
    wide = both[1] - both[0]
    return [(float(release) - x.sum()) / scale, both[0] <= x.sum() <= both[1],
            wide / (2 * 1.96 * scale), np.abs(x).max() <= wide]  # fmt: skip


def of_count(x: Floats, population: Floats, epsilon: float) -> list[float]:
    del population
    release = tt.count(x, epsilon=epsilon)
    low, high = float(release.low), float(release.high)
    return [float(release) - len(x), low <= len(x) <= high, (high - low) / 2]


def of_share(x: Floats, population: Floats, epsilon: float) -> list[float]:
    cut = inverse(population, 0.9)
    share, n = float((population > cut).mean()), len(x)
    condition = f"x > {cut!r}" if cut >= 0 else f"x > -{-cut!r}"
    release = tt.mean(pa.table({"x": x}), condition, epsilon=epsilon)
    scale = math.sqrt(max(share * (1 - share), 1e-12) / n)
    low, high = float(release.low), float(release.high)
    plain = stats.binomtest(int((x > cut).sum()), n).proportion_ci(method="wilson")
    return [(float(release) - share) / scale, low <= share <= high,
            (high - low) / (plain.high - plain.low)]  # fmt: skip


def of_level(level: float) -> Callable[[Floats, Floats, float], list[float]]:
    def measure(x: Floats, population: Floats, epsilon: float) -> list[float]:
        (row,) = tt.quantile(x, q=level, epsilon=epsilon)
        return of_row(row, x, population, level)

    return measure


def of_row(row: Any, x: Floats, population: Floats, level: float) -> list[float]:
    scale = math.sqrt(level * (1 - level) / len(x))
    true = inverse(population, level)
    ends = [rank_error(population, end, level) for end in (row.low, row.high)]
    error = rank_error(population, row.value, level)
    return [error / scale, row.low <= true <= row.high, sum(ends) / (2 * 1.96 * scale)]


def of_five(x: Floats, population: Floats, epsilon: float) -> list[float]:
    release = tt.quantile(x, q=LEVELS, epsilon=epsilon)
    rows = [of_row(row, x, population, row.level) for row in release]
    error, covered, width = np.array(rows, dtype=float).T
    return [float(np.sqrt(np.mean(error**2))), float(covered.mean()), float(np.median(width))]


def of_description(x: Floats, population: Floats, epsilon: float) -> list[float]:
    release = tt.describe(x, epsilon=epsilon)
    true = [len(x), population.mean(), x.sum(), *(inverse(population, q) for q in LEVELS)]
    inside = [row.low <= own <= row.high for row, own in zip(release, true, strict=True)]
    scale = float(population.std()) / math.sqrt(len(x)) or 1.0
    error = (release["mean"].value - population.mean()) / scale
    width = (release["mean"].high - release["mean"].low) / (2 * 1.96 * scale)
    return [error, float(np.mean(inside)), width]


def of_weights(spread: float, likeness: float) -> Callable[[Floats, Floats, float], list[float]]:
    """Measure a mean with lognormal weights, which may go with the ranks of the values."""
    rest, known = spread**2 * (1 - likeness**2), {}

    def measure(x: Floats, population: Floats, epsilon: float) -> list[float]:
        if id(population) not in known:
            known[id(population)] = _truth(population, spread * likeness, rest)
        own, true, deviation = known[id(population)]
        places = RNG.integers(0, len(population), len(x))
        noise = RNG.normal(0, math.sqrt(rest), len(x))
        frame = pa.table({"x": population[places], "w": 100 * np.exp(own[places] + noise)})
        release = tt.mean(frame, "x", weights="w", epsilon=epsilon)
        low, high, scale = float(release.low), float(release.high), deviation / math.sqrt(len(x))
        return [(float(release) - true) / scale, low <= true <= high,
                (high - low) / (2 * 1.96 * scale)]  # fmt: skip

    return measure


def _truth(population: Floats, slope: float, rest: float) -> tuple[Floats, float, float]:
    """Return the part of log weights that ranks say, the weighted mean and its deviation."""
    own = slope * stats.norm.ppf((np.arange(len(population)) + 0.5) / len(population))
    expected, squares = np.exp(own + rest / 2), np.exp(2 * own + 2 * rest)
    true = float((expected * population).sum() / expected.sum())
    deviation = math.sqrt((squares * (population - true) ** 2).mean()) / float(expected.mean())
    return own, true, deviation


MEASURES = {
    "weights, sd 0.5": of_weights(0.47, 0.0),
    "weights, sd 1.3": of_weights(1.0, 0.0),
    "weights, sd 0.5, larger for larger values": of_weights(0.47, 0.5),
    "sum": of_sum, "count": of_count, "share above the 90% quantile": of_share,
    "median": of_level(0.5), "90% quantile": of_level(0.9), "five quantiles": of_five,
    "description (its mean)": of_description,
}  # fmt: skip


def main() -> None:
    """Print a line for each statistic and size: ranges over laws and columns."""
    folder, trials = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    only = sys.argv[3:] or list(MEASURES)
    known = populations(folder)
    print(f"{len(known)} laws and columns, {trials} draws each: {', '.join(known)}")
    print("| statistic | n, epsilon | error, median (worst) | coverage, mean (least) | width |")
    print("|---|---|---|---|---|")
    for name in only:
        for n, epsilon in SIZES:
            errors, covered, widths, named, seen = [], [], [], [], []
            for law, population in known.items():
                draws = [MEASURES[name](RNG.choice(population, n), population, epsilon)
                         for _ in range(trials if n < 1e5 else max(trials // 2, 4))]  # fmt: skip
                error, inside, width, *possible = np.array(draws, dtype=float).T
                for where in possible:
                    seen += inside[where > 0].tolist()
                errors.append(float(np.sqrt(np.mean(error**2))))
                covered.append(float(inside.mean()))
                widths.append(float(np.median(width)))
                named.append(law)
            least, worst = int(np.argmin(covered)), int(np.argmax(errors))
            print(
                f"| {name} | {n:,}, {epsilon:g} | {np.median(errors):.2f} ({errors[worst]:.2f}, "
                f"{named[worst]}) | {np.mean(covered):.3f} ({covered[least]:.2f}, {named[least]}) "
                f"| {np.median(widths):.2f} ({max(widths):.2f}) |",
                flush=True,
            )
            low = ", ".join(
                f"{law} {part:.2f}" for law, part in zip(named, covered, strict=True) if part < 0.9
            )
            print(f"  below .9: {low or 'none'}")
            if seen:  # a record larger than the interval: with and without it, one is not covered
                print(
                    f"  {np.mean(seen):.3f} of {len(seen)} draws without such a record", flush=True
                )


if __name__ == "__main__":
    main()
