from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.errors import InternalError
from tametail.inequalities.quantiles import sum_quantile
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.tail_assumption import contradicts
from tametail.methods.winsorized.tail_histogram import TailHistogram, histogram_query, window_sums
from tametail.privacy.budget import Noise
from tametail.queries.column import SOFT_ONE, TailNodes

from ..opened import open_table  # noqa: TID252

FIRST, LAST = -20, 20
SILENT = Noise("laplace", 1e-3)


ALL, FEW = None, (-4, 4)


def _tails(
    data: np.ndarray, noise: Noise = SILENT, fine: tuple[int, int] | None = ALL
) -> TailHistogram:
    query = TailNodes(0.0, FIRST, LAST, fine=fine)
    places, sides = np.array(query.nodes) - FIRST, np.zeros((2, LAST - FIRST + 1))
    answer = np.array(open_table(data).answer(query), dtype=np.float64)
    sides[:, places] = answer.reshape(2, -1) / SOFT_ONE
    return TailHistogram(*sides, FIRST, noise, nodes=None if fine is ALL else places)


@pytest.mark.parametrize("fine", [ALL, FEW, (0, 0)])
@given(
    st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=30),
    st.floats(1e-7, 1e7),
    st.floats(1.0, 1e6),
)
def test_no_record_between_the_distances_is_missed(fine, records, distance, factor):
    tails, farthest = _tails(np.array(records), fine=fine), distance * factor
    between = sum(distance < record <= farthest for record in records)
    bound = tails.beyond(tails.above, distance, 0.5, farthest=farthest)
    assert bound >= between - 1e-9
    assert tails.beyond(tails.above, distance, 0.5) >= sum(x > distance for x in records) - 1e-9


@pytest.mark.parametrize("scale", [0.7, 5.0])
@pytest.mark.parametrize("terms", [1, 2, 3, 8])
@pytest.mark.parametrize("risk", [0.1, 0.01, 1e-4])
def test_sums_of_laplace_noises_stay_below_their_quantile(scale, terms, risk):
    ratio, reach = np.exp(-1 / scale), 400
    mass = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1))
    total = np.array([1.0])
    for _ in range(terms):
        total = np.convolve(total, mass)
    values = np.arange(-reach * terms, reach * terms + 1)
    bound = sum_quantile(Noise("laplace", scale), risk, terms)
    assert total[values > bound].sum() <= risk + 1e-12
    assert bound <= Noise("laplace", scale).sum_quantile(risk, terms)


def test_the_quantile_of_many_laplace_noises_is_nearly_exact():
    draws = np.random.default_rng(1).laplace(size=(200_000, 6)).sum(axis=1)
    bound = sum_quantile(Noise("laplace", 1e6), 0.01, 6) / 1e6
    assert abs(np.mean(draws > bound) - 0.01) < 0.0015


def test_between_distances_in_the_wrong_order_there_is_a_node_all_the_same():
    """Once an error in a release: bounded records, and a clip point beyond the bound."""
    tails = _tails(np.array([1.0, 2.0]), Noise("laplace", 4.0 * SOFT_ONE))
    assert 0 < tails.beyond(tails.above, 100.0, 0.01, farthest=2.0) < 100


def test_gaussian_noise_uses_chernoff():
    noise = Noise("gaussian", 10.0)
    assert sum_quantile(noise, 0.01, 4) == noise.sum_quantile(0.01, 4)


def test_records_within_the_assumption_raise_no_doubt():
    records = np.random.default_rng(2).uniform(-1, 1, 10_000)
    tails = _tails(records)
    assert contradicts(tt.Bounded(-1.0, 1.0), tails, 0.0, 0.0, 10_000) is False
    assert contradicts(tt.Moment(2, 0.58), tails, 0.0, 0.0, 10_000) is False
    assert contradicts(None, tails, 0.0, 0.0, 10_000) is None
    far = _tails(np.concatenate([records, [500.0] * 2000]))
    assert contradicts(tt.Bounded(-1.0, 1.0), far, 0.0, 0.0, 12_000) is True
    assert contradicts(tt.Moment(2, 0.58), far, 0.0, 0.0, 12_000) is True


@pytest.mark.parametrize("end", [1.0, 2.0, 1.5])
def test_records_at_the_very_bound_raise_no_doubt(end):
    tails = _tails(np.full(100_000, end))
    assert contradicts(tt.Bounded(-end, end), tails, 0.0, end, 100_000) is False


@pytest.mark.parametrize("k", [1.5, 2.0, 3.0, 4.0])
def test_a_moment_that_is_too_small_raises_doubt(k):
    """Once Moment(2, sd/10) was never flagged on four of five columns."""
    records = np.random.default_rng(3).exponential(size=20_000)
    off, tails = 1 - np.log(2), _tails(records - np.log(2), Noise("laplace", 4.0 * SOFT_ONE))
    scale = float(np.mean(np.abs(records - 1) ** k) ** (1 / k))
    assert contradicts(tt.Moment(k, scale), tails, 0.0, off, 20_000) is False
    assert contradicts(tt.Moment(k, scale / 2), tails, 0.0, off, 20_000) is True


def test_records_in_the_octave_of_a_bound_but_beyond_it_raise_doubt():
    records = np.random.default_rng(4).uniform(0.0, 1.9, 20_000)
    tails = _tails(records, Noise("laplace", 4.0 * SOFT_ONE))
    assert contradicts(tt.Bounded(-1.0, 1.9), tails, 0.0, 1.0, 20_000) is False
    assert contradicts(tt.Bounded(-1.0, 1.2), tails, 0.0, 1.0, 20_000) is True


def test_windows_add_up_four_nodes():
    assert window_sums(np.arange(6.0)).tolist() == [6.0, 10.0, 14.0, 12.0, 9.0, 5.0]


@given(st.lists(st.floats(-1e5, 1e5), min_size=1, max_size=12))
def test_no_median_is_misplaced(records):
    data = np.tile(np.sort(records), 500)
    centre = float(np.sort(data)[(len(data) - 1) // 2])
    assert _tails(data - centre).location_error(len(data)) is None


@pytest.mark.parametrize("sign", [-1, 1])
@given(st.sampled_from([0.03, 0.2, 1.3, 2.1, 31.0, 33.0, 4e3]), st.floats(0.0, 1e-3))
def test_records_at_shared_nodes_are_found_within_them(sign, distance, spread):
    data = sign * distance * (1 + spread * np.linspace(-1, 1, 1000))
    found = _tails(data, fine=(0, 1)).location_error(len(data))
    assert found is not None
    assert found[0] <= data.min() <= data.max() <= found[1]


def test_a_sum_of_counts_knows_how_coarse_shared_nodes_are():
    tails = _tails(np.full(1000, 100.0), fine=FEW)  # counts at node 8, that is 256
    assert tails.coarsest(300.0) == 256.0
    assert tails.coarsest(2.0**-4) == 2.0**-4  # the first fine node has all from 2**-8 on
    assert tails.coarsest(2.0**-25) == _tails(np.ones(3)).coarsest(300.0) == 0.0


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-4, 4),
)
def test_no_record_is_nearer_than_the_first_node(centre, record, ulps):
    plan = ColumnPlan.of(tt.plan(n=1000, epsilon=1, confidence=None))
    first = histogram_query(plan, centre).first
    near = centre
    for _ in range(abs(ulps)):
        near = math.nextafter(near, math.copysign(math.inf, ulps))
    for value in (record, near):
        distance = abs(value - centre)
        assert distance == 0 or distance >= 2.0**first or first in (-128, 127)


def test_octaves_near_the_centre_and_above_a_told_scale_have_their_own_nodes():
    plain, told = (
        ColumnPlan.of(tt.plan(n=1000, epsilon=1, tail=tail)) for tail in (None, tt.Moment(2, 3.0))
    )
    for centre, octave in ((1.5, 0), (1e12, 39), (0.0, 0), (-1e-30, -100)):
        nodes = histogram_query(plain, centre).nodes
        wanted = range(max(min(octave, 0) - 40, nodes[0]), max(octave, 0) + 49)
        assert set(wanted) <= set(nodes)
        assert len(nodes) < (200 if octave == -100 else 140)
    nodes = histogram_query(told, 1.5).nodes
    assert nodes[-1] == 2 + 32
    assert set(range(-40, 35)) <= set(nodes)


@pytest.mark.parametrize("sign", [-1, 1])
@given(st.floats(0.01, 1e4), st.floats(0.0, 1e-3))
def test_records_away_from_the_centre_are_found_where_they_are(sign, distance, spread):
    data = sign * distance * (1 + spread * np.linspace(-1, 1, 1000))
    low, high = _tails(data).location_error(len(data))
    assert low <= data.min() <= data.max() <= high
    assert high - low <= distance / 2


def test_a_tenth_of_the_records_elsewhere_is_no_reason_to_look_there():
    data = np.concatenate([np.full(850, 100.0), np.zeros(150)])
    assert _tails(data).location_error(len(data)) is None


def test_a_guess_of_the_size_that_is_too_small_misplaces_no_centre():
    data = np.concatenate([np.full(1000, 3.0), np.full(1000, -3.0)])
    assert _tails(data).location_error(500) is None


def test_nobody_knows_where_records_beyond_the_last_node_are():
    assert _tails(np.full(1000, 2.0 ** (LAST + 3))).location_error(1000) is None


def test_noise_on_the_other_side_does_not_hide_a_misplaced_centre():
    tails = _tails(np.full(300, 100.0), Noise("laplace", 5.0 * SOFT_ONE))  # five records
    tails.below[3:6] += 20.0  # twelve noise scales: usual somewhere among hundreds of nodes
    assert tails.location_error(300) is not None
    tails.below[3:6] += 24.0  # they stand out
    assert tails.location_error(300) is None
    assert tails.location_error(300, perhaps=True) is not None
    tails.below[3:6] += 100.0  # records
    assert tails.location_error(300) is None
    assert tails.location_error(300, perhaps=True) is None


def test_noise_that_hides_a_part_of_nearly_all_is_reckoned_with_for_a_warning():
    tails = _tails(np.full(300, 100.0), Noise("laplace", 5.0 * SOFT_ONE))
    assert tails.location_error(345) is None  # 0.9 * 345 = 310
    assert tails.location_error(345, perhaps=True) is not None
    half = _tails(np.repeat([-100.0, 100.0], 150), Noise("laplace", 5.0 * SOFT_ONE))
    assert half.location_error(300, perhaps=True) is None


def test_a_transcript_of_another_version_is_refused():
    release = tt.mean(np.arange(3000.0), epsilon=1)
    answers = list(release.answers)
    answers[2] = answers[2][2:]  # fewer nodes
    with pytest.raises(InternalError, match="another version"):
        tt.replay(release.plan, answers)
