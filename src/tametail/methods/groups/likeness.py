"""What groups are like: laws that some of them seem to have, and how well each fits a group.

1. A group's law is the pooled shape, weighed anew by the group's own cells. A count is believed as
   far as it stands out of the noise, and as far as groups differ at all, which all of them
   together tell (an empirical Bayes estimate). Within a cell a group is like the pool.
2. The laws of the largest groups and the pool itself are *models*. Every small group has each of
   them with a probability that its own cells tell.
3. For clip points at a distance T around some middle a model has a bias and a spread, and also a
   least risk of its own: what could be reached if one knew that it is right. Middle and T are
   chosen so that the risk, divided by this, is least on average: so groups of small numbers are
   not drowned by what would suit those of large ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tametail.methods.groups import constants as tuned
from tametail.methods.groups.shape import Array, Shape


class Choice(NamedTuple):
    """Where small groups are clipped, one entry for each, and what is expected of that."""

    middles: Array
    reaches: Array
    biases: Array
    squares: Array
    """The mean of the squared, clipped distances from the middle."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Models: laws on points, the shares of cells in them, and how many records they rest on."""

    points: Array
    laws: Array
    shares: Array
    records: Array
    variance: float
    """That of the noise on a cell."""

    @classmethod
    def read(cls, shape: Shape, cuts: Array, cells: Array, variance: float) -> Likeness:
        """Return the models that noisy cells, a row for each group, and the pool suggest."""
        places = np.searchsorted(cuts, shape.distances, side="right")
        numbers = np.maximum(cells.sum(axis=1), tuned.FEWEST)
        pooled = np.bincount(places, shape.shares, len(cuts) + 1)
        usual = np.maximum(numbers[:, None] * pooled, 1e-300)
        own = unlikeness(cells, usual, variance) * usual**2
        largest = np.argsort(-numbers, kind="stable")[: tuned.MODELS]
        cells, usual, own = cells[largest], usual[largest], own[largest]
        found = usual + own / (own + variance + usual) * (cells - usual)
        ratios = np.maximum(found / usual, tuned.LEAST_LIKE)
        laws = np.vstack([shape.shares, ratios[:, places] * shape.shares])
        laws /= laws.sum(axis=1, keepdims=True)
        shares = np.stack([laws[:, places == cell].sum(axis=1) for cell in range(len(pooled))], 1)
        records = np.concatenate([[numbers.sum()], numbers[largest]])
        return cls(shape.distances, laws, shares, records, variance)

    def fitting(self, cells: Array, numbers: Array) -> Array:
        """Return the probability of every model, a row for each group."""
        fits = np.empty((len(cells), len(self.laws)))
        for model, (shares, records) in enumerate(zip(self.shares, self.records, strict=True)):
            expected = numbers[:, None] * shares
            doubt = self.variance * (1 + (numbers / records) ** 2)[:, None] + expected
            fits[:, model] = ((cells - expected) ** 2 / doubt + np.log(doubt)).sum(axis=1) / 2
        likely = np.exp(fits.min(axis=1, keepdims=True) - fits)
        chances: Array = likely / likely.sum(axis=1, keepdims=True)
        return chances

    def choose(
        self, fits: Array, numbers: Array, grid: Array, noise: float, count_noise: float
    ) -> Choice:
        """Choose clip points for groups that :meth:`fitting` is about, of so many records.

        ``noise`` is the variance of the noise on a sum of records clipped at a distance of 1,
        ``count_noise`` that of the noise on a count.
        """
        middles = self._middles
        table = [self._costs(middle, grid) for middle in middles]
        bias, mean, square = (np.stack(each, axis=1) for each in zip(*table, strict=True))
        shape = bias.shape[1:]
        reaches = np.broadcast_to(grid, shape)
        best = np.empty(len(numbers), dtype=np.int64)
        classes = np.round(2 * np.log2(numbers))
        for size in np.unique(classes):
            n = 2.0 ** (size / 2)
            unsure = (noise * reaches**2 + count_noise * mean**2) / n**2
            risks = (bias**2 + unsure).reshape(len(bias), -1)
            own = (risks + square.reshape(len(bias), -1) / n).min(axis=1)
            relative = risks / own[:, None]
            alike = np.flatnonzero(classes == size)
            for first in range(0, len(alike), tuned.GROUPS_AT_ONCE):  # to bound memory
                some = alike[first : first + tuned.GROUPS_AT_ONCE]
                best[some] = np.argmin(fits[some] @ relative, axis=1)
        middle, reach = np.unravel_index(best, shape)
        biases, squares = (
            np.einsum("gm,mg->g", fits, each.reshape(len(each), -1)[:, best])
            for each in (bias, square)
        )
        return Choice(middles[middle], grid[reach], biases, squares)

    @property
    def _middles(self) -> Array:
        """Distances from the pooled centre around which groups may be clipped."""
        means = self.laws @ self.points
        found: Array = np.unique(np.append(np.quantile(means, tuned.MIDDLES), [0.0, means[0]]))
        return found

    def _costs(self, middle: float, reaches: Array) -> tuple[Array, Array, Array]:
        """Return bias, mean and square of distances clipped at some reaches, for every model."""
        distances = self.points - middle
        clipped = np.clip(distances, -reaches[:, None], reaches[:, None])
        mean, square = self.laws @ clipped.T, self.laws @ (clipped * clipped).T
        bias: Array = tuned.BIAS * (self.laws @ np.abs(distances - clipped).T)
        return bias, mean, square


def unlikeness(cells: Array, usual: Array, variance: float) -> Array:
    """Return by how much groups differ from what is usual in each cell: squares, as parts of it."""
    apart = (cells - usual) ** 2 - variance - usual
    found = apart.sum(axis=0) / (usual**2).sum(axis=0)
    clipped: Array = np.clip(found, tuned.LEAST_UNLIKE, tuned.MOST_UNLIKE)
    return clipped
