"""Draw the README's picture: the price of guessing a bound, against guessing none.

Ten thousand claims, epsilon = 1. The curve is the error of the usual way, clip to [0, bound] and
add Laplace noise, for every bound that one might guess; the line is tametail, told nothing.

    python benchmarks/bounds_picture.py [--runs 200] [--output docs/pictures/bounds.png]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import tametail as tt

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))
from make_claims import claims  # noqa: E402 - the example file's own generator

N, EPSILON = 10_000, 1.0


def clipped_error(population: np.ndarray, bound: float) -> float:
    """Root mean squared error of the mean of clipped records with Laplace noise."""
    clipped = np.minimum(population, bound)
    bias = clipped.mean() - population.mean()
    noise = np.sqrt(2) * bound / (N * EPSILON)
    return float(np.sqrt(bias**2 + noise**2 + clipped.var() / N))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "pictures" / "bounds.png")
    options = parser.parse_args()
    population = claims(1_000_000, seed=1)
    mean = population.mean()
    rng = np.random.default_rng(2)
    errors = [
        tt.mean(rng.choice(population, N), epsilon=EPSILON, confidence=None).value - mean
        for _ in range(options.runs)
    ]
    ours = float(np.sqrt(np.mean(np.square(errors))))

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    bounds = np.geomspace(100, 1e8, 121)
    figure, axes = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
    axes.loglog(
        bounds,
        [clipped_error(population, bound) for bound in bounds],
        color="#b5523b",
        label="clip to [0, bound], add noise",
    )
    axes.axhline(ours, color="#1f6f8b", label="tametail, told nothing")
    axes.axhline(
        population.std() / np.sqrt(N),
        color="0.6",
        linestyle=":",
        label="no privacy: sampling error alone",
    )
    axes.set_xlabel("the bound that was guessed")
    axes.set_ylabel("error of the mean")
    axes.set_title(
        f"{N:,} synthetic claims with mean {mean:,.0f}, epsilon = {EPSILON:g}", fontsize=10
    )
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(options.output, dpi=110)
    best = min(clipped_error(population, bound) for bound in bounds)
    print(
        f"tametail {ours:.1f}; best bound {best:.1f}; "
        f"sampling alone {population.std() / N**0.5:.1f}"
    )


if __name__ == "__main__":
    main()
