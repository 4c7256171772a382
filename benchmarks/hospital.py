"""How wide the interval of a state is, beside that of the state alone: docs/how-to/hospital.md.

    python benchmarks/hospital.py --draws 20

A synthetic hospital: 60,000 visits of 15,554 patients in seven states. At epsilon = 1, three ways:
all states at once with ``groups_per_person=1``, all at once without it, and a state alone, by
``where=``, which spends all of epsilon on that state. Widths and errors are medians over the draws,
in percent of the true mean; "covered" is how often an interval holds the mean of the state. First
stands the interval to quote, for the mean, and then that for the clipped mean.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

import tametail as tt
from _common import console

STATES = ["CA", "TX", "NY", "FL", "IL", "WA", "VT"]
PATIENTS, VISITS = 15_554, 60_000


def hospital(seed: int = 1) -> pd.DataFrame:
    """Return visits: most patients come a few times, and some often; a patient has one state."""
    rng = np.random.default_rng(seed)
    state = rng.choice(STATES, PATIENTS, p=[0.27, 0.2, 0.17, 0.14, 0.12, 0.09, 0.01])
    often = rng.pareto(1.8, PATIENTS) + 0.6
    more = rng.choice(PATIENTS, VISITS - PATIENTS, p=often / often.sum())
    patient = np.concatenate([np.arange(PATIENTS), more])
    level = rng.lognormal(8.75, 0.6, PATIENTS)
    charge = level[patient] * rng.lognormal(0, 1, VISITS)
    return pd.DataFrame({"patient": patient, "state": state[patient], "charge": charge.round(2)})


def ways(visits: pd.DataFrame) -> dict[str, Any]:
    """Return a row of a release for each state, by each way."""
    asked: dict[str, Any] = {"epsilon": 1, "person": "patient"}
    by = {"by": "state", "keys": STATES}
    kept = tt.mean(visits, "charge", groups_per_person=1, **by, **asked)
    many = tt.mean(visits, "charge", **by, **asked)
    alone = {
        state: tt.mean(visits, "charge", where=f"state == '{state}'", **asked).means[0]
        for state in STATES
    }
    return {
        "one group each": {state: kept[state] for state in STATES},
        "any groups": {state: many[state] for state in STATES},
        "alone": alone,
    }


def seen(row: Any, exact: float) -> list[float]:
    """Return the error of a row, the widths of both intervals, and whether they hold the mean."""
    both = row.intervals[0], row.intervals[-1]
    widths = [(one.high - one.low) / exact for one in both]
    return [abs(row.value / exact - 1), *widths, *(one.low <= exact <= one.high for one in both)]


def over(width: float, beside: float) -> str:
    """Return a width over another, where both are finite."""
    return f"{width / beside:.2f}" if np.isfinite([width, beside]).all() else ""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    given = parser.parse_args()
    visits = hospital()
    truth = visits.groupby("state")["charge"].mean()
    found: dict[tuple[str, str], list[list[float]]] = {}
    for _ in range(given.draws):
        for way, rows in ways(visits).items():
            for state, row in rows.items():
                found.setdefault((way, state), []).append(seen(row, truth[state]))
    heads = ("width %", "over alone", "covered")
    table = Table("state", "patients", "way", "error %", *heads, *(f"clipped: {x}" for x in heads))
    for state in STATES:
        alone = np.median(found["alone", state], axis=0)
        patients = f"{visits.patient[visits.state == state].nunique():,}"
        for way in ("alone", "one group each", "any groups"):
            error, *widths = np.median(found[way, state], axis=0)[:3]
            covered = np.mean(found[way, state], axis=0)[3:]
            shown = [
                (f"{100 * width:.1f}", over(width, beside), f"{share:.2f}")
                for width, beside, share in zip(widths, alone[1:3], covered, strict=True)
            ]
            table.add_row(state, patients, way, f"{100 * error:.1f}", *shown[0], *shown[1])
    console.print(table)


if __name__ == "__main__":
    main()
