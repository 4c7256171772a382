"""The theorems of Section 3 hold at the sample sizes that ``theory`` computes for them.

Failures over all laws and runs are binomial with at most the promised rate; a test fails if that
many have a probability below 1e-6. ``benchmarks/theorems.py`` prints the full table.
"""

import importlib.util
import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from tametail.paper import mean_1d
from tametail.privacy.budget import Pure
from tametail.theory import (
    distribution,
    mean_sample_size,
    median_of_means_blocks,
    range_sample_size,
    upper_bound,
)

from .trials import MOMENTS, R, budgets, laws, mean_errors, numbers, range_misses

ALPHA, BETA, EPSILON = 0.4, 0.1, 0.25


def most_failures(runs: int, rate: float) -> int:
    return int(binom.isf(1e-6, runs, rate))


@pytest.mark.parametrize("budget", budgets(EPSILON), ids=lambda budget: type(budget).__name__)
@pytest.mark.parametrize("k", MOMENTS)
@pytest.mark.parametrize("constants", ["tight", "one-block"])
def test_the_error_is_within_alpha_at_the_theorems_n(k, budget, constants):
    n = mean_sample_size(ALPHA, BETA, k, R, **numbers(budget), constants=constants)
    assert n <= (200_000 if constants == "tight" else 20_000)
    rng = np.random.default_rng(k)
    settings = {"alpha": ALPHA, "beta": BETA, "k": k, "constants": constants}
    errors = [
        error
        for source in laws(ALPHA, k).values()
        for error in islice(mean_errors(source, budget, n, rng, **settings), 15)
    ]
    failures = sum(error > ALPHA for error in errors)
    assert failures <= most_failures(len(errors), BETA)


@pytest.mark.parametrize("budget", budgets(1.0), ids=lambda budget: type(budget).__name__)
@pytest.mark.parametrize("k", MOMENTS)
def test_the_error_is_within_alpha_with_the_papers_blocks(k, budget):
    """Blocks of the paper's size and radius; 9 of them, not 601, or n would be 2 million."""
    paper_blocks = median_of_means_blocks(BETA, constants="paper")
    per_block = mean_sample_size(ALPHA, BETA, k, R, **numbers(budget), constants="paper")
    per_block //= 2 * paper_blocks
    blocks = median_of_means_blocks(BETA)
    rng = np.random.default_rng(k)
    errors = [
        error
        for source in laws(ALPHA, k).values()
        for error in islice(
            mean_errors(
                source,
                budget,
                2 * blocks * per_block,
                rng,
                alpha=ALPHA,
                beta=BETA,
                k=k,
                constants="paper",
                blocks=blocks,
            ),
            10,
        )
    ]
    failures = sum(error > ALPHA for error in errors)
    assert failures <= most_failures(len(errors), BETA)


@pytest.mark.parametrize(
    ("alpha", "beta", "k", "bound", "most"),
    [(0.1, 0.05, 2, 1e3, 5_623), (0.1, 0.1, 4, 1e4, 2_220), (0.02, 0.01, 3, 1e3, 61_126)],
)
def test_one_block_asks_for_little_and_keeps_its_promise(alpha, beta, k, bound, most):
    """In blocks 36,498, 17,100 and 994,422 records are asked for."""
    n = mean_sample_size(alpha, beta, k, bound, epsilon=1.0, constants="one-block")
    assert n <= most
    rng = np.random.default_rng(k)
    sources = laws(1.05 * alpha, k).values()
    settings = {"alpha": alpha, "beta": beta, "k": k, "R": bound, "constants": "one-block"}
    errors = [
        abs(mean_1d(source.sample(n, rng), Pure(1.0), **settings) - source.mean)
        for source in sources
        for _ in range(20)
    ]
    assert sum(error > alpha for error in errors) <= most_failures(len(errors), beta)


def test_columns_keep_what_the_best_of_all_promises():
    """Two columns at half of everything: the promise of ``upper_bound`` for d = 2."""
    n, d = 4_000, 2
    promise = upper_bound(n, k=2, R=100.0, d=d, epsilon=1.0, beta=0.3)
    assert promise.algorithm == "mean_1d"
    settings = {"alpha": promise.alpha / math.sqrt(d), "beta": 0.3 / d, "k": 2, "R": 100.0}
    rng = np.random.default_rng(1)
    failures = 0
    for _ in range(40):
        rows = distribution("pareto", a=2.5, k=2, mean=20.0).sample(n * d, rng).reshape(n, d)
        found = [
            mean_1d(column, Pure(1.0 / d), constants=promise.constants, **settings)
            for column in rows.T
        ]
        failures += np.linalg.norm(np.array(found) - 20.0) > promise.alpha
    assert failures <= most_failures(40, 0.3)


@pytest.mark.parametrize("constants", ["tight", "paper"])
@pytest.mark.parametrize("budget", budgets(1.0), ids=lambda budget: type(budget).__name__)
@pytest.mark.parametrize("k", MOMENTS)
def test_the_range_holds_the_mean_nine_times_in_ten(k, budget, constants):
    alpha = 1 / 20  # Theorem one-d-range-pdp wants it below 1/16
    n = range_sample_size(alpha, k, R, **numbers(budget), constants=constants)
    rng = np.random.default_rng(k)
    misses = [
        miss
        for source in laws(alpha, k).values()
        for miss in islice(
            range_misses(source, budget, n, rng, alpha=alpha, k=k, constants=constants), 60
        )
    ]
    assert sum(misses) <= most_failures(len(misses), 0.1)


@pytest.fixture(scope="module")
def benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "theorems.py"
    specification = importlib.util.spec_from_file_location("theorems", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_a_small_version_of_make_theorems(benchmark, capsys):
    assert benchmark.print_ball(6, (2, 5)) == 0
    assert benchmark.print_tournament(4, (1, 2)) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if " of " in line]
    assert len([row for row in rows if "0 of 6" in row]) == 6
    assert len([row for row in rows if "0 of 4" in row]) == 2


def test_needed_records_are_found_by_bisection(benchmark, monkeypatch):
    """Not by halving: a proved n over a factor that is no power of two is found as well."""
    monkeypatch.setattr(benchmark, "_enough", lambda n, *_: n >= 1_700)
    found = benchmark._least(12_345, 2, budgets(1.0)[0], 10, "tight")
    assert 1_700 / 1.1 < found < 1_700 * 1.1


def test_one_block_is_tried_in_its_settings(benchmark, capsys):
    assert benchmark.print_one_block(2) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if "0 of 2" in line]
    assert len(rows) == 4 * len(benchmark.SETTINGS)


def test_make_theorems_counts_what_misses(benchmark, capsys, monkeypatch):
    """Estimates that are off by more than alpha fail every cell."""
    monkeypatch.setattr(benchmark, "mean_ball", lambda rows, *_, **__: rows[0] * 0 + 9)
    monkeypatch.setattr(benchmark, "mean_tournament", lambda rows, *_, **__: rows[0] * 0 + 9)
    assert benchmark.print_ball(40, (2,)) == 3
    assert benchmark.print_tournament(40, (1,)) == 1
    assert "40 of 40" in capsys.readouterr().out
