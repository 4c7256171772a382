"""A source of randomness for tests: seeded by the test's own id, so that every run is the same."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tametail import randomness
from tametail.testing.source import SeededSource

#: Another seed for all tests: ``make chance`` draws it anew, to see what hangs on luck.
ROUND = os.environ.get("TAMETAIL_TEST_SEED", "")

THREADS = "TAMETAIL_THREADS"


@contextmanager
def seeded(name: str) -> Iterator[None]:
    """Draw everything from a generator that a name seeds."""
    source, threads = SeededSource(f"{ROUND}{name}"), os.environ.get(THREADS)
    # Threads of one pass would draw in an order of their own; tests of threads say how many.
    os.environ[THREADS] = "1"
    try:
        with patch.object(randomness, "_source", source):
            yield
    finally:
        os.environ.pop(THREADS, None)  # a test may have taken it away
        os.environ.update({} if threads is None else {THREADS: threads})


def seeded_program(name: str, *command: object) -> dict[str, Any]:
    """Return what ``subprocess`` takes to run a program of Python that a name seeds, too.

    A test whose result depends on what a program draws runs it so; ``command`` is what Python would
    be called with.
    """
    # The caller's own path stays: it names the copy of the package that is tested.
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    given = {"args": [sys.executable, "-m", "tests.seeded", name, *map(str, command)]}
    return given | {"env": os.environ | {"PYTHONPATH": path.rstrip(os.pathsep)}, "text": True}


class UnseededSource:
    """Stands where no test is known whose id would be the seed: it refuses to draw."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what collects doctests looks for such names
            raise AttributeError(name)
        raise AssertionError("Drawn outside of a test: draw in the test itself or in a fixture.")


def main() -> None:
    """Run a module or a file as Python would, with a seeded source."""
    _, name, *command = sys.argv
    with seeded(name):
        if command[0] == "-m":
            sys.argv = command[1:]
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = command
            runpy.run_path(command[0], run_name="__main__")


if __name__ == "__main__":
    main()
