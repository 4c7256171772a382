"""What type checkers know of a release: one column gives numbers, several give arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tametail as tt

CLAIMS = Path(__file__).parent / "claims.csv"


def above(release: tt.Release[float, float], limit: float) -> bool:
    """Say whether all of the interval lies above a limit."""
    return release.low > limit


def spread(release: tt.Release[npt.NDArray[np.float64]]) -> float:
    """Return how far the means lie apart."""
    return float(np.ptp(release.value))


def main() -> None:
    """Release one mean, and the means of two columns."""
    one = tt.mean(CLAIMS, "amount", epsilon=1)
    print(f"{one.value / 1000:.1f} thousand", "above 1000" if above(one, 1000) else "unclear")

    columns = {"first": [1.0, 2.0] * 5_000, "second": [4.0, 5.0] * 5_000}
    two = tt.mean(pa.table(columns), ["first", "second"], epsilon=1)
    print(f"{spread(two):.1f} apart")

    # Whatever it is, the rows are one by one:
    print(max(row.value for row in two) > min(row.value for row in one))


if __name__ == "__main__":
    main()
