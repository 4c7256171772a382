"""Run all tests with fresh seeds, and print those that hang on luck.

    python -m tests.chance                       three rounds of everything
    python -m tests.chance --rounds 10 tests/persons
    TAMETAIL_TEST_SEED=... pytest TEST           what a test draws in one of these rounds

In ``make test`` every test draws from a generator that its own id seeds, so that it gives the same
result in every run. Here the seed has another beginning in each round. A test that fails in some
round and passes in others is not wrong: its seed is one of those with which it passes. But the more
often it fails here, the less it shows.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)

#: Exit codes of pytest after which its list of failures is complete.
FINISHED = (0, 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tests that failed in any round; return 1 if a round could not be run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("tests", nargs="*", help="what pytest is to run; everything by default")
    options = parser.parse_args(arguments)
    failed: dict[str, list[str]] = defaultdict(list)
    for number in range(1, options.rounds + 1):
        seed = secrets.token_hex(8)
        code, output = run_tests(options.tests, seed)
        if code not in FINISHED:
            print(output)
            return 1
        found = FAILED.findall(output)
        for test in found:
            failed[test].append(seed)
        print(f"round {number} of {options.rounds}, seed {seed}: {len(found)} failed", flush=True)
    for test, seeds in sorted(failed.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"{len(seeds)} of {options.rounds}: {test} (seeds {', '.join(seeds)})")
    if not failed:
        print("No test hangs on luck.")
    return 0


def run_tests(tests: Sequence[str], seed: str) -> tuple[int, str]:
    """Run tests with a fresh seed, and return pytest's exit code and output."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--tb=no", "-rfE"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", f"--hypothesis-seed={int(seed, 16)}", *tests],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"TAMETAIL_TEST_SEED": seed},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
