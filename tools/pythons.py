"""Find the Pythons of this machine that tametail supports.

    python tools/pythons.py

Each is looked for under its usual name (python3.12), then among pyenv's versions. To add one,
install it by your system's package manager or by pyenv.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

#: Minor versions of Python 3 that are tried: from the oldest that is supported to the next one.
MINORS = range(11, 17)


def pythons() -> dict[str, str]:
    """Return the path of an interpreter for every version that is here: {"3.11": ...}."""
    found = {f"3.{minor}": _first_that_runs(minor) for minor in MINORS}
    return {version: path for version, path in found.items() if path is not None}


def _first_that_runs(minor: int) -> str | None:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    of_pyenv = sorted(map(str, root.glob(f"3.{minor}.*/bin/python3.{minor}")), reverse=True)
    return next((path for path in (f"python3.{minor}", *of_pyenv) if _runs(path, minor)), None)


def _runs(path: str, minor: int) -> bool:
    """Say whether this is that Python: a shim of pyenv has its name and may refuse to run."""
    ask = "import sys, venv; print(sys.version_info.minor)"
    try:
        answer = subprocess.run(  # noqa: S603 - a Python of this machine
            [path, "-c", ask], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == str(minor)


if __name__ == "__main__":
    for version, path in pythons().items():
        print(version, path)
