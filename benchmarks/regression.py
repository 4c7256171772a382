"""Errors and intervals of regressions, beside those of ordinary least squares.

python benchmarks/regression.py [draws] [design ...]
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
import pandas as pd

import tametail as tt

Floats = npt.NDArray[np.float64]

CELLS = ((10_000, 0.5), (100_000, 0.5), (100_000, 0.005))
DESIGNS = (
    "normal", "sizes", "lognormal", "conditions", "correlated", "skewed errors", "multiplied",
    "Pareto columns", "Pareto errors", "0.9", "0.95", "0.98", "0.99",
)  # fmt: skip


def design(name: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return columns, y and the coefficients; a number is a correlation of two columns."""
    z, errors = rng.normal(size=(n, 3)), rng.standard_t(3, n)
    x, beta = z.copy(), np.array([2.0, 1.0, -1.0, 0.5])
    match name:
        case "sizes":
            x, beta = z * [1, 1e3, 1e-3] + [0, 5e3, 0], beta / [1, 1, 1e3, 1e-3]
        case "lognormal" | "skewed errors" | "Pareto errors" | "multiplied":
            x = np.exp(0.8 * z)
        case "conditions":
            x = np.column_stack([z[:, 0] > 0, z[:, 1] > 1.5, z[:, 2]]).astype(float)
        case "correlated":
            x[:, 1], x[:, 2] = 0.8 * z[:, 0] + 0.6 * z[:, 1], 0.5 * z[:, 0] + 0.75**0.5 * z[:, 2]
        case "Pareto columns":
            x = rng.pareto(2.2, (n, 3))
        case "normal":
            pass
        case _:
            c = float(name)
            x[:, 1] = c * z[:, 0] + (1 - c * c) ** 0.5 * z[:, 1]
    if name == "skewed errors":
        errors = 0.5 * (rng.lognormal(0, 1.2, n) - np.exp(0.72))
    if name == "Pareto errors":
        errors = rng.pareto(1.6, n) - 1 / 0.6
    if name == "multiplied":
        beta = np.array([2.0, 1.0, 1.0, 0.5])
        errors = (x @ beta[1:]) * (rng.lognormal(-0.5, 1, n) - 1)
    return x, beta[0] + x @ beta[1:] + errors, beta


def measure(name: str, n: int, rho: float, draws: int) -> str:
    """Return a line of figures, each from the least to the greatest of four coefficients."""
    rng, found, refused = np.random.default_rng(12), [], 0
    for _ in range(draws):
        x, y, beta = design(name, n, rng)
        ones = np.column_stack([np.ones(n), x])
        plain = np.linalg.lstsq(ones, y)[0]
        deviation = np.sqrt(np.diag(np.linalg.inv(ones.T @ ones)) * (y - ones @ plain).var())
        frame = pd.DataFrame(x, columns=list("abc")).assign(y=y)
        release = tt.regression(frame, "y", list("abc"), rho=rho)
        if np.isnan(release.value).any():
            refused += 1
            continue
        error = release.value - beta
        halves = [
            np.array([row.intervals[place].high - row.value for row in release])
            for place in (0, -1)
        ]
        covers = [np.abs(error) <= half for half in halves]
        widths = [half / 1.96 / deviation for half in halves]
        found.append([error, plain - beta, *covers, *widths])
    told = f"{name:15} {n:7,} {rho:5g}  refused {refused} of {draws}"
    if not found:
        return told
    errors, own, *both = np.array(found).swapaxes(0, 1)
    columns = [np.sqrt((errors**2).mean(0) / (own**2).mean(0))]
    columns += [each.mean(0) for each in both[:2]] + [np.median(each, 0) for each in both[2:]]
    names = ("error", "covers", "without tail", "width", "without tail")
    words = (f"{a} {c.min():.2f} to {c.max():.2f}" for a, c in zip(names, columns, strict=True))
    return f"{told}  {', '.join(words)}"


if __name__ == "__main__":
    for chosen in sys.argv[2:] or DESIGNS:
        for n, rho in CELLS:
            print(measure(chosen, n, rho, int((sys.argv[1:] or ["12"])[0])), flush=True)
