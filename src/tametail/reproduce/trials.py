"""Repeated trials: what is drawn, how it is spread over processes, and what is concluded.

An experiment is a table of cells. A cell draws records, releases some means of them and returns
the errors; it is repeated with fresh records, and every repetition has a generator of its own, so
the records do not depend on how many processes share the work. The noise of the releases is
secret and fresh, as always: two runs agree within their standard errors, not digit by digit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import starmap
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numpy.random import Generator

    from tametail.reproduce.report import Section

Floats: TypeAlias = NDArray[np.float64]
Key = TypeVar("Key")
Effort = Literal["tiny", "quick", "full"]

#: The records of every run are drawn from this.
SEED = 20_200_221

#: A statement fails only if it is off by more than this many standard errors.
SLACK = 2.0

Draw = Callable[["Generator"], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One repetition returns a few errors; there are ``repeats`` of them."""

    draw: Draw
    repeats: int


class Numbers(TypedDict, total=False):
    """A budget as arguments of the theory."""

    epsilon: float
    delta: float
    rho: float


@dataclass(frozen=True, slots=True)
class Experiment(Generic[Key]):
    """Cells to run, and what follows from their errors: one row for each repetition."""

    title: str
    cells: Mapping[Key, Cell]
    conclude: Callable[[Mapping[Key, Floats]], Section]


@dataclass(frozen=True, slots=True)
class Measured:
    """An average error with its standard error."""

    value: float
    deviation: float

    def __str__(self) -> str:
        certain = self.deviation <= 1e-9 * abs(self.value)
        return f"{self.value:.3g}" if certain else f"{self.value:.3g} ± {self.deviation:.1g}"

    def __truediv__(self, divisor: float) -> Measured:
        return Measured(self.value / divisor, self.deviation / divisor)

    def may_be_at_least(self, bound: float) -> bool:
        """Say whether chance can explain it if the value is below the bound."""
        return self.value + SLACK * self.deviation >= bound


def root_mean_square(errors: Floats) -> Measured:
    """Return the root mean squared error; the rows are independent, errors in a row are not.

    >>> str(root_mean_square(np.array([[3.0, 4.0], [4.0, 3.0]])))
    '3.54'
    """
    squares = np.square(errors).mean(axis=1)
    value = math.sqrt(squares.mean())
    return Measured(value, _deviation(squares) / (2 * value) if value else 0.0)


def mean_absolute(errors: Floats) -> Measured:
    """Return the mean absolute error; the rows are independent.

    >>> mean_absolute(np.array([[1.0, -2.0], [3.0, -2.0]])).value
    2.0
    """
    sizes = np.abs(errors).mean(axis=1)
    return Measured(float(sizes.mean()), _deviation(sizes))


def _deviation(rows: Floats) -> float:
    return float(rows.std(ddof=1) / math.sqrt(len(rows))) if len(rows) > 1 else 0.0


def run_cells(
    experiments: Sequence[Experiment[Any]], workers: int, advance: Callable[[float], None]
) -> list[dict[Any, Floats]]:
    """Run all cells of all experiments, and call ``advance`` with the part that is done."""
    cells = [cell for experiment in experiments for cell in experiment.cells.values()]
    jobs = [
        (cell.draw, index, repeat)
        for index, cell in enumerate(cells)
        for repeat in range(cell.repeats)
    ]
    rows: list[list[Sequence[float]]] = [[] for _ in cells]
    for done, errors in enumerate(_results(jobs, workers)):
        rows[jobs[done][1]].append(errors)
        advance((done + 1) / len(jobs))
    found = map(np.array, rows)
    return [{key: next(found) for key in experiment.cells} for experiment in experiments]


def _results(jobs: Sequence[tuple[Draw, int, int]], workers: int) -> Iterator[Sequence[float]]:
    if workers == 1:
        yield from starmap(_once, jobs)
        return
    # Threads of BLAS would compete with the other process.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # A fresh interpreter: a fork would copy the thread that draws the progress bar.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_once, *zip(*jobs, strict=True))


def _once(draw: Draw, cell: int, repeat: int) -> Sequence[float]:
    return draw(np.random.default_rng([SEED, cell, repeat]))
