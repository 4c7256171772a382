"""The page of the reproduction: what the program wrote is complete, or the page says what lacks."""

import re
import sys
from pathlib import Path

import pytest

from tametail.reproduce import EXPERIMENTS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from keep_reproduction import LINE, merged  # noqa: E402

PAGE = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
HAND, _, REPORT = PAGE.partition(LINE)


def test_the_page_shows_every_experiment_or_says_that_it_does_not():
    if REPORT.strip():
        assert REPORT.count("\n## ") == len(EXPERIMENTS)
        assert re.search(r"tametail reproduce \((quick|full)\), version \d", REPORT)
    else:
        assert "full run has not been made with this version" in " ".join(HAND.split())


def test_every_picture_is_there_and_none_is_left_over():
    named = set(re.findall(r"\(pictures/reproduction/([\w-]+\.png)\)", PAGE))
    kept = {path.name for path in (ROOT / "docs" / "pictures" / "reproduction").glob("*.png")}
    assert named == kept


def test_a_report_goes_below_the_line():
    report = "# Title\n\nMade.\n\n## Part\n\n![a picture](part-one.png)\n"
    page = merged(f"# Page\n\nWords.\n\n{LINE}\n\nold", report)
    assert page == (
        f"# Page\n\nWords.\n\n{LINE}\n\nMade.\n\n## Part\n\n"
        "![a picture](pictures/reproduction/part-one.png)\n"
    )
    with pytest.raises(SystemExit, match="lacks the line"):
        merged("# Page", report)
