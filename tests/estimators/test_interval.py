from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import tametail as tt
from tametail.inequalities.concentration import count_bound, mean_deviation, second_moment_bound
from tametail.inequalities.quantiles import (
    NOWHERE,
    Shifts,
    Spread,
    normal_tail,
    scaled_tail,
    spread_quantiles,
)
from tametail.inequalities.risk import split_risk
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.guaranteed_interval import per_count
from tametail.methods.winsorized.sums import NoisySum
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.privacy.budget import Noise
from tametail.queries.column import SOFT_ONE, ClippingGrid, LogHistogram

from ..opened import open_table  # noqa: TID252
from .exact import estimate

# A law on 0, 1, ..., with these weights; its sums have exact laws by convolution.
weights = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=9).filter(lambda w: sum(w) > 0.01)
risks = st.floats(1e-4, 0.3)


def _sums(law: np.ndarray, n: int) -> np.ndarray:
    total = np.array([1.0])
    for _ in range(n):
        total = np.convolve(total, law)
    return total


def _laplace_above(bound: np.ndarray, scale: float) -> np.ndarray:
    return stats.laplace.sf(np.maximum(bound, 0.0), scale=scale)


@given(weights, st.integers(1, 30), risks, st.floats(0.0, 3.0))
def test_no_law_of_bounded_records_deviates_more_often(weights, n, risk, noise_scale):
    law = np.array(weights) / sum(weights)
    points = np.arange(len(law))
    mean = law @ points
    deviation = math.sqrt(law @ (points - mean) ** 2)
    reach = points[law > 0].max() - mean
    assume(deviation > 1e-6)
    noise = Noise("laplace", noise_scale) if noise_scale > 0.01 else None
    bound = mean_deviation(deviation, reach, n, risk, noise)
    sums = _sums(law, n)
    above = bound - (np.arange(len(sums)) / n - mean) + 1e-12
    # The records may choose less noise, and do so where their mean alone is beyond the bound.
    chance = np.where(above < 0, 1.0, 0.0 if noise is None else _laplace_above(above, noise_scale))
    assert sums @ chance <= risk * (1 + 1e-9)


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.integers(100, 10**6), risks)
def test_deviations_shrink_with_more_records_and_less_spread(deviation, reach, n, risk):
    bound = mean_deviation(deviation, reach, n, risk)
    assert mean_deviation(deviation, reach, 2 * n, risk) <= bound * 1.05
    assert mean_deviation(deviation / 2, reach, n, risk) <= bound * 1.05
    assert mean_deviation(deviation, reach / 2, n, risk) <= bound * 1.05
    cantelli = deviation * math.sqrt((1 - risk) / risk / n)
    assert bound <= cantelli * 1.05


@pytest.mark.parametrize("n", [10**4, 10**8, 10**12, 10**15])
def test_many_records_come_close_to_the_normal_law(n):
    ratio = mean_deviation(1.0, 5.0, n, 0.0175) * math.sqrt(n)
    assert 2.11 < ratio < 2.9


def test_degenerate_deviations():
    assert mean_deviation(0.0, 0.0, 10, 0.05) == 0.0
    assert mean_deviation(math.inf, math.inf, 10, 0.05) == math.inf
    assert mean_deviation(1e300, 1e308, 10, 0.05) < math.inf
    assert mean_deviation(1e-300, 1e-300, 10, 0.05, Noise("gaussian", 1e-300)) > 0


@given(weights, st.integers(1, 30), risks, st.booleans())
def test_a_mean_of_squares_seldom_falls_so_short(weights, n, risk, knows_fourth):
    law = np.array(weights) / sum(weights)
    squares = np.arange(len(law)) / (len(law) - 1)  # Z in [0, 1]
    fourth = float(law @ squares**2) if knows_fourth else math.inf
    chances = _sums(law, n)
    means = np.arange(len(chances)) / (n * (len(law) - 1))
    bounds = np.array([second_moment_bound(mean, 1.0, n, risk, fourth) for mean in means])
    assert chances[law @ squares > bounds + 1e-12].sum() <= risk * (1 + 1e-9)


@given(st.integers(1, 10**5), st.floats(1e-6, 0.5), risks)
def test_counts_of_rare_events(n, share, risk):
    assert stats.binom.sf(math.floor(count_bound(n * share, risk)), n, share) <= risk


@given(st.floats(1e-4, 1e4), st.floats(1e-4, 1e4), st.floats(1e-5, 1e5))
def test_an_excess_is_a_multiple_of_what_counts_at_higher_nodes(start, excess, distance):
    first, last = -20, 20
    answer = open_table([distance]).answer(LogHistogram(0.0, first, last))
    above = np.array(answer[last - first + 1 :])
    node = math.frexp(start)[1]
    counted = above[node - first :].sum() / SOFT_ONE
    needed = max(min(distance, start + excess) - start, 0.0)
    assert per_count(start, excess) * counted >= needed * (1 - 1e-12)


@given(
    st.integers(1, 1000),
    st.integers(-(10**6), 10**6),
    st.floats(-20, 20),
    st.floats(-0.9, 20),
)
def test_noise_on_sum_and_count_is_noise_on_their_quotient(n, total, on_sum, on_count):
    value = (total + on_sum) / (n + on_count)
    assert value - total / n == pytest.approx((on_sum - value * on_count) / n, abs=1e-6)


def test_a_count_that_may_be_noise_alone_says_nothing():
    lattice = ClippingGrid.around(0.0, 1.0, 1.0)
    noisy = NoisySum(0.0, lattice, 5.0, 3.0, 1, Noise("laplace", 10.0))
    assert noisy.count_bound(0.01) == (math.inf, 1.0)
    public = NoisySum(0.0, lattice, 5.0, 3.0, 0, Noise("laplace", 10.0))
    assert public.count_bound(0.01) == (0.0, 3.0)


@pytest.mark.parametrize(
    ("adjacency", "n", "epsilon", "small"),
    [
        ("replace-one", 100_000, 1, True),
        ("add-remove", 100_000, 1, True),
        ("replace-one", 30_000, 0.05, False),
        ("add-remove", 30_000, 0.02, False),
    ],
)
def test_what_an_interval_is_measured_by_is_fixed_by_the_plan_alone(adjacency, n, epsilon, small):
    plan = ColumnPlan.of(tt.plan(n=n, epsilon=epsilon, tail=tt.Moment(4, 2.0), neighbors=adjacency))
    reference = Reference.of(plan, (-1.0, 1.0))
    assert reference == Reference.of(plan, (-1e6, 3.0))
    assert (reference.noise > 0) == small  # only noise of a fixed scale may go with sampling


def test_noise_that_the_records_choose_has_a_quantile_of_its_own():
    data = np.random.default_rng(8).normal(size=24_000)
    tail, adjacency = tt.Moment(2, 1.0), "replace-one"
    plan = ColumnPlan.of(tt.plan(n=len(data), epsilon=0.05, tail=tail, neighbors=adjacency))
    assert Reference.of(plan, (-1.0, 1.0)).noise == 0
    result = estimate(data, epsilon=0.05, tail=tail, neighbors=adjacency)
    width = result.clip[1] - result.clip[0]
    quantile = math.log(2 / split_risk(0.05).noise) / plan.cost("sum").strength
    (interval,) = result.intervals
    # What noise does by itself is in there, beside what is bounded together with sampling.
    # Truncation is that of the longer side.
    longer = max(interval.high - result.value, result.value - interval.low)
    half = longer - interval.error_components["clipping"]
    assert half >= 0.99 * width * quantile / len(data)
    # The part that is shown is what privacy does at 95%: at least what noise does, and no share of
    # the risk.
    shown = math.log(1 / 0.05) / plan.cost("sum").strength * width / len(data)
    assert interval.error_components["privacy"] >= 0.95 * shown


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_privacy_is_what_privacy_changed(adjacency):
    """Once an increment of the half-width, 1.1, that read like the effect of privacy, 8.6."""
    rng, changed, noisy = np.random.default_rng(4), [], []
    for _ in range(60):
        records = rng.pareto(2.2, 5_000)
        release = tt.mean(records, epsilon=1, neighbors=adjacency)
        first, second = release.intervals
        clipped = np.clip(records, *release.clip).mean()
        excess = release.value - clipped  # the noise, and what was added back
        changed.append(abs(release.value - records.mean()) <= first.error_components["privacy"])
        noisy.append((excess, second.error_components["privacy"]))
        assert first.error_components["privacy"] >= second.error_components["privacy"]
    assert sum(changed) > 50  # 57 of 60 are expected: below 51 has a probability of 1%
    noises, shown = np.array(noisy).T
    # Half of Laplace noises are within ln 2/ln 20 of the 95% quantile.
    typical = np.median(np.abs(noises - np.median(noises))) / np.median(shown)
    assert 0.1 < typical < 0.5


def test_the_risk_is_divided():
    risk = split_risk(0.05)
    assert risk.sampling + risk.noise + risk.spread + risk.beyond == pytest.approx(0.05)


records = st.lists(
    st.one_of(st.floats(-100, 100), st.sampled_from([0.0, 1.0, 1e3, -1e6])), min_size=2, max_size=12
)


@settings(max_examples=60)
@given(records, st.sampled_from([1.3, 2.0, 4.0]), st.sampled_from(["replace-one", "add-remove"]))
def test_the_mean_of_the_data_is_covered_if_the_records_keep_the_moment(values, k, adjacency):
    data = np.tile(np.array(values), 400)
    mean = float(data.mean())
    scale = float(np.mean(np.abs(data - mean) ** k) ** (1 / k)) * (1 + 1e-9)
    assume(scale > 1e-6)
    result = estimate(data, tail=tt.Moment(k, scale), target="data", neighbors=adjacency)
    slack = 1e-9 * (abs(mean) + scale)
    assert result.intervals[0].low - slack <= mean <= result.intervals[0].high + slack


@settings(max_examples=60)
@given(records, st.sampled_from(["population", "data"]))
def test_the_mean_of_bounded_data_is_covered(values, target):
    data = np.tile(np.array(values), 400)
    low, high = float(data.min()) - 0.5, float(data.max()) + 0.5
    result = estimate(data, tail=tt.Bounded(low, high), target=target)
    assert result.intervals[0].low - 1e-6 <= data.mean() <= result.intervals[0].high + 1e-6


def test_parts_bound_the_interval_and_none_spends_nothing():
    data = np.random.default_rng(1).standard_normal(20_000)
    release = tt.mean(data, epsilon=1, tail=tt.Moment(4, 3**0.25), neighbors="replace-one")
    assert set(release.error_components) == {"privacy", "sampling", "clipping", "rounding"}
    larger = max(release.high - release.value, release.value - release.low)
    assert (
        max(release.error_components.values())
        < larger
        < 1.2 * sum(release.error_components.values())
    )
    assert all(part >= 0 for part in release.error_components.values())
    without = tt.mean(data, epsilon=1, confidence=None)
    assert without.low is None
    assert "spread" not in [step.name for step in without.plan.steps]


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_intervals_with_a_true_moment_cover(adjacency):
    # At least 95% are guaranteed: 20 misses of 60 have a probability below 1e-10.
    rng, missed = np.random.default_rng(7), 0
    for _ in range(60):
        release = tt.mean(
            rng.exponential(size=2000), epsilon=1, tail=tt.Moment(2, 1.0), neighbors=adjacency
        )
        missed += not release.low <= 1.0 <= release.high
    assert missed < 20


def evenly(points):
    return Shifts(points, np.full(len(points), 1 / len(points)))


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_no_end_hangs_on_the_last_bit_of_a_processor(seed):
    """Forty points that are equally likely make a tail that is flat at a risk of one in forty."""
    rng = np.random.default_rng(seed)

    def nearly(numbers):
        return numbers * (1 + 2e-16 * rng.normal(size=len(numbers)))

    shown = rng.random(40) < rng.choice([0.1, 0.5, 1.0])
    shifts = np.sort(rng.exponential(size=40)) * shown * 10.0 ** rng.integers(-1, 2)
    noise = Noise(str(rng.choice(["laplace", "gaussian"])), rng.lognormal(-3, 1))
    deviation = rng.lognormal(-3, 1)
    shifts = np.sort(shifts)
    (end,) = spread_quantiles([Spread(deviation, noise, evenly(shifts))], 1 / 40)
    (other,) = spread_quantiles(
        [Spread(*nearly(np.array([deviation])), noise, evenly(nearly(shifts)))], 1 / 40
    )
    assert other == pytest.approx(end, rel=1e-12)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("shifts", [NOWHERE, Shifts(np.arange(3.0) - 1, np.array([0.7, 0.2, 0.1]))])
def test_what_a_law_gives_does_not_depend_on_those_beside_it(kind, shifts):
    rng = np.random.default_rng(len(kind))
    laws = [
        Spread(deviation, Noise(kind, scale), shifts)
        for deviation, scale in rng.lognormal(0, 3, (300, 2))
    ]
    together = spread_quantiles(laws, 0.01)
    assert together == [spread_quantiles([law], 0.01)[0] for law in laws]
    assert together[::-1] == spread_quantiles(laws[::-1], 0.01)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("deviation", [0.0, 1e-3, 0.2, 1.0, 5.0, 1e3])
@pytest.mark.parametrize("risk", [1e-6, 0.005, 0.05, 0.3])
def test_quantiles_of_noise_and_a_normal_error_are_those_of_their_sum(kind, deviation, risk):
    """The tail by a sum over the noise, which is another way than the closed form."""
    shifts, weights, noise = np.array([0.0, 4.0]), np.array([0.75, 0.25]), Noise(kind, 1.0)
    (point,) = spread_quantiles([Spread(deviation, noise, Shifts(shifts, weights))], risk)
    cells = np.linspace(-40.0, 40.0, 160_001)
    density = np.exp(-np.abs(cells)) if kind == "laplace" else np.exp(-(cells**2) / 2)
    density /= density.sum()
    away = (point - shifts[:, None] - cells) / max(deviation, 1e-9)
    tail = float(weights @ [density @ normal_tail(row) for row in away])
    assert tail == pytest.approx(risk, rel=3e-3)


def test_the_scaled_tail_is_that_of_the_normal_law():
    points = np.linspace(0.0, 30.0, 3_001)
    exact = [math.erfc(z / math.sqrt(2)) * math.exp(z * z / 2) / 2 for z in points.tolist()]
    assert scaled_tail(points) == pytest.approx(exact, rel=6e-8)
    far = np.array([1e3, 1e8, 1e300])
    assert scaled_tail(far) * far * math.sqrt(2 * math.pi) == pytest.approx(1.0, rel=2e-6)


def test_laws_without_width_and_with_infinite_width_have_ends():
    nothing, boundless = Noise("laplace", 0.0), Noise("laplace", math.inf)
    point = Shifts(np.array([2.0]), np.ones(1))
    laws = [Spread(0.0, nothing), Spread(math.inf, nothing), Spread(1.0, boundless)]
    assert spread_quantiles(laws, 0.05) == [0.0, math.inf, math.inf]
    assert spread_quantiles([Spread(1.0, nothing)], 0.025) == pytest.approx([1.9596], rel=1e-4)
    assert spread_quantiles([Spread(1e-9, nothing, point)], 0.025) == pytest.approx([2.0])
