"""The theorems of Section 3, checked by simulation, and the time of one call.

    python benchmarks/theorems.py --runs 50

For k = 2, 3, 4, each notion of privacy and each law: n records as ``theory.mean_sample_size`` asks
for them, and in how many of the runs the error of ``mean_1d`` exceeded alpha. At most a share beta
may. With the paper's constants n would be millions, so its blocks are run at full size (their
number of records and their radius are the paper's), but only as many as the tight constants have;
``--paper`` runs the algorithm at the paper's full n instead, which takes long.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice, product
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import binom

# The simulations live with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.paper.trials import MOMENTS, R, budgets, laws, mean_errors, numbers

from tametail.paper import mean_1d, range_estimate
from tametail.theory import mean_sample_size, median_of_means_blocks

ALPHA, BETA, EPSILON = 0.4, 0.1, 0.25


def main() -> int:
    """Print the tables; the exit code is 1 if a theorem fails beyond chance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50, help="runs for each law")
    parser.add_argument("--paper", action="store_true", help="the paper's constants at full n")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error(f"--runs {arguments.runs} shows nothing: write 1 or more.")

    print(f"alpha = {ALPHA}, beta = {BETA}, epsilon = {EPSILON} (rho = epsilon^2/2), R = {R:g}")
    table = Table("constants", "k", "budget", "law", "n", "error > alpha", "95% of errors")
    too_many = 0
    settings = list(product(("tight", "paper"), MOMENTS, budgets(EPSILON)))
    for constants, k, budget in track(settings, console=Console(stderr=True)):
        n = mean_sample_size(ALPHA, BETA, k, R, **numbers(budget), constants=constants)
        blocks = None
        if constants == "paper" and not arguments.paper:
            blocks = median_of_means_blocks(BETA)
            n = n // median_of_means_blocks(BETA, constants="paper") * blocks
        for name, source in laws(ALPHA, k).items():
            errors = mean_errors(
                source,
                budget,
                n,
                np.random.default_rng(),
                alpha=ALPHA,
                beta=BETA,
                k=k,
                constants=constants,
                blocks=blocks,
            )
            found = list(islice(errors, arguments.runs))
            failures = sum(error > ALPHA for error in found)
            too_many += failures > binom.isf(1e-6, arguments.runs, BETA)
            shown = f"{failures} of {arguments.runs}"
            largest = f"<= {np.quantile(found, 0.95):.3f}"
            label = constants if blocks is None else f"{constants}, {blocks} blocks"
            table.add_row(label, str(k), str(budget), name, f"{n:,}", shown, largest)
    Console(width=130).print(table)
    print_times()
    return 1 if too_many else 0


def print_times() -> None:
    """Print how long one call takes: R and the number of records."""
    table = Table("budget", "records", "R", "range_estimate", "mean_1d")
    for budget, n, bound in product(budgets(1.0), (1000, 1_000_000), (1e3, 1e300)):
        x = laws(ALPHA, 2)["t(3)"].sample(n, np.random.default_rng())
        given = {"alpha": 0.1, "k": 2, "R": bound}
        spans = (
            seconds(partial(range_estimate, x, budget, **given)),
            seconds(partial(mean_1d, x, budget, beta=0.05, **given)),
        )
        table.add_row(
            str(budget), f"{n:,}", f"{bound:g}", *(f"{1000 * span:.1f} ms" for span in spans)
        )
    Console(width=130).print(table)


def seconds(call: Callable[[], object]) -> float:
    """Return the median time of some calls."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    sys.exit(main())
