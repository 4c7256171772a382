"""Put the report of ``make reproduce`` on its page, docs/evidence/reproduction.md.

    python tools/keep_reproduction.py reproduction

The table of claims goes to the top, between its two marked lines, and the sections go below the
last one. What stands between them is written by hand. Pictures go to docs/pictures/reproduction.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from tametail.reproduce.report import SECTIONS

DOCS = Path(__file__).resolve().parents[1] / "docs"
CLAIMS = "<!-- What follows is written by make reproduce. -->"
HAND = "<!-- What follows is written by hand. -->"
BELOW = "<!-- The sections are written by make reproduce. -->"


def merged(page: str, report: str) -> str:
    """Return the page with the claims at its top and the sections at its end."""
    parts = re.split("|".join(map(re.escape, (CLAIMS, HAND, BELOW))), page)
    if len(parts) != 4:
        raise SystemExit(
            f"docs/evidence/reproduction.md lacks one of the lines {CLAIMS} {HAND} {BELOW}"
        )
    above, _, hand, _ = parts
    _, _, body = report.partition("\n\n")  # without the report's own title
    body = re.sub(r"\]\(([\w-]+\.png)\)", r"](../pictures/reproduction/\1)", body)
    claims, _, sections = body.partition(SECTIONS)
    top = f"{above}{CLAIMS}\n\n{claims.strip()}\n\n{HAND}"
    return f"{top}{hand}{BELOW}\n\n{sections.strip()}\n"


def main(folder: Path) -> None:
    """Copy what the report shows."""
    page = DOCS / "evidence" / "reproduction.md"
    report = (folder / "report.md").read_text("utf-8")
    page.write_text(merged(page.read_text("utf-8"), report), "utf-8")
    pictures = DOCS / "pictures" / "reproduction"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    for picture in folder.glob("*.png"):
        shutil.copy(picture, pictures)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
