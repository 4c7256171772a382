"""One file has all tuned numbers: each is read, explained, and on the page of what it is worth."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tametail.methods.winsorized import constants

ROOT = Path(__file__).parents[2]
CODE = ROOT / "src" / "tametail" / "methods" / "winsorized"
PAGES = [
    ROOT / "docs" / "evidence" / "constants.md",
    ROOT
    / "docs"
    / "contributing"
    / "decisions"
    / "archive"
    / "0159-what-each-constant-was-worth.md",
]
NAMES = [name for name in vars(constants) if name.isupper()]

#: Numbers that are no tuning: of mathematics, or of what can be represented.
NOT_TUNED = {
    "NODES_OF_OCTAVE",
    "SQUARE_UNIT",
    "OCTAVES_WEIGH",
    "TOP_NODES",
    "LEAST_SCALE",
    "ROUNDING",
}


@pytest.mark.parametrize("name", NAMES)
def test_every_constant_is_read_explained_and_measured(name):
    others = [path.read_text(encoding="utf-8") for path in CODE.glob("*.py")]
    imported = (ROOT / "src" / "tametail" / "methods" / "__init__.py").read_text(encoding="utf-8")
    assert any(f"tuned.{name}" in text for text in others) or name in imported
    assert any(name in page.read_text(encoding="utf-8") for page in PAGES)
    lines = (CODE / "constants.py").read_text(encoding="utf-8").splitlines()
    index = next(i for i, line in enumerate(lines) if line.startswith(f"{name}: Final"))
    while re.match(r"[A-Z_]+: Final", lines[index]):
        index -= 1
    assert lines[index].startswith("#")


def test_no_other_file_of_the_estimator_has_constants():
    for path in CODE.glob("*.py"):
        if path.name == "constants.py":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.BinOp):
                names = {target.id for target in node.targets if isinstance(target, ast.Name)}
                public = {name for name in names if name.isupper() and not name.startswith("_")}
                assert public <= NOT_TUNED, path.name
