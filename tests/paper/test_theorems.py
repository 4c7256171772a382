"""The theorems of Section 3 hold at the sample sizes that ``theory`` computes for them.

Failures over all laws and runs are binomial with at most the promised rate; a test fails if that
many have a probability below 1e-6. ``benchmarks/theorems.py`` prints the full table.
"""

import importlib.util
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from tametail.theory import mean_sample_size, median_of_means_blocks, range_sample_size

from .trials import MOMENTS, R, budgets, laws, mean_errors, numbers, range_misses

ALPHA, BETA, EPSILON = 0.4, 0.1, 0.25


def most_failures(runs: int, rate: float) -> int:
    return int(binom.isf(1e-6, runs, rate))


@pytest.mark.parametrize("budget", budgets(EPSILON), ids=lambda budget: type(budget).__name__)
@pytest.mark.parametrize("k", MOMENTS)
def test_the_error_is_within_alpha_with_the_tight_constants(k, budget):
    n = mean_sample_size(ALPHA, BETA, k, R, **numbers(budget))
    assert n <= 200_000
    rng = np.random.default_rng(k)
    errors = [
        error
        for source in laws(ALPHA, k).values()
        for error in islice(
            mean_errors(source, budget, n, rng, alpha=ALPHA, beta=BETA, k=k, constants="tight"),
            15,
        )
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


def test_make_theorems_counts_what_misses(benchmark, capsys, monkeypatch):
    """Estimates that are off by more than alpha fail every cell."""
    monkeypatch.setattr(benchmark, "mean_ball", lambda rows, *_, **__: rows[0] * 0 + 9)
    monkeypatch.setattr(benchmark, "mean_tournament", lambda rows, *_, **__: rows[0] * 0 + 9)
    assert benchmark.print_ball(40, (2,)) == 3
    assert benchmark.print_tournament(40, (1,)) == 1
    assert "40 of 40" in capsys.readouterr().out
