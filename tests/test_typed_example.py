"""What mypy and pyright make of releases: numbers for one column, arrays for several."""

import json
import subprocess
import sys
from collections import Counter
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


#: Files that are checked together: a checker takes longest to read the package.
FILES = {
    "typed_calls.py": TYPED,
    "wrong_calls.py": WRONG,
    "example.py": EXAMPLE.read_text(encoding="utf-8"),
}


def mypy(folder):
    """Return the file of each error that mypy reports."""
    pytest.importorskip("mypy")
    options = ["--strict", "--ignore-missing-imports", "--cache-dir", str(folder / "cache")]
    command = [sys.executable, "-m", "mypy", "--config-file", "", *options]
    found = _run([*command, *(str(folder / name) for name in FILES)])
    assert f"{len(FILES)} source files" in found, found  # they were checked, with errors or without
    errors = [line for line in found.splitlines() if line.startswith(str(folder))]
    return [Path(line.partition(":")[0]).name for line in errors if "error" in line]


def pyright(folder):
    """Return the same of pyright; basedpyright is the same program with a runtime of its own."""
    if find_spec("basedpyright") is None:
        pytest.skip("pyright is not installed")
    settings = {
        "include": [*FILES],
        "typeCheckingMode": "standard",
        "extraPaths": [str(ROOT / "src")],
        "reportMissingTypeStubs": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson"]
    found = json.loads(_run([*command, "--project", str(folder)]))
    assert found["summary"]["filesAnalyzed"] == len(FILES), found
    errors = [one for one in found["generalDiagnostics"] if one["severity"] == "error"]
    return [Path(one["file"]).name for one in errors]


def _run(command):
    environment = {"PATH": "/usr/bin:/bin", "MYPYPATH": str(ROOT / "src"), "HOME": "/nowhere"}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=900
    ).stdout


@pytest.mark.parametrize("check", [mypy, pyright])
def test_checkers_know_numbers_from_arrays_and_refuse_what_cannot_be_meant(check, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = Counter(check(tmp_path))
    assert found.keys() == {"wrong_calls.py"}
    assert found["wrong_calls.py"] >= len(WRONG.strip().splitlines()) - 2


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
