"""Guarantees: what they state, what they imply, and how they read."""

from __future__ import annotations

import pytest

from tametail.errors import InternalError, ParameterError
from tametail.privacy.budget import Guarantee, approx, pure, zcdp, zcdp_to_approx
from tametail.privacy.unit import Unit


@pytest.mark.parametrize(
    ("spent", "sentence"),
    [
        (
            pure(1),
            "epsilon = 1 (pure differential privacy) when any one record is added or removed; "
            "this implies epsilon = 2 when one record is replaced by another.",
        ),
        (
            zcdp(0.5),
            "rho = 0.5 (zero-concentrated differential privacy) when any one record is added or "
            "removed; this implies rho = 2 when one record is replaced by another.",
        ),
        (
            approx(1, 1e-6),
            "epsilon = 1, delta = 1e-06 (approximate differential privacy) when any one record is "
            "added or removed; this implies epsilon = 2, delta = 3.71828182846e-06 when one "
            "record is replaced by another.",
        ),
    ],
)
def test_a_guarantee_is_one_sentence(spent, sentence):
    assert str(Guarantee.from_budget(spent, Unit.ADD_REMOVE)) == sentence


def test_a_guarantee_under_replacement_implies_nothing_more():
    guarantee = Guarantee.from_budget(zcdp(0.5), Unit.REPLACE_ONE)
    assert guarantee.for_replacement() is guarantee
    assert str(guarantee).endswith("when any one record is replaced by another.")


def test_guarantees_state_what_applies():
    rows = [
        Guarantee.from_budget(spent, Unit.ADD_REMOVE).to_dict()
        for spent in (pure(1), zcdp(0.5), approx(1, 1e-6))
    ]
    assert rows == [
        {"epsilon": 1.0, "delta": 0.0, "rho": None, "unit": "add-remove"},
        {"epsilon": None, "delta": None, "rho": 0.5, "unit": "add-remove"},
        {"epsilon": 1.0, "delta": 1e-6, "rho": None, "unit": "add-remove"},
    ]
    assert all(type(row["unit"]) is str for row in rows)


def test_a_doubled_delta_never_exceeds_one():
    for epsilon in (20.0, 699.0, 701.0, 1e6):
        doubled = Guarantee.from_budget(approx(epsilon, 1e-3), Unit.ADD_REMOVE).for_replacement()
        assert (doubled.epsilon, doubled.delta) == (2 * epsilon, 1.0)
    assert Guarantee.from_budget(pure(1e6), Unit.ADD_REMOVE).for_replacement().delta == 0.0


def test_epsilon_at_a_delta():
    def at(spent, delta):
        return Guarantee.from_budget(spent, Unit.REPLACE_ONE).at_delta(delta)

    assert at(pure(1), 1e-9) == 1.0
    assert at(approx(1, 1e-6), 1e-5) == 1.0
    assert at(zcdp(0.5), 1e-6) == zcdp_to_approx(0.5, 1e-6)
    with pytest.raises(ParameterError, match=r"delta=1e-07 is below .*: write delta=1e-06 or"):
        at(approx(1, 1e-6), 1e-7)
    with pytest.raises(ParameterError, match="delta=0 is not between 0 and 1"):
        at(zcdp(1), 0)


def test_an_empty_guarantee_is_an_internal_error():
    with pytest.raises(InternalError, match="states neither rho nor epsilon and delta"):
        Guarantee(None, None, None, Unit.REPLACE_ONE).at_delta(1e-6)
