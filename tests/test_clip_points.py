"""Clip points lie where records can be, by every method and unit."""

from __future__ import annotations

import numpy as np
import pytest

import tametail as tt

BOUNDS = [(0.0, 1e6), (0.1, 0.7), (-3.0, 1e6 + 0.3), (1e-9, 1e6)]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("n", [50, 2000])
def test_clip_points_never_leave_the_bounds(
    n: int, bounds: tuple[float, float], adjacency: str
) -> None:
    rng = np.random.default_rng(n)
    records = np.clip(rng.lognormal(8, 2, (n, 2)), *bounds)
    for data, budget in [
        (records[:, 0], {"epsilon": 0.1}),
        (records[:, 0], {"rho": 0.5}),
        (records, {"epsilon": 1.0}),
        (records, {"epsilon": 1.0, "same_scale": True}),
        (records, {"rho": 0.5}),
    ]:
        for row in tt.mean(data, tail=tt.Bounded(*bounds), neighbors=adjacency, **budget):
            assert bounds[0] <= row.clip[0] <= row.clip[1] <= bounds[1]
            assert bounds[0] <= row.low <= row.value <= row.high <= bounds[1]


def test_half_lines_too() -> None:
    amounts = np.random.default_rng(1).exponential(3, 2000)
    for budget in ({"epsilon": 1.0}, {"rho": 0.5}):
        (row,) = tt.mean(amounts, tail=tt.Bounded(0, None), **budget)
        assert row.clip[0] >= 0
