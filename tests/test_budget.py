"""Budgets: validation, exact splits, exact sums, comparisons."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tametail.errors import BudgetError, InternalError, ParameterError
from tametail.privacy.accounting import round_up
from tametail.privacy.budget import (
    Approx,
    Budget,
    Pure,
    Zcdp,
    approx,
    approx_to_zcdp,
    compose,
    exponential_rate,
    fits,
    in_parallel,
    parse_budget,
    pure,
    zcdp,
    zcdp_to_approx,
)

amounts = st.floats(1e-6, 1e6)
deltas = st.floats(1e-12, 0.5)
budgets = st.one_of(
    st.builds(pure, amounts), st.builds(zcdp, amounts), st.builds(approx, amounts, deltas)
)


# --- values and their mistakes -------------------------------------------------------------


@pytest.mark.parametrize("value", [-1, 0, 0.0, -0.0])
@pytest.mark.parametrize(("make", "name"), [(pure, "epsilon"), (zcdp, "rho")])
def test_a_budget_must_be_positive(make, name, value):
    with pytest.raises(ParameterError, match=f"Invalid {name}={value}. It must be positive"):
        make(value)


@pytest.mark.parametrize("value", [float("nan"), True, False, "1", None, [1.0], 1j, np.bool_(True)])
@pytest.mark.parametrize(("make", "name"), [(pure, "epsilon"), (zcdp, "rho")])
def test_a_budget_must_be_a_number(make, name, value):
    with pytest.raises(ParameterError, match=f"^Invalid {name}=.* Use a number"):
        make(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 10**400])
def test_a_budget_must_be_finite(value):
    with pytest.raises(ParameterError, match=r"Invalid epsilon=.* Use a finite number"):
        pure(value)


def test_a_budget_beyond_all_sense_is_refused():
    with pytest.raises(ParameterError, match=r"epsilon=1e-101 is too small.* 0.01 to 10 is common"):
        pure(1e-101)
    with pytest.raises(ParameterError, match=r"rho=1e\+101 is too large\. Use"):
        zcdp(1e101)


@pytest.mark.parametrize("delta", [1, 1.0, 2, -1e-6])
def test_delta_lies_between_zero_and_one(delta):
    with pytest.raises(ParameterError, match=f"Invalid delta={delta}. It must be between"):
        approx(1.0, delta)


@pytest.mark.parametrize("delta", [True, "1e-6", math.nan, np.zeros(2)])
def test_delta_must_be_a_number(delta):
    with pytest.raises(ParameterError, match=r"Invalid delta=.*"):
        approx(1.0, delta)


@pytest.mark.parametrize("delta", [0, 0.0])
def test_delta_zero_points_to_pure(delta):
    with pytest.raises(ParameterError, match=r"delta=0.* means pure .* Use pure\(epsilon\), or a"):
        approx(1.0, delta)


@pytest.mark.parametrize("one", [1, np.float64(1), np.float32(1), np.int64(1), Fraction(1)])
def test_numbers_of_all_kinds_become_floats(one):
    assert type(pure(one).epsilon) is float
    assert pure(one) == Pure(1.0)


def test_a_budget_prints_itself_and_is_a_value():
    assert str(pure(1)) == "epsilon = 1 (pure)"
    assert str(zcdp(0.125)) == "rho = 0.125 (zCDP)"
    assert str(approx(0.5, 1e-6)) == "epsilon = 0.5, delta = 1e-06 (approximate)"
    assert len({pure(1), pure(1.0), zcdp(1)}) == 2
    with pytest.raises(AttributeError):
        pure(1).epsilon = 2.0


def test_the_common_base_is_not_a_budget():
    with pytest.raises(TypeError, match="abstract"):
        Budget()


def test_a_fourth_notion_has_no_price():
    class Renyi(Budget):
        strength = 1.0

        def __str__(self):
            return "renyi"

    with pytest.raises(InternalError, match="has no epsilon without a delta"):
        exponential_rate(Renyi())


def test_scipy_is_imported_only_when_needed():
    code = "import sys, tametail.privacy.budget; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(budgets)
def test_budgets_survive_json_and_pickle(budget):
    assert Budget.from_dict(json.loads(json.dumps(budget.to_dict()))) == budget
    assert pickle.loads(pickle.dumps(budget)) == budget


@pytest.mark.parametrize(
    "values", [{}, {"kind": "renyi", "rho": 1}, {"kind": "pure"}, {"kind": "pure", "rho": 1.0}]
)
def test_from_dict_says_what_a_budget_looks_like(values):
    with pytest.raises(ParameterError, match=r"This is not a budget. Use .* {'kind': 'pure'"):
        Budget.from_dict(values)


# --- splitting -----------------------------------------------------------------------------


@given(budgets, st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8), st.booleans())
def test_pieces_never_exceed_the_whole(budget, weights, everything):
    shares = [weight / sum(weights) * (1 if everything else 0.9) for weight in weights]
    pieces = budget.split(*shares)
    for whole, *parts in zip(budget.values(), *(p.values() for p in pieces), strict=True):
        total = sum(map(Fraction, parts))
        assert total <= whole
        for share, part in zip(shares, parts, strict=True):
            assert part == pytest.approx(share * whole, rel=1e-8)
        if everything:  # what is missing is less than the rounding of the last piece
            assert Fraction(whole) - total < Fraction(math.ulp(parts[-1]))


def test_shares_that_sum_to_one_up_to_rounding_are_all_of_it():
    assert sum((0.1, 0.2, 0.3, 0.4 + 1e-10)) > 1
    pieces = pure(0.3).split(0.1, 0.2, 0.3, 0.4 + 1e-10)
    total = sum(Fraction(piece.epsilon) for piece in pieces)
    assert 0 <= Fraction(0.3) - total < Fraction(math.ulp(0.12))
    assert pure(0.3).split(1) == (pure(0.3),)


@pytest.mark.parametrize("shares", [(), (0.5, 0.6), (1, 1e-8)])
def test_shares_must_sum_to_at_most_one(shares):
    with pytest.raises(ParameterError, match=r"shares sum to .* Use .* split\(0.25, 0.75\)"):
        pure(1).split(*shares)


@pytest.mark.parametrize("share", [0, -0.5, math.nan, math.inf, "a", True])
def test_a_share_must_be_positive(share):
    with pytest.raises(ParameterError, match="share="):
        pure(1).split(0.5, share)
    with pytest.raises(ParameterError, match="fraction="):
        pure(1).share(share)


def test_a_fraction_is_at_most_one():
    assert zcdp(0.3).share(1) == zcdp(0.3)
    with pytest.raises(ParameterError, match=r"Invalid fraction=1.5. It must be above 0"):
        zcdp(0.3).share(1.5)


# --- composition ---------------------------------------------------------------------------


@given(st.lists(amounts, min_size=1, max_size=20))
def test_sums_are_exact_up_to_one_rounding_upwards(numbers):
    exact = sum(map(Fraction, numbers))
    assert compose(map(pure, numbers), Pure) == pure(round_up(exact))
    assert compose(map(zcdp, numbers), Zcdp) == zcdp(round_up(exact))
    halves = sum(Fraction(number) ** 2 / 2 for number in numbers)
    assert compose(map(pure, numbers), Zcdp) == zcdp(round_up(halves))


@settings(deadline=None)  # the first example imports scipy
@given(st.lists(budgets, min_size=1, max_size=6), budgets)
def test_one_more_cost_never_costs_less(costs, another):
    kinds = {type(cost) for cost in [*costs, another]}
    own_delta = sum(cost.delta for cost in [*costs, another] if isinstance(cost, Approx))
    if own_delta < 0.9:
        before, after = (compose(part, Approx, 0.99) for part in (costs, [*costs, another]))
        assert before.epsilon <= after.epsilon * (1 + 1e-12)
    if Approx not in kinds:
        assert compose(costs, Zcdp).rho <= compose([*costs, another], Zcdp).rho
    if kinds == {Pure}:
        assert compose(costs, Pure).epsilon <= compose([*costs, another], Pure).epsilon


@settings(deadline=None)  # the first example imports scipy
@given(budgets, st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8))
def test_what_was_split_composes_to_no_more_than_the_whole(budget, weights):
    pieces = budget.split(*(weight / sum(weights) for weight in weights))
    delta = budget.delta if isinstance(budget, Approx) else None
    assert fits(compose(pieces, type(budget), delta), budget)


def test_no_costs_compose_to_none():
    assert compose([], Pure) is None
    assert compose([], Approx, delta=1e-6) is None


def test_approximate_composition_takes_the_better_sum():
    few = [pure(0.5), approx(0.25, 1e-7)]
    assert compose(few, Approx, delta=1e-6) == approx(0.75, 1e-6)
    many = [pure(0.01)] * 1000
    concentrated = compose(many, Approx, delta=1e-6).epsilon
    assert concentrated == zcdp_to_approx(round_up(1000 * Fraction(0.01) ** 2 / 2), 1e-6) < 2
    mixed = compose([pure(0.5), zcdp(1e-4)], Approx, delta=1e-6).epsilon
    assert mixed == round_up(Fraction(0.5) + Fraction(zcdp_to_approx(1e-4, 1e-6)))


def test_approximate_costs_may_use_all_of_delta():
    assert compose([approx(1, 5e-7)] * 2, Approx, delta=1e-6) == approx(2, 1e-6)


@pytest.mark.parametrize("costs", [[approx(1, 1e-5)], [approx(1, 1e-6), zcdp(1)]])
def test_deltas_that_leave_too_little_are_refused(costs):
    with pytest.raises(
        BudgetError, match=r"use delta = .* of the total delta = 1e-06, which leaves too little"
    ):
        compose(costs, Approx, delta=1e-6)


@pytest.mark.parametrize(
    ("cost", "kind", "delta"),
    [
        (zcdp(1), Pure, None),
        (approx(1, 1e-6), Pure, None),
        (approx(1, 1e-6), Zcdp, None),
        (pure(1), Pure, 1e-6),
    ],
)
def test_costs_that_cannot_make_the_guarantee_are_an_internal_error(cost, kind, delta):
    with pytest.raises(InternalError, match=f"cannot make a {kind.__name__} guarantee"):
        compose([pure(1), cost], kind, delta)


def test_an_approximate_guarantee_needs_its_delta():
    with pytest.raises(InternalError, match="needs the total delta"):
        compose([pure(1)], Approx)
    with pytest.raises(ParameterError, match="Invalid delta=2"):
        compose([pure(1)], Approx, delta=2)


def test_disjoint_parts_cost_the_largest():
    assert in_parallel([zcdp(0.5), zcdp(0.1)]) == zcdp(0.5)
    assert in_parallel([approx(1, 1e-9), approx(0.5, 1e-6)]) == approx(1, 1e-6)
    for costs in ([], [pure(1), zcdp(1)]):
        with pytest.raises(InternalError, match="disjoint costs of one kind are needed"):
            in_parallel(costs)


def test_fits_compares_exactly():
    above = math.nextafter(1.0, 2)
    assert fits(pure(1), pure(1))
    assert not fits(pure(above), pure(1))
    assert fits(pure(1), zcdp(0.5))
    assert not fits(pure(above), zcdp(0.5))
    assert fits(pure(1), approx(1, 1e-9))
    assert fits(zcdp(1), zcdp(1))
    assert fits(approx(1, 1e-6), approx(1, 1e-6))
    assert not fits(approx(1, 1e-5), approx(1, 1e-6))
    assert not fits(approx(above, 1e-6), approx(1, 1e-6))
    rho = approx_to_zcdp(1.0, 1e-6)
    assert fits(zcdp(rho), approx(1, 1e-6))
    assert not fits(zcdp(rho * 1.0001), approx(1, 1e-6))
    for spent, budget in [
        (zcdp(1e-9), pure(9)),
        (approx(1e-9, 1e-9), pure(9)),
        (approx(1e-9, 1e-9), zcdp(9)),
    ]:
        assert not fits(spent, budget)


# --- what a caller writes ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "budget"),
    [
        ({"epsilon": 1}, pure(1)),
        ({"epsilon": 1, "delta": 1e-6}, approx(1, 1e-6)),
        ({"rho": 0.5}, zcdp(0.5)),
        ({"budget": zcdp(0.5)}, zcdp(0.5)),
    ],
)
def test_one_budget_is_read(arguments, budget):
    assert parse_budget(**arguments) == budget


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Missing privacy budget. Use epsilon=1"),
        ({"epsilon": 1, "rho": 1}, "epsilon and rho cannot be combined"),
        ({"rho": 1, "delta": 1e-6}, "rho and delta cannot be combined"),
        ({"budget": 1}, "Invalid budget=1"),
    ],
)
def test_none_or_several_budgets_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        parse_budget(**arguments)


@given(st.floats(1e-100, 1e100), st.floats(1e-100, 0.5))
def test_a_trusted_budget_is_the_checked_one(number, delta):
    assert Pure.trusted(number) == Pure(number)
    assert Zcdp.trusted(number) == Zcdp(number)
    assert Approx.trusted(number, delta) == Approx(number, delta)


@pytest.mark.parametrize("number", [0.0, -1.0, 1e-101, 1e101, math.nan, math.inf])
def test_a_trusted_budget_beyond_all_sizes_is_refused_as_ever(number):
    with pytest.raises(ParameterError, match="epsilon="):
        Pure.trusted(number)
