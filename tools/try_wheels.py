"""Build the source distribution and the wheel, and try both in empty environments.

    python tools/try_wheels.py [--keep FOLDER]

The wheel is tried with the oldest and with the newest versions of what pyproject.toml asks for, the
source distribution with a C compiler and without one. Each time a private mean is released, and the
compiled loops must be there, or must not be. pip fetches what it needs from where it is told to.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: What an installed package must be able to do. Argument: whether the loops are to be compiled.
TRIAL = """
import sys
import numpy as np
import tametail as tt
from tametail.engines.kernels import native
records = np.random.default_rng(1).lognormal(size=20_000)
release = tt.mean(records, epsilon=1)
assert abs(float(release) - records.mean()) < 0.2, float(release)
assert tt.replay(release.plan, release.answers) == release
assert (native.library() is not None) == (sys.argv[1] == "compiled"), native.library()
print("numpy", np.__version__, "mean", round(float(release), 3), sys.argv[1])
"""


def run(*command: object, **options: str) -> str:
    """Run a command, and show what it said if it fails; ``options`` go to its environment."""
    done = subprocess.run(  # noqa: S603
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        cwd=tempfile.gettempdir(),  # where no sources lie that could be imported instead
        env={name: text for name, text in os.environ.items() if name != "PYTHONPATH"} | options,
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
        raise SystemExit(f"failed: {' '.join(str(part) for part in command)}")
    return done.stdout.strip()


def environment(folder: Path, *installed: object, **options: str) -> Path:
    """Make an empty environment with these packages, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *installed, **options)
    return python


def oldest() -> list[str]:
    """Return the oldest versions that pyproject.toml allows: 2.0 becomes 2.0.*."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = [re.match(r"([\w-]+)>=([\d.]+)", text) for text in project["dependencies"]]
    return [f"{match[1]}=={match[2]}.*" for match in found if match]


def build(folder: Path) -> tuple[Path, Path]:
    """Build both from a copy of what is under version control, and return their paths."""
    names = run("git", "-C", ROOT, "ls-files").splitlines()
    for name in names:
        target = folder / "sources" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    python = environment(folder / "builder", "build")
    run(python, "-m", "build", "--outdir", folder / "dist", folder / "sources")
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    (wheel,) = (folder / "dist").glob("*.whl")
    return sdist, wheel


def without_compiler(folder: Path) -> dict[str, str]:
    """Return an environment in which no C compiler is found."""
    return {"CC": str(folder / "there-is-no-compiler")}


def main() -> None:
    """Build and try; stop at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="copy what was built to this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wheels-") as name:
        folder = Path(name)
        sdist, wheel = build(folder)
        print(sdist.name, wheel.name, sep="\n")
        has_compiler = shutil.which(os.environ.get("CC", "cc")) is not None
        compiled = "compiled" if has_compiler else "plain"
        if has_compiler and "-py3-none-" not in wheel.name:
            raise SystemExit("the wheel should be for any Python 3 of one platform")
        trials = {
            "wheel, oldest dependencies": ((wheel, *oldest()), compiled, {}),
            "wheel, newest dependencies": ((wheel,), compiled, {}),
            "sdist, with a compiler": ((sdist,), compiled, {}),
            "sdist, without a compiler": ((sdist,), "plain", without_compiler(folder)),
        }
        for number, (title, (installed, loops, options)) in enumerate(trials.items()):
            python = environment(folder / f"trial-{number}", *installed, **options)
            print(f"{title}: {run(python, '-c', TRIAL, loops)}", flush=True)
            shutil.rmtree(folder / f"trial-{number}")
        if arguments.keep is not None:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            for path in (sdist, wheel):
                shutil.copy(path, arguments.keep)


if __name__ == "__main__":
    sys.exit(main())
