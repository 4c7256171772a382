"""What else a release shows from answers that are paid for: count, median, quantiles, survival."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tametail as tt
from tametail.errors import ParameterError

RECORDS = np.random.default_rng(1).lognormal(7, 1, 20_000)


@pytest.fixture(scope="module")
def release():
    return tt.mean(RECORDS, epsilon=1)


def test_quantiles_are_close(release):
    median = np.median(RECORDS)
    for level, most in ((0.1, 0.3), (0.75, 0.2), (0.9, 0.15), (0.95, 0.15), (0.97, 0.3)):
        true = np.quantile(RECORDS, level)
        assert abs(release.quantile(level) - true) < most * abs(true - median)
    # One release in a hundred misses this by chance, three of five do not.
    found = [release.median, *(tt.mean(RECORDS, epsilon=1).median for _ in range(4))]
    assert sorted(found)[2] == pytest.approx(median, rel=0.1)
    assert release.count == pytest.approx(20_000, rel=0.02)
    assert 1 < release.tail_index < 4
    assert release.quantile(1 - 1e-6) is None  # so few are not seen
    with pytest.raises(ParameterError, match="Invalid level=2"):
        release.quantile(2)


def test_quantiles_rise_with_their_level(release):
    found = [release.quantile(level) for level in np.linspace(0.05, 0.98, 40)]
    seen = [value for value in found if value is not None]
    assert len(seen) > 30
    assert seen == sorted(seen)


def test_survival_is_a_table(release):
    table = release.survival()
    assert list(table.columns) == ["value", "share_above", "error"]
    assert table["value"].is_monotonic_increasing
    assert table["share_above"].is_monotonic_decreasing
    exact = np.array([np.mean(value < RECORDS) for value in table["value"]])
    # At the median, and where a count is a knot; noise, and the shape within an octave.
    assert np.abs(exact - table["share_above"]).max() < 0.06


@pytest.mark.parametrize("records", [np.full(3_000, 7.0), np.array([]), np.full(99, np.nan)])
def test_where_nothing_stands_out_there_is_none(records):
    release = tt.mean(records, epsilon=1)
    assert release.median is None
    assert release.quantile(0.9) is None
    assert release.tail_index is None
    assert len(release.survival()) == 0


def test_several_columns_have_arrays():
    rows = np.column_stack([RECORDS, np.zeros(len(RECORDS))])
    release = tt.mean(rows, epsilon=2)
    assert release.count.shape == (2,)
    assert release.quantile(0.9)[0] > 1_000
    assert np.isnan(release.quantile(0.9)[1])
    assert set(release.survival()["row"]) == {"0"}


def test_they_are_stored_and_replayed(release):
    again = tt.Release.from_json(release.to_json())
    assert again.quantile(0.9) == release.quantile(0.9)
    assert again[0].shape == release[0].shape
    assert tt.replay(release.plan, release.answers)[0].shape == release[0].shape
    assert json.loads(release.to_json())["rows"][0]["count"] == release.count


def test_methods_that_count_no_octaves_say_so():
    release = tt.mean([0.0, 1.0] * 100, epsilon=1, tail=tt.Bounded(0, 1), neighbors="replace-one")
    assert release.method == "bounded mean"
    assert release.quantile(0.5) is None
    assert release.count == pytest.approx(200, abs=60)
