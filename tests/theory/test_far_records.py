"""The linear program of benchmarks/not_knowing.py: what it proves binds real mechanisms."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

PATH = Path(__file__).parents[2] / "benchmarks" / "not_knowing.py"


@pytest.fixture(scope="module")
def benchmark():
    specification = importlib.util.spec_from_file_location("not_knowing", PATH)
    module = importlib.util.module_from_spec(specification)
    sys.modules["not_knowing"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    yield module
    del sys.modules["not_knowing"]


def mean_squares(family, laws):
    """Squared errors over the oracle's of a mechanism: for each data set points and masses."""
    found = []
    for (place, size), (points, masses) in laws.items():
        truth, oracle = size * place, 2 * size**2 / (size**2 + 2)
        found.append(float(masses @ (points - truth) ** 2) / place**2 / oracle)
    return np.array(found)


def laplace(family, clip):
    """Clip at a fixed place, Laplace noise for it, cut at 0: private for every size and place."""
    levels = (np.arange(4000) + 0.5) / 4000
    noise = stats.laplace.ppf(levels) * clip  # in units of 1/epsilon
    masses = np.full(4000, 1 / 4000)
    return {
        (place, size): (np.maximum(size * min(place, clip) + noise, 0.0), masses)
        for place in 2.0 ** np.arange(family.octaves)
        for size in family.sizes
    }


@pytest.mark.parametrize("aim", ["worst", "average"])
def test_what_is_proved_is_what_the_solver_finds_and_no_mechanism_is_below(benchmark, aim):
    family = benchmark.Family(2, 1.0, 6, largest=6.0)
    proved, optimum = benchmark.solve(family, aim)
    assert optimum * (1 - 1e-4) <= proved <= optimum * (1 + 1e-6)
    for clip in (0.5, 1.0, 1.5, 2.0, 4.0):
        ratios = mean_squares(family, laplace(family, clip))
        reached = math.sqrt(ratios.max() if aim == "worst" else ratios.mean())
        assert reached >= proved
    nothing = {key: (np.zeros(1), np.ones(1)) for key in laplace(family, 1.0)}
    ratios = mean_squares(family, nothing)
    assert math.sqrt(ratios.max() if aim == "worst" else ratios.mean()) >= proved


def test_any_multipliers_prove_something_smaller(benchmark):
    family = benchmark.Family(2, 1.0, 3, largest=4.0)
    _, optimum = benchmark.solve(family, "worst")
    rng = np.random.default_rng(1)
    shape = (len(family.neighbors), family.cells)
    for scale in (0.0, 1e-3, 0.1, 3.0):
        for _ in range(20):
            weights = rng.exponential(size=len(family.losses))
            up, down = rng.exponential(scale, (2, *shape)) if scale else np.zeros((2, *shape))
            assert benchmark.proved(family, weights, up, down) <= optimum**2 * (1 + 1e-9)


def test_more_octaves_and_finer_cells_prove_more(benchmark):
    def ratio(octaves, cells, step=1.0):
        return benchmark.solve(benchmark.Family(octaves, step, cells, largest=6.0), "worst")[0]

    assert ratio(1, 4) <= ratio(2, 4) <= ratio(4, 4)
    assert ratio(2, 4) <= ratio(2, 8) * (1 + 1e-6)
    assert ratio(2, 4) <= ratio(2, 4, step=0.5) * 1.05  # more data sets, other cells


def test_errors_that_are_capped_prove_less(benchmark):
    plain = benchmark.Family(3, 1.0, 4, largest=6.0)
    capped = [benchmark.Family(3, 1.0, 4, largest=6.0, cap=cap) for cap in (1.0, 2.0, 100.0)]
    proved = [benchmark.solve(family, "worst")[0] for family in (*capped, plain)]
    assert proved == sorted(proved)
    assert proved[0] < proved[1] < proved[-1]
    assert capped[1].losses.max() == 4.0


def test_a_mechanism_comes_close_to_the_bound(benchmark):
    """With points in place of cells no mechanism is favored: what the program finds exists."""

    class Points(benchmark.Family):
        @property
        def losses(self):
            inner = np.sqrt(self.edges[1:-2] * self.edges[2:-1])
            points = np.concatenate([[0.0], inner, [self.edges[-2]]])
            truth = np.tile(self.sizes, self.octaves)
            place = np.repeat(2.0 ** np.arange(self.octaves), len(self.sizes))
            oracle = 2 * truth**2 / (truth**2 + 2)
            return (points / place[:, None] - truth[:, None]) ** 2 / oracle[:, None]

    proved, _ = benchmark.solve(benchmark.Family(2, 1.0, 12, largest=6.0), "worst")
    _, reached = benchmark.solve(Points(2, 1.0, 12, largest=6.0), "worst")
    assert proved < reached < 1.1 * proved
