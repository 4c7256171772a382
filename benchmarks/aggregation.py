"""Totals of persons and means by group: equal integers in all engines, speed, and little memory.

    python benchmarks/aggregation.py                   # all of it; about 5 minutes
    python benchmarks/aggregation.py same --rows 1000000
    python benchmarks/aggregation.py speed memory groups

same: the totals of the same hostile records (random bits, infinities, NaN, subnormals, missing
ids) from frames, files, a database and Spark, in orders and chunks of their own, compared as
multisets of doubles, bit by bit. speed: 2e7 rows with 2.4 million integer ids. memory: a Parquet
file three times as large as all the memory that the process may take beyond what it has after
import (RLIMIT_AS), with a person for every eighth row. groups: many small groups, and 1e5 keys.

Times are seconds of CPU, each part in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

Sizes = dict[str, float]

ROWS = 20_000_000
PERSONS = 2_400_000


def main() -> None:
    """Print what each part found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=list(PARTS), help="all, if none is named")
    parser.add_argument("--n-records", type=int, default=1_000_000, help="for same")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        if arguments.here:
            print(json.dumps(PARTS[part](arguments.rows)))
        else:
            command = [sys.executable, __file__, part, "--n-records", str(arguments.rows), "--here"]
            found = subprocess.run(command, check=True, capture_output=True, text=True)
            for what, value in json.loads(found.stdout.splitlines()[-1]).items():
                print(f"{part:8} {what:58} {value:14,.2f}")


# --- equal integers


def hostile(rows: int, seed: int = 3) -> pa.Table:
    """Return records of every kind, of persons with integer ids, text ids and no id."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 64, rows, dtype=np.uint64).view(np.float64)
    x = np.where(rng.random(rows) < 0.3, bits, rng.normal(100, 50, rows).round(2))
    edges = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 0.1, 1e300, math.inf, -math.inf, math.nan]
    chosen = rng.random(rows) < 0.1
    x[chosen] = rng.choice(edges, int(chosen.sum()))
    x = np.where(np.isnan(x), np.nan, x)  # of all bits that are no number, one
    number = rng.zipf(1.3, rows) % (rows // 8 + 2) + 2**53
    missing = rng.random(rows) < 0.05
    names = np.array(["Müller", "Möller", "müller", "M\u0075\u0308ller"])[number % 4]
    text = np.char.add(np.char.add(names, " "), (number // 4).astype(str))
    return pa.table(
        {
            "number": pa.array(number, mask=missing),
            "name": pa.array(text, mask=missing),
            "x": pa.array(x),
        }
    )


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    """Return the rows in another order."""
    return table.take(pa.array(np.random.default_rng(seed).permutation(len(table))))


def totals(data: object, person: str, **said: str) -> list[list[object]]:
    """Return T(D): sums and numbers of records, as multisets of doubles by their bits."""
    from tametail.data.open import open_data
    from tametail.data.relation import Relation
    from tametail.queries.column import Median
    from tametail.queries.persons import PersonResidual, PersonRows

    everybody = Median(0, -math.inf, math.inf)
    backend = open_data(data, "x", Relation((), person=(person,)), **said)
    views = (PersonResidual(0.0), PersonResidual(0.1), PersonRows())
    persons = [backend.on(backend.relation.per_person(view)) for view in views]
    return [[part.tolist() for part in each.answer(everybody)] for each in persons]


def sources(table: pa.Table, folder: Path, *, spark: bool) -> Iterator[tuple[str, object, Sizes]]:
    """Yield the same records as each engine takes them, in orders of their own."""
    yield "pandas", shuffled(table, 1).to_pandas(types_mapper=_nullable), {}
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        yield "polars", pl.from_arrow(shuffled(table, 2)), {}
    pq.write_table(shuffled(table, 3), folder / "a.parquet", row_group_size=len(table) // 7 + 1)
    yield "parquet, seven groups of rows", str(folder / "a.parquet"), {}
    text = table.set_column(0, "number", table["number"].cast(pa.string()))
    pa.csv.write_csv(shuffled(text, 4), folder / "a.csv")
    yield "csv", str(folder / "a.csv"), {}
    try:
        import duckdb
    except ImportError:
        pass
    else:
        connection, rows = duckdb.connect(), shuffled(table, 5)
        connection.register("rows", rows)
        connection.execute("CREATE TABLE claims AS SELECT * FROM rows")
        yield "duckdb", connection, {"table": "claims"}
    if spark:
        yield "spark, three partitions", _spark(str(folder / "a.parquet")), {}


def _nullable(kind: pa.DataType) -> object:
    import pandas as pd

    return pd.Int64Dtype() if pa.types.is_int64(kind) else None


def _spark(path: str) -> object:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "3g")
    builder = builder.config("spark.sql.shuffle.partitions", 8)
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    return builder.getOrCreate().read.parquet(path).repartition(3)


def same(rows: int, *, spark: bool = True) -> Sizes:
    """Compare all engines with a table of Arrow; anything that differs ends this."""
    table = hostile(rows)
    found: Sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        for person in ("number", "name"):
            expected = totals(table, person)
            found[f"persons by {person}"] = float(np.sum(expected[2][1]))
            for name, data, said in sources(table, Path(folder), spark=spark and person == "name"):
                if totals(data, person, **said) != expected:
                    raise SystemExit(f"{name}: the totals by {person} differ")
                found[f"{name}: equal by {person}"] = 1
            path = str(Path(folder) / "a.parquet")
            for name, changed in changes():
                with changed:
                    if totals(path, person) != expected:
                        raise SystemExit(f"{name}: the totals by {person} differ")
                found[f"{name}: equal by {person}"] = 1
    return found


def changes() -> list[tuple[str, AbstractContextManager[object]]]:
    """Return what must not change totals: hardly any memory, and loops of NumPy alone."""
    from tametail.data.kernels import native, plain

    return [
        ("parquet, 100 kB of memory", mock.patch.dict(os.environ, TAMETAIL_MEMORY="100KB")),
        (
            "parquet, without the compiled loops",
            mock.patch.multiple(native, library=lambda: None, loops=lambda: plain),
        ),
    ]


# --- speed


def cpu(job: Callable[[], object], repeats: int = 1) -> float:
    """Return the least seconds of CPU."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return best


def speed(_: int) -> Sizes:
    """Aggregate 2e7 rows with integer ids, in memory and from a file."""
    import tametail as tt
    from tametail.data.open import open_data
    from tametail.data.relation import Relation

    rng = np.random.default_rng(1)
    ids = rng.integers(0, PERSONS, ROWS) * 1_000_003
    table = pa.table({"who": ids, "x": rng.lognormal(3, 2, ROWS).round(2)})
    tt.mean(table.slice(0, 10_000), "x", epsilon=1, person="who")

    def aggregate(data: object) -> object:
        return open_data(data, "x", Relation((), person=("who",))).size

    found = {
        "rows": float(ROWS),
        "persons": float(PERSONS),
        "Arrow's own group_by, float sums (s)": cpu(
            lambda: table.group_by("who").aggregate([("x", "sum"), ("x", "count")])
        ),
        "totals, in memory (s)": cpu(lambda: aggregate(table), 3),
        "mean(person=), in memory (s)": cpu(lambda: tt.mean(table, "x", epsilon=1, person="who")),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a.parquet")
        pq.write_table(table, path)
        found["totals, Parquet (s)"] = cpu(lambda: aggregate(path))
    return found


# --- little memory


def memory(_: int) -> Sizes:
    """Aggregate a file three times as large as what memory may grow by."""
    import tametail as tt

    rows, person, limit = 24_000_000, 8, 120 << 20
    block = 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a.parquet")
        schema = pa.schema({"who": pa.int64(), "x": pa.float64()})
        with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
            for seed in range(rows // block):
                rng = np.random.default_rng(seed)
                ids = rng.integers(0, rows // person, block) * 1_000_003
                writer.write_table(pa.table({"who": ids, "x": rng.lognormal(3, 2, block)}))
        small = pa.table({"who": ["a", "b"] * 500, "x": [1.0] * 1_000})
        tt.mean(small, "x", epsilon=1, person="who")  # imports, threads, and their stacks
        size = Path(path).stat().st_size
        with mock.patch.dict(os.environ, TAMETAIL_MEMORY="32MB"):
            before = _address_space()
            resource.setrlimit(resource.RLIMIT_AS, (before + limit, resource.RLIM_INFINITY))
            start = time.process_time()
            release = tt.mean(path, "x", epsilon=1, person="who")
            spent = time.process_time() - start
    truth = math.exp(3 + 2**2 / 2)
    return {
        "rows": float(rows),
        "size of the file (MB)": size / 1e6,
        "memory that the process may take beside (MB)": limit / 1e6,
        "size over memory": size / limit,
        "mean(person=) (s)": spent,
        "mean over the true one": float(release) / truth,
    }


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


# --- groups


def groups(_: int) -> Sizes:
    """Measure small groups a second, and 1e5 keys."""
    import pandas as pd

    import tametail as tt

    found: Sizes = {}
    for count, rows in ((2_000, 200_000), (20_000, 2_000_000), (100_000, 2_000_000)):
        rng = np.random.default_rng(count)
        frame = pd.DataFrame({"x": rng.lognormal(size=rows), "key": rng.integers(count, size=rows)})
        keys = list(range(count))
        tt.mean(frame.head(1000), "x", by="key", keys=keys[:10], epsilon=1)

        def job(frame: object = frame, keys: list[int] = keys) -> object:
            return tt.mean(frame, "x", by="key", keys=keys, epsilon=1)

        spent = cpu(job)
        found[f"{count:,} keys, {rows // count} rows each (s)"] = spent
        found[f"{count:,} keys: groups a second"] = count / spent
    return found


PARTS: dict[str, Callable[[int], Sizes]] = {
    "same": same,
    "speed": speed,
    "memory": memory,
    "groups": groups,
}


if __name__ == "__main__":
    main()
