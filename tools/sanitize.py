"""Run the tests of the compiled loops with the compiler's sanitizers (address, undefined).

    python tools/sanitize.py

The loops are compiled for this into a copy of the sources; nothing else changes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAGS = (
    "-O1",
    "-g",
    "-std=c11",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-omit-frame-pointer",
)
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
TESTS = (
    "tests/data/test_native.py",
    "tests/data/test_accumulators.py",
    "tests/vectors/test_kernel.py",
    "tests/persons/test_aggregation.py",
)
#: Tests that compile libraries of their own, or measure memory.
LEFT_OUT = "not refused and not modes and not compiles and not numpy_further"


def main() -> int:
    """Compile, run, and return pytest's exit code."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        print("no C compiler: nothing to sanitize")
        return 1
    with tempfile.TemporaryDirectory(prefix="sanitize-") as folder:
        copy = Path(folder)
        for name in ("src", "tests"):
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        for name in ("pyproject.toml", "hatch_build.py"):
            shutil.copy(ROOT / name, copy / name)
        kernels = copy / "src" / "tametail" / "engines" / "kernels"
        command = [compiler, *FLAGS, *SANITIZERS, str(kernels / "_native.c")]
        subprocess.run([*command, "-o", str(kernels / "_native.so"), "-lm"], check=True)  # noqa: S603
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pytest", "-q", "-n0", "-k", LEFT_OUT, *TESTS],
            cwd=copy,
            env=os.environ | _environment(compiler, copy),
            check=False,
        ).returncode


def _environment(compiler: str, copy: Path) -> dict[str, str]:
    """Python itself is not compiled for it: the sanitizer's library has to come first."""
    libraries = [
        subprocess.run(  # noqa: S603
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONPATH": str(copy / "src"),
        "PYTHONMALLOC": "malloc",
    }


if __name__ == "__main__":
    sys.exit(main())
