"""The comparison itself: fair pairs, honest numbers, and no stop where a library is missing."""

import math
import pickle

import numpy as np
import pytest

import peers
from baselines.methods import METHODS, Told, radius_for
from peers import Outcome


def named(name, **wanted):
    (found,) = (
        method
        for method in METHODS
        if method.name == name and all(getattr(method, key) == wanted[key] for key in wanted)
    )
    return found


def ours(told=Told.NOTHING, notion="pure", unit="replace-one"):
    return named("tametail", told=told, notion=notion, unit=unit)


def test_rivals_promise_no_less_and_are_told_no_more():
    bounded, automatic = named("bounded Laplace"), named("python-dp, automatic bounds")
    assert not bounded.may_be_compared_with(ours())
    assert bounded.may_be_compared_with(ours(Told.RANGE))
    assert bounded.may_be_compared_with(ours(Told.RANGE, "zCDP"))
    assert not automatic.may_be_compared_with(ours())  # n is not public there
    assert automatic.may_be_compared_with(ours(unit="add-remove"))
    assert not named("CoinPress").may_be_compared_with(ours(Told.SCALE))
    assert named("CoinPress").may_be_compared_with(ours(Told.SCALE, "zCDP"))
    assert not ours(Told.RANGE).may_be_compared_with(ours(Told.SCALE))


def test_every_rival_has_one_of_ours_to_be_compared_with():
    for method in METHODS:
        mine = [other for other in METHODS if other.is_ours]
        assert method.is_ours or any(method.may_be_compared_with(other) for other in mine)


def test_an_outcome_shows_failures_and_refusals():
    assert Outcome(np.array([3.0, 4.0, math.nan, -5.0]), 1.0).ratio == pytest.approx(
        50**0.5 / 3**0.5
    )
    assert Outcome(np.array([0.0, 200.0, math.nan]), 1.0).text == "141 !1 ?1"
    assert Outcome(np.array([math.nan]), 1.0).text == "- ?1"


def test_verdicts_name_the_cell_and_who_is_better():
    rng = np.random.default_rng(1)
    errors = rng.normal(size=100)
    results = {
        (10_000, 1.0): {
            "a law": {
                ours(): Outcome(errors, 1.0),
                ours(Told.RANGE): Outcome(2 * errors, 1.0),
                named("bounded Laplace"): Outcome(10 * errors, 1.0),
                named("Bun-Steinke, Student"): Outcome(errors, 1.0),
            }
        }
    }
    factor, by_factor, slack, by_slack = peers.verdicts(results)
    assert factor.endswith("1 of 2 comparisons")
    assert slack.endswith("1 of 2 comparisons")
    assert by_factor.startswith("- Bun-Steinke, Student, against tametail told nothing (pure")
    assert by_factor.endswith("a law (10,000, 1): 1.00 +-0.00")
    assert by_slack.startswith("- Bun-Steinke, Student, against tametail told [-R, R] (pure")
    assert by_slack.endswith("a law (10,000, 1): 2.00 +-0.00")


def test_bounds_of_a_real_column_hold_all_records():
    assert radius_for(np.array([-3.0, 250.0])) == 1000
    assert radius_for(np.array([0.02])) == 0.1


def test_missing_libraries_are_named_and_left_out(tmp_path, capsys):
    places = ["--offline", "--environments", str(tmp_path)]
    peers.main([*places, "--largest", "1000", "--trials", "1", "--only", "normal, mean 37"])
    printed = capsys.readouterr().out
    assert "diffprivlib: left out, not installed" in printed
    assert "python-dp: left out, not installed" in printed
    assert "opendp, bounded mean" in printed
    assert "diffprivlib, bounded mean" not in printed
    assert "n = 1,000, epsilon = 0.1, 1 trials" in printed


def test_tasks_and_outcomes_travel_between_processes():
    task = peers.Task(None, "normal", (1_000, 1.0), trials=1, seed=1, interpreters={})
    found = pickle.loads(pickle.dumps(peers.run(pickle.loads(pickle.dumps(task)))))
    # Without interpreters only the methods of this process answer.
    assert set(found) == {place for place, method in enumerate(METHODS) if method.run is not None}
    assert all(outcome.errors.shape == (1,) for outcome in found.values())


def test_files_have_bounds_of_their_own(tmp_path):
    (tmp_path / "paid.csv").write_text("amount\n3\n1500\n20\n")
    ((name, (population, radius)),) = peers.populations(tmp_path).items()
    assert (name, population.mean(), radius) == ("paid", 1523 / 3, 10_000)


def test_many_populations_are_summarized(capsys):
    by_name = {
        str(scale): {ours(): Outcome(np.array([scale, -scale]), 1.0)} for scale in range(1, 10)
    }
    peers.print_cell((1_000, 1.0), by_name)
    line = capsys.readouterr().out.splitlines()[-1]
    expected = math.factorial(9) ** (1 / 9)
    assert [cell.strip() for cell in line.split("|")[4:6]] == [f"{expected:.3g}", "9"]
