"""Error of means by group, as shipped, over that of an oracle, by the size of the groups.

    python benchmarks/groups.py                       # synthetic groups
    python benchmarks/groups.py --data DIR            # flights and baseball too
    python benchmarks/groups.py --alone --draws 16    # and each group alone, for comparison

A group with n_g records is drawn from its population with replacement; the mean of that is the
truth. The oracle knows for each group the clip distances around its mean that are best for n_g and
epsilon, and spends all of epsilon on one sum (biases of both sides added). A ratio is the root mean
squared error over the oracle's; classes are by n_g epsilon, and their figures geometric means. In
parentheses: how often intervals with ends hold what they are for, the mean of the clipped
population; "together": in how many draws all of them do.

"caps" are one pair of bounds for all groups, at quantiles of all records together: the best for the
population, which nobody knows, and the 99% quantile, as a guess that is better than most. They
spend half of epsilon on the sum and half on the count; errors are computed, not drawn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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


#: Laws of the records of a group whose level is 1.
LAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "lognormal": lambda rng, n: np.exp(rng.standard_normal(n)),
    "gamma": lambda rng, n: rng.gamma(0.7, 1.0, n),
    "Pareto": lambda rng, n: 1 + rng.pareto(2.2, n),
    "Weibull": lambda rng, n: rng.weibull(0.6, n),
    "both signs": lambda rng, n: rng.standard_t(3, n),
}


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


def best_errors(population: Population, total: int, epsilon: float) -> tuple[Floats, Floats]:
    """Return the sizes of the groups, and the oracle's error in each."""
    _, records = population
    shares = np.array([len(each) for each in records], dtype=float)
    sizes = np.maximum((total * shares / shares.sum()).round().astype(int), 3)
    pairs = zip(records, sizes.tolist(), strict=True)
    return sizes, np.array([oracle(each[:20_000], n, epsilon) for each, n in pairs])


def synthetic(groups: int, spread: float, seed: int, law: str = "lognormal") -> Population:
    """Groups of a law whose levels are lognormal with this spread, of sizes like 1/rank."""
    rng = np.random.default_rng(seed)
    drawn = LAWS[law]
    sizes = np.maximum(200_000 / np.arange(1, groups + 1) / np.log(groups), 50).astype(int)
    levels = np.exp(spread * rng.standard_normal(groups))
    records = [level * drawn(rng, n) for level, n in zip(levels, sizes, strict=True)]
    return [f"g{place:03d}" for place in range(groups)], records


def from_file(path: Path, key: str) -> Population:
    """Return the groups of a file."""
    table = pq.read_table(path, columns=["value", key])
    values, keys = table["value"].to_numpy(), np.array(table[key].to_pylist(), dtype=str)
    names = sorted(set(keys))
    found = [(name, values[keys == name]) for name in names]
    found = [(name, each) for name, each in found if each.std() > 0]  # else the oracle is exact
    return [name for name, _ in found], [each for _, each in found]


def populations(folder: Path | None) -> dict[str, Population]:
    """Return all populations."""
    found = {
        "50 lognormal groups": synthetic(50, 0.5, 1),
        "no group effect": synthetic(50, 0.0, 2),
        "levels 80-fold apart": synthetic(150, 0.9, 3),
    }
    # Judged by, not tuned on.
    for seed, law in enumerate(("Pareto", "Weibull", "both signs"), start=13):
        found[f"80-fold, {law}"] = synthetic(150, 0.9, seed, law)
    if folder is not None:
        flights = folder / "flights_by_plane.parquet"
        found["flights by airport"] = from_file(flights, "group")
        found["flights by carrier"] = from_file(flights, "carrier")
        baseball = folder / "baseball_salaries_by_player.parquet"
        found["baseball by team"] = from_file(baseball, "group")
        found["baseball by year"] = from_file(baseball, "yearID")  # not tuned on either
        second = folder.parent / "second" / "persons" / "medicare_by_hospital.parquet"
        if second.exists():  # nothing was tuned on the second set
            found["hospitals by state"] = from_file(second, "group")
            found["hospitals by diagnosis"] = from_file(second, "drg")
    return found


def caps(population: Population, oracles: tuple[Floats, Floats], epsilon: float) -> str:
    """Return the errors of common caps over the oracle's: the best, and a guess, by class."""
    _, records = population
    sizes, best = oracles
    everything = np.concatenate(records)
    middle = float(np.median(everything))
    quantiles = (0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
    ratios = {}
    for share in quantiles:
        side = float(np.quantile(np.abs(everything - middle), share))
        errors = []
        for each, n in zip(records, sizes.tolist(), strict=True):
            clipped = np.clip(each - middle, -side, side)
            bias = clipped.mean() - (each - middle).mean()
            noise = 8 * (side / (epsilon * n)) ** 2 * (1 + (clipped.mean() / side) ** 2)
            errors.append(np.sqrt(bias**2 + clipped.var() / n + noise))
        ratios[share] = np.array(errors) / best
    top = min(quantiles, key=lambda share: float(np.log(ratios[share]).mean()))
    cells = []
    for low, high in CLASSES:
        chosen = (sizes * epsilon >= low) & (sizes * epsilon < high)
        if chosen.any():
            pair = [np.exp(np.log(ratios[share][chosen]).mean()) for share in (top, 0.99)]
            cells.append(f"{low:g}-{high:g} {pair[0]:.2f}, guessed {pair[1]:.2f}")
    return " | ".join(cells)


class Measured(NamedTuple):
    """Ratios to the oracle, a row for each draw and a column for each group, and the rest."""

    sizes: Floats
    ratios: Floats
    inside: Floats
    together: float
    seconds: float

    @property
    def rms(self) -> Floats:
        """Root mean squared ratios, of each group."""
        return np.asarray(np.sqrt(np.mean(self.ratios**2, axis=0)))


def measure(
    population: Population,
    oracles: tuple[Floats, Floats],
    epsilon: float,
    draws: int,
    **asked: str | None,
) -> Measured:
    """Release the means of all groups, some times."""
    names, records = population
    sizes, best = oracles
    truth = np.array([each.mean() for each in records])
    rng, errors, inside, seconds = np.random.default_rng(7), [], [], 0.0
    for _ in range(draws):
        drawn = [
            each[rng.integers(0, len(each), n)]
            for each, n in zip(records, sizes.tolist(), strict=True)
        ]
        frame = pa.table({"x": np.concatenate(drawn), "key": np.repeat(names, sizes)})
        start = time.process_time()
        release = tt.mean(frame, "x", by="key", keys=names, epsilon=epsilon, **asked)
        seconds += time.process_time() - start
        errors.append(np.asarray(release.value) - truth)
        inside.append([covers(row, each) for row, each in zip(release, records, strict=True)])
    together = np.mean([np.nanmin(row) == 1 for row in inside])
    each = seconds / draws / len(names)
    return Measured(sizes, np.abs(errors) / best, np.array(inside), float(together), each)


def covers(row: Mean, records: Floats) -> float:
    """Say whether the interval holds the mean of the clipped population; NaN without ends."""
    interval = row.intervals[-1]
    if np.isinf(interval.low):
        return np.nan
    mean = np.clip(records, *(row.clip or (-np.inf, np.inf))).mean()
    return float(interval.low <= mean <= interval.high)


def show(name: str, way: str, found: Measured, epsilon: float, alone: Measured | None) -> None:
    """Print a line: ratios and coverage by class, the worst, and how often it was ten oracles."""
    size, cells = found.sizes * epsilon, []
    for low, high in CLASSES:
        chosen = (size >= low) & (size < high)
        if chosen.any():
            ratio = np.exp(np.log(found.rms[chosen]).mean())
            cell = f"{low:g}-{high:g} {ratio:.2f} ({np.nanmean(found.inside[:, chosen]):.3f})"
            if alone is not None and low >= 500:
                versus = np.exp(np.log(found.rms[chosen] / alone.rms[chosen]).mean())
                cell += f" {versus:.2f} of alone"
            cells.append(cell)
    cells.append(f"worst {found.rms.max():.3g}")
    cells.append(f"beyond 10: {np.sum(found.ratios > 10)} of {found.ratios.size}")
    cells.append(f"together {found.together:.2f}")
    cells.append(f"{1e3 * found.seconds:.2f} ms/group")
    print(f"{name:22} {way:6}", " | ".join(cells), flush=True)


def main() -> None:
    """Print a line for each population and way of borrowing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--total", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--together", action="store_true", help="intervals that hold at once")
    parser.add_argument("--only", help="populations whose name has this in it")
    given = parser.parse_args()
    for name, population in populations(given.data).items():
        if given.only and given.only not in name:
            continue
        oracles = best_errors(population, given.total, given.epsilon)
        cell = population, oracles, given.epsilon, given.draws
        print(f"{name:22} caps  ", caps(population, oracles, given.epsilon), flush=True)
        alone = measure(*cell, pooling=None) if given.alone else None
        if alone is not None:
            show(name, "alone", alone, given.epsilon, None)
        show(name, "shape", measure(*cell), given.epsilon, alone)
        if given.together:
            show(name, "at once", measure(*cell, simultaneous=True), given.epsilon, alone)


if __name__ == "__main__":
    main()
