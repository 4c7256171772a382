"""What may lie beyond the clip points: curves up to infinity, a far group, and no limit at all."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tametail as tt
from tametail import notes
from tametail.inequalities.quantiles import Shifts
from tametail.means import MEAN_AS_SEEN, WINSORIZED
from tametail.methods.persons.estimate import OF_TOTALS
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.approximate_interval import (
    HiddenExcess,
    _group,
    _levels,
    thinned,
)
from tametail.methods.winsorized.tail_histogram import TailHistogram
from tametail.methods.winsorized.tail_models import RECORDS, TailFit, _curves, _rest
from tametail.privacy.budget import Noise
from tametail.queries.column import SOFT_ONE

UNITS = ["add-remove", "replace-one"]


def codes(release):
    return {note.code for note in release.notes}


def test_curves_are_summed_to_infinity():
    """By many octaves of small steps, which is another way than the closed form."""
    log_t = 9 * math.log(2)
    for start, bend in ((1.2, 0.0), (2.6, 0.0), (0.45, 0.3), (1.2, 1.5), (5.0, 40.0)):
        u = np.linspace(0.0, 120.0, 1_200_001)
        slope = start + bend * log_t
        heights = np.exp(np.maximum((1 - slope) * u - bend * u * u / 2, -700.0))
        summed = float((heights[1:] + heights[:-1]).sum() / 2 * u[1])
        (found,) = _rest(np.array([start]), np.array([bend]), log_t)
        assert found == pytest.approx(summed, rel=1e-3)


def test_only_power_laws_without_a_mean_are_endless_and_believed_less():
    curves = _curves()
    assert set(tuned.BELIEF) == {start for start in tuned.START_SLOPES if start <= 1}
    assert np.array_equal(curves.log_belief < 0, curves.unbounded)
    assert np.all(np.isfinite(curves.rest))


def test_heavier_is_a_curve_with_more_than_an_eighth_of_its_excess_far_away():
    curves, last_bin = _curves(), np.searchsorted(_curves().distances, 1.0)
    far = np.searchsorted(curves.distances, 16.0)
    whole = curves.excess + curves.rest[:, None]
    share = whole[:, far] / whole[:, last_bin]
    assert curves.heaviness == pytest.approx(np.log(np.maximum(8 * share, 1.0)), abs=1e-9)
    assert np.all(curves.heaviness[curves.unbounded] > 0)
    starts = np.repeat(tuned.START_SLOPES, len(tuned.CURVATURES))  # the same at every level
    assert np.all(curves.heaviness[np.resize(starts, len(curves.rest)) >= 2.6] == 0)


def test_of_totals_less_is_believed_beyond_than_of_records():
    """And what is believed of records is what it was: another prior is another argument."""
    counts = np.array([30.0, 16.0, 8.0, 5.0, 1.0, -1.0, 0.5, 0.0, -0.5, 1.0, 0.0])
    fit = TailFit.of(counts * 5.6, 5.6, 3.0)
    upper = {}
    for prior in (RECORDS, OF_TOTALS):
        excess, weights, unbounded = fit.beyond(1.5, prior)
        assert weights.sum() == pytest.approx(1)
        assert 0 <= unbounded < tuned.ENDLESS
        upper[prior] = HiddenExcess(thinned(excess, weights)).quantile(0.025)
    assert upper[OF_TOTALS] < upper[RECORDS]
    again = fit.beyond(1.5)
    assert all(map(np.array_equal, again, fit.beyond(1.5, RECORDS)))


def test_few_points_stand_for_a_law():
    values = np.random.default_rng(1).lognormal(0, 2, 5_000)
    law = thinned(values, np.full(5_000, 1 / 5_000))
    assert np.all(np.diff(law.points) >= 0)
    assert law.weights.sum() == pytest.approx(1)
    hidden = HiddenExcess(law)
    for risk in (0.2, 0.05, 0.025):
        assert hidden.quantile(risk) == pytest.approx(np.quantile(values, 1 - risk), rel=0.1)
    assert _levels()[1][-1] == tuned.LAST_POINT
    assert HiddenExcess(law, unbounded=True).quantile(0.5) == math.inf
    assert HiddenExcess(law).over(2.0).quantile(0.05) == pytest.approx(hidden.quantile(0.05) / 2)
    assert HiddenExcess(Shifts(np.array([1.0]), np.ones(1))).quantile(0.05) == 1.0


@pytest.mark.parametrize("adjacency", UNITS)
def test_a_tail_without_a_mean_has_no_upper_limit_and_one_warning(adjacency):
    rng, unbounded = np.random.default_rng(3), 0
    for _ in range(12):
        release = tt.mean(rng.pareto(0.4, 100_000), epsilon=1, neighbors=adjacency)
        if math.isinf(release.high):
            unbounded += 1
            assert [note for note in release.notes if note.kind == "warning"] == [
                notes.NO_UPPER_LIMIT
            ]
            assert math.isfinite(release.low)
            assert release.has_warnings
            assert (
                release.error_components["clipping"]
                == release.error_components["privacy"]
                == math.inf
            )
            clipped = release.intervals[1]
            assert clipped.kind == WINSORIZED
            assert math.isfinite(clipped.high)
            assert tt.replay(release.plan, release.answers) == release
            assert tt.Release.from_json(release.to_json()) == release
    assert unbounded >= 6
    mirrored = [
        tt.mean(-rng.pareto(0.4, 100_000), epsilon=1, neighbors=adjacency) for _ in range(6)
    ]
    assert any("no-lower-limit" in codes(one) and one.low == -math.inf for one in mirrored)


def test_what_was_told_limits_a_tail_without_a_mean():
    records = np.random.default_rng(5).pareto(0.6, 50_000)
    for _ in range(6):
        cut = tt.mean(records, epsilon=1, within=(0, 1e9))
        assert cut.high <= 1e9
        assert "no-upper-limit" not in codes(cut)
        proved = tt.mean(np.minimum(records, 1e6), epsilon=1, tail=tt.Bounded(0, 1e6))
        assert math.isfinite(proved.high)
        assert math.isfinite(proved.error_components["privacy"])


@pytest.mark.parametrize("index", [2.0, 3.0])
def test_usual_tails_keep_their_limit(index):
    rng = np.random.default_rng(6)
    found = [tt.mean(rng.pareto(index, 20_000), epsilon=1) for _ in range(20)]
    assert sum(math.isfinite(one.high) for one in found) >= 16
    assert all(one[0].intervals[0].kind == MEAN_AS_SEEN for one in found)


def far_group(rng, n=100_000, size=80):
    """Return normal records and about twenty noise scales of others, which no anchor reaches."""
    records = rng.normal(size=n)
    records[:size] = 6_000 * rng.uniform(1, 1.5, size)
    return records, 7_500 * size / n


@pytest.mark.parametrize("adjacency", UNITS)
def test_a_group_across_a_gap_is_covered_or_warned_of(adjacency):
    rng, good = np.random.default_rng(8), 0
    for _ in range(20):
        records, mean = far_group(rng)
        release = tt.mean(records, epsilon=1, neighbors=adjacency)
        good += "far-group" in codes(release) or release.low <= mean <= release.high
    assert good >= 15


def test_no_group_is_seen_where_there_is_none():
    rng = np.random.default_rng(9)
    found = [tt.mean(rng.lognormal(size=5_000), epsilon=1) for _ in range(100)]
    assert sum("far-group" in codes(one) for one in found) <= 8  # 2% are allowed: P(> 8) < 1e-3


def test_wide_limits_come_with_a_warning():
    """Noise alone made 6% of them more than five times as wide as usual, hardly any warned of."""
    rng = np.random.default_rng(11)
    found = [tt.mean(rng.lognormal(size=20_000), epsilon=1) for _ in range(100)]
    widths = np.array([one.high - one.low for one in found])
    wide = [one for one, width in zip(found, widths, strict=True) if width > 5 * np.median(widths)]
    assert len(wide) <= 8  # 2% of false alarms: P(> 8) < 1e-3
    assert sum("far-group" not in codes(one) for one in wide) <= 1


def test_counts_decide_about_a_group_only_where_they_are_worth_a_warning():
    none = np.zeros(40)
    tails = TailHistogram(none, none, -4, Noise("laplace", 10.0 * SOFT_ONE))
    added, beforehand, _ = _group(tails, none, 10, 1.0)
    assert beforehand.sum() == pytest.approx(1)
    for scales, heard in ((4.0, False), (16.0, True)):
        counts = none.copy()
        counts[25:27] = scales / 2 * tails.scale
        again, weights, likelier = _group(tails, counts, 10, 1.0)
        assert np.array_equal(again, added)
        assert (likelier > tuned.GROUP_LIKELY) == heard
        assert np.array_equal(weights, beforehand) != heard
        assert weights.sum() == pytest.approx(likelier if heard else 1)


def test_a_group_is_said_without_an_interval_too():
    records, _ = far_group(np.random.default_rng(10), size=50)
    found = [tt.mean(records, epsilon=1, confidence=None) for _ in range(20)]
    assert any("far-group" in codes(one) for one in found)
    assert all(one.low is None for one in found)
