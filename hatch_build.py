"""Compiles the optional inner loops when tametail is installed.

Without a C compiler the package is the same, and slower:
``tametail.data.kernels.native`` then leaves the work to NumPy.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src", "tametail", "data", "kernels")
# Every operation must be the IEEE one: no contraction, and no liberties that a compiler may take by
# default. Traps and errno are of no use here, and without them loops become vectors.
FLAGS = (
    "-O3",
    "-std=c11",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-fno-fast-math",
    "-fno-finite-math-only",
)
# The same source for any processor, and on x86-64 once more for those with AVX2; the program
# asks the processor (``native.py``). Longer vectors (AVX-512) are slower here.
LIBRARIES = {"_native.so": (), "_native_v3.so": ("-march=x86-64-v3",)}


def platform_tag() -> str:
    """Return the platform of a wheel. The loops are plain C: any Python 3 of it can load them."""
    name = sysconfig.get_platform().replace("universal2", platform.machine())
    return name.replace("-", "_").replace(".", "_")


def c_compiler() -> list[str] | None:
    """Return the command that compiles C, with the options that ``CC`` may have."""
    name, *options = shlex.split(os.environ.get("CC", "")) or ["cc"]
    found = shutil.which(name)
    return None if found is None else [found, *options]


class NativeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the compiled loops beside the Python modules."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile; a failure is reported, and is no error."""
        folder = Path(self.root, FOLDER)
        for name in LIBRARIES:
            (folder / name).unlink(missing_ok=True)
        compiler, tag = c_compiler(), platform_tag()
        if os.name != "posix" or compiler is None:
            self.app.display_warning("no C compiler: tametail will use NumPy alone")
            return
        for name, options in LIBRARIES.items():
            if options and not tag.endswith("x86_64"):
                continue
            if not self._compile(compiler, options, folder / name):
                return
            build_data["artifacts"].append(str(FOLDER / name))
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{tag}"

    def _compile(self, compiler: list[str], options: tuple[str, ...], target: Path) -> bool:
        source = str(target.with_name("_native.c"))
        command = [*compiler, *FLAGS, *options, source, "-o", str(target), "-lm"]
        try:
            built = subprocess.run(  # noqa: S603 - the C compiler of this machine
                command, capture_output=True, text=True, errors="replace", check=False
            )
        except OSError as error:  # no program of this system
            self.app.display_warning(f"{target.name} could not be built: {error}")
            return False
        if built.returncode != 0:
            self.app.display_warning(f"{target.name} could not be built: {built.stderr}")
            target.unlink(missing_ok=True)
        return built.returncode == 0
