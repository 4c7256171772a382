"""CPU time of ``tametail.mean`` over that of the plain mean: columns, vectors, imports.

    python benchmarks/speed.py                        all rows of docs/evidence/performance.md
    python benchmarks/speed.py --beside OTHER/src     the same, beside another version
    python benchmarks/speed.py --quick                a tenth of the records
    python benchmarks/speed.py --large                100,000,000 records, too

Times are CPU times of all threads, the least of several runs that take turns with the plain mean in
one process; every version has a process of its own. The import is timed in processes of its own,
without what NumPy takes. Files and Spark are measured by `benchmarks/scale.py`, each job in a
process of its own, beside DuckDB's and Spark's `avg`. A pass may take all cores; CPU time counts
them all. The table is Markdown, for that document.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import scale

#: What a row may be at most, by how its name begins: times the plain mean, or milliseconds.
REQUIRED = {
    "10,000,000 records, nothing": ("ratio", 5),
    "10,000,000 records, Moment": ("ratio", 5),
    "10,000,000 records, no compiler": ("ratio", 25),
    "1,000 records": ("ms", 5),
    "vectors, 1,000,000 x 50": ("ratio", 5),
    "vectors, 100,000 x 768": ("ratio", 12),
    "import": ("ms", 30),
    "in memory, over numpy.mean, 100,000,000": ("ratio", 3),
    "Parquet, over DuckDB's avg, 100,000,000": ("ratio", 2.2),
    "Spark, over Spark's avg, 20,000,000": ("ratio", 5.5),
}

#: The engines of benchmarks/scale.py, and what stands beside them.
ANCHORS = {
    "memory": "in memory, over numpy.mean",
    "parquet": "Parquet, over DuckDB's avg",
    "spark": "Spark, over Spark's avg",
}

#: What is written after a number.
UNITS = {"ratio": "", "ms": " ms", "plain": " ms", "MB": " MB"}

#: For every row of the table: ratio, milliseconds, those of the plain mean, megabytes.
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


def numbers(taken: float, plain: float) -> dict[str, float]:
    """Return the numbers of a row from two times in seconds."""
    return {"ratio": taken / plain, "ms": taken * 1e3, "plain": plain * 1e3}


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
    for name in ("tametail.data.kernels.native", "tametail.data.native"):
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
        found[name] = numbers(taken, plain) | {"MB": peak_megabytes(call)}

    records = np.random.default_rng(1).lognormal(size=int(1e7 * scale))
    many = f"{len(records):,} records"
    row(f"{many}, nothing known", records)
    row(f"{many}, Moment and within", records, tail=tt.Moment(2, 2.2), within=100.0)
    row(f"{many}, replace-one, no interval", records, neighbors="replace-one", confidence=None)
    row("1,000 records", records[:1000], runs=10 * repeats)
    row("100,000 records", records[:100_000], runs=5 * repeats)
    restore = without_compiled_loops()
    row(f"{many}, no compiler", records)
    restore()
    del records
    for size, n_columns in ((10**6, 50), (10**5, 768)):
        rows = np.random.default_rng(2).lognormal(size=(int(size * scale), n_columns))
        row(f"vectors, {len(rows):,} x {n_columns}", rows, axis=0, runs=2, delta=1e-6)
    found["import, beyond NumPy's"] = {"ms": import_seconds(repeats) * 1e3}
    return found


def measure_files(sizes: dict[str, list[int]], repeats: int) -> Numbers:
    """Measure files, Spark and large arrays: the anchor, then this version, in turn."""
    found: Numbers = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in sorted({size for some in sizes.values() for size in some}):
            path = str(Path(folder) / f"{size}.parquet")
            scale.write(path, size)
            for engine in (name for name, some in sizes.items() if size in some):
                plain, private = (scale.child(job, path, repeats) for job in scale.ENGINES[engine])
                name = f"{ANCHORS[engine]}, {size:,} records"
                found[name] = numbers(private["cpu"], plain["cpu"])
            Path(path).unlink()
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
    """Print the versions side by side, as Markdown; what is above its limit is in bold."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    version = importlib.import_module("tametail").__version__
    print(f"version {version}, {datetime.now(UTC):%Y-%m-%d}, load {load:.0f} at the end\n")
    head = ["`tametail.mean`"]
    for name in versions:
        head += [name, "CPU time"]
    head += ["required", "plain mean", "memory grows by"]
    print(line(head), line(["---"] * len(head)), sep="\n")
    for row, first in next(iter(versions.values())).items():
        limit = next((most for start, most in REQUIRED.items() if row.startswith(start)), None)
        cells = [row]
        for found in versions.values():
            cells += [cell(found.get(row, {}), what, limit) for what in ("ratio", "ms")]
        required = "" if limit is None else f"{limit[1]}{UNITS[limit[0]]}"
        print(line([*cells, required, cell(first, "plain"), cell(first, "MB")]))


def line(cells: list[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def cell(found: dict[str, float], what: str, limit: tuple[str, float] | None = None) -> str:
    """Return a number as text, in bold if it is above its limit; nothing if there is none."""
    if what not in found:
        return ""
    number = found[what]
    text = f"{number:,.0f}" if number >= 100 else f"{number:.1f}"
    text += UNITS[what]
    return f"**{text}**" if limit is not None and limit[0] == what and number > limit[1] else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--beside", type=Path, help="the sources of another version")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument("--large", action="store_true", help="100,000,000 records, too")
    parser.add_argument("--json", action="store_true", help="print the numbers of this process")
    arguments = parser.parse_args()
    if arguments.json:
        found = measure(0.1 if arguments.quick else 1.0, arguments.repeats)
        print(json.dumps(found))
        return
    options = [f"--repeats={arguments.repeats}", *(["--quick"] if arguments.quick else [])]
    versions = {"this version": measured_at(None, options)}
    many = 10**6 if arguments.quick else 10**7
    sizes = {"parquet": [many], "spark": [2 * many]}
    if arguments.large:
        sizes["memory"], sizes["parquet"] = [10**8], [many, 10**8]
    versions["this version"] |= measure_files(sizes, arguments.repeats)
    if arguments.beside is not None:
        versions["beside it"] = measured_at(arguments.beside, options)
    show(versions)


if __name__ == "__main__":
    main()
