"""Related estimators on the frame: the budget is spent exactly, answers replay, nothing fails."""

import math

import numpy as np
import pytest

import tametail as tt
from tametail.ask import Ask, Replay
from tametail.errors import ParameterError
from tametail.paper import related
from tametail.privacy.budget import Approx, Pure, Zcdp, fits

from .test_range import BAD_DATA

CASES = [
    (related.karwa_vadhan, Pure(1.0)),
    (related.karwa_vadhan, Zcdp(0.5)),
    (related.karwa_vadhan, Approx(1.0, 1e-6)),
    (related.coinpress, Zcdp(0.5)),
]
TOLD = {"R": 1e4, "deviation": 2.0}


@pytest.mark.parametrize(("estimate", "budget"), CASES)
def test_normal_records_far_from_zero(estimate, budget):
    x = np.random.default_rng(1).normal(1234.5, 2.0, 20_000)
    assert estimate(x, budget, **TOLD) == pytest.approx(1234.5, abs=0.1)


@pytest.mark.parametrize(("estimate", "budget"), CASES)
def test_all_of_the_budget_is_spent_and_the_answers_replay(monkeypatch, estimate, budget):
    asks = []

    class Watched(Ask):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            asks.append(self)

    monkeypatch.setattr("tametail.paper._opened.Ask", Watched)
    x = np.random.default_rng(2).normal(50.0, 2.0, 500)
    value = estimate(x, budget, **TOLD)
    assert fits(asks[0].spent, budget)
    assert asks[0].spent.strength > 0.999 * budget.strength
    monkeypatch.setattr(
        "tametail.paper._opened.Data", lambda data: Replay(asks[0].answers, data.relation)
    )
    assert estimate(x * 0, budget, **TOLD).hex() == value.hex()


@pytest.mark.parametrize(("estimate", "budget"), CASES)
@pytest.mark.parametrize("name", BAD_DATA)
def test_no_data_make_it_fail(estimate, budget, name):
    assert math.isfinite(estimate(BAD_DATA[name], budget, **TOLD))


def test_steps_of_coinpress_come_closer():
    """One step has to pay for R; each further one for what the last has left."""
    x = np.random.default_rng(3).normal(0.0, 1.0, 2_000)

    def error(steps):
        found = [
            related.coinpress(x, tt.zcdp(0.05), R=1e4, deviation=1.0, steps=steps)
            for _ in range(15)
        ]
        return np.sqrt(np.mean(np.square(found)))

    assert error(4) < 0.2 * error(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: related.coinpress([1.0], tt.pure(1.0), R=1.0, deviation=1.0), "write zcdp"),
        (lambda: related.coinpress([1.0], tt.zcdp(1.0), R=1.0, deviation=1.0, steps=0), "steps=0"),
        (lambda: related.coinpress([1.0], tt.zcdp(1.0), R=math.inf, deviation=1.0), "R=inf"),
        (lambda: related.karwa_vadhan([1.0], tt.pure(1.0), R=1.0, deviation=0.0), "deviation=0"),
        (lambda: related.karwa_vadhan([1.0], tt.pure(1.0), R=-1.0, deviation=1.0), "R=-1.0"),
        (
            lambda: related.karwa_vadhan([1.0], tt.pure(1.0), R=1.0, deviation=1.0, beta=2),
            "beta=2",
        ),
        (lambda: related.karwa_vadhan([1.0], tt.pure(1e-13), R=1.0, deviation=1.0), "too small"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
