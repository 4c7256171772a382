"""A monthly report that a ledger pays for: charged once, whoever runs it again.

    python examples/monthly_report.py [FOLDER]

Makes a ledger and a report, ``claims-2026-10.html``, in the folder. A second run under the same id
costs nothing and gives the same numbers; another question is charged, until the budget is gone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tametail as tt
from tametail.errors import BudgetError

CLAIMS = Path(__file__).with_name("claims.csv")


def main(folder: Path) -> None:
    """Release what the month needs, twice, and then more than the budget holds."""
    place = folder / "office.ledger"
    is_new, ledger = not place.exists(), tt.Ledger(place)
    if is_new:
        ledger.create("claims-2026-10", budget=tt.pure(1))
    paid = {"ledger": ledger, "dataset": "claims-2026-10"}
    for run in ("first", "second"):
        release = tt.mean(CLAIMS, "amount", epsilon=0.6, release_id="report-2026-10", **paid)
        print(f"{run} run: {release.value:,.2f}; {ledger.remaining('claims-2026-10')}")
    release.report(folder / "claims-2026-10.html")
    try:
        tt.mean(CLAIMS, "amount", epsilon=0.6, **paid)
    except BudgetError as refusal:
        print("refused:", refusal)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
