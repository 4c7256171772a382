"""Write ``claims.csv``: 20,000 synthetic insurance claims with a heavy tail.

Nobody's data: a lognormal body, a Pareto tail of index 2 for one claim in fifty, amounts in
cents, and a few cells left empty as in real exports. The generator is seeded, so that the
file can be made again; only simulations use such a generator, never a release.

    python examples/make_claims.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

RECORDS = 20_000
TARGET = Path(__file__).with_name("claims.csv")


def claims(records: int, seed: int = 20) -> np.ndarray:
    """Return synthetic claim amounts."""
    rng = np.random.default_rng(seed)
    body = rng.lognormal(mean=6.8, sigma=0.9, size=records)
    tail = 5_000 * (1 + rng.pareto(2.0, size=records))
    return np.round(np.where(rng.random(records) < 0.02, tail, body), 2)


def main() -> None:
    """Write the file."""
    amounts = claims(RECORDS)
    rng = np.random.default_rng(21)
    empty = rng.random(RECORDS) < 0.003
    regions = rng.choice(["north", "east", "south", "west"], size=RECORDS)
    with TARGET.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["claim", "region", "amount"])
        records = zip(regions, amounts, empty, strict=True)
        for number, (region, amount, missing) in enumerate(records, start=1):
            writer.writerow([number, region, "" if missing else f"{amount:.2f}"])
    print(f"wrote {TARGET.name}: {RECORDS:,} claims")


if __name__ == "__main__":
    main()
