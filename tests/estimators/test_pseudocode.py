"""The pseudocode of the page on the method and the code that it describes have the same lines."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "method.md"
CODE = ROOT / "src" / "tametail" / "methods" / "winsorized"


def numbered() -> list[int]:
    """The numbers of the page's lines, in their order."""
    text = PAGE.read_text(encoding="utf-8").partition("## The default mean")[2]
    block = text.partition("```text\n")[2].partition("```")[0]
    return [int(number) for number in re.findall(r"^ ?(\d+)   +\S", block, re.MULTILINE)]


def tagged() -> list[int]:
    """The numbers that the code has as tags."""
    files = (path.read_text(encoding="utf-8") for path in sorted(CODE.glob("*.py")))
    return [int(number) for text in files for number in re.findall(r"# line (\d+)$", text, re.M)]


def test_the_page_numbers_its_lines_in_order():
    assert numbered() == list(range(1, len(numbered()) + 1))
    assert 20 <= len(numbered()) <= 30


def test_every_line_of_the_page_is_in_the_code_once_and_the_other_way_round():
    assert sorted(tagged()) == numbered()


def test_the_lines_of_the_estimator_are_in_order():
    text = (CODE / "estimate.py").read_text(encoding="utf-8")
    lines = [int(number) for number in re.findall(r"# line (\d+)$", text, re.MULTILINE)]
    assert lines == sorted(lines)
    assert lines[0] == 1
    assert lines[-1] == numbered()[-1]


def test_only_the_estimator_itself_asks():
    """So that a question is at most one call away from the estimator."""
    asking = re.compile(r"\bask(\.\w+)?\(")
    for path in CODE.glob("*.py"):
        code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert bool(asking.search(code)) == (path.name == "estimate.py"), path.name
