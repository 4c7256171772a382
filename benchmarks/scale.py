"""What a private mean costs as the data grow, next to the plain mean of the same engine.

    python benchmarks/scale.py --rows 1000000 10000000 --engines memory parquet spark

The script writes lognormal records to a temporary folder. Every number comes from a process of its
own, so that peak memory is that of one job: `numpy.mean`, DuckDB's `avg` or Spark's `avg`, and
`tametail.mean` on the same data with nothing known and epsilon = 1. Times are seconds of CPU, the
best of the repeats. Linux only: the CPU time of Spark's JVM is read from /proc.

Parquet and Spark read the same file: one column, Snappy, row groups of a million. Spark (local[2])
is warmed up by one run of each, and reads the file anew each time for `avg` as for ours: nothing is
cached. (A frame in Spark's own cache is cheaper to read, so that the ratio would be larger.) The
engine "told" is Parquet with `Moment` and `within`.

Two more tables show how the cost grows with the number of columns (100,000 rows in memory, a delta;
beside `X.mean(axis=0)`) and of groups (a million rows in memory; beside NumPy's own sums by group).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

COLUMN = "amount"
BLOCK = 1_000_000


def main() -> None:
    """Print one row per engine and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--columns", type=int, nargs="*", default=[1, 4, 16, 64, 256, 768])
    parser.add_argument("--groups", type=int, nargs="*", default=[1, 10, 100, 1000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where to write the data (default: a temporary folder)")
    parser.add_argument("--job", help=argparse.SUPPRESS)  # a child: the name of what it measures
    arguments = parser.parse_args()
    if arguments.job:
        print(json.dumps(JOBS[arguments.job](arguments.folder, arguments.repeats)))
        return
    columns = (
        "engine",
        "rows",
        "plain (s)",
        "private (s)",
        "ratio",
        "passes",
        "peak (MB)",
        "growth",
    )
    table = Table(*columns, title="CPU time of a private mean over that of a plain one")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for rows in sorted(arguments.rows):
            path = str(Path(folder) / f"{rows}.parquet")
            write(path, rows)
            for engine in arguments.engines:
                table.add_row(*measure(engine, path, rows, arguments.repeats))
            Path(path).unlink()
    console = Console(width=110)
    console.print(table)
    for title, measured in (
        ("columns", by_columns(arguments.columns, arguments.repeats)),
        ("groups", by_groups(arguments.groups, arguments.repeats)),
    ):
        growing = Table(title, "plain (ms)", "private (ms)", "ratio", "growth")
        for cells in grown(measured):
            growing.add_row(*cells)
        console.print(growing)


Measured = list[tuple[int, float, float]]
"""How many there are of something, and the seconds of a plain mean and of a private one."""


def by_columns(numbers: list[int], repeats: int) -> Measured:
    """Measure matrices of 100,000 rows."""
    import tametail as tt

    found: Measured = []
    for dim in sorted(numbers):
        rows = np.random.default_rng(2).lognormal(size=(100_000, dim))
        plain = best(lambda rows=rows: rows.mean(axis=0), repeats)
        tt.mean(rows, epsilon=1, delta=1e-6)
        private = best(lambda rows=rows: tt.mean(rows, epsilon=1, delta=1e-6), repeats)
        found.append((dim, plain, private))
    return found


def by_groups(numbers: list[int], repeats: int) -> Measured:
    """Measure a frame of a million rows whose groups are equally large."""
    import pandas as pd

    import tametail as tt

    found: Measured = []
    for groups in sorted(numbers):
        rng = np.random.default_rng(3)
        values, keys = rng.lognormal(size=1_000_000), rng.integers(groups, size=1_000_000)
        frame, told = pd.DataFrame({"x": values, "key": keys}), list(range(groups))

        def plain(keys: np.ndarray = keys, values: np.ndarray = values) -> np.ndarray:
            return np.bincount(keys, values) / np.bincount(keys)

        def private(frame: object = frame, told: list[int] = told) -> object:
            return tt.mean(frame, "x", by="key", keys=told, epsilon=1)

        private()
        found.append((groups, best(plain, repeats), best(private, repeats)))
    return found


def grown(measured: Measured) -> list[list[str]]:
    """Return the cells of a table that shows how the cost grows."""
    rows, before = [], None
    for number, plain, private in measured:
        growth = ""
        if before is not None:
            fewer, less = before
            growth = f"^{np.log(private / less) / np.log(number / fewer):.2f}"
        before = number, private
        cells = f"{number:,}", f"{plain * 1e3:.1f}", f"{private * 1e3:.1f}"
        rows.append([*cells, f"{private / plain:.1f}", growth])
    return rows


def write(path: str, rows: int) -> None:
    """Write the records in blocks, so that this needs little memory too."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(rows)
    with pq.ParquetWriter(path, pa.schema([(COLUMN, pa.float64())])) as writer:
        for start in range(0, rows, BLOCK):
            block = rng.lognormal(3.0, 2.0, min(BLOCK, rows - start))
            writer.write_table(pa.table({COLUMN: block}))


_EARLIER: dict[str, tuple[int, float]] = {}


def measure(engine: str, path: str, rows: int, repeats: int) -> list[str]:
    """Return the cells of one row of the table."""
    plain, private = (child(job, path, repeats) for job in ENGINES[engine])
    seconds = private["cpu"]
    growth = ""
    if engine in _EARLIER:
        fewer, less = _EARLIER[engine]
        growth = f"n^{np.log(seconds / less) / np.log(rows / fewer):.2f}"
    _EARLIER[engine] = rows, seconds
    return [
        engine, f"{rows:,}", f"{plain['cpu']:.3f}", f"{seconds:.3f}",
        f"{seconds / plain['cpu']:.2f}", str(private["passes"]), f"{private['peak']:.0f}", growth,
    ]  # fmt: skip


def child(job: str, path: str, repeats: int) -> dict[str, float]:
    """Run one job in a process of its own."""
    command = [sys.executable, __file__, "--job", job, "--folder", path, "--repeats", str(repeats)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def own_cpu() -> float:
    return time.process_time()


def best(run: Callable[[], object], repeats: int, cpu: Callable[[], float] = own_cpu) -> float:
    """Return the least CPU time of the runs."""
    times = []
    for _ in range(repeats):
        start = cpu()
        run()
        times.append(cpu() - start)
    return min(times)


def report(cpu: float, passes: int = 1) -> dict[str, float]:
    """Return the figures of a job; peak resident memory is the kernel's own count."""
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return {"cpu": cpu, "passes": passes, "peak": peak / 1024}


class Passes:
    """Counts the passes over a file, by its progress."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, fraction: float) -> None:
        """Take note of the end of a pass."""
        self.count += fraction == 1.0


def in_memory(path: str) -> np.ndarray:
    import pyarrow.parquet as pq

    return pq.read_table(path)[COLUMN].to_numpy()


def numpy_mean(path: str, repeats: int) -> dict[str, float]:
    values = in_memory(path)
    return report(best(values.mean, repeats))


def private_memory(path: str, repeats: int) -> dict[str, float]:
    import tametail as tt

    values = in_memory(path)
    passes = private_parquet(path, 1)["passes"]  # the same kernel: the same passes
    return report(best(lambda: tt.mean(values, epsilon=1), repeats), int(passes))


def duckdb_mean(path: str, repeats: int) -> dict[str, float]:
    import duckdb

    query = f"select avg({COLUMN}) from read_parquet('{path}')"
    return report(best(lambda: duckdb.sql(query).fetchall(), repeats))


def private_parquet(path: str, repeats: int) -> dict[str, float]:
    import tametail as tt
    from tametail.engines.open import open_table
    from tametail.run import asking, run

    passes = Passes()
    engine = open_table(path, COLUMN, progress=passes)
    run(*asking(tt.plan(epsilon=1).with_names(engine.columns), engine))
    seconds = best(lambda: tt.mean(path, COLUMN, epsilon=1), repeats)
    return report(seconds, passes.count)


def told_parquet(path: str, repeats: int) -> dict[str, float]:
    import tametail as tt

    # The records' standard deviation is 1,090; their mean is 148.
    told = {"tail": tt.Moment(2, 1500.0), "within": (0.0, 10_000.0)}
    passes = private_parquet(path, 1)["passes"]
    return report(best(lambda: tt.mean(path, COLUMN, epsilon=1, **told), repeats), int(passes))


class Spark:
    """A session, and the CPU time of its JVM and of this process."""

    def __init__(self, path: str) -> None:
        from pyspark.sql import SparkSession

        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        settings |= {"spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
        self.session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        self.frame = self.session.read.parquet(path)
        self.process = self.session.sparkContext._jvm.java.lang.ProcessHandle.current().pid()

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK") + own_cpu()


def spark_mean(path: str, repeats: int) -> dict[str, float]:
    from pyspark.sql import functions as fn

    spark = Spark(path)

    def average() -> None:
        # A new frame each time: one that was collected keeps its shuffled result.
        spark.frame.agg(fn.avg(COLUMN)).collect()

    average()
    return report(best(average, repeats, spark.cpu))


def private_spark(path: str, repeats: int) -> dict[str, float]:
    import tametail as tt
    from tametail.engines.spark import column as engine
    from tametail.engines.spark import rows as spark_rows

    spark, jobs, collect = Spark(path), [], spark_rows.collect
    for module in (engine, spark_rows):
        module.collect = lambda frame: jobs.append(frame) or collect(frame)
    tt.mean(spark.frame, COLUMN, epsilon=1)
    passes = len(jobs) - 1  # the first counts the rows, and reads no column
    seconds = best(lambda: tt.mean(spark.frame, COLUMN, epsilon=1), repeats, spark.cpu)
    # Peak memory is this process only: that of the JVM is its heap setting, not its need.
    return report(seconds, passes)


JOBS = {
    job.__name__: job
    for job in (
        numpy_mean, private_memory, duckdb_mean, private_parquet, told_parquet, spark_mean,
        private_spark,
    )
}  # fmt: skip

ENGINES = {
    "memory": ("numpy_mean", "private_memory"),
    "parquet": ("duckdb_mean", "private_parquet"),
    "told": ("duckdb_mean", "told_parquet"),
    "spark": ("spark_mean", "private_spark"),
}

if __name__ == "__main__":
    main()
