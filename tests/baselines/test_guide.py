"""A small version of benchmarks/guide.py: what the guide says about plans, quantiles and doubts."""

from __future__ import annotations

import pytest

import guide
from _common import laws

LOGNORMAL = next(law for law in laws() if law.name == "lognormal 1")


def test_quantiles_are_near_the_true_ones():
    table = {row[0]: row[1:] for row in guide.shape([LOGNORMAL], 64)}
    typical = float(table["q90"][2].split("%")[0])  # in percent, at (10,000, 1)
    assert typical < 15


def test_a_tenth_of_a_scale_is_doubted_and_the_scale_is_not():
    _, (_, right, _, tenth) = guide.doubts([LOGNORMAL], 5)
    assert float(right) == 0.0
    assert float(tenth) == 1.0


def test_planned_half_widths_are_those_of_releases(monkeypatch):
    monkeypatch.setattr(guide, "MORE_CELLS", ((2_000, 1.0),))
    rows = {row[0]: row[1] for row in guide.widths([], 5)}
    assert float(rows["uniform in bounds, replace-one"]) == pytest.approx(1.0, abs=0.35)


def test_the_part_of_privacy_holds_the_mean_of_the_records(monkeypatch):
    monkeypatch.setattr(guide, "CELLS", ((10_000, 1.0),))
    rows = list(guide.privacy([LOGNORMAL], 40))
    assert all(float(held) >= 0.5 for _, held, _ in rows[1:])
