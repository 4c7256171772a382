"""Put the report of ``make reproduce`` on its page: docs/reproduction.md, below the marked line.

    python tools/keep_reproduction.py reproduction

What stands above the line is written by hand. Pictures go to docs/pictures/reproduction.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
LINE = "<!-- What follows is written by make reproduce. -->"


def merged(page: str, report: str) -> str:
    """Return the page with the report below the line; its pictures lie in their own folder."""
    above, line, _ = page.partition(LINE)
    if not line:
        raise SystemExit(f"docs/reproduction.md lacks the line {LINE}")
    _, _, body = report.partition("\n\n")  # without the report's own title
    body = re.sub(r"\]\(([\w-]+\.png)\)", r"](pictures/reproduction/\1)", body)
    return f"{above}{LINE}\n\n{body}"


def main(folder: Path) -> None:
    """Copy what the report shows."""
    page = DOCS / "reproduction.md"
    report = (folder / "report.md").read_text("utf-8")
    page.write_text(merged(page.read_text("utf-8"), report), "utf-8")
    pictures = DOCS / "pictures" / "reproduction"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    for picture in folder.glob("*.png"):
        shutil.copy(picture, pictures)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
