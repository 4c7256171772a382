"""Everything that releases can be paid for by a ledger: charged, read, stored, returned."""

import inspect
from fractions import Fraction

import numpy as np
import pandas
import pytest
from opendp.mod import OpenDPException

import tametail as tt
from tametail.errors import BudgetError, ParameterError, ResultNotStoredError
from tametail.ledger import Ledger
from tametail.paper import related
from tametail.paper._opened import Opened

RNG = np.random.default_rng(7)
COLUMN = RNG.normal(3.0, 1.0, 400)
MATRIX = RNG.normal(3.0, 1.0, (400, 2))
FRAME = pandas.DataFrame({
    "paid": RNG.lognormal(3, 1, 600),
    "open": RNG.lognormal(2, 1, 600),
    "state": ["CA", "NY", "TX"] * 200,
    "patient": np.arange(600) // 3,
})  # fmt: skip
REFUSED = (BudgetError, OpenDPException)  # OpenDP wraps what a measurement raises
NUMBERS = {"alpha": 0.5, "k": 2, "R": 100.0}


def opendp(data, budget, **paid):
    return tt.as_opendp(tt.plan(n=400, budget=budget, neighbors="replace-one"), **paid)(data)


def by_state(data, budget, **paid):
    keys = ["CA", "NY"]
    return tt.mean(data, "paid", by="state", keys=keys, other="rest", budget=budget, **paid)


def private_states(data, budget, **paid):
    return tt.mean(data, ["paid", "open"], by="state", budget=budget, **paid)


def by_patient(data, budget, **paid):
    return tt.mean(data, "paid", person="patient", budget=budget, **paid)


ADDED = {"neighbors": "add-remove"}

#: What releases: the function, its data, a budget, the unit of its data set.
RELEASES = {
    "range_estimate": (tt.paper.range_estimate, COLUMN, tt.pure(0.1), {}, NUMBERS),
    "mean_1d": (tt.paper.mean_1d, COLUMN, tt.pure(0.1), {}, NUMBERS | {"beta": 0.1}),
    "mean_ball": (tt.paper.mean_ball, MATRIX, tt.zcdp(0.1), {}, NUMBERS),
    "mean_ball as printed": (
        tt.paper.mean_ball, MATRIX, tt.approx(0.1, 1e-6), {}, NUMBERS | {"constants": "paper"},
    ),
    "mean_tournament": (
        tt.paper.mean_tournament, MATRIX, tt.pure(0.1), {}, NUMBERS | {"alpha": 2.0, "beta": 0.1},
    ),
    "karwa_vadhan": (related.karwa_vadhan, COLUMN, tt.pure(0.1), {}, {"R": 9.0, "deviation": 1.0}),
    "coinpress": (related.coinpress, COLUMN, tt.zcdp(0.1), {}, {"R": 9.0, "deviation": 1.0}),
    "histogram": (
        tt.mechanisms.histogram, COLUMN.round(), tt.pure(0.1), {}, {"universe": (0, 10**30)},
    ),
    "as_opendp": (opendp, COLUMN, tt.pure(0.1), {}, {}),
    "groups": (by_state, FRAME, tt.pure(0.1), ADDED, {}),
    "private groups": (private_states, FRAME, tt.approx(0.1, 1e-3), ADDED, {}),
    "persons": (by_patient, FRAME, tt.zcdp(0.1), ADDED | {"person": "patient"}, {}),
}  # fmt: skip


@pytest.fixture(params=RELEASES)
def release(request, tmp_path):
    """Return a function that releases, data, the ledger, and a budget for ten of its releases."""
    function, data, budget, protected, told = RELEASES[request.param]
    ledger = Ledger(tmp_path / "office.ledger")
    definition = type(budget)
    whole = {"Pure": tt.pure(1), "Zcdp": tt.zcdp(1), "Approx": tt.approx(1, 1e-2)}[
        definition.__name__
    ]
    ledger.create("claims", whole, **({"neighbors": "replace-one"} | protected))

    def released(again=data, **paid):
        return function(again, budget, **told, **paid)

    return released, data, ledger


def same(one, other):
    return bool(np.all(one == other))


def test_charged_once_stored_and_given_back(release):
    released, data, ledger = release
    paid = {"ledger": ledger, "dataset": "claims", "release_id": "q3"}
    first = released(**paid)
    assert ledger.remaining("claims").charges == 1
    others = data * 0 if isinstance(data, np.ndarray) else data.assign(paid=0.0)
    again = released(others, **paid)  # other data: the stored release all the same
    assert same(first, again)
    assert type(first) is type(again)
    assert ledger.remaining("claims").charges == 1
    ledger.verify()


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_id_stands_for_one_budget(name, tmp_path):
    """A stored result must not come back stating another budget than it was made with."""
    function, data, budget, protected, told = RELEASES[name]
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.approx(5, 1e-2), **({"neighbors": "replace-one"} | protected))
    paid = {"ledger": ledger, "dataset": "claims", "release_id": "q3"}
    function(data, budget, **told, **paid)
    with pytest.raises(REFUSED, match="another"):
        function(data, budget.share(0.5), **told, **paid)
    assert ledger.remaining("claims").charges == 1


def test_a_histogram_stands_for_one_unit_and_one_universe(tmp_path):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(100))
    paid = {"ledger": ledger, "dataset": "claims", "release_id": "q3"}
    made = {"universe": (0, 9), "neighbors": "add-remove"}
    tt.mechanisms.histogram([1] * 50, tt.pure(8), **made, **paid)
    for change in ({"neighbors": "replace-one"}, {"universe": (0, 10)}):
        with pytest.raises(BudgetError, match="another"):
            tt.mechanisms.histogram([1] * 50, tt.pure(8), **made | change, **paid)
    with pytest.raises(BudgetError, match="another budget"):
        tt.mechanisms.histogram([1] * 50, tt.pure(0.01), **made, **paid)


def test_the_columns_of_a_frame_belong_to_the_request(tmp_path):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.zcdp(1), neighbors="replace-one")
    paid = {"ledger": ledger, "dataset": "claims", "release_id": "q3"}
    frame = FRAME[["paid", "open"]]
    tt.paper.mean_ball(frame, tt.zcdp(0.1), **NUMBERS, **paid)
    with pytest.raises(BudgetError, match="another"):
        tt.paper.mean_ball(frame[["open", "paid"]], tt.zcdp(0.1), **NUMBERS, **paid)


def test_ten_tenths_fit_and_no_eleventh(release):
    released, _, ledger = release
    if ledger.remaining("claims").delta:
        pytest.skip("half of a delta is kept for the other rule of the filter")
    for _ in range(10):
        released(ledger=ledger, dataset="claims")
    with pytest.raises(REFUSED):
        released(ledger=ledger, dataset="claims")


def test_mistakes_are_told_before_anything_is_charged(release):
    released, _, ledger = release
    with pytest.raises(ParameterError, match="requires dataset="):
        released(ledger=ledger)
    with pytest.raises(ParameterError, match="requires a ledger"):
        released(release_id="q3")
    with pytest.raises((ParameterError, OpenDPException)):
        released(object(), ledger=ledger, dataset="claims")
    assert ledger.remaining("claims").charges == 0


@pytest.mark.parametrize("name", ["range_estimate", "mean_1d", "karwa_vadhan", "histogram"])
def test_records_are_read_after_the_charge(name, tmp_path):
    function, data, budget, _, told = RELEASES[name]
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1), neighbors="replace-one")
    seen = []

    def broken():
        seen.append(ledger.remaining("claims").charges)
        yield 1.0
        raise KeyboardInterrupt

    paid = {"ledger": ledger, "dataset": "claims", "release_id": "lost"}
    with pytest.raises(KeyboardInterrupt):
        function(broken(), budget, **told, **paid)
    assert seen == [1]
    with pytest.raises(ResultNotStoredError):
        function(data, budget, **told, **paid)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda **paid: tt.paper.related.coinpress(
                [1.0], tt.pure(0.1), R=100.0, deviation=1.0, **paid
            ),
            "Gaussian",
        ),
        (
            lambda **paid: tt.paper.mean_tournament(
                np.zeros((9, 5)), tt.pure(0.1), beta=0.1, **NUMBERS, **paid
            ),
            "at most 3 columns",
        ),
        (lambda **paid: tt.mechanisms.histogram([1], tt.pure(0.1), **paid), "universe"),
        (
            lambda **paid: tt.mechanisms.histogram(
                np.zeros((2, 2)), tt.pure(0.1), universe=(0, 1), **paid
            ),
            "dimensions",
        ),
    ],
)
def test_a_call_that_cannot_be_made_costs_nothing(call, message, tmp_path):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1), neighbors="replace-one")
    with pytest.raises(ParameterError, match=message):
        call(ledger=ledger, dataset="claims")
    assert ledger.remaining("claims").charges == 0


def test_every_public_function_that_takes_a_budget_can_be_paid_for():
    """Found by the program: whatever releases has the three arguments."""
    public = [tt.mean, tt.as_opendp, tt.mechanisms.histogram]
    public += [getattr(room, name) for room in (tt.paper, related) for name in room.__all__]
    functions = [one for one in public if inspect.isfunction(one)]
    assert len(functions) >= 9
    for function in functions:
        assert {"ledger", "dataset", "release_id"} <= set(inspect.signature(function).parameters)


def test_another_unit_is_refused(tmp_path):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1), person="patient")
    for call in (
        lambda **paid: tt.paper.range_estimate(COLUMN, tt.pure(0.1), **NUMBERS, **paid),
        lambda **paid: by_state(FRAME, tt.pure(0.1), **paid),
    ):
        with pytest.raises(BudgetError):
            call(ledger=ledger, dataset="claims")


def test_the_paper_spends_no_more_than_the_decimal():
    """A float counts as the decimal that it prints; the double 0.1 is above it."""
    opened = Opened.of([1.0, 2.0], tt.pure(0.1))
    assert Fraction(opened.budget.epsilon) < Fraction(1, 10)
    assert opened.asked_for == tt.pure(0.1)
    assert tt.mechanisms.histogram([1], tt.pure(0.1), universe=(0, 1)).budget == tt.pure(0.1)
