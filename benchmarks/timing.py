"""How much the running time of a release says about the records.

    python benchmarks/timing.py --runs 60

Data sets of one size take turns, so that the machine's moods fall on all alike. A row shows the
median CPU time of a release, the quartiles, and the shift against the first row in units of the
spread of one run (half the distance of the quartiles): how well a single stopwatch reading tells
the two apart. Neighbors must lie far below 1; data of another nature need not.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from rich.progress import track
from rich.table import Table

import tametail as tt
from _common import console


def data_sets(n: int) -> dict[str, dict[str, object]]:
    """Return neighbors of one data set, and data sets of another nature, as groups."""
    records = np.random.default_rng(1).lognormal(3, 1, n)
    neighbors: dict[str, object] = {"lognormal": records}
    for name, value in {"outlier": 1e300, "infinity": np.inf, "NaN": np.nan, "zero": 0.0}.items():
        changed = records.copy()
        changed[n // 2] = value
        neighbors[f"one record: {name}"] = changed
    neighbors["one record less"] = records[1:]
    natures: dict[str, object] = {
        "lognormal": records,
        "all equal": np.full(n, 7.0),
        "all missing": np.full(n, np.nan),
        "half missing": np.where(np.arange(n) % 2, records, np.nan),
        "two values": np.resize([1.0, 9.0], n),
        "infinities": np.resize([np.inf, -np.inf], n),
        "subnormal": records * 1e-315,
        "200 octaves": np.exp(np.random.default_rng(2).uniform(-70, 70, n)),
    }
    cells = records.tolist()
    lists: dict[str, object] = {
        "list of floats": cells,
        "one cell is a word": [*cells[:-1], "word"],
        "one cell is None": [*cells[:-1], None],
        "all cells are words": ["word"] * n,
    }
    return {"neighbors": neighbors, "other data": natures, "lists": lists}


def measure(data: dict[str, object], runs: int, title: str) -> dict[str, np.ndarray]:
    """Return the CPU times of releases in milliseconds, the data sets taking turns."""
    times: dict[str, list[float]] = {name: [] for name in data}
    for _ in track(range(runs + 1), title, transient=True):
        for name, records in data.items():
            start = time.process_time()
            tt.mean(records, epsilon=1)
            times[name].append(1e3 * (time.process_time() - start))
    return {name: np.array(taken[1:]) for name, taken in times.items()}  # the first warms up


def main() -> int:
    """Print a table for each group."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60, help="releases of each data set")
    parser.add_argument("--n", type=int, default=100_000, help="records")
    arguments = parser.parse_args()
    for title, data in data_sets(arguments.n).items():
        table = Table(
            "data", "median ms", "quartiles", "shift", title=f"{title}, n = {arguments.n:,}"
        )
        times = measure(data, arguments.runs, title)
        base: tuple[float, float] | None = None
        for name, taken in times.items():
            low, middle, high = np.quantile(taken, [0.25, 0.5, 0.75])
            base = base or (middle, max((high - low) / 2, 1e-9))
            shift = (middle - base[0]) / base[1]
            table.add_row(name, f"{middle:.1f}", f"{low:.1f} to {high:.1f}", f"{shift:+.2f}")
        console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
