"""Put each bug of the catalogue into a copy of the project, and see which test notices it.

    python -m tests.mutants.run                    all of them, in two processes
    python -m tests.mutants.run clipped buckets    those whose name contains one of these
    python -m tests.mutants.run --write FILE       and write the table as Markdown

The tests that killed a mutant are then run on a copy without any bug, where they must pass. Copies
leave the compiled loops out, so that NumPy's are tested; a mutant of the C file is compiled. The
exit code is 1 if a mutant survives or was not run, or if a killer fails without a bug, too.

Most of a run would be imports: processes are forked from one that has imported what the tests need
of other packages, and copies hold what Python and pytest have compiled.
"""

from __future__ import annotations

import argparse
import compileall
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from .catalogue import MUTANTS
from .child import run_here
from .mutant import ROOT, Mutant

#: What the tests need of the project.
COPIED = ("src", "tests", "conftest.py", "pyproject.toml", "hatch_build.py")

NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.so")

#: What takes longest to import, and neither imports the package nor starts threads. (What pytest
#: rewrites may not be imported before.)
PRELOADED = ("numpy", "scipy.stats", "pandas", "pyarrow.parquet", "opendp.prelude")

#: Ids of tests may hold numbers of 400 digits.
LONGEST = 150

#: Seconds after which a run of tests is given up; the narrow tests named here take a few.
PATIENCE = 600

#: The same for all of them together, on the copy without a bug.
MUCH_PATIENCE = 3600

FAILED = re.compile(r"^FAILED (.+?)(?: - .*)?$", re.MULTILINE)
PASSED = re.compile(r"^PASSED ", re.MULTILINE)
TESTS_PASSED, TESTS_FAILED = 0, 1  # exit codes of pytest; all others are mistakes of the catalogue


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    killer: str | None
    remark: str = ""

    @property
    def killers(self) -> tuple[str, ...]:
        """The test that killed it; all that it names if its id was cut, at a minus sign."""
        if self.killer is None or self.killer.count("[") == self.killer.count("]"):
            return (self.killer,) if self.killer else ()
        return self.mutant.tests

    @property
    def text(self) -> str:
        """The killer's name, or what happened instead."""
        text = self.killer or self.remark
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of mutants and killers; return 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="run those whose name contains one of these")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("--write", type=Path, help="write the table to this Markdown file")
    options = parser.parse_args(arguments)
    texts = options.names or [""]
    chosen = [mutant for mutant in MUTANTS if any(text in mutant.name for text in texts)]
    if not chosen:
        parser.error(f"no mutant has one of {texts} in its name.")

    console = Console()
    stale = [mutant.name for mutant in chosen if mutant.occurrences() != 1]
    if stale:
        console.print(f"[red]The code has moved; mend the mutants {', '.join(stale)}.")
        return 1
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        healthy = copy_project(Path(folder) / "healthy")
        compileall.compile_dir(healthy / "src", quiet=1)
        with ThreadPoolExecutor(options.workers) as pool:
            waiting = pool.map(lambda mutant: try_mutant(mutant, healthy), chosen)
            verdicts = []
            for verdict in track(waiting, "mutants", total=len(chosen), console=console):
                verdicts.append(verdict)
                if verdict.killer is None:  # known long before the table is
                    console.print(f"{verdict.mutant.name}: {verdict.text}", markup=False)
        code, output = run_killers(healthy, verdicts)
    console.print(_table(verdicts))
    survivors = [verdict for verdict in verdicts if verdict.killer is None]
    console.print(f"{len(verdicts) - len(survivors)} of {len(verdicts)} mutants were killed.")
    if options.write:
        options.write.write_text(_markdown(verdicts), encoding="utf-8")
    if code != TESTS_PASSED:
        console.print(output, markup=False)
        console.print("[red]The tests that killed them do not pass without a bug.")
    return 1 if survivors or code != TESTS_PASSED else 0


def try_mutant(mutant: Mutant, healthy: Path) -> Verdict:
    """Run the mutant's tests on a copy of the project that has the bug."""
    root = shutil.copytree(healthy, healthy.with_name(mutant.name))
    mutant.apply(root)
    if mutant.file.endswith(".c") and not compile_loops(root / "src" / "tametail" / mutant.file):
        return Verdict(mutant, None, "not run: there is no C compiler")
    code, output = run_tests(root, mutant.tests)
    shutil.rmtree(root)
    return judge(mutant, code, output)


def run_killers(healthy: Path, verdicts: Sequence[Verdict]) -> tuple[int, str]:
    """Run the tests that killed on a copy without any bug; those of the C file need it compiled."""
    for compiled in (False, True):
        some = [one for one in verdicts if one.mutant.file.endswith(".c") == compiled]
        killers = sorted({test for verdict in some for test in verdict.killers})
        if not killers:
            continue
        if compiled:
            compile_loops(healthy / "src" / "tametail" / some[0].mutant.file)
        code, output = run_tests(healthy, killers, MUCH_PATIENCE)
        if code != TESTS_PASSED:
            return code, output
    return TESTS_PASSED, ""


def judge(mutant: Mutant, code: int, output: str) -> Verdict:
    """Say what became of a mutant, by what :func:`run_tests` returned."""
    killer = FAILED.search(output)
    if code == TESTS_FAILED and killer:
        return Verdict(mutant, killer[1])
    if code == TESTS_PASSED:
        survived = PASSED.search(output) is not None
        return Verdict(mutant, None, "SURVIVED" if survived else "not run: its tests were skipped")
    return Verdict(mutant, None, f"pytest ended with {code}: {output.strip()[-300:]}")


def copy_project(root: Path) -> Path:
    """Copy what the tests need."""
    root.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=NOT_COPIED)
        else:
            shutil.copy(source, root / name)
    return root


def compile_loops(source: Path) -> bool:
    """Compile a C file beside itself, where the package looks for it; say whether that worked."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return False
    flags = ["-O1", "-std=c11", "-fPIC", "-shared", "-ffp-contract=off"]
    command = [compiler, *flags, str(source), "-o", str(source.with_suffix(".so")), "-lm"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def run_tests(root: Path, tests: Iterable[str], patience: int = PATIENCE) -> tuple[int, str]:
    """Run pytest on the copy at ``root``; return its exit code and what it printed."""
    # Quiet twice (here and in pyproject.toml) there is no line of totals: tests are named instead.
    command = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-rfEp"]
    command += ["-p", "tests.mutants.quick", *tests]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED])
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as output:
        process = context.Process(target=run_here, args=(root, command, output.name))
        process.start()
        process.join(patience)
        if process.exitcode is None:
            os.killpg(process.pid or 0, signal.SIGKILL)
            return -1, f"no end within {patience} seconds"
        return process.exitcode, output.read()


def _table(verdicts: Iterable[Verdict]) -> Table:
    table = Table("mutant", "file", "killed by", title="Mutants")
    for verdict in verdicts:
        style = "" if verdict.killer else "red"
        cells = (verdict.mutant.name, verdict.mutant.file, verdict.text)
        table.add_row(*map(escape, cells), style=style)  # [replace-one] is no markup
    return table


def _markdown(verdicts: Iterable[Verdict]) -> str:
    lines = [
        "# Mutants",
        "",
        "Deliberate bugs (`tests/mutants`) and the test that noticed each; `make mutants` repeats",
        "this.",
        "",
        "| mutant | why it is a bug | killed by |",
        "|---|---|---|",
    ]
    for verdict in verdicts:
        cells = (verdict.mutant.name, verdict.mutant.why, f"`{verdict.text}`")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    # Each process would import this module again, from a tree that may have changed meanwhile.
    __spec__ = None
    del __file__
    sys.exit(main())
