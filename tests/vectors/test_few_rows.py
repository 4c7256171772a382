"""Few rows in a ball: may be mostly noise, and then no interval rests on it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tametail as tt

BUDGETS = {
    "zCDP": {"rho": 1.0},
    "one scale": {"epsilon": 1.0, "same_scale": True},
    "a delta": {"epsilon": 1.0, "delta": 1e-6},
}
UNITS = {"unknown n": {}, "replace-one": {"neighbors": "replace-one"}, "known n": {"n": 3}}


def _rows(n: int) -> np.ndarray:
    return np.random.default_rng(n).lognormal(2, 1, (n, 3))


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_three_rows_have_no_interval(budget: str, adjacency: str) -> None:
    release = tt.mean(_rows(3), **BUDGETS[budget], **UNITS[adjacency])
    assert release.has_warnings
    for row in release:
        assert (row.low, row.high) == (-math.inf, math.inf)
        # A count of three rows may come out so low that there seems to be nothing at all.
        codes = {note.code for note in (*row.notes, *release.notes)}
        assert codes & {"few-records", "no-signal"}
        assert row.error_components["privacy"] is None


@pytest.mark.parametrize("budget", BUDGETS)
def test_three_rows_know_what_they_were_told(budget: str) -> None:
    for row in tt.mean(_rows(3), within=(0, 500), **BUDGETS[budget]):
        assert (row.low, row.high, row.interval_target) == (0, 500, "mean")
        assert any(note.kind == "warning" for note in row.notes)
    for row in tt.mean(_rows(3), tail=tt.Bounded(0, None), **BUDGETS[budget]):
        assert (row.low, row.high) == (0, math.inf)


@pytest.mark.parametrize("budget", BUDGETS)
def test_proved_intervals_of_three_rows_stay(budget: str) -> None:
    for row in tt.mean(_rows(3), tail=tt.Bounded(0, 500), **BUDGETS[budget]):
        assert 0 <= row.low <= math.exp(2.5) <= row.high <= 500
        assert row.interval_target == "mean"


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_enough_rows_have_intervals(budget: str, adjacency: str) -> None:
    release = tt.mean(_rows(1000), neighbors=adjacency, **BUDGETS[budget])
    assert all(math.isfinite(row.high - row.low) for row in release)


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_plan_of_few_rows_promises_none(budget: str) -> None:
    few, enough = (tt.plan(n, n_columns=20, **BUDGETS[budget]) for n in (8, 1000))
    assert few.half_width(0.95) == math.inf
    assert any("may be mostly noise" in str(note) for note in few.advice)
    assert enough.half_width(0.95) < math.inf
