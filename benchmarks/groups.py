"""Error of means by group, as shipped, over that of an oracle, by the size of the groups.

    python benchmarks/groups.py                       # synthetic groups
    python benchmarks/groups.py --data DIR            # flights and baseball too
    python benchmarks/groups.py --alone --draws 16    # and each group alone, for comparison

A group with n_g records is drawn from its population with replacement; the mean of that is the
truth. The oracle knows for each group the clip distances around its mean that are best for n_g and
epsilon, and spends all of epsilon on one sum (biases of both sides added). A ratio is the root mean
squared error over the oracle's; classes are by n_g epsilon, and their figures geometric means.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import tametail as tt
from tametail.release import Mean

Floats = npt.NDArray[np.float64]
Population = tuple[list[str], list[Floats]]

CLASSES = ((0, 100), (100, 500), (500, 2500), (2500, np.inf))
SHARES = np.concatenate([[0.0], np.geomspace(1e-5, 0.5, 60)])


def oracle(records: Floats, n: int, epsilon: float) -> float:
    """Return the error of the best clipped mean of n records."""
    y = records - records.mean()
    best = np.inf
    for high in np.unique(np.quantile(y, 1 - SHARES)):
        for low in np.unique(np.quantile(y, SHARES[::2])):
            if low <= 0 <= high:
                bias = np.maximum(y - high, 0).mean() + np.maximum(low - y, 0).mean()
                noise = 2 * (max(high, -low) / (epsilon * n)) ** 2
                best = min(best, bias**2 + np.clip(y, low, high).var() / n + noise)
    return float(np.sqrt(best))


def synthetic(groups: int, spread: float, seed: int) -> Population:
    """Lognormal groups whose levels are lognormal with this spread, of sizes like 1/rank."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(200_000 / np.arange(1, groups + 1) / np.log(groups), 50).astype(int)
    levels = np.exp(spread * rng.standard_normal(groups))
    records = [
        level * np.exp(rng.standard_normal(n)) for level, n in zip(levels, sizes, strict=True)
    ]
    return [f"g{place:03d}" for place in range(groups)], records


def from_file(path: Path, key: str) -> Population:
    """Return the groups of a file."""
    table = pq.read_table(path, columns=["value", key])
    values, keys = table["value"].to_numpy(), np.array(table[key].to_pylist(), dtype=str)
    names = sorted(set(keys))
    return names, [values[keys == name] for name in names]


def populations(folder: Path | None) -> dict[str, Population]:
    """Return all populations."""
    found = {
        "50 lognormal groups": synthetic(50, 0.5, 1),
        "no group effect": synthetic(50, 0.0, 2),
        "levels 80-fold apart": synthetic(150, 0.9, 3),
    }
    if folder is not None:
        flights = folder / "flights_by_plane.parquet"
        found["flights by airport"] = from_file(flights, "group")
        found["flights by carrier"] = from_file(flights, "carrier")
        found["baseball by team"] = from_file(
            folder / "baseball_salaries_by_player.parquet", "group"
        )
    return found


def measure(
    population: Population, total: int, epsilon: float, draws: int, borrow: str | None
) -> tuple[dict[str, float], float]:
    """Return the ratios by class, the worst draw, coverage, and seconds for a group."""
    names, records = population
    shares = np.array([len(each) for each in records], dtype=float)
    sizes = np.maximum((total * shares / shares.sum()).round().astype(int), 3)
    best = np.array(
        [oracle(each[:20_000], n, epsilon) for each, n in zip(records, sizes, strict=True)]
    )
    truth = np.array([each.mean() for each in records])
    rng, errors, inside, seconds = np.random.default_rng(7), [], [], 0.0
    for _ in range(draws):
        drawn = [
            each[rng.integers(0, len(each), n)] for each, n in zip(records, sizes, strict=True)
        ]
        frame = pa.table({"x": np.concatenate(drawn), "key": np.repeat(names, sizes)})
        start = time.perf_counter()
        release = tt.mean(frame, "x", by="key", keys=names, epsilon=epsilon, borrow=borrow)
        seconds += time.perf_counter() - start
        errors.append(np.asarray(release.value) - truth)
        inside.append([covers(row, each) for row, each in zip(release, records, strict=True)])
    ratios = np.abs(errors) / best
    rms = np.sqrt(np.mean(ratios**2, axis=0))
    found = {
        f"{low:g}-{high:g}": float(np.exp(np.log(rms[chosen]).mean()))
        for low, high in CLASSES
        if (chosen := (sizes * epsilon >= low) & (sizes * epsilon < high)).any()
    }
    found |= {"worst": float(rms.max()), "beyond 10": float(np.mean(ratios > 10))}
    return found | {"coverage": float(np.mean(inside))}, seconds / draws / len(names)


def covers(row: Mean, records: Floats) -> bool:
    """Say whether the interval holds what it is for: the mean of the clipped population."""
    low, high = row.clip or (-np.inf, np.inf)
    ends = (-np.inf if row.low is None else row.low), (np.inf if row.high is None else row.high)
    return bool(ends[0] <= np.clip(records, low, high).mean() <= ends[1])


def main() -> None:
    """Print a line for each population and way of borrowing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--total", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--only", help="populations whose name has this in it")
    given = parser.parse_args()
    for name, population in populations(given.data).items():
        if given.only and given.only not in name:
            continue
        for borrow in ("shape", None) if given.alone else ("shape",):
            found, seconds = measure(population, given.total, given.epsilon, given.draws, borrow)
            cells = "  ".join(f"{key} {value:.3g}" for key, value in found.items())
            print(
                f"{name:22} {borrow or 'alone':6} {cells}  {1e3 * seconds:.2f} ms/group", flush=True
            )


if __name__ == "__main__":
    main()
