"""What tametail writes never takes the place of a ledger, and never leaves half a file."""

import os
import subprocess
import sys

import pytest

import tametail as tt
from tametail import cli
from tametail._files import written_beside
from tametail.errors import LedgerError, ParameterError
from tametail.ledger import Ledger


@pytest.fixture
def office(tmp_path):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1))
    ledger.charge("claims", tt.pure(0.5), release_id="q3").store("{}")
    return tmp_path / "office.ledger"


def test_an_export_onto_the_ledger_itself_is_refused(office, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.csv").symlink_to(office)
    before = office.read_bytes()
    for target in (office, "office.ledger", "./office.ledger", "link.csv", "office.ledger-journal"):
        with pytest.raises(ParameterError, match="part of a database"):
            Ledger(office).export(target)
        assert cli.main(["ledger", "export", str(target), "--ledger", str(office)]) == 2
    assert "Write to another file" in capsys.readouterr().err
    assert office.read_bytes() == before
    with pytest.raises(ParameterError, match="already"):
        Ledger(office).create("claims", tt.pure(100))


def test_another_ledger_is_no_target_either_busy_or_not(office, tmp_path):
    other = Ledger(tmp_path / "other.ledger")
    other.create("visits", tt.pure(1))
    with pytest.raises(ParameterError, match="part of a database"):
        Ledger(office).export(tmp_path / "other.ledger")
    with other._storage.writing() as rows:
        list(rows._run("PRAGMA locking_mode = EXCLUSIVE"))
        with pytest.raises(ParameterError, match="part of a database"):
            Ledger(office).export(tmp_path / "other.ledger")
    assert other.datasets() == ["visits"]


def test_a_mistyped_ledger_leaves_an_earlier_export_as_it_was(office, tmp_path):
    Ledger(office).export(tmp_path / "all.jsonl")
    before = (tmp_path / "all.jsonl").read_bytes()
    with pytest.raises(LedgerError, match="No ledger"):
        Ledger(tmp_path / "ofice.ledger").export(tmp_path / "all.jsonl")
    assert (tmp_path / "all.jsonl").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["all.jsonl", "office.ledger"]


def test_an_export_takes_the_place_of_an_earlier_one(office, tmp_path):
    target = tmp_path / "all.csv"
    Ledger(office).export(target)
    target.chmod(0o640)
    Ledger(office).charge("claims", tt.pure(0.1))
    Ledger(office).export(target)
    assert target.stat().st_mode & 0o777 == 0o640
    assert len(target.read_text().splitlines()) == 6


def test_a_new_file_is_closed_to_others_from_its_first_byte(tmp_path):
    target = tmp_path / "all.csv"
    target.write_text("before")
    target.chmod(0o600)
    with written_beside(target):
        (beside,) = [file for file in tmp_path.iterdir() if file != target]
        assert beside.stat().st_mode & 0o777 == 0o600


def fail_halfway(path):
    with written_beside(path) as file:
        file.write("half")
        raise KeyboardInterrupt


def test_what_fails_halfway_leaves_nothing(tmp_path):
    target = tmp_path / "all.csv"
    target.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        fail_halfway(target)
    assert target.read_text() == "before"
    assert os.listdir(tmp_path) == ["all.csv"]


@pytest.mark.parametrize("option", ["--output", "--report"])
def test_a_release_is_not_written_over_a_ledger(office, tmp_path, option, capsys):
    (tmp_path / "claims.csv").write_text("amount\n" + "5\n" * 1000)
    ask = ["mean", str(tmp_path / "claims.csv"), "--epsilon", "0.1", option, str(office)]
    assert cli.main([*ask, "--ledger", str(office), "--dataset", "claims"]) == 2
    said = capsys.readouterr().err
    assert "part of a database" in said or "unsupported" in said or "HTML files" in said
    assert Ledger(office).remaining("claims").charges == 1
    with pytest.raises(ParameterError, match=r"HTML files|part of a database"):
        tt.mean([1.0, 2.0] * 500, epsilon=1).report(office)


def test_a_pipe_is_written_to(office):
    if not os.path.exists("/dev/stdout"):
        pytest.skip("there is no /dev/stdout")
    code = "import sys, tametail as tt; tt.Ledger(sys.argv[1]).export('/dev/stdout')"
    command = [sys.executable, "-c", code, str(office)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert len(said.splitlines()) == 4
