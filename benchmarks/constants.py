"""What each tuned number of the winsorized mean is worth: halved, doubled, or its rule dropped.

    python benchmarks/constants.py                         # synthetic laws
    python benchmarks/constants.py --data DIR              # some columns of a folder
    python benchmarks/constants.py --only CORRECTION MISFIT --trials 200

Every setting sees the same samples, the same noise (in units of its scale) and the same private
medians, so that differences are far more precise than the errors themselves. Answers are exact
integers of the engine plus noise from NumPy: a simulation, not a release. Shown is the change of
the root mean squared error in percent, geometric mean over populations, with its standard error;
and how many errors exceed 20 oracle errors. Of numbers that only an interval reads, the change of
its width is shown.
"""

from __future__ import annotations

import argparse
import math
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from unittest import mock

import numpy as np
from rich.progress import track
from scipy import stats

import tametail as tt
from _common import Floats, Oracle, Population, _mixture, console, populations
from tametail import plans
from tametail.ask import Ask
from tametail.data.open import open_data
from tametail.mechanisms.dispatch import mechanism_for
from tametail.methods.winsorized import constants, tail_models
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.estimate import winsorized_mean
from tametail.methods.winsorized.tail_histogram import TailHistogram, detection_threshold
from tametail.planning import Plan
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Noise, noise_for
from tametail.queries.column import Median
from tametail.queries.densest_bin import DensestBin

CELLS = ((100_000, 1.0), (10_000, 1.0), (100_000, 0.1), (1_000, 1.0), (10_000, 0.1))
WRECK = 20.0
HOW = ("halved", "doubled", "dropped")

#: Columns of the data folder that are used unless others are named: light and heavy, one side and
#: two, with atoms and without.
COLUMNS = (
    "australian_bodily_injury_claims",
    "california_wildfire_area",
    "djia_daily_log_return",
    "eu_health_insurance_amounts",
    "french_commercial_fire_claims",
    "gpu_job_runtime",
    "medicare_inpatient_charges_2016",
    "meteorite_mass",
    "nyc_flights_2013_dep_delay",
    "us_county_population",
)

FAR = "far from 0"

Cell = tuple[int, float]
Change = tuple[Any, str, Any]
"""An object, one of its names, and another value for it."""


@dataclass(frozen=True)
class View:
    """What is asked for: a request, and what is measured."""

    name: str
    request: dict[str, Any] = field(default_factory=dict)
    zcdp: bool = False
    moment: bool = False
    width: bool = False

    def plan(self, population: Population, cell: Cell) -> Plan:
        """Return the plan of the request."""
        n, epsilon = cell
        budget = tt.zcdp(epsilon**2 / 2) if self.zcdp else tt.pure(epsilon)
        known = {"tail": tt.Moment(2, population.scale(2))} if self.moment else {}
        sized = {} if self.request.get("n", n) is None else {"n": n}
        request = {key: value for key, value in self.request.items() if key != "n"}
        return tt.plan(budget=budget, **{"confidence": None, **request, **known, **sized})


VIEWS = {
    "error": View("error", {"neighbors": "replace-one"}),
    "count": View("count", {"neighbors": "add-remove", "n": None}),
    "zcdp": View("zcdp", {"neighbors": "replace-one"}, zcdp=True),
    "moment": View("moment", {"neighbors": "replace-one"}, moment=True),
    "width": View(
        "width", {"neighbors": "replace-one", "confidence": 0.95}, moment=True, width=True
    ),
}


def _no_offset(*_: Any) -> tuple[float, float]:
    return 0.0, 0.0


#: Constants by the view that reads them; those not named here are not tuned by error: limits of
#: what can be represented, or read by predictions alone.
TUNED: dict[str, tuple[str, ...]] = {
    "error": (
        "CENTER_NATS", "TAIL_SHARE", "CENTER_SAMPLE", "FALSE_ALARM", "WEAK_THRESHOLD",
        "CLOSER_UNTIL", "RAISE_COST", "NEARBY", "NODES_BELOW", "FARTHEST", "MISFIT", "FAIRNESS",
        "CORRECTION", "ALIKE", "ASYMMETRY", "NEARLY_ALL", "ELSEWHERE",
    ),
    "count": ("COUNT_SHARE", "RARE", "OFFSET_DOUBT", "NEAREST", "SHARP_COUNT"),
    "zcdp": ("FALSE_ALARM",),
    "moment": ("HIDDEN",),
    "width": (
        "SPREAD_SHARE", "AFFORDABLE", "AFFORDABLE_BY_SCALE", "BEYOND_REFERENCE", "THIN_SIDE",
    ),
}  # fmt: skip

#: Rules, and what to set to be without them.
RULES: dict[str, tuple[str, list[Change]]] = {
    "dearer where noise is (RAISE_COST)": ("error", [(constants, "RAISE_COST", 0.0)]),
    "not too far (FARTHEST)": ("error", [(constants, "FARTHEST", 8)]),
    "curves misfit (MISFIT)": ("error", [(constants, "MISFIT", 0.0)]),
    "fair to every curve (FAIRNESS)": ("error", [(constants, "FAIRNESS", 0.0)]),
    "a little more than fair": ("error", [(constants, "FAIRNESS", 1.0)]),
    "a part added back (CORRECTION)": ("error", [(constants, "CORRECTION", 0.0)]),
    "not all of it": ("error", [(constants, "CORRECTION", 1.0)]),
    "sides alike (ALIKE)": ("error", [(constants, "ALIKE", 1e-300)]),
    "told from the offset": ("error", [(TailHistogram, "offset", _no_offset)]),
    "misplaced centers (NEARLY_ALL)": ("error", [(constants, "NEARLY_ALL", 9.0)]),
    "told from the offset, add-remove": ("count", [(TailHistogram, "offset", _no_offset)]),
    "clip points as wide as the reference": ("width", [(constants, "AFFORDABLE", 0.0)]),
    "no thin side (THIN_SIDE)": ("width", [(constants, "THIN_SIDE", 0.0)]),
}


@dataclass(frozen=True)
class Setting:
    """One change, or none."""

    name: str
    how: str
    view: str
    changes: tuple[Change, ...] = ()

    @contextmanager
    def made(self) -> Iterator[None]:
        """Make the change, and undo it; what was computed from constants is forgotten."""
        before = [(owner, name, getattr(owner, name)) for owner, name, _ in self.changes]
        try:
            for owner, name, value in self.changes:
                setattr(owner, name, value)
            _forget()
            yield
        finally:
            for owner, name, value in before:
                setattr(owner, name, value)
            _forget()


def _forget() -> None:
    for cached in (tail_models._curves, tail_models._costs, tail_models._fit, detection_threshold):
        cached.cache_clear()


def settings(only: list[str] | None, hows: list[str]) -> list[Setting]:
    """Return all settings, each view's baseline first."""
    found = []
    for view in VIEWS:
        chosen = []
        for name in TUNED.get(view, ()):
            value = getattr(constants if hasattr(constants, name) else plans, name)
            for how, factor in (("halved", 0.5), ("doubled", 2.0)):
                changed = type(value)(value * factor)
                if name == "NEARLY_ALL":  # a share: half of the way to 1, or twice as far from it
                    changed = 1 - (1 - value) * factor
                owners = (owner for owner in (constants, plans) if hasattr(owner, name))
                changes = tuple((owner, name, changed) for owner in owners)
                chosen.append(Setting(name, how, view, changes))
        chosen += [
            Setting(name, "dropped", view, tuple(changes))
            for name, (where, changes) in RULES.items()
            if where == view
        ]
        chosen = [setting for setting in chosen if setting.how in hows]
        if only:
            chosen = [one for one in chosen if any(word in one.name for word in only)]
        if chosen:
            found += [Setting("as it is", "", view), *chosen]
    return found


class Seeded:
    """Stands for the module ``secrets`` while medians are drawn: the simulation can be repeated."""

    def __init__(self, key: list[int]) -> None:
        self._rng = np.random.default_rng(key)

    def randbits(self, bits: int) -> int:
        """Return as many bits."""
        return int.from_bytes(self._rng.bytes(bits // 8 + 1), "little") % (1 << bits)

    def randbelow(self, limit: int) -> int:
        """Return a number below the limit, all but uniform."""
        return self.randbits(limit.bit_length() + 64) % limit

    def patched(self) -> Any:
        """Stand in for the real module."""
        return mock.patch.multiple(
            secrets,
            token_bytes=self._rng.bytes,
            randbits=self.randbits,
            randbelow=self.randbelow,
        )


class Trial:
    """One sample, its exact answers, and noise that all settings share."""

    def __init__(self, records: Floats, key: list[int]) -> None:
        self._backend, self._key = open_data(records), key
        self._known: dict[Any, Any] = {}
        self._standard: dict[tuple[int, str, int], Floats] = {}

    def ask(self, adjacency: Adjacency) -> Callable[[Any, Budget], Any]:
        """Return an ask for one estimate."""
        asked = 0

        def ask(query: Any, cost: Budget) -> Any:
            nonlocal asked
            asked += 1
            if isinstance(query, Median | DensestBin):
                return self._chosen(query, cost, adjacency, asked)
            sensitivity = query.sensitivity(adjacency)
            noise = noise_for(cost, sensitivity.l1, sensitivity.l2_squared)
            exact = self._remembered((query,), lambda: self._backend.answer(query))
            noisy = self._noise(asked, noise, len(exact))
            return tuple(a + round(z) for a, z in zip(exact, noisy.tolist(), strict=True))

        return ask

    def _chosen(
        self, query: Median | DensestBin, cost: Budget, adjacency: Adjacency, asked: int
    ) -> Any:
        def sampled() -> Any:
            with Seeded([*self._key, 1]).patched():
                return self._backend.answer(query)

        def chosen() -> Any:
            exact = self._remembered((query,), sampled)
            with Seeded([*self._key, 2, asked]).patched():
                return mechanism_for(query, cost, adjacency)(exact)

        return self._remembered((query, cost), chosen)

    def _noise(self, asked: int, noise: Noise, size: int) -> Floats:
        """The same standard noise for the same question, whatever its scale."""
        known = self._standard.get((asked, noise.kind, size))
        if known is None:
            rng = np.random.default_rng([*self._key, 3, asked])
            known = rng.laplace(size=size) if noise.kind == "laplace" else rng.normal(size=size)
            self._standard[asked, noise.kind, size] = known
        return known * noise.scale

    def _remembered(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]


def errors_of(
    view: View, population: Population, cell: Cell, made: list[Setting], trials: int, seed: int
) -> Floats:
    """Return errors (or widths) over the oracle's error: a row per setting, a column per trial."""
    n, epsilon = cell
    best = Oracle(population).rmse(n, epsilon)
    mean = population.mean()
    key = [seed, n, round(1000 * epsilon), *population.name.encode()]
    samples = [
        Trial(population.sample(n, np.random.default_rng([*key, trial])), [*key, trial])
        for trial in range(trials)
    ]
    result = np.empty((len(made), trials))
    with np.errstate(all="ignore"):
        for row, setting in enumerate(made):
            with setting.made():
                plan = view.plan(population, cell)
                for column, sample in enumerate(samples):
                    asked = cast(Ask, sample.ask(plan.adjacency))
                    found = winsorized_mean(ColumnPlan.of(plan), asked)
                    error = found.value - mean
                    if view.width and found.intervals:
                        error = (found.intervals[0].high - found.intervals[0].low) / 2
                    result[row, column] = error / best
    return result


def compared(one: Floats, other: Floats) -> tuple[float, float]:
    """Return the logarithm of the quotient of two RMSEs on the same trials, and its error."""
    squares = one**2, other**2
    means = [part.mean() for part in squares]
    if not all(means):
        return math.nan, math.nan
    influence = (squares[1] / means[1] - squares[0] / means[0]) / 2
    return math.log(means[1] / means[0]) / 2, float(influence.std() / math.sqrt(len(one)))


def row_of(setting: Setting, base: list[list[Floats]], other: list[list[Floats]]) -> list[str]:
    """Return a row of the table: cells, all cells together, errors beyond WRECK."""
    texts, logs, spreads = [], [], []
    for before, after in zip(base, other, strict=True):
        pairs = np.array([compared(*pair) for pair in zip(before, after, strict=True)])
        pairs = pairs[np.isfinite(pairs[:, 0])]
        log, spread = pairs[:, 0].mean(), np.sqrt((pairs[:, 1] ** 2).sum()) / len(pairs)
        texts.append(_percent(log, spread))
        logs.append(log)
        spreads.append(spread)
    together = np.mean(logs), np.sqrt(np.square(spreads).sum()) / len(spreads)
    wrecks = [
        sum(int((np.abs(errors) > WRECK).sum()) for cell in side for errors in cell)
        for side in (base, other)
    ]
    return [setting.name, setting.how, *texts, _percent(*together), f"{wrecks[0]} -> {wrecks[1]}"]


def _percent(log: float, spread: float) -> str:
    if abs(log) < 5e-5 and spread < 5e-5:
        return "0"
    return f"{100 * math.expm1(log):+.1f} ({100 * spread:.1f})"


class _Mirrored:
    """The law of -X."""

    def __init__(self, law: Any) -> None:
        self._law = law

    def ppf(self, levels: Floats) -> Any:
        return -self._law.isf(levels)

    def isf(self, levels: Floats) -> Any:
        return -self._law.ppf(levels)

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        return -self._law.rvs(size, random_state=random_state)


def trials_of_rules() -> dict[str, Population]:
    """Return laws against which some rule was made: even ones, and sides that only look alike."""
    uneven = ((0.5, stats.t(3)), (0.5, stats.uniform(0.0, 1.5)))
    thin = ((0.98, stats.lognorm(1)), (0.02, stats.norm(-1, 1)))
    made = [_mixture("even", (1.0, stats.uniform())), _mixture("uneven body", *uneven)]
    made += [_mixture("a thin side", *thin), _mixture("Laplace", (1.0, stats.laplace()))]
    made += [
        _mixture("sides differ", (0.5, _Mirrored(stats.expon())), (0.5, stats.expon(scale=1.2))),
        _mixture(
            "tails differ",
            (0.5, _Mirrored(stats.pareto(2.5))),
            (0.5, stats.pareto(2.5, scale=1.25)),
        ),
    ]
    return {population.name: population for population in made}


def chosen_populations(data: Path | None, names: list[str] | None) -> list[Population]:
    """Return the named populations: columns of the folder, or synthetic laws.

    Unless some are named: COLUMNS, or all laws; and what lies far from 0 or hides among zeros or
    across a gap, where the rules against disasters act.
    """
    laws = {population.name: population for population in populations(None).values()}
    far = laws["exponential"].moved(1e6, 1.0)
    laws[FAR] = Population(FAR, far.points, far.masses, far.draw, far.exact_mean)
    laws.update(trials_of_rules())
    found = laws if data is None else {**laws, **populations(data)}
    usual = tuple(laws) if data is None else (*COLUMNS, "95% zeros", "outlier cluster", FAR)
    chosen = [found[name] for name in names or usual if name in found]
    return [population for population in chosen if population.scale(2) > 0]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of one-column Parquet or CSV files")
    parser.add_argument("--columns", nargs="+", help="populations by name")
    parser.add_argument("--only", nargs="+", help="constants and rules whose name has this in it")
    parser.add_argument("--how", nargs="+", choices=HOW, default=list(HOW))
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=list(VIEWS))
    parser.add_argument("--trials", type=int, default=20, help="of every population in a cell")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    chosen = chosen_populations(arguments.data, arguments.columns)
    start = time.process_time()
    for name in arguments.views:
        view = VIEWS[name]
        made = [
            setting for setting in settings(arguments.only, arguments.how) if setting.view == name
        ]
        if not made:
            continue
        cells = [
            [
                errors_of(view, population, cell, made, arguments.trials, arguments.seed)
                for population in chosen
                if not view.moment or math.isfinite(population.scale(2))
            ]
            for cell in track(CELLS, name, console=type(console)(stderr=True))
        ]
        by_setting = [
            [[errors[row] for errors in cell] for cell in cells] for row in range(len(made))
        ]
        heads = [f"n = {n:,}, epsilon = {epsilon:g}" for n, epsilon in CELLS]
        what = "width" if view.width else "RMSE"
        print(f"\n### {name}: change of the {what} in percent\n")
        print("|", " | ".join(["", "", *heads, "all", "beyond 20"]), "|")
        print("|---|---|" + "--:|" * (len(CELLS) + 2))
        for setting, row in zip(made[1:], by_setting[1:], strict=True):
            print("|", " | ".join(row_of(setting, by_setting[0], row)), "|")
        sys.stdout.flush()
    names = ", ".join(population.name for population in chosen)
    print(f"\n{arguments.trials} trials of each: {names}; {time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
