"""Estimators that go on in step: the questions of one round are read together.

An estimator of one group asks, concludes and asks again. Where the data are in a database or on a
cluster every question is a journey, and many groups would make many. Here each estimator runs in a
thread of its own and waits at its question until all others wait at theirs, or are done; then all
questions are read at once. Only one thread runs at a time, in the order of the groups, so that
nothing depends on how threads are scheduled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tametail.queries.query import Query

Result = TypeVar("Result")

#: How many estimators go on in step: each takes a thread.
MOST = 256


class Round:
    """Where one estimator waits for the answer to its question."""

    def __init__(self) -> None:
        self._turn, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self.query: Query[object] | None = None
        self.exact: object = None
        self.error: BaseException | None = None

    def read(self, query: Query[object]) -> object:
        """Hand in a question, wait for the round to be read, and return the exact answer."""
        self.query = query
        self._done.release()
        self._turn.acquire()
        if self.error is not None:
            raise self.error
        return self.exact

    def resume(self) -> None:
        """Let the estimator run until it asks again or is done."""
        self.query = None
        self._turn.release()
        self._done.acquire()

    def run(self, work: Callable[[], None]) -> None:
        """Run an estimator, from its first turn on."""
        self._turn.acquire()
        try:
            with np.errstate(all="ignore"):  # a thread does not know what its caller has set
                work()
        finally:
            self._done.release()


def run_in_step(
    count: int,
    work: Callable[[int, Round], Result],
    read: Callable[[list[int], list[Query[object]]], list[object]],
) -> list[Result]:
    """Return the results of ``work(place, round)`` for every place, in their order.

    ``read(places, queries)`` reads the questions of a round. If it raises, so does every estimator
    that waits, and the error is raised here.
    """
    results: dict[int, Result] = {}
    for first in range(0, count, MOST):
        places = range(first, min(first + MOST, count))
        _run_some(list(places), work, read, results)
    return [results[place] for place in range(count)]


def _run_some(
    places: list[int],
    work: Callable[[int, Round], Result],
    read: Callable[[list[int], list[Query[object]]], list[object]],
    results: dict[int, Result],
) -> None:
    rounds = {place: Round() for place in places}
    errors: dict[int, BaseException] = {}

    def run(place: int) -> None:
        def estimate() -> None:
            try:
                results[place] = work(place, rounds[place])
            except BaseException as error:
                errors[place] = error

        rounds[place].run(estimate)

    threads = [threading.Thread(target=run, args=(place,), daemon=True) for place in places]
    for thread in threads:
        thread.start()
    for place in places:
        rounds[place].resume()
    while waiting := [place for place in places if rounds[place].query is not None]:
        queries = [query for place in waiting if (query := rounds[place].query) is not None]
        try:
            for place, exact in zip(waiting, read(waiting, queries), strict=True):
                rounds[place].exact = exact
        except BaseException as error:
            for place in waiting:
                rounds[place].error = error
        for place in waiting:
            rounds[place].resume()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
