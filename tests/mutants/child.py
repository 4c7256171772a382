"""A process that runs pytest on a copy of the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def run_here(root: Path, command: list[str], output: str) -> None:
    """Run pytest in this process, which is new, and end it."""
    os.setsid()
    written = os.open(output, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(written, standard)
    os.chdir(root)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]  # this package, which is not the copy's
    # In front of the installed package, here and in programs that tests start.
    sys.path[:0] = [str(root), str(root / "src")]
    os.environ |= {"PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1", "COLUMNS": "1000"}
    import pytest

    sys.exit(pytest.main(command))
