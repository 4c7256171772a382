"""Means by group where persons are protected, against the best caps that a peer could have guessed.

    python benchmarks/person_groups.py --data DIR          # flights, baseball; second/persons too
    python benchmarks/person_groups.py --draws 4           # a synthetic population alone

Persons are drawn with replacement from a population, whose group means are the truth. An error is
the root mean squared one over groups, weighted by records, over the size of the overall mean.

The peers bound what a person contributes: k groups at random, m records in each, values within a
side of the overall mean; epsilon is halved between sums and counts. Of 48 settings (k in 1, 3, 10,
30; m in 1, 5, 20; four sides) the best is shown, chosen afterwards by its true error, and their
median, which is what somebody gets who guesses. They are told the overall mean, and records are
capped by weights, without sampling noise. With Gaussian noise they may spend rho = 0.25, and we
spend 0.15.

"Plan" is what the plan predicts, in standard deviations of its reference law, over the mean of that
law. "Covered" says how many of the intervals with ends hold the mean of the group in the
population, by the first interval, and what the last is for, the mean of scaled vectors; "warned"
how many of them have a warning, and "without" how many have no ends.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from rich.table import Table

from _common import console
from _known import KnownPersons
from tametail.data.persons.totals import PersonTotals
from tametail.data.persons.vectors import GroupedPersons, Pairs
from tametail.data.relation import Relation
from tametail.planning import Plan
from tametail.queries.groups import ScaledSums
from tametail.request import Request
from tametail.run import prepare_release, run

Floats = npt.NDArray[np.float64]

#: Standard deviation over mean of the plans' reference law, lognormal with sigma = 1.
LOGNORMAL = float(np.sqrt(np.e - 1))


class Population(NamedTuple):
    """Totals of persons in groups, and the number of groups."""

    pairs: Pairs
    groups: int

    @property
    def persons(self) -> int:
        """How many persons there are."""
        return int(self.pairs.persons[-1]) + 1

    def draw(self, size: int, rng: np.random.Generator) -> Pairs:
        """Draw persons with replacement."""
        firsts = np.searchsorted(self.pairs.persons, np.arange(self.persons + 1))
        drawn = rng.integers(0, self.persons, size)
        lengths = firsts[drawn + 1] - firsts[drawn]
        offsets = np.repeat(firsts[drawn] - np.cumsum(lengths) + lengths, lengths)
        places = offsets + np.arange(lengths.sum())
        chosen = (each[places] for each in self.pairs[1:])
        return Pairs(np.repeat(np.arange(size), lengths), *chosen)


class Drawn(GroupedPersons):
    """Persons whose totals in each group are known."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs, self._size = {0: pairs}, int(pairs.persons[-1]) + 1

    @property
    def _totals(self) -> PersonTotals:
        persons, _, sums, counts = self._pairs[0]
        totals = (np.bincount(persons, each, self._size)[:, None] for each in (sums, counts))
        return PersonTotals(*totals)


def known(pairs: Pairs) -> KnownPersons:
    """Return such persons as data that can be asked."""
    return KnownPersons(Drawn(pairs), Relation(("value",), person=("id",), by=("key",)))


def from_rows(ids: Any, keys: Any, values: Floats) -> Population:
    """Return a population of records."""
    _, persons = np.unique(ids, return_inverse=True)
    names, groups = np.unique(keys, return_inverse=True)
    grouped = GroupedPersons(values[:, None], persons, groups, len(names))
    return Population(grouped.pairs(0), len(names))


def synthetic() -> Population:
    """Very unequal numbers of records in 40 groups, half of a person's in one of their own."""
    rng = np.random.default_rng(2)
    size, groups = 20_000, 40
    counts = np.minimum(np.floor((1 - rng.random(size)) ** (-1 / 1.4)), 3000).astype(int)
    ids = np.repeat(np.arange(size), counts)
    weights = 1 / np.arange(1, groups + 1)
    keys, homes = (rng.choice(groups, n, p=weights / weights.sum()) for n in (len(ids), size))
    keys = np.where(rng.random(len(ids)) < 0.5, homes[ids], keys)
    levels = rng.normal(0, 0.8, size)[ids] + rng.normal(0, 0.3, groups)[keys]
    return from_rows(ids, keys, np.exp(levels + rng.normal(0, 0.7, len(ids))))


def from_file(path: Path, key: str) -> Population:
    """Return the population of a file."""
    table = pq.read_table(path, columns=["id", "value", key]).to_pandas().dropna()
    return from_rows(table["id"].to_numpy(str), table[key].to_numpy(str), table["value"].to_numpy())


def motor(path: Path) -> Population:
    """Return claims of policies in 20 groups that were drawn: four of five claims in one's own."""
    table = pq.read_table(path, columns=["id", "value"]).to_pandas().dropna()
    rng = np.random.default_rng(5)
    _, persons = np.unique(table["id"].to_numpy(str), return_inverse=True)
    weights = np.arange(1, 21) ** -0.7
    homes = rng.choice(20, int(persons.max()) + 1, p=weights / weights.sum())
    elsewhere = rng.random(len(persons)) < 0.2
    keys = np.where(elsewhere, rng.integers(0, 20, len(persons)), homes[persons])
    return from_rows(persons, keys, table["value"].to_numpy())


def peers(
    drawn: Pairs, population: Population, mean: float, order: int, rng: Any
) -> dict[Any, Floats]:
    """Return the means of every setting of the caps, at epsilon 1 or rho 0.25 * 2 halves."""
    persons, groups, sums, counts = drawn
    apart = np.abs(population.pairs.sums / population.pairs.counts - mean)
    shuffled = np.lexsort((rng.random(len(persons)), persons))
    firsts = np.flatnonzero(np.diff(persons[shuffled], prepend=-1))
    rank = np.arange(len(shuffled)) - np.repeat(firsts, np.diff(firsts, append=len(shuffled)))
    found = {}
    for k, m, share in product((1, 3, 10, 30), (1, 5, 20), (0.7, 0.9, 0.97, 0.99)):
        side, kept = float(np.quantile(apart, share)), shuffled[rank < k]
        weights = np.minimum(counts[kept], m)
        distances = np.clip(sums[kept] / counts[kept] - mean, -side, side)
        length = (k if order == 1 else np.sqrt(k)) * m
        draw = rng.laplace if order == 1 else rng.normal
        total = np.bincount(groups[kept], weights * distances, population.groups)
        total = total + draw(0, 2 * length * side, population.groups)
        count = np.bincount(groups[kept], weights, population.groups)
        count = np.maximum(count + draw(0, 2 * length, population.groups), length)
        found[k, m, share] = mean + np.clip(total / count, -side, side)
    return found


def measure(population: Population, size: int, draws: int, *, best_of: bool) -> list[list[str]]:
    """Return a row of the table for each kind of budget."""
    pairs, groups = population
    totals = [np.bincount(pairs.groups, each, groups) for each in (pairs.sums, pairs.counts)]
    truth, mean = totals[0] / totals[1], totals[0].sum() / totals[1].sum()
    shares = totals[1] / totals[1].sum()
    everybody = Drawn(pairs)

    def error(errors: list[Floats]) -> float:
        return float(np.sqrt(shares @ np.mean(np.square(errors), axis=0)) / abs(mean))

    rows = []
    for order, budget in ((1, {"epsilon": 1.0}), (2, {"rho": 0.15})):
        rng, keys = np.random.default_rng(4), [f"{group:04d}" for group in range(groups)]
        said = Request.parse(**budget, person="id", by="key", keys=keys)
        plan = Plan.of(said.with_names(["value"]))
        promised = (plan.for_size(size).relative_rmse or np.nan) * LOGNORMAL
        ours, others, covered, without = [], {}, [], []
        for _ in range(draws):
            drawn = population.draw(size, rng)
            backend = known(drawn)
            release = run(*prepare_release(plan, backend))
            ours.append(np.asarray(release.value) - truth)
            target = targets(everybody, groups, [query for _, query in backend.asked])
            for row, wanted, mean_of_group in zip(release, target, truth, strict=True):
                without.append(np.isinf(row.low))
                if not without[-1]:
                    own = row.intervals[-1]
                    holds = row.low <= mean_of_group <= row.high
                    warns = any(note.kind == "warning" for note in row.notes)
                    covered.append((holds, own.low <= wanted <= own.high, warns))
            if best_of:
                for name, values in peers(drawn, population, mean, order, rng).items():
                    others.setdefault(name, []).append(values - truth)
        caps = sorted(map(error, others.values())) or [float("nan")]
        common = float(np.sqrt(shares @ (mean - truth) ** 2) / abs(mean))
        cells = [error(ours), promised, np.median(caps), caps[0], common]
        cells += [*np.mean(np.reshape(covered, (-1, 3)), axis=0), np.mean(without)]
        rows.append([f"L{order}", *(f"{cell:.3f}" for cell in cells)])
    return rows


def targets(everybody: Drawn, groups: int, asked: list[Any]) -> Floats:
    """Return what the intervals are for, in the population."""
    sums = [query for query in asked if isinstance(query, ScaledSums)]
    if len(sums) != 2:
        return np.full(groups, np.nan)
    rows, residuals = sums
    count, total = (
        np.array(everybody.scaled_totals(query)) * 2.0**query.exponent
        for query in (rows, residuals)
    )
    return np.asarray(residuals.vector.ratio + total / np.maximum(count, 1e-9))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 5_000])
    parser.add_argument("--only", default="")
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    found = {"synthetic": synthetic}
    if given.data is not None:
        flights = given.data / "flights_by_plane.parquet"
        baseball = given.data / "baseball_salaries_by_player.parquet"
        found["flights by airport"] = lambda: from_file(flights, "group")
        found["flights by carrier"] = lambda: from_file(flights, "carrier")
        found["baseball by team"] = lambda: from_file(baseball, "group")
        found["baseball by year"] = lambda: from_file(baseball, "yearID")
    if given.data is not None and (second := given.data.parent / "second" / "persons").exists():
        charges, claims = (
            second / "medicare_by_hospital.parquet",
            second / "motor_by_policy.parquet",
        )
        found["hospitals by state"] = lambda: from_file(charges, "group")
        found["motor policies in 20 groups"] = lambda: motor(claims)
    table = Table(
        "population", "persons", "length", "tametail", "plan", "guessed cap", "best of 48",
        "common mean", "covered", "clipped mean", "warned", "without",
        title=f"error over the overall mean, {given.draws} draws each",
    )  # fmt: skip
    for name, make in found.items():
        if given.only in name:
            for size in given.sizes:
                for row in measure(make(), size, given.draws, best_of=not given.no_peers):
                    table.add_row(name, f"{size:,}", *row)
    console.print(table)


if __name__ == "__main__":
    main()
