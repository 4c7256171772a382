"""kill -9 anywhere between charge and return: sound. ``make ledger-evidence`` does all of it."""

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("there is no kill -9 on Windows", allow_module_level=True)
pytest.importorskip("apsw", reason="apsw is not installed")

from .crash import (
    count_file_calls,
    kill_by_file_layer,
    kill_by_strace,
    prepare,
    strace_works,
    system_calls,
)

WRITING = {"fsync", "fdatasync", "unlink", "ftruncate"}


@pytest.fixture
def base(tmp_path):
    return prepare(tmp_path)


def test_kill_at_every_step_of_a_file(base, tmp_path):
    """At every call of SQLite's file layer; this one runs wherever the tests do."""
    folder = tmp_path / "run"
    calls = count_file_calls(base, folder)
    assert calls > 60
    outcome = kill_by_file_layer(base, folder, list(range(1, calls + 2)))
    assert outcome.unsound == []
    assert (outcome.runs, outcome.killed) == (calls + 1, calls)  # the last one is let through
    assert 1 == outcome.printed < outcome.read < outcome.charged < calls


def test_kill_at_system_calls(base, tmp_path):
    """At every system call that makes something durable, and at some others."""
    if not strace_works():
        pytest.skip("strace may not attach here; test_kill_at_every_step_of_a_file has run")
    folder = tmp_path / "run"
    calls = system_calls(base, folder)
    assert len(calls) > 80
    chosen = [call for call in calls if call[0] in WRITING] + calls[::12]
    outcome = kill_by_strace(base, folder, chosen)
    assert outcome.unsound == []
    assert outcome.runs == outcome.killed == len(chosen)
