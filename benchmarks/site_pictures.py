"""Draw the pictures of the site: a release, a plan, and two measurements.

    python benchmarks/site_pictures.py [--runs 200] [--output docs/pictures]

The records are drawn with fixed seeds; the noise is secret, so a second run differs a little.
``release.png`` and ``plan.png`` show the example file. ``error.png`` has the measured error
against n beside what a plan predicts, ``widths.png`` the half-width of the interval against n. Both
measurements print how often the interval covered.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track

import tametail as tt
from tametail.inequalities.lognormal import REFERENCE_SD
from tametail.theory.moments import student_moment

ROOT = Path(__file__).parents[1]
BLUE, RED, GREEN, GRAY = "#1f6f8b", "#b5523b", "#5c8a3a", "0.55"
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
EPSILONS = {0.1: RED, 1.0: BLUE}
#: A heavy tail with a fourth moment, so that both assumptions below are true.
FREEDOM = 5
ASSUMPTIONS = {
    "Moment(2, sd)": (tt.Moment(2, student_moment(FREEDOM, 2) ** 0.5), RED),
    "Moment(4, scale)": (tt.Moment(4, student_moment(FREEDOM, 4) ** 0.25), BLUE),
    "nothing (for the winsorized mean)": (None, GREEN),
}


def axes(title: str) -> Any:
    """Return log-log axes for something against n."""
    made = Figure(figsize=(7.0, 3.8), layout="constrained").add_subplot()
    made.set(xscale="log", yscale="log", xlabel="number of records n")
    made.set_title(title, fontsize=10)
    made.spines[["top", "right"]].set_visible(False)
    return made


def progress(runs: int, title: str) -> Any:
    console = Console(stderr=True)
    return track(range(runs), title, console=console, disable=not console.is_terminal)


def draw_example(folder: Path) -> None:
    """Draw the release and the plan of the tutorial."""
    tail, claims = tt.Moment(2, 2_500), ROOT / "examples" / "claims.csv"
    release = tt.mean(claims, "amount", epsilon=1, tail=tail)
    save(release.plot(), folder / "release.png")
    save(tt.plan(n=20_000, epsilon=1, tail=tail).plot(), folder / "plan.png")


def draw_error(folder: Path, runs: int) -> None:
    """Draw the error on lognormal records, told nothing, and what plans predict."""
    rng, mean = np.random.default_rng(5), math.exp(0.5)
    picture = axes("lognormal records (sigma 1), told nothing, add-remove")
    for epsilon, color in EPSILONS.items():
        measured = []
        for n in SIZES:
            errors = [
                float(tt.mean(rng.lognormal(0, 1, n), epsilon=epsilon, n=n, confidence=None)) - mean
                for _ in progress(runs, f"error, epsilon = {epsilon:g}, n = {n:,}")
            ]
            measured.append(float(np.sqrt(np.mean(np.square(errors)))) / REFERENCE_SD)
        plans = [tt.plan(n=n, epsilon=epsilon, confidence=None) for n in SIZES]
        picture.plot(SIZES, measured, "o-", color=color, label=f"measured, epsilon = {epsilon:g}")
        predicted = [plan.relative_rmse for plan in plans]
        picture.plot(SIZES, predicted, "--", color=color, label="as planned")
        show(f"error, epsilon = {epsilon:g}", measured)
    plain = [1 / math.sqrt(n) for n in SIZES]
    picture.plot(SIZES, plain, ":", color=GRAY, label="sampling alone")
    picture.set_ylabel("error in standard deviations")
    picture.legend(frameon=False, fontsize=9)
    save(picture, folder / "error.png")


def draw_widths(folder: Path, runs: int) -> None:
    """Draw the half-width of the interval for records of a t law, by what is assumed."""
    rng = np.random.default_rng(6)
    picture = axes(f"records of Student's t({FREEDOM}), epsilon = 1, 95%")
    deviation = student_moment(FREEDOM, 2) ** 0.5
    for label, (tail, color) in ASSUMPTIONS.items():
        widths, covered = [], []
        for n in SIZES:
            releases = [
                tt.mean(rng.standard_t(FREEDOM, n), epsilon=1, n=n, tail=tail)
                for _ in progress(runs, f"interval, {label}, n = {n:,}")
            ]
            ends = np.array([(release.low, release.high) for release in releases])
            widths.append(float(np.median(ends[:, 1] - ends[:, 0])) / 2 / deviation)
            covered.append(float(np.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0))))
        picture.plot(SIZES, widths, "o-", color=color, label=label)
        show(f"half-width, {label}", widths)
        show("  covers the mean", covered)
    plain = [1.96 / math.sqrt(n) for n in SIZES]
    picture.plot(SIZES, plain, ":", color=GRAY, label="no privacy: 1.96 standard errors")
    picture.set_ylabel("half-width in standard deviations")
    picture.legend(title="assumed", frameon=False, fontsize=9, title_fontsize=9)
    save(picture, folder / "widths.png")


def show(name: str, numbers: list[float]) -> None:
    print(f"{name:<46}" + "".join(f"{number:>9.4f}" for number in numbers))


def save(picture: Any, path: Path) -> None:
    picture.figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "pictures")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    draw_example(options.output)
    draw_error(options.output, options.runs)
    draw_widths(options.output, max(options.runs // 5, 1))


if __name__ == "__main__":
    main()
