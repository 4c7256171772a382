"""What ``make check`` runs stays fast: it starts no program, no server, no Spark and no browser."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FAST = (ROOT / "tests" / "fast.txt").read_text(encoding="utf-8").splitlines()

#: What takes seconds to start: modules and functions that are imported, and fixtures.
SLOW_IMPORTS = {
    "multiprocessing", "playwright", "pyspark", "servers", "spark", "subprocess", "start_server",
    "seeded_program",
}  # fmt: skip
SLOW_FIXTURES = {"browser", "page", "server", "spark", "pytester"}

#: What tells that a change forgot something belongs to what is run before each commit.
GUARDS = {"guards", "proofs", "registry", "queries", "mutants", "words", "fast"}


def slow_parts(text: str) -> set[str]:
    """Return what a file of tests uses that is slow to start."""
    imported, arguments = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {part for alias in node.names for part in alias.name.split(".")}
            imported |= set((getattr(node, "module", None) or "").split("."))
        elif isinstance(node, ast.FunctionDef):
            arguments |= {argument.arg for argument in node.args.args}
    return imported & SLOW_IMPORTS | arguments & SLOW_FIXTURES


def test_the_list_is_in_order():
    assert sorted(set(FAST)) == FAST
    assert {f"tests/test_{name}.py" for name in GUARDS} <= set(FAST)
    assert "$(shell cat tests/fast.txt)" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", FAST)
def test_a_fast_file_starts_nothing_slow(file):
    assert not slow_parts((ROOT / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import subprocess", {"subprocess"}),
        ("from ..spark import on_spark", {"spark"}),
        ("from tests.seeded import seeded_program", {"seeded_program"}),
        ("def test_a(server): pass", {"server"}),
        ("import numpy\n\ndef test_a(tmp_path): pass", set()),
    ],
)
def test_slow_parts_are_found(text, found):
    assert slow_parts(text) == found
