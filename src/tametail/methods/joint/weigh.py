"""The steps of a vector mean: what is asked, and what follows from the answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.methods.joint import settings
from tametail.methods.joint.budget_split import (
    center_halvings,
    choice_halvings,
    least_halvings,
    scale_rank,
)
from tametail.privacy.budget import Budget, Zcdp
from tametail.privacy.choices import choice_rate
from tametail.queries.rows import (
    WIDEST_RADIUS,
    Ball,
    BallLevels,
    BallSum,
    ColumnMedians,
    Distances,
)
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.plans import PricedRequest

Floats = npt.NDArray[np.float64]

#: Distances that are told apart; what lies below the first is a constant column.
HALF_OCTAVES = tuple(2.0 ** (step / 2) for step in range(-256, 256))

#: Half octaves above a scale in which most of the records beyond it should lie.
WINDOW = 6


def _taper(step: int) -> int:
    """Scales far from 1 weigh less: 3 log2(1 + |octave| / 8) bits, and more above 2**20."""
    octave = abs(step) // 2
    return ((8 + octave) ** 3).bit_length() - 10 + max(0, (step // 2 - 20) // 4)


#: Base masses of scales; that of a constant column comes first.
SCALE_WEIGHTS = (1 << 48, *(1 << 48 - _taper(step) for step in range(-256, 256)))

#: In a second look scales so many times the usual one that the first has found weigh less by so
#: many bits: most columns that share a table differ by less, and lost scales by more.
UNLIKE, LESS_LIKELY = 8.0, 7

#: Cells are clipped at so many scales.
CLIP = 4.0

#: The part of the last step that goes to a second look if all columns seem constant; if one in k
#: does, a part less by sqrt(k).
SECOND_LOOK = 0.35

#: Part of the weights that all columns share alike; the rest goes to columns of large scales.
EVEN = 2 / 3

#: Rows that are cut, in units of the noise on their sum; half of it for Laplace noise.
FEW_ROWS = 5.0

#: Radii per octave.
FINENESS = 8

#: Radii are between these powers of two, where a row at its scales has norm 1. If all cells
#: are clipped, no row is longer than CLIP.
FIRST_RADIUS, LAST_RADIUS, LAST_CLIPPED_RADIUS = -5, 7, 2

#: How far a mean usually is from the center, in scales: it decides the weight of the count.
OFFSET = 0.25

#: Weight of the missing cells of all columns together, in radii, for the norms 2 and 1: it raises
#: the noise by 3% and 6%, or half as much under replace-one.
MISSING_WEIGHT = {2: 1 / 4, 1: 1 / 16}

#: A ball with so many times the noise of the ball around all bounds, in mean square over the
#: columns, and half of it in each, is given up for that one. Less would move means away from the
#: ball's center for nothing, and they feel the noise on the number of missing cells the more.
MUCH_WIDER, HALF_AS_WIDE = 1.2, 0.5

#: Corners of the bounds lie inside of the ball around them by this part, whatever is rounded.
INSIDE = 1e-6

#: With a scale that was told the records may be much narrower.
FIRST_RADIUS_TOLD = -10


@dataclass(frozen=True, slots=True)
class Weighing:
    """Centers and weights: a row becomes ``z = factors * (x - centers)``, clipped to +-limits.

    A factor of 0 means that the column looks constant. ``final`` is what the sum may cost.
    """

    centers: Floats
    factors: Floats
    limits: Floats
    final: Budget

    @property
    def live(self) -> npt.NDArray[np.bool_]:
        """Which columns do not look constant."""
        return self.factors > 0


def center_query(plan: PricedRequest) -> ColumnMedians:
    """Ask for a median of every column."""
    times = center_halvings(plan.cost("center"), settings.size(plan), plan.n_columns)
    times = max(times, least_halvings(settings.size(plan), settings.most(plan), plan.n_columns))
    return ColumnMedians(times, plan.answer_ranges)


def scale_query(
    cost: Budget,
    centers: Floats,
    size: int,
    columns: npt.NDArray[np.int64] | None = None,
    usual: float = 0.0,
) -> Distances:
    """Ask for a distance per column that many records exceed; of all columns, or of some.

    With the ``usual`` scale of other columns fewer records suffice.
    """
    choices = len(centers)
    times = choice_halvings(cost, size, choices)
    nats = scale_rank(choices, again=usual > 0)
    target = _rank(nats / choice_rate(cost, choices, times), (size >> times) / 2)
    return Distances(
        tuple(centers.tolist()),
        (HALF_OCTAVES,) * choices,
        target,
        _weights(usual),
        times,
        window=WINDOW,
        least=2 * target // 3,
        columns=None if columns is None else tuple(columns.tolist()),
        lead=target // 2,
        body=2 * target,
    )


def rank_of(query: Distances) -> float:
    """Return how many cells of a column lie beyond the scale that the query finds, about."""
    return float(query.target << query.halvings)


def _weights(usual: float) -> tuple[int, ...]:
    """Return the base masses of scales; if others have been found, far ones weigh less."""
    if not usual:
        return SCALE_WEIGHTS
    beyond = [LESS_LIKELY * (scale > UNLIKE * usual) for scale in (0.0, *HALF_OCTAVES)]
    return tuple(mass >> bits for mass, bits in zip(SCALE_WEIGHTS, beyond, strict=True))


def read_scales(chosen: tuple[int, ...]) -> Floats:
    """Return the distances that were chosen; 0 for a column that seems constant."""
    steps = (0.0, *HALF_OCTAVES[1:], HALF_OCTAVES[-1])
    return np.array([steps[index] for index in chosen])


def usual_scale(scales: Floats) -> float:
    """Return the median of the scales of columns that do not seem constant; 0 if all do.

    >>> usual_scale(np.array([0.0, 2.0, 0.0, 8.0, 4.0]))
    4.0
    """
    found = scales[scales > 0]
    return float(np.median(found)) if found.size else 0.0


def second_look(final: Budget, still: int, n_columns: int) -> tuple[Budget, Budget]:
    """Divide the sum's budget: another look at columns that seem constant, and what is left.

    The fewer they are, the more it shows.
    """
    part = SECOND_LOOK * math.sqrt(still / n_columns)
    again, left = final.split(part, 1 - part)
    return again, left


def within_tails(plan: PricedRequest, centers: Floats, scales: Floats) -> Floats:
    """Return the scales, none larger than what is assumed about its column.

    A column that seems constant has the scale of its bounds, if they are told: some records may
    hide there, and a mean of records that are clamped to the bounds would have them.
    """
    most = [
        tail.scale
        if isinstance(tail, Moment)
        else max(center - tail.low, tail.high - center)
        if isinstance(tail, Bounded)
        else math.inf
        for center, tail in zip(centers.tolist(), plan.tails, strict=True)
    ]
    return np.minimum(np.where(are_bounded(plan) & (scales == 0), np.inf, scales), most)


def are_bounded(plan: PricedRequest) -> npt.NDArray[np.bool_]:
    """Say of every column whether its records are told to lie between bounds."""
    return np.array([isinstance(tail, Bounded) for tail in plan.tails])


def weigh_columns(
    plan: PricedRequest,
    centers: Floats,
    scales: Floats,
    hidden: npt.NDArray[np.bool_],
    final: Budget,
) -> tuple[Weighing, tuple[float, float]]:
    """Weigh the columns by their scales, and return the powers of two that radii may have.

    A column that is ``hidden`` and has the scale of its bounds is not cut short of them: what may
    lie there does not show in how long rows are, either.
    """
    factors = weigh(scales, norm_order(final))
    # What is assumed about a column bounds the bias of a ball; nothing bounds that of clipping.
    free = np.array([tail is not None for tail in plan.tails])
    limits = np.where(free, np.inf, CLIP * factors * scales)
    first: float = FIRST_RADIUS_TOLD if settings.scales(plan) else FIRST_RADIUS
    if (longest := float((factors * scales)[hidden].max(initial=0.0))) > 0:
        first = max(first, math.ceil(FINENESS * math.log2(longest)) / FINENESS)
    last = LAST_CLIPPED_RADIUS if np.isfinite(limits).all() else LAST_RADIUS
    return Weighing(centers, factors, limits, final), (first, last)


def _rank(wanted: float, most: float) -> int:
    return max(1, math.ceil(min(wanted, most)))


def weigh(scales: Floats, order: int) -> Floats:
    """Return factors such that a row at its scales has norm 1.

    With shares a that add up to 1, the factors are sqrt(a) / T for norm 2 and a / T for norm 1.
    For one unit T would be best in place of even shares (norm 1: T^(2/3)); a mixture of both costs
    no column more than sqrt(1 / EVEN) times its even share.

    >>> weigh(np.array([1.0, 1.0, 0.0]), 1)
    array([0.5, 0.5, 0. ])
    """
    live = scales > 0
    if not live.any():
        return np.zeros_like(scales)
    relative = (scales / scales.max()) ** (1.0 if order == 2 else 2 / 3)
    parts = np.where(live, (1 - EVEN) * relative / relative.sum() + EVEN / live.sum(), 0.0)
    root = np.sqrt(parts) if order == 2 else parts
    return np.where(live, root / np.where(live, scales, 1.0), 0.0)


def norm_order(cost: Budget) -> int:
    """Return 2 where noise is Gaussian, 1 where it is Laplace."""
    return 2 if isinstance(cost, Zcdp) else 1


def make_ball(
    weighing: Weighing, first: float, last: float, *, order: int, strength: float
) -> Ball:
    """Return balls of the radii 2**first ... 2**last in integers.

    ``strength`` is that of the weakest step that adds noise: noise on squares must fit in 64 bits.
    """
    bits = min(WIDEST_RADIUS.bit_length() - 1, math.floor((52 + math.log2(min(strength, 1.0))) / 2))
    unit = 2.0 ** (bits - last)
    steps = np.arange(round(FINENESS * (last - first)) + 1) / FINENESS
    radii = sorted({max(1, math.floor(2.0 ** (first + step) * unit)) for step in steps.tolist()})
    inverse = weighing.factors * unit
    limits = None
    if np.isfinite(weighing.limits).any():
        most = np.minimum(np.floor(weighing.limits * unit), radii[-1])
        limits = tuple(most.astype(np.int64).tolist())
    return Ball(
        tuple(weighing.centers.tolist()), tuple(inverse.tolist()), tuple(radii), order, limits
    )


@np.errstate(over="ignore")
def unless_bounds_do(
    plan: PricedRequest, ball: Ball, level: int, weighing: Weighing, strength: float
) -> tuple[Ball, int]:
    """Return the ball and its level, or the smallest ball around all bounds if that is smaller.

    A ball around medians at a bound has room for twice as much as lies between the bounds.
    """
    bounds = [tail for tail in plan.tails if isinstance(tail, Bounded)]
    if len(bounds) < plan.n_columns or not weighing.live.all():
        return ball, level
    low, high = np.array([(tail.low, tail.high) for tail in bounds]).T
    half, each = (
        high / 2 - low / 2,
        plan.n_columns if ball.order == 1 else math.sqrt(plan.n_columns),
    )
    factors = (1 - INSIDE) / half / each
    noise = ball.radii[level] / np.array(ball.inverse_ticks) / half / each
    narrow = noise.min() < HALF_AS_WIDE or np.sqrt(np.mean(noise**2)) < MUCH_WIDER
    if narrow or not np.isfinite(factors).all():
        return ball, level
    around = Weighing(low + half, factors, np.full(plan.n_columns, np.inf), weighing.final)
    return make_ball(around, 0.0, 0.0, order=ball.order, strength=strength), 0


def count_weights(ball: Ball, level: int, *, rows: bool, missing: bool) -> tuple[int, int]:
    """Return the weights of the numbers of rows and of missing cells beside the sum; 0 for none.

    The noise on sum / rows is that on sum - offset * rows, with the offset of the mean from the
    center: Delta^2 (1 + (offset / weight)^2), where Delta is R + weight, or its square is
    R^2 + weight^2. The weight makes that small.
    """
    radius, live = float(ball.radii[level]), max(ball.live, 1)
    each = live if ball.order == 1 else math.sqrt(live)
    offset = OFFSET * radius / each
    best = math.cbrt(radius * offset**2) if ball.order == 1 else math.sqrt(radius * offset)
    of_cells = MISSING_WEIGHT[ball.order] * radius / each
    return max(round(best), 1) if rows else 0, max(round(of_cells), 1) if missing else 0


def few_rows(final: Budget, live: int) -> float:
    """Return how many rows of so many columns may be outside of the ball."""
    if isinstance(final, Zcdp):
        return FEW_ROWS * math.sqrt(live / (2 * final.rho))
    return FEW_ROWS / 2 * live / final.strength


def level_query(ball: Ball, weighing: Weighing, size: int, cost: Budget) -> BallLevels:
    """Ask for a radius that few rows exceed: the bias of cutting them is about the noise's size."""
    few = few_rows(weighing.final, int(weighing.live.sum()))
    target = _rank(1.5 / choice_rate(cost, 1) + few, size / 4)
    count = len(ball.radii)
    weights = tuple(1 << max(54 - 3 * step // FINENESS, 0) for step in range(count + 1))
    return BallLevels(ball, target, weights)


def sum_query(plan: PricedRequest, ball: Ball, level: int) -> BallSum:
    """Ask for the sum of the rows in the ball, with the numbers of rows and of missing cells."""
    rows, missing = count_weights(
        ball, level, rows=not plan.adjacency.size_is_public, missing=plan.missing == "skip"
    )
    return BallSum(ball, level, rows, missing)
