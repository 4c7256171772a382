"""The program that runs mutants says what became of each."""

from __future__ import annotations

import shutil

from .mutants.catalogue import MUTANTS
from .mutants.mutant import ROOT
from .mutants.run import judge, run_tests


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

    def verdict(*names):
        found = run_tests(tmp_path, [f"tests/test_{name}.py" for name in names])
        return judge(MUTANTS[0], *found).text

    assert verdict("passes") == "SURVIVED"
    assert verdict("skips", "passes") == "SURVIVED"
    assert verdict("skips") == "not run: its tests were skipped"
    assert verdict("passes", "fails") == "tests/test_fails.py::test_it"
    assert verdict("absent").startswith("pytest ended with 4")
