"""What it costs not to know where far records are: a bound for all private mechanisms.

    python benchmarks/not_knowing.py --octaves 2 4 8
    python benchmarks/not_knowing.py --octaves 2 4 8 --cap 10

All records are 0, but for h that are ``t = 2^j``, in one of J octaves, with h epsilon from 1 to 12.
An oracle that knows j and h clips where that is best and adds Laplace noise for t: its squared
error is ``(t/epsilon)^2 2 x^2/(x^2 + 2)`` with x = h epsilon. Every epsilon-DP mechanism that knows
neither has, for one of these data sets, at least the printed multiple of the oracle's root mean
squared error ("worst"); and as much in root mean square over all of them ("average").

The mechanisms form a linear program: outputs fall into cells, a cell counts as its point nearest
to the truth, and neighbors are the same j with one record more or less (for small epsilon: with
``step/epsilon`` more, at e^step). Each of this leaves a mechanism more than it has. What is printed
is not the solver's optimum but the bound that its multipliers prove, evaluated anew (see
docs/explanation/bounds.md): it holds whatever the solver did.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix, vstack

Floats = npt.NDArray[np.float64]
Aim = Literal["worst", "average"]

#: The most far records, times epsilon.
LARGEST = 12.0


@dataclass(frozen=True)
class Family:
    """Data sets with far records in one of some octaves, and cells of outputs.

    Lengths are in units of the first octave over epsilon. Data set 0 has no far record; the others
    are numbered octave by octave, by size.
    """

    octaves: int
    step: float
    cells_per_octave: int
    largest: float = LARGEST
    cap: float = math.inf
    """Errors above so many times the oracle's count as that: rarer ones than are ever measured."""

    @cached_property
    def sizes(self) -> Floats:
        """Far records times epsilon."""
        return self.step * np.arange(1, round(self.largest / self.step) + 1)

    @cached_property
    def edges(self) -> Floats:
        """The ends of the cells: from 0, in equal ratios around all true sums, to infinity."""
        low, high = self.sizes[0] / 4, 2.0**self.octaves * self.sizes[-1]
        count = math.ceil(math.log2(high / low) * self.cells_per_octave)
        return np.concatenate([[0.0], np.geomspace(low, high, count + 1), [np.inf]])

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.edges) - 1

    @cached_property
    def losses(self) -> Floats:
        """For each data set but 0, and each cell, the least squared error over the oracle's."""
        oracle = 2 * self.sizes**2 / (self.sizes**2 + 2)
        truth = np.tile(self.sizes, self.octaves)
        place = np.repeat(2.0 ** np.arange(self.octaves), len(self.sizes))
        sums = (truth * place)[:, None]
        nearest = np.clip(sums, self.edges[:-1], self.edges[1:])
        ratios = ((nearest - sums) / place[:, None]) ** 2 / np.tile(oracle, self.octaves)[:, None]
        return np.asarray(np.minimum(ratios, self.cap**2))

    @cached_property
    def neighbors(self) -> npt.NDArray[np.int64]:
        """Pairs of data sets that differ in one step."""
        found = []
        for octave in range(self.octaves):
            first = 1 + octave * len(self.sizes)
            chain = [0, *range(first, first + len(self.sizes))]
            found += list(pairwise(chain))
        return np.array(found)


def proved(family: Family, weights: Floats, up: Floats, down: Floats) -> float:
    """Return the mean squared ratio that non-negative multipliers prove, for all mechanisms.

    ``weights`` belong to the losses and are scaled to add up to 1; ``up`` and ``down`` belong to
    ``q_a <= e^step q_b`` and ``q_b <= e^step q_a`` for the pairs (a, b) of neighbors and each cell.
    A mechanism q has at least ``sum over D of min over cells of the cost`` that is computed here.
    """
    weights, up, down = (np.maximum(part, 0.0) for part in (weights, up, down))
    cost = np.zeros((1 + len(family.losses), family.cells))
    cost[1:] = (weights / weights.sum())[:, None] * family.losses
    worth = math.exp(family.step)
    one, other = family.neighbors.T
    np.add.at(cost, one, up - worth * down)
    np.add.at(cost, other, down - worth * up)
    return float(cost.min(axis=1).sum())


def solve(family: Family, aim: Aim) -> tuple[float, float]:
    """Return the ratio that is proved, and the optimum that the solver believes in."""
    datasets, cells = 1 + len(family.losses), family.cells
    limits, pairs = _privacy(family), len(family.neighbors) * cells
    equal = coo_matrix(
        (
            np.ones(datasets * cells),
            (np.arange(datasets * cells) // cells, np.arange(datasets * cells)),
        ),
        shape=(datasets, datasets * cells + 1),
    )
    if aim == "worst":
        limits = vstack([limits, _loss_rows(family)]).tocsr()
        cost = np.append(np.zeros(datasets * cells), 1.0)
    else:
        cost = np.concatenate([np.zeros(cells), family.losses.ravel() / len(family.losses), [0.0]])
    found = linprog(
        cost, limits, np.zeros(limits.shape[0]), equal, np.ones(datasets), method="highs-ipm"
    )
    multipliers = -found.ineqlin.marginals
    up, down = multipliers[: 2 * pairs].reshape(2, -1, cells)
    weights = multipliers[2 * pairs :] if aim == "worst" else np.ones(len(family.losses))
    return math.sqrt(max(proved(family, weights, up, down), 0.0)), math.sqrt(found.fun)


def _privacy(family: Family) -> csr_matrix:
    """Return the rows ``q_a - e^step q_b <= 0``, and then those with a and b exchanged."""
    cells, worth = np.arange(family.cells), math.exp(family.step)
    one, other = ((ends[:, None] * family.cells + cells).ravel() for ends in family.neighbors.T)
    rows = np.arange(2 * len(one))
    first, second = np.concatenate([one, other]), np.concatenate([other, one])
    values = np.concatenate([np.ones(len(rows)), np.full(len(rows), -worth)])
    size = (1 + len(family.losses)) * family.cells + 1
    places = (np.concatenate([rows, rows]), np.concatenate([first, second]))
    return coo_matrix((values, places), shape=(len(rows), size)).tocsr()


def _loss_rows(family: Family) -> csr_matrix:
    """Return the rows ``loss of q_D - bound <= 0``; the bound is the last variable."""
    count, cells = family.losses.shape
    columns = np.append(cells + np.arange(count * cells), np.full(count, (1 + count) * cells))
    rows = np.append(np.arange(count * cells) // cells, np.arange(count))
    values = np.append(family.losses.ravel(), -np.ones(count))
    return coo_matrix((values, (rows, columns))).tocsr()


def _family(octaves: int, step: float, arguments: argparse.Namespace) -> Family:
    return Family(octaves, step, arguments.cells, cap=arguments.cap)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--octaves", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--steps", nargs="+", type=float, default=[1.0, 0.5])
    parser.add_argument("--cells", type=int, default=12, help="cells of outputs in an octave")
    parser.add_argument("--cap", type=float, default=math.inf, help="most that an error counts")
    arguments = parser.parse_args()
    print("| octaves | epsilon | worst | average | seconds |\n| ---: | ---: | ---: | ---: | ---: |")
    for step in arguments.steps:
        for octaves in arguments.octaves:
            start, family = time.perf_counter(), _family(octaves, step, arguments)
            (worst, _), (average, _) = solve(family, "worst"), solve(family, "average")
            which = "1" if step == 1 else f"{step:g} and its whole parts"
            seconds = time.perf_counter() - start
            print(
                f"| {octaves} | {which} | {worst:.3f} | {average:.3f} | {seconds:.0f} |", flush=True
            )


if __name__ == "__main__":
    main()
