"""Compiles the optional inner loops when tametail is installed.

Without a C compiler the package is the same, and slower:
``tametail.engines.kernels.native`` then leaves the work to NumPy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src", "tametail", "engines", "kernels")
# No -ffast-math and no contraction: every operation must be the IEEE one. Traps and errno are of
# no use here, and without them loops become vectors.
FLAGS = (
    "-O3",
    "-std=c11",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-trapping-math",
    "-fno-math-errno",
)


class NativeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the compiled loops beside the Python modules."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile; a failure is reported, and is no error."""
        folder = Path(self.root, FOLDER)
        source, target = folder / "_native.c", folder / "_native.so"
        target.unlink(missing_ok=True)
        compiler = shutil.which(os.environ.get("CC", "cc"))
        if os.name != "posix" or compiler is None:
            self.app.display_warning("no C compiler: tametail will use NumPy alone")
            return
        command = [compiler, *FLAGS, str(source), "-o", str(target), "-lm"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if built.returncode != 0:
            self.app.display_warning(f"tametail will use NumPy alone: {built.stderr}")
            return
        build_data["artifacts"].append(str(FOLDER / target.name))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
