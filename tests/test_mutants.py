"""The catalogue of mutants keeps up with the code; ``make mutants`` runs it."""

from __future__ import annotations

import ast
import re
import shutil

import pytest

from .mutants.catalogue import MUTANTS
from .mutants.mutant import ROOT
from .mutants.run import judge, run_tests


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_still_be_made(mutant, tmp_path):
    copied = tmp_path / "src" / "tametail" / mutant.file
    copied.parent.mkdir(parents=True)
    copied.write_text((ROOT / "src" / "tametail" / mutant.file).read_text(encoding="utf-8"))
    mutant.apply(tmp_path)
    text = copied.read_text(encoding="utf-8")
    assert mutant.new in text
    if mutant.file.endswith(".py"):
        ast.parse(text)


def test_a_text_that_does_not_occur_once_is_noticed(tmp_path):
    copied = tmp_path / "src" / "tametail" / MUTANTS[0].file
    copied.parent.mkdir(parents=True)
    for text in ("", 2 * MUTANTS[0].old):
        copied.write_text(text)
        with pytest.raises(LookupError, match="occurs"):
            MUTANTS[0].apply(tmp_path)


def test_mutants_have_names_reasons_and_tests():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 28
    for mutant in MUTANTS:
        assert mutant.why
        assert mutant.tests
        assert mutant.old != mutant.new


@pytest.mark.parametrize("test", sorted({test for mutant in MUTANTS for test in mutant.tests}))
def test_the_named_tests_exist(test):
    path, *names = test.partition("[")[0].split("::")
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    defined = {node.name for node in ast.walk(module) if isinstance(node, DEFINITIONS)}
    assert set(names) <= defined


DEFINITIONS = ast.FunctionDef | ast.ClassDef


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


def test_the_page_of_bug_classes_names_mutants_that_exist():
    page = (ROOT / "docs" / "evidence" / "bug-classes.md").read_text(encoding="utf-8")
    classes = [line.split("|") for line in page.splitlines() if line.startswith("| ")][1:]
    named = {name for *_, mutants, _ in classes for name in re.findall(r"`([a-z0-9-]+)`", mutants)}
    assert len(classes) >= 15
    assert all("`" in mutants for *_, mutants, _ in classes)
    assert named <= {mutant.name for mutant in MUTANTS}
