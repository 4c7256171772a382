"""The page of the reproduction: what the program wrote is complete, and the claims come first."""

import re
import sys
from pathlib import Path

import pytest

from tametail.reproduce import EXPERIMENTS
from tametail.reproduce.report import SECTIONS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from keep_reproduction import BELOW, CLAIMS, HAND, merged  # noqa: E402

PAGE = (ROOT / "docs" / "evidence" / "reproduction.md").read_text("utf-8")


def test_the_claims_are_in_one_table_at_the_top():
    above, _, rest = PAGE.partition(CLAIMS)
    assert len(above.splitlines()) < 12
    claims, _, _ = rest.partition(HAND)
    assert re.search(r"tametail reproduce \(full\), version \d", claims)
    assert "So far it has" not in claims
    lines = [line for line in claims.splitlines() if line.startswith("|")]
    assert lines[0] == "| claim | theory | measured | tolerance | verdict |"
    verdicts = [line.rstrip(" |").rsplit("| ", 1)[1] for line in lines[2:]]
    assert len(verdicts) > 25
    assert set(verdicts) <= {"holds", "undecided", "FAILS"}


def test_the_page_shows_every_experiment():
    assert PAGE.partition(BELOW)[2].count("\n## ") == len(EXPERIMENTS)


def test_every_picture_is_there_and_none_is_left_over():
    named = set(re.findall(r"\(../pictures/reproduction/([\w-]+\.png)\)", PAGE))
    kept = {path.name for path in (ROOT / "docs" / "pictures" / "reproduction").glob("*.png")}
    assert named == kept


def test_a_report_goes_where_it_belongs():
    report = (
        f"# Title\n\nMade.\n\n| claim |\n\n{SECTIONS}\n\n## Part\n\n![a picture](part-one.png)\n"
    )
    page = merged(f"# Page\n\n{CLAIMS}\n\nold\n\n{HAND}\n\nWords.\n\n{BELOW}\n\nold", report)
    assert page == (
        f"# Page\n\n{CLAIMS}\n\nMade.\n\n| claim |\n\n{HAND}\n\nWords.\n\n{BELOW}\n\n## Part\n\n"
        "![a picture](../pictures/reproduction/part-one.png)\n"
    )
    with pytest.raises(SystemExit, match="lacks one of the lines"):
        merged("# Page", report)
