"""The textbook's mean of bounded records, and where the plan chooses it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail import notes
from tametail.methods.bounded.estimate import NAME, clamped_sum, most_deviation
from tametail.methods.joint.weigh import Weighing, make_ball, unless_bounds_do
from tametail.methods.known_scale.estimate import NAME as AROUND
from tametail.methods.winsorized.budget_split import counted_again, with_count
from tametail.methods.winsorized.clipping import choose_clipping
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.sums import read_count
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.methods.winsorized.tail_histogram import TailHistogram
from tametail.planning import Plan
from tametail.privacy.budget import Noise, fits, noise_for
from tametail.queries.column import SOFT_ONE
from tametail.show.sentences import method_text

from .exact import estimate

UNITS = ["add-remove", "replace-one"]
BOUNDS, SCALE = tt.Bounded(0, 1), tt.Moment(2, 1)


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", [tt.pure(0.1), tt.zcdp(0.005), tt.approx(0.1, 1e-6)])
def test_few_bounded_records_are_clamped_and_many_are_looked_at(adjacency, budget):
    few = tt.plan(n=300, budget=budget, tail=BOUNDS, neighbors=adjacency)
    many = tt.plan(n=10**6, budget=budget, tail=BOUNDS, neighbors=adjacency)
    assert (few.method, many.method) == ("bounded mean", "winsorized mean")
    counted = adjacency == "add-remove"  # whatever is guessed
    assert [step.name for step in few.steps] == ["count"] * counted + ["sum"]
    assert Plan.from_json(few.to_json()) == few
    assert few.method in str(few)
    assert few.rmse > tt.plan(n=600, budget=budget, tail=BOUNDS, neighbors=adjacency).rmse


def test_the_plan_needs_bounds_of_every_column():
    assert tt.plan(n=300, epsilon=1, tail=tt.Moment(2, 1)).method != "bounded mean"
    mixed = tt.plan(n=300, epsilon=1, tail=[BOUNDS, None], n_columns=2)
    told = tt.plan(n=300, epsilon=1, tail=BOUNDS, n_columns=2)
    assert (mixed.method == "bounded mean", told.method) == (False, "bounded mean")
    assert len(told.rmse) == 2


@given(
    st.lists(st.floats(-50, 150), min_size=1, max_size=30),
    st.sampled_from(UNITS),
    st.sampled_from(["population", "data"]),
)
def test_exact_answers_give_the_clamped_mean(values, adjacency, target):
    found = estimate(values, tail=tt.Bounded(0, 100), neighbors=adjacency, target=target)
    wanted = np.clip(values, 0, 100).mean()
    assert found.clip == pytest.approx((0, 100), abs=1)
    # Without noise; but a count is raised by one scale, if the rows allow it, or at least to that.
    if adjacency == "replace-one":
        assert found.value == pytest.approx(wanted, abs=2)
    assert found.interval.low <= wanted <= found.interval.high


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("told", [{}, {"n": 1000}])
@pytest.mark.parametrize("tail", [tt.Bounded(0, 100), tt.Moment(2, 20)], ids=str)
@pytest.mark.parametrize("several", [False, True])
def test_a_within_that_the_clamped_sum_contradicts_is_said(adjacency, told, tail, several):
    """Records around 50, within=5: once 5 (5 to 5), and no word of doubt.

    Whether clamped to bounds or around where they are: the noise has a scale of 2 to 6. A noisy
    count of rows chooses another method in one release of 25, if two columns are told a scale.
    """
    records = np.random.default_rng(4).normal(50, 1, 1_000)
    data = np.column_stack([records, records]) if several else records
    request = {
        "epsilon": 0.2 * (1 + several),
        "neighbors": adjacency,
        "tail": tail,
        "within": 5,
        **told,
    }
    releases = [tt.mean(data, **request) for _ in range(9)]
    clamped = [one for one in releases if one.method in (NAME, AROUND)]
    assert len(clamped) >= 4
    for release in clamped:
        for row in release:
            assert row.value == 5
            assert row.low <= 5
            assert row.high > 30
            assert row.assumption_contradicted
            assert notes.CONTRADICTED in row.notes
        assert release.has_warnings


@pytest.mark.parametrize("adjacency", UNITS)
def test_a_right_within_at_the_edge_is_not_contradicted(adjacency):
    records = np.random.default_rng(4).normal(50, 1, 1_000)
    plan = tt.plan(
        n=1000, epsilon=0.1, neighbors=adjacency, tail=tt.Bounded(0, 100), within=(50, 51)
    )
    for _ in range(30):  # a chance of 1e-3 each by design, far less by inequalities
        release = tt.mean(records, plan=plan)
        assert release.assumption_contradicted is None
        assert 50 <= release.low < release.high
        assert not release.has_warnings
        assert ("at-range-limit" in [note.code for note in release.notes]) == (
            release.value in (50, 51)
        )


def test_missing_records_are_left_out():
    values = [9.0] * 300 + [float("nan")] * 300
    value = estimate(values, tail=tt.Bounded(0, 10), confidence=None).value
    assert value == pytest.approx(9.0, abs=0.2)


@pytest.mark.parametrize("adjacency", UNITS)
def test_the_interval_covers_and_the_error_is_as_promised(adjacency):
    rng, errors, missed = np.random.default_rng(5), [], 0
    for _ in range(60):
        release = tt.mean(
            rng.random(1000) < 0.3, epsilon=0.1, tail=BOUNDS, neighbors=adjacency, n=1000
        )
        missed += not release.low <= 0.3 <= release.high
        errors.append(release.value - 0.3)
    assert release.method == "bounded mean"
    # At least 95% are guaranteed: 20 misses of 60 have a probability below 1e-10.
    assert missed < 20
    # Heavier tails than Gaussian ones: the mean of 60 squares is twice its expectation in 1e-4.
    assert np.mean(np.square(errors)) < 4 * release.plan.rmse**2
    assert release == tt.replay(release.plan, release.answers)


def test_an_unknown_number_of_records_is_counted_first():
    release = tt.mean(np.random.default_rng(1).random(200), epsilon=1, tail=BOUNDS)
    assert [step.name for step in release.plan.steps] == ["count", "rest"]
    # One count says that a look is in vain; if noise makes it 370 or more, there is another one.
    assert len(release.answers) in (2, 3)
    # Their number decides how; the release says what was done, and its words are about that.
    assert (release.plan.method, release.method) == ("winsorized mean", "bounded mean")
    assert "median" not in method_text(release, tt.__version__)
    scaled = tt.mean(np.random.default_rng(1).normal(size=200), epsilon=1, tail=tt.Moment(2, 1))
    assert scaled.method == "clipped mean around the densest bin"
    assert release.clip == pytest.approx((0, 1), abs=0.01)


@pytest.mark.parametrize("budget", [tt.pure(1), tt.zcdp(0.5)])
def test_no_mean_between_bounds_has_much_more_noise_than_the_textbooks(budget):
    """Once 1.25 times for a mean at a bound: counted twice, and a count of little weight.

    The textbook has half of the budget for the sum from the middle, and half for the count.
    """
    plan = tt.plan(budget=budget, tail=BOUNDS)
    told = ColumnPlan.of(plan)
    assert counted_again(told, 40, told.cost("count")) is None
    part = with_count(told, 40)
    assert [step.name for step in part.steps] == ["sum"]
    query = clamped_sum(part, 0, 1)
    sensitivity, side = query.sensitivity(part.adjacency), query.lattice.side
    noise = noise_for(part.cost("sum"), sensitivity.l1, sensitivity.l2_squared).variance
    half = noise_for(budget.share(0.5), side, side**2).variance
    for off in np.linspace(0, 1, 11):
        ours = noise * (1 + (off * side / query.count_weight) ** 2)
        assert ours < 1.06**2 * half * (1 + off**2)


def test_an_unclear_count_is_asked_for_again_unless_bounds_make_it_idle():
    bounded, scaled = (ColumnPlan.of(tt.plan(epsilon=1, tail=tail)) for tail in (BOUNDS, SCALE))
    cost = bounded.cost("count")
    assert [counted_again(bounded, count, cost) is None for count in (-500, 0, 300)] == [True] * 3
    assert counted_again(bounded, 430, cost) is not None  # a look may be worth it
    assert counted_again(scaled, 300, cost) is not None  # its shares follow from the count


def test_a_count_that_is_far_too_low_makes_no_coarse_ticks():
    plan = ColumnPlan.of(tt.plan(epsilon=1, tail=BOUNDS))
    coarse, fine = (clamped_sum(with_count(plan, count), 0, 1).lattice.tick for count in (-90, 300))
    assert coarse == fine < 1e-5


def test_several_columns_are_clamped_together_with_the_whole_budget():
    data = np.random.default_rng(2).random((200, 3))
    for budget in (tt.pure(1), tt.zcdp(0.05)):
        release = tt.mean(data, budget=budget, tail=BOUNDS, neighbors="replace-one")
        assert release.method == "bounded mean"
        assert len(release.answers) == 3
        assert all(row.low <= row.value <= row.high for row in release)


def test_a_look_that_shows_nothing_is_followed_by_the_clamped_sum():
    """One in a hundred is 1: too few to stand out, and far too many to leave out."""
    data = np.zeros(20_000)
    data[::100] = 1.0
    values = [float(tt.mean(data, epsilon=0.1, tail=BOUNDS, confidence=None)) for _ in range(9)]
    assert tt.plan(n=20_000, epsilon=0.1, tail=BOUNDS).method == "winsorized mean"
    # The noise on the mean has a scale of about 0.001; the median of nine, far less.
    assert np.median(values) == pytest.approx(0.01, abs=0.004)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50))
def test_no_law_between_bounds_has_a_larger_deviation(values):
    mean = float(np.mean(values))
    assert np.std(values) <= most_deviation(BOUNDS, mean, mean) + 1e-9


@pytest.mark.parametrize(("scales", "far"), [(15.0, True), (5.0, False)])
def test_records_that_stand_out_less_open_their_side_between_bounds(scales, far):
    """A center just above the zeros; the ones, far above it, do not quite stand out."""
    nodes = np.arange(-12, 8)
    below, above = np.where(nodes == -7, 700.0, 0.0), np.where(nodes == 0, 10 * scales, 0.0)
    tails = TailHistogram(below, above, -12, Noise("laplace", 10.0 * SOFT_ONE))
    plan = ColumnPlan.of(tt.plan(n=1000, epsilon=1, neighbors="replace-one", tail=BOUNDS))
    center = 0.008
    clip = choose_clipping(plan, center, tails, 1000, Reference.of(plan, (center, center)))
    assert tails.highest_detected(above) is None
    assert (clip.above >= 0.99) == far


def test_where_noise_is_most_of_the_error_the_sum_has_what_squares_would_cost():
    data = (np.random.default_rng(3).random(100_000) < 0.01) * 1.0
    release = tt.mean(data, epsilon=0.01, tail=BOUNDS, neighbors="replace-one")
    assert release == tt.replay(release.plan, release.answers)
    assert [step.name for step in release.plan.steps] == ["center", "tail", "sum", "spread"]
    assert len(release.answers) == 3
    assert release.low <= release.value <= release.high
    # Squares pay where sampling is most of the error: there the records' variance is asked for.
    many = tt.mean(np.random.default_rng(4).random(100_000), epsilon=1, tail=BOUNDS, n=100_000)
    assert len(many.answers) == 5


@pytest.mark.parametrize("budget", [tt.pure(1), tt.zcdp(0.3), tt.pure(0.1)])
def test_what_squares_would_have_cost_is_spent_once(budget):
    plan = ColumnPlan.of(tt.plan(n=9_000, budget=budget, tail=BOUNDS, neighbors="replace-one"))
    spared = plan.without_squares()
    assert fits(spared.spending, budget)
    assert not spared.has("spread")
    assert plan.cost("sum").strength < spared.cost("sum").strength


@pytest.mark.parametrize(("reach", "whole"), [(0, True), (-3, False)])
def test_clip_points_that_are_hardly_closer_than_the_bounds_are_moved_there(reach, whole):
    nodes = np.arange(-12, 8)
    counts = np.where(nodes == reach, 5000.0, 0.0)
    tails = TailHistogram(counts, counts, -12, Noise("laplace", 10.0 * SOFT_ONE))
    bounds = tt.Bounded(-1.05, 1.05)
    told = {"neighbors": "replace-one", "tail": bounds, "confidence": None}
    plan = ColumnPlan.of(tt.plan(n=10_000, epsilon=1, **told))
    clip = choose_clipping(plan, 0.0, tails, 10_000, Reference.of(plan, (0.0, 0.0)))
    assert (min(clip.below, clip.above) >= 1.05) == whole


def test_a_side_that_was_opened_makes_the_mean_doubtful():
    """The count beside the sum got a thousandth of the noise: 1,420 for 5,000 records."""
    nodes = np.arange(-12, 8)
    below = np.where(nodes == -7, 3000.0, 0.0)
    tails = TailHistogram(below, np.zeros(20), -12, Noise("laplace", 10.0 * SOFT_ONE))
    plan = ColumnPlan.of(tt.plan(n=5_000, epsilon=1, tail=BOUNDS, confidence=None))
    clip = choose_clipping(plan, 0.008, tails, 5_000, Reference.of(plan, (0.008, 0.008)))
    assert clip.above > 0
    assert clip.doubt >= 0.3 * (clip.below + clip.above)


@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize("n", [9_000, 20_000, 50_000, 200_000])
def test_a_look_in_vain_costs_no_more_than_it_may(n, confidence):
    """Told bounds, the noise may be 1.4 times the textbook's: where nothing shows, all is noise."""
    told = {"neighbors": "replace-one", "tail": BOUNDS, "confidence": confidence}
    plan = ColumnPlan.of(tt.plan(n=n, epsilon=0.1, **told))
    plan = plan.without_squares() if plan.has("spread") else plan
    assert 0.1 / plan.cost("sum").strength < 1.37


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_few_missing_records_are_taken_for_noise_and_many_are_not(kind):
    plan = ColumnPlan.of(tt.plan(n=1000, epsilon=1, neighbors="replace-one", tail=BOUNDS))
    noise = Noise(kind, 20.0)
    one = np.sqrt(noise.variance) / 10  # the weight is 10
    found = {
        off: read_count(plan, round(10 * (1000 - off * one)), 10, noise) for off in (-3, 1.9, 4, 6)
    }
    assert [found[off][0] for off in (-3, 1.9)] == [1000, 1000]
    assert 1000 - 4 * one < found[4][0] < 1000
    assert found[6] == pytest.approx((1000 - 6 * one, 0), abs=0.1)
    assert found[-3][1] == pytest.approx(-3 * one, abs=0.1)  # what was taken away is certain
    assert found[1.9][1] == pytest.approx(1.9 * one, abs=0.1)
    assert read_count(plan, -50_000, 10, noise)[0] == noise.scale / 10  # noise alone
    added = ColumnPlan.of(tt.plan(n=100_000, epsilon=1, tail=BOUNDS))
    assert read_count(added, 1_000, 10, noise) == (100.0, None)


@pytest.mark.parametrize("missing", [0, 3, 8, 60])
def test_the_count_that_was_moved_is_within_what_the_interval_allows(missing):
    """A mean at a bound moves with the count; noise and what was moved are bounded together."""
    rng, covered = np.random.default_rng(missing), 0
    for _ in range(40):
        data = np.where(rng.random(2_000) < 0.02, 0.0, 1.0)
        data[:missing] = np.nan
        release = tt.mean(data, epsilon=0.3, tail=BOUNDS, neighbors="replace-one", target="data")
        assert release.method == "bounded mean"
        covered += release.low <= np.nanmean(data) <= release.high
    assert covered >= 31  # 95% is promised: fewer in one of 50,000 runs


@pytest.mark.parametrize(
    ("scale", "around"), [(1.0, True), (0.4, False)], ids=["as wide", "narrow"]
)
def test_a_ball_as_wide_as_the_bounds_is_put_around_them(scale, around):
    """Around medians of 0 a ball has room for negative ones, too."""
    plan = tt.plan(n=20_000, rho=0.005, neighbors="replace-one", tail=BOUNDS, n_columns=4)
    final = plan.cost("sum")
    everything = np.full(4, np.inf)
    weighing = Weighing(np.zeros(4), np.full(4, 0.5), everything, final)
    ball = make_ball(weighing, -3.0, 3.0, order=2, strength=0.1)
    level = int(np.searchsorted(ball.radii, scale * ball.radii[-1] / 8 / 1.4))
    found, at = unless_bounds_do(plan, ball, level, weighing, 0.1)
    assert (found.centers == (0.5,) * 4) == around
    if around:
        cells = np.rint(0.5 * np.array(found.inverse_ticks))
        assert np.sqrt(np.sum(cells**2)) <= found.radii[at]  # corners are inside
        assert np.sqrt(np.sum(cells**2)) >= 0.999 * found.radii[at]
    else:
        assert (found, at) == (ball, level)


def test_sparse_columns_between_bounds_are_never_much_worse_than_the_textbook():
    """One in a hundred is 1. The center alone, 0, would be off by five times the textbook's."""
    rng, n, rho = np.random.default_rng(6), 20_000, 0.005
    squares = []
    for _ in range(12):
        data = (rng.random((n, 3)) < 0.01) * 1.0
        release = tt.mean(data, rho=rho, tail=BOUNDS, neighbors="replace-one")
        squares.append(np.mean(np.square(np.array(release.value) - 0.01)))
    assert release.method == "mean with joint clipping"
    textbook = 3 / (2 * rho) / n**2 + 0.01 * 0.99 / n
    # 1.2 times is usual; 36 squared errors are 2.5 times that in less than one of 1e8 runs.
    assert np.sqrt(np.mean(squares)) < 2 * np.sqrt(textbook)


@pytest.mark.parametrize("adjacency", UNITS)
def test_between_bounds_the_tail_pays_for_the_sum(adjacency):
    told, untold = (
        {step.name: step.cost.epsilon for step in ColumnPlan.of(plan).steps}
        for plan in (
            tt.plan(n=1000, epsilon=1, neighbors=adjacency, tail=tail, confidence=None)
            for tail in (BOUNDS, None)
        )
    )
    assert told["center"] == untold["center"]
    assert told["sum"] > untold["sum"]
    assert 0.45 * untold["tail"] < told["tail"] < untold["tail"]


@pytest.mark.parametrize("adjacency", UNITS)
def test_the_cheaper_center_is_found_in_loose_bounds(adjacency):
    """Records in a thousandth of their bounds: a lost center would cost a hundred times as much."""
    rng, bounds = np.random.default_rng(6), tt.Bounded(0, 1)
    errors = [
        float(
            tt.mean(0.3141 + rng.random(2000) / 1000, epsilon=0.5, tail=bounds, neighbors=adjacency)
        )
        - 0.3146
        for _ in range(12)
    ]
    # The textbook's noise has a scale of 0.001 to 0.002.
    assert np.median(np.abs(errors)) < 1e-4
