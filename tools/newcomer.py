"""Do what a newcomer does, from a bare clone: the README's commands, a wheel, the page.

    python tools/newcomer.py            all of it
    python tools/newcomer.py --wheel    without `make demo`, which installs all that tests need

It clones the repository as it is committed into a temporary folder and takes some minutes, most of
them for installing. Each step is printed; the first that fails, or warns, ends it.
"""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command and return what it prints; a failure, or a warning of ours, ends it all."""
    print(f"$ {' '.join(map(str, command))}", flush=True)
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(  # noqa: S603 - what stands below
        list(map(str, command)), cwd=cwd, env=without, text=True, capture_output=True, check=False
    )
    is_ours = Path(command[0]).name in ("tametail", "python")
    if done.returncode or (is_ours and re.search("(?i)traceback|warning", done.stderr)):
        sys.exit(f"{done.stdout}\n{done.stderr}\nfailed")
    return done.stdout


def page(tametail: Path, folder: Path) -> None:
    """Start the page over a folder, plan, and end it."""
    print("$ tametail page --no-browser", flush=True)
    with subprocess.Popen(  # noqa: S603 - what was just installed
        [tametail, "page", "--no-browser"], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        found = None
        while found is None and process.stdout is not None:
            found = re.search(r"http://([^/]+)(/\S+)", process.stdout.readline())
        if found is None:
            sys.exit("the page printed no address")
        line = http.client.HTTPConnection(found[1], timeout=60)
        line.request("GET", f"{found[2]}outcome?n=20000&epsilon=1")
        text = line.getresponse().read().decode()
        process.terminate()
    if "Error against size" not in text:
        sys.exit("the page does not plan")


def main() -> None:
    """Do it all; with --wheel only what a wheel needs, in a minute."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        run("git", "clone", "--quiet", ROOT, "clone", cwd=folder)
        clone = folder / "clone"
        if "--wheel" not in sys.argv[1:]:
            print(run("make", "demo", cwd=clone))
            use(clone / ".venv" / "bin", clone)
        build = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", ".")
        run(sys.executable, *build, cwd=clone)
        run(sys.executable, "-m", "venv", "own", cwd=folder)
        wheel = next((clone / "dist").glob("*.whl"))
        own = folder / "own" / "bin"
        run(own / "pip", "install", "--quiet", f"{wheel}[page]", cwd=folder)
        print(run(own / "python", "-W", "error", "examples/demo.py", cwd=clone))
        use(own, clone)
    print("all of it works")


def use(programs: Path, clone: Path) -> None:
    """Release, report, replay and plan with what is installed."""
    tametail = programs / "tametail"
    mean = ("mean", "examples/claims.csv", "--column", "amount", "--epsilon", "1")
    print(run(tametail, *mean, "--report", "claims.html", cwd=clone))
    print(run(tametail, "replay", "claims.html", cwd=clone))
    run(programs / "python", "-W", "error", "-c", FIRST, cwd=clone)
    page(tametail, clone / "examples")


#: The README's first lines of Python.
FIRST = """
import tametail as tt
release = tt.mean("examples/claims.csv", "amount", epsilon=1)
print(release, float(release), release.low, release.high, release.guarantee.epsilon)
release.report("wheel.html")
"""


if __name__ == "__main__":
    main()
