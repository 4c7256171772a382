"""How wide the interval of a state is, beside that of the state alone: docs/how-to/hospital.md.

    python benchmarks/hospital.py --draws 20

A synthetic hospital: 60,000 visits of 15,554 patients in seven states. At epsilon = 1, three ways:
all states at once with ``groups_per_person=1``, all at once without it, and a state alone, by
``where=``, which spends all of epsilon on that state. Widths and errors are medians over the draws,
in percent of the true mean, of the last interval, that for the clipped mean; "covered" is how often
it holds the mean of the state.
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    given = parser.parse_args()
    visits = hospital()
    truth = visits.groupby("state")["charge"].mean()
    found: dict[tuple[str, str], list[tuple[float, float, bool]]] = {}
    for _ in range(given.draws):
        for way, rows in ways(visits).items():
            for state, row in rows.items():
                exact = truth[state]
                own = row.intervals[-1]
                seen = (own.high - own.low) / exact, abs(row.value / exact - 1)
                found.setdefault((way, state), []).append((*seen, own.low <= exact <= own.high))
    table = Table("state", "patients", "way", "width %", "over alone", "error %", "covered")
    for state in STATES:
        width_alone = np.median([width for width, *_ in found["alone", state]])
        for way in ("alone", "one group each", "any groups"):
            widths, errors, covered = map(np.array, zip(*found[way, state], strict=True))
            over = "" if np.isinf(width_alone) else f"{np.median(widths) / width_alone:.2f}"
            patients = visits.patient[visits.state == state].nunique()
            table.add_row(
                state, f"{patients:,}", way, f"{100 * np.median(widths):.1f}", over,
                f"{100 * np.median(errors):.1f}", f"{np.mean(covered):.2f}",
            )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
