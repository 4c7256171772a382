"""Figures of the guide: how near plans, quantiles, doubts and the part of privacy are.

    python benchmarks/guide.py --data DIR               # all of them, some minutes
    python benchmarks/guide.py --data DIR --only shape

``widths``: median half-width of releases over what the plan predicts, for the laws that it speaks
of. ``shape``: errors of count and quantiles over the distance of the quantile from the median.
``doubts``: how often ``Moment(2, sd)``, halved and a tenth, is doubted. ``privacy``: how often the
value is within ``parts["privacy"]`` of the mean of the same records.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import numpy as np

import tametail as tt
from _common import Population, columns, laws

CELLS = ((1_000, 1.0), (10_000, 0.1), (10_000, 1.0), (100_000, 1.0))
MORE_CELLS = (*CELLS, (30_000, 1.0), (100_000, 0.1))
LEVELS = (0.1, 0.25, 0.75, 0.9, 0.95, 0.99, 0.999)
UNITS = ("add-remove", "replace-one")

Row = tuple[str, ...]


def widths(_populations: list[Population], runs: int) -> Iterator[Row]:
    """Print the median half-width over the planned one, for the laws that plans speak of."""
    rng = np.random.default_rng(1)
    cells = MORE_CELLS
    yield ("law, unit", *(f"({n:,}, {epsilon})" for n, epsilon in cells))
    bounded = tt.Bounded(0, 1)
    told = {
        "half at each bound": (lambda n: (rng.random(n) < 0.5) * 1.0, bounded, None, 1.0),
        "uniform in bounds": (rng.random, bounded, "reference", 1.0),
        "normal, Moment": (lambda n: rng.normal(size=n), tt.Moment(2, 1.0), None, 1.0),
        "lognormal, nothing": (
            lambda n: rng.lognormal(size=n), None, None, math.sqrt(math.e * (math.e - 1)),
        ),
    }  # fmt: skip
    for name, (draw, tail, law, deviation) in told.items():
        for unit in UNITS:
            found = []
            for n, epsilon in cells:
                plan = tt.plan(n=n, epsilon=epsilon, tail=tail, neighbors=unit)
                planned = (
                    plan.half_width(0.95)
                    if law is None
                    else plan.half_width(0.95, distribution=law)
                )
                drawn = [
                    tt.mean(draw(n), epsilon=epsilon, tail=tail, neighbors=unit)
                    for _ in range(runs)
                ]
                width = np.median([(float(one.high) - float(one.low)) / 2 for one in drawn])
                scale = deviation if tail is None else 1.0
                found.append(f"{width / (planned * scale):.2f}")
            yield (f"{name}, {unit}", *found)


def shape(populations: list[Population], runs: int) -> Iterator[Row]:
    """Print medians (and 90% points) of relative errors, and how often there is no answer."""
    rng = np.random.default_rng(2)
    yield ("", *(f"({n:,}, {epsilon})" for n, epsilon in CELLS))
    table: dict[str, list[str]] = {"count": [], **{f"q{100 * level:g}": [] for level in LEVELS}}
    for n, epsilon in CELLS:
        errors: dict[str, list[float]] = {name: [] for name in table}
        for population in populations:
            for _ in range(max(runs // 8, 2)):
                records = population.sample(n, rng)
                release = tt.mean(records, epsilon=epsilon)
                errors["count"].append(abs(float(release.count or 0.0) / n - 1))
                for level in LEVELS:
                    true, middle = np.quantile(records, [level, 0.5])
                    guess = release.quantile(level)
                    if true != middle:
                        off = math.nan if guess is None else abs(float(guess) - true)
                        errors[f"q{100 * level:g}"].append(off / abs(true - middle))
        for name, found in errors.items():
            table[name].append(_summary(np.array(found)))
    yield from ((name, *cells) for name, cells in table.items())


def _summary(errors: np.ndarray) -> str:
    known = errors[np.isfinite(errors)]
    none = 1 - len(known) / len(errors)
    if len(known) < 5:
        return f"None in {none:.0%}"
    typical, large = np.quantile(known, [0.5, 0.9])
    return f"{typical:.2%} ({large:.1%})" + (f", None in {none:.0%}" if none > 0.005 else "")


def doubts(populations: list[Population], runs: int) -> Iterator[Row]:
    """Print the share of releases that doubt a moment that is right, half and a tenth as large."""
    rng = np.random.default_rng(3)
    yield ("population, n = 10,000, epsilon = 1", "sd", "sd / 2", "sd / 10")
    for population in populations:
        deviation = population.scale(2)
        if not math.isfinite(deviation) or deviation == 0:
            continue
        found = []
        for part in (1.0, 0.5, 0.1):
            tail = tt.Moment(2, deviation * part)
            drawn = (population.sample(10_000, rng) for _ in range(runs))
            doubted = [
                bool(tt.mean(x, epsilon=1, tail=tail).assumption_contradicted) for x in drawn
            ]
            found.append(f"{np.mean(doubted):.2f}")
        yield (population.name, *found)


def privacy(populations: list[Population], runs: int) -> Iterator[Row]:
    """Print how often the value is within the part of privacy of the mean of the same records."""
    rng = np.random.default_rng(4)
    yield ("(n, epsilon), unit", "within parts['privacy']", "releases")
    for n, epsilon in CELLS:
        for unit in UNITS:
            held, finite = 0, 0
            for population in populations:
                for _ in range(max(runs // 4, 2)):
                    records = population.sample(n, rng)
                    release = tt.mean(records, epsilon=epsilon, neighbors=unit)
                    part = release[0].error_components.get("privacy")
                    if part is not None and math.isfinite(part):
                        finite += 1
                        held += abs(float(release) - float(records.mean())) <= part
            yield (f"({n:,}, {epsilon}), {unit}", f"{held / max(finite, 1):.3f}", f"{finite}")


TABLES: dict[str, Callable[[list[Population], int], Iterator[Row]]] = {
    "widths": widths,
    "shape": shape,
    "doubts": doubts,
    "privacy": privacy,
}


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of one-column Parquet or CSV files")
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--only", choices=TABLES, nargs="+", default=list(TABLES))
    arguments = parser.parse_args()
    real = [] if arguments.data is None else list(columns(arguments.data))
    print(f"Version {tt.__version__}, {date.today().isoformat()}, {arguments.runs} runs")
    for name in arguments.only:
        every = real if name == "privacy" and real else [*real, *laws()]
        rows = TABLES[name](every, arguments.runs)
        head = next(rows)
        print(f"\n## {name}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
        for row in rows:
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
