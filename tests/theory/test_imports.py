"""The theorems lean on privacy, inequalities and errors; scipy is imported where it is used."""

import ast
from pathlib import Path

import pytest

import tametail.theory

FILES = sorted(Path(tametail.theory.__file__).parent.glob("*.py"))


def _imported(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_imports(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ours = [name for name in _imported(ast.walk(tree)) if name.startswith("tametail")]
    below = (
        "tametail._shown",
        "tametail.errors",
        "tametail.inequalities",
        "tametail.privacy",
        "tametail.theory",
    )
    assert all(name.startswith(below) for name in ours)
    assert not any(name.startswith("scipy") for name in _imported(tree.body))


def test_every_public_name_exists():
    assert all(hasattr(tametail.theory, name) for name in tametail.theory.__all__)
    assert tametail.theory.__all__ == sorted(tametail.theory.__all__)
