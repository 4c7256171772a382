"""Repeated trials: what is drawn, and how it is spread over processes.

An experiment is a table of cells. A cell draws records, releases some means of them and returns
the errors; it is repeated with fresh records, and every repetition has a generator of its own, so
the records do not depend on how many processes share the work. The noise of the releases is
secret and fresh, as always: two runs agree within their standard errors, not digit by digit.
"""

from __future__ import annotations

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

Rng: TypeAlias = "Generator"
Floats: TypeAlias = NDArray[np.float64]
Key = TypeVar("Key")
Effort = Literal["tiny", "quick", "full"]

#: The records of every run are drawn from this.
SEED = 20_200_221

Draw = Callable[[Rng], Sequence[float]]


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
