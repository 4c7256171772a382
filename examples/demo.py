"""The main job, shown: a private mean of ``claims.csv`` on the command line, explained.

    python examples/demo.py

The claims are synthetic, nobody's data. That is why this script may also print their plain mean,
which with real records would be a release without any protection.
"""

from __future__ import annotations

import csv
import json
import math
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

CLAIMS = Path(__file__).with_name("claims.csv")


def tametail(*arguments: str) -> str:
    """Show a command as a user would type it, run it, show and return what it prints."""
    print(f"$ {shlex.join(('tametail', *arguments))}")
    command = [sys.executable, "-m", "tametail", *arguments]
    # Run beside the file, so that the command reads the same from any directory.
    done = subprocess.run(command, cwd=CLAIMS.parent, stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout)
    return done.stdout


def plain_mean() -> float:
    """Return the mean of the amounts that are there, without any privacy."""
    with CLAIMS.open(newline="", encoding="utf-8") as file:
        amounts = [float(row["amount"]) for row in csv.DictReader(file) if row["amount"]]
    return math.fsum(amounts) / len(amounts)


def explain(release: dict[str, Any]) -> None:
    """Say what the numbers of a release mean."""
    factor = math.exp(release["epsilon"])
    parts = release["parts"]
    print(
        f"The mean claim is about {release['value']:,.0f}. We assumed that the standard deviation\n"
        f"is at most 2,500; if so, the mean of the law behind the claims lies between\n"
        f"{release['low']:,.0f} and {release['high']:,.0f} with {release['confidence']:.0%} "
        "confidence.\n"
        f"Having 20,000 claims and not all can change the mean by {parts['sampling']:,.0f}, the "
        f"noise that\nprotects them by {parts['privacy']:,.0f}, and claims so large that they are "
        f"cut off by {parts['truncation']:,.0f}.\n"
        f"Privacy: with any one claim added or removed, no answer becomes more than {factor:.2f} "
        "times\nas likely or unlikely. That holds whatever the claims are and whatever we assumed."
    )
    for note in release["notes"]:
        print(f"{note['kind'].capitalize()}: {note['text']}.")


def main() -> None:
    """Run the demonstration."""
    print("1. A private mean, with nothing known about the claims.\n")
    tametail("mean", CLAIMS.name, "--column", "amount", "--epsilon", "1")
    print(
        "No bounds were given: a private median and private counts found where to clip. Without\n"
        "an assumption nobody can bound what lies beyond, so the interval is for a clipped mean.\n"
    )
    print("2. The same as JSON, with an assumption on the claims and a range for the mean.\n")
    arguments = ["--column", "amount", "--epsilon", "1", "--moment", "2:2500", "--within", "1e6"]
    release = json.loads(tametail("mean", CLAIMS.name, *arguments, "--json"))
    explain(release)
    plain, value = plain_mean(), release["value"]
    print(
        f"\n3. The plain mean is {plain:,.2f}, so privacy cost {abs(value - plain):,.2f} "
        f"({abs(value / plain - 1):.1%}).\n"
        "We may print it because these claims are synthetic; with real ones we would not."
    )


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
