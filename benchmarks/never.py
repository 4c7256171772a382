"""Told a scale and a range: ``tametail.mean`` beside estimators that are told the same.

Laws with standard deviation 1, at locations drawn from (-300, 300) that are no round numbers. For
every law: root mean squared error, typical (median) error, the share of releases that lost their
center (an error above 5), and what the plan bounds the error by.

    python benchmarks/never.py --runs 100 --strengths 50,100,200,500 --told both
    python benchmarks/never.py --neighbors replace-one

``--notion zcdp`` spends rho = epsilon^2/2; CoinPress knows no other notion. ``--only ours`` leaves
the others out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click
import numpy as np
import numpy.typing as npt

import tametail as tt
from tametail.paper import related

Floats = npt.NDArray[np.float64]

#: An error beyond this many standard deviations means that the center was lost.
LOST = 5.0

RANGE, SPREAD = 1000.0, 300.0

_PARETO = math.sqrt(2.5 / (1.5**2 * 0.5))
_LOGNORMAL = math.sqrt(math.expm1(2.25) * math.exp(2.25))

#: Records with mean 0 and standard deviation 1.
LAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3),
    "Pareto 2.5": lambda rng, n: (rng.pareto(2.5, n) - 1 / 1.5) / _PARETO,
    "lognormal 1.5": lambda rng, n: (rng.lognormal(0, 1.5, n) - math.exp(1.125)) / _LOGNORMAL,
}

#: What tametail is told.
TOLD: dict[str, dict[str, Any]] = {
    "both": {"tail": tt.Moment(2, 1), "within": RANGE},
    "moment": {"tail": tt.Moment(2, 1)},
    "within": {"within": RANGE},
    "bounded": {"tail": tt.Bounded(-RANGE, RANGE)},
    "nothing": {},
}

Estimator = Callable[[Floats], tuple[float, float]]


def estimators(
    n: int, epsilon: float, notion: str, unit: str, told: str, confidence: float | None
) -> dict[str, Estimator]:
    """Return estimators by name: each gives an estimate, and what it expects the error to be."""
    budgets = {
        "pure": tt.pure(epsilon),
        "zcdp": tt.zcdp(epsilon**2 / 2),
        "approx": tt.approx(epsilon, 1e-6),
    }
    budget = budgets[notion]
    alpha = 3 / math.sqrt(n * epsilon)

    def ours(data: Floats) -> tuple[float, float]:
        release = tt.mean(data, budget=budget, neighbors=unit, confidence=confidence, **TOLD[told])
        expected = release.plan.rmse
        return float(release), math.nan if expected is None else float(expected)

    def karwa_vadhan(data: Floats) -> tuple[float, float]:
        return related.karwa_vadhan(data, budget, R=RANGE, deviation=1.0), math.nan

    def coinpress(data: Floats) -> tuple[float, float]:
        return related.coinpress(data, budget, R=RANGE, deviation=1.0), math.nan

    def paper(data: Floats) -> tuple[float, float]:
        found = tt.paper.mean_1d(data, budget, alpha=alpha, beta=0.3, k=2, R=RANGE)
        return found, math.nan

    known: dict[str, Estimator] = {"ours": ours, "Karwa-Vadhan": karwa_vadhan, "paper": paper}
    return known | ({"CoinPress": coinpress} if notion == "zcdp" else {})


def errors(law: str, estimate: Estimator, n: int, runs: int, seed: int) -> tuple[Floats, float]:
    """Return the errors of some releases, and the mean error that was expected."""
    rng = np.random.default_rng([seed, n, *law.encode()])
    found, expected = np.empty(runs), np.empty(runs)
    for run in range(runs):
        location = rng.uniform(-SPREAD, SPREAD)
        value, expected[run] = estimate(location + LAWS[law](rng, n))
        found[run] = value - location
    return found, float(expected.mean())


def line(name: str, law: str, found: Floats, expected: float) -> str:
    """Return one line of the table; the standard error of a root mean square is in brackets."""
    squares = found**2
    rms = math.sqrt(float(squares.mean()))
    deviation = float(squares.std()) / math.sqrt(len(found)) / (2 * rms)
    lost = float(np.mean(np.abs(found) > LOST))
    typical = float(np.median(np.abs(found)))
    return f"{name} | {law} | {rms:.3g} ({deviation:.2g}) | {typical:.3g} | {lost:.1%} | " + (
        "" if math.isnan(expected) else f"{expected:.3g}"
    )


@click.command()
@click.option("--runs", default=100, show_default=True)
@click.option("--strengths", default="100", show_default=True, help="n epsilon, with commas.")
@click.option("--epsilon", default=0.1, show_default=True)
@click.option("--told", default="both", show_default=True, help=", ".join(TOLD) + "; with commas.")
@click.option("--neighbors", default="replace-one", show_default=True)
@click.option("--notion", default="pure", show_default=True)
@click.option("--only", default=None, help="One estimator: ours, Karwa-Vadhan, paper, CoinPress.")
@click.option("--confidence", default=None, type=float)
@click.option("--seed", default=1, show_default=True)
def main(
    runs: int, strengths: str, epsilon: float, told: str, unit: str, notion: str,
    only: str | None, confidence: float | None, seed: int,
) -> None:  # fmt: skip
    """Print a table: a line for every estimator and law."""
    print(f"{unit}, {notion}, epsilon = {epsilon}, {runs} runs")
    print("| n epsilon | told | estimator | law | root mean square | typical | lost | plan |")
    print("|--:|---|---|---|--:|--:|--:|--:|")
    for strength in map(float, strengths.split(",")):
        n = round(strength / epsilon)
        for knowledge in told.split(","):
            known = estimators(n, epsilon, notion, unit, knowledge, confidence)
            for name, estimate in known.items():
                if only not in (None, name):
                    continue
                for law in LAWS:
                    found = errors(law, estimate, n, runs, seed)
                    shown = line(name, law, *found)
                    print(f"| {strength:g} | {knowledge} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
