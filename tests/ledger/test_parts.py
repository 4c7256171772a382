"""Parts of one file by a condition: each has a budget, all add up in the whole."""

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail import cli
from tametail.errors import BudgetError, LedgerIntegrityError, ParameterError
from tametail.expressions import Expression
from tametail.ledger import Ledger
from tametail.ledger.parts import check_condition, is_within

RNG = np.random.default_rng(5)
FRAME = pandas.DataFrame({
    "amount": np.where(np.arange(4000) % 2, 100.0, 500.0) + RNG.normal(size=4000),
    "year": np.where(np.arange(4000) % 2, 2024, 2025),
    "age": RNG.integers(20, 90, 4000),
    "patient": np.arange(4000) // 4,
})  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "claims.csv"
    FRAME.to_csv(path, index=False)
    return path


@pytest.fixture
def office(place):
    ledger = Ledger(place)
    ledger.create("claims", tt.pure(2))
    for year in (2024, 2025):
        ledger.create(f"claims-{year}", tt.pure(1), part_of="claims", where=f"year=={year}")
    return ledger


def test_years_in_one_file(office, file):
    """Both are charged to their own budget, and to that of the whole."""
    paid = {"epsilon": 0.75, "ledger": office}
    older = tt.mean(file, "amount", dataset="claims-2024", where="year == 2024", **paid)
    newer = tt.mean(file, "amount", dataset="claims-2025", **paid)  # the condition is the part's
    assert abs(float(older) - 100) < 30
    assert abs(float(newer) - 500) < 30
    assert newer.plan.request.where == "year == 2025"
    assert (
        office.remaining("claims-2024").epsilon == office.remaining("claims-2025").epsilon == 0.25
    )
    assert office.remaining("claims").epsilon == 0.5
    with pytest.raises(BudgetError, match="but 'claims-2024' has"):
        tt.mean(file, "amount", dataset="claims-2024", **paid)
    tt.mean(file, "amount", dataset="claims", epsilon=0.5, ledger=office)
    with pytest.raises(BudgetError, match="but 'claims' has"):
        tt.mean(file, "amount", dataset="claims-2025", epsilon=0.25, ledger=office)
    office.verify()


def test_persons_in_several_parts_add_up(tmp_path, file):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1.5), person="patient")
    for year in (2024, 2025):
        ledger.create(f"claims-{year}", tt.pure(1), part_of="claims", where=f"year == {year}")
    paid = {"person": "patient", "ledger": ledger}
    tt.mean(file, "amount", epsilon=1, dataset="claims-2024", **paid)
    with pytest.raises(BudgetError, match="but 'claims' has"):
        tt.mean(file, "amount", epsilon=1, dataset="claims-2025", **paid)


@pytest.mark.parametrize(
    ("where", "asked"),
    [
        (None, "year == 2024"),
        ("year == 2024", "year == 2024"),
        ("age >= 65", "year == 2024 and age >= 65"),
        ("year == 2024 and age >= 65", "year == 2024 and age >= 65"),
        ("age >= 65 or age < 30", "year == 2024 and (age >= 65 or age < 30)"),
        ("year == 2025", "year == 2024 and year == 2025"),
        ("year == 2024 or age > 0", "year == 2024 and (year == 2024 or age > 0)"),
    ],
)
def test_the_condition_of_a_part_is_added(office, file, where, asked):
    paid = {"ledger": office, "dataset": "claims-2024"}
    release = tt.mean(file, "amount", epsilon=0.1, where=where, **paid)
    assert release.plan.request.where == asked
    plan = tt.plan(n=2000, epsilon=0.1)
    again = tt.mean(file, "amount", plan=plan, where=where, **paid)
    assert again.plan.request.where == asked
    assert [event.request["where"] for event in office.history("claims-2024")[1:]] == [asked] * 2


def test_the_command_line(file, tmp_path, capsys):
    ledger = ["--ledger", str(tmp_path / "office.ledger")]
    make = ["ledger", "create", "claims-2024", *ledger, "--epsilon", "1"]
    assert cli.main(["ledger", "create", "claims", *ledger, "--epsilon", "2"]) == 0
    assert cli.main([*make, "--where", "year == 2024"]) == 2
    assert "requires part_of" in capsys.readouterr().err
    assert cli.main([*make, "--where", "year == 2024", "--part-of", "claims"]) == 0
    ask = ["mean", str(file), "-c", "amount", "--epsilon", "0.5", "--json", *ledger]
    assert cli.main([*ask, "--dataset", "claims-2024"]) == 0
    assert '"where": "year == 2024"' in capsys.readouterr().out


def test_what_has_no_condition_is_refused(office):
    """A function without where= would be about all records."""
    with pytest.raises(BudgetError, match="does not have that condition"):
        office.charge("claims-2024", tt.pure(0.1))
    for request in ({"where": "year == 2025"}, {"where": "(year == 2024 and age > 1) or age > 1"}):
        with pytest.raises(BudgetError, match="does not have that condition"):
            office.charge("claims-2024", tt.pure(0.1), request=request)
    office.charge("claims-2024", tt.pure(0.1), request={"where": "year == 2024"})
    assert office.remaining("claims").charges == 1


def test_a_histogram_of_a_part_is_refused(tmp_path):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1))
    ledger.create("claims-2024", tt.pure(1), part_of="claims", where="year == 2024")
    paid = {
        "ledger": ledger,
        "dataset": "claims-2024",
        "neighbors": "add-remove",
        "universe": (0, 9),
    }
    with pytest.raises(BudgetError, match="does not have that condition"):
        tt.mechanisms.histogram([1, 2], tt.pure(0.1), **paid)


def test_parts_by_files_still_have_a_file_each(office):
    """The condition makes the difference: a mistyped name must not charge the wrong part."""
    for name in ("north", "south"):
        office.create(name, tt.pure(1), part_of="claims")
    office.charge("north", tt.pure(0.1), locator="/data/north.csv")
    with pytest.raises(BudgetError, match="part_of='claims', where="):
        office.charge("south", tt.pure(0.1), locator="/data/north.csv")
    with pytest.raises(BudgetError, match="charged as dataset 'north'"):
        office.charge("claims-2024", tt.pure(0.1), locator="/data/north.csv",
                      request={"where": "year == 2024"})  # fmt: skip
    office.create("visits", tt.pure(1))
    office.create("visits-2024", tt.pure(1), part_of="visits", where="year == 2024")
    office.charge("claims-2024", tt.pure(0.1), locator="/data/c", request={"where": "year == 2024"})
    with pytest.raises(BudgetError, match="charged as dataset 'claims-2024'"):
        office.charge("visits-2024", tt.pure(0.1), locator="/data/c",
                      request={"where": "year == 2024"})  # fmt: skip


def test_the_advice_of_a_refusal_works(tmp_path, file):
    """Two names for one file are refused; what the message says to create is admitted."""
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("2024", tt.pure(1))
    ledger.create("2025", tt.pure(1))
    tt.mean(file, "amount", epsilon=0.1, where="year == 2024", ledger=ledger, dataset="2024")
    with pytest.raises(BudgetError, match="create parts by a condition") as caught:
        tt.mean(file, "amount", epsilon=0.1, where="year == 2025", ledger=ledger, dataset="2025")
    advice = str(caught.value).partition("create parts by a condition: ")[2].partition(". No")[0]
    eval(f"ledger.{advice}", {"ledger": ledger, "budget": tt.pure(0.5)})
    tt.mean(file, "amount", epsilon=0.1, ledger=ledger, dataset="2025 A")
    ledger.create("2025 B", tt.pure(0.5), part_of="2024", where="year == 2025")
    tt.mean(file, "amount", epsilon=0.1, ledger=ledger, dataset="2025 B")
    assert ledger.remaining("2024").charges == 3


@pytest.mark.parametrize(
    "where",
    ["", "year", "year = 2024", "year == 2024 or 1 == 1", "year >= 2024", "1 == year", 5,
     "and == 1", "year == 1e999", "year == inf", "year == 2024)", "year == `x`",
     "year == 2024 and a == 1", "year == 'it's'", "a b == 1"],
)  # fmt: skip
def test_conditions_are_checked(office, where):
    with pytest.raises(ParameterError, match="does not define a part"):
        office.create("part", tt.pure(1), part_of="claims", where=where)


NAMES = st.one_of(
    st.sampled_from(["year", "and", "is", "a b", "ü", "`", "x``y", "1st"]), st.text(min_size=1)
)
VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**18), 10**18), st.text()
)


@given(NAMES, VALUES, st.booleans())
def test_a_condition_is_written_as_a_request_writes_it(name, value, double):
    """Otherwise the part could never be charged; and it is the condition that was written."""
    sign = '"' if double else "'"
    told = sign + value.replace(sign, 2 * sign) + sign if isinstance(value, str) else repr(value)
    text = "`{}` == {}".format(name.replace("`", "``"), told)
    try:
        parsed = Expression.parse_condition(text)
    except ParameterError:
        return
    assert check_condition(text) == str(parsed)
    assert is_within({"where": str(Expression.parse(f"({text}) and (a == 1 or b == 2)"))},
                     check_condition(text))  # fmt: skip


def test_a_charge_outside_of_its_part_shows(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(2))
    ledger.create("part", tt.pure(1), part_of="claims", where="year == 2024")
    with monkeypatch.context() as patched:
        patched.setattr("tametail.ledger.charging.is_within", lambda *_: True)
        ledger.charge("part", tt.pure(0.1), request={"where": "year == 2025"})
    with pytest.raises(LedgerIntegrityError, match="condition of the part"):
        ledger.verify()
