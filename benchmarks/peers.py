"""tametail beside what else there is: libraries and papers, on the same data.

    python benchmarks/peers.py                       # synthetic laws, about ten minutes on 2 cores
    python benchmarks/peers.py --quick               # one minute
    python benchmarks/peers.py --data DIR            # every one-column file of a folder

For every n and epsilon a table: root mean squared error over that of the oracle (see
``_common.Oracle``), failures (errors beyond 100 oracle errors, marked !), refusals (no answer,
marked ?), and CPU time over that of tametail told nothing. R is 1000 for the laws; for a file it is
the next power of ten beyond all its records. Libraries that do not go together run in environments
of their own, made under ``--environments``; one that cannot be installed is named and left out.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _common import Floats, Oracle, Population, columns, laws, spread_out
from baselines.environments import HERE as ADAPTERS
from baselines.environments import NotInstalledError, Worker, prepare, worker
from baselines.methods import METHODS, Facts, Method, Told, radius_for

CELLS = tuple((n, epsilon) for n in (1_000, 10_000, 100_000) for epsilon in (1.0, 0.1))
FAILURE = 100.0
#: Records of one task: few enough for memory and for a progress bar that moves.
BATCH = 1_000_000
REQUIRED_FACTOR, REQUIRED_SLACK, REQUIRED_STRENGTH = 5.0, 1.10, 1e4

Cell = tuple[int, float]
Interpreters = dict[str, Path]


@lru_cache(maxsize=1)
def populations(folder: Path | None) -> dict[str, tuple[Population, float]]:
    """Return the populations by name, each with its R; every process has its own."""
    if folder is not None:
        varied = (found for found in columns(folder) if np.ptp(found.points) > 0)
        return {found.name: (found, radius_for(found.points)) for found in varied}
    known = {law.name: law for law in laws()}
    moved = replace(known["normal"].moved(37.0, 1.0), name="normal, mean 37")
    chosen = [known["normal"], moved, known["lognormal 1"], known["Pareto 2.5"], known["t3"]]
    return {law.name: (law, 1000.0) for law in chosen}


@lru_cache(maxsize=64)
def oracle(folder: Path | None, name: str) -> Oracle:
    return Oracle(populations(folder)[name][0])


@dataclass(frozen=True)
class Task:
    """Some trials of all methods on one population in one cell."""

    folder: Path | None
    name: str
    cell: Cell
    trials: int
    seed: int
    interpreters: Interpreters


@dataclass(frozen=True)
class Outcome:
    """Errors over the oracle's, NaN where refused, and CPU seconds, for one method."""

    errors: Floats
    seconds: float

    @property
    def ratio(self) -> float:
        """Root mean squared error over the oracle's; NaN if nothing was answered."""
        answered = self.errors[~np.isnan(self.errors)]
        return float(np.sqrt(np.mean(answered**2))) if len(answered) else math.nan

    @property
    def text(self) -> str:
        """The ratio, with failures and refusals."""
        refusals = int(np.isnan(self.errors).sum())
        failures = int(np.sum(np.abs(self.errors) > FAILURE))
        shown = "-" if math.isnan(self.ratio) else f"{self.ratio:.3g}"
        return shown + f" !{failures}" * (failures > 0) + f" ?{refusals}" * (refusals > 0)


@cache
def warm_up() -> None:
    """Import lazily loaded modules before any time is taken, once in each process."""
    facts = Facts(epsilon=1.0, radius=10.0, deviation=1.0, root_mean_square=1.0)
    for method in METHODS:
        if method.run is not None:
            method.run(np.zeros(100), facts, np.random.default_rng(0))


def run(task: Task) -> dict[int, Outcome]:
    """Draw the samples and let every method answer them, by their places in METHODS.

    Methods hold functions, which do not travel between processes; their places do.
    """
    warm_up()
    population, radius = populations(task.folder)[task.name]
    n, epsilon = task.cell
    rng = np.random.default_rng([task.seed, n, round(1000 * epsilon), *task.name.encode()])
    truth, deviation = population.mean(), population.scale(2)
    facts = Facts(epsilon, radius, deviation, math.hypot(truth, deviation))
    samples = np.stack([population.sample(n, rng) for _ in range(task.trials)])
    best = oracle(task.folder, task.name).rmse(n, epsilon)
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npy"
        np.save(path, samples)
        for place, method in enumerate(METHODS):
            if method.run is not None:
                start = time.process_time()
                values = np.array([method.run(records, facts, rng) for records in samples])
                seconds = time.process_time() - start
            elif method.environment in task.interpreters:
                library = worker(task.interpreters[method.environment], method.adapter)
                values, seconds = library.means(method.call, path, epsilon, -radius, radius)
            else:
                continue
            outcomes[place] = Outcome((values - truth) / best, seconds)
    return outcomes


Results = dict[Cell, dict[str, dict[Method, Outcome]]]


def collect(tasks: list[Task], found: list[dict[int, Outcome]]) -> Results:
    """Join the batches of each cell and population."""
    results: Results = {}
    for task, outcomes in zip(tasks, found, strict=True):
        joined = results.setdefault(task.cell, {}).setdefault(task.name, {})
        for place, outcome in outcomes.items():
            method = METHODS[place]
            before = joined.get(method, Outcome(np.empty(0), 0.0))
            errors = np.concatenate([before.errors, outcome.errors])
            joined[method] = Outcome(errors, before.seconds + outcome.seconds)
    return results


def geometric_mean(values: Sequence[float]) -> float:
    known = [value for value in values if value > 0]
    return float(np.exp(np.mean(np.log(known)))) if known else math.nan


def rows(by_name: dict[str, dict[Method, Outcome]], many: bool) -> Iterator[list[str]]:
    """Yield the rows of one cell: a column for each population, or a summary of many."""
    first = next(iter(by_name.values()))
    reference = sum(outcomes[METHODS[0]].seconds for outcomes in by_name.values())
    for method in first:
        row = [outcomes[method] for outcomes in by_name.values()]
        if many:
            joined = Outcome(np.concatenate([outcome.errors for outcome in row]), 0.0)
            ratios = [outcome.ratio for outcome in row]
            marks = " ".join(joined.text.split()[1:])
            shown = [f"{geometric_mean(ratios):.3g}", f"{np.nanmax([*ratios, 0]):.3g}", marks]
        else:
            shown = [outcome.text for outcome in row]
        cpu = sum(outcome.seconds for outcome in row) / reference
        yield [method.name, str(method.told), method.promise, *shown, f"{cpu:.2g}"]


def print_cell(cell: Cell, by_name: dict[str, dict[Method, Outcome]]) -> None:
    """Print one table, in Markdown."""
    many = len(by_name) > 8
    names = ["geometric mean", "worst", "failures"] if many else list(by_name)
    trials = len(next(iter(next(iter(by_name.values())).values())).errors)
    lines = [["method", "told", "promise", *names, "CPU"], *rows(by_name, many)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    print(f"\nn = {cell[0]:,}, epsilon = {cell[1]:g}, {trials} trials\n")
    for line in lines:
        cells = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("| " + " | ".join(cells) + " |")


def comparison(ours: Outcome, theirs: Outcome) -> tuple[float, float]:
    """Return our RMSE over theirs, and the standard error of its logarithm (same data)."""
    both = ~np.isnan(theirs.errors)
    a, b = ours.errors[both] ** 2, theirs.errors[both] ** 2
    if len(a) < 2 or b.mean() == 0 or a.mean() == 0:
        return math.nan, math.nan
    spread = (a / a.mean() - b / b.mean()).std() / (2 * math.sqrt(len(a)))
    return math.sqrt(a.mean() / b.mean()), float(spread)


def verdicts(results: Results) -> Iterator[str]:
    """Say how often the two requirements of this benchmark are met, and where and by whom not."""
    titles = {
        "factor": f"told nothing, n = 10,000: at most 1/{REQUIRED_FACTOR:g} of the error of those "
        "told [-R, R]",
        "slack": f"n epsilon >= {REQUIRED_STRENGTH:g}: at most {REQUIRED_SLACK:g} times the error "
        "of those told no more",
    }
    limits = {"factor": 1 / REQUIRED_FACTOR, "slack": REQUIRED_SLACK}
    counts = {key: [0, 0] for key in titles}
    missed: dict[str, dict[str, list[str]]] = {key: {} for key in titles}
    for cell, by_name in results.items():
        for name, outcomes in by_name.items():
            for ours, theirs, key in _pairs(cell, list(outcomes)):
                ratio, spread = comparison(outcomes[ours], outcomes[theirs])
                if math.isnan(ratio):
                    continue
                counts[key][0] += ratio <= limits[key]
                counts[key][1] += 1
                if ratio > limits[key]:
                    pair = f"{theirs.name}, against tametail told {ours.told} ({ours.promise})"
                    where = f"{name} ({cell[0]:,}, {cell[1]:g}): {ratio:.2f} +-{ratio * spread:.2f}"
                    missed[key].setdefault(pair, []).append(where)
    for key, title in titles.items():
        met, all_of_them = counts[key]
        yield f"{title}: {met} of {all_of_them} comparisons"
        for pair, places in sorted(missed[key].items()):
            yield f"- {pair}: {'; '.join(places)}"


def _pairs(cell: Cell, methods: list[Method]) -> Iterator[tuple[Method, Method, str]]:
    """Yield which of ours is compared with which of theirs, and for which requirement."""
    n, epsilon = cell
    for ours in (method for method in methods if method.is_ours):
        for theirs in methods:
            if n * epsilon >= REQUIRED_STRENGTH and theirs.may_be_compared_with(ours):
                yield ours, theirs, "slack"
            knows_range = replace(ours, told=Told.RANGE)
            if (
                n == 10_000
                and ours.told == Told.NOTHING
                and theirs.told == Told.RANGE
                and theirs.notion == ours.notion
                and theirs.may_be_compared_with(knows_range)
            ):
                yield ours, theirs, "factor"


def install(folder: Path, allowed: bool) -> tuple[Interpreters, list[str]]:
    """Return the interpreters that are there, and a line for each library."""
    interpreters, notes = {}, []
    peers = {(m.environment, m.adapter) for m in METHODS if m.run is None}
    for environment, adapter in sorted(peers):
        name = environment or "opendp"
        try:
            python = (
                prepare(environment, folder, install=allowed)
                if environment
                else Path(sys.executable)
            )
            # One for this look alone: processes that fork later must not share a worker.
            found = Worker(python, ADAPTERS / f"{adapter}.py")
            found.close()
            notes.append(f"{name} {found.version}")
            interpreters[environment] = python
        except NotInstalledError as error:
            notes.append(f"{name}: left out, {error}")
    return interpreters, notes


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of one-column Parquet or CSV files")
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials, n <= 10,000")
    parser.add_argument("--trials", type=int, help="in every cell; default by n: 100, 60, 30")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", help="populations by name")
    parser.add_argument("--largest", type=int, default=100_000, help="the largest n")
    parser.add_argument("--environments", type=Path, default=Path(".peers"))
    parser.add_argument("--offline", action="store_true", help="install nothing")
    return parser.parse_args(given)


def plan_tasks(arguments: argparse.Namespace, interpreters: Interpreters) -> list[Task]:
    """Cut the work into batches."""
    largest = min(arguments.largest, 10_000 if arguments.quick else math.inf)
    tasks = []
    for n, epsilon in CELLS:
        if n > largest:
            continue
        trials = arguments.trials or {1_000: 100, 10_000: 60, 100_000: 30}[n]
        trials = max(1, trials // 10) if arguments.quick else trials
        size = max(1, BATCH // n)
        for name in populations(arguments.data):
            if arguments.only and name not in arguments.only:
                continue
            for start in range(0, trials, size):
                seed, count = 1000 * arguments.seed + start, min(size, trials - start)
                tasks.append(Task(arguments.data, name, (n, epsilon), count, seed, interpreters))
    return tasks


def main(given: Sequence[str] | None = None) -> None:
    arguments = _arguments(given)
    interpreters, notes = install(arguments.environments, not arguments.offline)
    tasks = plan_tasks(arguments, interpreters)
    results = collect(tasks, spread_out(run, tasks, arguments.jobs, "comparisons"))
    print("; ".join(notes))
    for cell, by_name in results.items():
        print_cell(cell, by_name)
    print("", *verdicts(results), sep="\n")


if __name__ == "__main__":
    main()
