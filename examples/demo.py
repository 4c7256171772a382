"""The main job, shown: what guessing bounds does to a mean, and the same mean in one call.

    python examples/demo.py

The claims are synthetic, nobody's data. That is why this script may also print their plain mean,
which with real records would be a release without any protection.
"""

from __future__ import annotations

import csv
import math
import textwrap
from pathlib import Path

import opendp.prelude as dp

import tametail as tt
from tametail.report.words import sentence

CLAIMS = Path(__file__).with_name("claims.csv")
GUESSES = (1_000, 10_000, 1_000_000, 100_000_000)
WIDTH = 44


def amounts() -> list[float]:
    """Return the amounts that are there; only synthetic data may be looked at like this."""
    with CLAIMS.open(newline="", encoding="utf-8") as file:
        return [float(row["amount"]) for row in csv.DictReader(file) if row["amount"]]


def clamped_mean(records: list[float], bound: float, epsilon: float) -> float:
    """Return the textbook's mean: every record clamped to a guessed bound, then OpenDP's noise."""
    dp.enable_features("contrib")
    numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noise = dp.m.make_laplace(*numbers, scale=bound / (epsilon * len(records)))
    return float(noise(math.fsum(min(x, bound) for x in records) / len(records)))


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


def main() -> None:
    """Run the demonstration."""
    records = amounts()
    plain = math.fsum(records) / len(records)
    print("20,000 insurance claims. A few are huge, and nobody's may show. What is their mean?\n")
    print("1. The usual way: guess a bound, clamp to it, add noise. Epsilon is 1.\n")
    for bound in GUESSES:
        found = clamped_mean(records, bound, 1.0)
        print(f"   bound {bound:>11,}   mean {found:>10,.0f}   off by {found / plain - 1:>+7.1%}")
    print(
        "\n   Too low cuts off what matters, too high drowns it, and nothing says which it was.\n"
    )
    print("2. tametail: one call, no bound.\n")
    print('   >>> tt.mean("claims.csv", "amount", epsilon=1)\n')
    release = tt.mean(CLAIMS, "amount", epsilon=1)
    tell(f"{sentence(release)}")
    print(f"\n{ruler(release, plain)}\n")
    tell(f"Off by {release.value / plain - 1:+.1%}. We may look: these claims are synthetic.")
    for note in release.notes:
        tell(f"{note.kind}: {note}")
    print("\n3. What was spent\n")
    tell(f"{release.guarantee}")
    tell("So with any one claim left out, no answer is more than 2.72 times as likely or unlikely.")
    print(
        "\nNext: make page opens the same in a browser; docs/guide/tutorial.md takes ten minutes."
    )


def tell(words: str) -> None:
    """Print a sentence, in lines that fit."""
    print(textwrap.fill(words, 86, initial_indent="   ", subsequent_indent="   "))


if __name__ == "__main__":
    main()
