"""What other questions than the shipped ones would bring where few records are seen.

The shipped steps (center, counts by octaves, sum; the second look where nothing shows) on columns
that they were not tuned on, beside variants of them: same samples, fresh noise, the library's own
code and constants between the questions. Pure differential privacy, replace-one.

* *survival*: a smaller share for the counts, then one count of the records beyond the distance
  where about 10/epsilon are expected, on the side that reaches farther. The curves weigh it.
* *zero first*: a coarse look around 0, refined by gradual release, so that it costs nothing if 0
  will do as the center; a median is asked for only where two octaves hold most records. With the
  survival count.
* *free center*: the exact median for nothing. No way to find a center can bring more than this,
  not even one that uses a delta.

The additional answers are simulated with an ordinary generator: this is no release.

    python benchmarks/survival.py --data DIR --trials 100
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from scipy import stats

import tametail as tt
from _common import Floats, Oracle, Population, columns
from tametail.ask import Ask, Data
from tametail.data.open import open_one
from tametail.methods.winsorized import clipping
from tametail.methods.winsorized import estimate as steps
from tametail.methods.winsorized.budget_split import halvings
from tametail.methods.winsorized.clipping import second_clipping
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.sums import RecordCount, read_sum, sum_of_counts, sum_query
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.methods.winsorized.tail_histogram import (
    Array,
    DetectedBins,
    TailHistogram,
    histogram_query,
    window_sums,
)
from tametail.methods.winsorized.tail_models import TailFit
from tametail.plans import Step
from tametail.queries.column import Median

CELLS = ((1_000, 1.0), (10_000, 0.1))
VARIANTS = ("shipped", "survival", "zero first", "free center")

#: Shares of the counts and of the survival count, the records times epsilon that it aims at, and
#: how far a curve may be from the truth at one place.
COUNTS, SURVIVAL, AIM, MISFIT = 0.2, 0.15, 10.0, 0.2

#: The coarse look around 0, and the part of the records in two octaves that makes a median needed.
COARSE, CONCENTRATED = 0.06, 0.8


@dataclass
class Survival:
    """Ask how many records lie beyond a distance, and weigh the curves by the answer."""

    distances: Floats  # of the records from the center, signed
    epsilon: float  # of the count alone
    rng: np.random.Generator
    farther: int = 1  # the side that reaches farther

    def fit(self, plan: ColumnPlan, tails: TailHistogram, counts: Array, anchor: int) -> TailFit:
        """Do what ``fit_side`` does, and ask for one count on the side that reaches farther."""
        fit = TailFit.of(
            clipping._around(counts, anchor),
            tails.scale,
            clipping.deviation(plan.budget),
            clipping._depth(plan),
        )
        if counts is not tails.sides[self.farther]:
            return fit
        costs, strength = fit.costs, plan.budget.strength
        weight = fit._weights(costs.log_prior + fit.log_likelihood)
        beyond = np.maximum(costs.beyond[:, : len(costs.distances)], 0.05 / strength)
        few = np.exp(weight @ np.log(beyond)) * strength < AIM
        place = int(few.argmax()) if few.any() else len(costs.distances) - 1
        distance = costs.distances[place] * float(tails.distances[anchor])
        sign = 1 if self.farther else -1
        noise = 1 / self.epsilon
        answer = (sign * self.distances >= distance).sum() + self.rng.laplace(scale=noise)
        expected = costs.beyond[:, place]
        width = np.sqrt(noise**2 + expected / 2 + (MISFIT * expected) ** 2 / 2)
        likelihood = -np.log(width) - np.abs(answer - expected) / width
        return TailFit(costs, fit.log_likelihood + likelihood)


@contextmanager
def curves_weighed_by(survival: Survival | None) -> Iterator[None]:
    """Let the library choose clip points with a survival count, inside of the block."""
    fit_side, balance = clipping.fit_side, clipping.balance

    def balanced(
        plan: ColumnPlan, tails: TailHistogram, anchors: DetectedBins, farthest: list[float]
    ) -> list[clipping.End]:
        if survival is not None:
            low, high = (-1 if anchor is None else anchor for anchor in anchors)
            survival.farther = int(high >= low)
        return balance(plan, tails, anchors, farthest)

    if survival is not None:
        clipping.fit_side, clipping.balance = survival.fit, balanced
    try:
        yield
    finally:
        clipping.fit_side, clipping.balance = fit_side, balance


def priced(plan: ColumnPlan, parts: dict[str, float]) -> ColumnPlan:
    """Return the plan with other shares."""
    costs = plan.budget.split(*parts.values())
    return replace(plan, steps=tuple(map(Step, parts, costs)))


def estimate(variant: str, x: Floats, plan: ColumnPlan, rng: np.random.Generator) -> float:
    """Return the mean that a variant finds."""
    n, epsilon = len(x), plan.budget.strength
    ask = Ask(Data(open_one(x)), tt.pure(100 * epsilon), plan.adjacency)
    parts = {step.name: step.cost.strength / epsilon for step in plan.steps}
    counted = variant in ("survival", "zero first")
    center, asked = None, 0.0
    if variant == "zero first":
        # Gradual release: if it is refined, the coarse answer costs nothing beside the fine one.
        coarse, at_zero = min(COARSE, 60 / (n * epsilon)), histogram_query(plan, 0.0)
        cost = tt.pure(coarse * epsilon)
        first = TailHistogram.read(plan, at_zero, ask(at_zero, cost), cost)
        if max(window_sums(side, 2).max() for side in first.sides) < CONCENTRATED * n:
            center = 0.0
        else:
            asked = coarse
    elif variant == "free center":
        center = float(np.median(x))
    if center is not None:
        del parts["center"]
    if counted:
        parts["tail"] = COUNTS
    left = 1 - parts.get("center", 0.0) - parts["tail"] - asked
    first_plan = priced(plan, parts | {"sum": left - 1e-9})
    if center is None:
        center = ask(Median(halvings(n), *plan.possible), first_plan.cost("center"))
    return concluded(x, first_plan, ask, center, SURVIVAL * epsilon if counted else 0.0, rng)


def concluded(
    x: Floats, plan: ColumnPlan, ask: Ask, center: float, extra: float, rng: np.random.Generator
) -> float:
    """Do what ``winsorized_mean`` does after the center, with ``extra`` for a survival count."""
    n, nodes, cost = len(x), histogram_query(plan, center), plan.cost("tail")
    tails, rest = TailHistogram.read(plan, nodes, ask(nodes, cost), cost), plan
    if (elsewhere := steps._elsewhere(plan, center, tails, n)) is not None:
        free = () if plan.has("center") else (Step("center", cost),)
        rest, extra = replace(plan, steps=(*free, *plan.steps)).with_new_center(), 0.0
        center = ask(Median(halvings(n), *elsewhere), rest.cost("center"))
        nodes, cost = histogram_query(rest, center), rest.cost("tail")
        tails = TailHistogram.read(rest, nodes, ask(nodes, cost), cost)
    survival, cheaper = None, rest
    if extra:
        survival = Survival(x - center, extra, rng)
        sum_cost = tt.pure(rest.cost("sum").strength - extra)
        changed = (Step(s.name, sum_cost if s.name == "sum" else s.cost) for s in rest.steps)
        cheaper = replace(rest, steps=tuple(changed))
    with curves_weighed_by(survival):
        clip = clipping.choose_clip(cheaper, center, tails, n, Reference.of(plan, (center, center)))
    if clip.side == 0:  # the second look; no survival count was asked for
        cost = rest.cost("sum")
        tails = tails.averaged_with(TailHistogram.read(rest, nodes, ask(nodes, cost), cost))
        clip = second_clipping(rest, center, tails)
        total = sum_of_counts(clip, tails, RecordCount.from_histogram(rest, tails, n))
    else:
        query = sum_query(cheaper, clip, n)
        answer = ask(query, cheaper.cost("sum"))
        total = read_sum(cheaper, clip, query, answer, RecordCount.from_histogram(rest, tails, n))
    return total.mean + clip.excess / total.count


# --- columns on which nothing was tuned -----------------------------------------------------------


def fresh_laws() -> Iterator[Population]:
    """Yield laws that the constants were not tuned on."""
    laws = {
        "Weibull 0.5": stats.weibull_min(0.5),
        "gamma 0.3": stats.gamma(0.3),
        "log-logistic 2.2": stats.fisk(2.2),
        "inverse gamma 2.6": stats.invgamma(2.6),
        "lognormal 1.3": stats.lognorm(1.3),
        "t 2.5, around 3": stats.t(2.5, loc=3),
        "Laplace": stats.laplace(),
        "Gumbel": stats.gumbel_r(loc=10),
    }
    for number, (name, law) in enumerate(laws.items()):
        rng = np.random.default_rng([7, number])
        yield Population(name, np.sort(law.rvs(400_000, random_state=rng)))


def bootstrapped(folder: Path) -> Iterator[Population]:
    """Yield a bootstrap population of every column: other large records, the same kind."""
    for number, column in enumerate(columns(folder)):
        rng = np.random.default_rng([8, number])
        points = column.points[rng.integers(0, len(column.points), len(column.points))]
        yield Population(column.name, np.sort(points))


def of_matrices(folder: Path, every: int = 19) -> Iterator[Population]:
    """Yield columns of files with many: one-column constants were not tuned on these."""
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        schema = pq.read_schema(path)
        if not 1 < len(schema.names) < 200 or "glove" in path.stem:
            continue
        step = every if len(schema.names) > 10 else 3
        for name in schema.names[::step]:
            values = pq.read_table(path, columns=[name]).column(0).to_numpy().astype(np.float64)
            values = np.sort(values[np.isfinite(values)])
            if (values == np.median(values)).mean() < 0.99:
                yield Population(f"{path.stem.split('_')[0]} {name}", values)


def ratio(new: Floats, old: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the logarithm of the ratio of root mean squares, and its standard error."""
    picks = rng.integers(0, len(new), (200, len(new)))
    logs = np.log(new[picks].mean(axis=1) / old[picks].mean(axis=1)) / 2
    return float(np.log(new.mean() / old.mean()) / 2), float(logs.std())


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=None)
@click.option("--trials", default=100, show_default=True)
@click.option("--variants", default=",".join(VARIANTS[1:]), show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(data: Path | None, trials: int, variants: str, seed: int) -> None:
    """Print, for every column, the error of the variants over the shipped one."""
    chosen = variants.split(",")
    kinds = {"laws": list(fresh_laws())}
    if data is not None:
        kinds |= {"bootstrap": list(bootstrapped(data)), "other": list(of_matrices(data))}
    print("| n, epsilon | column | shipped / oracle | " + " | ".join(chosen) + " |")
    print("|---|---|--:|" + "--:|" * len(chosen))
    for n, epsilon in CELLS:
        request = {"neighbors": "replace-one", "confidence": None, "missing": "none"}
        plan = ColumnPlan.of(tt.plan(n=n, epsilon=epsilon, **request))  # type: ignore[arg-type]
        for kind, found in kinds.items():
            logs: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen}
            for population in found:
                rng = np.random.default_rng([seed, n, *population.name.encode()])
                truth, best = population.mean(), Oracle(population).rmse(n, epsilon)
                errors = np.empty((trials, 1 + len(chosen)))
                for trial in range(trials):
                    x = population.sample(n, rng)
                    errors[trial] = [
                        estimate(name, x, plan, rng) - truth for name in ("shipped", *chosen)
                    ]
                squares, cells = (errors / best) ** 2, []
                for index, name in enumerate(chosen, start=1):
                    log, error = ratio(squares[:, index], squares[:, 0], rng)
                    logs[name].append((log, error))
                    cells.append(f"{np.exp(log):.2f} ({error:.2f})")
                shipped = np.sqrt(squares[:, 0].mean())
                row = " | ".join(cells)
                print(
                    f"| {n}, {epsilon:g} | {population.name} | {shipped:.2f} | {row} |", flush=True
                )
            means = []
            for name in chosen:
                values = np.array(logs[name])
                error = np.sqrt((values[:, 1] ** 2).sum()) / len(values)
                means.append(f"**{np.exp(values[:, 0].mean()):.3f} ({error:.3f})**")
            row = " | ".join(means)
            print(f"| {n}, {epsilon:g} | **{kind}, geometric mean** | | {row} |", flush=True)


if __name__ == "__main__":
    main()
