"""Try every fault for long, and write the table: python -m tests.faults.table --write FILE."""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path

from .cases import CASES

HEAD = """# Faults

`make faults`, version {version} on {date}. Each line made a fault happen while data were read, and
failed if anything was lost, left behind or told that should not be; it says how often it tried. The
ledger's crashes, power losses and races are in [ledger evidence](ledger-evidence.md).

| fault | what came of it |
|---|---|
"""


def main() -> int:
    """Return how many faults were not survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--part", type=float, default=1.0, help="of the long sizes")
    options = parser.parse_args()
    lines, failed = [], 0
    for fault, (short, long) in CASES.items():
        size = max(short, round(long * options.part))
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = fault(Path(folder), size)
            except AssertionError as error:
                result, failed = f"**not survived**: {error}", failed + 1
        words = fault.__name__.replace("_", " ")
        lines.append(f"| {words} | {result} |")
        print(lines[-1], flush=True)
    head = HEAD.format(version=version("tametail"), date=date.today().isoformat())
    if options.write:
        options.write.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
