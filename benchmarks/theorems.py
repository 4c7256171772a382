"""The theorems of Sections 3 and 4, checked by simulation, and the time of one call.

    python benchmarks/theorems.py --runs 200

For k = 2, 3, 4, each notion of privacy and each law: n records as ``theory.mean_sample_size`` asks
for them, and in how many of the runs the error of ``mean_1d`` exceeded alpha. At most a share beta
may. With the paper's constants n would be millions, so its blocks are run at full size (their
number of records and their radius are the paper's), but only as many as the tight constants have;
``--paper`` runs the algorithm at the paper's full n instead, which takes long.

Then the ball in d = 2, 5, 20, 21 and 50 columns, at the n of ``theory.ball_sample_size``, under
zCDP and (epsilon, delta): at most three in ten errors may exceed alpha. And what is needed beside
what is proved: n is halved as long as at most a share beta of the errors of ``mean_1d`` exceeds
alpha.
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

from tametail.paper import mean_1d, mean_ball, range_estimate
from tametail.privacy.budget import Budget, approx, zcdp
from tametail.theory import ball_sample_size, law, mean_sample_size, median_of_means_blocks

ALPHA, BETA, EPSILON = 0.4, 0.1, 0.25
DIMENSIONS, BALL_ALPHA, BALL_R = (2, 5, 20, 21, 50), 0.8, 16.0


def main() -> int:
    """Print the tables; the exit code is 1 if a theorem fails beyond chance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="runs for each law and cell")
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
    too_many += print_ball(arguments.runs)
    print_needed(arguments.runs)
    print_times()
    return 1 if too_many else 0


def print_ball(runs: int) -> int:
    """Print how often the ball misses alpha at its n; return the cells that miss too often."""
    table = Table("k", "d", "budget", "law", "n", "error > alpha", "95% of errors")
    too_many = 0
    cells = list(product(MOMENTS, DIMENSIONS, (zcdp(0.5), approx(1.0, 1e-6))))
    for k, d, budget in track(cells, console=Console(stderr=True)):
        n = ball_sample_size(BALL_ALPHA, k, BALL_R, d, **numbers(budget))
        for name, source in (
            ("t", law("t", nu=k + 1, k=k)),
            ("Pareto", law("pareto", a=k + 1, k=k)),
        ):
            found = []
            for _ in range(runs):
                # Independent columns around 1. For k = 2 every direction has the moment of one
                # column; for k = 4 no more, as the kurtosis of both laws is above 3.
                rows = 1 + source.sample(n * d, np.random.default_rng()).reshape(n, d)
                mean = mean_ball(rows, budget, alpha=BALL_ALPHA, k=k, R=BALL_R)
                found.append(float(np.linalg.norm(mean - 1)))
            failures = sum(error > BALL_ALPHA for error in found)
            too_many += failures > binom.isf(1e-6, runs, 0.3)
            shown = (f"{failures} of {runs}", f"<= {np.quantile(found, 0.95):.3f}")
            table.add_row(str(k), str(d), str(budget), name, f"{n:,}", *shown)
    Console(width=130).print(table)
    return int(too_many)


def print_needed(runs: int) -> None:
    """Print the n that is needed on the worst of the laws, beside tight and paper."""
    table = Table("k", "budget", "needed", "tight", "paper")
    for k, budget in product(MOMENTS, budgets(EPSILON)):
        tight, paper = (
            mean_sample_size(ALPHA, BETA, k, R, **numbers(budget), constants=constants)
            for constants in ("tight", "paper")
        )
        needed = tight
        while needed > 64 and _enough(needed // 2, k, budget, runs):
            needed //= 2
        table.add_row(str(k), str(budget), f"{needed:,}", f"{tight:,}", f"{paper:,}")
    Console(width=130).print(table)


def _enough(n: int, k: int, budget: Budget, runs: int) -> bool:
    settings = {"alpha": ALPHA, "beta": BETA, "k": k, "constants": "tight"}
    for source in laws(ALPHA, k).values():
        errors = islice(mean_errors(source, budget, n, np.random.default_rng(), **settings), runs)
        if sum(error > ALPHA for error in errors) > BETA * runs:
            return False
    return True


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
