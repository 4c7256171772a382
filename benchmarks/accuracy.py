"""Root mean squared error of ``tametail.mean``, as shipped, over that of an oracle.

    python benchmarks/accuracy.py                        # synthetic laws
    python benchmarks/accuracy.py --data DIR --jobs 2    # every one-column file of a folder

The oracle knows the best clip points for the population, n and epsilon, and spends the whole budget
on one noisy mean (pure differential privacy, replace-one): see ``_common.Oracle``. Errors beyond
100 oracle errors count as catastrophes. Standard errors are in brackets. Below the ratios of a pure
budget stands what no private algorithm that is told nothing can avoid for all laws
(``tametail.theory.price_of_not_knowing``), if far records may be in so many octaves.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

import numpy as np
from rich.table import Table

import tametail as tt
from _common import Floats, Oracle, console, populations, spread_out
from tametail.theory import price_of_not_knowing

CELLS = ((100_000, 1.0), (10_000, 1.0), (100_000, 0.1), (1_000, 1.0), (10_000, 0.1))
CATASTROPHE = 100.0
DELTA = 1e-6
#: Octaves in which far records may be, for the bound: about all doubles, those that the library
#: tells apart, and fewer if more is known.
OCTAVES = (1000, 256, 100)
#: Trials of one task: short enough for a progress bar that moves.
BATCH = 50

Cell = tuple[int, float]


@dataclass(frozen=True)
class Task:
    """Some trials on one population in one cell."""

    name: str
    cell: Cell
    batch: int
    trials: int
    options: Options


@dataclass(frozen=True)
class Options:
    """What all trials have in common."""

    data: Path | None
    unit: str
    budget: str
    shift: float
    scale: float
    tail: str | None
    within: float | None
    confidence: float | None
    seed: int


@lru_cache(maxsize=64)
def oracle(data: Path | None, shift: float, scale: float, name: str) -> Oracle:
    return Oracle(populations(data, shift, scale)[name])


def run(task: Task) -> Floats:
    """Return the errors of some releases."""
    options, (n, epsilon) = task.options, task.cell
    population = populations(options.data, options.shift, options.scale)[task.name]
    key = [options.seed, task.batch, n, round(1000 * epsilon), *task.name.encode()]
    rng = np.random.default_rng(key)
    budgets = {
        "pure": tt.pure(epsilon),
        "zcdp": tt.zcdp(epsilon**2 / 2),
        "approx": tt.approx(epsilon, DELTA),
    }
    tail: tt.Moment | tt.Bounded | None = None
    if options.tail == "moment" and population.scale(2) > 0:
        tail = tt.Moment(2, population.scale(2))
    elif options.tail == "bounded" and np.ptp(population.points) > 0:
        tail = tt.Bounded(population.points.min(), population.points.max())
    errors = np.empty(task.trials)
    for trial in range(task.trials):
        release = tt.mean(
            population.sample(n, rng),
            budget=budgets[options.budget],
            neighbors=options.unit,
            tail=tail,
            within=options.within,
            confidence=options.confidence,
        )
        errors[trial] = float(release) - population.mean()
    return errors


@dataclass(frozen=True)
class Ratio:
    """RMSE over the oracle's, its standard error, and the number of catastrophes."""

    value: float
    deviation: float
    catastrophes: int

    @classmethod
    def of(cls, errors: Floats, best: float) -> Ratio:
        """Compare the errors with the best possible one."""
        if best == 0:  # nothing but the exact value is as good as the oracle
            return cls(np.nan, np.nan, int(np.count_nonzero(errors)))
        squares = (errors / best) ** 2
        value = float(np.sqrt(squares.mean()))
        deviation = float(squares.std() / np.sqrt(len(squares)) / (2 * value)) if value else 0.0
        return cls(value, deviation, int(np.sum(squares > CATASTROPHE**2)))

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "exact" if not self.catastrophes else f"inexact {self.catastrophes} times"
        alarm = f" !{self.catastrophes}" if self.catastrophes else ""
        return f"{self.value:.2f} ({self.deviation:.2f}){alarm}"


def geometric(ratios: Iterable[Ratio]) -> tuple[float, float]:
    """Return the geometric mean and its standard error."""
    known = [ratio for ratio in ratios if ratio.value > 0]
    logs = np.log([ratio.value for ratio in known])
    relative = np.array([ratio.deviation / ratio.value for ratio in known])
    value = float(np.exp(logs.mean()))
    return value, value * float(np.sqrt((relative**2).sum())) / len(known)


def print_table(
    title: str, ratios: dict[str, dict[Cell, Ratio]], cells: list[Cell], options: Options
) -> None:
    table = Table(title=title)
    table.add_column("population")
    for n, epsilon in cells:
        table.add_column(f"n = {n:,}\nepsilon = {epsilon:g}", justify="right")
    for name, row in ratios.items():
        table.add_row(name, *(str(row[cell]) for cell in cells))
    table.add_section()
    columns = [[row[cell] for row in ratios.values()] for cell in cells]
    means = [geometric(column) for column in columns]
    worst = [max((ratio for ratio in column if ratio.value > 0), key=_value) for column in columns]
    table.add_row("geometric mean", *(f"{mean:.3f} ({error:.3f})" for mean, error in means))
    table.add_row("worst", *map(str, worst))
    table.add_row("beyond 100", *(str(sum(r.catastrophes for r in column)) for column in columns))
    if options.budget == "pure":
        table.add_section()
        for octaves in OCTAVES:
            bounds = [
                price_of_not_knowing(n, epsilon=epsilon, doublings=octaves, neighbors=options.unit)
                for n, epsilon in cells
            ]
            # A ratio below 1 would say nothing: the oracle itself is there.
            row = (f"{bound:.2f}" if bound > 1 else "-" for bound in bounds)
            table.add_row(f"no less, some law ({octaves:,} octaves)", *row)
    console.print(table)


def print_halves(ratios: dict[str, dict[Cell, Ratio]], cells: list[Cell], seed: int) -> None:
    """Show the geometric means over random halves: none should stand out."""
    table = Table(title="half of the columns left out: geometric mean over the others")
    table.add_column("half")
    for n, epsilon in cells:
        table.add_column(f"n = {n:,}\nepsilon = {epsilon:g}", justify="right")
    rng, names = np.random.default_rng(seed), list(ratios)
    for draw in range(1, 6):
        order = rng.permutation(len(names))
        for label, half in (("a", order[::2]), ("b", order[1::2])):
            means = [geometric(ratios[names[i]][cell] for i in half)[0] for cell in cells]
            table.add_row(f"{draw}{label}", *(f"{mean:.3f}" for mean in means))
    console.print(table)


def _value(ratio: Ratio) -> float:
    return ratio.value


def _cell(text: str) -> Cell:
    n, epsilon = text.split(",")
    return int(float(n)), float(epsilon)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of one-column Parquet or CSV files")
    parser.add_argument("--neighbors", default="replace-one", choices=("replace-one", "add-remove"))
    parser.add_argument("--budget", default="pure", choices=("pure", "zcdp", "approx"))
    parser.add_argument("--cells", type=_cell, nargs="+", default=CELLS, metavar="N,EPSILON")
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--shift", type=float, default=0.0, help="added to every record")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every record")
    parser.add_argument("--tail", choices=("moment", "bounded"), help="tell the true one")
    parser.add_argument("--within", type=float, help="the mean is in [-R, R]")
    parser.add_argument("--confidence", type=float, help="ask for an interval too")
    parser.add_argument("--columns-out", action="store_true", help="also over random halves")
    parser.add_argument("--only", nargs="+", help="populations by name")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    names = list(populations(arguments.data, arguments.shift, arguments.scale))
    names = [name for name in names if not arguments.only or name in arguments.only]
    fields = {field: getattr(arguments, field) for field in Options.__dataclass_fields__}
    options, cells = Options(**fields), list(arguments.cells)
    starts = range(0, arguments.trials, BATCH)
    tasks = [
        Task(name, cell, start, min(BATCH, arguments.trials - start), options)
        for cell in cells
        for name in names
        for start in starts
    ]
    errors = spread_out(run, tasks, arguments.jobs, "releases")
    ratios: dict[str, dict[Cell, Ratio]] = {name: {} for name in names}
    for first in range(0, len(tasks), len(starts)):
        task = tasks[first]
        best = oracle(options.data, options.shift, options.scale, task.name).rmse(*task.cell)
        joined = np.concatenate(errors[first : first + len(starts)])
        ratios[task.name][task.cell] = Ratio.of(joined, best)
    knowledge = f"{options.tail or 'nothing'} known, {options.budget}, {options.unit}"
    title = f"RMSE over the oracle's, {knowledge}, {arguments.trials} trials"
    taken = f"version {tt.__version__}, {date.today().isoformat()}"
    print_table(f"{title}, {taken}", ratios, cells, options)
    if arguments.columns_out:
        print_halves(ratios, cells, arguments.seed)


if __name__ == "__main__":
    main()
