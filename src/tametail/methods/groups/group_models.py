"""What groups are like: laws that a group may have, and how well each fits it.

1. The *pool* is the pooled shape, weighed anew by the cells of all groups together, so that it has
   as many records between two cuts as were counted there.
2. *Models* are laws that lie in the pool as a normal law of some mean and width lies in the
   standard normal: groups of larger or smaller numbers, as wide as all records or narrower. Narrow
   ones have a fringe that is as wide as all records, since a group that lies in one cell may still
   have a tail.
3. Every group has each model with a probability that its own cells tell, and how usual the model
   is among all groups (an empirical Bayes estimate). Within a few parameters a cell that is full
   of noise counts for little: its neighbors do not bear it out.
4. For clip points at a distance T around some middle a model has a bias and a spread, and also a
   least risk of its own: what could be reached if one knew that it is right. Middle and T are
   chosen so that the risk, divided by this, is least on average: so groups of small numbers are
   not drowned by what would suit those of large ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.methods.groups import constants as tuned
from tametail.methods.groups.shape import Array, PoolTail, Shape
from tametail.methods.winsorized.approximate_interval import ExcessPair, HiddenExcess, thinned
from tametail.privacy.budget import Noise

#: Points farther out count as if so small a part of all records were beyond them.
_LEAST_RANK = 1e-6

#: Models that are so much less likely than the likeliest do not count in an interval.
_RARE = 1e-3

#: Multiplications of a product of matrices that one thread does.
_ALONE = 1 << 18

Places = npt.NDArray[np.intp]


class Choice(NamedTuple):
    """Where small groups are clipped, one entry for each, and what is expected of that."""

    middles: Array
    reaches: Array
    biases: Array
    squares: Array
    """The mean of the squared, clipped distances from the middle."""


@dataclass(frozen=True, slots=True)
class GroupModels:
    """Models: laws on points, how usual each is, and its probability for each group."""

    points: Array
    distributions: Array
    usual: Array
    chances: Array
    """A row for each group."""
    pool: Array
    """The law of all records."""
    tails: tuple[PoolTail | None, PoolTail | None]

    @classmethod
    def read(cls, shape: Shape, cells: Array, noise: Noise) -> GroupModels:
        """Return what the pool and noisy cells, a row for each group, suggest."""
        places = np.searchsorted(shape.cuts, shape.distances, side="right")
        pool = _recounted(shape.shares, places, cells.sum(axis=0), len(cells) * noise.variance)
        distributions = _shifted(pool)
        inside = places[:, None] == np.arange(cells.shape[1])
        likely = _likely(distributions @ inside, cells, noise)
        usual = np.full(len(distributions), 1 / len(distributions))
        for _ in range(tuned.ROUNDS):  # an EM algorithm
            found = (likely * (usual / (likely @ usual)[:, None])).sum(axis=0)
            usual = (found + tuned.EVENLY / len(distributions)) / (len(cells) + tuned.EVENLY)
        chances = likely * (usual / (likely @ usual)[:, None])
        return cls(shape.distances, distributions, usual, chances, pool, shape.tails)

    def choose(self, numbers: Array, grid: Array, noise: float, count_noise: float) -> Choice:
        """Choose clip points for the groups, which have so many records.

        ``noise`` is the variance of the noise on a sum of records clipped at a distance of 1,
        ``count_noise`` that of the noise on a count.
        """
        fits, middles = self.chances, self._middles
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
                best[some] = np.argmin(_product(fits[some], relative), axis=1)
        middle, reach = np.unravel_index(best, shape)
        biases, squares = (
            np.einsum("gm,mg->g", fits, each.reshape(len(each), -1)[:, best])
            for each in (bias, square)
        )
        return Choice(middles[middle], grid[reach], biases, squares)

    def beyond(self, middles: Array, reaches: Array) -> list[ExcessPair]:
        """Return what groups may have beyond their clip points, by the models that they may have.

        That is a mean of excesses below and above.
        """
        low, high = (
            _Side.of(self, sign, tail) for sign, tail in zip((-1, 1), self.tails, strict=True)
        )
        rows = zip(self.chances, middles.tolist(), reaches.tolist(), strict=True)
        return [
            (low.beyond(chances, reach - middle), high.beyond(chances, reach + middle))
            for chances, middle, reach in rows
        ]

    @property
    def _middles(self) -> Array:
        """Distances from the pooled center around which groups may be clipped."""
        means = self.distributions @ self.points
        order = np.argsort(means, kind="stable")
        found = np.interp(tuned.MIDDLES, np.cumsum(self.usual[order]), means[order])
        return np.unique(np.append(found, 0.0))

    def _costs(self, middle: float, reaches: Array) -> tuple[Array, Array, Array]:
        """Return bias, mean and square of distances clipped at some reaches, for every model."""
        distances = self.points - middle
        clipped = np.clip(distances, -reaches[:, None], reaches[:, None])
        terms = np.abs(distances - clipped), clipped, clipped * clipped
        bias, mean, square = (_product(self.distributions, each.T) for each in terms)
        return tuned.BIAS * bias, mean, square


@dataclass(frozen=True, slots=True)
class _Side:
    """What models have on one side: points up to where the pool's tail begins, and that tail.

    A model has as much of the tail as it has of the pool's records there.
    """

    away: Array
    distributions: Array
    tail: PoolTail | None
    parts: Array
    found: dict[float, tuple[Array, Array, bool]] = field(default_factory=dict)

    @classmethod
    def of(cls, models: GroupModels, sign: int, tail: PoolTail | None) -> _Side:
        """Return what models have below (-1) or above the center of the pool."""
        away, distributions = sign * models.points, models.distributions
        if tail is None:
            return cls(away, distributions, None, np.zeros(len(distributions)))
        is_far = away > tail.start
        parts = distributions[:, is_far].sum(axis=1) / max(models.pool[is_far].sum(), 1e-300)
        return cls(np.minimum(away, tail.start), distributions, tail, parts)

    def beyond(self, chances: Array, distance: float) -> HiddenExcess:
        """Return what a group with these chances of the models may have beyond a distance."""
        if distance not in self.found:
            self.found[distance] = self._by_model(distance)
        excess, weights, unbounded = self.found[distance]
        some = chances > _RARE * chances.max()
        likely = chances[some, None] / chances[some].sum() * weights
        return HiddenExcess(thinned(excess[some].ravel(), likely.ravel()), unbounded)

    def _by_model(self, distance: float) -> tuple[Array, Array, bool]:
        """Return the excess beyond a distance by every model and curve, and the curves' weights.

        And whether too many of the curves have no finite mean for a limit.
        """
        near = self.distributions @ np.maximum(self.away - distance, 0.0)
        if self.tail is None:
            return near[:, None], np.ones(1), False
        far = self.tail.beyond(max(distance, self.tail.start))
        excess = near[:, None] + self.parts[:, None] * far.excess.points
        return excess, far.excess.weights, far.unbounded


def _product(left: Array, right: Array) -> Array:
    """Return a product of matrices, made of pieces for which no threads are started.

    BLAS starts them from 2**18 multiplications on, and here they would wait for longer than work.
    """
    found: Array = np.empty((len(left), right.shape[1]))
    side = max(math.isqrt(_ALONE // max(len(right), 1)), 1)
    for row in range(0, len(left), side):
        for column in range(0, right.shape[1], side):
            piece = slice(row, row + side), slice(column, column + side)
            np.matmul(left[piece[0]], right[:, piece[1]], out=found[piece])
    return found


def _recounted(shares: Array, places: Places, totals: Array, variance: float) -> Array:
    """Return the shares of the points after a look at the cells of all groups together.

    Octave counts tell little of what lies between two nodes, and are taken to be off by some part.
    """
    usual = np.maximum(totals.sum(), 1.0) * np.bincount(places, shares, len(totals))
    usual = np.maximum(usual, 1e-300)
    off = (tuned.POOL_OFF * usual) ** 2
    ratios = np.maximum(1 + off / (off + variance) * (totals / usual - 1), tuned.LEAST_LIKE)
    found = shares * ratios[places]
    recounted: Array = found / found.sum()
    return recounted


def _shifted(pool: Array) -> Array:
    """Return the models: a law on the same points for each shift and width.

    A point of the pool has the normal score z if a part of the records lies below it as of a
    standard normal law below z. A model weighs it by the ratio of two normal densities there; of a
    narrow one a part, the fringe, is as wide as the pool.
    """
    ranks = np.clip(np.cumsum(pool) - pool / 2, _LEAST_RANK, 1 - _LEAST_RANK)
    scores = np.array([NormalDist().inv_cdf(rank) for rank in ranks.tolist()])
    shifts, widths = (each.reshape(-1, 1) for each in np.meshgrid(tuned.SHIFTS, tuned.WIDTHS))

    def weighed(widths: Array) -> Array:
        weights = (scores**2 - ((scores - shifts) / widths) ** 2) / 2
        found = pool * np.exp(weights - weights.max(axis=1, keepdims=True))
        distributions: Array = found / found.sum(axis=1, keepdims=True)
        return distributions

    fringe = weighed(np.maximum(widths, 1.0))
    distributions: Array = (1 - tuned.FRINGE) * weighed(widths) + tuned.FRINGE * fringe
    return distributions


def _likely(models: Array, cells: Array, noise: Noise) -> Array:
    """Return how likely cells are under each model, which has such shares in them; a row a group.

    Under a model a group has as many records as suit its cells best: the cells that the model
    fills tell that better than the sum of all, with the noise of all.
    """
    surprise = np.empty((len(cells), len(models)))
    numbers = np.maximum(cells.sum(axis=1), tuned.FEWEST)[:, None]
    for model, shares in enumerate(models):
        weights = shares / (noise.variance + numbers * shares)
        suits = (cells * weights).sum(axis=1) / np.maximum((shares * weights).sum(axis=1), 1e-300)
        expected = np.maximum(suits, tuned.FEWEST)[:, None] * shares
        doubt = noise.variance + expected + (tuned.MISFIT * expected) ** 2
        found = _surprise(cells - expected, doubt, noise) + np.log(doubt) / 2
        surprise[:, model] = found.sum(axis=1)
    likely: Array = np.exp(surprise.min(axis=1, keepdims=True) - surprise)
    return likely


def _surprise(distances: Array, variances: Array, noise: Noise) -> Array:
    """Return how unlikely errors of these variances are: a negative log-density but for its norm.

    An error is Laplace noise and normal sampling together. A hyperbolic law is much like their sum:
    normal next to 0, with that variance, and with exponential tails of the scale of the noise.

    >>> laplace = Noise("laplace", 5.0)
    >>> _surprise(np.array([5.0, 50.0]), np.full(2, laplace.variance), laplace).round(1).tolist()
    [0.2, 8.2]
    """
    if noise.kind != "laplace":
        return distances**2 / (2 * variances)
    bend = variances / noise.scale
    found: Array = (np.sqrt(bend**2 + distances**2) - bend) / noise.scale
    return found
