"""The command line: what is on stdout, what on stderr, and the exit codes."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest

import tametail as tt
from tametail import cli
from tametail.cli import mean
from tametail.cli.shell import COMMANDS
from tametail.planning import Plan

from .seeded import seeded_program

EXAMPLES = Path(__file__).parent.parent / "examples"
KEYS = {
    "value", "low", "high", "interval_target", "confidence", "epsilon", "delta", "rho",
    "neighbors",
    "method",
}  # fmt: skip


@pytest.fixture
def claims(tmp_path):
    file = tmp_path / "claims.csv"
    amounts = np.random.default_rng(8).lognormal(3, 1, 4000) - 2
    file.write_text("id,amount\n" + "".join(f"{i},{x}\n" for i, x in enumerate(amounts)))
    return str(file)


@pytest.fixture
def run(capsys):
    """Run the command line in this process; return exit code, stdout and stderr."""

    def call(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_mean_explains_itself_in_a_few_lines(run, claims):
    code, out, err = run("mean", claims, "--column", "amount", "--epsilon", 1)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == ["mean", "95%", "data", "privacy", "odds"]
    assert lines[1].endswith("approximate (tail extrapolated)")
    assert lines[3] == "privacy    epsilon = 1 (pure DP), add or remove one record"


def test_details_have_the_other_interval(run, claims):
    code, out, _ = run("mean", claims, "--column", "amount", "--epsilon", 1, "--details")
    assert code == 0
    details = out.partition("\nDetails\n")[2].splitlines()
    names = [line[2:21].strip() for line in details]
    assert names == ["clipping bounds", "clipped mean", "error components", "method"]
    assert "implies epsilon = 2 for replacing one record" in out


def test_an_unusable_value_is_in_json_and_marked(run, claims, tmp_path):
    asked = ("mean", claims, "--column", "amount", "--json", "--answers")
    for epsilon, usable in ((1, True), (1e-4, False)):
        code, out, _ = run(*asked, "--epsilon", epsilon)
        record = json.loads(out)
        assert (code, record["usable"]) == (0, usable)
        assert isinstance(record["value"], float)
        (tmp_path / "release.json").write_text(out)
        assert run("replay", tmp_path / "release.json")[0] == 0
        changed = json.dumps(record | {"usable": not usable})
        (tmp_path / "release.json").write_text(changed)
        assert run("replay", tmp_path / "release.json")[0] == 1


def test_mean_as_a_sentence(run, claims):
    code, out, _ = run("mean", claims, "--column", "amount", "--epsilon", 1, "--sentence")
    assert code == 0
    assert out.startswith("The mean of amount is ")
    assert out.count("\n") == 1
    code, _, err = run("mean", claims, "--column", "amount", "--epsilon", 1, "--sentence", "--json")
    assert code == 2
    assert "without --json" in err


def test_mean_as_json(run, claims):
    code, out, err = run("mean", claims, "--column", "amount", "--rho", 0.5, "--json")
    assert (code, err) == (0, "")
    record = json.loads(out, parse_constant=pytest.fail)
    assert record.keys() >= KEYS
    assert record["low"] <= record["value"] <= record["high"]
    assert record["rho"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        (["--epsilon", 1], {"epsilon": 1}),
        (["--epsilon", 1, "--delta", 1e-6], {"epsilon": 1, "delta": 1e-6}),
        (["--rho", 0.5, "--moment", "2:50"], {"rho": 0.5, "tail": tt.Moment(2, 50)}),
        (["--epsilon=1", "--bounds", "-5:500"], {"epsilon": 1, "tail": tt.Bounded(-5, 500)}),
        (["--epsilon=1", "--bounds=-5:500"], {"epsilon": 1, "tail": tt.Bounded(-5, 500)}),
        (["--epsilon=1", "--within", "-50:-1e-3"], {"epsilon": 1, "within": (-50, -1e-3)}),
        (["--epsilon=1", "--within=-5:5"], {"epsilon": 1, "within": (-5, 5)}),
        (["--epsilon=1", "--within", "0:inf"], {"epsilon": 1, "within": (0, np.inf)}),
        (["--epsilon=1", "--within", "1e6"], {"epsilon": 1, "within": 1e6}),
        (["--epsilon=1", "-n", 4000], {"epsilon": 1, "n": 4000}),
        (["--epsilon=1", "--confidence", "none"], {"epsilon": 1, "confidence": None}),
        (["--epsilon=1", "--confidence", 0.9], {"epsilon": 1, "confidence": 0.9}),
        (["--epsilon=1", "--target", "data"], {"epsilon": 1, "target": "data"}),
        (["--epsilon=1", "--missing", "none"], {"epsilon": 1, "missing": "none"}),
    ],
    ids=str,
)
def test_options_mean_what_the_arguments_mean(run, claims, options, plan):
    code, out, err = run("mean", claims, "--column", "amount", *options, "--json")
    assert (code, err) == (0, "")
    assert Plan.from_dict(json.loads(out)["plan"]) == tt.plan(**plan).with_names(["amount"])


def test_replace_one(run, claims):
    _, out, _ = run(
        "mean", claims, "--column=amount", "--epsilon=1", "--neighbors=replace-one", "--json"
    )
    record = json.loads(out)
    assert (record["neighbors"], record["plan"]["n"]) == ("replace-one", 4000)


def test_doubt_and_too_little_are_said(run, claims):
    _, out, _ = run("mean", claims, "--column", "amount", "--epsilon", 1, "--moment", "2:0.01")
    assert "Do not use the interval" in out
    _, out, _ = run("mean", claims, "--column", "amount", "--epsilon", 1e-4)
    assert "warning    Too few records for this budget: n x epsilon is below 500" in out
    assert "mean       no reliable estimate\n95% CI     none\n" in out
    assert "note       The only estimate is a private median" in out
    assert out.count("warning") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["mean", "FILE", "--column", "amount"], 2, "Missing privacy budget. Add --epsilon 1"),
        (["mean", "FILE", "--column", "amount", "--epsilon", "-1"], 2, "Invalid --epsilon -1.0"),
        (["mean", "FILE", "--column", "amount", "--epsilon", "x"], 2, "'x' is not a number"),
        (["mean", "FILE", "--column", "amuont", "--epsilon", "1"], 4, "Did you mean 'amount'?"),
        (["mean", "FILE", "--epsilon", "1"], 4, "Add --column NAME, one of"),
        (["mean", "no.csv", "--column", "a", "--epsilon", "1"], 4, "No file 'no.csv'"),
        (["mean", "--epsilon", "1"], 2, "Missing argument 'DATA...'"),
        (["mean", "FILE", "--epsilon", "1", "--moment", "2"], 2, "form K:SCALE, such as 2:1000"),
        (["mean", "FILE", "--epsilon", "1", "--bounds", "a:b"], 2, "form LOW:HIGH"),
        (["mean", "FILE", "--epsilon", "1", "--within", "1:2:3"], 2, "form R or LOW:HIGH"),
        (["mean", "FILE", "--epsilon", "1", "--within", "5:1"], 2, "is empty"),
        (["mean", "FILE", "--epsilon", "1", "--moment", "1:5"], 2, "k=1.0 is too small"),
        (["mean", "FILE", "--epsilon", "1", "--confidence", "some"], 2, "or none"),
        (["mean", "FILE", "--epsilon", "1", "--neighbors", "x"], 2, "'x' is not one of"),
        (["mean", "FILE", "--moment=2:1", "--bounds=0:1", "--rho=1"], 2, "not "),
        (["mean", "FILE", "--plan", "no.json"], 2, "--plan 'no.json' cannot be read"),
        (["mean", "FILE", "--plan", "FILE"], 2, "This is not a plan"),
        (
            ["mean", "FILE", "--plan", "p", "--rho=1", "-n2"],
            2,
            "--rho and -n cannot be combined with --plan",
        ),
        (["plan", "--epsilon", "1"], 2, "Missing size"),
        (["plan", "-n", "5"], 2, "Missing privacy budget. Add --epsilon 1"),
        (["plan", "-n", "1.5", "--epsilon", "1"], 2, "'1.5' is not a valid integer"),
        (["plan", "-n", "9", "--error", "1", "--epsilon", "1"], 2, "not "),
        (
            ["plan", "-n", "9", "--error", "1", "--target", "data"],
            2,
            "--error requires --target population",
        ),
        (["plan", "-n", "9", "--epsilon=1", "--plot", "no/x.png"], 2, "'no/x.png' cannot be wri"),
        (["plan", "--bogus"], 2, "No such option"),
        (["bogus"], 2, "No such command 'bogus'"),
    ],
)
def test_mistakes_are_one_line_on_stderr(run, claims, arguments, code, message):
    found, out, err = run(*[claims if word == "FILE" else word for word in arguments])
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_budget_refused_is_exit_code_3(run, claims, tmp_path):
    record = tt.plan(n=100, epsilon=1).to_dict()
    record["steps"][-1]["cost"]["epsilon"] = 5.0
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(record))
    code, out, err = run("mean", claims, "--column", "amount", "--plan", plan)
    assert (code, out) == (3, "")
    assert "exceeds its budget of epsilon = 1" in err


def test_failures_inside_say_nothing_of_the_data(run, claims, monkeypatch):
    def fail(*_):
        raise RuntimeError("record 17 is 4321.5")

    monkeypatch.setattr(mean, "execute_plan", fail)
    code, out, err = run("mean", claims, "--column", "amount", "--epsilon", 1)
    assert (code, out) == (1, "")
    assert "is spent" in err
    assert "4321" not in err


def test_interrupted(run, claims, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(mean, "execute_plan", interrupt)
    code, out, err = run("mean", claims, "--column", "amount", "--epsilon", 1)
    assert (code, out) == (130, "")
    assert "If data had been opened, the budget of this release is spent" in err


def test_terminated(run, claims, monkeypatch):
    def terminate(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr(mean, "execute_plan", terminate)
    before = signal.getsignal(signal.SIGTERM)
    code, _, err = run("mean", claims, "--column", "amount", "--epsilon", 1)
    assert (code, err.count("\n")) == (143, 1)
    assert "is spent" in err
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_command_that_opens_no_data_speaks_of_no_budget(run, monkeypatch):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tametail.cli.plan.plan_of", interrupt)
    assert run("plan", "-n", 4000, "--epsilon", 1) == (130, "", "\nerror: Interrupted.\n")


def test_plan_prints_steps_and_predictions(run):
    code, out, err = run("plan", "-n", 4000, "--epsilon", 0.1, "--moment", "2:50")
    assert (code, err) == (0, "")
    for word in ("center", "sum", "%", "RMSE", "95% CI           about ±"):
        assert word in out
    assert "note       If most values are identical" in run("plan", "-n", 1000, "--epsilon", 1)[1]
    assert out == f"{tt.plan(n=4000, epsilon=0.1, tail=tt.Moment(2, 50))}\n"
    _, out, _ = run("plan", "-n", 5000, "--epsilon", 1, "--bounds", "0:120")
    assert "(worst case within the bounds; ±" in out
    _, out, _ = run("plan", "--relative-error", 0.1, "--epsilon", 1)
    assert out.startswith("A 95% CI of ±0.1 standard deviations needs ")


def test_plan_goes_to_a_file_and_is_followed(run, claims, tmp_path):
    code, out, _ = run("plan", "-n", 4000, "--rho", 0.5, "--moment", "2:50", "--json")
    assert code == 0
    record = json.loads(out)
    assert record["rmse"] > 0
    file = tmp_path / "plan.json"
    file.write_text(out)
    code, out, _ = run("mean", claims, "--column", "amount", "--plan", file, "--json")
    assert code == 0
    followed = json.loads(out)["plan"]
    planned = tt.plan(n=4000, rho=0.5, tail=tt.Moment(2, 50))
    assert Plan.from_dict(followed) == planned.with_names(["amount"])


def test_plan_finds_n(run):
    code, out, _ = run("plan", "--error", 5, "--epsilon", 1, "--moment", "2:50")
    n = tt.sample_size(5, epsilon=1, tail=tt.Moment(2, 50))
    assert code == 0
    assert out.startswith(f"A 95% CI of ±5 needs {n:,} records at epsilon = 1 (pure).\n")


def test_plan_finds_epsilon(run):
    code, out, _ = run("plan", "--error", 5, "-n", 5000, "--moment", "2:50", "--json")
    epsilon = tt.epsilon_for(5, n=5000, tail=tt.Moment(2, 50))
    assert code == 0
    assert json.loads(out)["request"]["budget"] == {"kind": "pure", "epsilon": epsilon}


def test_plan_draws(run, tmp_path):
    picture = tmp_path / "plan.png"
    code, _, err = run("plan", "-n", 500, "--epsilon", 1, "--plot", picture)
    assert (code, err) == (0, f"wrote {picture}\n")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("word", ["--help", "-h", "--version"])
def test_help_and_version(run, word):
    code, out, err = run(word)
    assert (code, err) == (0, "")
    assert "tametail" in out


def test_without_a_command_help_goes_to_stderr(run):
    code, out, err = run()
    assert (code, out) == (2, "")
    assert "Commands:" in err


def test_on_a_terminal_progress_shows_percent_only(claims):
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "tametail", "mean", claims, "--column=amount"]
    done = subprocess.run(
        [*command, "--epsilon=1"], stdout=subprocess.PIPE, stderr=other, check=True
    )
    os.close(other)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert b"\nmean " in b"\n" + done.stdout  # a warning of far records, one in fifty, comes first
    assert "reading" in shown
    assert "%" in shown
    assert "4000" not in shown


def test_demo(tmp_path):
    program = seeded_program("the demo", EXAMPLES / "demo.py")
    done = subprocess.run(**program, cwd=tmp_path, capture_output=True, check=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 92
    assert "bound 100,000,000" in done.stdout
    assert "The mean of amount is 1," in done.stdout
    assert "●" in done.stdout
    assert "synthetic" in done.stdout
    assert "replay" in (tmp_path / "reports" / "claims.html").read_text("utf-8")
    assert "{" not in done.stdout


def test_every_command_of_the_registry_has_help_and_is_documented(run):
    names = list(COMMANDS)
    context = click.Context(cli.commands)
    assert cli.commands.list_commands(context) == names
    for name in names:
        code, out, err = run(name, "--help")
        assert (code, err) == (0, "")
        assert out.startswith(f"Usage: tametail {name}")


def test_python_runs_the_module():
    done = subprocess.run(
        [sys.executable, "-m", "tametail", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"tametail {tt.__version__}\n"


@pytest.mark.parametrize("option", ["--output", "--report"])
def test_the_data_are_never_replaced(run, tmp_path, option):
    path = tmp_path / "claims.csv"
    path.write_text("x\n" + "1\n2\n3\n" * 100)
    (tmp_path / "link.csv").symlink_to(path)
    code, _, err = run("mean", str(path), "--epsilon", "1", option, str(tmp_path / "link.csv"))
    assert code == 2
    assert "is the data" in err
    assert path.read_text().startswith("x\n1\n2")
