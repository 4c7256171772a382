"""CPU time of ``tametail.mean`` over ``numpy.mean``, memory, small calls and the import.

    python benchmarks/speed.py

Times are the least of several runs in this process; the import is timed in processes of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

import tametail as tt
from _common import console


def cpu_seconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the least CPU time of a call, all threads together, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def peak_megabytes(call: Callable[[], Any]) -> float:
    """Return by how much memory grew at most during a call, as NumPy and Python report it."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (peak - before) / 2**20


def import_seconds(repeats: int) -> float:
    """Return the least time that ``import tametail`` adds to a bare interpreter."""

    def least(statement: str) -> float:
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    return least("import tametail") - least("pass")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=float, default=1e7)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    records = np.random.default_rng(1).lognormal(size=int(arguments.records))
    known: dict[str, Any] = {"tail": tt.Moment(2, 2.2), "within": 100.0}
    cases: dict[str, dict[str, Any]] = {
        "Moment and within": known,
        "Moment and within, no interval": {**known, "confidence": None},
        "nothing known": {},
        "nothing known, replace-one, no interval": {"unit": "replace-one", "confidence": None},
    }
    plain = cpu_seconds(lambda: np.mean(records), 2 * arguments.repeats)

    table = Table(
        title=f"{len(records):,} records of float64; numpy.mean takes {plain * 1e3:.1f} ms"
    )
    for column in ("tametail.mean", "CPU time", "over numpy.mean", "memory grows by"):
        table.add_column(column, justify="left" if column == "tametail.mean" else "right")
    for name, options in cases.items():

        def call(options: dict[str, Any] = options) -> Any:
            return tt.mean(records, epsilon=1, **options)

        seconds = cpu_seconds(call, arguments.repeats)
        memory = f"{peak_megabytes(call):.1f} MB"
        table.add_row(name, f"{seconds * 1e3:.0f} ms", f"{seconds / plain:.1f}", memory)
    console.print(table)

    few = records[:1000]
    small = cpu_seconds(lambda: tt.mean(few, epsilon=1), 10 * arguments.repeats)
    console.print(f"1,000 records, once warm: {small * 1e3:.1f} ms")
    console.print(f"import tametail: {import_seconds(arguments.repeats):.2f} s")


if __name__ == "__main__":
    main()
