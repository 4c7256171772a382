"""The filter: its table, its limit, its monotony, and an independent composition."""

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.filter import TotalSpent, admits, concentrated_limit, remaining_by_rule
from tametail.privacy.accounting import zcdp_to_approx
from tametail.privacy.decimals import exact

FIGURES = json.loads(
    (Path(__file__).parents[1] / "oracles" / "ledger_filter_figures.json").read_text()
)
EPSILONS = st.sampled_from([0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0])
DELTAS = st.sampled_from([1e-9, 1e-8, 1e-7, 2.5e-7, 5e-7, 1e-6])
PURE = st.builds(lambda e: Cost.of(tt.pure(e)), EPSILONS)
ZCDP = st.builds(lambda e: Cost.of(tt.zcdp(e * e / 20)), EPSILONS)
APPROX = st.builds(lambda e, d: Cost.of(tt.approx(e, d)), EPSILONS, DELTAS)
COSTS = st.one_of(PURE, ZCDP, APPROX)
SEQUENCES = st.one_of(
    st.lists(COSTS, max_size=60),
    st.lists(st.one_of(PURE, APPROX), max_size=8),
    st.lists(APPROX, max_size=6),
)
BUDGETS = st.sampled_from([tt.pure(1), tt.zcdp(0.02), tt.approx(1, 1e-6), tt.approx(0.1, 1e-7)])


def summed(costs):
    spent = TotalSpent()
    for cost in costs:
        spent = spent.plus(cost)
    return spent


def most(budget, cost):
    """Return how many such charges are admitted."""
    count, spent = 0, TotalSpent()
    while admits(Cost.of(budget), spent := spent.plus(Cost.of(cost))):
        count += 1
    return count


@pytest.mark.parametrize(
    ("budget", "cost", "count"),
    [
        (tt.pure(1), tt.pure(0.1), 10),
        (tt.pure(1), tt.zcdp(1e-9), 0),
        (tt.pure(1), tt.approx(1e-3, 1e-12), 0),
        (tt.zcdp(0.5), tt.pure(0.1), 100),
        (tt.zcdp(0.5), tt.zcdp(0.05), 10),
        (tt.zcdp(0.5), tt.approx(1e-3, 1e-12), 0),
        (tt.approx(1, 1e-6), tt.pure(0.01), 433),
        (tt.approx(1, 1e-6), tt.zcdp(0.001), 21),
        (tt.approx(1, 1e-6), tt.approx(0.25, 1e-7), 4),
        (tt.approx(1, 1e-6), tt.approx(0.1, 1e-7), 5),
        (tt.approx(1, 1e-6), tt.approx(0.001, 2.5e-7), 2),
        (tt.approx(1, 1e-6), tt.approx(0.001, 6e-7), 0),
    ],
)
def test_equal_charges(budget, cost, count):
    assert most(budget, cost) == count


@given(BUDGETS, SEQUENCES)
def test_a_filter_admits_what_the_table_says(budget, costs):
    """The rules once more, from the list of charges, with a conversion in floats."""
    e, d = (sum((getattr(c, n) for c in costs), Fraction(0)) for n in ("epsilon", "delta"))
    concentrated = sum((c.rho + c.epsilon**2 / 2 for c in costs), Fraction(0))
    no_zcdp = all(c.rho == 0 for c in costs)
    whole = Cost.of(budget)
    if whole.rho:
        allowed = d == 0 and concentrated <= whole.rho
    elif not whole.delta:
        allowed = no_zcdp and d == 0 and e <= whole.epsilon
    else:
        basic = no_zcdp and e <= whole.epsilon and d <= whole.delta / 2
        converted = 0.0
        if concentrated:
            converted = zcdp_to_approx(float(concentrated), float(whole.delta / 4))
        allowed = basic or (converted <= whole.epsilon and d <= whole.delta / 4)
    assert admits(whole, summed(costs)) == allowed


@pytest.mark.parametrize(
    "costs",
    [
        # Basic sums with the zCDP part converted: the rule that no theorem covers.
        [tt.pure(0.45), tt.zcdp(0.004)],
        [tt.approx(0.4, 1e-7), tt.zcdp(0.004)],
        # Each rule at the whole delta: 1.5 delta in all.
        [tt.approx(0.25, 2e-7)] * 4,
        [tt.zcdp(0.0225)],
    ],
)
def test_what_a_plan_may_do_and_a_filter_may_not(costs):
    from tametail.privacy.budget import Approx, compose

    assert compose(costs, Approx, delta=1e-6).epsilon <= 1
    assert not admits(Cost.of(tt.approx(1, 1e-6)), summed(map(Cost.of, costs)))


@given(BUDGETS, st.lists(COSTS, max_size=30), COSTS)
def test_once_refused_always_refused(budget, costs, more):
    whole, spent = Cost.of(budget), summed(costs)
    if not admits(whole, spent):
        assert not admits(whole, spent.plus(more))


@given(st.lists(COSTS, max_size=30))
def test_order_does_not_matter_and_text_is_exact(costs):
    spent = summed(costs)
    assert summed(reversed(costs)) == spent
    assert TotalSpent.from_dict(spent.to_dict()) == spent


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 3, 10, 100])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_limit_is_valid_and_hardly_below_the_best(epsilon, delta):
    limit = concentrated_limit(exact(epsilon), exact(delta))
    # zcdp_to_approx rounds up by more than its own errors.
    assert zcdp_to_approx(float(limit) * (1 - 1e-11), delta) <= epsilon
    assert zcdp_to_approx(float(limit) * (1 + 1e-11), delta) > epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-100, 1e-300), (1e100, 1e-6), (1, 0.999)])
def test_the_limit_of_extreme_budgets(epsilon, delta):
    assert concentrated_limit(exact(epsilon), exact(delta)) >= 0


@given(BUDGETS, st.lists(COSTS, max_size=20))
def test_rooms_are_what_is_left(budget, costs):
    whole, spent = Cost.of(budget), summed(costs)
    if not admits(whole, spent):
        return
    found = remaining_by_rule(whole, spent)
    assert found
    for room in found:
        assert 0 <= room.share <= 1
        for cost in (Cost(epsilon=room.epsilon), Cost(rho=room.rho),
                     Cost(epsilon=room.epsilon, delta=room.delta)):  # fmt: skip
            assert admits(whole, spent.plus(cost))
    largest = max(room.epsilon for room in found)
    assert not admits(whole, spent.plus(Cost(epsilon=largest + Fraction(1, 10**9))))


@given(EPSILONS, DELTAS)
def test_two_steps_cost_what_group_privacy_says(epsilon, delta):
    twice = Cost.of(tt.approx(epsilon, delta)).twice()
    with localcontext() as context:
        context.prec = 60
        factor = Fraction(1 + Decimal(repr(epsilon)).exp())
    assert twice.epsilon == 2 * exact(epsilon)
    assert 0 <= twice.delta / exact(delta) - factor <= factor / 10**18
    assert Cost.of(tt.zcdp(0.1)).twice().rho == Fraction(4, 10)
    person = Protection.parse("add-remove", "patient")
    assert Protection().price(Cost.of(tt.approx(epsilon, delta)), of=person) == twice
    assert person.price(Cost.of(tt.pure(epsilon)), of=person) == Cost.of(tt.pure(epsilon))


def test_a_huge_epsilon_converts_to_a_delta_that_nothing_admits():
    assert Cost.of(tt.approx(1e6, 1e-300)).twice().delta > 1


@pytest.mark.parametrize("sequence", FIGURES["sequences"], ids=lambda s: f"{s['kind']}")
def test_no_interleaving_exceeds_an_independent_composition(sequence):
    """dp-accounting composed what was admitted; and the filter still admits just that."""
    budget, truth = sequence["budget"], sequence["truth"]
    costs = [Cost(**{name: exact(x) for name, x in c.items()}) for c in sequence["admitted"]]
    whole = Cost(**{name: exact(x) for name, x in budget.items()})
    assert admits(whole, summed(costs))
    if truth is None:
        assert costs == []
    elif "rho" in budget:
        assert truth <= budget["rho"] * (1 + 1e-9)
    else:
        assert truth <= budget.get("delta", 0) + 1e-12  # the Fourier transform's own error


def test_the_figures_are_not_all_loose():
    """Some sequences use much of their budget: a filter that admits too much would be seen."""
    used = [
        s["truth"] / s["budget"]["rho"] for s in FIGURES["sequences"] if "rho" in s["budget"]
        if s["truth"] is not None
    ]  # fmt: skip
    deltas = [
        s["truth"] / s["budget"]["delta"] for s in FIGURES["sequences"] if "delta" in s["budget"]
        if s["truth"] is not None
    ]  # fmt: skip
    assert max(used) > 0.9
    assert max(deltas) > 0.05
    assert len(used) + len(deltas) > 60
    assert all(math.isfinite(x) for x in used + deltas)
