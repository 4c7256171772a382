"""What the pages on how the paper was read name is there, and every correction is on them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "explanation" / "corrections").glob("*.md"))
CODE = re.compile(r"\*Code:\* (?P<names>.*?)(?:\. \*|\.$|; \[)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_is_named_exists(page):
    names = re.findall(r"`([\w/.-]+\.(?:py|md))`", page.read_text("utf-8"))
    assert names
    for name in names:
        assert (ROOT / name).exists() or (ROOT / "src" / "tametail" / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_in_the_code_exists(page):
    text = " ".join(path.read_text("utf-8") for path in (ROOT / "src" / "tametail").rglob("*.py"))
    named = [
        name.rsplit(".", 1)[-1]
        for found in CODE.finditer(page.read_text("utf-8"))
        for name in re.findall(r"`([A-Za-z_][\w.]*)`", found["names"])
    ]
    assert named
    for name in named:
        assert re.search(rf"(?:def|class) {name}\b", text), name


def test_every_correction_of_the_code_is_on_the_pages():
    pages = " ".join(page.read_text("utf-8") for page in PAGES)
    code = " ".join(
        path.read_text("utf-8") for path in (ROOT / "src" / "tametail" / "paper").glob("*.py")
    )
    used = set(re.findall(r"\b([PA]\d{1,2})\b", code))
    assert {"P1", "P9", "A2"} <= used
    for label in used | {f"P{number}" for number in range(1, 14)}:
        assert re.search(rf"\*\*[^*]*\b{label}\b[^*]*\*\*", pages), label
