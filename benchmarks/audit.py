"""Long privacy audits of the mechanisms, the verbs of Ask and the paper's estimators.

    python benchmarks/audit.py --runs 20000

Every row runs a mechanism on two worst-case neighbours and shows the epsilon that it claims, the
largest epsilon that its outputs prove, and the verdict. All bounds hold together with a confidence
of 99.9%. The first two rows are noise drawn here, right and wrong, to show that the auditor has
teeth: it must see at least 0.95 of an exact epsilon of 1, and flag half the noise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

# The auditor and its cases live with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.privacy.auditor import audit
from tests.privacy.cases import Case, ask_cases, mean_cases, mechanism_cases, range_cases

CONFIDENCE = 0.999
TEETH_RUNS = 1_000_000


def main() -> int:
    """Print the table; the exit code is 1 if a claim does not hold or the auditor is blind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20_000, help="runs on each neighbour")
    parser.add_argument("--only", default="", help="audit only cases whose name contains this")
    arguments = parser.parse_args()
    if arguments.runs < 1000:
        parser.error(f"--runs {arguments.runs} is too short to see anything: write 1000 or more.")

    groups = (mechanism_cases(), ask_cases(), range_cases(), mean_cases())
    cases = [case for group in groups for case in group if arguments.only in case.name]
    confidence = 1 - (1 - CONFIDENCE) / (len(cases) + 2)
    table = Table("mechanism and neighbours", "claimed", "delta", "found", "verdict")
    exact, half = (
        audit(*pair, TEETH_RUNS, confidence=confidence) for pair in (laplace(1.0), laplace(0.5))
    )
    seen, flagged = exact >= 0.95, half > 1
    table.add_row("noise drawn here", "1.000", "0", f"{exact:.3f}", "seen" if seen else "NOT SEEN")
    table.add_row("half of it", "1.000", "0", f"{half:.3f}", "flagged" if flagged else "MISSED")
    surprises = (not seen) + (not flagged)
    for case in track(cases, description="auditing", console=Console(stderr=True)):
        found = audit(
            case.first, case.second, arguments.runs, delta=case.delta, confidence=confidence
        )
        holds = found <= case.claimed
        surprises += not holds
        table.add_row(*describe(case), f"{found:.3f}", "holds" if holds else "EXCEEDED")
    Console(width=130).print(table)
    print(f"{len(cases)} audits of {arguments.runs} runs on each neighbour; {surprises} surprises.")
    return 1 if surprises else 0


def describe(case: Case) -> Iterator[str]:
    """Yield the name and the claim of a case, as cells of the table."""
    yield case.name
    yield f"{case.claimed:.3f}"
    yield f"{case.delta:g}"


def laplace(scale: float):
    """Return Laplace noise of this scale around 0 and around 1, as draws for the auditor."""
    rng = np.random.default_rng()
    return [lambda count, y=y: y + rng.laplace(0.0, scale, count) for y in (0, 1)]


if __name__ == "__main__":
    sys.exit(main())
