"""Compile the inner loops by every C compiler that is here, with many warnings, each an error.

    python tools/try_compilers.py

gcc, clang and mingw-w64 (for Windows) are used where they are installed, zig (clang for Linux,
macOS and Windows, x86-64 and ARM) where its package is. What is compiled for this system is also
linked. Microsoft's compiler is not to be had outside of Windows: clang reads the source as that
compiler would, with declarations in place of Microsoft's headers. Windows gets the wheel without
compiled loops in any case.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tametail" / "data" / "kernels" / "_native.c"
WARNINGS = (
    *("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow"),
    *("-Wstrict-prototypes", "-Wvla", "-Werror"),
)
COMPILERS = ("gcc", "clang", "x86_64-w64-mingw32-gcc", "aarch64-linux-gnu-gcc")
TARGETS = (
    *("x86_64-linux-gnu.2.17", "aarch64-linux-gnu.2.17", "x86_64-linux-musl"),
    *("x86_64-macos", "aarch64-macos", "x86_64-windows-gnu", "aarch64-windows-gnu"),
)
#: In place of Microsoft's headers: what the source uses of them.
HEADERS = {
    "math.h": "double fabs(double); double floor(double); double rint(double);\n",
    "string.h": "#include <stddef.h>\nvoid *memset(void *, int, size_t);\n"
    "void *memcpy(void *, const void *, size_t);\n",
}


def flags() -> tuple[str, ...]:
    """Return the options by which the loops are built (``hatch_build.py``)."""
    tree = ast.parse((ROOT / "hatch_build.py").read_text("utf-8"))
    (found,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLAGS"
    )
    return tuple(ast.literal_eval(found))


def commands(folder: Path) -> dict[str, list[str]]:
    """Return a command for each compiler and target."""
    options = [*flags(), *WARNINGS]
    only_compiled = [option for option in options if option not in ("-shared", "-fPIC")]
    found = {
        name: [name, *options, str(SOURCE), "-lm", "-o", str(folder / name)]
        for name in COMPILERS
        if shutil.which(name)
    }
    if find_spec("ziglang"):
        zig = [sys.executable, "-m", "ziglang", "cc", "-c", str(SOURCE)]
        for target in TARGETS:
            name = f"zig, {target}"
            found[name] = [*zig, "-target", target, *only_compiled, "-o", str(folder / f"{name}.o")]
    if shutil.which("clang"):
        for name, text in HEADERS.items():
            (folder / name).write_text(text, "utf-8")
        as_microsoft = ["--target=x86_64-pc-windows-msvc", "-fms-extensions", "-fms-compatibility"]
        found["clang, as Microsoft's"] = [
            *("clang", *as_microsoft, "-nostdlibinc", "-isystem", str(folder), "-std=c11"),
            *(*WARNINGS, "-fsyntax-only", str(SOURCE)),
        ]
    return found


def main() -> int:
    """Compile by each, say how it went, and return how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="compilers-") as name:
        for title, command in commands(Path(name)).items():
            done = subprocess.run(  # noqa: S603 - a compiler of this machine
                command, capture_output=True, text=True, check=False
            )
            print(f"{title}: {'no warnings' if done.returncode == 0 else done.stderr}", flush=True)
            failed += done.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
