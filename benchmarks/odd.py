"""Odd data: how often a release misleads without a word.

    python benchmarks/odd.py --jobs 2

Means at a million with a spread of 1, two values far apart, clusters beyond a gap, timestamps, tiny
numbers, constants, 95% zeros, at few records for the budget and under both units. A release is said
to mislead if its error is above 100 times an oracle's, its interval is finite and no note is a
warning.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.table import Table

import tametail as tt
from _common import Floats, console, spread_out

#: Errors above so many oracles mislead, unless something is said.
MANY = 100.0

Draw = Callable[[np.random.Generator, int], Floats]


def _mixed(share: float, usual: Draw, rare: Draw) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < share, rare(rng, n), usual(rng, n))


def _normal(center: float, spread: float) -> Draw:
    return lambda rng, n: rng.normal(center, spread, n)


LAWS: dict[str, Draw] = {
    "million": _normal(1e6, 1.0),
    "billion": _normal(1e9, 3.0),
    "bimodal": _mixed(0.5, _normal(-1e4, 1.0), _normal(3e5, 20.0)),
    "two values": _mixed(0.3, lambda _, n: np.zeros(n), lambda _, n: np.full(n, 1e3)),
    "cluster": _mixed(0.02, _normal(0.0, 1.0), _normal(1e4, 1.0)),
    "far cluster": _mixed(0.005, _normal(50.0, 5.0), _normal(1e7, 1e3)),
    "timestamps": lambda rng, n: np.floor(1.7e9 + rng.exponential(3e6, n)),
    "tiny": lambda rng, n: rng.lognormal(0, 1, n) * 1e-12,
    "constant": lambda _, n: np.full(n, 12345.678),
    "zeros": lambda _, n: np.zeros(n),
    "95% zeros": _mixed(0.05, lambda _, n: np.zeros(n), lambda rng, n: rng.lognormal(5, 1.5, n)),
    "one giant": lambda rng, n: np.append(rng.lognormal(0, 1, n - 1), 1e9),
}
STRENGTHS = (200, 500, 1000)
UNITS = ("replace-one", "add-remove")


@dataclass(frozen=True)
class Task:
    """One law at one strength and unit."""

    law: str
    strength: int
    unit: str
    trials: int
    seed: int


@dataclass(frozen=True)
class Outcome:
    """Releases that were off by many oracles; of these, with a finite interval; and silent."""

    task: Task
    off: int
    finite: int
    silent: int


def oracle(records: Floats, epsilon: float) -> float:
    """Return the least root mean squared error of clipping at two of the records' quantiles."""
    finite = np.sort(records[np.isfinite(records)])
    n, mean = len(records), float(finite.mean())
    lows = _at(finite, (0, 0.001, 0.01, 0.05, 0.2, 0.5))
    highs = _at(finite, (0.5, 0.8, 0.95, 0.99, 0.999, 1))
    best = math.inf
    for low in lows:
        for high in highs:
            if low == high and finite[0] < finite[-1]:
                continue  # no mean, and by chance as near to it as any number
            clipped = np.clip(finite, low, high)
            bias = float(clipped.mean()) - mean
            noise = math.sqrt(2) * (high - low) / (n * epsilon)
            best = min(best, math.hypot(bias, noise, float(clipped.std()) / math.sqrt(n)))
    return max(best, 1e-9 * abs(mean), 1e-300)


def _at(ordered: Floats, parts: tuple[float, ...]) -> Floats:
    """Return records at these parts of the way through them."""
    found: Floats = ordered[np.unique(np.round((len(ordered) - 1) * np.array(parts)).astype(int))]
    return found


def misleads(records: Floats, epsilon: float, unit: str) -> tuple[bool, bool, bool]:
    """Release a mean, and say if it is far off, with a finite interval, and without a warning."""
    release = tt.mean(records, epsilon=epsilon, neighbors=unit)
    truth = float(records[np.isfinite(records)].mean())
    off = abs(float(release) - truth) > MANY * oracle(records, epsilon)
    finite = math.isfinite(release[0].low) and math.isfinite(release[0].high)
    return off, off and finite, off and finite and not release.has_warnings


def run(task: Task) -> Outcome:
    """Release some means of one law."""
    key = [task.seed, task.strength, *task.law.encode(), *task.unit.encode()]
    rng, found = np.random.default_rng(key), np.zeros(3, dtype=int)
    for _ in range(task.trials):
        n = int(rng.choice([1_000, 2_000, 5_000]))
        records = LAWS[task.law](rng, n)
        found += misleads(records, task.strength / n, task.unit)
    return Outcome(task, *found.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=278)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tasks = [
        Task(law, strength, unit, arguments.trials, arguments.seed)
        for law in LAWS
        for strength in STRENGTHS
        for unit in UNITS
    ]
    outcomes = spread_out(run, tasks, arguments.jobs, "odd data")
    table = Table(title=f"{arguments.trials} releases of each law, strength and unit")
    for name in ("law", "off by 100 oracles", "with a finite interval", "and no warning"):
        table.add_column(name, justify="right")
    for law in LAWS:
        own = [outcome for outcome in outcomes if outcome.task.law == law]
        sums = [sum(getattr(one, name) for one in own) for name in ("off", "finite", "silent")]
        table.add_row(law, *map(str, sums))
    console.print(table)
    silent = sum(outcome.silent for outcome in outcomes)
    console.print(f"{silent} of {arguments.trials * len(tasks):,} releases mislead")


if __name__ == "__main__":
    main()
