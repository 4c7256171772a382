"""What mypy and pyright make of releases: numbers for one column, arrays for several."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tametail as tt

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "typed.py"

#: Every line says what a checker must know; a wrong one is an error of the checker.
TYPED = """
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import tametail as tt

Floats = npt.NDArray[np.float64]
frame: object = None
plan = tt.plan(n=100, epsilon=1)

assert_type(tt.mean(frame, "x", epsilon=1).value, float)
assert_type(tt.mean(frame, "x", epsilon=1).low, float)
assert_type(tt.mean(frame, "x", epsilon=1, confidence=0.9).high, float)
assert_type(tt.mean(frame, "x", epsilon=1, confidence=None).value, float)
assert_type(tt.mean(frame, "x", epsilon=1, confidence=None).low, None)
assert_type(tt.mean([1.0, 2.0], epsilon=1).value, float)
assert_type(tt.mean([1.0, None], epsilon=1).value, float)
assert_type(tt.mean([1, 2], epsilon=1).median, float | None)
assert_type(tt.mean(frame, ["x", "y"], epsilon=1).value, Floats)
assert_type(tt.mean(frame, ["x"], epsilon=1).low, Floats)
assert_type(tt.mean(frame, ("x", "y"), epsilon=1, confidence=None).value, Floats)
assert_type(tt.mean(frame, "x", epsilon=1, by="state", keys=["CA"]).value, Floats)
assert_type(tt.mean(frame, "x", epsilon=1, by="state", confidence=None, delta=1e-6).high, None)
assert_type(tt.mean(frame, "x", plan=plan).value, float | Floats)
assert_type(tt.mean(frame, epsilon=1).value, float | Floats)
assert_type(tt.mean(frame, epsilon=1).low, float | Floats | None)
assert_type(tt.mean(frame, "x", epsilon=1)[0].value, float)
assert_type(tt.sum(frame, "x", epsilon=1).value, float)
assert_type(tt.count(frame, "x", epsilon=1, person="who").low, float)
assert_type(tt.median(frame, "x", epsilon=1, confidence=0.9).high, float)
assert_type(tt.median(frame, "x", epsilon=1, by="state").value, float | Floats)
assert_type(tt.sum(frame, "x", epsilon=1, confidence=None).low, float | Floats | None)
assert_type(tt.replay(plan, []).value, float | Floats)
assert_type(tt.Release.from_json("").value, float | Floats)
assert_type(tt.mean(frame, "x", epsilon=1).to_frame(), Any)


def of_any_kind(release: tt.Release) -> float:
    return float(release)


of_any_kind(tt.mean(frame, "x", epsilon=1))
of_any_kind(tt.mean(frame, ["x", "y"], epsilon=1))
"""

#: Calls that must not pass a checker.
WRONG = """
import tametail as tt

tt.mean([1.0], epsilom=1)
tt.mean([1.0], epsilon="1")
tt.mean([1.0], 7, epsilon=1)
tt.mean([1.0], epsilon=1).value.shape
tt.mean(object(), ["x"], epsilon=1).value.is_integer()
"""


def mypy(path):
    """Return what mypy reports."""
    pytest.importorskip("mypy")
    options = ["--strict", "--ignore-missing-imports", "--cache-dir", str(path.parent / "cache")]
    command = [sys.executable, "-m", "mypy", "--config-file", "", *options, str(path)]
    found = _run(command)
    assert "1 source file" in found, found  # it was checked, with errors or without
    return [line for line in found.splitlines() if line.startswith(f"{path}:") and "error" in line]


def pyright(path):
    """Return what pyright reports; basedpyright is the same program with a runtime of its own."""
    if find_spec("basedpyright") is None:
        pytest.skip("pyright is not installed")
    settings = {
        "include": [path.name],
        "typeCheckingMode": "standard",
        "extraPaths": [str(ROOT / "src")],
        "reportMissingTypeStubs": False,
    }
    (path.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson"]
    found = json.loads(_run([*command, "--project", str(path.parent)]))
    assert found["summary"]["filesAnalyzed"] == 1, found
    return [one["message"] for one in found["generalDiagnostics"] if one["severity"] == "error"]


def _run(command):
    environment = {"PATH": "/usr/bin:/bin", "MYPYPATH": str(ROOT / "src"), "HOME": "/nowhere"}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=300
    ).stdout


CHECKERS = pytest.mark.parametrize("check", [mypy, pyright])


@CHECKERS
def test_checkers_know_numbers_from_arrays(check, tmp_path):
    path = tmp_path / "typed_calls.py"
    path.write_text(TYPED)
    assert check(path) == []


@CHECKERS
def test_checkers_refuse_what_cannot_be_meant(check, tmp_path):
    path = tmp_path / "wrong_calls.py"
    path.write_text(WRONG)
    assert len(check(path)) >= len(WRONG.strip().splitlines()) - 2


@CHECKERS
def test_the_example_is_typed(check, tmp_path):
    path = tmp_path / "example.py"
    path.write_text(EXAMPLE.read_text(encoding="utf-8"))
    assert check(path) == []


FRAME = pa.table({"x": [1.0, 2.0] * 2000, "y": [3.0, 5.0] * 2000, "state": ["CA", "NY"] * 2000})


def test_what_checkers_know_is_true():
    one = tt.mean(FRAME, "x", epsilon=1)
    assert type(one.value) is float
    assert (type(one.low), type(one.high)) == (float, float)
    alone = tt.mean(FRAME, "x", epsilon=1, confidence=None)
    assert (type(alone.value), alone.low) == (float, None)
    assert type(tt.mean([1.0, 2.0] * 2000, epsilon=1).value) is float
    for function in (tt.sum, tt.count, tt.median):
        found = function(FRAME, "x", epsilon=1)
        assert {type(number) for number in (found.value, found.low, found.high)} == {float}


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ({"column": ["x"]}, 1),
        ({"column": ("x", "y")}, 2),
        ({"column": "x", "by": "state", "keys": ["CA"]}, 1),
        ({"column": "x", "by": "state", "keys": ["CA", "NY"]}, 2),
    ],
)
def test_lists_and_groups_give_arrays_also_of_one_row(asked, rows):
    release = tt.mean(FRAME, **asked, epsilon=1)
    for found in (release.value, release.low, release.high):
        assert isinstance(found, np.ndarray)
        assert found.shape == (rows,)
    alone = tt.mean(FRAME, **asked, epsilon=1, confidence=None)
    assert isinstance(alone.value, np.ndarray)
    assert alone.low is None


def test_a_list_of_one_column_is_a_list_also_out_of_a_ledger(tmp_path):
    ledger = tt.Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(2))
    paid = {"ledger": ledger, "dataset": "claims", "release_id": "a"}
    first = tt.mean(FRAME, ["x"], epsilon=1, **paid)
    again = tt.mean(FRAME, ["x"], epsilon=1, **paid)
    assert first == again
    assert first.value.shape == again.value.shape == (1,)


def test_a_replayed_release_of_one_column_is_equal_and_has_numbers():
    release = tt.mean(FRAME, ["x"], epsilon=1)
    again = tt.replay(release.plan, release.answers)
    assert again == release
    assert float(again) == float(release) == release.value[0]
