"""Root mean squared error of ``tametail.mean(..., person=...)`` over that of an oracle.

    python benchmarks/persons.py                              # synthetic populations
    python benchmarks/persons.py --data DIR --trials 30       # and files with columns id, value

Persons are drawn, with replacement, from a population, whose own mean over all records is the
truth. The oracle knows that mean r and the best clip points for z = s - r c, spends all of epsilon
on one noisy sum of clipped z and knows the number of records; its biases of both sides are added.
Protected is a person, added or removed, under pure differential privacy. Draws go through the whole
estimator; only the sums of a drawn person are those of the population, not added up again. With
``--coverage``, half the width of an interval is in errors of the oracle. ``--each column`` is the
plain ``tametail.mean`` of a column of the persons' own means, told nothing of persons: in the same
draws and over the same oracle as ``--each person``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from rich.table import Table

from _common import console
from _known import KnownPersons
from tametail.data import Backend
from tametail.data.open import open_data
from tametail.data.persons.totals import PersonTotals
from tametail.data.relation import Relation
from tametail.methods.persons import estimate
from tametail.planning import Plan
from tametail.queries.persons import PersonResidual
from tametail.request import Request
from tametail.run import prepare_release, run

Floats = npt.NDArray[np.float64]

#: Persons, epsilon, and what is required: geometric mean of the ratios, and the worst.
CELLS = ((3_000, 1.0, 1.35, 2.5), (20_000, 1.0, 1.25, 2.0), (20_000, 0.1, 1.9, 4.0))

#: Shares of persons beyond the clip points that the oracle tries, on either side.
BEYOND = np.concatenate([[0.0], np.geomspace(1e-5, 0.5, 50)])


def known(sums: Floats, counts: Floats) -> KnownPersons:
    """Return persons whose sums and counts are known."""
    totals = PersonTotals(sums[:, None], counts[:, None])
    return KnownPersons(totals, Relation(("value",), person=("id",)))


def synthetic(persons: int = 100_000) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield populations: a name, the sum and the number of the records of each person."""
    rng = np.random.default_rng(17)

    def counts(sigma: float) -> Floats:
        return np.ceil(np.exp(rng.normal(1.0, sigma, persons)))

    one, some, many = counts(0.3), counts(1.0), counts(1.6)
    level = np.exp(rng.normal(0, 1, persons))
    yield "few records, lognormal", one * level, one
    yield "lognormal", some * level, some
    yield "more records, larger values", some * level * some**0.5, some
    yield "more records, smaller values", some * level / some**0.5, some
    yield "very unequal numbers", many * np.exp(rng.normal(0, 0.5, persons)), many
    yield "heavy tail", some * rng.pareto(2.5, persons), some
    yield "both signs, far from 0", some * (100 + rng.standard_t(4, persons)), some


def files(folder: Path) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield the files of a folder, by person."""
    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path, columns=["id", "value"]).to_pandas().dropna()
        by_person = table.groupby("id")["value"]
        yield path.stem, by_person.sum().to_numpy(float), by_person.count().to_numpy(float)


def oracle(sums: Floats, counts: Floats, persons: int, epsilon: float) -> float:
    """Return the error of the best clip points."""
    z = sums - sums.sum() / counts.sum() * counts
    mean_count, best = counts.mean(), math.inf
    ends = [np.unique(np.quantile(side * z, 1 - BEYOND)) for side in (-1, 1)]
    for below in ends[0][ends[0] >= 0][::2]:
        lost_below = np.maximum(-below - z, 0).mean()
        for above in ends[1][ends[1] >= 0]:
            clipped = np.clip(z, -below, above)
            bias = lost_below + np.maximum(z - above, 0).mean()
            noise = 2 * (max(below, above) / (epsilon * persons)) ** 2
            best = min(best, bias**2 + clipped.var() / persons + noise)
    return math.sqrt(best) / mean_count


def cover(
    sums: Floats, counts: Floats, cell: tuple[int, float], trials: int
) -> tuple[float, float]:
    """Return how often intervals hold the winsorised ratio of the population, and their width."""
    persons, epsilon = cell
    rng = np.random.default_rng(8)
    plan = Plan.of(Request.parse(epsilon=epsilon, person="id").with_names(["value"]))
    usual, found, inside, widths = estimate.clipped_sum, [], [], []

    def noted(*given: Any, **named: Any) -> Any:
        found.append(usual(*given, **named))
        return found[-1]

    with mock.patch.object(estimate, "clipped_sum", noted):
        for _ in range(trials):
            drawn = rng.integers(0, len(sums), persons)
            backend = known(sums[drawn], counts[drawn])
            (row,) = run(*prepare_release(plan, backend)).means
            rows, total = found[-2:]
            if total is None or rows is None or math.isinf(row.intervals[-1].low):
                continue
            views = (relation.view for relation, _ in backend.asked)
            (ratio,) = {view.ratio for view in views if isinstance(view, PersonResidual)}
            z = np.clip(sums - ratio * counts, -total.clip.below, total.clip.above)
            target = ratio + z.mean() / np.minimum(counts, rows.clip.above).mean()
            interval = row.intervals[-1]
            inside.append(interval.low <= target <= interval.high)
            widths.append((interval.high - interval.low) / 2)
    return float(np.mean(inside)), float(np.median(widths))


def measure(sums: Floats, counts: Floats, cell: tuple[int, float], each: str, trials: int) -> float:
    """Return the root mean squared error of releases."""
    persons, epsilon = cell
    rng = np.random.default_rng(7)
    said: dict[str, Any] = {} if each == "column" else {"person": "id", "each": each}
    plan = Plan.of(Request.parse(epsilon=epsilon, confidence=None, **said).with_names(["value"]))
    truth = sums.sum() / counts.sum() if each == "record" else (sums / counts).mean()
    errors = []
    for _ in range(trials):
        drawn = rng.integers(0, len(sums), persons)
        backend: Backend = known(sums[drawn], counts[drawn])
        if each == "column":
            backend = open_data(sums[drawn] / counts[drawn])
        errors.append(float(run(*prepare_release(plan, backend))) - truth)
    return float(np.sqrt(np.mean(np.square(errors))))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of files with columns id and value")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument(
        "--coverage", action="store_true",
        help="beside: how often intervals hold what they are for, and half of their width",
    )  # fmt: skip
    parser.add_argument("--each", choices=["record", "person", "column"], default="record")
    chosen = parser.parse_args()
    found = [*synthetic(), *(files(chosen.data) if chosen.data else ())]
    heads = [f"{persons:,} persons, {epsilon:g}" for persons, epsilon, *_ in CELLS]
    table = Table(
        "population", *heads, title=f"error over the oracle's, {chosen.trials} draws each"
    )
    ratios = []
    for name, sums, counts in found:
        row = []
        each = (sums, counts) if chosen.each == "record" else (sums / counts, np.ones(len(sums)))
        for persons, epsilon, *_ in CELLS:
            error = measure(sums, counts, (persons, epsilon), chosen.each, chosen.trials)
            row.append(error / oracle(*each, persons, epsilon))
        ratios.append(row)
        cells = [f"{ratio:.2f}" for ratio in row]
        if chosen.coverage:
            for place, (persons, epsilon, *_) in enumerate(CELLS):
                inside, width = cover(sums, counts, (persons, epsilon), chosen.trials)
                width /= oracle(sums, counts, persons, epsilon)
                cells[place] += f"; {inside:.2f}, {width:.1f}"
        table.add_row(name, *cells)
    together = np.exp(np.mean(np.log(ratios), axis=0))
    worst = np.max(ratios, axis=0)
    table.add_row(
        "geometric mean (worst)",
        *(f"{a:.2f} ({b:.2f})" for a, b in zip(together, worst, strict=True)),
    )
    table.add_row("required", *(f"{mean:g} ({most:g})" for *_, mean, most in CELLS))
    console.print(table)


if __name__ == "__main__":
    main()
