"""Where the time of the tests goes: CPU seconds by file, with those of the programs they start.

    pytest -p tests.times tests/backends                      the slowest files and tests at the end
    TAMETAIL_TEST_TIMES=FILE pytest -p tests.times -n auto    and lines of CPU seconds and ids

Wall times say how busy a machine was; CPU seconds compare from day to day. A PostgreSQL server is
no program of the tests' own, so that its seconds are not in here.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

SHOWN = 40
SPENT = "cpu_seconds"
TICKS = os.sysconf("SC_CLK_TCK")

_seconds: Counter[str] = Counter()


def spent() -> float:
    """Return the CPU seconds of this process, of programs that ended and of those that run."""
    times = os.times()
    ended = times.children_user + times.children_system
    return time.process_time() + ended + sum(map(_running, _children("self")))


def _running(program: str) -> float:
    """Return the CPU seconds of a program, and of those that it started, as Linux counts them."""
    try:
        fields = Path("/proc", program, "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(map(_running, _children(program)))


def _children(program: str) -> list[str]:
    found: list[str] = []
    for file in Path("/proc", program, "task").glob("*/children"):
        with suppress(OSError):
            found += file.read_text().split()
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Measure a test, with the fixtures that it is the first to need."""
    start = spent()
    try:
        return (yield)
    finally:
        seconds = spent() - start
        _seconds[item.nodeid] += seconds
        name = os.environ.get("TAMETAIL_TEST_TIMES")
        if name:
            with open(name, "a", encoding="utf-8") as file:
                print(f"{seconds:.3f}\t{item.nodeid}", file=file)


def pytest_terminal_summary(terminalreporter):
    """Print the slowest files and tests of this process."""
    files: Counter[str] = Counter()
    for test, seconds in _seconds.items():
        files[test.partition("::")[0]] += seconds
    for kind, counted in (("files", files), ("tests", _seconds)):
        terminalreporter.section(f"CPU seconds: {sum(counted.values()):.0f}, slowest {kind}")
        for name, seconds in counted.most_common(SHOWN):
            terminalreporter.write_line(f"{seconds:8.2f} {name}")
