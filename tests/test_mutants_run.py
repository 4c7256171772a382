"""The program that runs mutants says what became of each."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

from .mutants.mutant import ROOT

#: A program of its own: the server that forks processes is one for each, and other tests use it.
VERDICTS = """
import json, pathlib, sys
from tests.mutants.catalogue import MUTANTS
from tests.mutants.run import judge, run_tests
for names in json.loads(sys.argv[2]):
    tests = [f"tests/test_{name}.py" for name in names]
    print(judge(MUTANTS[0], *run_tests(pathlib.Path(sys.argv[1]), tests)).text.splitlines()[0])
"""


def test_the_runner_tells_survivors_from_mutants_that_were_not_run(tmp_path):
    for name in ("pyproject.toml", "tests/mutants/quick.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    bodies = {
        "passes": "pass",
        "fails": "assert False",
        "skips": "__import__('pytest').skip('nothing is here')",
    }
    for name, body in bodies.items():
        text = f"def test_it():\n    {body}\n"
        (tmp_path / "tests" / f"test_{name}.py").write_text(text, encoding="utf-8")
    asked = [["passes"], ["skips", "passes"], ["skips"], ["passes", "fails"], ["absent"]]
    command = [sys.executable, "-c", VERDICTS, str(tmp_path), json.dumps(asked)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    *found, absent = done.stdout.splitlines()
    assert found == [
        "SURVIVED", "SURVIVED", "not run: its tests were skipped", "tests/test_fails.py::test_it",
    ]  # fmt: skip
    assert absent.startswith("pytest ended with 4")
