"""How often the intervals of ``tametail.mean`` cover, and how wide they are.

    python benchmarks/coverage.py --trials 1000 --jobs 2
    python benchmarks/coverage.py --trials 200 --columns FOLDER --jobs 2

With a true ``Moment`` (its scale is that of the law, k = 2 and 4 where it exists) the interval must
cover the mean. Without one there are two: (a) for the winsorized mean at the released clip points,
(b) for the mean, if the tail goes on as seen. With ``--columns`` these two are measured on every
one-column file of a folder, drawn from with replacement, as averages over columns with standard
errors. Widths are over that of the t-interval of the same records, which is not private.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table
from scipy import stats

import tametail as tt
from _common import Floats, Population, columns, console, populations, spread_out
from tametail import notes
from tametail.release import Release

CONFIDENCE = 0.95
#: Below this share of 1,000 runs a cell fails.
LEAST = 0.935
#: So many times the median width of its column is far wider than usual.
WIDE = 5.0
#: The warnings that say why an interval is wide, or has no limit.
SAYING = {notes.FAR_GROUP, notes.NO_UPPER_LIMIT, notes.NO_LOWER_LIMIT}


@dataclass(frozen=True)
class Task:
    """One cell of the table."""

    name: str
    knows: int | None
    n: int
    epsilon: float
    unit: str
    trials: int
    seed: int
    folder: str = ""
    confidence: float = CONFIDENCE


@dataclass(frozen=True)
class Outcome:
    """Runs that covered, and the median of the widths over the t-interval's."""

    task: Task
    covered: int
    width: float


def run(task: Task) -> Outcome:
    """Release some means and look whether their intervals cover."""
    population = populations(None)[task.name]
    tail = None if task.knows is None else tt.Moment(task.knows, population.scale(task.knows))
    key = [task.seed, task.n, round(1000 * task.epsilon), task.knows or 0, *task.name.encode()]
    rng, covered, widths = np.random.default_rng(key), 0, []
    for _ in range(task.trials):
        records = population.sample(task.n, rng)
        release = tt.mean(
            records, epsilon=task.epsilon, neighbors=task.unit, tail=tail, confidence=CONFIDENCE
        )
        interval = release[0].intervals[-1]  # with a tail the only one; else the winsorized mean's
        covered += interval.low <= _target(population, release) <= interval.high
        widths.append((interval.high - interval.low) / _t_width(records, CONFIDENCE))
    return Outcome(task, covered, float(np.median(widths)))


@dataclass(frozen=True)
class Both:
    """What became of both intervals of one column: shares that covered, and median widths."""

    task: Task
    seen: int
    covered: tuple[float, float]
    widths: tuple[float, float]
    finite: float
    """The share of intervals for the mean that have both limits."""
    wide: float
    silent: float
    """The shares that are more than WIDE times the median width; and that without a warning."""


def run_both(task: Task) -> Both:
    """Release means of a real column without a tail; releases that show nothing do not count."""
    population = populations(Path(task.folder))[task.name]
    key = [task.seed, task.n, round(1000 * task.epsilon), *task.unit.encode(), *task.name.encode()]
    rng, covered, widths, said = np.random.default_rng(key), [], [], []
    for _ in range(task.trials):
        records = population.sample(task.n, rng)
        row = tt.mean(
            records, epsilon=task.epsilon, neighbors=task.unit, confidence=task.confidence
        )[0]
        if len(row.intervals) == 2:
            as_seen, winsorized = row.intervals
            targets = population.winsorized_mean(*row.clip), population.mean()
            pairs = list(zip((winsorized, as_seen), targets, strict=True))
            covered.append([one.low <= target <= one.high for one, target in pairs])
            usual = _t_width(records, task.confidence)
            widths.append([(one.high - one.low) / usual for one, _ in pairs])
            said.append(not SAYING.isdisjoint(row.notes))
    if not covered:
        return Both(task, 0, (math.nan, math.nan), (math.nan, math.nan), *[math.nan] * 3)
    a, b = np.mean(covered, axis=0).tolist()
    first, second = np.median(widths, axis=0).tolist()
    quoted = np.array(widths)[:, 1]
    finite = np.isfinite(quoted)
    wide = finite & (quoted > WIDE * np.median(quoted[finite])) if finite.any() else finite
    shares = float(finite.mean()), float(wide.mean()), float((wide & ~np.array(said)).mean())
    return Both(task, len(covered), (a, b), (first, second), *shares)


def print_both(outcomes: list[Both]) -> None:
    """Print a table of averages over columns, and one with every column."""
    cells = sorted({(o.task.unit, o.task.n, o.task.epsilon) for o in outcomes})
    table = Table(title="coverage (standard error over columns), median width over the t-interval")
    heads = ("unit", "n", "epsilon", "seen", "winsorized", "width", "as seen", "width")
    for name in (*heads, "limits", "wide", "silent"):
        table.add_column(name, justify="right")
    for cell in cells:
        found = [o for o in outcomes if (o.task.unit, o.task.n, o.task.epsilon) == cell and o.seen]
        share = sum(o.seen for o in found) / max(
            sum(o.task.trials for o in outcomes if (o.task.unit, o.task.n, o.task.epsilon) == cell),
            1,
        )
        shown = [cell[0], f"{cell[1]:,}", f"{cell[2]:g}", f"{share:.2f}"]
        for place in (0, 1):
            covered = np.array([o.covered[place] for o in found])
            widths = [o.widths[place] for o in found]
            error = covered.std(ddof=1) / math.sqrt(len(covered)) if len(covered) > 1 else math.nan
            shown += [f"{covered.mean():.3f} ({error:.3f})", f"{np.nanmedian(widths):.2f}"]
        shares = [(o.finite, o.wide, o.silent) for o in found]
        table.add_row(*shown, *(f"{share:.3f}" for share in np.mean(shares, axis=0)))
    console.print(table)
    names = dict.fromkeys(o.task.name for o in outcomes)
    table = Table(
        title="by column: coverage of the winsorized mean and of the mean, over all cells"
    )
    for name in ("column", "winsorized", "least", "as seen", "least"):
        table.add_column(name, justify="right")
    for name in names:
        found = [o for o in outcomes if o.task.name == name and o.seen]
        shown = [name]
        for place in (0, 1):
            covered = [o.covered[place] for o in found]
            shown += [f"{np.mean(covered):.3f}", f"{min(covered):.2f}"] if covered else ["", ""]
        table.add_row(*shown)
    console.print(table)


def _target(population: Population, release: Release) -> float:
    row = release[0]
    if row.intervals[-1].target == "mean" or row.clip is None:
        return population.mean()
    return population.winsorized_mean(*row.clip)


def _t_width(records: Floats, confidence: float) -> float:
    error = float(records.std(ddof=1)) / math.sqrt(len(records))
    return 2 * float(stats.t.ppf((1 + confidence) / 2, len(records) - 1)) * error or math.nan


def _tasks(arguments: argparse.Namespace) -> list[Task]:
    return [
        Task(name, knows, n, epsilon, unit, arguments.trials, arguments.seed)
        for knows in (None, 2, 4)
        for unit in arguments.units
        for name, population in populations(None).items()
        if knows is None or 0 < population.scale(knows) < math.inf
        if not arguments.only or name in arguments.only
        for n in arguments.sizes
        for epsilon in arguments.epsilons
    ]


def print_tables(outcomes: list[Outcome]) -> None:
    """Print one table for each piece of knowledge and unit, and the pooled coverage."""
    cells = sorted({(o.task.n, o.task.epsilon) for o in outcomes})
    groups = dict.fromkeys((o.task.knows, o.task.unit) for o in outcomes)
    for knows, unit in groups:
        rows = [o for o in outcomes if (o.task.knows, o.task.unit) == (knows, unit)]
        what = "winsorized mean" if knows is None else f"mean, with the true Moment({knows}, ...)"
        table = Table(title=f"coverage of the {what}, {unit}; width over the t-interval's")
        table.add_column("population")
        for n, epsilon in cells:
            table.add_column(f"n = {n:,}\nepsilon = {epsilon:g}", justify="right")
        for name in dict.fromkeys(o.task.name for o in rows):
            found = {(o.task.n, o.task.epsilon): o for o in rows if o.task.name == name}
            table.add_row(name, *(_show(found[cell]) for cell in cells))
        console.print(table)
    for kind, tasks in (
        ("with a true Moment", [o for o in outcomes if o.task.knows]),
        ("winsorized mean", [o for o in outcomes if o.task.knows is None]),
    ):
        if tasks:
            shares = [o.covered / o.task.trials for o in tasks]
            pooled = sum(o.covered for o in tasks) / sum(o.task.trials for o in tasks)
            low = sum(share < LEAST for share in shares)
            console.print(
                f"{kind}: pooled coverage {pooled:.2%}, least {min(shares):.2%}, "
                f"{low} of {len(tasks)} cells below {LEAST:.1%}"
            )


def _show(outcome: Outcome) -> str:
    share = outcome.covered / outcome.task.trials
    return f"{share:.1%} {outcome.width:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="+", default=(1_000, 10_000, 100_000))
    parser.add_argument("--epsilons", type=float, nargs="+", default=(0.1, 1.0))
    parser.add_argument("--units", nargs="+", default=("replace-one", "add-remove"))
    parser.add_argument("--columns", metavar="FOLDER", help="both intervals on real columns")
    parser.add_argument("--confidence", type=float, default=CONFIDENCE, help="of real columns")
    parser.add_argument("--only", nargs="+", help="populations by name")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.columns:
        told = arguments.trials, arguments.seed, arguments.columns, arguments.confidence
        tasks = [
            Task(name, None, n, epsilon, unit, *told)
            for unit in arguments.units
            for n in arguments.sizes
            for epsilon in arguments.epsilons
            for name in (one.name for one in columns(Path(arguments.columns)))
            if not arguments.only or name in arguments.only
        ]
        print_both(spread_out(run_both, tasks, arguments.jobs, "intervals"))
        return
    outcomes = spread_out(run, _tasks(arguments), arguments.jobs, "intervals")
    print_tables(outcomes)


if __name__ == "__main__":
    main()
