"""An hour of a hospital analyst: totals, quantiles, shares and comparisons from one ledger.

    python examples/hospital_hour.py

The discharges of two years are synthetic. Every release is charged to one ledger before any record
is read; the last one is written as a report.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import tametail as tt

STATES = ["CA", "NY", "TX"]


def discharges(year: int, records: int = 40_000) -> pa.Table:
    """Return synthetic charges with heavy tails, which rise from year to year."""
    rng = np.random.default_rng(year)
    states = rng.choice(STATES, size=records, p=[0.45, 0.3, 0.25])
    dear = np.array([{"CA": 1.4, "NY": 1.2, "TX": 1.0}[state] for state in states])
    charges = dear * 1.05 ** (year - 2024) * rng.lognormal(mean=8.7, sigma=1.0, size=records)
    return pa.table({"state": states, "charge": np.round(charges, 2)})


def main(folder: str) -> None:
    """Ask what a hospital asks, and see what is left of the budget."""
    ledger = tt.Ledger(Path(folder) / "office.ledger")
    for year in (2024, 2025):
        ledger.create(f"discharges-{year}", tt.pure(4))
    paid = {"ledger": ledger, "dataset": "discharges-2025"}
    now, before = discharges(2025), discharges(2024)

    totals = tt.sum(now, "charge", epsilon=1, by="state", keys=STATES, **paid)
    print("Total charges by state", totals, sep="\n", end="\n\n")
    quantiles = tt.quantile(now, "charge", [0.5, 0.9], epsilon=0.5, **paid)
    print("Median and 90% quantile of charges", quantiles, sep="\n", end="\n\n")
    share = tt.mean(now, "charge > 10000", epsilon=0.2, **paid)
    print(share.sentence(), end="\n\n")

    means = tt.mean(now, "charge", epsilon=1, by="state", keys=STATES, **paid)
    print("Two states, and two years")
    print(means.difference("CA", "TX"))
    print(totals.ratio("CA", "TX"))
    last = tt.mean(before, "charge", epsilon=1, ledger=ledger, dataset="discharges-2024")
    print(tt.mean(now, "charge", epsilon=1, **paid) - last, end="\n\n")

    report = Path(folder) / "charges-by-state.html"
    means.report(report)
    print(f"report: {report.name}, {report.stat().st_size // 1000} kB")
    print(ledger.remaining("discharges-2025"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(temporary)
