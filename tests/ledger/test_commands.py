"""``tametail ledger``: what it prints, and its exit codes."""

import json
import re

import pytest

import tametail as tt
from tametail import cli
from tametail.ledger import Ledger


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def office(tmp_path, monkeypatch):
    path = tmp_path / "office.ledger"
    monkeypatch.setenv("TAMETAIL_LEDGER", str(path))
    return path


def test_the_life_of_a_data_set(run, office, tmp_path):
    code, out, _ = run("ledger", "create", "claims", "--epsilon", 1, "--person", "patient")
    assert code == 0
    head = out.split()[-1]
    Ledger(office).charge("claims", tt.pure(0.5), person="patient", release_id="march").store("{}")
    code, out, _ = run("ledger", "show")
    assert code == 0
    head_line, line = (re.split(" {3,}", one) for one in out.splitlines()[:2])
    assert head_line == ["dataset", "spent", "budget", "remaining", "releases", "protects"]
    assert line == ["claims", "50.0%", "epsilon = 1 (pure)", "epsilon = 0.5", "1",
                    "one person (patient), add-remove"]  # fmt: skip
    code, out, _ = run("ledger", "history", "claims", "--last", 1)
    assert (code, "charged epsilon = 0.5, release march" in out) == (0, True)
    assert run("ledger", "verify", "--head", head)[0] == 0
    assert run("ledger", "raise", "claims", "--epsilon", 2, "--reason", "board")[0] == 0
    assert run("ledger", "export", tmp_path / "all.csv")[0] == 0
    assert run("ledger", "close", "claims", "--reason", "done")[0] == 0
    assert "closed" in run("ledger", "show", "claims")[1]
    code, out, _ = run("ledger", "show", "--json")
    told = json.loads(out)
    assert told["head"] == Ledger(office).head
    assert told["datasets"][0]["budget"] == {"kind": "pure", "epsilon": 2.0}
    lines = run("ledger", "history", "--json")[1].splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["open", "charge", "raise", "close"]


def test_an_option_goes_before_the_environment(run, office, tmp_path):
    other = tmp_path / "other.ledger"
    assert run("ledger", "create", "claims", "--rho", 0.5, "--ledger", other)[0] == 0
    assert other.exists()
    assert not office.exists()


def test_parts_and_aliases(run, office):
    assert run("ledger", "create", "claims", "--epsilon", 3, "--delta", 1e-6)[0] == 0
    part = ("ledger", "create", "claims-11", "--epsilon", 1, "--part-of", "claims")
    code, out, _ = run(*part, "--where", "year == 2011")
    assert (code, "part of 'claims' where year == 2011" in out) == (0, True)
    assert "second name of 'claims'" in run("ledger", "create", "old", "--alias-of", "claims")[1]
    assert Ledger(office).datasets() == ["claims", "claims-11", "old"]


def test_a_part_shows_its_own_share(run, office):
    """And what its whole has left, if that is less."""
    ledger = Ledger(office)
    ledger.create("claims", tt.pure(3))
    ledger.create("claims-11", tt.pure(1), part_of="claims")
    ledger.charge("claims", tt.pure(1.1))
    cells = re.split(" {3,}", run("ledger", "show", "claims-11")[1].splitlines()[1])
    assert cells[1:5] == ["0.0%", "epsilon = 1 (pure)", "epsilon = 1", "0"]
    assert cells[5].endswith("; part of claims")
    assert "36.7%   epsilon = 3" in run("ledger", "show", "claims")[1]
    ledger.charge("claims", tt.pure(1.5))
    cells = re.split(" {3,}", run("ledger", "show", "claims-11")[1].splitlines()[1])
    assert cells[1:4] == ["0.0%", "epsilon = 1 (pure)", "epsilon = 0.4 (limited by claims)"]
    ledger.charge("claims-11", tt.pure(0.25))
    told = json.loads(run("ledger", "show", "claims-11", "--json")[1])["datasets"][0]
    assert (told["share_spent"], told["epsilon"], told["charges"]) == (0.25, 0.15, 1)
    assert (told["part_of"], told["limited_by"]) == ("claims", "claims")


@pytest.mark.parametrize(
    ("arguments", "expected", "told"),
    [
        (["create", "claims"], 2, "Missing privacy budget"),
        (["create", "=x", "--epsilon", 1], 2, "Invalid --dataset"),
        (["show", "nothing"], 1, "No ledger"),
        (["verify", "--head", "xyz"], 1, "No ledger"),
        (["raise", "claims", "--epsilon", 2], 2, "--reason"),
    ],
)
def test_what_is_wrong_is_said_on_stderr(run, office, arguments, expected, told):
    code, out, err = run("ledger", *arguments)
    assert (code, out) == (expected, "")
    assert told in err


def test_without_a_ledger(run, monkeypatch):
    monkeypatch.delenv("TAMETAIL_LEDGER", raising=False)
    code, _, err = run("ledger", "show")
    assert code == 2
    assert "--ledger office.ledger" in err


def test_a_ledger_that_does_not_verify(run, office):
    Ledger(office).create("claims", tt.pure(1))
    code, _, err = run("ledger", "verify", "--head", "ab" * 32)
    assert code == 1
    assert "entries are missing" in err
