"""Queries over rows with several columns: the mean in a ball, and the scores of a tournament.

As in :mod:`tametail.queries.column`, a query holds public numbers and earlier private answers only,
and states how far one row can move its exact answer. Both need rows by position and a public number
of rows, so they exist under replace-one only. Proofs: ``docs/proofs/ball.md`` and
``docs/proofs/tournament.md``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tametail.errors import InternalError
from tametail.privacy.adjacency import Adjacency
from tametail.queries.query import GaussianQuery, Query, Sensitivity

#: Sums of this many bits, with their sign, fit in 64.
WIDEST_SUM = 62

#: Cells this many ticks from the center are as good as infinite: they are clamped in every match.
FARTHEST = 1 << 44


def _replace_one_only(adjacency: Adjacency) -> None:
    if not adjacency.size_is_public:
        raise InternalError("this query knows the number of rows: it is for replace-one only.")


@dataclass(frozen=True, slots=True)
class BallMean(GaussianQuery):
    """The mean of the rows in a ball, over at least three quarters of the number of all rows.

    A row x becomes ``y_j = floor((x_j - center_j) * 2**-exponent)`` and is kept if the integer
    norm of y is at most ``radius``; so a row with a missing or an infinite cell is dropped. With S
    the sum of the kept rows and c their number, the answer is, for every column,
    ``floor(factor * S_j / max(c, 3 size / 4))``.
    """

    center: tuple[float, ...]
    exponent: int
    radius: int
    size: int
    factor: int

    @classmethod
    def around(
        cls, center: Sequence[float], radius: float, *, size: int, strength: float
    ) -> BallMean:
        """Return the query whose tick and rounding are far below its noise.

        ``strength`` is the sensitivity over the standard deviation of the noise.

        >>> query = BallMean.around([5.0, 7.0], 4.0, size=1000, strength=1.0)
        >>> query.radius * 2.0**query.exponent
        4.0
        >>> math.isqrt(query.sensitivity(Adjacency.REPLACE_ONE).l2_squared)  # 2**28 and roundings
        268435458
        """
        finest = 8 + math.ceil(math.log2(max(size * strength, 1.0)))
        # The squared norm of a row with all cells at the radius fits in 64 bits.
        widest = (WIDEST_SUM - (len(center) - 1).bit_length()) // 2
        exponent = math.frexp(radius)[1] - max(4, min(finest, widest, 28))
        ticks = math.ceil(math.ldexp(radius, -exponent))
        # The answer moves by about 2**bits, so that rounding it down is negligible.
        bits = min(28, 52 + math.floor(math.log2(min(strength, 1.0))))
        factor = -(-(3 * max(size, 1) << bits) // (8 * ticks))
        return cls(tuple(center), exponent, ticks, size, factor)

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """8 radius factor / (3 size) for the mean (P9), and sqrt(d) for rounding it down."""
        _replace_one_only(adjacency)
        if self.size == 0:
            return Sensitivity(0, 0)
        n_columns = len(self.center)
        mean = -(-8 * self.radius * self.factor // (3 * self.size))
        l2_squared = (mean + math.isqrt(n_columns - 1) + 1) ** 2
        return Sensitivity(math.isqrt(n_columns * l2_squared - 1) + 1, l2_squared)

    def value(self, noisy: Sequence[int]) -> list[float]:
        """Turn a noisy answer into a point."""
        return [
            middle + math.ldexp(answer / self.factor, self.exponent)
            for middle, answer in zip(self.center, noisy, strict=True)
        ]


class Opponent(NamedTuple):
    """A direction v in steps, and the least t such that p and p + t v do not tie."""

    direction: tuple[int, ...]
    multiple: int

    @property
    def squared_distance(self) -> int:
        """The squared distance of the two points, in steps."""
        return self.multiple**2 * _squared(self.direction)


@dataclass(frozen=True, slots=True)
class Scores(Query[int]):
    """How many rows must change before each point of a grid loses a match.

    A cell x_j becomes ``floor((x_j - center_j) * 2**-exponent)`` ticks, at most ``FARTHEST`` in
    size; a missing one becomes 0. The grid has the points ``step * k`` ticks, k in
    ``{-reach..reach}^n_columns``, in lexicographic order. The rows are cut into ``blocks`` (odd) of
    ``size // blocks`` rows.

    p can lose to q if ``tie < |k_p - k_q|^2`` and ``step |k_p - k_q| <= 2 xi``. It does lose if the
    median over blocks of the means of ``clamp(<x - p, u>, -xi, xi)`` is at least ``|p - q| / 2``,
    where u is the direction from p to q. The score of p is the least number of rows to change so
    that p loses to some q, and ``default`` if it can lose to none: public geometry alone (P10).

    Answer: an array of the scores.
    """

    center: tuple[float, ...]
    exponent: int
    step: int
    reach: int
    tie: int
    xi: int
    blocks: int
    size: int
    default: int

    @property
    def points(self) -> int:
        """The number of points of the grid."""
        return int((2 * self.reach + 1) ** len(self.center))

    @property
    def block_size(self) -> int:
        """The number of rows in a block."""
        return self.size // self.blocks

    def score_sensitivity(self, adjacency: Adjacency) -> int:
        """1: a score is a distance between data sets, in rows."""
        _replace_one_only(adjacency)
        return 1

    def clamp(self, direction: Sequence[int]) -> int:
        """Return ``xi |v|``, rounded up: projections on v are clamped to this."""
        return math.isqrt(self.xi**2 * _squared(direction) - 1) + 1

    def bound(self, direction: Sequence[int]) -> int:
        """Return how far a projection can lie from 0 before it is clamped for every point."""
        return self.clamp(direction) + self.step * self.reach * sum(map(abs, direction)) + 1

    def target(self, opponent: Opponent) -> int:
        """Return the least sum of a block's projections on v with which p loses to p + t v.

        The mean of <x - p, v> / |v| must reach half of the distance step t |v|.
        """
        doubled = self.step * opponent.multiple * _squared(opponent.direction)
        return -(-self.block_size * doubled // 2)

    def fits(self) -> bool:
        """Say whether all sums stay within 64 bits, and all clamps within the farthest cells."""
        bound = self.bound((2 * self.reach,) * self.n_columns)
        sums = 4 * bound * max(self.size, 1)
        return bound <= FARTHEST and sums.bit_length() <= WIDEST_SUM

    def opponents(self) -> list[Opponent]:
        """List, nearest first, whom points can lose to, for one of each two opposite directions.

        In one direction only the nearest opponent matters: a farther one asks for more.
        """
        found = []
        for direction in itertools.product(
            range(-2 * self.reach, 2 * self.reach + 1), repeat=self.n_columns
        ):
            if direction <= (0,) * self.n_columns or math.gcd(*direction) > 1:
                continue
            squared = _squared(direction)
            multiple = math.isqrt(self.tie // squared) + 1
            inside = multiple * max(map(abs, direction)) <= 2 * self.reach
            if inside and (self.step * multiple) ** 2 * squared <= 4 * self.xi**2:
                found.append(Opponent(direction, multiple))
        return sorted(found, key=lambda one: one.squared_distance)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.center)

    def value(self, winner: int) -> list[float]:
        """Turn the index of a point into the point."""
        side = 2 * self.reach + 1
        steps = [
            winner // side**power % side - self.reach for power in reversed(range(self.n_columns))
        ]
        return [
            middle + math.ldexp(self.step * k, self.exponent)
            for middle, k in zip(self.center, steps, strict=True)
        ]


def _squared(direction: Sequence[int]) -> int:
    return sum(part * part for part in direction)


PaperQuery = BallMean | Scores
