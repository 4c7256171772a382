"""Populations to sample from, the oracle to compare with, and the options of all benchmarks.

A population knows how to draw samples. A column of real data is drawn from with replacement. Of a
synthetic law the true mean and moments are known; its oracle is computed from quantiles.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track
from scipy import stats

from tametail.inequalities.moments import normal_moment
from tametail.theory.moments import lognormal_moment, pareto_moment, student_moment

Floats = npt.NDArray[np.float64]
Task = TypeVar("Task")
Result = TypeVar("Result")

#: Points that stand for a synthetic law: equal masses, and ever smaller ones in both tails.
_BULK, _TAIL = 20_000, 4_000

console = Console(width=int(os.environ["COLUMNS"]) if "COLUMNS" in os.environ else None)


@dataclass(frozen=True)
class Population:
    """A law with finitely many points: a real column, or a fine discretisation of a law."""

    name: str
    points: Floats
    masses: Floats | None = None  # None: all alike
    draw: Callable[[np.random.Generator, int], Floats] | None = None
    exact_mean: float | None = None
    exact_moments: tuple[tuple[int, float], ...] = ()

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n independent records."""
        if self.draw is not None:
            return self.draw(rng, n)
        return self.points[rng.integers(0, len(self.points), n)]

    def mean(self) -> float:
        """The true mean."""
        if self.exact_mean is not None:
            return self.exact_mean
        return float(np.average(self.points, weights=self.masses))

    def scale(self, k: int) -> float:
        """The true ``(E|X - mean|**k)**(1/k)``; infinite if there is none."""
        moment = dict(self.exact_moments).get(k)
        if moment is None:
            moment = np.average(np.abs(self.points - self.mean()) ** k, weights=self.masses)
        return float(moment ** (1 / k))

    def winsorized_mean(self, low: float, high: float) -> float:
        """The mean of the records clipped to [low, high]."""
        # Distances from low are exactly 0 where the interval is one point.
        return low + float(np.average(np.clip(self.points, low, high) - low, weights=self.masses))

    def moved(self, shift: float, factor: float) -> Population:
        """The law of ``factor * X + shift``."""
        if shift == 0 and factor == 1:
            return self
        draw = self.draw
        return Population(
            self.name,
            self.points * factor + shift,
            self.masses,
            None if draw is None else lambda rng, n: draw(rng, n) * factor + shift,
            None if self.exact_mean is None else self.exact_mean * factor + shift,
            tuple((k, moment * abs(factor) ** k) for k, moment in self.exact_moments),
        )


def columns(folder: Path) -> Iterator[Population]:
    """Yield every one-column Parquet or CSV file of a folder, missing values left out."""
    import pyarrow.csv
    import pyarrow.parquet

    readers = {".parquet": pyarrow.parquet.read_table, ".csv": pyarrow.csv.read_csv}
    for path in sorted(folder.iterdir()):
        if path.suffix in readers:
            table = readers[path.suffix](path)
            if table.num_columns == 1:
                values = table.column(0).to_numpy().astype(np.float64)
                yield Population(path.stem, np.sort(values[np.isfinite(values)]))


def laws() -> list[Population]:
    """Return the synthetic populations."""
    return [
        _continuous("normal", stats.norm(), normal_moment),
        _continuous("t3", stats.t(3), lambda k: student_moment(3, k)),
        _continuous("t5", stats.t(5), lambda k: student_moment(5, k)),
        _continuous("Pareto 1.5", stats.pareto(1.5), lambda k: pareto_moment(1.5, k)),
        _continuous("Pareto 2.5", stats.pareto(2.5), lambda k: pareto_moment(2.5, k)),
        _continuous("lognormal 1", stats.lognorm(1), lambda k: lognormal_moment(1, k)),
        _continuous("lognormal 2", stats.lognorm(2), lambda k: lognormal_moment(2, k)),
        _continuous("exponential", stats.expon(), {2: 1.0, 4: 9.0}.__getitem__),
        _mixture("95% zeros", (0.95, None), (0.05, stats.lognorm(1))),
        _discrete("constant", [7.0], [1.0]),
        _discrete("two values", [0.0, 1.0], [0.7, 0.3]),
        _discrete("Poisson", range(40), stats.poisson(3).pmf(np.arange(40))),
        _mixture("outlier cluster", (0.999, stats.norm()), (0.001, stats.norm(1000, 1))),
    ]


@lru_cache(maxsize=4)
def populations(
    folder: Path | None, shift: float = 0.0, factor: float = 1.0
) -> dict[str, Population]:
    """Return the columns of a folder, or the synthetic laws, by name; every process has its own."""
    found = laws() if folder is None else columns(folder)
    return {population.name: population.moved(shift, factor) for population in found}


def _grid() -> tuple[Floats, Floats]:
    """Return levels in (0, 1) and their masses, dense in both tails."""
    tail = np.geomspace(1e-13, 1e-3, _TAIL)
    edges = np.concatenate([[0.0], tail, np.linspace(1e-3, 1 - 1e-3, _BULK)[1:-1]])
    upper = np.concatenate([[0.0], tail])  # levels counted from above
    levels = (edges[1:] + edges[:-1]) / 2
    return np.concatenate([levels, (upper[1:] + upper[:-1]) / 2]), np.concatenate(
        [np.diff(edges), np.diff(upper)]
    )


def _quantiles(law: Any) -> tuple[Floats, Floats]:
    levels, masses = _grid()
    lower = len(levels) - _TAIL
    points = np.concatenate([law.ppf(levels[:lower]), law.isf(levels[lower:])])
    return points, masses / masses.sum()


def _continuous(name: str, law: Any, moment: Callable[[int], float]) -> Population:
    points, masses = _quantiles(law)
    moments = tuple((k, moment(k)) for k in (2, 4))
    return Population(name, points, masses, _drawer(law), float(law.mean()), moments)


def _drawer(law: Any) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: np.asarray(law.rvs(n, random_state=rng), dtype=np.float64)


def _discrete(name: str, points: Iterable[float], masses: Iterable[float]) -> Population:
    values, weights = np.array(list(points), dtype=np.float64), np.array(list(masses))
    weights = weights / weights.sum()
    return Population(name, values, weights, lambda rng, n: rng.choice(values, n, p=weights))


def _mixture(name: str, *parts: tuple[float, Any]) -> Population:
    """Mix laws by weight; None stands for an atom at 0."""
    weights = np.array([weight for weight, _ in parts])
    pieces = [(np.zeros(1), np.ones(1)) if law is None else _quantiles(law) for _, law in parts]

    def draw(rng: np.random.Generator, n: int) -> Floats:
        sizes = rng.multinomial(n, weights)
        drawn = [
            np.zeros(size) if law is None else law.rvs(size, random_state=rng)
            for (_, law), size in zip(parts, sizes, strict=True)
        ]
        return rng.permutation(np.concatenate(drawn))

    return Population(
        name,
        np.concatenate([points for points, _ in pieces]),
        np.concatenate([w * masses for w, (_, masses) in zip(weights, pieces, strict=True)]),
        draw,
    )


class Oracle:
    """The least error of a clipped, noisy mean, if the clip points could be known.

    min over L < U of sqrt((E(L-X)+ + E(X-U)+)^2 + 2((U-L)/(n eps))^2 + Var(clip X)/n).
    """

    def __init__(self, population: Population) -> None:
        order = np.argsort(population.points, kind="stable")
        # Deviations from the median keep their digits when the law is far from 0.
        points = population.points[order]
        count = len(points)
        masses = (
            np.full(count, 1 / count) if population.masses is None else population.masses[order]
        )
        points = points - points[np.searchsorted(np.cumsum(masses), 0.5)]
        self._points = points
        self._sums = [
            np.concatenate([[0.0], np.cumsum(masses * points**power)]) for power in range(3)
        ]
        self._rmse = lru_cache(maxsize=None)(self._minimize)

    def rmse(self, n: int, epsilon: float) -> float:
        """Return the oracle's root mean squared error."""
        return self._rmse(n, epsilon)

    def _minimize(self, n: int, epsilon: float) -> float:
        count = len(self._points)
        steps = np.unique(np.geomspace(1, count, 160).astype(int)) - 1
        lows, highs = steps, count - 1 - steps
        for width in (16, 4, 1):
            errors = self._errors(lows[:, None], highs[None, :], n, epsilon)
            best = np.unravel_index(np.argmin(errors), errors.shape)
            low, high = int(lows[best[0]]), int(highs[best[1]])
            lows = _around(low, low * width // 64 + 8, count)
            highs = _around(high, (count - 1 - high) * width // 64 + 8, count)
        return float(errors.min())

    def _errors(self, lows: Any, highs: Any, n: int, epsilon: float) -> Floats:
        low, high = self._points[lows], self._points[highs]
        mass, first, second = self._sums
        below, above = mass[lows], mass[-1] - mass[highs + 1]
        inside = [total[highs + 1] - total[lows] for total in (first, second)]
        bias_low = low * below - first[lows]
        bias_high = (first[-1] - first[highs + 1]) - high * above
        mean = inside[0] + low * below + high * above
        variance = inside[1] + low**2 * below + high**2 * above - mean**2
        width = high - low
        squared = (bias_low + bias_high) ** 2 + 2 * (width / (n * epsilon)) ** 2
        squared += np.maximum(variance, 0.0) / n
        return np.where(width >= 0, np.sqrt(squared), np.inf)


def _around(index: int, radius: int, count: int) -> npt.NDArray[np.int64]:
    steps = np.linspace(index - radius, index + radius, 65).astype(np.int64)
    return np.unique(np.clip(np.append(steps, index), 0, count - 1))


def spread_out(
    run: Callable[[Task], Result], tasks: list[Task], jobs: int, title: str
) -> list[Result]:
    """Run the tasks on some processes, with a progress bar on a terminal."""
    return list(as_they_come(run, tasks, jobs, title))


def as_they_come(
    run: Callable[[Task], Result], tasks: list[Task], jobs: int, title: str
) -> Iterator[Result]:
    """Do the same, and yield each result in turn."""
    if jobs == 1:
        yield from (run(task) for task in track(tasks, title, console=Console(stderr=True)))
        return
    with ProcessPoolExecutor(jobs) as pool:
        results = pool.map(run, tasks)
        yield from track(results, title, total=len(tasks), console=Console(stderr=True))
