"""Queries over rows with several columns, for the default vector mean.

As in :mod:`tametail.queries.column`, a query holds public numbers and earlier private answers, and
says how far one row can move its exact answer, for either neighboring relation. The proofs are in
``docs/proofs/vectors.md``.

A missing cell adds nothing to a sum, and the row stays; missing cells are counted by column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tametail.privacy.adjacency import Adjacency
from tametail.queries.query import Query, RankQuery, Sensitivity, SumQuery

#: The largest radius of a ball in ticks, and the most rows of a chunk: sums of squares of a chunk
#: stay below 2**53, so that float64 adds them up exactly.
WIDEST_RADIUS = 1 << 21
MOST_ROWS = 1 << 11


@dataclass(frozen=True, slots=True)
class ColumnMedians(Query[tuple[float, ...]]):
    """The cells of every column as ordered keys, for a private choice of their medians.

    A cell is looked at with probability ``2**-halvings``, by a secret coin of its own. The
    candidates of column j are the finite doubles in ``ranges[j]``.

    Answer: for every column the distinct keys and their counts.
    """

    halvings: int
    ranges: tuple[tuple[float, float], ...]

    @property
    def choices(self) -> int:
        """The number of choices that are made from the answer."""
        return len(self.ranges)

    def score_sensitivity(self, adjacency: Adjacency) -> int:  # noqa: ARG002 - the scores differ by unit
        """1 in every column, as for :class:`tametail.queries.column.Median`."""
        return 1


@dataclass(frozen=True, slots=True)
class Distances(RankQuery):
    r"""How many cells lie at least so far from the center of their column.

    ``distances[j]`` ascends. A cell x of column j is at least ``distances[j][i]`` away if
    ``|x - centers[j]|`` is, in one rounded subtraction. A cell is looked at with probability
    ``2**-halvings``. With ``columns`` the lists are for these columns only. With ``by_row`` there
    is one list of distances, for the largest ``|x - centers[j]|`` of a row, and every row is
    looked at.

    The ``target``-th largest distance lies between two neighbors of the list, or below the
    first, or beyond the last: these are the candidates of the choice, with base masses
    ``weights``, one more than distances. A candidate other than the first should also have
    ``least`` cells up to ``window`` distances above its lower end: where nothing lies for many
    octaves, all candidates would otherwise be as good as the right one. It is the better the
    clearer it passes the target, by up to ``lead`` cells. And of the cells that are at least the
    first distance away, ``body`` or all should be no more than ``window`` distances below it: else
    it may lie beyond all cells, and be as good as one that the target is not far from
    (decision 0202).

    Answer: for every list the counts, as a table.
    """

    centers: tuple[float, ...]
    distances: tuple[tuple[float, ...], ...]
    target: int
    weights: tuple[int, ...]
    halvings: int = 0
    by_row: bool = False
    window: int = 1
    least: int = 0
    columns: tuple[int, ...] | None = None
    lead: int = 0
    body: int = 0

    @property
    def choices(self) -> int:
        """The number of choices that are made from the answer."""
        return len(self.distances)

    def score_sensitivity(self, adjacency: Adjacency) -> int:  # noqa: ARG002 - the same for both units
        """1: a cell moves every count of its column by at most 1, and a row its largest cell."""
        return 1


@dataclass(frozen=True, slots=True)
class Ball:
    """Integer balls around a center, and the map of rows into them.

    A cell x of column j becomes ``rint((x - centers[j]) * inverse_ticks[j])``, clipped to
    ``-limits[j]..limits[j]`` if there are limits, and to ``-floors[j]..limits[j]`` if there are
    floors, too; a missing cell becomes 0. With the norm of ``order`` 1 or 2 (a sum of integers, or
    of their squares), the map into the ball of radius R keeps the row q if its norm is at most R.
    Otherwise cells beyond -R..R are set to these ends, and then, if the norm is still above R, the
    row is shrunk onto the ball and rounded towards 0. An ``inverse_tick`` of 0 leaves a column out.
    """

    centers: tuple[float, ...]
    inverse_ticks: tuple[float, ...]
    radii: tuple[int, ...]
    order: int
    limits: tuple[int, ...] | None = None
    floors: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        ascending = list(self.radii) == sorted(set(self.radii))
        if not (ascending and self.radii[0] >= 1 and self.radii[-1] <= WIDEST_RADIUS):
            raise AssertionError("the radii of a ball ascend and are within their limits")
        if self.floors is not None and (self.limits is None or min(self.floors) < 0):
            raise AssertionError("floors are distances, and come with limits")

    @property
    def ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The ends to which the cells of every column are clipped, in ticks.

        >>> Ball((0.0,), (1.0,), (3,), order=1, limits=(3,), floors=(2,)).ends
        ((-2.0,), (3.0,))
        """
        high = (
            (math.inf,) * self.n_columns if self.limits is None else tuple(map(float, self.limits))
        )
        below = high if self.floors is None else map(float, self.floors)
        return tuple(-end for end in below), high

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.centers)

    @property
    def live(self) -> int:
        """The number of columns that are not left out."""
        return sum(inverse > 0 for inverse in self.inverse_ticks)


@dataclass(frozen=True, slots=True)
class BallLevels(RankQuery):
    """How many rows lie outside each of the balls, for a choice of the radius.

    The choice is that of :class:`Distances`: the last candidate but one is the largest radius.

    Answer: a table with one list of counts.
    """

    ball: Ball
    target: int
    weights: tuple[int, ...]
    halvings: int = 0
    choices: int = 1
    window: int = 1
    least: int = 0
    lead: int = 0
    body: int = 0

    def score_sensitivity(self, adjacency: Adjacency) -> int:  # noqa: ARG002 - the same for both units
        """1: a row is outside of each ball or it is not."""
        return 1


@dataclass(frozen=True, slots=True)
class BallSum(SumQuery):
    """Sum of the rows, mapped into one of the balls, their weighted number, and missing cells.

    Answer: ``(sums of the columns...)``, then ``count_weight * rows`` if that weight is not 0, then
    ``missing_weight * missing cells`` of every column if that weight is not 0 (0 for a column that
    is left out).

    >>> ball = Ball((0.0, 0.0), (1.0, 1.0), (3, 5), order=2)
    >>> BallSum(ball, 1).sensitivity(Adjacency.REPLACE_ONE).l2_squared  # (2 * 5)**2
    100
    """

    ball: Ball
    level: int
    count_weight: int = 0
    missing_weight: int = 0

    @property
    def radius(self) -> int:
        """The radius in ticks."""
        return self.ball.radii[self.level]

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Two points of the ball are at most 2 R apart; a point and nothing R, and the counts."""
        radius, live = self.radius, self.ball.live
        spread = 1 if self.ball.order == 1 else math.isqrt(max(live, 1) - 1) + 1
        l1, l2_squared = spread * radius + self.count_weight, radius**2 + self.count_weight**2
        if adjacency.size_is_public:  # the number of rows does not change
            l1, l2_squared = 2 * spread * radius, 4 * radius**2
        return Sensitivity(
            l1 + live * self.missing_weight, l2_squared + live * self.missing_weight**2
        )


@dataclass(frozen=True, slots=True)
class BallSquares(SumQuery):
    """Sums of squares of the columns, mapped into the ball, and the weighted number of rows cut.

    Squares are counted in units of ``2**shift`` square ticks, and their sums are rounded down.

    Answer: ``(sums of squares..., cut_weight * rows outside the ball)``.
    """

    ball: Ball
    level: int

    @property
    def radius(self) -> int:
        """The radius in ticks."""
        return self.ball.radii[self.level]

    @property
    def shift(self) -> int:
        """The unit's power of two: the square of the radius is below 2**28 units."""
        return max((self.radius**2).bit_length() - 28, 0)

    @property
    def cut_weight(self) -> int:
        """What a row outside of the ball adds to the last number."""
        return max(self.radius**2 >> self.shift + 1, 1)

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """A row adds squares >= 0 that add up to at most R^2, and the weight or 0.

        Rounding moves each sum of squares by less than 1, all of them by sqrt(d).
        """
        n_columns, square = self.ball.n_columns, (self.radius**2 >> self.shift) + 1
        rounding = math.isqrt(n_columns - 1) + 1
        l1, l2 = square, square
        if adjacency.size_is_public:
            l1, l2 = 2 * square, math.isqrt(2 * square**2) + 1
        return Sensitivity(
            l1 + n_columns + self.cut_weight, (l2 + rounding) ** 2 + self.cut_weight**2
        )


@dataclass(frozen=True, slots=True)
class Rows(SumQuery):
    """The number of rows, whatever their cells hold, and of those that a condition leaves out.

    Answer: ``(rows, left out)``. A row is in one of these cells.
    """

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """A row is in one cell: a replacement can take it from one to the other."""
        return Sensitivity(adjacency.changes, adjacency.changes)


ChoiceQuery = Distances | BallLevels
RowQuery = ColumnMedians | ChoiceQuery | BallSum | BallSquares | Rows
