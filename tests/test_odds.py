"""A budget in odds: rounded up, said of every release, and of large budgets in plans, too."""

import math
from fractions import Fraction

import numpy as np
import pytest

import tametail as tt
from tametail.cli import main
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Guarantee
from tametail.privacy.odds import odds, weak_budget

RECORDS = np.random.default_rng(1).lognormal(size=4000)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 0.5, 1, 2, 5, 9.99, 10, 13.8, 13.9, 50, 1000])
def test_odds_are_rounded_up_and_not_by_much(epsilon):
    said = odds(Guarantee.from_budget(tt.pure(epsilon), Adjacency.ADD_REMOVE))
    told = said.partition("to at most ")[2].split(":1")[0]
    if told.startswith("10^"):
        power = int(told.removeprefix("10^"))
        assert power - 1 < epsilon / math.log(10) <= power
    else:
        assert "e" not in told  # a figure that anyone can read
        plain = told.replace(",", "")
        assert math.exp(epsilon) <= float(Fraction(plain)) <= 1.011 * math.exp(epsilon)


@pytest.mark.parametrize(
    ("adjacency", "words"),
    [
        (Adjacency.ADD_REMOVE, "a certain record is in the data"),
        (Adjacency.REPLACE_ONE, "a certain record is this one and not that one"),
        (Adjacency.parse("add-remove", person="who"), "a certain person is in the data"),
    ],
)
def test_odds_are_about_what_is_protected(adjacency, words):
    assert f"odds that {words} rise from 1:1" in odds(Guarantee.from_budget(tt.pure(1), adjacency))


def test_a_delta_is_told():
    assert "0.001" in odds(Guarantee.from_budget(tt.approx(1, 1e-3), Adjacency.ADD_REMOVE))
    assert "1e-06" in odds(Guarantee.from_budget(tt.zcdp(0.1), Adjacency.ADD_REMOVE))


@pytest.mark.parametrize(
    ("budget", "is_weak"),
    [(tt.pure(10), False), (tt.pure(10.1), True), (tt.zcdp(1), False), (tt.zcdp(2), True),
     (tt.approx(10, 1e-6), False), (tt.approx(11, 1e-6), True)],
)  # fmt: skip
def test_large_budgets_are_told_wherever_one_decides(budget, is_weak, tmp_path, capsys):
    assert bool(weak_budget(budget, Adjacency.ADD_REMOVE)) is is_weak
    plan = tt.plan(n=4000, budget=budget)
    one = tt.mean(RECORDS, budget=budget)
    two = tt.mean(np.column_stack([RECORDS, RECORDS]), budget=budget)
    for notes in (plan.notes, one.notes, two.notes):
        assert ("weak-budget" in {note.code for note in notes}) is is_weak
    for text in (str(plan), plan._repr_html_(), str(one), str(two), one._repr_html_()):
        assert ("This budget protects little" in text) is is_weak
    assert not one.has_warnings  # it is a remark: the value does not mislead
    assert tt.replay(one.plan, one.answers) == one


def test_the_command_line_and_reports_explain_the_odds(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{x}\n" for x in RECORDS))
    asked = ["mean", str(tmp_path / "x.csv"), "-c", "x"]
    assert main([*asked, "-e", "1", "--report", str(tmp_path / "r.html")]) == 0
    assert "from 1:1 to at most 2.72:1" in " ".join(capsys.readouterr().out.split())
    assert "from 1:1 to at most 2.72:1" in (tmp_path / "r.html").read_text()
    assert main([*asked, "-e", "1000"]) == 0
    assert "This budget protects little" in " ".join(capsys.readouterr().out.split())
    assert main(["plan", "-n", "1000", "-e", "1000"]) == 0
    assert "10^435:1" in capsys.readouterr().out
