from __future__ import annotations

import numpy as np
import pytest

import tametail as tt
from tametail.ask import Ask
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.constants import FINE
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.privacy.budget import Pure, compose
from tametail.queries.column import Count, Median

from .exact import Exact, estimate

UNITS = pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])


def _symmetric(n: int = 50_000) -> np.ndarray:
    half = np.random.default_rng(2).standard_t(3, n // 2)
    return np.round(np.concatenate([half, -half]) * 1024) / 1024


@UNITS
@pytest.mark.parametrize("value", [0.0, 7.0, -19.99, 1e300, 5e-324])
def test_constants_come_out_exactly(adjacency, value):
    result = estimate([value] * 5000, neighbors=adjacency)
    assert result.value == value
    assert result.clip == (value, value)


@UNITS
def test_the_value_is_the_winsorized_mean_and_what_the_fit_adds(adjacency):
    data = _symmetric()
    result = estimate(data, neighbors=adjacency, missing="none")
    low, high = result.clip
    winsorized = np.clip(data, low, high).mean()
    assert low < 0 < high
    assert abs(result.value - winsorized) < 0.02 * data.std()


def test_symmetric_data_have_their_center_as_the_mean():
    data = _symmetric()
    result = estimate(data + 0.0, missing="none")
    low, high = result.clip
    assert high == pytest.approx(-low, rel=1.01 * 2 ** (1 / FINE) - 1)  # a step of the clip points
    assert abs(result.value) < 1e-3


@UNITS
@pytest.mark.parametrize("shift", [0.0, 2.0**10, -(2.0**20)])
@pytest.mark.parametrize("factor", [1.0, 2.0**-6, 2.0**6])
def test_a_shift_or_a_power_of_two_moves_the_answer_with_the_data(adjacency, shift, factor):
    data = np.round(np.random.default_rng(3).lognormal(0, 1, 20_000) * 1024) / 1024
    plain = estimate(data, neighbors=adjacency, missing="none")
    moved = estimate(factor * (data + shift), neighbors=adjacency, missing="none")
    spread = data.std()
    assert moved.value / factor - shift == pytest.approx(plain.value, abs=0.02 * spread)
    assert moved.clip[1] / factor - shift == pytest.approx(plain.clip[1], rel=0.05)


def test_within_keeps_the_value_and_does_not_clip_records():
    data = np.random.default_rng(4).lognormal(0, 1, 20_000)
    free, told = estimate(data), estimate(data, within=(5.0, 9.0))
    assert told.value == 5.0
    assert told.clip[1] > 9.0 or free.clip[1] < 9.0


def test_what_the_caller_knows_caps_the_clip_points():
    data = np.random.default_rng(5).pareto(1.1, 20_000)
    bounded = estimate(np.minimum(data, 30.0), tail=tt.Bounded(0.0, 30.0))
    width = bounded.clip[1] - bounded.clip[0]  # clip points are at edges, a 16th apart
    assert -width / 16 <= bounded.clip[0] < bounded.clip[1] <= 30.0 + width / 16
    narrow = estimate(data, tail=tt.Moment(2, 0.5))
    free = estimate(data)
    assert narrow.clip[1] - narrow.clip[0] < free.clip[1] - free.clip[0]


@pytest.mark.parametrize(
    ("tail", "doubtful"),
    [
        (None, None),
        (tt.Moment(2, 1.0), False),
        (tt.Moment(4, 3.0**0.25), False),
        (tt.Moment(2, 0.05), True),
        (tt.Bounded(-8.0, 8.0), False),
        (tt.Bounded(-0.5, 0.5), True),
    ],
)
def test_an_assumption_that_the_counts_contradict_is_doubtful(tail, doubtful):
    data = np.random.default_rng(6).standard_normal(50_000)
    assert estimate(data, tail=tail).assumption_contradicted is doubtful


@UNITS
@pytest.mark.parametrize("data", [[], [3.0], [float("nan")] * 3, [float("inf")]])
def test_few_or_no_records_still_give_an_answer(adjacency, data):
    result = estimate(data, neighbors=adjacency, within=(-10.0, 10.0))
    assert -10.0 <= result.value <= 10.0
    first = result.intervals[0]
    assert -10.0 <= first.low <= result.value <= first.high <= 10.0


def test_two_values_and_zeros_are_seen():
    coins = np.repeat([0.0, 1.0], [7000, 3000])
    assert estimate(coins, missing="none").value == pytest.approx(0.3, abs=0.01)
    claims = np.repeat([0.0, 100.0], [19_000, 1000])
    assert estimate(claims, missing="none").value == pytest.approx(5.0, abs=0.3)


@pytest.mark.parametrize("tail", [None, tt.Bounded(2.0**60 - 2560, 2.0**60 + 2560)])
@pytest.mark.parametrize("target", ["population", "data"])
def test_an_interval_far_from_zero_is_not_finer_than_doubles(tail, target):
    """Doubles near 2^60 are 256 apart, and the mean lies between two of them."""
    data = 2.0**60 + 256 * np.random.default_rng(8).permutation(np.repeat([0.0, 1.0], 20_000))
    found = estimate(data, tail=tail, target=target, confidence=0.95).intervals[0]
    assert found.low < 2.0**60 + 1 < 2.0**60 + 255 < found.high


@pytest.mark.parametrize("tail", [tt.Bounded(-1e38, 1e38), tt.Moment(4, 1e30)])
def test_an_assumption_that_is_far_too_loose_costs_no_sight(tail):
    data = np.random.default_rng(9).lognormal(size=50_000)
    assert estimate(data, tail=tail).value == pytest.approx(data.mean(), rel=0.1)


def test_an_assumption_that_is_far_too_tight_is_doubtful():
    data = np.random.default_rng(9).lognormal(size=50_000)
    assert estimate(data, tail=tt.Moment(2, 1e-30)).assumption_contradicted


class Misled(Exact):
    """Answers exactly, but its first median is wrong, and maybe its count."""

    def __init__(self, data, wrong, count=None):
        super().__init__(data)
        self.wrong, self.count, self.asked = [wrong], count, []

    def prepare(self, query, cost, adjacency):
        self.asked.append((query, cost))
        return super().prepare(query, cost, adjacency)

    def respond(self, query):
        if isinstance(query, Median) and self.wrong:
            return self.wrong.pop()
        if self.count is not None and isinstance(query, Count):
            return (self.count,)
        return super().respond(query)


@UNITS
@pytest.mark.parametrize("tail", [None, tt.Moment(2, 5.0)])
@pytest.mark.parametrize("wrong", [0.0, 1e6 - 300, 1e6 + 40, -3e9])
def test_a_center_away_from_all_records_is_looked_for_again(adjacency, tail, wrong):
    data = 1e6 + np.random.default_rng(4).exponential(size=4000)
    plan = ColumnPlan.of(tt.plan(n=len(data), epsilon=1.0, neighbors=adjacency, tail=tail))
    responder = Misled(data, wrong)
    result = winsorized_mean(plan, Ask(responder, plan.spending, plan.adjacency))
    assert result.value == pytest.approx(data.mean(), abs=0.1)
    assert result.clip[1] - result.clip[0] < 100
    second = [query for query, _ in responder.asked if isinstance(query, Median)][1]
    assert second.low <= np.median(data) <= second.high
    assert compose([cost for *_, cost in responder.asked], Pure) == plan.spending


@UNITS
def test_a_new_center_costs_what_the_sum_would_have_cost(adjacency):
    for budget in (tt.pure(0.7), tt.zcdp(0.3)):
        plan = ColumnPlan.of(
            tt.plan(n=5000, budget=budget, neighbors=adjacency, tail=tt.Moment(2, 1))
        )
        anew = plan.with_new_center()
        costs = [anew.cost(name) for name in ("center", "tail", "sum")]
        assert compose(costs, type(budget)) == plan.cost("sum")
        assert anew.cost("spread") == plan.cost("spread")


def test_a_misplaced_center_is_noticed_though_the_count_is_too_large():
    """Its noise is above 220 about once in 50 releases; the records are 2,000."""
    data = 1e9 + np.random.default_rng(5).exponential(size=2000)
    plan = ColumnPlan.of(tt.plan(epsilon=1, confidence=None))
    responder = Misled(data, 0.0, count=2300)
    value = winsorized_mean(plan, Ask(responder, tt.pure(1), plan.adjacency)).value
    assert value == pytest.approx(data.mean(), abs=1)
    assert sum(isinstance(query, Median) for query, _ in responder.asked) == 2


@pytest.mark.parametrize("n", [1000, 1400, 3000])
def test_a_count_that_is_divided_by_is_no_noise(n):
    """Once 3% of the sum: of a thousand records it was off by a thousand."""
    plan = ColumnPlan.of(tt.plan(n=n, epsilon=0.1, confidence=None))
    responder = Misled(np.full(n, 7.0), 7.0)
    winsorized_mean(plan, Ask(responder, plan.spending, plan.adjacency))
    first, second = (cost for query, cost in responder.asked if isinstance(query, Count))
    assert n * first.strength < 1, "a guess decides a sample, and needs no count"
    assert n * second.strength > 9


@pytest.mark.parametrize(
    ("told", "size", "counts"),
    [(None, 100_000, 1), (None, 1_000, 2), (1_000, 1_000, 2), (10**9, 1_000, 2)],
)
def test_a_count_is_asked_for_where_none_is_sharp(told, size, counts):
    """Without n a sharp one came first, of few records once more; beside a guess none did."""
    plan = ColumnPlan.of(tt.plan(n=told, epsilon=0.1, confidence=None))
    responder = Misled(np.full(size, 7.0), 7.0)
    winsorized_mean(plan, Ask(responder, plan.spending, plan.adjacency))
    asked = [cost for query, cost in responder.asked if isinstance(query, Count)]
    assert len(asked) == counts
    assert size * asked[-1].strength > 7


def test_many_digits_in_common_cost_accuracy_but_not_the_answer():
    rng = np.random.default_rng(5)
    for _ in range(5):
        data = 1e9 + rng.exponential(size=2000)
        assert abs(float(tt.mean(data, epsilon=1, confidence=None)) - 1e9 - 1) < 1


def test_after_a_new_center_clip_points_follow_the_reference_of_the_plan_as_made():
    data = 1e6 + np.random.default_rng(6).standard_normal(100_000)
    tail = tt.Moment(4, 1.5)
    plan = ColumnPlan.of(tt.plan(n=len(data), epsilon=8.0, neighbors="replace-one", tail=tail))
    result = winsorized_mean(plan, Ask(Misled(data, 0.0), plan.spending, plan.adjacency))
    beyond = tuned.BEYOND_REFERENCE * tail.scale
    reach = Reference.of(plan, (0.0, 0.0)).high + beyond
    assert reach <= (result.clip[1] - result.clip[0]) / 2 <= (1 + 1 / 16) * reach + 1e-6
    assert reach != Reference.of(plan.with_new_center(), (0.0, 0.0)).high + beyond
