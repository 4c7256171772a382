"""Repeated trials: what is drawn, how it is spread over processes, and what is concluded.

An experiment is a table of cells. A cell draws records, releases some means of them and returns
the errors; it is repeated with fresh records, and every repetition has a generator of its own, so
the records do not depend on how many processes share the work. The noise of the releases is
secret and fresh, as always: two runs agree within their standard errors, not digit by digit.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Generator as Yielding
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import starmap
from multiprocessing import active_children, get_context
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

    def fixed(self, digits: int) -> str:
        """Return the value and its standard error with as many decimals.

        >>> Measured(-0.5, 0.012).fixed(3), Measured(-0.5, 0.0).fixed(3)
        ('-0.500 ± 0.012', '-0.500')
        """
        shown = f"{self.value:.{digits}f}"
        return f"{shown} ± {self.deviation:.{digits}f}" if self.deviation else shown

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


def mean_absolute(errors: Floats, resolution: float = 1.0) -> Measured:
    """Return the mean absolute error; the rows are independent.

    What was found by bisection, up to the factor ``resolution``, is no better known than that.

    >>> mean_absolute(np.array([[1.0, -2.0], [3.0, -2.0]])).value
    2.0
    """
    sizes = np.abs(errors).mean(axis=1)
    value = float(sizes.mean())
    step = value * math.log(resolution) / math.sqrt(12)
    return Measured(value, math.hypot(_deviation(sizes), step))


def bisected(errors: Mapping[Key, Floats], resolution: float) -> dict[Key, Measured]:
    """Return the mean of what some bisections found, for each cell.

    A few may agree by chance, so none is taken to be better known than all cells together say.

    >>> lucky, other = np.array([[8.0], [8.0]]), np.array([[6.0], [9.0]])
    >>> found = bisected({"lucky": lucky, "other": other}, 1.01)
    >>> round(found["lucky"].deviation, 2), found["other"].deviation > 1
    (1.13, True)
    """
    found = {key: mean_absolute(rows, resolution) for key, rows in errors.items()}
    several = [rows for rows in errors.values() if len(rows) > 1]
    squares = [float(rows.var(ddof=1)) / float(rows.mean()) ** 2 for rows in several]
    weights = [len(rows) - 1 for rows in several]
    spread = math.sqrt(np.average(squares, weights=weights)) if several else 0.0
    return {
        key: Measured(
            one.value, max(one.deviation, one.value * spread / math.sqrt(len(errors[key])))
        )
        for key, one in found.items()
    }


def _deviation(rows: Floats) -> float:
    """Return the standard error; of few rows wider, by Student's t, so that two mean the same."""
    from scipy.special import stdtrit

    if len(rows) < 2:
        return 0.0
    widened = stdtrit(len(rows) - 1, 0.975) / stdtrit(1e9, 0.975)
    return float(widened * rows.std(ddof=1) / math.sqrt(len(rows)))


def least(
    fails: Callable[[int], bool], low: float, high: float, *, runs: int, share: float, close: float
) -> float:
    """Bisect, in logarithms, for the n at which a share of the runs fails, up to a factor.

    At ``high`` fewer fail, at ``low`` more. A series of runs ends when too many have failed.

    >>> 90 < least(lambda n: n < 100, 1, 1000, runs=5, share=0.2, close=1.1) < 110
    True
    """
    while high / low > close:
        n = round(math.sqrt(low * high))
        low, high = (n, high) if too_many(fails, n, runs, share) else (low, n)
    return math.sqrt(low * high)


def too_many(fails: Callable[[int], bool], n: int, runs: int, share: float) -> bool:
    """Say whether more than a share of the runs with n records fails."""
    failed = 0
    for _ in range(runs):
        failed += fails(n)
        if failed > share * runs:
            return True
    return False


def run_cells(
    experiments: Sequence[Experiment[Any]], workers: int, advance: Callable[[float], None]
) -> Iterator[dict[Any, Floats]]:
    """Yield the errors of each experiment as soon as all of its cells have run.

    ``advance`` is called with the part of all repetitions that is done.
    """
    cells = [cell for experiment in experiments for cell in experiment.cells.values()]
    jobs = [
        (cell.draw, index, repeat)
        for index, cell in enumerate(cells)
        for repeat in range(cell.repeats)
    ]
    done = 0
    # Closed here, and not whenever the garbage is collected: that ends the other processes.
    with closing(_results(jobs, workers)) as results:
        for experiment in experiments:
            found = {}
            for key, cell in experiment.cells.items():
                rows = []
                for _ in range(cell.repeats):
                    rows.append(next(results))
                    done += 1
                    advance(done / len(jobs))
                found[key] = np.array(rows)
            yield found


#: Seconds that a process has to end by itself.
_PATIENCE = 2.0


def _results(
    jobs: Sequence[tuple[Draw, int, int]], workers: int
) -> Yielding[Sequence[float], None, None]:
    if workers == 1:
        yield from starmap(_once, jobs)
        return
    # Threads of BLAS would compete with the other process.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    others = set(active_children())
    # A fresh interpreter: a fork would copy the thread that draws the progress bar.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        with _interrupts_are_left_to_this_process():
            waiting = deque(pool.submit(_once, *job) for job in jobs)
        while waiting:
            yield waiting.popleft().result()
        pool.shutdown()
    except BaseException:  # interrupted, or nobody listens any more
        pool.shutdown(wait=False, cancel_futures=True)
        left = set(active_children()) - others
        for child in left:
            child.terminate()
        for child in left:
            child.join(_PATIENCE)
            child.kill()  # one that is starting may miss the first signal
            child.join(_PATIENCE)
        raise


@contextmanager
def _interrupts_are_left_to_this_process() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all: this one ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _once(draw: Draw, cell: int, repeat: int) -> Sequence[float]:
    return draw(np.random.default_rng([SEED, cell, repeat]))
