"""What a delta could buy: how deep into the tail octave counts see, with and without one.

Exact counts by octaves of the distances from the median, upper side, of samples of every column;
Laplace noise of scale 2/(share epsilon). *Pure*: noise on every octave, seen where four neighbors
together stand out by 22 scales, or from there on one by 8. *Delta*: a stability histogram, noise
on occupied octaves only, shown from 1 + ln(1/delta) scales on; whatever is shown is there. Printed
is how many records lie beyond the highest octave that is seen, times epsilon (the oracle clips at
1 to 4), the geometric mean over columns, and how often nothing at all is seen.

    python benchmarks/delta.py --data DIR
"""

from __future__ import annotations

import math
from pathlib import Path

import click
import numpy as np

from _common import Floats, populations

CELLS = ((1_000, 1.0), (10_000, 0.1), (10_000, 1.0))
DELTA, FIRST, LAST = 1e-6, -60, 60


def octaves(sample: Floats) -> Floats:
    """Return the number of records above the median, by octaves of their distance from it."""
    away = sample - np.median(sample)
    index = np.floor(np.log2(away[away > 0])).astype(int)
    return np.bincount(np.clip(index, FIRST, LAST) - FIRST, minlength=LAST - FIRST + 1)


def pure(counts: Floats, scale: float, rng: np.random.Generator) -> int | None:
    """Return the highest octave that windows of four, and then single ones, show."""
    noisy = counts + rng.laplace(scale=scale, size=len(counts))
    windows = np.convolve(noisy, np.ones(4), "full")[3:]
    found = np.flatnonzero(windows >= 22 * scale)
    if not len(found):
        return None
    anchor = int(found[-1])
    near = np.flatnonzero(noisy[anchor : anchor + 4] >= 8 * scale)
    return anchor + int(near[-1]) if len(near) else anchor


def stable(counts: Floats, scale: float, rng: np.random.Generator) -> int | None:
    """Return the highest octave that a stability histogram shows."""
    noisy = np.where(counts > 0, counts + rng.laplace(scale=scale, size=len(counts)), 0.0)
    found = np.flatnonzero(noisy >= 1 + scale * math.log(1 / (2 * DELTA)))
    return int(found[-1]) if len(found) else None


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=None)
@click.option("--trials", default=100, show_default=True)
def main(data: Path | None, trials: int) -> None:
    """Print how deep both see, by cell and share."""
    print("| n, epsilon | share | pure: beyond (nothing seen) | delta: beyond (nothing seen) |")
    print("|---|--:|--:|--:|")
    rng = np.random.default_rng(1)
    for n, epsilon in CELLS:
        for share in (0.25, 0.5, 0.9):
            scale, cells = 2 / (share * epsilon), []
            for look in (pure, stable):
                beyond, blind = [], 0
                for population in populations(data).values():
                    ranks = []
                    for _ in range(trials):
                        counts = octaves(population.sample(n, rng))
                        top = look(counts, scale, rng)
                        blind += top is None
                        # An octave that is seen ends at its upper end.
                        rest = counts.sum() if top is None else counts[top + 1 :].sum()
                        ranks.append(rest * epsilon)
                    beyond.append(np.mean(ranks) + 0.5)
                mean = float(np.exp(np.mean(np.log(beyond))))
                cells.append(f"{mean:.1f} ({blind / trials / len(beyond):.0%})")
            print(f"| {n:,}, {epsilon:g} | {share} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
