"""The theorems of Sections 3 and 4, checked by simulation, and the time of one call.

    python benchmarks/theorems.py --runs 200

For k = 2, 3, 4, each notion of privacy and each law: n records as ``theory.mean_sample_size`` asks
for them, and in how many of the runs the error of ``mean_1d`` exceeded alpha. At most a share beta
may. With the paper's constants n would be millions, so its blocks are run at full size (their
number of records and their radius are the paper's), but only as many as the tight constants have;
``--paper`` runs the algorithm at the paper's full n instead, which takes long. One block is run in
three more settings, far from these.

Then the ball in d = 2, 5, 20, 21 and 50 columns, at the n of ``theory.ball_sample_size``, under
zCDP, (epsilon, delta) and epsilon: at most three in ten errors may exceed alpha. The runs of a cell
go round over k = 2, 3, 4 and two laws: its coarse step asks d columns in some 20 blocks each, a
millisecond a block, which is where the time goes. The tournament follows in d = 1, 2 and, with a
tenth of the runs (it plays 43 million matches), 3. And what is needed beside what is proved: by
bisection, up to a factor of 1.1, the least n at which at most a share beta of the errors of
``mean_1d`` exceeds alpha. Rows are printed as they are found, and ``--parts`` and ``--dimensions``
run some.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from itertools import cycle, islice, product
from pathlib import Path
from statistics import median

import numpy as np
from scipy.stats import binom

# The simulations live with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.paper.trials import MOMENTS, R, budgets, laws, mean_errors, numbers

import tametail
from tametail.paper import mean_1d, mean_ball, mean_tournament, range_estimate
from tametail.privacy.budget import Budget, approx, pure, zcdp
from tametail.theory import (
    Distribution,
    ball_sample_size,
    distribution,
    mean_sample_size,
    median_of_means_blocks,
    tournament_sample_size,
)

ALPHA, BETA, EPSILON = 0.4, 0.1, 0.25
DIMENSIONS, BALL_ALPHA, BALL_R = (2, 5, 20, 21, 50), 0.8, 16.0
#: The tournament plays on a grid of fixed size: a large alpha asks for few records.
FAR_ALPHA = 4.0
BALL_BUDGETS = (zcdp(0.5), approx(4.0, 1e-6), pure(4.0))
#: All lines that were printed.
SAID: list[str] = []
PARTS = ("mean", "one-block", "ball", "tournament", "needed", "times")
#: alpha, beta, k and R of one block, at epsilon = 1.
SETTINGS = ((0.1, 0.05, 2, 1e3), (0.1, 0.1, 4, 1e4), (0.02, 0.01, 3, 1e3))
#: The least n that is looked for is between the proved one and this part of it.
PART, CLOSE = 256, 1.1


def main() -> int:
    """Print the tables; the exit code is 1 if a theorem fails beyond chance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="runs for each law and cell")
    parser.add_argument("--paper", action="store_true", help="the paper's constants at full n")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS, help="what to run; everything if none"
    )
    parser.add_argument("--keep", type=Path, help="write the tables to this page as well")
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS)
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error(f"--runs {arguments.runs} shows nothing: write 1 or more.")

    say("# The theorems at the n that they ask for\n")
    when = f"version {tametail.__version__} on {date.today():%d %B %Y}"
    say(f"Made by `make theorems` with {when}, {arguments.runs} runs a cell.")
    say("At most a share beta of the errors of `mean_1d` and of the")
    say("tournament may exceed alpha, and three in ten of the ball's.")
    too_many = 0
    if "mean" in arguments.parts:
        too_many += print_means(arguments.runs, full=arguments.paper)
    if "one-block" in arguments.parts:
        too_many += print_one_block(arguments.runs)
    if "ball" in arguments.parts:
        too_many += print_ball(arguments.runs, arguments.dimensions)
    if "tournament" in arguments.parts:
        too_many += print_tournament(arguments.runs)
    if "needed" in arguments.parts:
        print_needed(arguments.runs)
    if "times" in arguments.parts:
        print_times()
    if arguments.keep:
        arguments.keep.write_text("\n".join(SAID) + "\n", "utf-8")
    return 1 if too_many else 0


def say(words: str) -> None:
    """Print a line, and keep it for the page."""
    print(words, flush=True)
    SAID.append(words)


def print_row(*cells: object) -> None:
    """Print a row at once: a run takes long, and what was found should not be lost."""
    say("| " + " | ".join(map(str, cells)) + " |")


def print_head(title: str, *cells: str) -> None:
    """Print a title and the first two rows of a table, as Markdown has them."""
    say(f"\n## {title}\n")
    print_row(*cells)
    print_row(*("---:" for _ in cells))


def print_means(runs: int, *, full: bool) -> int:
    """Print how often ``mean_1d`` misses alpha at its n; return the cells that miss too often."""
    title = f"mean_1d: alpha = {ALPHA}, beta = {BETA}, epsilon = {EPSILON}, R = {R:g}"
    print_head(
        title, "constants", "k", "budget", "distribution", "n", "error > alpha", "95% of errors"
    )
    too_many = 0
    for constants, k, budget in product(("one-block", "tight", "paper"), MOMENTS, budgets(EPSILON)):
        n = mean_sample_size(ALPHA, BETA, k, R, **numbers(budget), constants=constants)
        blocks = None
        if constants == "paper" and not full:
            blocks = median_of_means_blocks(BETA)
            n = n // median_of_means_blocks(BETA, constants="paper") * blocks
        label = constants if blocks is None else f"{constants}, {blocks} blocks"
        settings = {"alpha": ALPHA, "beta": BETA, "k": k, "constants": constants, "blocks": blocks}
        for name, source in laws(ALPHA, k).items():
            errors = mean_errors(source, budget, n, np.random.default_rng(), **settings)
            found = list(islice(errors, runs))
            too_many += _print_cell((label, k, budget, name, f"{n:,}"), found, ALPHA, BETA)
    return too_many


def print_one_block(runs: int) -> int:
    """Print how often one block misses alpha at its n; return the cells that miss too often."""
    print_head(
        "mean_1d in one block, epsilon = 1",
        *(
            "alpha",
            "beta",
            "k",
            "R",
            "distribution",
            "n",
            "tight",
            "error > alpha",
            "95% of errors",
        ),
    )
    too_many, budget = 0, pure(1.0)
    for alpha, beta, k, bound in SETTINGS:
        n, tight = (
            mean_sample_size(alpha, beta, k, bound, epsilon=1.0, constants=constants)
            for constants in ("one-block", "tight")
        )
        settings = {"alpha": alpha, "beta": beta, "k": k, "bound": bound}
        for name, source in laws(1.05 * alpha, k).items():
            errors = mean_errors(
                source, budget, n, np.random.default_rng(), constants="one-block", **settings
            )
            cell = (alpha, beta, k, f"{bound:g}", name, f"{n:,}", f"{tight:,}")
            too_many += _print_cell(cell, list(islice(errors, runs)), alpha, beta)
    return too_many


def _print_cell(cell: tuple[object, ...], found: list[float], alpha: float, beta: float) -> bool:
    """Print how many errors exceed alpha; return whether these are too many for chance."""
    failures = sum(error > alpha for error in found)
    print_row(*cell, f"{failures} of {len(found)}", f"<= {np.quantile(found, 0.95):.3f}")
    return failures > binom.isf(1e-6, len(found), beta)


def print_ball(runs: int, dimensions: Sequence[int]) -> int:
    """Print how often the ball misses alpha at its n; return the cells that miss too often."""
    title = f"mean_ball: alpha = {BALL_ALPHA}, R = {BALL_R:g}; k = 2, 3, 4 and t, Pareto in turn"
    print_head(title, "d", "budget", "n for k = 2, 3, 4", "error > alpha", "95% of errors")
    too_many = 0
    for d, budget in product(dimensions, BALL_BUDGETS):
        sizes = {k: ball_sample_size(BALL_ALPHA, k, BALL_R, d, **numbers(budget)) for k in MOMENTS}
        found = []
        for source, k in islice(cycle(_heavy()), runs):
            rows = 1 + source.sample(sizes[k] * d, np.random.default_rng()).reshape(sizes[k], d)
            mean = mean_ball(rows, budget, alpha=BALL_ALPHA, k=k, R=BALL_R)
            found.append(float(np.linalg.norm(mean - 1)))
        shown = ", ".join(f"{n:,}" for n in sizes.values())
        too_many += _print_cell((d, budget, shown), found, BALL_ALPHA, 0.3)
    return too_many


def _heavy() -> list[tuple[Distribution, int]]:
    """Return laws of mean 0 and k-th moment 1, whose moments beyond k + 1 are infinite."""
    found = [(distribution("t", nu=k + 1, k=k), k) for k in MOMENTS]
    return found + [(distribution("pareto", a=k + 1, k=k), k) for k in MOMENTS]


def print_tournament(runs: int, dimensions: Sequence[int] = (1, 2, 3)) -> int:
    """Print how often the tournament misses alpha at its n, pure DP, k = 2."""
    title = f"mean_tournament: alpha = {FAR_ALPHA:g}, beta = {BETA}, R = {BALL_R:g}, k = 2"
    print_head(title, "d", "budget", "n", "error > alpha", "95% of errors")
    too_many, budget = 0, pure(1.0)
    for d in dimensions:
        count = runs if d < 3 else max(runs // 10, 1)
        n = tournament_sample_size(FAR_ALPHA, BETA, 2, BALL_R, d, epsilon=budget.epsilon)
        found = []
        for source, _ in islice(cycle(entry for entry in _heavy() if entry[1] == 2), count):
            rows = 1 + source.sample(n * d, np.random.default_rng()).reshape(n, d)
            mean = mean_tournament(rows, budget, alpha=FAR_ALPHA, beta=BETA, k=2, R=BALL_R)
            found.append(float(np.linalg.norm(mean - 1)))
        too_many += _print_cell((d, budget, f"{n:,}"), found, FAR_ALPHA, BETA)
    return too_many


def print_needed(runs: int) -> None:
    """Print the n that is needed on the worst of the laws, beside what is proved."""
    title = (
        f"Needed and proved: alpha = {ALPHA}, beta = {BETA}, the worst of four laws, "
        f"up to a factor of {CLOSE}"
    )
    head = ("one block: needed", "proved", "tight: needed", "proved", "paper: proved")
    print_head(title, "k", "budget", *head)
    for k, budget in product(MOMENTS, budgets(EPSILON)):
        cells = []
        for constants in ("one-block", "tight", "paper"):
            proved = mean_sample_size(ALPHA, BETA, k, R, **numbers(budget), constants=constants)
            if constants != "paper":
                needed = _least(proved, k, budget, runs, constants)
                cells.append(f"{needed:,.0f} ({proved / needed:.1f} times fewer)")
            cells.append(f"{proved:,}")
        print_row(k, budget, *cells)


def _least(proved: int, k: int, budget: Budget, runs: int, constants: str) -> float:
    """Bisect, in logarithms, for the n at which a share beta of the errors exceeds alpha."""
    low, high = proved / PART, float(proved)
    while high / low > CLOSE:
        n = round(math.sqrt(low * high))
        low, high = (low, n) if _enough(n, k, budget, runs, constants) else (n, high)
    return math.sqrt(low * high)


def _enough(n: int, k: int, budget: Budget, runs: int, constants: str) -> bool:
    settings = {"alpha": ALPHA, "beta": BETA, "k": k, "constants": constants}
    for source in laws(ALPHA, k).values():
        errors = islice(mean_errors(source, budget, n, np.random.default_rng(), **settings), runs)
        if sum(error > ALPHA for error in errors) > BETA * runs:
            return False
    return True


def print_times() -> None:
    """Print how long one call takes: R and the number of records."""
    print_head("Time of one call", "budget", "records", "R", "range_estimate", "mean_1d")
    for budget, n, bound in product(budgets(1.0), (1000, 1_000_000), (1e3, 1e300)):
        x = laws(ALPHA, 2)["t(3)"].sample(n, np.random.default_rng())
        given = {"alpha": 0.1, "k": 2, "R": bound}
        spans = (
            seconds(partial(range_estimate, x, budget, **given)),
            seconds(partial(mean_1d, x, budget, beta=0.05, **given)),
        )
        print_row(budget, f"{n:,}", f"{bound:g}", *(f"{1000 * span:.1f} ms" for span in spans))


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
