"""The catalogue of mutants keeps up with the code; ``make mutants`` runs it."""

from __future__ import annotations

import ast
import re
import shutil
from collections import defaultdict

import pytest

from .mutants.catalogue import MUTANTS
from .mutants.mutant import ROOT
from .mutants.run import NOT_COPIED


def test_every_mutant_can_still_be_made(tmp_path):
    copied = shutil.copytree(ROOT / "src", tmp_path / "src", ignore=NOT_COPIED) / "tametail"
    for mutant in MUTANTS:
        path = copied / mutant.file
        healthy = path.read_text(encoding="utf-8")
        mutant.apply(tmp_path)
        text = path.read_text(encoding="utf-8")
        assert mutant.new in text, mutant.name
        if mutant.file.endswith(".py"):
            ast.parse(text, filename=mutant.name)
        path.write_text(healthy, encoding="utf-8")


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


def test_the_named_tests_exist():
    named = defaultdict(set)
    for test in {test for mutant in MUTANTS for test in mutant.tests}:
        path, *names = test.partition("[")[0].split("::")
        named[path].update(names)
    for path, names in named.items():
        module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        defined = {
            node.name
            for node in ast.walk(module)
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        assert names <= defined, path


def test_the_page_of_bug_classes_names_mutants_that_exist():
    page = (ROOT / "docs" / "evidence" / "bug-classes.md").read_text(encoding="utf-8")
    classes = [line.split("|") for line in page.splitlines() if line.startswith("| ")][1:]
    named = {name for *_, mutants, _ in classes for name in re.findall(r"`([a-z0-9-]+)`", mutants)}
    assert len(classes) >= 15
    assert all("`" in mutants for *_, mutants, _ in classes)
    assert named <= {mutant.name for mutant in MUTANTS}
