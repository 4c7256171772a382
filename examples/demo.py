"""The main job, shown: what guessing bounds does to a mean, and the same mean in one call.

    python examples/demo.py [FILE]

It also writes the report of the release to FILE, a page for a browser (``reports/claims.html``).
The claims are synthetic, nobody's data. That is why this script may also print their plain mean,
which with real records would be a release without any protection.
"""

from __future__ import annotations

import csv
import math
import sys
import textwrap
from pathlib import Path

import opendp.prelude as dp

import tametail as tt

CLAIMS = Path(__file__).with_name("claims.csv")
GUESSES = (1_000, 10_000, 1_000_000, 100_000_000)
WIDTH = 44


def amounts() -> list[float]:
    """Return the amounts that are there; only synthetic data may be looked at like this."""
    with CLAIMS.open(newline="", encoding="utf-8") as file:
        return [float(row["amount"]) for row in csv.DictReader(file) if row["amount"]]


def bounded_mean(records: list[float], bound: float, epsilon: float) -> float:
    """Return the usual mean: every record clipped to a guessed bound, then OpenDP's noise."""
    dp.enable_features("contrib")
    numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noise = dp.m.make_laplace(*numbers, scale=bound / (epsilon * len(records)))
    return float(noise(math.fsum(min(x, bound) for x in records) / len(records)))


def bar(error: float) -> str:
    """Return the size of an error as a line of signs, one for every two percent, at most 25."""
    signs = round(50 * abs(error))
    return "█" * min(signs, 25) + "…" * (signs > 25) or "▏"


def ruler(release: tt.Release, plain: float) -> str:
    """Return the interval as a line of signs, with the plain mean under it."""
    row = release[0]
    low, high = float(row.low or 0.0), float(row.high or 0.0)
    edge = 0.25 * (high - low)

    def place(value: float) -> int:
        part = (value - low + edge) / (high - low + 2 * edge)
        return round(WIDTH * min(max(part, 0.0), 1.0))

    line = [" "] * (WIDTH + 1)
    line[place(low) : place(high) + 1] = "─" * (place(high) - place(low) + 1)
    line[place(low)], line[place(high)], line[place(row.value)] = "├", "┤", "●"
    return f"   {''.join(line).rstrip()}\n   {' ' * place(plain)}↑ {plain:,.0f}, the plain mean"


def show(name: str, found: float, plain: float) -> None:
    """Print an estimate, its error, and the error as a bar."""
    error = found / plain - 1
    print(f"   {name:>17}   mean {found:>8,.0f}   error {error:>+8.1%}  {bar(error)}")


def tell(words: str) -> None:
    """Print a sentence, in lines that fit."""
    print(textwrap.fill(words, 86, initial_indent="   ", subsequent_indent="   "))


def main() -> None:
    """Run the demonstration."""
    records = amounts()
    plain = math.fsum(records) / len(records)
    print("\n20,000 synthetic insurance claims. A few are huge, and no single one may show.")
    print("What is their mean?\n")
    print("1. The usual way: guess a bound, clip to it, add noise (epsilon = 1)\n")
    for bound in GUESSES:
        show(f"bound {bound:,}", bounded_mean(records, bound, 1.0), plain)
    print("\n   A low bound cuts off the large claims. A high bound needs too much noise.")
    print("   Nothing in the answer says which of the two happened.\n")
    print("2. tametail: one call, no bound\n")
    print('   >>> tt.mean("claims.csv", "amount", epsilon=1)\n')
    release = tt.mean(CLAIMS, "amount", epsilon=1)
    show("no bound", float(release), plain)
    print(f"\n{ruler(release, plain)}\n")
    tell(release.sentence())
    for note in release.notes:
        tell(f"{note.kind}: {note}")
    print("\n3. What it costs\n")
    tell(f"{release.guarantee}")
    tell("If any one claim is left out, no answer becomes more than 2.72 times as likely.")
    report = Path(sys.argv[1] if len(sys.argv) > 1 else "reports/claims.html")
    report.parent.mkdir(parents=True, exist_ok=True)
    release.report(report)
    print(f"\nThe report of this release, to open in a browser:  {report}")
    print("Next: `make page` opens a page to plan and release; docs/tutorials has more.")


if __name__ == "__main__":
    main()
