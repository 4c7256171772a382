"""Mean hospital charges by state, without bounds, and the difference between two states.

    python examples/hospital_charges.py

The discharges are synthetic. Which states there are is public, so they are named as keys; a state
with few discharges borrows the shape of the others.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import tametail as tt


def discharges(records: int = 60_000, seed: int = 1) -> pa.Table:
    """Return synthetic charges with heavy tails; some states are dear, and some are small."""
    rng = np.random.default_rng(seed)
    states = rng.choice(["CA", "NY", "TX", "VT"], size=records, p=[0.4, 0.3, 0.28, 0.02])
    dear = np.array([{"CA": 1.6, "NY": 1.3, "TX": 1.0, "VT": 0.8}[state] for state in states])
    charges = dear * rng.lognormal(mean=9.0, sigma=1.0, size=records)
    return pa.table({"state": states, "charge": np.round(charges, 2)})


def main() -> None:
    """Release four means for one budget: a discharge is in one state only."""
    release = tt.mean(discharges(), "charge", epsilon=1, by="state", keys=["CA", "NY", "TX", "VT"])
    print(release)
    print(f"\n{release.difference('CA', 'TX')}")


if __name__ == "__main__":
    main()
