"""What small groups are like: the noise of one cell must not decide where a group is clipped."""

import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import tametail as tt
from tametail.means import MEAN_AS_SEEN, WINSORIZED
from tametail.methods.groups.group_models import GroupModels
from tametail.methods.groups.interval import Small, intervals_of
from tametail.methods.groups.shape import Shape
from tametail.methods.winsorized.approximate_interval import HiddenExcess
from tametail.methods.winsorized.tail_histogram import TailHistogram
from tametail.privacy.budget import Noise
from tametail.queries.column import ClippingGrid

NOISE = Noise("laplace", 5.3)


def pooled(rng, records, noise=1.0):
    """Return the shape that octave counts of these records show, with next to no noise."""
    center = float(np.median(records))
    octaves = np.arange(-12, 20)
    sides = [np.zeros(len(octaves)) for _ in range(2)]
    for side, distances in zip(sides, (center - records, records - center), strict=True):
        for distance in distances[distances > 0].tolist():
            octave = max(math.frexp(distance)[1] - 1, -12)
            side[octave + 12] += 1
    tails = TailHistogram(*sides, -12, Noise("laplace", noise))
    return Shape.read(center, tails, len(records), noise)


@pytest.fixture(scope="module")
def shape():
    rng = np.random.default_rng(5)
    return pooled(rng, np.exp(1.35 * rng.standard_normal(20_000)))


def reaches(shape, cells):
    like = GroupModels.read(shape, cells, NOISE)
    return like.choose(cells.sum(axis=1), shape.grid(), 5.0, 300.0).reaches


def cells_of(shape, groups):
    cuts = [-np.inf, *(shape.center + shape.cuts), np.inf]
    return np.array([np.histogram(group, cuts)[0] for group in groups], dtype=float)


def test_records_that_are_never_negative_have_no_points_below_zero(shape):
    lowest = shape.center + shape.distances[0]
    assert 0 <= lowest < 0.05 * shape.center
    below = shape.center + shape.cuts[:3]
    assert (below > 0).all()
    shares = [shape.shares[shape.center + shape.distances < cut].sum() for cut in below]
    assert shares == pytest.approx([0.02, 0.1, 0.3], abs=0.03)
    rng = np.random.default_rng(6)
    both = pooled(rng, 0.5 + rng.standard_t(3, 20_000))
    assert both.center + both.distances[0] < -1


def test_a_group_of_small_numbers_is_clipped_closely_and_noise_in_one_cell_changes_little(shape):
    rng = np.random.default_rng(7)
    levels = np.exp(0.9 * rng.standard_normal(60))
    groups = [level * np.exp(rng.standard_normal(150)) for level in levels]
    groups.append(0.13 * np.exp(rng.standard_normal(150)))
    cells = cells_of(shape, groups)
    quiet = reaches(shape, cells)
    cells[-1, -1] += 25  # a record in 200 has more noise than that
    noisy = reaches(shape, cells)
    assert quiet[-1] < 2
    assert noisy[-1] <= 3 * quiet[-1]
    assert quiet[np.argmax(levels)] > 8 * quiet[-1]


def test_a_group_may_lie_in_one_cell_and_still_have_a_tail(shape):
    """Without narrow models no such group is like any; without a fringe it would have no tail."""
    rng = np.random.default_rng(10)
    groups = np.exp(1.35 * rng.standard_normal((9, 2000)))
    like = GroupModels.read(shape, cells_of(shape, groups), NOISE)
    places = np.searchsorted(shape.cuts, shape.distances, side="right")
    shares = like.distributions @ (places[:, None] == np.arange(len(shape.cuts) + 1))
    assert (shares[:, 1:-1].max(axis=0) > 0.55).all()  # between any two cuts; before, .39
    narrow = shares[np.argmax(shares[:, 3])]  # around the center
    assert narrow[3] > 0.7
    assert narrow[[0, 1, 5, 6]].sum() > 0.01


def test_the_part_of_an_interval_that_noise_makes_is_in_the_units_of_the_records():
    rng = np.random.default_rng(8)
    keys = np.repeat(np.arange(6), 300)
    frame = {"x": 1e-3 * np.exp(rng.standard_normal(1800)), "key": keys, "who": np.arange(1800)}
    table = pa.table(frame)
    for release in (
        tt.mean(table, "x", by="key", keys=list(range(6)), epsilon=2),
        tt.mean(table, "x", person="who", epsilon=20),
    ):
        for row in release:
            interval = row.intervals[-1]
            if math.isfinite(interval.low):
                assert 0 < interval.error_components["privacy"] < interval.high - interval.low


def test_an_end_far_from_the_middle_reckons_with_the_count_where_it_lies():
    part = SimpleNamespace(
        confidence=0.999, tail=None, possible=(-math.inf, math.inf), target="population"
    )
    group = Small(
        part, 0.0, np.zeros(0), np.zeros(1), 1.0, ClippingGrid.around(0.0, 8.0, 8.0, bits=24), 1.0,
        1.0, 70.0, 14.0, Noise("laplace", 1e4), True, (HiddenExcess(), HiddenExcess()),
    )  # fmt: skip
    ((mean, interval),) = intervals_of([group], [group.error])
    assert (mean.low, mean.high) == (interval.low, interval.high)  # nothing lies beyond
    # If there are 70 - 2.5 * 14 = 35 records, a mean of 1 was one of 2 in truth.
    assert interval.high > 2
    assert interval.high - 1 > 1.5 * (1 - interval.low)


def test_the_mean_of_a_small_group_has_an_interval_with_what_lies_beyond():
    rng = np.random.default_rng(4)
    frame = {"x": np.exp(1.3 * rng.standard_normal(6000)), "key": np.repeat(np.arange(20), 300)}
    release = tt.mean(pa.table(frame), "x", by="key", keys=list(range(20)), epsilon=1)
    held = 0
    for row in release:
        mean, clipped = row.intervals
        assert (mean.kind, clipped.kind) == (MEAN_AS_SEEN, WINSORIZED)
        # Of a group without values below the bounds both are the same limit, computed twice.
        assert mean.low <= clipped.low or mean.low == pytest.approx(clipped.low, rel=1e-15)
        assert clipped.low <= clipped.high < mean.high < math.inf
        assert 0 < mean.error_components["clipping"] < mean.high - mean.low
        held += mean.low <= math.exp(1.3**2 / 2) <= mean.high
    assert held >= 15  # if each of the 20 holds with .95, fewer have a probability of 3e-4
