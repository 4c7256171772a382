"""Mean pay of persons with one job or several: a person is protected with all of their jobs.

    python examples/incomes_per_person.py

The jobs are synthetic. Nobody says how many jobs a person may have: there is no cap to guess.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import tametail as tt


def jobs(persons: int = 20_000, seed: int = 2) -> pa.Table:
    """Return one row for each job; most persons have one, a few have a dozen."""
    rng = np.random.default_rng(seed)
    count = np.minimum(rng.zipf(2.5, size=persons), 12)
    who = np.repeat(np.arange(persons), count)
    level = rng.lognormal(mean=7.6, sigma=0.6, size=persons)[who]
    pay = level * rng.lognormal(sigma=0.3, size=len(who))
    return pa.table({"person": who, "pay": np.round(pay, 2)})


def main() -> None:
    """Release the mean over jobs and the mean over persons, each with half of the budget."""
    data = jobs()
    for each, words in (("record", "a job pays"), ("person", "a person's jobs pay on average")):
        release = tt.mean(data, "pay", epsilon=0.5, person="person", each=each)
        print(f"{words}: {release}\n")


if __name__ == "__main__":
    main()
