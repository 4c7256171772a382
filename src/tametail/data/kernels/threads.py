"""Long passes on several cores: each thread takes the next chunk, and their parts are merged.

The compiled loops, and most of NumPy, let other threads run meanwhile. Which thread takes in which
chunk is left to chance, and shows nowhere: accumulators add up integers, and every part of a
sample tosses coins of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from threading import Lock
from typing import TypeVar

import numpy as np

from tametail.data.kernels.accumulator import Accumulator, Floats
from tametail.errors import ParameterError

Part = TypeVar("Part", bound=Accumulator[object])

#: The environment variable that says how many threads a pass may take; without it, one per core.
VARIABLE = "TAMETAIL_THREADS"


def threads() -> int:
    """Return how many threads a pass may take.

    >>> threads() >= 1
    True
    """
    given = os.environ.get(VARIABLE)
    if given is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _cores()
    if not given.isdecimal() or int(given) < 1:
        raise ParameterError(
            f"Invalid {VARIABLE}. Use an integer, 1 or larger, such as {VARIABLE}=2."
        )
    return int(given)


def _cores() -> int:
    return os.cpu_count() or 1


def add_in_threads(
    accumulator: Part, chunks: Iterator[Floats], begin: Callable[[], Part], most: int
) -> None:
    """Add all chunks to the accumulator, on up to so many threads; ``begin`` makes another one."""
    lock = Lock()

    def take() -> Floats | None:
        with lock:
            return next(chunks, None)

    def work(part: Part, chunk: Floats | None) -> None:
        with np.errstate(all="ignore"):  # a thread does not know what its caller has set
            while chunk is not None:
                part.add(chunk)
                chunk = take()

    first = take()
    if first is None or most < 2:
        work(accumulator, first)
        return
    from concurrent.futures import ThreadPoolExecutor

    others = [begin() for _ in range(most - 1)]
    with ThreadPoolExecutor(len(others)) as pool:
        running = [pool.submit(work, part, take()) for part in others]
        work(accumulator, first)
        for done in running:
            done.result()
    for part in others:
        accumulator.merge(part)
