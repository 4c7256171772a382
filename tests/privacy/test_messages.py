"""Records that a slip hands over as an argument do not come back in a message.

Every public callable gets, at each of its arguments in turn, frames, series, arrays and lists of
planted records; whatever is raised is searched for them, with all causes, contexts and notes.
"""

import inspect
import math
import traceback
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tametail as tt
from tametail import cli
from tametail._shown import shown
from tametail.errors import TametailError
from tametail.planning import Plan
from tametail.privacy.budget import Budget
from tametail.release import Release
from tametail.request import Request

from ..seeded import seeded  # noqa: TID252

SECRETS = [734561.25, 734562.5, 734563.75]
WORDS = ["zebrafish-1", "zebrafish-2", "zebrafish-3"]
TELLING = ("73456", "zebrafish")

PLANTED = {
    "pandas frame": pd.DataFrame({"salary": SECRETS, "name": WORDS}),
    "pandas series": pd.Series(SECRETS, name="salary"),
    "pandas words": pd.Series(WORDS, name="name"),
    "pandas index": pd.Index(SECRETS),
    "polars frame": pl.DataFrame({"salary": SECRETS, "name": WORDS}),
    "polars series": pl.Series("salary", SECRETS),
    "arrow table": pa.table({"salary": SECRETS, "name": WORDS}),
    "arrow array": pa.array(WORDS),
    "array": np.array(SECRETS),
    "array of one": np.array(SECRETS[:1]),
    "array without a dimension": np.array(SECRETS[0]),
    "array of words": np.array(WORDS),
    "matrix": np.array([SECRETS, SECRETS]),
    "list": SECRETS,
    "tuple": tuple(SECRETS),
    "two": SECRETS[:2][::-1],
    "pair": tuple(SECRETS[:2][::-1]),
    "pair of words": tuple(WORDS[:2]),
    "list of words": WORDS,
    "dictionary": {"kind": SECRETS, "format": SECRETS, "salary": SECRETS},
    "dictionary by record": dict.fromkeys(WORDS, 1),
    "set": set(WORDS),
    "generator": None,  # made anew for each call
    "long text": "\n".join(map(str, SECRETS * 3)),
    "long number": 73456 * 10**5000,
}

BUDGET = tt.pure(1)
IN_FRAME = {"data": PLANTED["pandas frame"], "column": "salary", "epsilon": 1}
with seeded("the release that is reported"):
    RELEASE = tt.mean([1.0, 2.0] * 50, epsilon=1)
PLAN = tt.plan(n=100, epsilon=1)
NORMAL = {"R": 1e6, "deviation": 1.0}
PAPER = {"budget": BUDGET, "alpha": 0.1, "beta": 0.1, "k": 2, "R": 1e6}
CALLS = {
    "mean": (tt.mean, IN_FRAME),
    "mean of an array": (tt.mean, {"data": PLANTED["array"], "epsilon": 1}),
    "mean of two": (tt.mean, {"data": PLANTED["polars frame"], "column": ["salary"], "rho": 1}),
    "mean by plan": (tt.mean, {"data": PLANTED["array"], "plan": PLAN}),
    "mean by group": (tt.mean, {**IN_FRAME, "by": "name", "keys": ["a"]}),
    "mean by private group": (tt.mean, {**IN_FRAME, "by": "name", "delta": 1e-6}),
    "mean of persons": (tt.mean, {**IN_FRAME, "person": "name", "where": "salary > 3"}),
    "mean in a database": (tt.mean, {**IN_FRAME, "data": "never.db", "table": "claims"}),
    "mean that is paid for": (tt.mean, {**IN_FRAME, "ledger": "never.ledger", "dataset": "a"}),
    "Parse": (tt.Parse, {}),
    "report": (RELEASE.report, {}),
    "plan": (tt.plan, {"epsilon": 1}),
    "plan by group": (tt.plan, {"epsilon": 1, "by": "name", "keys": ["a"]}),
    "sample_size": (tt.sample_size, {"error": 0.1, "epsilon": 1}),
    "epsilon_for": (tt.epsilon_for, {"error": 0.1, "n": 100}),
    "replay": (tt.replay, {"plan": PLAN, "answers": ()}),
    "as_opendp": (tt.as_opendp, {"plan": PLAN}),
    "pure": (tt.pure, {"epsilon": 1}),
    "zcdp": (tt.zcdp, {"rho": 1}),
    "approx": (tt.approx, {"epsilon": 1, "delta": 1e-6}),
    "Moment": (tt.Moment, {"k": 2, "scale": 1}),
    "Bounded": (tt.Bounded, {"low": 0, "high": 1}),
    "histogram": (tt.mechanisms.histogram, {"keys": [1, 2], "budget": tt.approx(1, 1e-6)}),
    "range_estimate": (tt.paper.range_estimate, {"x": SECRETS, **PAPER}),
    "mean_1d": (tt.paper.mean_1d, {"x": SECRETS, **PAPER}),
    "mean_ball": (tt.paper.mean_ball, {"X": PLANTED["matrix"], **PAPER}),
    "mean_tournament": (tt.paper.mean_tournament, {"X": PLANTED["matrix"], **PAPER}),
    "karwa_vadhan": (tt.paper.related.karwa_vadhan, {"x": SECRETS, **NORMAL, "budget": BUDGET}),
    "coinpress": (tt.paper.related.coinpress, {"x": SECRETS, **NORMAL, "budget": tt.zcdp(1)}),
    "Ledger": (tt.Ledger, {"place": "never.ledger"}),
    "Plan.from_dict": (Plan.from_dict, {"record": PLAN.to_dict()}),
    "Plan.from_json": (Plan.from_json, {"text": PLAN.to_json()}),
    "Request.from_dict": (Request.from_dict, {"record": PLAN.request.to_dict()}),
    "Release.from_dict": (Release.from_dict, {"record": {}}),
    "Budget.from_dict": (Budget.from_dict, {"values": BUDGET.to_dict()}),
}


def signature(function):
    return inspect.signature(function).parameters


CASES = [(name, argument) for name, (call, _) in CALLS.items() for argument in signature(call)]


def everything_said(error):
    """Return all that a log would have: the chain of errors, their arguments and their notes."""
    said = ["".join(traceback.format_exception_only(error)), str(error), repr(error)]
    said += map(repr, error.args)
    said += getattr(error, "__notes__", [])
    for other in (error.__cause__, error.__context__):  # also where "from None" hides it
        said += [everything_said(other)] if other is not None else []
    return "\n".join(said)


def raised_by(call, arguments):
    """Return what is raised, or None."""
    try:
        call(**arguments)
    except Exception as error:
        return error
    return None


def planted(kind):
    return (secret for secret in WORDS) if kind == "generator" else PLANTED[kind]


@pytest.mark.parametrize(("name", "argument"), CASES, ids=map("-".join, CASES))
def test_no_argument_comes_back_in_a_message(name, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text may be a name of a file that is written
    call, arguments = CALLS[name]
    known = signature(call)
    rest = {key: value for key, value in arguments.items() if key in known and key != argument}
    for kind in PLANTED:
        if argument in ("column", "person", "by") and kind in ("list of words", "pair of words"):
            continue  # these are names of columns, and the one that is not there may be shown
        error = raised_by(call, {**rest, argument: planted(kind)})
        if error is not None:
            said = everything_said(error)
            assert not [word for word in TELLING if word in said], (kind, said[:300])
            assert isinstance(error, TametailError), (kind, said[:300])


LEDGER = ("create", "charge", "quote", "remaining", "history", "verify", "raise_budget", "close")
USUAL = {"name": "a", "dataset": "a", "budget": BUDGET, "reason": "why", "cost": BUDGET}


@pytest.mark.parametrize("method", LEDGER)
def test_a_ledger_repeats_nothing(method, tmp_path):
    ledger = tt.Ledger(tmp_path / "office.ledger")
    ledger.create("a", budget=tt.pure(1), neighbors="add-remove")
    call = getattr(ledger, method)
    known = [key for key in signature(call) if key != "self"]
    for argument in known:
        for kind in PLANTED:
            rest = {key: USUAL[key] for key in known if key in USUAL and key != argument}
            error = raised_by(call, {**rest, argument: planted(kind)})
            if error is not None:
                said = everything_said(error)
                assert not [word for word in TELLING if word in said], (argument, kind, said[:300])


@pytest.mark.parametrize("option", ["--plan", "--within", "--moment", "--bounds", "--confidence"])
def test_the_command_line_repeats_no_file(option, tmp_path, capsys):
    """A file of records where a plan is expected, or what ``$(cat file)`` puts on a line."""
    file = tmp_path / "salaries.csv"
    file.write_text("salary\n" + "\n".join(map(str, SECRETS * 3)), encoding="utf-8")
    told = str(file) if option == "--plan" else file.read_text(encoding="utf-8")
    arguments = ["mean", str(file), "--column", "salary", option, told]
    arguments += [] if option == "--plan" else ["--epsilon", "1"]
    code = cli.main(arguments)
    said = "".join(capsys.readouterr())
    assert code == 2, said
    assert not [word for word in TELLING if word in said], said


class Loud(str):
    """A text that prints something else."""

    def __repr__(self):
        return "zebrafish"

    __str__ = __repr__


class LoudNumber(float):
    """A number that prints something else."""

    def __repr__(self):
        return "zebrafish"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("paid", "'paid'"),
        (3, "3"),
        (True, "True"),
        (None, "None"),
        (math.inf, "inf"),
        (np.float64(0.5), "0.5"),
        (np.int64(7), "7"),
        (Fraction(1, 3), "1/3"),
        (Loud("quiet"), "'quiet'"),
        (LoudNumber(2.5), "2.5"),
        (10**400, "int"),
        ("x" * 61, "str"),
        ([1], "list"),
        ((1, 2), "tuple"),
        (Decimal(1), "Decimal"),
        (Fraction(10**99, 3), "Fraction"),
        (b"bytes", "bytes"),
        (np.array(1.0), "ndarray"),
        (pd.Series([1.0]), "Series"),
        (object, "type"),
    ],
)
def test_what_is_shown(value, text):
    assert shown(value) == text
