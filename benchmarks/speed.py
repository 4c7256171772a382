"""CPU time of ``tametail.mean`` over that of the plain mean: columns, vectors, imports.

    python benchmarks/speed.py                        all rows of docs/performance.md but files
    python benchmarks/speed.py --beside OTHER/src     the same, beside another version
    python benchmarks/speed.py --quick                a tenth of the records

Times are CPU times of all threads, the least of several runs that take turns with the plain mean in
one process; every version has a process of its own. The import is timed in processes of its own,
without what NumPy takes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from _common import console

#: For every row of the table: ratio, milliseconds, megabytes.
Numbers = dict[str, dict[str, float]]


def least(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the least CPU time of each call; they take turns, after one round to warm up."""
    best = [float("inf")] * len(calls)
    for number in range(repeats + 1):
        for place, call in enumerate(calls):
            start = time.process_time()
            call()
            if number:
                best[place] = min(best[place], time.process_time() - start)
    return best


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
    """Return the least CPU time that ``import tametail`` adds to that of NumPy."""

    def seconds(statement: str) -> float:
        program = f"{statement}; import time; print(time.process_time())"
        runs = (
            subprocess.run(
                [sys.executable, "-c", program], check=True, capture_output=True, text=True
            )
            for _ in range(repeats)
        )
        return min(float(run.stdout) for run in runs)

    return seconds("import numpy, tametail") - seconds("import numpy")


def without_compiled_loops() -> Callable[[], None]:
    """Leave the work to NumPy; return what takes that back. Earlier versions kept it elsewhere."""
    for name in ("tametail.engines.kernels.native", "tametail.engines.native"):
        try:
            native: Any = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        library, native.library = native.library, lambda: None
        return lambda: setattr(native, "library", library)
    raise ModuleNotFoundError("tametail has no compiled loops")


def measure(scale: float, repeats: int) -> Numbers:
    """Measure the version that is imported."""
    tt: Any = importlib.import_module("tametail")
    found: Numbers = {}

    def row(
        name: str, data: Any, axis: int | None = None, runs: int = repeats, **said: Any
    ) -> None:
        def call() -> Any:
            return tt.mean(data, **{"epsilon": 1, **said})

        taken, plain = least([call, lambda: np.mean(data, axis=axis)], runs)
        found[name] = {"ratio": taken / plain, "ms": taken * 1e3, "MB": peak_megabytes(call)}

    records = np.random.default_rng(1).lognormal(size=int(1e7 * scale))
    many = f"{len(records):,} records"
    row(f"{many}, nothing known", records)
    row(f"{many}, Moment and within", records, tail=tt.Moment(2, 2.2), within=100.0)
    row(f"{many}, replace-one, no interval", records, unit="replace-one", confidence=None)
    row("1,000 records", records[:1000], runs=10 * repeats)
    row("100,000 records", records[:100_000], runs=5 * repeats)
    restore = without_compiled_loops()
    row(f"{many}, no compiler", records)
    restore()
    del records
    for size, dim in ((10**6, 50), (10**5, 768)):
        rows = np.random.default_rng(2).lognormal(size=(int(size * scale), dim))
        row(f"vectors, {len(rows):,} x {dim}", rows, axis=0, runs=2, delta=1e-6)
    found["import, beyond NumPy's"] = {"ms": import_seconds(repeats) * 1e3}
    return found


def measured_at(path: Path | None, options: list[str]) -> Numbers:
    """Measure a version in a process of its own."""
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, __file__, "--json", *options],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    found: Numbers = json.loads(done.stdout)
    return found


def show(versions: dict[str, Numbers]) -> None:
    """Print the versions side by side."""
    table = Table(title="CPU time over numpy.mean of the same data; milliseconds; memory grows by")
    table.add_column("tametail.mean")
    for name in versions:
        table.add_column(name, justify="right")
    for row in next(iter(versions.values())):
        cells = []
        for found in versions.values():
            numbers = found[row]
            parts = [f"{numbers['ratio']:.1f}"] if "ratio" in numbers else []
            parts += [f"{numbers['ms']:.1f} ms"]
            parts += [f"{numbers['MB']:.1f} MB"] if "MB" in numbers else []
            cells.append("   ".join(parts))
        table.add_row(row, *cells)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--beside", type=Path, help="the sources of another version")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument("--json", action="store_true", help="print the numbers of this process")
    arguments = parser.parse_args()
    if arguments.json:
        found = measure(0.1 if arguments.quick else 1.0, arguments.repeats)
        print(json.dumps(found))
        return
    options = [f"--repeats={arguments.repeats}", *(["--quick"] if arguments.quick else [])]
    versions = {"this version": measured_at(None, options)}
    if arguments.beside is not None:
        versions["beside it"] = measured_at(arguments.beside, options)
    show(versions)


if __name__ == "__main__":
    main()
