"""Vector means: tametail beside CoinPress, on laws and on files of several columns.

``python benchmarks/vectors.py --runs 100`` prints, for every setting, the 10%-trimmed mean and the
maximum of the l2 error over runs, and the number of failures (beyond 20 times the trimmed mean).
``--data DIR`` compares every column of the files in a folder with its own one-dimensional release
at rho / d. These releases are under replace-one, without an interval. With ``--pure`` it compares
the plan's choice under pure budgets with a ball and with columns apart, on rows drawn from the
files and under both units, with ``--sparse`` only columns of which 60% and more are 0.
``--coverage`` counts how often the intervals of all columns hold at once.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

import tametail as tt

sys.path.insert(0, str(Path(__file__).parent))
from baselines.coinpress import coinpress_mean
from tametail.planning import Plan
from tametail.planning.table import JOINT, SEPARATE, find
from tametail.plans import paid_in

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.normal(size=shape)


def student(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """t(3), scaled to variance 1."""
    return rng.standard_t(3, size=shape) / math.sqrt(3)


LAWS: dict[str, Draw] = {"normal": normal, "t(3)": student}


@dataclass(frozen=True)
class Setting:
    """One row of the table."""

    name: str
    law: str
    n: int
    n_columns: int
    mean: float
    request: dict[str, Any] = field(default_factory=lambda: {"rho": 0.5})

    def rows(self, rng: np.random.Generator) -> Floats:
        """Draw the records."""
        return self.mean + LAWS[self.law](rng, (self.n, self.n_columns))

    @property
    def radius(self) -> float:
        """What CoinPress is told: the mean lies in this ball (10 sqrt(d) in its paper)."""
        side = 10.0 ** max(1, math.ceil(math.log10(max(2 * abs(self.mean), 1))))
        return side * math.sqrt(self.n_columns)


TOLD = {"rho": 0.5, "tail": tt.Moment(2, 1.0)}


def settings() -> Iterator[Setting]:
    for law in LAWS:
        for n in (1_000, 10_000):
            for mean in (0.0, 37.0, 1e6):
                yield Setting("told nothing", law, n, 50, mean)
        within = {"within": 50.0}
        yield Setting("told scale, range", law, 1_000, 50, 0.0, TOLD | within)
        yield Setting("pure, told nothing", law, 100_000, 50, 0.0, {"epsilon": 1.0})


def errors(setting: Setting, runs: int, seed: int) -> dict[str, list[float]]:
    """Return the l2 errors of each method."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[float]] = {"tametail": [], "not private": []}
    steps = (2, 4) if "rho" in setting.request else ()
    for _ in range(runs):
        rows = setting.rows(rng)
        answers = {
            "tametail": tt.mean(
                rows, neighbors="replace-one", confidence=None, **setting.request
            ).value,
            "not private": rows.mean(axis=0),
        }
        for count in steps:
            rho = setting.request["rho"]
            answers[f"CoinPress {count}"] = coinpress_mean(
                rows, rho, setting.radius, rng, steps=count
            )
        for name, value in answers.items():
            found.setdefault(name, []).append(float(np.linalg.norm(value - setting.mean)))
    return found


def summary(values: list[float]) -> str:
    trimmed = float(stats.trim_mean(values, 0.1))
    failures = sum(value > 20 * trimmed for value in values)
    return f"{trimmed:10.4f} {max(values):10.4f} {failures:4d}/{len(values)}"


def anisotropic(runs: int, seed: int) -> str:
    """Variances (d/i)^2, mean 10: one scale for all columns would drown the small ones."""
    rng = np.random.default_rng(seed)
    n, n_columns = 10_000, 512
    deviations = n_columns / np.arange(1, n_columns + 1)
    squares = []
    for _ in range(runs):
        rows = 10 + deviations * rng.normal(size=(n, n_columns))
        value = tt.mean(rows, rho=0.125, neighbors="replace-one", confidence=None).value
        squares.append(float(((value - rows.mean(axis=0)) ** 2).sum()))
    return f"root mean square of |value - mean(X)|: {math.sqrt(np.mean(squares)):.3f}"


def matrices(folder: Path) -> Iterator[tuple[str, Floats]]:
    """Yield the numeric columns of every file that has at least two, first 10,000 rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path)
        numeric = [
            name
            for name, kind in zip(table.column_names, table.schema.types, strict=True)
            if pa.types.is_integer(kind) or pa.types.is_floating(kind)
        ]
        if len(numeric) > 1:
            frame = table.select(numeric).to_pandas()
            rows = frame.dropna().to_numpy(dtype=np.float64)
            picked = np.random.default_rng(0).permutation(len(rows))[:10_000]
            yield path.stem, rows[picked]


def on_files(folder: Path, runs: int, rho: float) -> Iterator[str]:
    """Compare each column's error with that of a release of its own at rho / d."""
    for name, rows in matrices(folder):
        n_columns, truth = rows.shape[1], rows.mean(axis=0)
        request = {"neighbors": "replace-one", "confidence": None, "missing": "none"}
        own = [tt.mean(rows, rho=rho, **request).value - truth for _ in range(runs)]
        shared = [
            tt.mean(rows, rho=rho, same_scale=True, **request).value - truth for _ in range(runs)
        ]
        columns = range(n_columns) if n_columns <= 40 else range(0, n_columns, n_columns // 20)
        ratios = []
        for column in columns:
            alone = [
                float(tt.mean(rows[:, column], rho=rho / n_columns, **request)) - truth[column]
                for _ in range(min(runs, 10))
            ]
            best = math.sqrt(np.mean(np.square(alone)))
            ours = math.sqrt(np.mean([error[column] ** 2 for error in own]))
            ratios.append(ours / best if best else (1.0 if ours == 0 else math.inf))
        norms = [float(np.linalg.norm(error)) for error in own]
        common = [float(np.linalg.norm(error)) for error in shared]
        yield (
            f"{name:36s} {len(rows):6d} x {n_columns:4d}  l2 {np.mean(norms):.4g} "
            f"(common {np.mean(common):.4g})  over one column alone: median "
            f"{np.median(ratios):.2f}, worst {max(ratios):.2f}"
        )


def rms(errors: list[Floats]) -> Floats:
    """Return the root mean square of every column."""
    return np.asarray(np.sqrt(np.mean(np.square(errors), axis=0)))


def narrowed(folder: Path) -> Iterator[tuple[str, Floats]]:
    """Yield the files, and of wide ones also some columns, evenly spaced."""
    for name, rows in matrices(folder):
        n_columns = rows.shape[1]
        for kept in (n_columns,) if n_columns <= 40 else (12, 24, 50):
            yield name, rows[:, np.linspace(0, n_columns - 1, kept).astype(int)]


def pure_errors(rows: Floats, unit: str, epsilon: float, runs: int) -> dict[str, Floats]:
    """Return the root mean square error of every column, by method; rows are drawn from these.

    The methods see the same samples. A ball that cannot pay for its scales is left out.
    """
    (size, n_columns), truth = rows.shape, rows.mean(axis=0)
    usual = tt.plan(
        n=size, epsilon=epsilon, n_columns=n_columns, neighbors=unit, confidence=None,
        missing="none",
    )  # fmt: skip
    before = tuple(step for step in usual.steps if step.name == "count")
    found = {}
    for method in (SEPARATE, JOINT, find(usual.method)):
        steps = method.steps(usual.request, size, paid_in(usual.left, method.definition))
        if steps is None:
            continue
        plan, rng = Plan(usual.request, size, method.name, (*before, *steps)), seeded()
        errors = [
            np.asarray(tt.mean(rows[rng.integers(0, size, size)], plan=plan).value) - truth
            for _ in range(runs)
        ]
        found[method.name] = rms(errors)
    return {"chosen": found[usual.method]} | found


def seeded() -> np.random.Generator:
    return np.random.default_rng(5)


def pure_on_files(folder: Path, runs: int) -> Iterator[str]:
    """Compare the plan's choice with ball and columns apart: geometric means over the columns."""
    for name, rows in narrowed(folder):
        size, n_columns = rows.shape
        varies = rows.std(axis=0) > 0
        for unit in ("add-remove", "replace-one"):
            for each in (400.0, 600.0, 800.0, 1_600.0, 6_400.0):
                found = pure_errors(rows, unit, each * n_columns / size, runs)
                logs = {key: np.log(value[varies] + 1e-300) for key, value in found.items()}
                means = {key: float(value.mean()) for key, value in logs.items()}
                better = min(means[key] for key in (SEPARATE.name, JOINT.name) if key in means)
                over = {key: math.exp(value - better) for key, value in means.items()}
                worst = math.exp(float((logs["chosen"] - logs[SEPARATE.name]).max()))
                yield (
                    f"{name:30s} {size:6d} x {n_columns:3d} {unit:11s} n epsilon / d = {each:5g}  "
                    f"over the better: apart {over[SEPARATE.name]:5.2f}, ball "
                    f"{over.get(JOINT.name, math.nan):5.2f}, chosen {over['chosen']:5.2f}; "
                    f"over apart, worst column {worst:5.2f}"
                )


def sparse_columns(folder: Path, runs: int, rho: float) -> Iterator[str]:
    """Compare sparse columns, some of each file, with releases of their own at rho / d."""
    request = {"neighbors": "replace-one", "confidence": None, "missing": "none"}
    for name, rows in matrices(folder):
        n_columns, truth, deviation = rows.shape[1], rows.mean(axis=0), rows.std(axis=0)
        zeros = (rows == 0).mean(axis=0)
        chosen = np.flatnonzero((zeros >= 0.6) & (deviation > 0))
        if not chosen.size:
            continue
        together = [tt.mean(rows, rho=rho, **request).value - truth for _ in range(runs)]
        for column in chosen[:: max(1, len(chosen) // 12)]:
            alone = [
                float(tt.mean(rows[:, column], rho=rho / n_columns, **request)) - truth[column]
                for _ in range(runs)
            ]
            ours = [float(error[column]) for error in together]
            unit = deviation[column] / math.sqrt(len(rows))
            sizes = [math.sqrt(np.mean(np.square(errors))) / unit for errors in (ours, alone)]
            biases = [float(np.mean(errors)) / unit for errors in (ours, alone)]
            yield (
                f"{name:30s} d = {n_columns:3d} column {column:3d} zeros {zeros[column]:6.1%}  in "
                f"standard errors: ball {sizes[0]:6.2f} (bias {biases[0]:6.2f}), alone "
                f"{sizes[1]:6.2f} (bias {biases[1]:6.2f}), ratio {sizes[0] / sizes[1]:.2f}"
            )


def lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Lognormal with sigma = 1, around its mean, scaled to variance 1."""
    return (rng.lognormal(size=shape) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)


def uniform(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.uniform(-math.sqrt(3), math.sqrt(3), size=shape)


COVERED_LAWS: dict[str, Draw] = LAWS | {"lognormal": lognormal, "uniform": uniform}


def coverage(runs: int, seed: int) -> Iterator[str]:
    """Count the releases of which all intervals hold at once, told Moment(2, 1) or nothing.

    Told nothing the intervals are for the winsorized mean. It is counted how often they hold the
    mean itself: for symmetric laws the two are the same, for others that need not happen.
    """
    requests = {"told Moment(2, 1)": {"tail": tt.Moment(2, 1.0)}, "told nothing": {}}
    for law, draw in COVERED_LAWS.items():
        for n, n_columns in ((1_000, 10), (10_000, 10), (10_000, 50)):
            for gaps in (0.0, 0.3):
                rng = np.random.default_rng([seed, n, n_columns, *law.encode()])
                for title, told in requests.items():
                    held, widths = 0, []
                    for _ in range(runs):
                        rows = draw(rng, (n, n_columns))
                        rows[rng.random((n, n_columns)) < gaps] = np.nan
                        release = tt.mean(rows, rho=0.5, n=n, **told)  # type: ignore[arg-type]
                        low, high = np.asarray(release.low), np.asarray(release.high)
                        held += bool(((low <= 0) & (high >= 0)).all())
                        widths.append(float(np.median(high - low) / 2))
                    error = 1 / math.sqrt(n * (1 - gaps))
                    yield (
                        f"{law:10s} n={n:6d} d={n_columns:3d} missing {gaps:.0%} {title:18s} "
                        f"{held}/{runs} hold, half-width {np.median(widths) / error:.1f} "
                        "standard errors"
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; then only these")
    parser.add_argument("--rho", type=float, default=0.5, help="for --data")
    parser.add_argument("--pure", action="store_true", help="for --data")
    parser.add_argument("--sparse", action="store_true", help="for --data")
    parser.add_argument("--only", default="", help="settings whose line contains this text")
    parser.add_argument("--anisotropic", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    chosen = parser.parse_args()
    if chosen.coverage:
        for line in coverage(chosen.runs, chosen.seed):
            print(line, flush=True)
        return
    if chosen.data:
        if chosen.pure:
            lines = pure_on_files(chosen.data, chosen.runs)
        elif chosen.sparse:
            lines = sparse_columns(chosen.data, chosen.runs, chosen.rho)
        else:
            lines = on_files(chosen.data, chosen.runs, chosen.rho)
        for line in lines:
            print(line, flush=True)
        return
    if chosen.anisotropic:
        print(anisotropic(chosen.runs, chosen.seed))
        return
    print(f"{'setting':52s} {'method':12s}    trimmed    maximum failures")
    for setting in settings():
        title = f"{setting.name}, {setting.law}, n={setting.n}, mean={setting.mean:g}"
        if chosen.only not in title:
            continue
        start = time.perf_counter()
        for method, values in errors(setting, chosen.runs, chosen.seed).items():
            print(f"{title:52s} {method:12s} {summary(values)}", flush=True)
        print(f"{'':52s} {(time.perf_counter() - start) / chosen.runs:.2f} s a run", flush=True)


if __name__ == "__main__":
    main()
